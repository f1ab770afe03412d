use proptest::prelude::*;
use tiermark_model::messages::alert as says;
use tiermark_model::messages::check as expectation;
use tiermark_model::{
    CheckUnit, Code, WatchActive, WatchBest, WatchCell, WatchCpu, WatchMemory, WatchNode, WatchPressure, WatchStall,
    WatchStalls,
};

use super::*;

/// A sample a second after the one before, with so much steal.
fn steal(share: Option<f64>) -> WatchSample {
    WatchSample {
        seconds: Some(1.0),
        cpu: Some(WatchCpu { online: 2, busy: None, steal: share }),
        ..WatchSample::default()
    }
}

fn alerts(text: &str) -> Alerts {
    Alerts::new([Alert::parse(text).unwrap_or_else(|note| panic!("{text}: {note}"))], 1.0)
}

/// A sample a second after the one before, whose memory was visited so many seconds ago and then answered in so many
/// ns.
fn latency(visited: Option<(f64, f64)>) -> WatchSample {
    let best = visited.map(|(age, ns)| WatchBest {
        now: Some(ns),
        age_seconds: Some(age),
        capability: Some(100.0),
        ..WatchBest::default()
    });
    let dram = WatchCell { latency: best, ..WatchCell::default() };
    WatchSample {
        seconds: Some(1.0),
        active: Some(WatchActive { dram, ..WatchActive::default() }),
        ..WatchSample::default()
    }
}

fn fault(text: &str) -> (Code, Option<u64>) {
    let note = Alert::parse(text).unwrap_err();
    (note.code.clone(), note.data.get("at").and_then(|at| at.as_u64()))
}

#[test]
fn figures_are_compared_in_their_units() {
    let some = WatchStall { avg10: 12.0, ..WatchStall::default() };
    let sample = WatchSample {
        psi: WatchPressure { memory: Some(WatchStalls { some, full: None }), ..WatchPressure::default() },
        memory: Some(WatchMemory {
            available_bytes: Some(1 << 30),
            total_bytes: Some(8 << 30),
            ..WatchMemory::default()
        }),
        nodes: vec![WatchNode { node: 3, free_bytes: Some(4096), ..WatchNode::default() }],
        swaps: vec![tiermark_model::WatchSwap { path: "/swap file".into(), total_bytes: 8192, used_bytes: 4096 }],
        ..steal(Some(0.1))
    };
    for (text, holds, unit) in [
        ("cpu.steal > 5 %", true, CheckUnit::Number),
        ("cpu.steal > 0.2", false, CheckUnit::Number),
        ("psi.memory.some.avg10 >= 12 %", true, CheckUnit::Number),
        ("psi.memory.some.avg10 > 0.13", false, CheckUnit::Number),
        ("memory.available_bytes < 2 GiB", true, CheckUnit::Bytes),
        ("memory.available_bytes < 0.1 x memory.total_bytes", false, CheckUnit::Bytes),
        ("memory.available_bytes / memory.total_bytes < 20 %", true, CheckUnit::Number),
        ("nodes.3.free_bytes <= 4 KiB", true, CheckUnit::Bytes),
        ("nodes.4.free_bytes <= 4 KiB", false, CheckUnit::Bytes),
        ("\"swaps./swap file.used_bytes\" >= 4096 B", true, CheckUnit::Bytes),
        ("seconds < 2 s", true, CheckUnit::Ns),
        ("vm.major_faults >= 0/s", false, CheckUnit::Number),
    ] {
        let judged = alerts(text).judge(&sample).remove(0);
        assert_eq!((judged.alarm, judged.unit), (holds, unit), "{judged:?}");
        assert_eq!(judged.alert, text);
    }
}

#[test]
fn mistakes_name_the_character_and_the_cure() {
    assert_eq!(fault("cpu.steal"), (says::codes::alert_without_comparison, None));
    assert_eq!(fault("1 > 2"), (says::codes::alert_without_figure, None));
    assert_eq!(fault("cpu.steel > 5 %"), (says::codes::figure_unknown, Some(1)));
    assert_eq!(fault("5 % < nodes.x.free_bytes"), (says::codes::figure_unknown, Some(7)));
    assert_eq!(fault("cpu.steal > 5 % for 30x"), (says::codes::alert_time_wrong, Some(21)));
    assert_eq!(fault("cpu.steal > 5 % for"), (expectation::codes::operator_expected, Some(17)));
    assert_eq!(fault("cpu.steal > 5 ns"), (says::codes::alert_units_differ, None));
    assert_eq!(fault("cpu.steal > 5"), (says::codes::alert_share_above_one, None));
    assert_eq!(fault("cpu.steal > 1.5 x capability"), (says::codes::alert_reference_unclear, Some(19)));
    assert_eq!(fault(&"9 x ".repeat(20)), (says::codes::alert_too_long, None));
    let said = |text: &str| Alert::parse(text).unwrap_err().to_string();
    let lists = "`tiermark list figures` lists all)";
    for text in ["cpu.steel > 5 %", "steal > 5 %"] {
        assert!(said(text).ends_with(&format!("did you mean 'cpu.steal'? ({lists}")), "{}", said(text));
    }
    assert!(said("no.such.thing.at.all > 5 %").ends_with(lists), "{}", said("no.such.thing.at.all > 5 %"));
    assert!(said("cpu.steal > 20").ends_with("write 20 %"), "{}", said("cpu.steal > 20"));
    assert!(said("cpu.steal < 5 ns").contains("the left side is a number, the right side a time"));
}

#[test]
fn figures_that_runs_have_too_have_one_name() {
    for (text, name) in
        [("latency.dram > 120 ns", "active.dram.latency.now"), ("read.l1.one < 5 GB/s", "active.l1.bandwidth.now")]
    {
        assert_eq!(Alert::parse(text).unwrap().figures().next(), Some(name));
        assert!(crate::Expectation::parse(text).is_ok(), "{text}");
    }
}

#[test]
fn each_listed_name_is_read() {
    for figure in tiermark_model::watch_names() {
        let name = figure.short_name();
        let alert = Alert::parse(&format!("{name} / {name} > 2")).unwrap_or_else(|note| panic!("{name}: {note}"));
        assert_eq!(alert.figures().next(), Some(figure.name().as_str()));
    }
}

#[test]
fn each_mistake_has_its_own_cure() {
    let cures = [
        ("memory.available_bytes < 10 %", "a part of other memory, as in 0.1 x memory.total_bytes"),
        ("10 % > memory.available_bytes", "a part of other memory, as in 0.1 x memory.total_bytes"),
        ("latency.dram > 2", "give a time, as in 120 ns"),
        ("read.dram.one < 30", "give a rate, as in 30 GB/s"),
        ("clock < 3", "give a clock, as in 3 GHz"),
        ("vm.faults > 3 GB", "give a share, as in 5 % or 0.05, or a number of events"),
        ("5 % < cpu.steal < 10 %", "character 17: compare once; give the second limit in an --alert of its own"),
        ("latency.dram > 1.5 x capabilty", "did you mean 'capability'?"),
        ("latency.dram > 1.5 x recrod", "did you mean 'record'?"),
        ("swaps./dev/vda2.used_bytes > 1 GiB", "stands in quotes: '\"swaps./dev/sda2.used_bytes\" > 1 GiB'"),
        ("\"swaps./dev/vda2.used_bytes > 1 GiB", "character 1: the quote has no end"),
        ("cpu.steal > 5 % for 500 ms", "'500 ms' is not a time: write seconds, minutes or hours"),
        ("cpu.steal > 5 % for 0s", "is not a time"),
        ("cpu.steal > 5 % for ", "is not a time"),
        ("cpu.steal > 5 x", "expected a number or a name"),
        ("cpu.steal cpu.busy > 5 %", "character 11: expected x, / or one of"),
    ];
    for (text, cure) in cures {
        let said = Alert::parse(text).unwrap_err().to_string();
        assert!(said.contains(cure) && !said.contains("expectation"), "{text}: {said}");
    }
}

#[test]
fn times_are_written_as_people_write_them() {
    let seconds = |time: &str| Alert::parse(&format!("cpu.steal > 5 % for {time}")).unwrap().seconds();
    let all = [("30", 30.0), ("30s", 30.0), ("1 s", 1.0), ("1.5 sec", 1.5), ("5 min", 300.0), ("5m", 300.0)];
    for (time, expected) in all.into_iter().chain([("2 minutes", 120.0), ("1h", 3600.0), ("1 hour", 3600.0)]) {
        assert_eq!(seconds(time), expected, "{time}");
    }
    // A path may have spaces, and `for` in its name.
    let path = Alert::parse("\"swaps./my swap for all.used_bytes\" > 1 GiB for 1 min").unwrap();
    assert_eq!((path.figures().collect::<Vec<_>>(), path.seconds()), (vec!["swaps./my swap for all.used_bytes"], 60.0));
}

#[test]
fn an_alarm_begins_when_the_condition_has_held_for_its_time() {
    let mut alerts = alerts("cpu.steal > 5 % for 3s");
    let shares = [Some(0.1), Some(0.1), Some(0.1), Some(0.1), Some(0.1), None, Some(0.1), Some(0.01)];
    let told: Vec<(bool, Option<WatchAlertChange>, Option<f64>)> = shares
        .iter()
        .map(|share| alerts.judge(&steal(*share)).remove(0))
        .map(|judged| (judged.alarm, judged.change, judged.held_seconds))
        .collect();
    let expected = [
        (false, None, Some(0.0)),
        (false, None, Some(1.0)),
        (false, None, Some(2.0)),
        (true, Some(WatchAlertChange::Raised), Some(3.0)),
        (true, None, Some(4.0)),
        (false, Some(WatchAlertChange::Ended), None),
        (false, None, Some(0.0)),
        (false, None, None),
    ];
    assert_eq!(told, expected);
}

#[test]
fn time_without_samples_does_not_count() {
    let after = |seconds: f64| WatchSample { seconds: Some(seconds), ..steal(Some(0.1)) };
    let judged = |passed: &[f64]| {
        let mut alerts = alerts("cpu.steal > 5 % for 30s");
        let first = alerts.judge(&WatchSample { seconds: None, ..steal(Some(0.1)) }).remove(0);
        let rest = passed.iter().map(|seconds| alerts.judge(&after(*seconds)).remove(0));
        std::iter::once(first).chain(rest.collect::<Vec<_>>()).map(|one| (one.alarm, one.held_seconds)).next_back()
    };
    // Two samples a minute apart, as after a suspend; also the second of the watch.
    assert_eq!(judged(&[60.0]), Some((false, Some(0.0))));
    assert_eq!(judged(&[1.0, 1.0, 1.0, 60.0]), Some((false, Some(0.0))));
    assert_eq!(judged(&[1.0, 1.0, 1.0, 60.0, 1.0]), Some((false, Some(1.0))));
    // The first sample that holds, after a gap: it alone holds for no time.
    let mut alone = alerts("cpu.steal > 5 % for 30s");
    alone.judge(&steal(None));
    assert!(!alone.judge(&after(61.0)).remove(0).alarm);
    // A machine that is slower than its interval.
    assert_eq!(judged(&[5.0; 12]).map(|(alarm, _)| alarm), Some(true));
    // An alarm stays: nothing was seen that ends it.
    let long: Vec<f64> = [1.0].into_iter().cycle().take(31).chain([60.0]).collect();
    assert_eq!(judged(&long), Some((true, Some(0.0))));
}

#[test]
fn a_repeated_visit_adds_no_time() {
    let run = |text: &str, visits: &[Option<(f64, f64)>]| {
        let mut alerts = alerts(text);
        visits.iter().map(|visit| alerts.judge(&latency(*visit)).remove(0)).collect::<Vec<_>>()
    };
    let repeated: Vec<_> = (0..60).map(|second| Some((f64::from(second) + 0.01, 200.0))).collect();
    let text = "latency.dram > 1.5 x capability for 5s";
    assert!(run(text, &repeated).iter().all(|one| !one.alarm), "one visit, shown for a minute");
    // Visits each four seconds: the alarm is of the second that is five seconds after the first, and no sample between.
    let visits: Vec<_> = (0..13).map(|second| Some((f64::from(second % 4), 200.0))).collect();
    let alarms: Vec<bool> = run(text, &visits).iter().map(|one| one.alarm).collect();
    assert_eq!(alarms.iter().position(|alarm| *alarm), Some(8));
    // Without a time a visit raises it, the next ends it, and one that is too old as well.
    let text = "latency.dram > 1.5 x capability";
    let short = run(text, &[Some((0.0, 200.0)), Some((1.0, 200.0)), Some((0.0, 100.0)), Some((1.0, 100.0))]);
    assert_eq!(short.iter().map(|one| one.alarm).collect::<Vec<_>>(), [true, true, false, false]);
    let old: Vec<bool> = run(text, &repeated).iter().map(|one| one.alarm).collect();
    assert_eq!((old.iter().position(|alarm| !alarm), old.last()), (Some(30), Some(&false)));
    // A cell that failed has no value.
    assert!(!run(text, &[Some((0.0, 200.0)), None])[1].alarm);
    // The age itself is of every sample.
    assert!(run("latency.dram.age_seconds > 20 s for 3s", &repeated)[40].alarm);
}

/// Whether each sample is an alarm, by counting samples: at a steady interval an alarm needs so many intervals as are
/// nearest to its time, half ones up to the earlier sample, and one at least; a gap begins the count anew.
fn counted(samples: &[(bool, bool)], interval: f64, seconds: f64) -> Vec<bool> {
    let needed = (seconds / interval - 0.5).ceil().max(1.0) as usize;
    let mut alarms = Vec::new();
    let runs = samples.chunk_by(|(before, _), (holds, _)| before == holds);
    for run in runs {
        let parts: Vec<usize> = run.chunk_by(|_, (_, gap)| !gap).map(<[_]>::len).collect();
        let long = parts.iter().position(|samples| *samples > needed);
        let start = long.map_or(run.len(), |long| parts[..long].iter().sum::<usize>() + needed);
        alarms.extend((0..run.len()).map(|at| run[0].0 && at >= start));
    }
    alarms
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_where_it_is(
        words in proptest::collection::vec(
            "(cpu\\.steal|nodes\\.0\\.hits|capability|record|<=|>|x|/|≤|12|0\\.5|ns|GiB|%|for|30s|\"|\\PC{1,4})", 0..12)
    ) {
        let text = words.join(" ");
        if let Err(note) = Alert::parse(&text) {
            let at = note.data.get("at").and_then(|at| at.as_u64()).unwrap_or(1);
            prop_assert!((1..=text.chars().count() as u64 + 1).contains(&at), "{}: {}", text, note);
        }
    }

    #[test]
    fn alarms_are_those_of_the_samples_alone(
        samples in proptest::collection::vec((proptest::bool::weighted(0.8), any::<bool>()), 0..60),
        interval in prop::sample::select(vec![0.5, 1.0, 2.0, 4.0]),
        seconds in 1u32..9,
    ) {
        // Where most intervals are long, a machine is slow: one in four at most is a gap.
        let samples: Vec<(bool, bool)> =
            samples.into_iter().enumerate().map(|(at, (holds, gap))| (holds, gap && at % 4 == 3)).collect();
        let taken: Vec<WatchSample> = samples
            .iter()
            .enumerate()
            .map(|(at, (holds, gap))| {
                let passed = if *gap { 100.0 * interval } else { interval };
                let share = if *holds { Some(0.1) } else { [None, Some(0.01)][at % 2] };
                WatchSample { seconds: (at > 0).then_some(passed), ..steal(share) }
            })
            .collect();
        let text = format!("cpu.steal > 3 % for {seconds}s");
        let run = || {
            let mut alerts = Alerts::new([Alert::parse(&text).unwrap()], interval);
            taken.iter().map(|sample| alerts.judge(sample).remove(0)).collect::<Vec<_>>()
        };
        let judged = run();
        prop_assert_eq!(&judged, &run());
        let alarms: Vec<bool> = judged.iter().map(|one| one.alarm).collect();
        prop_assert_eq!(&alarms, &counted(&samples, interval, f64::from(seconds)));
        // Changes are where the alarm changes.
        let before = std::iter::once(false).chain(alarms.iter().copied());
        for (was, one) in before.zip(&judged) {
            let change = match (was, one.alarm) {
                (false, true) => Some(WatchAlertChange::Raised),
                (true, false) => Some(WatchAlertChange::Ended),
                _ => None,
            };
            prop_assert_eq!(one.change, change);
        }
    }

    #[test]
    fn no_alarm_begins_before_its_time_was_seen(
        samples in proptest::collection::vec((proptest::option::of(0.0..0.1f64), proptest::option::of(0.0..30.0f64)), 0..60),
        seconds in 1u32..60,
    ) {
        let mut alerts = alerts(&format!("cpu.steal > 3 % for {seconds}s"));
        let (mut seen, mut longest) = (None, 1.0f64);
        for (share, passed) in samples {
            let judged = alerts.judge(&WatchSample { seconds: passed, ..steal(share) }).remove(0);
            let passed = passed.unwrap_or(0.0);
            longest = longest.max(passed);
            seen = share.filter(|share| *share > 0.03).map(|_| seen.map_or(0.0, |seen| seen + passed));
            if judged.change == Some(WatchAlertChange::Raised) {
                let seen = seen.unwrap_or(0.0);
                prop_assert!(seen > 0.0 && seen + longest / 2.0 >= f64::from(seconds), "{} of {}", seen, seconds);
            }
        }
    }

    #[test]
    fn a_longer_time_gives_no_more_alarms(
        shares in proptest::collection::vec(proptest::option::of(0.0..0.1f64), 0..60), shorter in 1u32..9, more in 0u32..9,
    ) {
        let alarms = |seconds: u32| {
            let mut alerts = alerts(&format!("cpu.steal > 3 % for {seconds}s"));
            shares.iter().map(|share| alerts.judge(&steal(*share)).remove(0).alarm).collect::<Vec<_>>()
        };
        for (longer, shorter) in alarms(shorter + more).into_iter().zip(alarms(shorter)) {
            prop_assert!(shorter || !longer);
        }
    }
}

#[test]
fn figures_that_no_sample_has_are_named_once() {
    let texts = ["seconds > 5 s", "nodes.7.free_bytes < 1 GiB", "nodes.7.free_bytes < 2 GiB"];
    let mut alerts = Alerts::new(texts.map(|text| Alert::parse(text).unwrap()), 1.0);
    alerts.judge(&WatchSample::default());
    assert_eq!(alerts.never_judged().count(), 0, "the first sample has no rates");
    alerts.judge(&WatchSample { seconds: Some(1.0), ..WatchSample::default() });
    assert_eq!(alerts.never_judged().collect::<Vec<_>>(), ["nodes.7.free_bytes"]);
}
