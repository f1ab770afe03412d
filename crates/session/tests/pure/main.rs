//! Options that hold for the steps of every probe.

#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test may fail; clippy knows only functions marked as tests"
)]

mod recorded;

use tiermark_engine::{Lab, open_limited};
use tiermark_machine::synth::Synth;
use tiermark_model::messages::rules::codes;
use tiermark_model::{Bench, Effort, Plan, Refusal, Request, Scope, Step, testing};
use tiermark_session::{NOT_SHORT, prepare};

fn planned(request: &Request, lab: &Lab) -> Result<Plan, Refusal> {
    open_limited(tiermark_probes::find(&request.probe).unwrap(), request, lab)?.plan()
}

#[test]
fn every_step_of_every_probe_gets_the_time_that_was_asked_for() {
    let machine = Synth { sockets: 2, ..Synth::default() }.machine().unwrap();
    let kernels = tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect();
    let bench = Bench { kernels, ..Bench::default() };
    let lab = Lab::new(machine, bench);
    for probe in ["loaded-latency", "bandwidth", "matrix", "latency", "scan"] {
        let scope = Scope { step_seconds: Some(0.5), ..Scope::default() };
        let request = Request { scope, effort: Effort::Quick, ..testing::request(probe) };
        let plan = planned(&request, &lab).unwrap();
        for step in &plan.steps {
            let stop = &step.stop;
            let shots = f64::from(stop.min_visits) * stop.shot_seconds;
            assert!((0.5..0.5 + stop.shot_seconds).contains(&shots), "{}: {stop:?}", step.id);
            assert_eq!(stop.min_visits, stop.max_visits);
        }
        let expected: f64 = plan.steps.iter().map(Step::expected_seconds).sum();
        assert!(plan.max_seconds >= 1.5 * expected, "{} of {expected}", plan.max_seconds);
        // A limit of the user's stays.
        let scope = Scope { max_seconds: Some(3.0), ..request.scope.clone() };
        let plan = planned(&Request { scope, ..request }, &lab);
        assert_eq!(plan.unwrap().max_seconds, 3.0);
    }
}

#[test]
fn one_thread_on_an_efficiency_core_is_said() {
    let machine = Synth { smt: 1, first_efficiency_core: Some(2), ..Synth::default() }.machine().unwrap();
    let lab = Lab::new(machine, Bench::default());
    let said = |cpus: &str| {
        let scope = Scope { cpus: Some(cpus.parse().unwrap()), ..Scope::default() };
        let request = Request { scope, effort: Effort::Quick, ..testing::request("latency") };
        let plan = planned(&request, &lab).unwrap();
        let rule = plan.rules.into_iter().find(|rule| rule.code == codes::one_thread_on_small_core);
        (plan.steps[0].setup.threads[0].cpu, rule.map(|rule| rule.data["cpus"].clone()))
    };
    assert_eq!(said("1-3"), (1, None));
    assert_eq!(said("2-3"), (2, Some("2".into())));
}

#[test]
fn a_run_of_minutes_is_said_before_it_begins_and_what_is_shorter() {
    let kernels = tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect();
    let lab = Lab::new(Synth::default().machine().unwrap(), Bench { kernels, ..Bench::default() });
    let said = |times: usize, effort: Effort, max_seconds: Option<f64>| {
        let scope = Scope { max_seconds, ..Scope::default() };
        let request = Request { effort, scope, ..testing::request("survey") };
        prepare(&vec![(request, None); times], None, &lab).unwrap().not_short()
    };
    assert_eq!(said(1, Effort::Standard, None), None);
    let run = said(8, Effort::Standard, None).unwrap();
    assert!(run.seconds > NOT_SHORT && run.quick.is_some_and(|quick| quick < run.seconds / 2.0), "{run:?}");
    // Whoever chose an effort or a time knows that there are others.
    assert_eq!(said(2, Effort::Full, None).unwrap().quick, None);
    assert_eq!(said(8, Effort::Standard, Some(100.0)).unwrap().quick, None);
}
