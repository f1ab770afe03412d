//! Accesses that wait: for memory under load, and for pages that are not there.

use crate::explain::made::{GB, by_rule, differ, with};
use tiermark_expect::explain::explain;
use tiermark_model::{
    Confidence, Distance, Finding, Labels, Metric, Nothing, Observation, PartResult, Purpose, Quantity, Reason, Run,
    Swap, Unit,
};

#[test]
fn memory_that_was_short() {
    let swapped = |share: f64| {
        move |run: &mut Run| {
            let system = &mut run.machine.system;
            system.memory_bytes = Some(100 << 30);
            let used_bytes = (share * (100u64 << 30) as f64) as u64;
            system.swaps = vec![Swap { bytes: 64 << 30, used_bytes, ..Swap::default() }];
        }
    };
    differ("swap-used", &swapped(0.2), &swapped(0.02));
    let compressed = move |run: &mut Run| {
        swapped(0.2)(run);
        run.machine.system.swaps[0].path = "/dev/zram0".into();
    };
    differ("swap-used", &swapped(0.2), &compressed);
    let faults = |reason: Reason| move |run: &mut Run| run.experiments[0].observations[0].verdict.bound(reason.clone());
    differ(
        "swapping",
        &faults(Reason::MajorFaults { faults: 3 }),
        &faults(Reason::MinorFaults { faults: 3, shots: 2 }),
    );
    let nothing = |cause: Nothing| faults(Reason::Nothing { shots: 9, cause });
    differ("swapping", &nothing(Nothing::Swapped), &nothing(Nothing::Disturbed));
}

/// A curve of reads: the share of its most, and the latency, of its knee and its middle.
fn loaded(knee: Option<f64>, half: f64, access: &'static str) -> impl Fn(&mut Run) {
    move |run: &mut Run| {
        let labels =
            |purpose: Purpose| Labels::new().with_purpose(purpose).with_place(Distance::Local).with_mix(access);
        let own = &mut run.experiments[0];
        let found = |metric, value, unit| Finding::new(metric, labels(Purpose::Loaded), value, unit);
        own.findings.extend([
            found(Quantity::LoadedUnloaded, Some(90.0), Unit::Ns),
            found(Quantity::LoadedMost, Some(100.0 * GB), Unit::BytesPerSecond),
            found(Quantity::LoadedKnee, knee.map(|share| share * 100.0 * GB), Unit::BytesPerSecond),
        ]);
        for (share, ns) in [(0.2, 95.0), (0.52, half), (1.0, 270.0)] {
            let load = PartResult {
                name: "load".into(),
                unit: Unit::BytesPerSecond,
                value: Some(share * 100.0 * GB),
                min: None,
                max: None,
            };
            let point = Observation::new(format!("loaded/{share}"), labels(Purpose::Load), Metric::Latency);
            own.observations.push(Observation { value: Some(ns), parts: vec![load], ..point });
        }
    }
}

#[test]
fn memory_that_makes_accesses_wait_before_it_is_full() {
    differ("waits-early", &loaded(Some(0.8), 200.0, "read"), &loaded(Some(0.8), 130.0, "read"));
    differ("waits-early", &loaded(Some(0.3), 150.0, "read"), &loaded(Some(0.3), 110.0, "read"));
    // Writes turn the channels: their curves bend earlier.
    differ("waits-early", &loaded(Some(0.3), 150.0, "read"), &loaded(Some(0.3), 150.0, "write"));
    let found = explain("curve", &with(&loaded(Some(0.8), 200.0, "read")));
    let one = by_rule(&found, "waits-early").unwrap();
    let number = |name: &str| one.numbers.iter().find(|number| number.name == name).unwrap();
    assert_eq!((number("half.latency").value, number("light.latency").value), (200.0, 95.0));
    assert_eq!(number("half.latency").steps, ["loaded/0.52"]);
    assert_eq!(one.confidence, Confidence::Hint);
    // A curve without a bend takes all that there is.
    let found = explain("flat", &with(&loaded(None, 150.0, "read")));
    assert!(found.clear.iter().any(|rule| rule == "waits-early"));
}
