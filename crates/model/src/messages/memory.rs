//! Notes beside the numbers of findings about memory.

use std::collections::BTreeMap;

use super::rows::messages;
use crate::{Bytes, NodeId, format_gbs, format_ns};

/// Rates in GB/s, with what each is of: `all local 40.1, all remote 20.3`.
fn rates(named: &[(&str, f64)]) -> String {
    let said = named.iter().map(|(name, rate)| format!("{name} {}", format_gbs(*rate)));
    said.collect::<Vec<_>>().join(", ")
}

/// How a peak came about that the user stated: the `how` of [`share_of_peak`].
pub const STATED_PEAK: &str = "stated by --peak";

messages! {
    // Latency and bandwidth.

    /// A chase in fixed strides.
    Note prefetch_assisted():
        "prefetch-assisted: prefetchers follow a fixed stride, so the time is not the latency of memory";

    /// A stride below a line of 64 bytes.
    Note accesses_share_lines(accesses: u64): "up to {accesses} accesses share a line of 64 bytes: time per access, \
        not per line";

    /// A chase of several chains.
    Note several_chains(chains: u64): "{chains} chains at once: time per access, not latency";

    /// The settled time that accesses after other work come back to.
    Note recovers_to(ns: f64):
        { format!("back to {} ns, the median of settled visits", format_ns(ns)) };

    /// Clock stamps were a visible part of a block; `share` of it.
    Note stamps_taken_out(share: f64):
        { format!("corrected for clock stamps, {:.1} % of each block", share * 100.0) };

    /// The tail of a latency: its samples are means of blocks.
    Note tail_of_blocks(accesses: u64): "mean of {accesses} accesses a block, disturbed blocks included";

    /// A tail of single operations.
    Note tail_of_operations(): "single operations, disturbed ones included";

    /// How the theoretical peak came about.
    Note theoretical_peak(how: &str): "{how}";

    /// The cost of a neighbour's traffic, in ns for each GB/s.
    Note cost_of_traffic(ns: f64, bytes_per_second: f64):
        { format!("{:.2} ns for each GB/s of the neighbour's {}", ns / (bytes_per_second / 1e9), format_gbs(bytes_per_second)) };

    /// Lines of which 8 bytes are used.
    Note lines_wasted(touched: f64, used: f64):
        { format!("lines are touched at {} GB/s, of which {} GB/s are used", format_gbs(touched), format_gbs(used)) };

    /// Accesses under way while the time still falls.
    Note chains_still_gain(alone_ns: f64, ns: f64, chains: u64):
        {
            let (alone, ns) = (format_ns(alone_ns), format_ns(ns));
            format!("{alone} ns alone, {ns} ns an access with {chains} chains, and still falling: a lower bound")
        };

    /// Accesses under way, and from how many chains on nothing is gained.
    Note chains_gain_until(alone_ns: f64, ns: f64, chains: u64):
        { format!("{} ns alone, {} ns an access from {chains} chains on", format_ns(alone_ns), format_ns(ns)) };

    // Threads.

    /// Lines that one core keeps in flight, by Little's law.
    Note lines_under_way(bytes_per_second: f64, ns: f64):
        {
            let (rate, ns) = (format_gbs(bytes_per_second), format_ns(ns));
            format!("one core: {rate} GB/s x {ns} ns / 64 bytes, prefetches included")
        };

    /// A knee found by Kneedle.
    Note knee_by_kneedle(counts: usize): "Kneedle over {counts} counts";

    /// The fewest threads that reach a level.
    Note fewest_at_level(bytes_per_second: f64):
        { format!("the fewest within 3 % of {} GB/s", format_gbs(bytes_per_second)) };

    /// A ramp that ended before all cores took part.
    Note ramp_cut_off(reached: usize, of: usize): "cut off at {reached} of {of} cores";

    /// A ramp without the rate of one core.
    Note no_rate_of_one_core(): "the rate of one core was not measured, so more cores cannot be compared with it";

    /// A ramp of one core.
    Note one_core_only(): "only one core is in scope: the limit of several cores was not measured";

    /// The rate of all cores as a share of so many times one core's, and the rate that the last core adds, where it was
    /// measured.
    Note cores_have(cores: usize, share: f64, last_adds: Option<f64>):
        {
            let last = last_adds.map(|adds| format!(", but the last core adds only {:.0} % of the rate of one core", adds.max(0.0) * 100.0));
            format!("{cores} cores reach {:.0} % of {cores} times the rate of one core{}", share * 100.0, last.unwrap_or_default())
        };

    /// No ceiling yet.
    Note no_ceiling_so_far(): "the rate still rises at the last count: no ceiling yet";

    /// Cores grow in proportion and siblings add nothing.
    Note siblings_add_nothing():
        "SMT siblings add nothing: either the cores' misses in flight or the memory is the limit; the ramp cannot \
            show which";

    /// A course that was not seen to its end.
    Note ceiling_not_seen(): "the rate still rises where the ramp ends: the ceiling may be higher";

    /// A level without a local ramp.
    Note memory_or_way_full(): "the memory or the link to it is saturated; only a local ramp could show which";

    /// Cores are the limit.
    Note cores_are_the_limit(): "the number of misses that cores keep in flight is the limit: more cores still raise \
        the rate";

    /// A link is the limit: the share that is missing of the local level, exactly or at least.
    Note link_is_full(share: f64, at_least: bool):
        {
            let least = if at_least { "at least " } else { "" };
            format!("the ramp ends {least}{:.0} % below the local ramp: the link between the nodes is saturated in \
                one direction", share * 100.0)
        };

    /// Memory of a far node is the limit.
    Note far_memory_full(): "the far memory or its link is saturated; this measurement cannot show which";

    /// Memory is the limit.
    Note memory_full(): "the node's memory, or the path to it inside the socket, is saturated";

    /// The theoretical peak that a share is of; `parts` nodes have equal parts of it.
    Note share_of_peak(bytes_per_second: f64, how: &str, of_node: bool, parts: usize):
        {
            let part = if parts > 1 { format!(", an equal part for each of {parts} nodes") } else { String::new() };
            format!("of {} GB/s{}: {how}{part}", format_gbs(bytes_per_second), if of_node { " a node" } else { "" })
        };

    /// The rate of the link in one direction, of which a number is a share.
    Note share_of_link(bytes_per_second: f64, how: &str):
        { format!("of the link's {} GB/s in one direction: {how}", format_gbs(bytes_per_second)) };

    /// One core has next to all of the theoretical peak.
    Note channels_are_full(share: f64):
        { format!("it is {:.0} % of the theoretical peak: the memory channels are full", share * 100.0) };

    /// A remote level is nearer to what the link carries than to what the memory gives.
    Note link_is_nearest(of_link: f64, of_peak: f64):
        {
            let (link, peak) = (of_link * 100.0, of_peak * 100.0);
            format!("{link:.0} % of what the link carries, {peak:.0} % of what the memory gives: the link is \
                saturated in one direction")
        };

    /// How often memory was gone through while it was measured.
    Note passes_made(passes: f64, footprint: Bytes, seconds: f64):
        "{passes:.1} passes over {footprint} in {seconds:.2} s of measuring";

    /// Bytes that threads moved while they were measured, of those after which a step ends.
    Note bytes_moved(moved: Bytes, total: Bytes):
        {
            let short = if moved < total { ": its time ended before" } else { "" };
            format!("moved {:.1} GB of {:.1} GB (--total){short}", moved.0 as f64 / 1e9, total.0 as f64 / 1e9)
        };

    /// Bytes that memory reads and writes for the useful bytes of a kernel, bytes per second.
    Note bytes_beside(read: f64, written: f64):
        { format!("{} GB/s of lines are read from memory and {} GB/s written", format_gbs(read), format_gbs(written)) };

    /// The local level that a share is of.
    Note share_of_local(bytes_per_second: f64, op: &str):
        { format!("of {} GB/s by the node's own cores, {op}", format_gbs(bytes_per_second)) };

    // Loaded latency.

    /// A curve without a bend.
    Note no_knee_under_load(bytes_per_second: f64, first_ns: f64, last_ns: f64):
        {
            let (rate, first, last) = (format_gbs(bytes_per_second), format_ns(first_ns), format_ns(last_ns));
            format!("no knee up to {rate} GB/s: latency went from {first} to {last} ns without a marked bend")
        };

    /// A bend, with the rates of the points beside it.
    Note knee_under_load(ns: f64, points: usize, low: f64, high: f64):
        {
            let (ns, low, high) = (format_ns(ns), format_gbs(low), format_gbs(high));
            format!("at {ns} ns, by Kneedle over {points} points, the next at {low} and {high} GB/s")
        };

    /// The rate of the injectors.
    Note by_the_injectors(): "by the injectors, beside the chaser";

    /// The rate without pauses.
    Note without_pauses(bytes_per_second: f64): { format!("at {} GB/s, without pauses", format_gbs(bytes_per_second)) };

    /// A target that is missed without any load.
    Note target_missed_idle(ns: f64): { format!("already {} ns without load", format_ns(ns)) };

    /// A target that is missed under the lightest load.
    Note target_missed_under_load(ns: f64, bytes_per_second: f64):
        { format!("already {} ns under the lightest load, {} GB/s", format_ns(ns), format_gbs(bytes_per_second)) };

    /// A curve that ends below the target.
    Note curve_ends_below_target(ns: f64): { format!("a lower bound: the curve ends at {} ns", format_ns(ns)) };

    /// Bandwidth lost under pressure.
    Note bandwidth_falls(from: f64, to: f64):
        {
            let (from, to) = (format_gbs(from), format_gbs(to));
            format!("bandwidth falls from {from} to {to} GB/s while the pauses get shorter; these points stay on the \
                curve")
        };

    /// A peak beside no chaser.
    Note all_cores_untimed(): "all cores load the memory, no core is timed";

    // Nodes.

    /// The distance that the firmware states between two nodes.
    Note at_distance(distance: u32): "at distance {distance}";

    /// The parts of mixed placement, in bytes per second.
    Note parts_of_mixed(parts: &[(&str, f64)]): { format!("{} GB/s", rates(parts)) };

    /// How many weights a sweep had.
    Note weights_tried(weights: usize): "the best of {weights} weights tried";

    /// Weights as good as the best.
    Note weights_as_good(weights: &[String]): { format!("equally good within the intervals: {}", weights.join(" and ")) };

    /// The rate with even shares.
    Note even_shares(bytes_per_second: f64): { format!("even shares {} GB/s", format_gbs(bytes_per_second)) };

    /// The rate with the kernel's own weights, and the pages of each node.
    Note kernels_weights(pages: &BTreeMap<NodeId, u64>, bytes_per_second: f64):
        {
            let all = pages.values().sum::<u64>().max(1) as f64;
            let share = |(node, here): (&NodeId, &u64)| format!("node {node} {:.0} %", *here as f64 / all * 100.0);
            let shares: Vec<String> = pages.iter().map(share).collect();
            format!("the kernel's own weights ({}) {} GB/s", shares.join(", "), format_gbs(bytes_per_second))
        };

    /// Two cells of a latency, ns.
    Note compared_ns(larger: (&str, NodeId, f64), smaller: (&str, NodeId, f64)):
        {
            let words = |(from, node, ns): (&str, NodeId, f64)| format!("{from} to node {node} {} ns", format_ns(ns));
            format!("{}, {}", words(larger), words(smaller))
        };

    /// Two cells of a rate, bytes per second.
    Note compared_rates(larger: (&str, NodeId, f64), smaller: (&str, NodeId, f64)):
        {
            let words = |(from, node, rate): (&str, NodeId, f64)| format!("{from} to node {node} {} GB/s", format_gbs(rate));
            format!("{}, {}", words(larger), words(smaller))
        };

    /// The widest of pairs that are alike.
    Note directions_alike(): "no two directions differ by more than 5 % with intervals that do not overlap";

    /// Cells at one distance.
    Note both_at_distance(distance: u32): "both at distance {distance}";

    // Core to core.

    /// One-way messages.
    Note one_way(): "one way, not a round trip";

    /// Pairs of one relation that are of two kinds: pairs and median ns of both.
    Note two_groups_of_pairs(near: (usize, f64), far: (usize, f64)):
        {
            let ((near, at), (far, and)) = (near, far);
            format!(
                "two groups: {near} pairs about {at:.0} ns, {far} about {and:.0} ns; the declared topology does not \
                 separate them"
            )
        };

    /// Distances of a pair in turn, ns, with their shares of the time.
    Note distances_in_turn(modes: &[(f64, f64)], guest: bool):
        {
            let mode = |(ns, share): &(f64, f64)| format!("{ns:.0} ns {:.0} % of the time", share * 100.0);
            let why = if guest { "the hypervisor moves the cpus between cores" } else { "the machine changed during \
                the measurement" };
            format!("{}; {why}", modes.iter().map(mode).collect::<Vec<_>>().join(", "))
        };

    /// The contender that lost most.
    Note fewest_turns(who: &str): "{who} got the line least often";

    /// A pair that takes longer than its declared relation can.
    Note farther_than_declared(ns: f64):
        { format!("{} ns is too long for the declared relation: these cpus were farther apart during the measurement", format_ns(ns)) };

    /// A pair that takes less time than its declared relation can.
    Note nearer_than_declared(ns: f64, one_core: bool):
        {
            let nearer = if one_core { "shared one core" } else { "shared a last-level cache" };
            format!("{} ns is too short for the declared relation: these cpus {nearer} during the measurement", format_ns(ns))
        };

    /// Pairs of a guest.
    Note declared_by_hypervisor(): "relations are as the hypervisor declares them; it may move the cpus between \
        cores at any time";
}
