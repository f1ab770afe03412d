//! From a run to an exit code.

use tiermark_model::messages::plan;
use tiermark_model::{
    Exit, Experiment, Observation, Plan, PrimitiveInfo, Purpose, Refusal, Request, Run, Tier, ValueKind,
};
use tiermark_probes::os::OsParams;

/// How strictly a run is judged.
#[derive(Debug, Clone, Copy, Default)]
pub struct Demands {
    /// Numbers that are not trusted or not precise are a failure.
    pub strict: bool,
    /// Refused steps are none.
    pub allow_partial: bool,
}

/// The exit code of a finished run.
pub fn exit(run: &Run, stopped_by: Option<Exit>, demands: Demands) -> Exit {
    let soaks = || run.observations().filter_map(|seen| seen.soak.as_deref());
    if soaks().any(tiermark_model::Soak::has_errors) {
        return Exit::Regression;
    }
    if let Some(exit) = stopped_by {
        return exit;
    }
    if soaks().any(|soak| soak.ended.is_some()) && !demands.allow_partial {
        return Exit::Partial;
    }
    if !run.observations().any(|o| o.value.is_some()) {
        return Exit::Refused;
    }
    if !demands.allow_partial && missing(run) > 0 {
        return Exit::Partial;
    }
    let doubted = run.worst_grade().is_some_and(|grade| !grade.is_number()) || imprecise(run);
    if demands.strict && doubted { Exit::Noisy } else { Exit::Done }
}

/// How many requested parts are missing: parts that were refused in planning, and steps without a number.
pub fn missing(run: &Run) -> usize {
    let missing_parts = |experiment: &Experiment| {
        let known = |refusal: &&Refusal| {
            is_known_otherwise(refusal, |tier| is_found(experiment, tier))
                || is_lacking_unnamed(refusal, &experiment.request, &experiment.plan, &run.bench.primitives)
        };
        // A refusal that several primitives share is reported once, and counts as one part.
        let mut refused: Vec<&Refusal> = Vec::new();
        for refusal in experiment.plan.refused.iter().filter(|refusal| !known(refusal)) {
            if !refused.contains(&refusal) {
                refused.push(refusal);
            }
        }
        refused.len() + experiment.observations.iter().filter(|o| is_missing(experiment, o)).count()
    };
    run.experiments.iter().map(missing_parts).sum()
}

/// Whether the experiment has a number of a tier.
fn is_found(experiment: &Experiment, tier: Tier) -> bool {
    experiment.findings.iter().any(|f| f.value.is_some() && f.labels.tier() == Some(tier))
}

/// Whether a refused row of the ladder is a cache that the same experiment has a number of, which `found` decides.
/// Large servers often share a cache too small for all threads at once (`L3 with 64 threads`); one thread's figure then
/// stands for the tier, and no option could add more. Memory always counts as missing: the rate of all threads is a
/// question of its own.
pub(crate) fn is_known_otherwise(refusal: &Refusal, found: impl Fn(Tier) -> bool) -> bool {
    let tier = refusal.text("tier").and_then(|tier| tier.parse().ok());
    refusal.code == plan::codes::cache_too_small_for_threads && tier.is_some_and(found)
}

/// Whether a refused primitive is one that this system lacks (it has no swap, or one node) and that the user did not
/// name: all others were measured. A group stands for its available primitives; if none of a request is available, it
/// is missing.
pub(crate) fn is_lacking_unnamed(refusal: &Refusal, request: &Request, plan: &Plan, known: &[PrimitiveInfo]) -> bool {
    let lacks = |info: &PrimitiveInfo| {
        info.id.0 == refusal.what && info.refusal.as_ref().is_some_and(|own| own.is_like(refusal))
    };
    let params: OsParams = serde_json::from_value(request.params.clone()).unwrap_or_default();
    let named = params.only.iter().any(|name| name.trim() == refusal.what);
    !plan.steps.is_empty() && !named && known.iter().any(lacks)
}

/// Whether a planned step has no value, and the answer to the request lacks it.
fn is_missing(experiment: &Experiment, observation: &Observation) -> bool {
    experiment.lacks(observation) && !is_aid(experiment, observation)
}

/// Whether a step is no part of its probe's answer: a point of the curve that a survey finds its tiers in.
fn is_aid(experiment: &Experiment, observation: &Observation) -> bool {
    let probe = tiermark_probes::find(&experiment.request.probe);
    let purposes = probe.map_or(&[] as &[Purpose], |probe| probe.aids);
    purposes.iter().any(|purpose| observation.labels.is_for(*purpose))
}

/// Whether the interval of any capability is wider than its step wanted: what a longer run would cure. Typical values
/// are as wide as the hour makes them, and points only draw shapes.
pub fn imprecise(run: &Run) -> bool {
    let wide = |experiment: &Experiment, seen: &Observation| {
        let wanted = experiment.plan.steps.iter().find(|step| step.id == seen.step).map(|step| step.stop.precision);
        let half = seen.value.zip(seen.within_run()).map(|(value, interval)| interval.half_of(value));
        let is_capability = seen.kind == ValueKind::Capability && !seen.labels.is_point() && !is_aid(experiment, seen);
        is_capability && half.zip(wanted).is_some_and(|(half, wanted)| half > wanted)
    };
    run.experiments.iter().any(|experiment| experiment.observations.iter().any(|seen| wide(experiment, seen)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::Labels;
    use tiermark_model::{Bytes, Finding, Nothing, Plan, Reason, Unit, Verdict, testing};

    fn document() -> Run {
        tiermark_history::parse(include_bytes!("../../history/tests/fixtures/run-4.json"), "a document")
            .expect("a document")
    }

    fn experiment(tier: &str, value: Option<f64>, refused: Refusal) -> Experiment {
        let labels = Labels::new().with_tier_name(tier);
        let finding = Finding::new(tiermark_model::Quantity::Bandwidth, labels, value, Unit::BytesPerSecond);
        let request = testing::request("bandwidth");
        let plan = Plan { refused: vec![refused], ..Plan::default() };
        Experiment { plan, findings: vec![finding], ..testing::experiment(request) }
    }

    fn forgiven(tier: &str, value: Option<f64>, refused: Refusal) -> bool {
        let experiment = experiment(tier, value, refused);
        is_known_otherwise(&experiment.plan.refused[0], |tier| is_found(&experiment, tier))
    }

    /// The observation of a step without a value, of this purpose and with this reason.
    fn without_number(purpose: Purpose, reason: Reason) -> Observation {
        let refusal = if let Reason::Refused { refusal } = &reason { Some(refusal.clone()) } else { None };
        let mut verdict = Verdict::trusted();
        verdict.invalid(reason);
        let labels = Labels::new().with_purpose(purpose);
        let seen = Observation::new("a", labels, tiermark_model::Metric::Bandwidth);
        Observation { verdict, refusal, ..seen }
    }

    /// A run with one number, after this change of its verdict, its interval or the rest of the request.
    fn judged(change: impl FnOnce(&mut Experiment), strict: bool, allow_partial: bool) -> Exit {
        let mut run = document();
        let mut experiment = experiment("L1", Some(1e9), plan::no_pairs());
        experiment.plan.refused.clear();
        let step = tiermark_model::Step {
            id: "a".into(),
            labels: Labels::new().with_purpose(Purpose::Ladder),
            phase: 0,
            metric: tiermark_model::Metric::Bandwidth,
            setup: tiermark_model::Setup { regions: Vec::new(), threads: Vec::new(), seed: 1 },
            stop: tiermark_model::StopRule {
                precision: 0.02,
                allocations: 1,
                min_visits: 1,
                max_visits: 2,
                shot_seconds: 0.01,
            },
        };
        experiment.plan.steps.push(step);
        let reason = Reason::Nothing { shots: 3, cause: Nothing::Disturbed };
        let lacking = without_number(Purpose::Ladder, reason);
        let interval = tiermark_model::Interval { low: 0.99e9, high: 1.01e9, level: 0.95 };
        let verdict = Verdict::trusted();
        experiment.observations = vec![Observation { value: Some(1e9), interval: Some(interval), verdict, ..lacking }];
        change(&mut experiment);
        run.experiments = vec![experiment];
        exit(&run, None, Demands { strict, allow_partial })
    }

    #[test]
    fn bounds_and_wide_intervals_are_results_unless_strict() {
        let bound = |experiment: &mut Experiment| {
            let reason = Reason::NotSharp { share: 0.02 };
            experiment.observations[0].verdict.bound(reason.clone());
            experiment.findings[0].verdict.bound(reason);
        };
        let wide = |experiment: &mut Experiment| {
            experiment.observations[0].interval.as_mut().expect("an interval").high = 1.2e9;
        };
        let below = |experiment: &mut Experiment| {
            let reason = Reason::BelowRecord { record: 2e9, is_time: false, date: "2026-11-22".into(), clocks: None };
            experiment.findings[0].verdict.bound(reason);
        };
        let shared = |experiment: &mut Experiment| {
            experiment.observations[0].kind = ValueKind::Typical;
            experiment.observations[0].interval.as_mut().expect("an interval").high = 1.2e9;
            experiment.findings[0].verdict.untrusted(ValueKind::Typical, Reason::NotSharp { share: 0.02 });
        };
        assert_eq!([judged(|_| (), false, false), judged(|_| (), true, false)], [Exit::Done; 2]);
        assert_eq!([judged(shared, false, false), judged(shared, true, false)], [Exit::Done; 2]);
        assert_eq!([judged(bound, false, false), judged(bound, true, false)], [Exit::Done, Exit::Noisy]);
        assert_eq!([judged(wide, false, false), judged(wide, true, false)], [Exit::Done, Exit::Noisy]);
        assert_eq!([judged(below, false, false), judged(below, true, false)], [Exit::Done, Exit::Noisy]);
    }

    #[test]
    fn a_withheld_number_makes_a_part() {
        let withheld = |experiment: &mut Experiment| {
            let reason = Reason::PlaceUnseen { how: tiermark_model::messages::setup::move_pages_refused("EPERM") };
            experiment.observations.push(without_number(Purpose::Ladder, reason));
        };
        // A missing number is worse than an uncertain one.
        assert_eq!([judged(withheld, false, false), judged(withheld, true, false)], [Exit::Partial; 2]);
        assert_eq!(judged(withheld, false, true), Exit::Done);
        let point = |experiment: &mut Experiment| {
            let reason = Reason::PlaceUnseen { how: tiermark_model::messages::setup::move_pages_refused("EPERM") };
            experiment.observations.push(without_number(Purpose::Curve, reason));
        };
        assert_eq!(judged(point, false, false), Exit::Done, "the curve only shows where the tiers are");
        let nothing = |experiment: &mut Experiment| experiment.observations[0].value = None;
        assert_eq!([judged(nothing, false, false), judged(nothing, false, true)], [Exit::Refused; 2]);
    }

    #[test]
    fn what_several_lack_alike_is_missing_once() {
        let mut run = document();
        let mut lacking = experiment("DRAM", Some(1e9), plan::no_pairs());
        lacking.plan.refused.push(lacking.plan.refused[0].clone());
        run.experiments = vec![lacking];
        assert_eq!(missing(&run), 1, "as the report lists it");
    }

    #[test]
    fn what_the_system_lacks_is_missing_where_it_was_named() {
        let refusal =
            |what: &str, why: &str| tiermark_model::messages::setup::primitive_unavailable(what, why, "cure", None);
        let known: Vec<PrimitiveInfo> = serde_json::from_value(serde_json::json!([
            { "id": "swap-in", "group": "faults", "metric": "latency", "text": "", "sweeps": [],
              "refusal": refusal("swap-in", "no swap") },
            { "id": "getppid", "group": "syscalls", "metric": "latency", "text": "", "sweeps": [] },
        ]))
        .unwrap();
        let step: tiermark_model::Step = serde_json::from_value(serde_json::json!({
            "id": "os/getppid", "labels": {}, "phase": 0, "metric": "latency",
            "setup": { "regions": [], "threads": [], "seed": 1 },
            "stop": { "precision": 0.05, "allocations": 3, "min_visits": 6, "max_visits": 8, "shot_seconds": 0.1 },
        }))
        .unwrap();
        let run = |only: &[&str], refused: Refusal, steps: usize| {
            let mut run = document();
            let mut asked = experiment("", Some(1.0), plan::no_pairs());
            asked.request.probe = "os".into();
            asked.request.params = serde_json::json!({ "only": only });
            (asked.plan.refused, asked.plan.steps) = (vec![refused], vec![step.clone(); steps]);
            run.experiments = vec![asked];
            run.bench.primitives.clone_from(&known);
            missing(&run)
        };
        let no_swap = || refusal("swap-in", "no swap");
        assert_eq!(run(&[], no_swap(), 1), 0, "all that there is was measured");
        assert_eq!(run(&["faults", "getppid"], no_swap(), 1), 0, "a group is what there is of it");
        assert_eq!(run(&["getppid", "swap-in"], no_swap(), 1), 1, "named");
        assert_eq!(run(&["faults"], no_swap(), 0), 1, "nothing is left");
        // A step that was refused for lack of memory exists here, and counts as missing.
        assert_eq!(run(&[], refusal("swap-in", "--max-mem allows 1 MiB"), 1), 1);
        assert_eq!(run(&[], refusal("getppid", "no swap"), 1), 1);
    }

    /// Whether a run of this probe lacks the step of this observation, which was planned or added meanwhile.
    fn lacks(probe: &str, is_added: bool, purpose: Purpose, reason: Reason) -> bool {
        let mut experiment = experiment("L1", Some(1e9), plan::no_pairs());
        experiment.request.probe = probe.to_owned();
        let seen = without_number(purpose, reason);
        let step = tiermark_model::Step { labels: seen.labels.clone(), ..testing::step("a", seen.metric) };
        experiment.plan = Plan { steps: vec![step], added: is_added.into(), ..Plan::default() };
        is_missing(&experiment, &seen)
    }

    #[test]
    fn what_was_planned_is_missing_and_a_denser_curve_is_not() {
        let late = || Reason::Refused { refusal: tiermark_model::messages::run::curve_point_skipped("a") };
        let disturbed = || Reason::Nothing { shots: 3, cause: Nothing::Disturbed };
        let both = |probe, purpose| [false, true].map(|is_added| lacks(probe, is_added, purpose, late()));
        for (probe, purpose) in [
            ("survey", Purpose::Ladder),
            ("survey", Purpose::Scaling),
            ("survey", Purpose::Buffer),
            ("survey", Purpose::Residency),
            ("survey", Purpose::Cold),
            ("bandwidth", Purpose::Scaling),
            ("scale", Purpose::Scaling),
            ("scan", Purpose::Scan),
            ("mlp", Purpose::Mlp),
            ("matrix", Purpose::Matrix),
            ("c2c", Purpose::Pair),
        ] {
            assert_eq!(both(probe, purpose), [true, true], "{probe} {purpose}");
        }
        for (probe, purpose) in [
            ("loaded-latency", Purpose::Load),
            ("os", Purpose::OsPoint),
            ("tlb", Purpose::Shape),
            ("latency", Purpose::Curve),
        ] {
            assert_eq!(both(probe, purpose), [true, false], "{probe} {purpose}");
            assert!(lacks(probe, false, purpose, disturbed()), "{probe} {purpose}");
        }
        for probe in ["survey", "bandwidth", "mlp", "loaded-latency"] {
            assert_eq!(both(probe, Purpose::Curve), [false, false], "{probe} finds its tiers in the curve");
        }
    }

    #[test]
    fn a_point_that_the_machine_has_no_room_for_ends_its_curve() {
        let no_room = || Reason::Refused { refusal: Refusal::new("a", "no memory", "less") };
        assert!(
            !lacks("latency", false, Purpose::Curve, no_room()) && !lacks("os", false, Purpose::OsPoint, no_room())
        );
        assert!(lacks("latency", false, Purpose::Ladder, no_room()), "a figure is missing all the same");
    }

    #[test]
    fn only_a_cache_with_a_number_is_known_otherwise() {
        let cache = |tier: &str| plan::cache_too_small_for_threads(tier, 16, Bytes(8 << 20), Bytes(1 << 20));
        let memory = |tier: &str| {
            plan::memory_within_caches(
                tier,
                16,
                Bytes(8 << 20),
                "--max-mem",
                Bytes(8 << 20),
                &plan::allow_more_memory(),
            )
        };
        assert!(forgiven("L3", Some(1e9), cache("L3")));
        assert!(!forgiven("L3", None, cache("L3")), "no number");
        assert!(!forgiven("L2", Some(1e9), cache("L3")), "another tier");
        assert!(!forgiven("L3", Some(1e9), memory("L3")), "another reason");
        assert!(!forgiven("DRAM", Some(1e9), memory("DRAM")), "what all cores get of memory is missing");
        assert!(!forgiven("far node 2", Some(1e9), memory("far node 2")), "a whole tier is missing");
    }
}
