//! The verdict: what speaks against a number, as facts. Pure.

mod placement;
mod value;

use tiermark_model::{Grade, Observation, Reason, Step, Verdict};

use crate::costs;
use crate::probe::Lab;
use placement::judge_placement;
use value::{judge_clock, judge_value};

/// Stamps that are a larger share of the blocks than this make the correction for them a visible part of the value.
const OVERHEAD: f64 = 0.05;

/// Judges an observation of a step: whether it is valid, and, where it is, whether its edge is the hardware's. `fault`
/// is what broke, if something did; `doubts` say what speaks against the estimate.
///
/// `quantum` is the clock's step where it shows in the blocks.
pub(crate) fn judge(
    step: &Step,
    seen: &Observation,
    fault: Option<&str>,
    quantum: Option<f64>,
    doubts: &[(Grade, Reason)],
    lab: &Lab,
) -> Verdict {
    let (mut verdict, machine) = (Verdict::trusted(), &lab.machine);
    if let Some(refusal) = &seen.refusal {
        verdict.invalid(Reason::Refused { refusal: refusal.clone() });
        return verdict;
    }
    if let Some(fault) = fault {
        verdict.invalid(Reason::Broken { fault: fault.to_owned() });
    }
    judge_value(step, seen, quantum, machine, &mut verdict);
    judge_clock(seen, lab.bench.clock.resolution_ns, &mut verdict);
    judge_placement(step, seen, machine, &mut verdict);
    judge_disturbance(step, seen, &mut verdict);
    if let Some(share) = seen.overhead_share.filter(|share| *share > OVERHEAD) {
        verdict.suspect(Reason::Overhead { share });
    }
    if seen.value.is_some() {
        doubts.iter().for_each(|(grade, reason)| verdict.add(*grade, reason.clone()));
    }
    verdict
}

/// Judges disturbances that affect more than the windows that they hit.
fn judge_disturbance(step: &Step, seen: &Observation, verdict: &mut Verdict) {
    let account = &seen.disturbance;
    if account.migrations > 0 {
        verdict.suspect(Reason::Migrated { shots: account.migrations, of: account.shots });
    }
    if account.major_faults > 0 {
        verdict.suspect(Reason::MajorFaults { faults: account.major_faults });
    }
    if 2 * account.mostly_interrupted_shots > account.shots {
        let (shots, of) = (account.mostly_interrupted_shots, account.shots);
        verdict.add(Grade::Shared, Reason::MostlyInterrupted { shots, of });
    }
    if costs::is_stalled(account) {
        verdict.add(Grade::Shared, Reason::Stalled { shots: account.stalled_shots, of: account.shots });
    }
    // The memory is faulted in before the clock starts: a fault a shot means that the kernel takes pages away or splits
    // them. Calls that make processes and mappings cause faults themselves.
    if account.minor_faults > account.shots && !step.is_os() {
        verdict.suspect(Reason::MinorFaults { faults: account.minor_faults, shots: account.shots });
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

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Bench, Labels, Machine, Metric, ReasonCode, testing};

    fn observed(value: f64) -> Observation {
        let seen = Observation::new("a", Labels::new(), Metric::Latency);
        Observation { value: Some(value), allocations: 3, core_hz: Some(3e9), ..seen }
    }

    fn step(metric: Metric, labels: Labels) -> Step {
        Step { labels, ..testing::step("a", metric) }
    }

    fn judged(seen: &Observation, doubts: &[(Grade, Reason)], bench: &Bench) -> Verdict {
        let lab = &Lab::new(Machine::default(), bench.clone());
        judge(&step(Metric::Latency, Labels::new()), seen, None, None, doubts, lab)
    }

    #[test]
    fn disturbance_bound_and_validity_are_judged_apart() {
        let bench = Bench::default();
        assert_eq!(judged(&observed(100.0), &[], &bench).grade, Grade::Trusted);
        let not_sharp = Reason::NotSharp { share: 0.03 };
        let verdict = judged(&observed(100.0), &[(Grade::Shared, not_sharp.clone())], &bench);
        assert_eq!((verdict.grade, verdict.reasons.as_slice()), (Grade::Shared, &[not_sharp][..]));
        // Most of the time in gaps takes nothing from an edge that is sharp all the same.
        let mut seen = observed(100.0);
        (seen.disturbance.windows, seen.disturbance.clean_windows, seen.disturbance.gap_share) = (1000, 90, 0.8);
        assert_eq!(judged(&seen, &[], &bench).grade, Grade::Trusted);
        seen.disturbance.migrations = 1;
        assert_eq!(judged(&seen, &[], &bench).grade, Grade::Suspect);
        // Neither does a wide interval.
        let mut seen = observed(100.0);
        seen.interval = Some(tiermark_model::Interval { low: 20.0, high: 170.0, level: 0.95 });
        assert_eq!(judged(&seen, &[], &bench).grade, Grade::Trusted);
    }

    #[test]
    fn a_quota_alone_is_no_doubt() {
        // What it takes are gaps, which are left out; the run has a warning of them.
        let cgroup = tiermark_model::Cgroup { cpu_quota: Some(0.5), ..tiermark_model::Cgroup::default() };
        let mut machine = Machine::default();
        machine.system.cgroup = Some(cgroup);
        let lab = &Lab::new(machine, Bench::default());
        let step = step(Metric::Latency, Labels::new());
        assert_eq!(judge(&step, &observed(100.0), None, None, &[], lab).grade, Grade::Trusted);
    }

    #[test]
    fn what_cannot_be_is_invalid() {
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY, 0.2] {
            assert_eq!(judged(&observed(value), &[], &Bench::default()).grade, Grade::Invalid, "{value}");
        }
    }

    #[test]
    fn a_clock_too_coarse_for_the_windows_gives_no_number() {
        let bench = |resolution_ns| {
            let clock = tiermark_model::ClockInfo { resolution_ns, ..Default::default() };
            Bench { clock, ..Bench::default() }
        };
        assert_eq!(judged(&observed(100.0), &[], &bench(40.0)).grade, Grade::Trusted);
        let verdict = judged(&observed(100.0), &[], &bench(1000.0));
        assert_eq!((verdict.grade, verdict.reasons[0].code()), (Grade::Invalid, ReasonCode::Quantised));
    }
}
