//! The state of the system as a run finds it.

use super::rows::messages;
use crate::{Bytes, IdSet};

messages! {
    Warning doctor_problem(check: &str, value: &str, why: &str, cure: &str): "{check}: {value}", "{why}", "{cure}";

    Warning memory_side_cache(nodes: &IdSet, bytes: Bytes):
        "a cache of {bytes} lies in front of the memory of node {nodes}",
        "a working set within it measures the cache, not the memory",
        "allow more time and memory to measure the memory behind the cache: `tiermark survey --max-time 15m \
            --max-mem SIZE`";

    Warning ksm():
        "KSM is merging pages", "", "as root: echo 0 > /sys/kernel/mm/ksm/run";

    Warning damon():
        "DAMON is sampling page accesses", "it clears accessed bits, which costs page walks",
        "stop DAMON for the run, if you started it";

    Warning thp_never(file: &str):
        "transparent huge pages are off", "DRAM figures include page walks", "as root: echo madvise > {file}";

    Warning last_cache_unknown():
        "the size of the last-level cache is not known",
        "DRAM is measured over 512 MiB or more if that much memory is free; a larger cache would serve part of the \
            accesses",
        "see 'Not seen' of `tiermark machine`; the curve of `tiermark latency` shows the size";
}
