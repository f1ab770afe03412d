//! Notes beside the numbers of findings about memory.

use std::collections::BTreeMap;

use super::rows::messages;
use crate::{Bytes, KernelId, Nanoseconds, NodeId, Rate, Share, count_of};

/// How a peak came about that the user stated: the `how` of [`share_of_peak`].
pub const STATED_PEAK: &str = "stated by --peak";

messages! {
    /// A kernel that may be faster than that of a rate: there was no time to compare them often enough.
    Note kernels_not_compared(kernel: &KernelId): "kernels not compared: {kernel} may be faster";

    // Latency and bandwidth.

    Note prefetch_assisted():
        "prefetch-assisted: prefetchers follow a fixed stride, so the time is not the latency of memory";

    Note accesses_share_lines(accesses: u64): "up to {accesses} accesses share a line of 64 bytes: time per access, \
        not per line";

    Note several_chains(chains: u64): "{chains} chains at once: time per access, not latency";

    Note recovers_to(ns: Nanoseconds): "back to {ns}, the median of settled visits";

    /// The visits that a time after other work is of, and those that were left out.
    Note cold_visits(visits: usize, left_out: usize):
        {
            let more = format!("; {left_out} more began with a stall or a page fault");
            let more = if left_out == 0 { "" } else { &more };
            format!("median of {}{more}", crate::count_of(visits as u64, "visit"))
        };

    /// Clock stamps were a visible part of a block; `share` of it.
    Note stamps_taken_out(share: Share): "corrected for the borders of blocks, {share:.1} of each block";

    /// The tail of a latency: its samples are means of blocks.
    Note tail_of_blocks(accesses: u64): "mean of {accesses} accesses a block, disturbed blocks included";

    Note tail_of_operations(): "single operations, disturbed ones included";

    /// A number that is derived from so many points at least is not given.
    Note number_without_ground(least: usize):
        "no number: it takes {least} points at least that are numbers themselves, and an interval no wider than the \
            number; run again with --full or a longer --max-time";

    Note theoretical_peak(how: &str): "{how}";

    /// The cost of a neighbour's traffic, in ns for each GB/s.
    Rates cost_of_traffic(ns: f64, bytes_per_second: Rate):
        {
            let each = ns / (bytes_per_second.bytes_per_second / 1e9);
            format!("{each:.2} ns for each GB/s of the neighbour's traffic, {bytes_per_second}")
        };

    Rates lines_wasted(touched: Rate, used: Rate): "lines are touched at {touched}, of which {used} are used";

    Note chains_still_gain(alone_ns: Nanoseconds, ns: Nanoseconds, chains: u64):
        "{alone_ns} alone, {ns} an access with {chains} chains, and still falling: a lower bound";

    Note chains_gain_until(alone_ns: Nanoseconds, ns: Nanoseconds, chains: u64):
        "{alone_ns} alone, {ns} an access from {chains} chains on";

    // Threads.

    Rates lines_under_way(bytes_per_second: Rate, ns: Nanoseconds):
        "one core: {bytes_per_second} x {ns} / 64 bytes, prefetches included";

    Note knee_by_kneedle(counts: usize): "Kneedle over {counts} counts";

    Rates fewest_at_level(bytes_per_second: Rate): "the fewest within 3 % of {bytes_per_second}";

    Note ramp_cut_off(reached: usize, of: usize):
        { format!("cut off at {reached} of {}", count_of(of as u64, "core")) };

    Note no_rate_of_one_core(): "the rate of one core was not measured, so more cores cannot be compared with it";

    Note one_core_only(): "only one core is in scope: the limit of several cores was not measured";

    /// The rate of all cores as a share of so many times one core's, and the rate that the last core adds, where it was
    /// measured.
    Note cores_have(cores: usize, share: Share, last_adds: Option<Share>):
        {
            let added = |share: Share| format!(", but the last core adds only {share} of the rate of one core");
            let last = last_adds.map_or_else(String::new, |share| added(Share(share.0.max(0.0))));
            format!("{cores} cores reach {share} of {cores} times the rate of one core{last}")
        };

    Note no_ceiling_so_far(): "the rate still rises at the last count: no ceiling yet";

    Note siblings_add_nothing(is_remote: bool):
        {
            let shared = if is_remote { ", the link or the memory" } else { " or the memory" };
            format!("SMT siblings add nothing: the limit is the cores' misses in flight{shared}; the ramp cannot show which")
        };

    Note ceiling_not_seen(): "the rate still rises where the ramp ends: the ceiling may be higher";

    Note memory_or_way_full(): "the memory or the link to it is saturated; only a local ramp could show which";

    Note cores_are_the_limit(): "the number of misses that cores keep in flight is the limit: more cores still raise \
        the rate";

    /// A link is the limit: the share that is missing of the local level, exactly or at least.
    Note link_is_full(share: Share, at_least: bool):
        {
            let least = if at_least { "at least " } else { "" };
            format!("the ramp ends {least}{share} below the local ramp: the link between the nodes is saturated in \
                one direction")
        };

    Note far_memory_full(): "the far memory or its link is saturated; this measurement cannot show which";

    Note memory_full(): "the node's memory, or the path to it inside the socket, is saturated";

    /// The theoretical peak that a share is of; `parts` nodes have equal parts of it.
    Rates share_of_peak(bytes_per_second: Rate, how: &str, of_node: bool, parts: usize):
        {
            let part = if parts > 1 { format!(", an equal part for each of {parts} nodes") } else { String::new() };
            format!("of {bytes_per_second}{}: {how}{part}", if of_node { " a node" } else { "" })
        };

    Rates share_of_link(bytes_per_second: Rate, how: &str): "of the link's {bytes_per_second} in one direction: {how}";

    Note theoretical_rate_exceeded(share: Share): "the measured rate is {share} of this theoretical rate, which is \
        therefore too low: correct --peak or --link-rate";

    Note saturates_far_below(share: Share, of_link: bool):
        {
            let of = |what: &str, full: &str, option: &str| {
                format!("it levels off at {share} of what the {what} in theory, far below the {full} that full ones \
                    reach: check {option}, or look for another cause")
            };
            if of_link { of("link carries", "80 to 100 %", "--link-rate") } else { of("channels carry", "75 to 95 %", "--peak") }
        };

    Note channels_are_full(share: Share): "it is {share} of the theoretical peak: the memory channels are full";

    Note link_used_up(share: Share): "it is {share} of what the link carries: the link is full";

    Note link_is_nearest(of_link: Share, of_peak: Share):
        "{of_link} of what the link carries, {of_peak} of what the memory gives: the link is saturated in one direction";

    Note passes_made(passes: f64, footprint: Bytes, seconds: f64):
        "{passes:.1} passes over {footprint} in {seconds:.2} s of measuring";

    Note bytes_moved(moved: Bytes, total: Bytes):
        {
            let short = if moved < total { ": its time ended before" } else { "" };
            format!("moved {:.1} GB of {:.1} GB (--total){short}", moved.0 as f64 / 1e9, total.0 as f64 / 1e9)
        };

    /// Bytes that memory reads and writes for the useful bytes of a kernel, bytes per second.
    Rates bytes_beside(read: Rate, written: Rate): "{read} of lines are read from memory and {written} written";

    Rates share_of_local(bytes_per_second: Rate, op: &str): "of {bytes_per_second} of whole lines by the node's \
        own cores, {op}";

    // Loaded latency.

    Rates no_knee_under_load(bytes_per_second: Rate, first_ns: Nanoseconds, last_ns: Nanoseconds):
        "no knee up to {bytes_per_second}: latency went from {first_ns} to {last_ns} without a marked bend";

    Rates knee_under_load(ns: Nanoseconds, points: usize, low: Rate, high: Rate):
        "at {ns}, by Kneedle over {points} points, the next at {low} and {high}";

    Note by_the_injectors(): "by the injectors, beside the chaser";

    Rates without_pauses(bytes_per_second: Rate): "at {bytes_per_second}, without pauses";

    Note target_missed_idle(ns: Nanoseconds): "already {ns} without load";

    Rates target_missed_under_load(ns: Nanoseconds, bytes_per_second: Rate):
        "already {ns} under the lightest load, {bytes_per_second}";

    Note curve_ends_below_target(ns: Nanoseconds): "a lower bound: the curve ends at {ns}";

    Rates bandwidth_falls(from: Rate, to: Rate):
        "bandwidth falls from {from} to {to} while the pauses get shorter; these points stay on the curve";

    Note all_cores_untimed(): "all cores load the memory, no core is timed";

    // Nodes.

    Note at_distance(distance: u32): "at distance {distance}";

    /// The parts of mixed placement, in bytes per second.
    Rates parts_of_mixed(parts: Vec<(&str, Rate)>):
        { parts.iter().map(|(name, rate)| format!("{name} {rate}")).collect::<Vec<_>>().join(", ") };

    Note weights_tried(weights: usize): "the best of {weights} weights tried";

    Note weights_as_good(weights: &[String]): { format!("equally good within the intervals: {}", weights.join(" and ")) };

    Rates even_shares(bytes_per_second: Rate): "even shares {bytes_per_second}";

    Rates kernels_weights(pages: BTreeMap<NodeId, u64>, bytes_per_second: Rate):
        {
            let all = crate::units::total(pages.values().copied()).max(1) as f64;
            let share = |(node, here): (&NodeId, &u64)| format!("node {node} {}", Share(*here as f64 / all));
            let shares: Vec<String> = pages.iter().map(share).collect();
            format!("the kernel's own weights ({}) {bytes_per_second}", shares.join(", "))
        };

    /// Two cells of a latency, ns.
    Note compared_ns(larger: (&str, NodeId, Nanoseconds), smaller: (&str, NodeId, Nanoseconds)):
        {
            let [larger, smaller] = [larger, smaller].map(|(from, node, ns)| format!("{from} to node {node} {ns}"));
            format!("{larger}, {smaller}")
        };

    /// Two cells of a rate, bytes per second.
    Rates compared_rates(larger: (&str, NodeId, Rate), smaller: (&str, NodeId, Rate)):
        {
            let [larger, smaller] = [larger, smaller].map(|(from, node, rate)| format!("{from} to node {node} {rate}"));
            format!("{larger}, {smaller}")
        };

    Note directions_alike(): "no two directions differ by more than 5 % with intervals that do not overlap";

    Note both_at_distance(distance: u32): "both at distance {distance}";

    // Core to core.

    Note one_way(): "one way, not a round trip";

    /// Pairs of one relation that are of two kinds: pairs and median ns of both.
    Note two_groups_of_pairs(near: (usize, Nanoseconds), far: (usize, Nanoseconds)):
        {
            let ((near, near_ns), (far, far_ns)) = (near, far);
            format!("two groups: {near} pairs about {near_ns}, {far} about {far_ns}; the declared topology does not \
                separate them")
        };

    /// Distances of a pair in turn, ns, with their shares of the time.
    Note distances_in_turn(modes: &[(Nanoseconds, Share)], guest: bool):
        {
            let mode = |(ns, share): &(Nanoseconds, Share)| format!("{ns} {share} of the time");
            let why = if guest { "the hypervisor moves the cpus between cores" } else { "the machine changed during \
                the measurement" };
            format!("{}; {why}", modes.iter().map(mode).collect::<Vec<_>>().join(", "))
        };

    Note fewest_turns(who: &str): "{who} got the line least often";

    Note farther_than_declared(ns: Nanoseconds):
        "{ns} is too long for the declared relation: these cpus were farther apart during the measurement";

    Note nearer_than_declared(ns: Nanoseconds, one_core: bool):
        {
            let nearer = if one_core { "shared one core" } else { "shared a last-level cache" };
            format!("{ns} is too short for the declared relation: these cpus {nearer} during the measurement")
        };

    Note declared_by_hypervisor(): "relations are as the hypervisor declares them; it may move the cpus between \
        cores at any time";
}
