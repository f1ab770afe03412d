//! Problems of the machine are the cause of the figures that they limit, and places are named in full.

use crate::explain::made::{GB, by_rule, differ, problems, run, with};
use tiermark_expect::explain::explain;
use tiermark_model::{
    CheckRow, Confidence, Experiment, Explained, Finding, Health, Labels, Metric, Observation, Purpose, Quantity, Run,
    Span, Tier, Unit,
};

/// All cores of node 0 read their own memory with 100 of 128 GB/s.
const READS: &str = "read, cpus of node 0, memory of node 0, 20 threads";

fn problem(name: &str) -> CheckRow {
    CheckRow {
        name: name.into(),
        group: "Place".into(),
        value: "found".into(),
        health: Health::Problem,
        why: "it matters".into(),
        cure: None,
        affects: None,
        is_setting: false,
    }
}

fn places(one: &Explained) -> Vec<&str> {
    one.place.iter().chain(&one.also).map(String::as_str).collect()
}

#[test]
fn problems_that_doctor_found_are_causes() {
    let causes = [
        ("cpu quota", "cpu-quota"),
        ("memory limit", "memory-limit"),
        ("available memory", "memory-short"),
        ("memory errors", "memory-errors"),
        ("clock limit", "clock-limit"),
        ("clocksource", "clocksource"),
        ("facts of the machine", "facts-disputed"),
    ];
    for (name, rule) in causes {
        let found_by_doctor = move |run: &mut Run| run.problems = Some(vec![problem(name)]);
        differ(rule, &found_by_doctor, &|run: &mut Run| run.problems = Some(vec![problem("another check")]));
        let found = explain("a run", &with(&found_by_doctor));
        let one = by_rule(&found, rule).unwrap();
        assert!(places(one).contains(&READS), "{rule}: {:?}", places(one));
    }
    // A machine that was examined has none of them, and one that was not says nothing.
    let clear = |run: &Run| explain("a run", run).clear.contains(&"cpu-quota".to_owned());
    assert!(clear(&with(&|run: &mut Run| run.problems = Some(Vec::new()))) && !clear(&with(&|_| ())));
}

#[test]
fn a_figure_below_the_record_of_its_machine_is_named_with_both() {
    let record = |times: f64| {
        move |run: &mut Run| {
            run.experiments[0]
                .observations
                .iter_mut()
                .for_each(|seen| seen.record = seen.value.map(|value| value * times));
        }
    };
    differ("below-record", &record(1.25), &record(1.02));
    let found = explain("a run", &with(&record(1.25)));
    let one = by_rule(&found, "below-record").unwrap();
    // The record of memory is of any clock, which the run does not have.
    assert!(one.found.contains("the core's clock was higher then"), "{one:#?}");
    let loss = one.numbers.iter().find(|number| number.name == "record.loss").unwrap();
    assert!((loss.value - 0.2).abs() < 1e-9 && one.confidence == Confidence::Hint, "{one:#?}");
    // Without a record there is nothing to say.
    let none = explain("a run", &with(&|_| ()));
    assert!(none.unjudged.iter().any(|rule| rule.rule == "below-record"), "{:#?}", none.clear);
}

fn speed(run: &mut Run) {
    run.machine.dimms.iter_mut().for_each(|dimm| dimm.configured_transfers = Some(2.4e9));
}

fn channels(run: &mut Run) {
    run.machine.theoretical_peak.as_mut().unwrap().channels.as_mut().unwrap().populated = 8;
}

#[test]
fn a_figure_has_the_modules_as_its_cause() {
    let one = |change: &crate::explain::made::Change, rule: &str| {
        by_rule(&explain("a run", &with(change)), rule).unwrap().clone()
    };
    for found in [one(&speed, "modules-below-rated-speed"), one(&channels, "missing-channels")] {
        let place = found.place.as_ref().unwrap();
        assert!(place.starts_with(READS) && found.confidence == Confidence::Reported, "{found:#?}");
        // The fault, and the figure that it limits.
        let names: Vec<&str> = found.numbers.iter().map(|number| number.name.as_str()).collect();
        assert_eq!(names[1..4], ["limit", "channel.share", "used"], "{found:#?}");
    }
    // What the cores limit is no fault of the modules, which are named all the same.
    let found = one(
        &|run| {
            speed(run);
            run.experiments[0].findings.retain(|finding| finding.labels.threads() == Some(1));
        },
        "modules-below-rated-speed",
    );
    assert!(!places(&found).iter().any(|place| place.contains("threads")), "{found:#?}");
}

#[test]
fn a_governor_is_the_cause_where_the_clock_moved() {
    let moved = |spread: f64| {
        move |run: &mut Run| {
            run.problems = Some(vec![problem("governor")]);
            run.experiments[0].observations[0].core_hz_spread = Some(spread);
        }
    };
    differ("governor", &moved(0.2), &moved(0.02));
    assert_eq!(places(by_rule(&explain("a run", &with(&moved(0.2))), "governor").unwrap()), [READS]);
}

/// A machine with one problem and an idle latency of node 0, whose core clock moved by a fifth.
fn latency_beside(name: &'static str) -> Run {
    with(&|run| {
        add_idle(run, "0", 0, 90.0);
        let found = run.experiments[0].findings.last_mut().unwrap();
        found.evidence = vec!["idle".into()];
        let seen = Observation::new("idle", found.labels.clone(), Metric::Latency);
        run.experiments[0].observations.push(Observation { core_hz_spread: Some(0.2), ..seen });
        run.problems = Some(vec![problem(name)]);
    })
}

#[test]
fn latencies_have_the_same_causes_except_a_cpu_quota() {
    let causes = |name: &'static str, rule: &str| -> bool {
        let found = explain("a run", &latency_beside(name));
        let one = by_rule(&found, rule).unwrap();
        places(one).iter().any(|place| place.starts_with("latency, DRAM, cpus of node 0"))
    };
    for (name, rule) in [("memory limit", "memory-limit"), ("governor", "governor"), ("clocksource", "clocksource")] {
        assert!(causes(name, rule), "{name}");
    }
    // One thread is not stopped by a quota of a cpu or more.
    assert!(!causes("cpu quota", "cpu-quota"));
}

/// A ladder's rate of the cpus of one node with the memory of another, as `survey --mem-node each` measures it.
fn add_rung(run: &mut Run, cpus: &str, node: u32, gbs: f64) {
    let threads = if cpus.contains('-') { 20 } else { 1 };
    let near = cpus.starts_with('0') == (node == 0);
    let tier = if near { Tier::Dram } else { Tier::OtherNode(node) };
    let labels = Labels::new()
        .with_purpose(Purpose::Ladder)
        .with_tier(tier)
        .with_op("write")
        .with_cpus(cpus)
        .with_span(if threads == 1 { Span::One } else { Span::All })
        .with_kernel("write/avx512")
        .with_node(node)
        .with_threads(threads);
    let seen = Observation { value: Some(gbs * GB), ..Observation::new("rung", labels.clone(), Metric::Bandwidth) };
    let found = Finding::new(Quantity::Bandwidth, labels, Some(gbs * GB), Unit::BytesPerSecond);
    let found = Finding { evidence: vec!["rung".into()], ..found };
    let one = Experiment { observations: vec![seen], findings: vec![found], ..run.experiments[0].clone() };
    run.experiments.push(one);
}

/// The idle latency of the memory of a cpu's own node.
fn add_idle(run: &mut Run, cpu: &str, node: u32, ns: f64) {
    let labels = Labels::new().with_purpose(Purpose::Ladder).with_tier(Tier::Dram).with_cpus(cpu);
    let labels = labels.with_node(node);
    run.experiments[0].findings.push(Finding::new(Quantity::Latency, labels, Some(ns), Unit::Ns));
}

#[test]
fn places_say_whose_cpus_and_whose_memory() {
    let mut made = run();
    for (cpus, node, gbs) in [("0-19", 0, 60.0), ("0-19", 1, 20.0), ("20-39", 0, 21.0), ("20-39", 1, 58.0)] {
        add_rung(&mut made, cpus, node, gbs);
    }
    for (cpu, node, ns) in [("0", 0, 90.0), ("20", 1, 100.0)] {
        add_idle(&mut made, cpu, node, ns);
    }
    let found = explain("each", &made);
    let far = by_rule(&found, "remote-slower").unwrap();
    let mut all = places(far);
    all.sort_unstable();
    let place = |from: u32, to: u32| format!("write, cpus of node {from}, memory of node {to}, 20 threads");
    assert_eq!(all, [place(0, 1), place(1, 0)], "{found:#?}");
    // Each beside the memory of its own cpus.
    let local = |one: &Explained| one.numbers.iter().find(|number| number.name == "other.used").unwrap().value / GB;
    assert!((local(far) - if far.place == Some(place(0, 1)) { 60.0 } else { 58.0 }).abs() < 1e-9, "{far:#?}");
    // And the idle latency that was measured from these.
    let idle = far.numbers.iter().find(|number| number.name == "other.latency").unwrap().value;
    assert_eq!(idle, if far.place == Some(place(0, 1)) { 90.0 } else { 100.0 }, "{far:#?}");
    assert_eq!(problems(&found), [] as [&str; 0]);
    // One node needs no words.
    made.machine.nodes.truncate(1);
    let found = explain("one node", &made);
    let all = found.found.iter().flat_map(places);
    assert!(all.clone().count() > 0 && all.clone().all(|place| !place.contains("cpus of")), "{found:#?}");
}
