//! The verdict: what speaks against a number, in words and with numbers. Pure.

mod placement;
mod shares;
mod states;
mod value;

use tiermark_model::{Machine, Observation, ReasonCode, Role, Step, Verdict};

use crate::probe::Lab;
use placement::judge_placement;
use value::{judge_clock, judge_value};

/// Share of windows that must be undisturbed.
const CLEAN_SHARE: f64 = 0.5;
/// Share of the time that gaps may take. Windows of operations of the kernel are whole blocks, so that a gap however long disturbs one of
/// them: where most of the time went into gaps, the clean windows are not what the machine does.
const GAP_SHARE: f64 = 0.5;
/// Clock moves beyond this are said. Boost follows what the neighbours do, in steps of 25 to 100 MHz: a few of those, up to 5 %
/// of a core's clock, are every shared machine's state, and show in the interval of whatever depends on the clock.
const CLOCK_SPREAD: f64 = 0.05;
/// A number whose interval reaches this share of it to either side is none: it may as well be half or half as much again, and
/// what is computed from two of them is off by a factor.
pub const TOO_WIDE: f64 = 0.5;

/// Judges an observation of a step. `fault` is what broke, if something did.
///
/// `quantum` is the clock's step where it shows in the blocks.
pub(crate) fn judge(
    step: &Step,
    seen: &Observation,
    fault: Option<&str>,
    quantum: Option<f64>,
    lab: Lab<'_>,
) -> Verdict {
    let (mut verdict, machine) = (Verdict::trusted(), lab.machine);
    if let Some(refusal) = &seen.refusal {
        verdict.invalid(ReasonCode::System, format!("refused: {refusal}"));
        return verdict;
    }
    if let Some(fault) = fault {
        verdict.invalid(ReasonCode::System, format!("broke off: {fault}"));
    }
    judge_value(step, seen, quantum, machine, &mut verdict);
    judge_clock(seen, lab.bench.clock.resolution_ns, &mut verdict);
    judge_placement(step, seen, machine, &mut verdict);
    judge_disturbance(step, seen, &mut verdict);
    judge_precision(step, seen, &mut verdict);
    judge_system(step, seen, machine, &mut verdict);
    verdict
}

fn judge_disturbance(step: &Step, seen: &Observation, verdict: &mut Verdict) {
    let account = &seen.disturbance;
    if account.windows > 0 {
        let dirty = 1.0 - account.clean_windows as f64 / account.windows as f64;
        if dirty > 1.0 - CLEAN_SHARE {
            let text = format!(
                "{} of windows were disturbed, the longest gap {}",
                percent(dirty),
                duration(account.longest_gap_ns)
            );
            verdict.suspect(ReasonCode::Disturbed, text);
        } else if account.gap_share > GAP_SHARE && seen.value.is_some() {
            let (share, longest) = (percent(account.gap_share), duration(account.longest_gap_ns));
            let text = format!("{share} of the time went into gaps, the longest {longest}");
            verdict.suspect(ReasonCode::Disturbed, text);
        }
    }
    if account.shots_set_aside * 2 > account.shots && seen.value.is_some() {
        let text = format!("{} of {} shots had to be set aside", account.shots_set_aside, account.shots);
        verdict.suspect(ReasonCode::Disturbed, text);
    }
    if account.migrations > 0 {
        verdict.suspect(
            ReasonCode::Migrated,
            format!("a worker left its cpu in {} of {} shots", account.migrations, account.shots),
        );
    }
    if account.major_faults > 0 {
        verdict.suspect(
            ReasonCode::Faults,
            format!("{} major page faults inside shots: memory is being swapped", account.major_faults),
        );
    }
    // The memory is faulted in before the clock starts: a fault a shot means that something takes pages away or splits them.
    // What asks the kernel for processes and mappings makes faults itself.
    let own = step.setup.threads.iter().any(|t| matches!(t.role, Role::Os(_)));
    if account.minor_faults > account.shots && !own {
        verdict.suspect(
            ReasonCode::Faults,
            format!("{} minor page faults inside {} shots", account.minor_faults, account.shots),
        );
    }
    if let Some(spread) = seen.core_hz_spread.filter(|s| *s > CLOCK_SPREAD) {
        let (moved, limit) = told_apart(spread, CLOCK_SPREAD);
        verdict.suspect(ReasonCode::Frequency, format!("the core clock moved by {moved}, more than {limit}"));
    }
}

fn judge_precision(step: &Step, seen: &Observation, verdict: &mut Verdict) {
    let Some(value) = seen.value else { return };
    if seen.allocations < step.stop.min_allocations {
        verdict.suspect(
            ReasonCode::TooFew,
            format!("{} of {} allocations measured", seen.allocations, step.stop.min_allocations),
        );
    }
    let wanted = step.stop.precision;
    match &seen.interval {
        Some(interval) => {
            let half = (interval.high - interval.low) / 2.0 / value;
            let (seen_half, wanted_half) = told_apart(half, wanted);
            let why = || states::two(seen).unwrap_or_else(|| uneven(seen).to_owned());
            let text = || format!("interval ±{seen_half}, wanted ±{wanted_half}{}", why());
            // Two allocations are too few to say that a number is none: Student's t is 12.7 there, and a tenth between them is enough.
            if half >= TOO_WIDE && seen.allocations >= step.stop.min_allocations {
                verdict.invalid(ReasonCode::Imprecise, text());
            } else if half > wanted {
                verdict.suspect(ReasonCode::Imprecise, text());
            }
        }
        None => {
            verdict.suspect(ReasonCode::TooFew, format!("{} samples are too few for an interval", seen.samples.len()));
        }
    }
}

/// Says when it is the allocations that differ, and not the shots on the same pages.
fn uneven(seen: &Observation) -> &'static str {
    /// Fresh allocations that scatter this many times more than shots on one of them, and by more than a percent, are different
    /// places, not noise.
    const UNEVEN: f64 = 3.0;
    const VISIBLE: f64 = 0.01;
    match (seen.spread_between, seen.spread_within) {
        (Some(between), Some(within)) if between > VISIBLE && between > UNEVEN * within => ": fresh allocations differ",
        _ => "",
    }
}

/// Cpus that a step keeps busy: a thread each, and those that operations of the kernel take part on.
fn busy_cpus(step: &Step) -> usize {
    let others = step.setup.threads.iter().flat_map(|thread| match &thread.role {
        Role::Os(call) => call.others.iter().filter(|cpu| **cpu != thread.cpu).collect(),
        _ => Vec::new(),
    });
    step.setup.threads.len() + others.count()
}

fn judge_system(step: &Step, seen: &Observation, machine: &Machine, verdict: &mut Verdict) {
    let quota = machine.system.cgroup.as_ref().and_then(|c| c.cpu_quota);
    let busy = busy_cpus(step);
    if let Some(quota) = quota.filter(|q| *q < busy as f64) {
        verdict.suspect(ReasonCode::System, format!("the cgroup allows {quota} cpus, the step ran on {busy}"));
    }
    if let Some(share) = seen.overhead_share.filter(|s| *s > 0.05) {
        verdict.suspect(
            ReasonCode::Overhead,
            format!("stamps were {} of the blocks before they were subtracted", percent(share)),
        );
    }
}

/// Spread of core clocks: the 5 % to 95 % range over the median. Single chains that an interrupt hit do not decide it.
pub(crate) fn clock_spread(core_hz: &[f64]) -> Option<f64> {
    let mut sorted = core_hz.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |q: f64| sorted.get(((sorted.len() as f64 - 1.0) * q).round() as usize).copied();
    let (low, mid, high) = (at(0.05)?, at(0.5)?, at(0.95)?);
    (mid > 0.0).then_some((high - low) / mid)
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// A share and the limit it is beyond, with as many more digits as it takes that they do not read the same.
fn told_apart(share: f64, limit: f64) -> (String, String) {
    let mut pair = (percent(share), percent(limit));
    // Beyond six decimals nobody can tell either.
    for decimals in 2..=6 {
        if pair.0 != pair.1 {
            break;
        }
        pair = (format!("{:.decimals$} %", share * 100.0), format!("{:.decimals$} %", limit * 100.0));
    }
    pair
}

fn duration(ns: f64) -> String {
    if ns >= 1e6 { format!("{:.1} ms", ns / 1e6) } else { format!("{:.0} µs", ns / 1e3) }
}

/// Drift beyond this, to a value outside the first step's interval, casts doubt on the whole experiment.
const DRIFT: f64 = 0.03;

/// Says in every verdict when the first step measured, repeated last, came out different.
pub(crate) fn judge_drift(observations: &mut [Observation], drift: Option<f64>) {
    let Some(drift) = drift.filter(|d| d.abs() > DRIFT) else { return };
    // The same step that was repeated: the first that has a number.
    let Some(first) = observations.iter().find(|o| o.value.is_some()) else { return };
    // Without an interval nobody knows how far two allocations are apart anyway.
    let Some((interval, value)) = first.interval.zip(first.value) else { return };
    if (interval.low..=interval.high).contains(&(value * (1.0 + drift))) {
        return;
    }
    let text = format!("the machine drifted: the first step, measured again last, moved by {:+.1} %", drift * 100.0);
    for observation in observations.iter_mut().filter(|o| o.value.is_some()) {
        observation.verdict.suspect(ReasonCode::Drift, text.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Bench, Grade, Labels, Metric, PageKind, Setup, StopRule, Unit};

    #[test]
    fn a_share_and_its_limit_never_read_the_same() {
        let pair = |share, limit| told_apart(share, limit);
        assert_eq!(pair(0.0204, 0.02), ("2.04 %".into(), "2.00 %".into()));
        assert_eq!(pair(0.050004, 0.05), ("5.0004 %".into(), "5.0000 %".into()));
        assert_eq!(pair(4.58, 0.02), ("458 %".into(), "2.0 %".into()));
        assert_eq!(pair(0.101, 0.1), ("10.10 %".into(), "10.00 %".into()));
    }

    fn observed(value: f64, min: f64, max: f64) -> Observation {
        Observation {
            step: "a".into(),
            labels: Labels::new(),
            metric: Metric::Latency,
            unit: Unit::Ns,
            value: Some(value),
            interval: None,
            min: Some(min),
            max: Some(max),
            spread_within: None,
            spread_between: None,
            samples: Vec::new(),
            allocations: 3,
            disturbance: tiermark_model::Disturbance::default(),
            tail: None,
            placement: None,
            core_hz: Some(3e9),
            core_hz_spread: None,
            parts: Vec::new(),
            rivals: Vec::new(),
            overhead_share: None,
            started_seconds: 0.0,
            seconds: 0.0,
            verdict: Verdict::trusted(),
            refusal: None,
        }
    }

    fn step(metric: Metric, labels: Labels) -> Step {
        let stop = StopRule { precision: 0.01, shots: 1, min_allocations: 1, max_allocations: 1, shot_seconds: 0.01 };
        Step {
            id: "a".into(),
            phase: 0,
            labels,
            metric,
            setup: Setup { regions: vec![], threads: vec![], seed: 0 },
            stop,
        }
    }

    fn grade_after_drift(drift: Option<f64>) -> Grade {
        let mut first = observed(100.0, 90.0, 104.0);
        first.samples = vec![tiermark_model::Sample { allocation: 0, value: 100.0 }];
        first.interval = Some(tiermark_model::Interval { low: 91.0, high: 104.0, level: 0.95 });
        let mut all = vec![first, observed(5.0, 5.0, 5.0)];
        judge_drift(&mut all, drift);
        all[1].verdict.grade
    }

    #[test]
    fn drift_counts_when_it_is_large_and_new() {
        assert_eq!(grade_after_drift(None), Grade::Trusted);
        assert_eq!(grade_after_drift(Some(0.02)), Grade::Trusted);
        assert_eq!(grade_after_drift(Some(-0.08)), Grade::Trusted, "92 is inside the interval: it is scatter");
        assert_eq!(grade_after_drift(Some(0.08)), Grade::Suspect);
    }

    #[test]
    fn most_of_the_time_in_few_gaps_is_told_once() {
        let verdict = |clean_windows, gap_share| {
            let mut seen = observed(100.0, 99.0, 101.0);
            seen.interval = Some(tiermark_model::Interval { low: 99.5, high: 100.5, level: 0.95 });
            let account = &mut seen.disturbance;
            (account.shots, account.windows, account.clean_windows) = (9, 100, clean_windows);
            (account.gap_share, account.longest_gap_ns) = (gap_share, 31e6);
            let lab = Lab { machine: &Machine::default(), bench: &Bench::default() };
            judge(&step(Metric::Latency, Labels::new()), &seen, None, None, lab)
        };
        assert_eq!((verdict(90, 0.5).grade, verdict(50, 0.3).grade), (Grade::Trusted, Grade::Trusted));
        // Seen of a fork: few windows had a gap, and they took three quarters of the time.
        let few = verdict(90, 0.77);
        let [only] = few.reasons.as_slice() else { panic!("{few:?}") };
        assert_eq!((few.grade, only.code), (Grade::Suspect, ReasonCode::Disturbed));
        assert_eq!(only.text, "77 % of the time went into gaps, the longest 31.0 ms");
        let many = verdict(40, 0.77);
        assert!(many.reasons.len() == 1 && many.reasons[0].text.contains("of windows were disturbed"), "{many:?}");
    }

    #[test]
    fn a_number_half_unknown_is_none() {
        let verdict = |half: f64| {
            let mut seen = observed(102.0, 33.0, 171.0);
            seen.interval = Some(tiermark_model::Interval { low: 102.0 - half, high: 102.0 + half, level: 0.95 });
            let lab = Lab { machine: &Machine::default(), bench: &Bench::default() };
            judge(&step(Metric::Latency, Labels::new()), &seen, None, None, lab)
        };
        assert_eq!(verdict(0.5).grade, Grade::Trusted);
        assert_eq!(verdict(50.0).grade, Grade::Suspect);
        for half in [51.0, 69.0, 728.0] {
            let verdict = verdict(half);
            assert_eq!((verdict.grade, verdict.reasons[0].code), (Grade::Invalid, ReasonCode::Imprecise), "{half}");
            assert!(verdict.reasons[0].text.starts_with("interval ±"), "{verdict:?}");
        }
    }

    #[test]
    fn what_cannot_be_is_invalid() {
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY, 0.2] {
            let lab = Lab { machine: &Machine::default(), bench: &Bench::default() };
            let verdict = judge(&step(Metric::Latency, Labels::new()), &observed(value, 1.0, 1.0), None, None, lab);
            assert_eq!(verdict.grade, Grade::Invalid, "{value}");
        }
    }

    #[test]
    fn a_clock_too_coarse_for_the_windows_gives_no_bandwidth() {
        let clock = |resolution_ns| tiermark_model::ClockInfo { resolution_ns, ..Default::default() };
        let grade = |resolution_ns| {
            let bench = Bench { clock: clock(resolution_ns), ..Bench::default() };
            let lab = Lab { machine: &Machine::default(), bench: &bench };
            judge(&step(Metric::Bandwidth, Labels::new()), &observed(1e9, 1e9, 1e9), None, None, lab).grade
        };
        assert_eq!(grade(1_000_000.0), Grade::Invalid);
        assert_ne!(grade(40.0), Grade::Invalid);
    }

    #[test]
    fn pages_elsewhere_or_of_another_size_are_said() {
        let mut seen = observed(100.0, 100.0, 100.0);
        let mut asked = step(Metric::Latency, Labels::new());
        let region = |page| tiermark_model::RegionSetup {
            bytes: tiermark_model::Bytes(4096),
            policy: tiermark_model::MemPolicy::Bind,
            nodes: tiermark_model::IdSet::new(),
            page,
            layout: tiermark_model::Layout::Data,
        };
        asked.setup.regions = vec![region(PageKind::Thp)];
        let proof = |on_target, page_share| tiermark_model::PlacementProof {
            on_target,
            page_share,
            page: "thp".into(),
            ..Default::default()
        };
        let codes = |seen: &Observation| -> Vec<ReasonCode> {
            judge(&asked, seen, None, None, Lab { machine: &Machine::default(), bench: &Bench::default() })
                .reasons
                .iter()
                .map(|r| r.code)
                .collect()
        };
        seen.placement = Some(proof(Some(0.98), Some(1.0)));
        assert!(codes(&seen).contains(&ReasonCode::WrongNode));
        seen.placement = Some(proof(Some(1.0), Some(0.5)));
        assert!(codes(&seen).contains(&ReasonCode::PageSize));
        seen.placement = Some(proof(Some(1.0), Some(1.0)));
        assert!(!codes(&seen).iter().any(|c| matches!(c, ReasonCode::WrongNode | ReasonCode::PageSize)));
    }
}
