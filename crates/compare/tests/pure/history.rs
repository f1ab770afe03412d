//! Figures over many runs: an unchanged machine hardly ever has a change of level, a step of 5 % is found, and values
//! that are not comparable are no series.

use tiermark_compare::{FEWEST, OneRun, histories};
use tiermark_model::*;
use tiermark_stats::Rng;

/// A figure of memory with this value.
fn figure(value: f64) -> RunFigure {
    RunFigure {
        key: "survey latency Ns tier=DRAM".into(),
        name: None,
        probe: "survey".into(),
        quantity: Quantity::Latency,
        labels: Labels::new().with_tier(Tier::Dram).with_size(GIB).with_purpose(Purpose::Ladder),
        unit: Unit::Ns,
        method: 3,
        value,
        interval: Some(Interval { low: value * 0.99, high: value * 1.01, level: 0.95 }),
        per_cycle: None,
        grade: Grade::Trusted,
        is_open: false,
        is_middle: Some(false),
        state: None,
        pings: None,
        cpus: None,
        rivals: Vec::new(),
    }
}

/// The history of a figure, a run a day.
fn over(figures: Vec<RunFigure>) -> Vec<FigureHistory> {
    over_all(figures.into_iter().map(|figure| vec![figure]).collect())
}

/// The history of several figures, a run a day.
fn over_all(runs: Vec<Vec<RunFigure>>) -> Vec<FigureHistory> {
    let about: Vec<RunFigures> = runs
        .into_iter()
        .enumerate()
        .map(|(at, figures)| {
            let facts = vec![(Fact::Kernel, Some(format!("6.{}", at / 10))), (Fact::Thp, Some("always".to_owned()))];
            RunFigures { figures, facts }
        })
        .collect();
    let ids: Vec<String> = (0..about.len()).map(|at| format!("run-{at}")).collect();
    let runs: Vec<OneRun<'_>> = about
        .iter()
        .zip(&ids)
        .enumerate()
        .map(|(at, (about, id))| OneRun { id, started: id, day: Some(at as f64), about })
        .collect();
    histories(&runs, |_| true)
}

/// What a shared machine does to a figure from run to run.
#[derive(Clone, Copy)]
struct Noise {
    /// Standard deviation of each run's own error: half of an interval of a percent or so.
    own: f64,
    /// Half the height of a drift over the hours, of 7 runs to 40.
    drift: f64,
    /// Share of the runs that have a bound, which may be off by much.
    bounds: f64,
}

/// Values of a machine whose figure changes by a factor from a run on.
fn made(runs: usize, noise: Noise, change: Option<(usize, f64)>, rng: &mut Rng) -> Vec<RunFigure> {
    let (period, phase) = (7.0 + 33.0 * rng.unit(), rng.unit());
    let mut one = |at: usize| {
        let hour = (std::f64::consts::TAU * (at as f64 / period + phase)).sin();
        let level = change.filter(|(from, _)| at >= *from).map_or(100.0, |(_, factor)| 100.0 * factor);
        let value = level * (1.0 + noise.own * rng.normal() + noise.drift * hour);
        if rng.unit() < noise.bounds {
            let value = value * (1.0 + 0.3 * rng.unit());
            return RunFigure { grade: Grade::Bound, is_open: true, ..figure(value) };
        }
        figure(value)
    };
    (0..runs).map(&mut one).collect()
}

/// Of errors of 3 to 10 % only the tests decide: most differences of a few values exceed the threshold.
const NOISES: [Noise; 7] = [
    Noise { own: 0.005, drift: 0.0, bounds: 0.0 },
    Noise { own: 0.01, drift: 0.0, bounds: 0.3 },
    Noise { own: 0.005, drift: 0.01, bounds: 0.2 },
    Noise { own: 0.01, drift: 0.01, bounds: 0.3 },
    Noise { own: 0.03, drift: 0.0, bounds: 0.0 },
    Noise { own: 0.05, drift: 0.0, bounds: 0.3 },
    Noise { own: 0.1, drift: 0.0, bounds: 0.0 },
];

/// Of histories with so many figures, those of unchanged machines that have any change, and any trend.
fn alarms(histories: usize, figures: usize, noise: Noise, rng: &mut Rng) -> (usize, usize) {
    let (mut changed, mut trends) = (0, 0);
    for _ in 0..histories {
        let runs = 10 + rng.below(91);
        let mut all: Vec<Vec<RunFigure>> = vec![Vec::new(); runs];
        for key in 0..figures {
            let series = made(runs, noise, None, rng);
            all.iter_mut().zip(series).for_each(|(run, figure)| run.push(RunFigure { key: key.to_string(), ..figure }));
        }
        let found = over_all(all);
        changed += usize::from(found.iter().any(|figure| !figure.changes.is_empty()));
        trends += usize::from(found.iter().any(|figure| figure.trend.is_some()));
    }
    (changed, trends)
}

#[test]
fn an_unchanged_machine_has_hardly_ever_a_change_or_a_trend() {
    let mut rng = Rng::new(16);
    // Twelve figures make a survey.
    for (figures, histories) in [(1, 300), (12, 60)] {
        // Errors that depend on each other raise the rate: of histories with a drift, fewer than 1 in 20 have an alarm.
        for (is_drifting, most_percent) in [(false, 1), (true, 5)] {
            let noises: Vec<Noise> = NOISES.into_iter().filter(|noise| (noise.drift > 0.0) == is_drifting).collect();
            let (mut changed, mut trends) = (0, 0);
            for noise in &noises {
                let found = alarms(histories, figures, *noise, &mut rng);
                eprintln!("{figures} figures, errors of {} %, drift {is_drifting}: {found:?}", 100.0 * noise.own);
                (changed, trends) = (changed + found.0, trends + found.1);
            }
            let most = histories * noises.len() * most_percent / 100;
            assert!(changed <= most && trends <= most, "{figures}: {changed} and {trends}, at most {most}");
        }
    }
}

#[test]
fn a_step_of_five_percent_is_found_with_five_runs_on_each_side() {
    const SERIES: usize = 250;
    let mut rng = Rng::new(17);
    for (noise, least) in [(NOISES[0], 0.95), (Noise { own: 0.01, ..NOISES[0] }, 0.8)] {
        for factor in [1.05, 1.0 / 1.05] {
            let mut found = 0;
            for _ in 0..SERIES {
                let history = over(made(2 * FEWEST, noise, Some((FEWEST, factor)), &mut rng));
                found += usize::from(history[0].changes.iter().any(|change| change.run == "run-5"));
            }
            eprintln!("noise {} %, factor {factor:.3}: {found} of {SERIES} found", noise.own * 100.0);
            assert!(found as f64 >= least * SERIES as f64, "{found}");
        }
    }
    // More runs, with drift and bounds between them.
    let mut found = 0;
    for _ in 0..SERIES {
        let history = over(made(60, NOISES[2], Some((30, 1.05)), &mut rng));
        found += usize::from(!history[0].changes.is_empty());
    }
    eprintln!("60 runs with drift and bounds: {found} of {SERIES} found");
    assert!(found * 10 >= SERIES * 8, "{found}");
}

/// Too few runs for a rank test to be beyond chance among so many figures.
#[test]
fn a_complete_step_of_six_runs_against_seven_is_found_in_every_figure() {
    let mut rng = Rng::new(23);
    // Figures with a step from 169 to 154 and their scatter, beside unchanged ones.
    for (stepped, unchanged) in [(vec![0.005, 0.01, 0.015], 12), (vec![0.003, 0.01, 0.012], 0), (vec![0.01; 15], 0)] {
        let mut missed = 0;
        for _ in 0..20 {
            let mut value = |step: bool, own: f64| if step { 154.0 } else { 169.0 } * (1.0 + own * rng.normal());
            let of_run = |at: usize| {
                let changed = stepped.iter().map(|own| value(at >= 6, *own)).collect::<Vec<f64>>();
                let others = (0..unchanged).map(|key| value(false, 0.01 + 0.005 * f64::from(key)));
                let values = changed.into_iter().chain(others).enumerate();
                values.map(|(key, value)| RunFigure { key: key.to_string(), ..figure(value) }).collect()
            };
            let found = over_all((0..13).map(of_run).collect());
            let runs = found.iter().map(|of| of.changes.iter().map(|change| change.run.as_str()).collect::<Vec<_>>());
            let (changed, others) = runs.partition::<Vec<_>, _>(|of| !of.is_empty());
            assert!(changed.iter().all(|runs| *runs == ["run-6"]) && others.len() >= unchanged as usize, "{changed:?}");
            missed += stepped.len() - changed.len();
        }
        assert_eq!(missed, 0, "of {stepped:?} beside {unchanged}");
    }
}

/// Each probe has the clock of its cores; of a machine one is followed.
#[test]
fn the_clock_of_several_probes_is_one_figure() {
    let clock = |probe: &str, key: &str| RunFigure {
        key: key.into(),
        probe: probe.into(),
        quantity: Quantity::CoreClock,
        unit: Unit::Hz,
        labels: Labels::new(),
        ..figure(4e9)
    };
    let of = |at: usize| match at {
        3 | 9 => clock("latency", "latency core.clock Hz"),
        _ => clock("survey", "survey core.clock Hz"),
    };
    let found = over((0..10).map(of).collect());
    assert_eq!(
        found.iter().map(|of| (of.apart.is_none(), of.points.len())).collect::<Vec<_>>(),
        [(true, 8), (false, 2)]
    );
    assert!(found.iter().all(|of| of.key == "core.clock"), "{found:?}");
    assert!(matches!(found[1].apart, Some(Obstacle::Probe { .. })), "{:?}", found[1].apart);
}

#[test]
fn shared_values_have_trends_and_changes() {
    let shared = |value: f64| RunFigure { grade: Grade::Shared, is_middle: Some(true), ..figure(value) };
    let level = |at: u32| if at < 6 { 169.0 } else { 154.0 } + 0.1 * f64::from(at % 3);
    let found = over((0..13).map(|at| shared(level(at))).collect()).remove(0);
    assert_eq!(found.changes.len(), 1);
    assert!(found.points.iter().all(|point| point.counts && point.grade == Grade::Shared));
    let found = over((0..12).map(|at| shared(100.0 + 0.4 * f64::from(at))).collect()).remove(0);
    assert!(found.trend.is_some());
}

#[test]
fn a_stay_at_another_level_is_two_changes() {
    let level = |at: usize| if (20..40).contains(&at) { 200.0 } else { 100.0 };
    let found = over((0..60).map(|at| figure(level(at) + 0.1 * (at % 7) as f64)).collect());
    let runs: Vec<&str> = found[0].changes.iter().map(|change| change.run.as_str()).collect();
    assert_eq!(runs, ["run-20", "run-40"]);
}

#[test]
fn a_change_of_one_figure_is_found_among_many() {
    let mut rng = Rng::new(18);
    let mut all: Vec<Vec<RunFigure>> = vec![Vec::new(); 40];
    for key in 0..12 {
        let series = made(40, NOISES[4], (key == 7).then_some((20, 1.2)), &mut rng);
        all.iter_mut().zip(series).for_each(|(run, figure)| run.push(RunFigure { key: key.to_string(), ..figure }));
    }
    let changed: Vec<usize> = over_all(all).iter().map(|figure| figure.changes.len()).collect();
    assert_eq!(changed, [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
}

#[test]
fn a_change_names_its_runs_and_the_facts_that_differ() {
    let values = (0..20).map(|at| figure(if at < 10 { 100.0 } else { 110.0 } + 0.01 * f64::from(at)));
    let found = over(values.collect());
    assert_eq!(found.len(), 1);
    let [change] = &found[0].changes[..] else { panic!("{:?}", found[0].changes) };
    assert_eq!((change.last.as_str(), change.run.as_str()), ("run-9", "run-10"));
    assert!((change.change - 0.1).abs() < 0.01 && change.p_value < 0.001, "{change:?}");
    let kernel = FactDifference { fact: Fact::Kernel, first: Some("6.0".into()), other: Some("6.1".into()) };
    assert_eq!(change.facts, [kernel]);
    assert!(found[0].trend.is_none(), "within a level there is none");
}

#[test]
fn a_slow_decline_is_a_trend() {
    let values = (0..30).map(|at| figure(100.0 + 0.2 * f64::from(at) + 0.3 * f64::from(at % 3)));
    let found = over(values.collect());
    // Level changes of 3 % cut a decline of 6 % at most once.
    assert!(found[0].changes.len() <= 1);
    let short = over((0..12).map(|at| figure(100.0 + 0.4 * f64::from(at))).collect());
    let trend = short[0].trend.as_ref().unwrap();
    assert!((trend.change - 0.043).abs() < 0.003 && trend.since == "run-0" && trend.values == 12, "{trend:?}");
}

#[test]
fn bounds_are_shown_and_decide_nothing() {
    let bound = |value: f64| RunFigure { grade: Grade::Bound, is_open: true, ..figure(value) };
    let mut values: Vec<RunFigure> = (0..8).map(|at| figure(100.0 + 0.01 * f64::from(at))).collect();
    values.extend((0..12).map(|at| bound(130.0 + f64::from(at))));
    let found = over(values);
    assert_eq!((found.len(), found[0].points.len(), found[0].changes.len()), (1, 20, 0));
    assert!(found[0].points[..8].iter().all(|p| p.counts) && found[0].points[8..].iter().all(|p| !p.counts));
    // Below the record of its machine it is as sharp as any other.
    let held = |value: f64| RunFigure { grade: Grade::Bound, ..figure(value) };
    let values = (0..20)
        .map(|at| if at < 10 { figure(100.0 + 0.01 * f64::from(at)) } else { held(110.0 + 0.01 * f64::from(at)) });
    assert_eq!(over(values.collect())[0].changes.len(), 1);
}

#[test]
fn values_that_are_not_comparable_are_a_series_of_their_own() {
    let sized = |bytes: u64| RunFigure { labels: figure(100.0).labels.with_size(bytes), ..figure(100.0) };
    let on = |nodes: &str| CpuPlace { nodes: nodes.parse().unwrap(), kinds: Default::default() };
    type IsWhy = fn(&Obstacle) -> bool;
    let cases: [(RunFigure, IsWhy); 5] = [
        (RunFigure { method: 2, ..figure(100.0) }, |why| matches!(why, Obstacle::Method { first: 2, other: 3 })),
        (sized(4 * GIB), |why| matches!(why, Obstacle::WorkingSet { .. })),
        (RunFigure { is_middle: Some(true), ..figure(100.0) }, |why| *why == Obstacle::Estimate),
        (RunFigure { pings: Some([300.0, 400.0]), ..figure(100.0) }, |why| matches!(why, Obstacle::State { .. })),
        (RunFigure { cpus: Some(on("1")), ..figure(100.0) }, |why| matches!(why, Obstacle::Cpus { .. })),
    ];
    for (other, is_why) in cases {
        let near = RunFigure { pings: Some([50.0, 60.0]), cpus: Some(on("0")), ..figure(100.0) };
        let found = over(vec![other.clone(), other.clone(), near.clone(), other, near]);
        assert_eq!(found.iter().map(|figure| figure.points.len()).collect::<Vec<_>>(), [2, 3]);
        assert!(found[0].apart.is_none() && found[1].apart.as_ref().is_some_and(is_why), "{:?}", found[1].apart);
    }
    // Memory depends a little on what happens to be free.
    assert_eq!(over(vec![sized(GIB + GIB / 10), sized(GIB)]).len(), 1);
    assert!(over(Vec::new()).is_empty());
}

/// A figure of L2 in cycles of a core at a clock, GHz.
fn clocked(cycles: f64, ghz: f64) -> RunFigure {
    let labels = Labels::new().with_tier(Tier::Cache(2)).with_size(256 * KIB).with_purpose(Purpose::Ladder);
    let per_cycle = Some(PerCycle { value: cycles, unit: Unit::Cycles });
    RunFigure { labels, per_cycle, ..figure(cycles / ghz) }
}

/// The clock of a run, GHz.
fn ghz(at: usize) -> f64 {
    if at < 10 { 3.2 } else { 2.9 }
}

#[test]
fn what_the_core_clocks_is_a_series_in_cycles() {
    let steady = |at: usize| 14.0 * if at.is_multiple_of(2) { 1.001 } else { 0.999 };
    let found = over((0..20).map(|at| clocked(steady(at), ghz(at))).collect()).remove(0);
    assert!(found.changes.is_empty() && found.trend.is_none(), "the clock fell, and not the cache: {found:?}");
    assert_eq!((found.unit, found.less_is_better()), (Unit::Cycles, Some(true)));
    let point = &found.points[0];
    assert!((point.value - 14.014).abs() < 1e-9 && (point.interval.unwrap().high - 14.014 * 1.01).abs() < 1e-9);
    // 10 % more cycles at a clock that hides it.
    let slower = |at: usize| steady(at) * if at < 10 { 2.9 / 3.2 } else { 1.0 };
    let found = over((0..20).map(|at| clocked(slower(at), ghz(at))).collect()).remove(0);
    let [change] = &found.changes[..] else { panic!("{found:?}") };
    assert!(change.run == "run-10" && (change.change - (3.2 / 2.9 - 1.0)).abs() < 5e-3, "{change:?}");
    let trended = |at: usize| clocked(14.0 * (1.0 + 0.005 * at as f64), 2.9 * (1.0 + 0.005 * at as f64));
    let trend = over((0..40).map(trended).collect()).remove(0);
    assert!(trend.trend.is_some() || !trend.changes.is_empty(), "{trend:?}");
}

#[test]
fn a_series_with_a_run_without_cycles_is_in_time() {
    let mut figures: Vec<RunFigure> = (0..20).map(|at| clocked(14.0, ghz(at))).collect();
    figures[3].per_cycle = None;
    let found = over(figures).remove(0);
    assert_eq!((found.unit, found.changes.len()), (Unit::Ns, 1));
    assert!((found.points[0].value - 14.0 / 3.2).abs() < 1e-9);
}

/// Runs that chose another kernel count with their value of the newest run's kernel; without one they are a series of
/// their own.
#[test]
fn a_series_is_of_one_kernel() {
    let rate = |value: f64, kernel: &str, rival: Option<(&str, f64)>| {
        let labels = figure(value).labels.with_op("write").with_kernel(kernel);
        let of = |(kernel, value): (&str, f64)| Rival {
            kernel: kernel.into(),
            ratio: None,
            value: Some(value),
            interval: Some(Interval { low: value * 0.98, high: value * 1.02, level: 0.95 }),
        };
        let (quantity, unit, rivals) = (Quantity::Bandwidth, Unit::BytesPerSecond, rival.map(of).into_iter().collect());
        RunFigure { labels, quantity, unit, rivals, ..figure(value) }
    };
    let old = || rate(10.0, "write/avx2", Some(("write.nt/avx2", 20.0)));
    let new = || rate(20.2, "write.nt/avx2", None);
    let found = over((0..12).map(|at| if at < 6 { old() } else { new() }).collect());
    assert_eq!((found.len(), found[0].points.len(), found[0].changes.len()), (1, 12, 0), "{found:?}");
    assert_eq!(found[0].points[0].value, 20.0);
    assert!(found[0].points[0].interval.is_some_and(|interval| (interval.low - 19.6).abs() < 1e-9));
    let unknown = || rate(10.0, "write/avx2", None);
    let found = over((0..12).map(|at| if at < 6 { unknown() } else { new() }).collect());
    assert_eq!(found.iter().map(|series| series.points.len()).collect::<Vec<_>>(), [6, 6]);
    assert!(matches!(found[1].apart, Some(Obstacle::Kernels { .. })) && found.iter().all(|of| of.changes.is_empty()));
}
