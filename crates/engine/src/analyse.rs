//! From clock stamps to numbers: what a shot measured, and what disturbed it. Pure.
//!
//! Every worker stamps the clock after each small block of work. From the stamps alone: a block of several medians is
//! a gap (preemption, hypervisor steal, an SMI), and the windows common to all workers in which none has a gap are the
//! ones that count.

use tiermark_model::{Disturbance, Metric};

use crate::host::{Shot, ThreadShot};
use crate::roll::{Roll, Work};

/// A block this many times longer than its thread's median is a gap: ordinary jitter (a timer tick, a refresh, a TLB
/// miss burst) stays well under it, a lost time slice (≥ 0.75 ms against blocks of about 10 µs) far above.
const GAP_FACTOR: f64 = 3.0;
/// A block this much longer than the median is a gap whatever the median: less than a scheduler's shortest slice, so that none hides
/// in the long blocks of string instructions, ns.
const GAP_NS: f64 = 500_000.0;
/// Shortest window, ns. Shorter than a scheduler time slice, so that windows fit between preemptions on a busy machine.
pub(crate) const WINDOW_NS: f64 = 500_000.0;
/// A window holds at least this many median blocks, so that cutting blocks at its edges moves its rate by little.
const WINDOW_BLOCKS: f64 = 8.0;

/// What one shot came to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ShotResult {
    /// ns per access, or bytes per second, stamp cost subtracted; `None` when nothing undisturbed was left.
    pub value: Option<f64>,
    /// The same of each named part of the setup.
    pub parts: Vec<Option<f64>>,
    /// Its part of the step's disturbance account.
    pub disturbance: Disturbance,
    /// ns per access of every block as the clock gave it, gaps included, the stamp not subtracted (latency only).
    pub blocks_ns: Vec<f32>,
    /// What a stamp adds to each of them, ns per access.
    pub stamp_per_access: f64,
    /// Work in one block: accesses, or useful bytes.
    pub block_work: f64,
    /// Stamp cost over median block, before it was subtracted; the worst thread's.
    pub overhead_share: f64,
    /// Core clocks seen, both ends of every thread.
    pub core_hz: Vec<f64>,
}

/// One thread's blocks and gaps.
struct Track<'a> {
    shot: &'a ThreadShot,
    median_block: f64,
    /// Start and end of each gap, ns.
    gaps: Vec<(f64, f64)>,
}

impl<'a> Track<'a> {
    fn new(shot: &'a ThreadShot) -> Option<Self> {
        let blocks: Vec<f64> = durations(shot).collect();
        let median_block = tiermark_stats::median(&blocks).filter(|m| *m > 0.0)?;
        let limit = (GAP_FACTOR * median_block).min(median_block + GAP_NS);
        let gaps = shot.stamps_ns.windows(2).filter(|w| w[1] - w[0] > limit).map(|w| (w[0], w[1])).collect();
        Some(Self { shot, median_block, gaps })
    }

    fn start(&self) -> f64 {
        self.shot.stamps_ns.first().copied().unwrap_or_default()
    }

    fn end(&self) -> f64 {
        self.shot.stamps_ns.last().copied().unwrap_or_default()
    }

    /// Whether a gap reaches into the span.
    fn disturbed(&self, from: f64, to: f64) -> bool {
        let next = self.gaps.partition_point(|(_, end)| *end <= from);
        self.gaps.get(next).is_some_and(|(start, _)| *start < to)
    }

    /// Work done by the time `at`, blocks cut in proportion.
    fn work_at(&self, at: f64) -> f64 {
        let stamps = &self.shot.stamps_ns;
        let next = stamps.partition_point(|s| *s <= at);
        if next == 0 {
            return 0.0;
        }
        let whole = (next - 1) as f64;
        let part = match stamps.get(next) {
            Some(end) => (at - stamps[next - 1]) / (end - stamps[next - 1]),
            None => 0.0,
        };
        (whole + part) * self.shot.per_block
    }
}

fn durations(shot: &ThreadShot) -> impl Iterator<Item = f64> + '_ {
    shot.stamps_ns.windows(2).map(|w| w[1] - w[0])
}

/// Analyses one shot. `stamp_ns` is the cost of one clock stamp, subtracted from every block.
pub fn analyse(shot: &Shot, roll: &Roll, stamp_ns: f64) -> ShotResult {
    let members = roll.members();
    let counted = || members.iter().filter_map(|index| shot.threads.get(*index));
    let block_work = counted().next().map_or(0.0, |t| t.per_block);
    let mut result = ShotResult { core_hz: core_clocks(shot), block_work, ..ShotResult::default() };
    account_guards(shot, &mut result.disturbance);
    let by_thread: Vec<Option<Track<'_>>> = shot.threads.iter().map(Track::new).collect();
    let stamps =
        |(index, work): (usize, &Work)| *work == Work::Service || by_thread.get(index).is_some_and(Option::is_some);
    if members.is_empty() || shot.threads.len() != roll.threads.len() || !roll.threads.iter().enumerate().all(stamps) {
        result.disturbance.shots_set_aside = 1;
        return result;
    }
    let tracks: Vec<&Track<'_>> = by_thread.iter().flatten().collect();
    account_gaps(&tracks, &mut result.disturbance);
    result.overhead_share = tracks.iter().map(|t| stamp_ns / t.median_block).fold(0.0, f64::max);
    if roll.metric == Metric::Latency {
        result.blocks_ns = counted().flat_map(|t| durations(t).map(|d| (d / t.per_block) as f32)).collect();
        result.stamp_per_access = stamp_ns / block_work;
    }
    let windows = common_windows(&tracks);
    let clean: Vec<(f64, f64)> =
        windows.iter().copied().filter(|(from, to)| !tracks.iter().any(|t| t.disturbed(*from, *to))).collect();
    result.disturbance.windows = windows.len() as u64;
    let whole = result.disturbance.migrations == 0 && result.disturbance.major_faults == 0;
    let value = |work: Work, members: &[usize]| {
        let members: Vec<&Track<'_>> = members.iter().filter_map(|index| by_thread[*index].as_ref()).collect();
        match work {
            _ if !whole => None,
            Work::Service => None,
            Work::Accesses => median_block(&members, &clean, stamp_ns),
            Work::Bytes => median_rate(&members, &clean, stamp_ns),
        }
    };
    result.value = value(roll.threads[members[0]], &members);
    result.parts = roll.parts.iter().map(|(_, work, members)| value(*work, members)).collect();
    // Windows count as clean only where the shot counts.
    result.disturbance.clean_windows = if whole { clean.len() as u64 } else { 0 };
    result.disturbance.shots_set_aside = u64::from(result.value.is_none());
    result
}

/// Median time of an access over the blocks inside clean windows: the mean of the middle fifth of them, which is as
/// robust as the median and does not stand on the clock's own steps (10 ns on some processors, 0.25 % of a short block).
fn median_block(tracks: &[&Track<'_>], clean: &[(f64, f64)], stamp_ns: f64) -> Option<f64> {
    let mut values = Vec::new();
    for track in tracks {
        let stamps = &track.shot.stamps_ns;
        for (from, to) in clean {
            let first = stamps.partition_point(|s| s < from);
            let inside = stamps[first..].iter().take_while(|s| *s <= to).count();
            values.extend(
                stamps[first..first + inside].windows(2).map(|w| (w[1] - w[0] - stamp_ns) / track.shot.per_block),
            );
        }
    }
    middle_fifth(values)
}

fn middle_fifth(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let from = values.len() * 2 / 5;
    let middle = values.get(from..values.len() - from)?;
    (!middle.is_empty()).then(|| middle.iter().sum::<f64>() / middle.len() as f64)
}

/// Median over clean windows of the bytes all threads moved inside the window, over its length.
fn median_rate(tracks: &[&Track<'_>], clean: &[(f64, f64)], stamp_ns: f64) -> Option<f64> {
    let rates: Vec<f64> = clean
        .iter()
        .map(|(from, to)| {
            tracks
                .iter()
                .map(|t| {
                    // Time spent stamping is not time spent moving bytes.
                    let busy = 1.0 - stamp_ns / t.median_block;
                    (t.work_at(*to) - t.work_at(*from)) / ((to - from) * busy) * 1e9
                })
                .sum()
        })
        .collect();
    tiermark_stats::median(&rates)
}

/// Cuts the span common to all threads into windows of equal length; one shorter window if the span is short.
fn common_windows(tracks: &[&Track<'_>]) -> Vec<(f64, f64)> {
    let start = tracks.iter().map(|t| t.start()).fold(f64::MIN, f64::max);
    let end = tracks.iter().map(|t| t.end()).fold(f64::MAX, f64::min);
    let slowest = tracks.iter().map(|t| t.median_block).fold(0.0, f64::max);
    let length = WINDOW_NS.max(WINDOW_BLOCKS * slowest);
    let span = end - start;
    if span <= 0.0 {
        return Vec::new();
    }
    let count = (span / length).floor().max(1.0);
    let length = length.min(span);
    (0..count as u64).map(|i| (start + i as f64 * length, start + (i + 1) as f64 * length)).collect()
}

fn account_gaps(tracks: &[&Track<'_>], account: &mut Disturbance) {
    let lost: f64 = tracks.iter().flat_map(|t| t.gaps.iter().map(|(a, b)| b - a - t.median_block)).sum();
    let all: f64 = tracks.iter().map(|t| t.end() - t.start()).sum();
    account.gap_share = if all > 0.0 { lost / all } else { 0.0 };
    account.longest_gap_ns = tracks.iter().flat_map(|t| t.gaps.iter().map(|(a, b)| b - a)).fold(0.0, f64::max);
}

fn account_guards(shot: &Shot, account: &mut Disturbance) {
    account.shots = 1;
    let mut delay = None;
    let (mut cpu_ns, mut wall_ns) = (0.0, 0.0);
    for thread in &shot.threads {
        let guard = &thread.guard;
        account.involuntary_switches += guard.involuntary_switches;
        account.minor_faults += guard.minor_faults;
        account.major_faults += guard.major_faults;
        account.migrations += u64::from(guard.seen_on != [guard.cpu; 2]);
        cpu_ns += guard.cpu_ns;
        wall_ns += guard.wall_ns;
        delay = guard.run_delay_ns.map(|d| d + delay.unwrap_or(0.0)).or(delay);
    }
    account.run_delay_ns = delay;
    account.cpu_share = (wall_ns > 0.0).then(|| cpu_ns / wall_ns);
}

fn core_clocks(shot: &Shot) -> Vec<f64> {
    shot.threads.iter().flat_map(|t| t.guard.core_hz).flatten().collect()
}

/// Adds the account of another shot.
pub fn merge(total: &mut Disturbance, shot: &Disturbance) {
    let weight = total.shots as f64 / (total.shots + shot.shots).max(1) as f64;
    let mean = |a: f64, b: f64| a * weight + b * (1.0 - weight);
    total.gap_share = mean(total.gap_share, shot.gap_share);
    total.cpu_share = match (total.cpu_share, shot.cpu_share) {
        (Some(a), Some(b)) => Some(mean(a, b)),
        (a, b) => a.or(b),
    };
    total.run_delay_ns = match (total.run_delay_ns, shot.run_delay_ns) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    };
    total.windows += shot.windows;
    total.clean_windows += shot.clean_windows;
    total.shots += shot.shots;
    total.shots_set_aside += shot.shots_set_aside;
    total.longest_gap_ns = total.longest_gap_ns.max(shot.longest_gap_ns);
    total.involuntary_switches += shot.involuntary_switches;
    total.minor_faults += shot.minor_faults;
    total.major_faults += shot.major_faults;
    total.migrations += shot.migrations;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Guard;
    use proptest::prelude::*;

    fn thread(start: f64, per_block: f64, blocks: &[f64]) -> ThreadShot {
        let mut stamps_ns = vec![start];
        for block in blocks {
            stamps_ns.push(stamps_ns[stamps_ns.len() - 1] + block);
        }
        ThreadShot {
            per_block,
            stamps_ns,
            guard: Guard { cpu: 1, seen_on: [1, 1], cpu_ns: 90.0, wall_ns: 100.0, ..Guard::default() },
        }
    }

    fn analyse(shot: &Shot, metric: Metric, stamp_ns: f64) -> ShotResult {
        super::analyse(shot, &Roll::plain(metric, shot.threads.len()), stamp_ns)
    }

    fn shot(threads: Vec<ThreadShot>) -> Shot {
        Shot { threads }
    }

    #[test]
    fn latency_is_the_median_block_without_the_stamp() {
        let result = analyse(&shot(vec![thread(0.0, 64.0, &[6_420.0; 400])]), Metric::Latency, 20.0);
        assert!((result.value.unwrap() - 100.0).abs() < 1e-9);
        assert_eq!(result.disturbance.clean_windows, result.disturbance.windows);
        assert_eq!(result.blocks_ns.len(), 400);
        assert!((result.overhead_share - 20.0 / 6420.0).abs() < 1e-9);
    }

    #[test]
    fn only_those_that_are_measured_must_stamp() {
        let measured = || thread(0.0, 64.0, &[6_400.0; 400]);
        let silent = || thread(0.0, 1.0, &[]);
        let roll = Roll { metric: Metric::Latency, threads: vec![Work::Accesses, Work::Service], parts: Vec::new() };
        let result = super::analyse(&shot(vec![measured(), silent()]), &roll, 0.0);
        assert!((result.value.unwrap() - 100.0).abs() < 1e-9);
        // The partner that left its cpu spoils the shot all the same.
        let mut away = silent();
        away.guard.seen_on = [1, 0];
        assert_eq!(super::analyse(&shot(vec![measured(), away]), &roll, 0.0).value, None);
        // One that should have stamped and did not is not measured at all.
        let both = Roll { threads: vec![Work::Accesses; 2], ..roll };
        let result = super::analyse(&shot(vec![measured(), silent()]), &both, 0.0);
        assert_eq!((result.value, result.disturbance.shots_set_aside), (None, 1));
    }

    #[test]
    fn preemption_does_not_move_the_latency_but_is_counted() {
        let mut blocks = vec![6_400.0; 600];
        for i in (0..600).step_by(200) {
            blocks[i] = 3_000_000.0;
        }
        let result = analyse(&shot(vec![thread(0.0, 64.0, &blocks)]), Metric::Latency, 0.0);
        assert!((result.value.unwrap() - 100.0).abs() < 1e-9);
        assert!(result.disturbance.gap_share > 0.5);
        assert!(result.disturbance.clean_windows < result.disturbance.windows);
        assert!((result.disturbance.longest_gap_ns - 3e6).abs() < 1.0);
    }

    #[test]
    fn bandwidth_counts_only_windows_in_which_every_thread_runs() {
        // Each thread moves 10 GB/s while it runs; one is off the cpu for the first 5 ms of 10.
        let steady = thread(0.0, 65_536.0, &[6_553.6; 1526]);
        let mut blocks = vec![6_553.6; 764];
        blocks[0] = 5_000_000.0;
        let late = thread(0.0, 65_536.0, &blocks);
        let result = analyse(&shot(vec![steady, late]), Metric::Bandwidth, 0.0);
        let value = result.value.unwrap();
        assert!((value - 20e9).abs() < 0.01 * 20e9, "{value}");
        assert!(result.disturbance.clean_windows * 2 <= result.disturbance.windows);
    }

    #[test]
    fn a_time_slice_does_not_hide_in_long_blocks() {
        // String instructions run in blocks of 1.5 ms; one slice of 2 ms inside a block is less than three of them.
        let mut blocks = vec![1_500_000.0; 40];
        blocks[20] += 2_000_000.0;
        let result = analyse(&shot(vec![thread(0.0, 6e7, &blocks)]), Metric::Bandwidth, 0.0);
        assert!(result.disturbance.clean_windows < result.disturbance.windows);
        assert!((result.value.unwrap() / 40e9 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn start_skew_is_not_counted_as_work() {
        let early = thread(0.0, 65_536.0, &[6_553.6; 400]);
        let late = thread(1_000_000.0, 65_536.0, &[6_553.6; 400]);
        let value = analyse(&shot(vec![early, late]), Metric::Bandwidth, 0.0).value.unwrap();
        assert!((value - 20e9).abs() < 1e7, "{value}");
    }

    #[test]
    fn a_migrated_or_major_faulting_shot_is_set_aside_whole() {
        for change in [|g: &mut Guard| g.seen_on = [1, 2], |g: &mut Guard| g.major_faults = 1] {
            let mut thread = thread(0.0, 64.0, &[6_400.0; 400]);
            change(&mut thread.guard);
            let result = analyse(&shot(vec![thread]), Metric::Latency, 0.0);
            assert_eq!(result.value, None);
            assert_eq!((result.disturbance.shots_set_aside, result.disturbance.clean_windows), (1, 0));
        }
    }

    #[test]
    fn a_shot_without_blocks_is_set_aside() {
        for threads in
            [vec![], vec![thread(0.0, 64.0, &[])], vec![thread(0.0, 64.0, &[5e3; 9]), thread(0.0, 64.0, &[])]]
        {
            let result = analyse(&shot(threads), Metric::Bandwidth, 0.0);
            assert_eq!((result.value, result.disturbance.shots_set_aside), (None, 1));
        }
    }

    #[test]
    fn threads_that_never_overlap_have_no_common_window() {
        let a = thread(0.0, 65_536.0, &[6_553.6; 100]);
        let b = thread(1e9, 65_536.0, &[6_553.6; 100]);
        assert_eq!(analyse(&shot(vec![a, b]), Metric::Bandwidth, 0.0).value, None);
    }

    #[test]
    fn a_chase_beside_a_load_gives_its_latency_and_the_load_its_rate() {
        let chase = thread(0.0, 64.0, &[6_400.0; 400]);
        let load = |rate: f64| thread(0.0, 65_536.0, &vec![65_536.0 / rate; 400]);
        let roll = Roll {
            metric: Metric::Latency,
            threads: vec![Work::Accesses, Work::Bytes, Work::Bytes],
            parts: vec![("load".into(), Work::Bytes, vec![1, 2]), ("near".into(), Work::Bytes, vec![1])],
        };
        let result = super::analyse(&shot(vec![chase, load(10.0), load(20.0)]), &roll, 0.0);
        assert!((result.value.unwrap() - 100.0).abs() < 1e-9);
        assert!(
            (result.parts[0].unwrap() / 30e9 - 1.0).abs() < 1e-6
                && (result.parts[1].unwrap() / 10e9 - 1.0).abs() < 1e-6
        );
        assert_eq!(result.blocks_ns.len(), 400);
    }

    #[test]
    fn the_middle_fifth_is_a_median_without_steps() {
        assert_eq!(middle_fifth(vec![]), None);
        assert_eq!(middle_fifth(vec![3.0]), Some(3.0));
        assert_eq!(middle_fifth(vec![1.0, 2.0, 900.0]), Some(2.0));
        // Half of the blocks at 10, half at 11, as a clock with a step of 1 shows 10.5.
        let stepped: Vec<f64> = (0..100).map(|i| f64::from(10 + i % 2)).collect();
        assert_eq!(middle_fifth(stepped), Some(10.5));
    }

    #[test]
    fn accounts_merge() {
        let one = analyse(&shot(vec![thread(0.0, 64.0, &[6_400.0; 400])]), Metric::Latency, 0.0).disturbance;
        let mut total = Disturbance::default();
        merge(&mut total, &one);
        merge(&mut total, &one);
        assert_eq!(total.shots, 2);
        assert_eq!(total.windows, 2 * one.windows);
        assert!((total.cpu_share.unwrap() - 0.9).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn never_panics_and_never_gives_nonsense(
            a in proptest::collection::vec(1.0f64..1e6, 0..300),
            b in proptest::collection::vec(1.0f64..1e6, 0..300),
            skew in 0.0f64..1e6,
        ) {
            let shot = shot(vec![thread(0.0, 64.0, &a), thread(skew, 64.0, &b)]);
            for metric in [Metric::Latency, Metric::Bandwidth] {
                let result = analyse(&shot, metric, 0.0);
                prop_assert!(result.value.is_none_or(|v| v.is_finite() && v > 0.0));
                prop_assert!(result.disturbance.clean_windows <= result.disturbance.windows);
            }
        }
    }
}
