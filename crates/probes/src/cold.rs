//! Cold: what a random access to memory takes right after other work, and how long the state of settled accesses takes
//! to come back.

use tiermark_model::messages::memory;
use tiermark_model::{
    Bytes, ChainLayout, CpuId, Finding, Labels, Layout, MIB, MemPolicy, Observation, PageKind, Purpose, Quantity,
    Reason, ReasonCode, RegionSetup, Step, StopRule, Tier, Unit, Visits,
};
use tiermark_stats::median;

use crate::chasing::Chase;
use crate::ladder::{derived, description, finding, with_purpose};
use crate::task::Task;

/// Length of a visit, seconds: on a guest of Emerald Rapids half of the excess was gone after 6 ms.
const VISIT_SECONDS: f64 = 16e-3;
/// Visits at least and at most: the medians of as many differ by some percent, which is enough for a description.
const VISITS: (u32, u32) = (8, 24);
/// Visits at least whose beginning was undisturbed: a single one of three that the machine delayed decides a median.
const LEAST_VISITS: usize = 5;
/// Seconds of all visits at most, where the fewest do not take longer: reading twice 300 MiB takes 60 ms.
const ALL_SECONDS: f64 = 1.0;
/// Wanted half-width of the interval.
const PRECISION: f64 = 0.05;
/// Other memory is this many times the caches in reach, and as much at least: machines that hide their caches have some
/// all the same.
const CACHES: u64 = 2;
const LEAST_READ: u64 = 64 * MIB;
/// Length of a window, ns, without the gaps in it: in a gap nothing comes back.
const WINDOW_NS: f64 = 250_000.0;
/// An excess below this share of the settled time is within the noise of visits: it has no time to come back in.
const LEAST_EXCESS: f64 = 0.05;
/// The part of a visit, at its end, that counts as settled where nothing else says what that is, unless the part before
/// it was slower by more than this share of the excess.
const LAST_PART: usize = 4;
const UNDER_WAY: f64 = 0.1;

/// Bytes of other memory that a step reads before each visit, for so many bytes of caches in reach: whole huge pages.
/// Where the last cache is not known, half of the footprint, which is then larger than any cache.
pub(crate) fn read_bytes(caches: Option<u64>, footprint: u64) -> u64 {
    let wanted = caches.map_or(footprint / 2, |caches| CACHES.saturating_mul(caches));
    wanted.max(LEAST_READ).next_multiple_of(2 * MIB)
}

/// The step: the chase of random accesses to memory, in visits that read other memory first.
pub(crate) fn step(task: &Task, cpu: CpuId, bytes: u64, node: Option<u32>, pages: [PageKind; 2], read: u64) -> Step {
    let [page, other_page] = pages;
    let labels = Labels::new().with_purpose(Purpose::Cold).with_tier(Tier::Cold).with_after(read);
    let (min_visits, max_visits) = VISITS;
    let stop = StopRule { precision: PRECISION, allocations: 1, min_visits, max_visits, shot_seconds: VISIT_SECONDS };
    let chase = Chase { cpu, bytes, node, layout: ChainLayout::Random, page, chains: 1 };
    let mut step = chase.step("latency", labels, task.request.seed, stop);
    let nodes = node.into_iter().collect();
    step.setup.regions.push(RegionSetup {
        bytes: Bytes(read),
        policy: MemPolicy::Bind,
        nodes,
        page: other_page,
        layout: Layout::Data,
    });
    for thread in &mut step.setup.threads {
        thread.reads_first = Some(step.setup.regions.len() - 1);
    }
    step.stop.max_visits = ((ALL_SECONDS / step.visit_seconds()) as u32).clamp(min_visits, max_visits);
    step
}

/// What an access takes at first, and how long half of the excess lasts.
pub(crate) fn findings(observations: &[Observation]) -> Vec<Finding> {
    let mut found = Vec::new();
    for seen in with_purpose(observations, Purpose::Cold) {
        // A page fault, or memory that a hypervisor has to bring back, is none of the accesses that are meant.
        let begins_clean = |visit: &&tiermark_model::Visit| visit.windows.first().is_some_and(|window| window.clean);
        let (all, count) = (seen.visits.list.len(), seen.visits.list.iter().filter(begins_clean).count());
        let mut first = finding(seen, [memory::cold_visits(count, all - count)]);
        if count < LEAST_VISITS {
            (first.value, first.interval) = (None, None);
            first.verdict.invalid(Reason::TooFew { windows: count as u64, visits: all as u64 });
            found.push(first);
            continue;
        }
        first.verdict = description(&first.verdict);
        found.push(first);
        let medians = window_medians(&seen.visits);
        let settled = settled(seen, observations).or_else(|| last_level(&medians));
        if let Some((back, settled)) = settled.and_then(|settled| Some((recovery(&medians, settled)?, settled))) {
            let (labels, ns) = match back {
                Recovery::After(ns) => (seen.labels.clone(), ns),
                Recovery::NotWithin(ns) => (seen.labels.clone().with_statistic("at least"), ns),
            };
            let back = derived(seen, Quantity::LatencyRecovery, labels, ns, Unit::Ns);
            let back = back.with_notes([memory::recovers_to(settled.into())]);
            found.push(Finding { verdict: description(&back.verdict), ..back });
        }
    }
    found
}

/// The time in which half of an excess is gone.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Recovery {
    /// After so many ns.
    After(f64),
    /// Not within the ns of a visit.
    NotWithin(f64),
}

/// The medians over visits of the first window, the second, and so on, as long as half of the visits have one.
fn window_medians(visits: &Visits) -> Vec<f64> {
    let at = |index: usize| {
        let windows = visits.list.iter().filter_map(|visit| visit.windows.get(index));
        let values: Vec<f64> = windows.filter(|window| window.clean).filter_map(|window| window.value()).collect();
        median(&values).filter(|_| 2 * values.len() >= visits.list.len())
    };
    (0..).map_while(at).collect()
}

/// What accesses to the same memory took in the same run, if they were settled: a median of visits, as the others are.
fn settled(cold: &Observation, observations: &[Observation]) -> Option<f64> {
    let same = |seen: &&Observation| {
        seen.labels.tier() == Some(Tier::DramRandom)
            && seen.labels.are_alike(&cold.labels, |of| (of.page(), of.size(), of.node()))
    };
    let seen = with_purpose(observations, Purpose::Ladder).find(same)?;
    seen.typical.filter(|_| !seen.verdict.has(ReasonCode::NotSettled)).map(|now| now.median)
}

/// The median of the end of a visit; `None` if the medians are still on their way then.
fn last_level(medians: &[f64]) -> Option<f64> {
    let part = medians.len() / LAST_PART;
    let end = |parts: usize| median(&medians[medians.len() - parts * part..medians.len() - (parts - 1) * part]);
    let (before, last) = (end(2)?, end(1)?);
    (before - last <= UNDER_WAY * (medians[0] - last)).then_some(last)
}

/// When the medians come half way back to the settled time, counted from the middle of its first window; `None` without
/// an excess. Between two windows they follow a straight line. A single window below the half is noise.
fn recovery(medians: &[f64], settled: f64) -> Option<Recovery> {
    let first = *medians.first()?;
    if first < settled * (1.0 + LEAST_EXCESS) {
        return None;
    }
    let half = f64::midpoint(first, settled);
    let is_there = |at: usize| medians[at..].iter().take(2).all(|value| *value <= half);
    let Some(at) = (1..medians.len()).find(|at| is_there(*at)) else {
        return Some(Recovery::NotWithin(medians.len() as f64 * WINDOW_NS));
    };
    let (before, after) = (medians[at - 1].max(half), medians[at]);
    let part = if before > after { (before - half) / (before - after) } else { 0.0 };
    Some(Recovery::After(((at - 1) as f64 + part) * WINDOW_NS))
}

#[cfg(test)]
mod tests {
    use tiermark_model::{Metric, Visit, Window};

    use super::*;

    /// Visits that begin at 250 ns and come back to 150, a third of the excess a window being the noise of every fifth
    /// visit.
    fn visits(tau_ms: f64, windows: u32) -> Visits {
        let visit = |number: u32| {
            let window = |index: u32| {
                let ms = 0.25 * f64::from(index);
                let noise = if number % 5 == 4 { 33.0 } else { 0.1 * f64::from(number % 5) };
                let value = 150.0 + 100.0 * (-ms / tau_ms).exp() + noise;
                Window { clean: number % 7 != 6, values: vec![Some(value)], ..Window::default() }
            };
            Visit { at: f64::from(number), windows: (0..windows).map(window).collect(), ..Visit::default() }
        };
        Visits { list: (0..24).map(visit).collect(), ..Visits::default() }
    }

    fn cold(visits: Visits) -> Observation {
        let labels = Labels::new().with_purpose(Purpose::Cold).with_tier(Tier::Cold).with_size(1 << 30);
        let seen = Observation::new("cold", labels, Metric::Latency);
        Observation { visits, value: Some(250.0), ..seen }
    }

    #[test]
    fn the_time_of_half_of_a_planted_excess_is_found() {
        for tau_ms in [0.5, 2.0, 8.7] {
            let medians = window_medians(&visits(tau_ms, 64));
            assert!((medians[0] - 250.2).abs() < 1.0, "{medians:?}");
            let Some(Recovery::After(ns)) = recovery(&medians, 150.2) else { panic!("{medians:?}") };
            let planted = tau_ms * std::f64::consts::LN_2 * 1e6;
            assert!((ns / planted - 1.0).abs() < 0.05, "{ns} of {planted}");
        }
        // A half that the visit does not reach, an excess that is noise, and no windows.
        let long = window_medians(&visits(60.0, 64));
        assert_eq!(recovery(&long, 150.0), Some(Recovery::NotWithin(16e6)));
        assert_eq!([&[103.0, 100.0][..], &[]].map(|medians| recovery(medians, 100.0)), [None, None]);
        // One window below the half is not yet the way back.
        let medians = [200.0, 140.0, 190.0, 150.0, 120.0];
        assert_eq!(recovery(&medians, 100.0), Some(Recovery::After(750_000.0)));
    }

    #[test]
    fn the_settled_time_is_that_of_the_same_run_or_of_the_end_of_a_visit() {
        let seen = cold(visits(1.0, 64));
        let back = |observations: &[Observation]| {
            let found = findings(observations);
            let recovery = found.iter().find(|f| f.quantity == Quantity::LatencyRecovery);
            recovery.map(|f| (f.value.unwrap_or_default(), f.notes[0].data["ns"].as_f64().unwrap_or_default()))
        };
        let (alone, to) = back(std::slice::from_ref(&seen)).expect("an excess");
        assert!((alone / 0.69e6 - 1.0).abs() < 0.05 && (to - 150.2).abs() < 0.5, "{alone} {to}");
        let random = |size: u64, median: f64| {
            let labels = Labels::new().with_purpose(Purpose::Ladder).with_tier(Tier::DramRandom);
            let labels = labels.with_size(size);
            let typical = Some(tiermark_model::Typical { median, p10: median, p90: median });
            Observation { typical, value: Some(median), ..Observation::new("random", labels, Metric::Latency) }
        };
        let (_, to) = back(&[seen.clone(), random(1 << 20, 90.0), random(1 << 30, 170.0)]).expect("an excess");
        assert!((to - 170.0).abs() < 1e-9);
        assert_eq!(back(&[seen, random(1 << 30, 245.0)]), None);
    }

    /// 424, 116,954 and 27,468 ns were printed, unmarked.
    #[test]
    fn what_began_undisturbed_in_fewer_than_five_visits_is_no_number() {
        let of = |visits: usize| {
            let seen =
                cold(Visits { list: super::tests::visits(1.0, 64).list[..visits].to_vec(), ..Visits::default() });
            findings(&[seen])
        };
        // The seventh is disturbed.
        let few = of(4);
        assert_eq!((few.len(), few[0].value, few[0].interval), (1, None, None));
        assert_eq!(few[0].verdict.reasons, [Reason::TooFew { windows: 4, visits: 4 }]);
        let enough = of(7);
        assert_eq!((enough[0].value, &enough[0].notes[0]), (Some(250.0), &memory::cold_visits(6, 1)));
        assert_eq!(enough[0].notes[0].text, "median of 6 visits; 1 more began with a stall or a page fault");
    }

    #[test]
    fn as_much_is_read_as_pushes_out_what_caches_hold() {
        assert_eq!(
            [None, Some(1), Some(33), Some(301)].map(|mib| read_bytes(mib.map(|mib: u64| mib * MIB), 512 * MIB) / MIB),
            [256, 64, 66, 602]
        );
    }
}
