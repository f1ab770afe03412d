//! Memory that is written, read back and compared.

use super::rows::messages;
use crate::units::{Bytes, Rate};
use crate::{IdSet, NodeId, count_of};

messages! {
    Note memory_of_node(node: NodeId, held: Bytes, limit: &str, cpus: &IdSet):
        "node {node}: {held} ({limit}), written by cpus {cpus}";

    Note level(name: &str, seconds: f64, rest: u64):
        { format!("level {name}: {} s, each half of the memory rests for {rest} s", seconds.round()) };

    Refusal no_memory(node: NodeId, limit: &str) options ["--nodes"]:
        "a soak of node {node}", "no memory can be allocated ({limit})", "free memory, or choose other nodes (--nodes)";

    Refusal may_be_swapped(bytes: Bytes, error: &str):
        "a soak of {bytes}",
        "swap is on, and the memory cannot be locked ({error}): data read back could come from the disk",
        "raise the limit on locked memory (ulimit -l unlimited, LimitMEMLOCK=infinity), run as root, or turn swap off for \
         the time of the run (swapoff -a)";

    Refusal memory_is_used(programs: &str, used: Bytes, total: Bytes) options ["--force", "--max-mem"]:
        "a soak beside other programs",
        "{used} of {total} are in use by programs that may need more: {programs}",
        "end them, take less memory (--max-mem), or run it all the same (--force)";

    Note memory_wanted(left: Bytes, least: Bytes):
        "only {left} of memory is free, less than {least}: other programs took memory, or a limit was lowered";

    Note failed(why: &str): "a failure: {why}";

    Note stopped_by_user(): "it was stopped";

    Note not_at_its_end(): "it was killed, or is still running";

    Refusal comparison_unproven(node: NodeId):
        "the comparison on node {node}", "the comparison missed a bit that tiermark flipped",
        "the result is invalid: report this bug of tiermark";

    Warning pages_lost(pages: u64):
        { format!("{} lost: errors that could not be corrected", count_of(pages, "page")) },
        "the kernel kills programs that use them",
        "take the server out of service and have the memory replaced; the report has the addresses";

    Warning words_wrong(words: u64, is_all: bool, kinds: &str):
        { format!("{}{} wrong ({kinds})", if is_all { "" } else { "at least " }, count_of(words, "word")) },
        "data that programs store in this memory can change",
        "take the server out of service and have the memory replaced; the report has the addresses";

    Warning slowed_down(since: &str, share: f64, before: Rate, after: Rate, throttled: Option<u64>):
        {
            let throttled = match throttled {
                Some(0) => "; no throttling was counted".to_owned(),
                Some(times) => format!("; throttled {}", count_of(times, "time")),
                None => String::new(),
            };
            format!("{:.0} % slower from {since} on ({before} before, {after} after){throttled}", share * 100.0)
        },
        "the server does not keep its speed under load",
        "check cooling and power limits; on a shared machine, repeat the soak at another time";

    Note first_wrong(node: NodeId, address: &str): "the first on node {node} at {address}";

    Note covered_in_part(covered: Bytes, held: Bytes): "{covered} of {held} were compared: give more --time";
}
