use tiermark_model::{
    Bytes, ChainLayout, Cpu, EdgeSeen, GIB, Labels, Layout, MIB, Metric, PageKind, Plan, Purpose, RegionSetup, Role,
    Setup, ThreadSetup, Tier, Visit, Visits, Window, testing,
};

use super::*;

/// Four cpus on two nodes, with 8 MiB of cache each.
fn machine() -> Machine {
    let cpu = |id: u32| Cpu { id, core: id, node: Some(id / 2), llc: Some(id / 2), ..Cpu::default() };
    Machine { cpus: (0..4).map(cpu).collect(), allowed_cpus: "0-3".parse().unwrap(), ..Machine::default() }
}

fn chase(id: &str, purpose: Purpose, bytes: u64, layout: ChainLayout) -> Step {
    let labels = Labels::new().with_purpose(purpose).with_size(bytes);
    let region = testing::region(bytes, PageKind::Thp, Layout::Chain(layout));
    let threads = vec![ThreadSetup::new(0, Role::Chase { chains: 1 }, 0)];
    let setup = Setup { regions: vec![region], threads, seed: 1 };
    Step { labels, setup, ..testing::step(id, Metric::Latency) }
}

/// A point over 8 MiB.
fn point(id: &str) -> Step {
    chase(id, Purpose::Curve, 8 * MIB, ChainLayout::Random)
}

/// DRAM, as several probes measure it.
fn memory(id: &str, purpose: Purpose, bytes: u64) -> Step {
    let step = chase(id, purpose, bytes, ChainLayout::Groups);
    let is_ladder = purpose == Purpose::Ladder;
    let labels = if is_ladder { step.labels.clone().with_tier(Tier::Dram) } else { step.labels.clone() };
    Step { labels, ..step }
}

/// A trusted median of so many visits around a value, which scatter by ±2 %.
fn seen(step: &Step, median: f64, count: usize) -> Observation {
    let mut visits = Visits::new(0, 1);
    for at in 0..count {
        let value = median * (1.0 + 0.01 * (at % 5) as f64 - 0.02);
        let window = Window { clean: true, values: vec![Some(value)], ..Window::default() };
        visits.push(Visit { at: at as f64 * 1.5, windows: vec![window; 4], ..Visit::default() });
    }
    let mut seen = Observation::new(&step.id, step.labels.clone(), step.metric);
    (seen.value, seen.visits) = (Some(median), visits);
    seen
}

fn experiment(cells: &[(Step, Observation)]) -> Experiment {
    let plan = Plan { steps: cells.iter().map(|(step, _)| step.clone()).collect(), ..Plan::default() };
    let observations = cells.iter().map(|(_, seen)| seen.clone()).collect();
    Experiment { plan, observations, ..testing::experiment(testing::request("latency")) }
}

/// Figures of one experiment each: which of them are bounds.
fn bounds(cells: &[(Step, Observation)]) -> Vec<bool> {
    let all: Vec<Experiment> = cells.iter().map(|cell| experiment(std::slice::from_ref(cell))).collect();
    let found = disagreements(&all, &machine());
    (0..cells.len()).map(|at| found.get(&at).is_some_and(|of| of[0].verdict.has(ReasonCode::Contradicted))).collect()
}

/// Figures of these steps with these medians, of twenty visits.
fn with(steps: &[Step], medians: &[f64]) -> Vec<bool> {
    let cells = steps.iter().zip(medians).map(|(step, median)| (step.clone(), seen(step, *median, 20)));
    bounds(&cells.collect::<Vec<_>>())
}

#[test]
fn figures_within_the_tolerance_agree() {
    let steps = [point("curve"), point("ladder"), point("table")];
    assert_eq!(with(&steps, &[34.0, 34.0, 34.0]), [false; 3]);
    assert_eq!(with(&steps, &[34.0, 35.5, 34.0]), [false; 3]);
}

#[test]
fn if_two_figures_differ_all_that_mean_the_same_are_bounds() {
    let steps = [point("curve"), point("ladder"), point("table")];
    assert_eq!(with(&steps, &[34.0, 41.0, 34.5]), [true; 3]);
    // Within the tolerance of both, and still no one knows which of them is right.
    assert_eq!(with(&steps, &[34.0, 36.5, 35.2]), [true; 3]);
    assert_eq!(with(&steps[..2], &[41.0, 34.0]), [true; 2]);
}

#[test]
fn the_reason_names_the_figure_that_is_farthest() {
    let cell = |id, median| (point(id), seen(&point(id), median, 20));
    let here = experiment(&[cell("curve", 34.0), cell("ladder", 41.0)]);
    let found = disagreements(&[here.clone(), experiment(&[cell("ladder", 41.5)])], &machine());
    let reasons = |at: usize, index: usize| found[&at][index].verdict.reasons.clone();
    let expected =
        |with: &str, here: f64, there: f64| (with.to_owned(), (here * 10.0).round(), (there * 10.0).round(), true);
    let said = |reason: &Reason| match reason {
        Reason::Disagrees { with, here, there, is_time, apart } => {
            assert!((apart - (41.5 / 34.0 - 1.0)).abs() < 1e-3, "{apart}");
            (with.clone(), (here * 10.0).round(), (there * 10.0).round(), *is_time)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(said(&reasons(0, 0)[0]), expected("ladder", 34.0, 41.5));
    assert_eq!(said(&reasons(0, 1)[0]), expected("curve", 41.0, 34.0));
    assert_eq!(said(&reasons(1, 0)[0]), expected("curve", 41.5, 34.0));
    assert!(reasons(0, 0)[0].to_string().contains("differ by up to 22 %"), "{}", reasons(0, 0)[0]);
    let again = disagreements(&[here, experiment(&[cell("curve", 41.0)])], &machine());
    let text = again[&1][0].verdict.reasons[0].to_string();
    assert!(text.contains("curve of experiment 1"), "{text}");
}

#[test]
fn five_visits_or_visits_within_two_seconds_contradict_nothing() {
    let figure = |id, median, visits| (point(id), seen(&point(id), median, visits));
    assert_eq!(bounds(&[figure("a", 34.0, 20), figure("b", 41.0, 5)]), [false; 2]);
    assert_eq!(bounds(&[figure("a", 34.0, 20), figure("b", 41.0, 6)]), [true; 2]);
    // What is known to differ makes the others bounds as well, however few visits these have.
    assert_eq!(bounds(&[figure("a", 34.0, 20), figure("b", 41.0, 20), figure("c", 34.0, 3)]), [true; 3]);
    let faster = |times: f64| {
        let (step, mut seen) = figure("b", 41.0, 20);
        seen.visits.list.iter_mut().for_each(|visit| visit.at /= times);
        bounds(&[figure("a", 34.0, 20), (step, seen)])
    };
    // Twenty visits in 28, 2.9, 1.4 and 0.19 s.
    assert_eq!([1.0, 10.0, 20.0, 150.0].map(faster), [[true; 2], [true; 2], [false; 2], [false; 2]]);
}

#[test]
fn the_interval_holds_moments_that_differ() {
    // A neighbour that stays for a second: three moments of 33, 41 and 41, each of ten visits.
    let (step, mut seen) = (point("b"), seen(&point("b"), 41.0, 30));
    for (visit, at) in seen.visits.list.iter_mut().zip(0..) {
        visit.at = f64::from(at) * 0.1;
        if at < 10 {
            visit.windows.iter_mut().for_each(|window| window.values = vec![Some(33.0)]);
        }
    }
    assert_eq!(bounds(&[(point("a"), self::seen(&point("a"), 34.0, 20)), (step, seen)]), [false; 2]);
}

#[test]
fn intervals_that_overlap_contradict_nothing() {
    // The interval of the median of 20 visits begins at the sixth.
    let every = |nth: usize| {
        let mut scattered = seen(&point("b"), 41.0, 20);
        for visit in scattered.visits.list.iter_mut().step_by(nth) {
            visit.windows.iter_mut().for_each(|window| window.values = vec![Some(33.0)]);
        }
        bounds(&[(point("a"), seen(&point("a"), 34.0, 20)), (point("b"), scattered)])
    };
    assert_eq!([every(4), every(3)], [[true; 2], [false; 2]]);
}

#[test]
fn disturbed_windows_do_not_count() {
    let mut disturbed = seen(&point("b"), 34.0, 20);
    for visit in &mut disturbed.visits.list {
        visit.windows[..3].iter_mut().for_each(|window| *window = Window { clean: false, ..window.clone() });
        visit.windows[..3].iter_mut().for_each(|window| window.values = vec![Some(80.0)]);
    }
    assert_eq!(bounds(&[(point("a"), seen(&point("a"), 34.0, 20)), (point("b"), disturbed)]), [false; 2]);
}

#[test]
fn levels_that_agree_are_one_value_whatever_others_took() {
    let level = |id: &str, median, level, grade| {
        let mut seen = seen(&point(id), median, 20);
        seen.edge = Some(EdgeSeen { share: 0.3, windows: 80, visits: 20, reached: 9, within: None });
        (seen.value, seen.verdict.grade) = (Some(level), grade);
        (point(id), seen)
    };
    let quiet = level("a", 34.0, 33.0, Grade::Trusted);
    assert_eq!(bounds(&[quiet.clone(), level("b", 41.0, 33.1, Grade::Trusted)]), [false; 2]);
    assert_eq!(bounds(&[quiet.clone(), level("b", 41.0, 39.0, Grade::Trusted)]), [true; 2]);
    // The value of a bound is no level. It stays a bound for its own reason.
    assert_eq!(bounds(&[quiet, level("b", 41.0, 33.1, Grade::Bound)]), [true, false]);
}

#[test]
fn figures_in_doubt_or_not_settled_contradict_nothing() {
    let doubted = |change: &dyn Fn(&mut Observation)| {
        let mut seen = seen(&point("b"), 41.0, 20);
        change(&mut seen);
        bounds(&[(point("a"), self::seen(&point("a"), 34.0, 20)), (point("b"), seen)])
    };
    assert_eq!(doubted(&|_| ()), [true; 2]);
    assert_eq!(doubted(&|seen| seen.verdict.suspect(Reason::Evicted)), [false; 2]);
    let reason = Reason::NotSettled { change: Some(-0.1), unsettled: 0.0 };
    assert_eq!(doubted(&|seen| seen.verdict.bound(reason.clone())), [false; 2]);
    assert_eq!(doubted(&|seen| seen.value = None), [false; 2]);
}

#[test]
fn other_work_memory_or_places_do_not_mean_the_same() {
    let changed = |change: &dyn Fn(&mut Step)| {
        let mut other = point("b");
        change(&mut other);
        with(&[point("a"), other], &[34.0, 41.0])
    };
    assert_eq!(changed(&|_| ()), [true; 2]);
    assert_eq!(changed(&|step| step.setup.threads[0].cpu = 1), [true; 2], "the other core of the same cache");
    assert_eq!(changed(&|step| step.setup.regions[0].nodes = "0".parse().unwrap()), [false; 2], "no node is known");
    let others: [&dyn Fn(&mut Step); 8] = [
        &|step| step.setup.threads[0].cpu = 2,
        &|step| step.setup.threads[0].role = Role::Chase { chains: 2 },
        &|step| step.setup.regions[0].bytes = Bytes(8 * MIB + 4096),
        &|step| step.setup.regions[0].page = PageKind::Base,
        &|step| step.setup.regions[0].layout = Layout::Chain(ChainLayout::Scatter(4096)),
        &|step| step.setup.regions[0].nodes = "1".parse().unwrap(),
        &|step| step.setup.threads.push(step.setup.threads[0].clone()),
        &|step| step.labels = step.labels.clone().with_region(1),
    ];
    for (at, other) in others.iter().enumerate() {
        assert_eq!(changed(other), [false; 2], "{at}");
    }
}

#[test]
fn a_line_of_memory_means_the_same_in_any_footprint_and_probe() {
    let ladder = || memory("ladder", Purpose::Ladder, GIB);
    let all =
        [ladder(), memory("unloaded", Purpose::Unloaded, 512 * MIB), memory("matrix", Purpose::Matrix, 300 * MIB)];
    assert_eq!(with(&all, &[120.0, 140.0, 121.0]), [true; 3]);
    assert_eq!(with(&all, &[120.0, 122.0, 121.0]), [false; 3]);
    // A footprint that the user named may be of a cache.
    assert_eq!(with(&[ladder(), memory("table", Purpose::Table, 300 * MIB)], &[120.0, 140.0]), [false; 2]);
    let cache = testing::cache(3, 256 * MIB, 0..2);
    let large = Machine { caches: vec![cache], ..machine() };
    let cells: Vec<_> =
        all.iter().zip([120.0, 121.0, 80.0]).map(|(step, ns)| (step.clone(), seen(step, ns, 20))).collect();
    assert!(disagreements(&[experiment(&cells)], &large).is_empty(), "the matrix's memory is half in the cache");
    let walks = |bytes| {
        let step = chase("walks", Purpose::Ladder, bytes, ChainLayout::Random);
        Step { labels: step.labels.clone().with_tier(Tier::DramRandom), ..step }
    };
    assert_eq!(with(&[walks(GIB), walks(GIB + 8 * MIB)], &[150.0, 170.0]), [true; 2]);
    assert_eq!(with(&[walks(GIB), walks(2 * GIB)], &[150.0, 170.0]), [false; 2]);
}

#[test]
fn streams_are_compared_by_the_kernel_that_won() {
    let step = |id: &str, cpus: &[u32], rivals: &[&str]| {
        let rivals = rivals.iter().map(|id| (*id).into()).collect();
        let role = Role::Stream { kernel: "read/plain".into(), rivals };
        let mut step = point(id);
        step.metric = Metric::Bandwidth;
        let region = RegionSetup { layout: Layout::Data, ..step.setup.regions[0].clone() };
        step.setup.regions = vec![region; cpus.len()];
        step.setup.threads = cpus.iter().zip(0..).map(|(cpu, at)| ThreadSetup::new(*cpu, role.clone(), at)).collect();
        step
    };
    let won = |step: &Step, rate: f64, kernel: &str| {
        let mut seen = seen(step, rate, 20);
        seen.labels = seen.labels.with_kernel(kernel);
        (step.clone(), seen)
    };
    let (one, rivals) = (step("a", &[0, 1], &[]), step("b", &[0, 1], &["read/wide"]));
    assert_eq!(bounds(&[won(&one, 30e9, "read/plain"), won(&rivals, 36e9, "read/plain")]), [true; 2]);
    assert_eq!(bounds(&[won(&one, 30e9, "read/plain"), won(&rivals, 36e9, "read/wide")]), [false; 2]);
    let elsewhere = step("b", &[0, 2], &[]);
    assert_eq!(bounds(&[won(&one, 30e9, "read/plain"), won(&elsewhere, 36e9, "read/plain")]), [false; 2]);
}

#[test]
fn idle_is_not_above_loaded() {
    let idle = || memory("unloaded", Purpose::Unloaded, 512 * MIB);
    let loaded = |id: &str| {
        let mut step = memory(id, Purpose::Load, 512 * MIB);
        step.setup.threads.push(ThreadSetup::new(1, Role::Load { kernels: Vec::new(), pause_ns: 100 }, 0));
        step
    };
    let doubted = |idle_ns: f64, loaded_ns: &[f64]| {
        let points = loaded_ns.iter().zip(0..).map(|(ns, at)| {
            let step = loaded(&format!("point{at}"));
            (step.clone(), seen(&step, *ns, 20))
        });
        let cells: Vec<_> = std::iter::once((idle(), seen(&idle(), idle_ns, 20))).chain(points).collect();
        let found = disagreements(&[experiment(&cells)], &machine());
        let of = found.get(&0).cloned().unwrap_or_default();
        of.iter().map(|seen| seen.verdict.reasons.clone()).filter(|reasons| !reasons.is_empty()).collect::<Vec<_>>()
    };
    assert!(doubted(120.0, &[121.0, 160.0, 300.0]).is_empty());
    assert!(doubted(120.0, &[116.0, 160.0]).is_empty(), "within the tolerance");
    let reason = |with: &str, loaded: f64| (with.to_owned(), loaded);
    let found = doubted(140.0, &[120.0, 125.0, 160.0]);
    let said: Vec<_> = found
        .iter()
        .map(|reasons| match &reasons[..] {
            [Reason::IdleAboveLoaded { with, loaded, .. }] => reason(with, loaded.round()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(said, [reason("point0", 120.0), reason("unloaded", 120.0), reason("unloaded", 125.0)]);
    assert!(found[0][0].to_string().contains("140 ns when idle, but 120 ns"), "{}", found[0][0]);
}

/// A clock that differs between two figures explains no difference that neither shows by itself.
#[test]
fn a_clock_of_another_hour_is_no_slope() {
    let at_clock = |id: &str, median: f64, hz: f64| {
        let (step, mut seen) = (point(id), seen(&point(id), median, 30));
        seen.visits.clocks = 1;
        let clock = tiermark_model::CoreClock { hz, is_steady: true };
        let windows = seen.visits.list.iter_mut().flat_map(|visit| &mut visit.windows);
        windows.for_each(|window| window.clocks = vec![Some(clock)]);
        (step, seen)
    };
    assert_eq!(bounds(&[at_clock("a", 34.0, 3.3e9), at_clock("b", 41.0, 2.8e9)]), [true; 2]);
}
