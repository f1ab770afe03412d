//! What a run does with the time it is given.

use tiermark_model::messages::run::codes;

use super::*;

/// Twelve latencies, the sizes in the order of a plan, and a point of a curve that comes last.
fn many() -> Given {
    let chase =
        |n: u64| step(&format!("{n:02}"), Metric::Latency, n * MIB, PageKind::Thp, Role::Chase { chains: 1 }, STOP);
    let ladder = |n: u64| Step { labels: Labels::new().with_purpose(Purpose::Ladder), ..chase(n) };
    let mut steps: Vec<Step> = (1..=12).map(ladder).collect();
    let labels = Labels::new().with_purpose(Purpose::Curve);
    steps.push(Step { id: "curve".into(), phase: 1, labels, ..chase(1) });
    Given(steps, Vec::new())
}

fn in_time(seconds: f64) -> (Experiment, f64) {
    let mut host = SimHost::new(machine(), kernels(), SimOptions::default());
    let began = host.now();
    let experiment = measured(&many(), Some(seconds), &mut host, &mut Log::default());
    (experiment, host.now() - began)
}

#[test]
fn with_little_time_the_headlines_come_first_and_the_limit_holds() {
    for seconds in [0.3, 0.5, 0.9, 2.0] {
        let (experiment, took) = in_time(seconds);
        assert!(took <= 1.02 * seconds, "{took} s of {seconds} s");
        let measured: Vec<&str> =
            experiment.observations.iter().filter(|o| o.value.is_some()).map(|o| o.step.as_str()).collect();
        let first: Vec<&str> = experiment.plan.steps.iter().map(|s| s.id.as_str()).take(measured.len()).collect();
        assert!(!measured.is_empty() && measured == first, "{seconds} s: {measured:?}");
    }
    let (experiment, took) = in_time(0.001);
    let measured = experiment.observations.iter().filter(|o| o.value.is_some()).count();
    assert!(experiment.observations[0].value.is_some() && measured == 1, "one number in any case, and no more");
    assert!(took < 0.2, "{took}");
}

/// One bandwidth with as many rivals as there are, then a second.
fn rivals() -> Given {
    let role = || {
        let mut all: Vec<KernelId> = kernels().into_iter().filter(|k| k.id.op() == "read").map(|k| k.id).collect();
        let kernel = all.remove(0);
        Role::Stream { kernel, rivals: all }
    };
    let steps = ["a", "b"].map(|id| step(id, Metric::Bandwidth, 64 * MIB, PageKind::Thp, role(), STOP)).to_vec();
    Given(steps, Vec::new())
}

/// A curve, and the figures of a tier that it promises. The curve takes all of its time if it is never long enough.
#[derive(Clone)]
struct Promised {
    is_endless: bool,
}

impl Study for Promised {
    fn plan(&self) -> Result<Plan, Refusal> {
        let later = vec![tiermark_model::messages::rules::later_steps(&["latency".to_owned()], &[1], &[])];
        Ok(Plan { steps: vec![self.point(1)], later, later_seconds: 0.1, ..Plan::default() })
    }

    fn refine(&self, seen: &[Observation]) -> Vec<Step> {
        match self.is_endless {
            true => vec![self.point(seen.len() as u64 + 1)],
            false => many().0.into_iter().take(3).collect(),
        }
    }

    fn derive(&self, _: &[Observation]) -> Vec<Finding> {
        Vec::new()
    }
}

impl Promised {
    fn point(&self, n: u64) -> Step {
        let labels = Labels::new().with_purpose(Purpose::Curve);
        let id = format!("point {n}");
        Step { labels, ..step(&id, Metric::Latency, n * MIB, PageKind::Thp, Role::Chase { chains: 1 }, STOP) }
    }
}

#[test]
fn figures_that_a_curve_left_no_time_for_are_named() {
    let go = |is_endless: bool, seconds: f64| {
        let mut host = SimHost::new(machine(), kernels(), SimOptions::default());
        measured(&Promised { is_endless }, Some(seconds), &mut host, &mut Log::default())
    };
    let lacking = |experiment: &Experiment| {
        let lacking = experiment.observations.iter().filter(|seen| experiment.lacks(seen));
        lacking.map(|seen| seen.step.clone()).collect::<Vec<String>>()
    };
    let whole = go(false, 20.0);
    assert_eq!((lacking(&whole), whole.plan.refused.len(), whole.plan.added), (Vec::new(), 0, 3));
    // The curve is done: each figure is named.
    let cut = go(false, 0.001);
    assert_eq!((lacking(&cut), cut.plan.refused.len()), (["01", "02", "03"].map(str::to_owned).to_vec(), 0));
    assert_eq!(cut.observations[1].refusal.as_ref().map(|refusal| &refusal.code), Some(&codes::no_time_left));
    // The curve is not: it is not known which figures there would be.
    let endless = go(true, 0.2);
    let refused: Vec<_> = endless.plan.refused.iter().map(|refusal| (&refusal.code, refusal.what.as_str())).collect();
    assert_eq!(refused, [(&codes::figures_not_reached, "latency by 1 thread by size")]);
    assert!(lacking(&endless).is_empty(), "points that make a curve denser are not missed");
}

#[test]
fn rivals_of_all_steps_are_compared_within_the_time() {
    let go = |seconds: f64| {
        let mut host = SimHost::new(machine(), kernels(), SimOptions::default());
        let experiment = measured(&rivals(), Some(seconds), &mut host, &mut Log::default());
        (experiment, host.now())
    };
    let (whole, took) = go(60.0);
    let step = &whole.plan.steps[0];
    let enough = 2.0 * step.expected_seconds();
    assert!(enough < took && step.rivalry_seconds() > 0.01, "{enough} {took}");
    let (cut, took) = go(enough);
    assert!(
        took <= 1.05 * enough && cut.observations.iter().all(|o| o.value.is_some()),
        "{:#?}",
        cut.observations[1].refusal
    );
}

#[test]
fn what_is_left_out_says_why_and_what_to_do() {
    let refusal = |o: &Observation| o.refusal.clone().unwrap();
    let (experiment, _) = in_time(0.03);
    let (number, point) = (refusal(&experiment.observations[11]), refusal(&experiment.observations[12]));
    assert_eq!((number.code, number.options), (codes::no_time_left, vec!["--max-time".to_owned()]));
    assert_eq!(point.code, codes::curve_point_skipped);
    let stopped = run(&tiny(), machine(), SimOptions { stop_after: Some(0.01), ..SimOptions::default() }).0;
    let stopped = refusal(stopped.observations.iter().find(|o| o.refusal.is_some()).unwrap());
    assert_eq!(stopped.why, "the run was stopped");
    assert!(!stopped.cure.contains("--max-time"), "time was not what it lacked: {stopped}");
}

/// Numbers that are never good enough, and a curve of sizes behind them, the largest first.
fn restless() -> Given {
    let chase = |id: String, bytes: u64, purpose: Purpose, phase: u8, stop: StopRule| Step {
        labels: Labels::new().with_purpose(purpose),
        phase,
        ..step(&id, Metric::Latency, bytes, PageKind::Thp, Role::Chase { chains: 1 }, stop)
    };
    let never = StopRule { precision: 1e-9, max_visits: 100_000, ..STOP };
    let mut steps: Vec<Step> = (0..3).map(|n| chase(format!("number {n}"), MIB, Purpose::Ladder, 0, never)).collect();
    let shape = StopRule { precision: 1e-9, allocations: 1, ..never };
    let point = |size: u64| chase(format!("point {size}"), size * MIB, Purpose::Curve, 1, shape);
    steps.extend([2048, 64, 32, 16, 8, 4, 2].map(point));
    Given(steps, Vec::new())
}

#[test]
fn on_a_machine_that_is_never_quiet_some_of_the_time_is_left_for_a_curve() {
    let mut host = SimHost::new(machine(), kernels(), SimOptions { noise: 0.08, ..SimOptions::default() });
    let began = host.now();
    let experiment = measured(&restless(), Some(1.0), &mut host, &mut Log::default());
    assert!(host.now() - began <= 1.0);
    let (numbers, points): (Vec<_>, Vec<_>) =
        experiment.observations.iter().partition(|o| o.labels.is_for(Purpose::Ladder));
    let seconds = |of: &[&Observation]| of.iter().map(|o| o.seconds).sum::<f64>();
    let (of_numbers, of_points) = (seconds(&numbers), seconds(&points));
    assert!(of_points > 0.1 && of_numbers > of_points, "{of_numbers} s of numbers, {of_points} s of points");
    assert!(numbers.iter().all(|o| o.visits.len() as u32 > STOP.min_visits));
    // Of points the small ones, which are many, come before one that takes the time of all.
    let touched: Vec<bool> = points.iter().map(|o| o.allocations > 0).collect();
    assert_eq!(touched, [false, true, true, true, true, true, true]);
}

#[test]
fn what_the_time_went_into_is_told() {
    // Memory that is given at 0.4 GB/s, and caches that take a while to come to their steady state.
    let state = SimState { warmth: Some(Warmth { excess: 0.2, tau_seconds: 0.001 }), ..SimState::default() };
    let options = SimOptions { first_touch: Some(0.4e9), state, ..SimOptions::default() };
    let mut host = SimHost::new(machine(), kernels(), options);
    let Given(mut steps, _) = many();
    let stream = Role::Stream { kernel: "read/plain".into(), rivals: vec!["read/fast".into()] };
    steps.push(step("read", Metric::Bandwidth, 256 * MIB, PageKind::Thp, stream, STOP));
    let time = measured(&Given(steps, Vec::new()), None, &mut host, &mut Log::default()).time.unwrap();
    assert_eq!((time.whole, time.filled), (host.now(), Bytes(268 * MIB)), "the stream and the largest chain");
    let at_least = 268.0 * MIB as f64 / 0.4e9;
    assert!((at_least..1.5 * at_least).contains(&time.filling), "{time:?}");
    let parts = [time.placing, time.settling, time.comparing, time.figures, time.curves];
    assert!(parts.iter().all(|part| *part > 0.0) && time.other() < 1e-6, "{time:?}");
    let sum = time.filling + parts.iter().sum::<f64>() + time.waiting;
    assert!((sum / time.whole - 1.0).abs() < 1e-9, "each second once: {time:?}");
}
