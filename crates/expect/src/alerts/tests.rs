use proptest::prelude::*;
use tiermark_model::messages::alert as says;
use tiermark_model::messages::check as expectation;
use tiermark_model::{CheckUnit, Code, WatchCpu, WatchMemory, WatchNode, WatchPressure, WatchStall, WatchStalls};

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
    Alerts::new([Alert::parse(text).unwrap_or_else(|note| panic!("{text}: {note}"))])
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
    assert!(said("cpu.steel > 5 %").ends_with("did you mean 'cpu.steal'?"), "{}", said("cpu.steel > 5 %"));
    assert!(said("steal > 5 %").ends_with("did you mean 'cpu.steal'?"), "{}", said("steal > 5 %"));
    assert!(said("cpu.steal > 20").ends_with("write 20 %"), "{}", said("cpu.steal > 20"));
    assert!(said("cpu.steal < 5 ns").contains("the left side is a number, the right side a time"));
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

/// Whether each sample is an alarm, by looking back from it: written apart from the program.
fn looked_back(samples: &[WatchSample], limit: f64, seconds: f64) -> Vec<bool> {
    let holds = |sample: &WatchSample| sample.cpu.and_then(|cpu| cpu.steal).is_some_and(|share| share > limit);
    let at_its_end = |first: usize, end: usize| {
        let passed = |sample: &WatchSample| sample.seconds.unwrap_or(0.0);
        samples[first + 1..=end].iter().map(passed).sum::<f64>() + passed(&samples[end]) / 2.0 >= seconds
    };
    (0..samples.len())
        .map(|at| {
            let first = (0..=at).rev().take_while(|index| holds(&samples[*index])).last();
            first.is_some_and(|first| (first..=at).any(|end| at_its_end(first, end)))
        })
        .collect()
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
        samples in proptest::collection::vec((proptest::option::of(0.0..0.1f64), proptest::option::of(0.0..3.0f64)), 0..60),
        seconds in 1u32..9,
    ) {
        let samples: Vec<WatchSample> =
            samples.into_iter().map(|(share, seconds)| WatchSample { seconds, ..steal(share) }).collect();
        let text = format!("cpu.steal > 3 % for {seconds}s");
        let run = || {
            let mut alerts = alerts(&text);
            samples.iter().map(|sample| alerts.judge(sample).remove(0)).collect::<Vec<_>>()
        };
        let judged = run();
        prop_assert_eq!(&judged, &run());
        let alarms: Vec<bool> = judged.iter().map(|one| one.alarm).collect();
        prop_assert_eq!(&alarms, &looked_back(&samples, 0.03, f64::from(seconds)));
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
