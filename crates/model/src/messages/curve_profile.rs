//! Messages about programs on the curves of a run.

use super::rows::messages;
use crate::{Rate, Share};

const ON_CURVE: &str = "the program on a curve (--curve)";

messages! {
    Refusal run_without_curve(run: &str):
        { ON_CURVE }, "run {run} has no curve of latency over bandwidth of local memory",
        "measure one on an idle machine: `tiermark loaded-latency`; then name that run, or `last`";

    Refusal curve_without_counters(why: &str):
        { ON_CURVE }, { if why.is_empty() { "no counters of memory traffic were opened".to_owned() } else { format!("no counters of memory traffic open: {why}") } },
        "`tiermark list counters` shows what each source needs; without counters, `tiermark watch` shows stalls and \
            swap";

    Note curve_of_another_machine(theirs: &str, here: &str):
        "the curves are of another machine ({theirs}; this is {here}), so that latency and head room may be wrong";

    Note curve_of_useful_bytes():
        "the run of the curves has no counts of memory traffic that agree with a known stream: its rates are useful \
            bytes, and fewer than the bytes on the channels where it writes, so that a program seems nearer to the \
            knee than it is";

    Note watch_counts_unchecked():
        "the counts of a watch are not compared with a known stream; a run with --counters does that";

    Note curve_counts_checked(source: &str):
        "the counts of the curves' run ({source}) agreed with a known stream";

    Note curve_counts_wrong(source: &str):
        "the counts of the curves' run ({source}) disagreed with a known stream, and those of this watch are of the \
            same source: rates and head room are doubtful";

    Note mix_not_counted():
        "reads and writes are not counted separately: the program is placed on the curve with the most reads";

    Rates idle_subtracted(bytes_per_second: Rate, seconds: f64):
        "before the command began, memory moved {bytes_per_second} for {seconds} s: so much idle traffic is subtracted \
            from its rates";

    Note busy_before_command(part: Share):
        "the machine was not idle before the command: the traffic that is subtracted is {part} of what fits below the \
            knee, so that latency is higher and head room smaller than shown; watch the command on an idle machine";

    Note idle_not_subtracted(source: &str):
        "{source} counts in intervals of its own, which do not resolve the moment before the command: idle traffic \
            counts as the command's";

    Note between_curves(curves: &str, seconds: f64):
        "for {seconds:.0} s the program's share of reads was between those of two curves ({curves}): latency and \
            head room are interpolated, linearly in the share of reads";

    Note mix_far_from_curve(apart: f64, seconds: f64):
        "for {seconds:.0} s the program's share of reads was up to {apart:.2} away from those of all curves, so that \
            latency and head room are less certain; `tiermark loaded-latency --mix` measures curves of other mixes";

    Note curve_of_all_nodes():
        "the run has only curves of all nodes at once: each node is taken to carry an equal part of them";

    Note traffic_without_nodes():
        "the source counts the traffic of sockets, and a socket here has several nodes: samples with such traffic \
            are left out, since a curve is of one node; another source (`tiermark list counters`) may name nodes";

    Note rates_are_a_lower_bound():
        "the source counts lines that cores missed in the last-level cache: the traffic is at least so much, and the \
            head room at most";

    Note rates_of_the_whole_machine():
        "rates are of the whole machine: other work counts as the program's";
}
