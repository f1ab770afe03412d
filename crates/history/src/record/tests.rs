use super::*;
use crate::store::Store;
use serde_json::{Value, json};
use tiermark_model::{Labels, Metric, Purpose, ReasonCode, Step, Tier};

const DAY: &str = "2026-11-22T10:00:00Z";
const LATER: &str = "2026-11-23T10:00:00Z";

/// A store with a directory beside it that may be looked at.
fn home() -> (tempfile::TempDir, Store) {
    let home = tempfile::tempdir().unwrap();
    let store = Store::at(home.path().join("runs"));
    (home, store)
}

fn machine() -> Machine {
    let cpu =
        |id: u32| tiermark_model::Cpu { id, core: id, llc: Some(0), node: Some(0), ..tiermark_model::Cpu::default() };
    Machine { cpus: (0..4).map(cpu).collect(), allowed_cpus: "0-3".parse().unwrap(), ..Machine::default() }
}

fn key() -> MachineKey {
    MachineKey::of(&machine(), "id")
}

/// A step of a chase, or of a stream on these cpus.
fn step(id: &str, labels: &Labels, cpus: &[u32]) -> Step {
    let threads: Vec<Value> =
        cpus.iter().map(|cpu| json!({ "cpu": cpu, "role": { "kind": "chase", "chains": 1 }, "region": 0 })).collect();
    serde_json::from_value(json!({
        "id": id, "labels": labels, "phase": 0, "metric": "latency",
        "setup": { "regions": [], "threads": threads, "seed": 1 },
        "stop": tiermark_model::StopRule { precision: 0.05, allocations: 1, min_visits: 1, max_visits: 2, shot_seconds: 0.01 },
    }))
    .unwrap()
}

fn seen(id: &str, labels: &Labels, value: f64) -> Observation {
    let edge = tiermark_model::EdgeSeen { share: 0.2, windows: 100, visits: 9, reached: 5, within: None };
    let seen = Observation::new(id, labels.clone(), Metric::Latency);
    Observation { value: Some(value), edge: Some(edge), allocations: 2, seconds: 1.0, ..seen }
}

fn usual() -> Labels {
    Labels::new().with_purpose(Purpose::Ladder).with_tier(Tier::Cache(1)).with_size(16 << 10)
}

/// A run with one number.
fn run(date: &str, labels: &Labels, cpus: &[u32], value: f64) -> Run {
    let mut run: Run = serde_json::from_value(json!({
        "schema": tiermark_model::RUN_SCHEMA, "id": date, "title": "latency", "tool": tiermark_model::Tool::default(), "command": [],
        "started": date, "seconds": 1.0, "complete": true, "seed": 1, "machine": machine(),
        "bench": tiermark_model::Bench::default(), "experiments": [], "warnings": [],
    }))
    .unwrap();
    run.experiments.push(
        serde_json::from_value(json!({
            "request": { "probe": "latency", "scope": {}, "effort": "standard", "seed": 1, "params": {} },
            "method": 3, "plan": tiermark_model::Plan::default(), "observations": [], "findings": [],
        }))
        .unwrap(),
    );
    run.experiments[0].plan.steps.push(step("a", labels, cpus));
    run.experiments[0].observations.push(seen("a", labels, value));
    run
}

fn shown(store: &Store, run: &Run) {
    MachineRecord::open(store, key(), true).0.improve(store, run, "boot 1").unwrap();
}

/// Whether a run's number falls short of the record.
fn held(store: &Store, run: &Run) -> bool {
    let (record, notice) = MachineRecord::open(store, key(), false);
    assert_eq!(notice, None);
    held_by(&record, run).verdict.has(ReasonCode::BelowRecord)
}

/// A run's number, held against the record.
fn held_by(record: &MachineRecord, run: &Run) -> Observation {
    let mut experiment = run.experiments[0].clone();
    record.hold(&mut experiment, &run.machine);
    experiment.observations.remove(0)
}

#[test]
fn the_best_trusted_figure_is_kept_and_later_ones_are_held_against_it() {
    let (home, store) = home();
    assert!(!held(&store, &run(DAY, &usual(), &[1], 5.0)), "nothing is known yet");
    shown(&store, &run(DAY, &usual(), &[1], 1.1));
    shown(&store, &run(LATER, &usual(), &[1], 1.2));
    let worse = run(LATER, &usual(), &[1], 1.2);
    let (record, _) = MachineRecord::open(&store, key(), false);
    let mut again = worse.experiments[0].clone();
    record.hold(&mut again, &worse.machine);
    let once = again.clone();
    record.hold(&mut again, &worse.machine);
    assert_eq!(again, once, "one reason is enough");
    assert_eq!(again.observations[0].record, Some(1.1), "beside its record");
    let same = held_by(&record, &run(LATER, &usual(), &[1], 1.1));
    assert_eq!(same.record, Some(1.1), "one that reaches it too");
    assert!(!same.verdict.has(ReasonCode::BelowRecord));
    let better = run(LATER, &usual(), &[1], 1.0);
    let best = record.best(&better.experiments[0], &better.experiments[0].observations[0], &better.machine).unwrap();
    assert_eq!((best.value, best.date.as_str(), best.boot.as_str()), (1.1, DAY, "boot 1"));
    // The same step is known without a run.
    let experiment = &better.experiments[0];
    let (step, unit) = (&experiment.plan.steps[0], experiment.observations[0].unit);
    let of = |method| record.best_of_step(&experiment.request.probe, method, step, unit, &better.machine);
    assert_eq!((of(experiment.method), of(experiment.method + 1)), (Some(best), None));
    assert!(held(&store, &run(LATER, &usual(), &[1], 1.2)));
    assert!(!held(&store, &run(LATER, &usual(), &[1], 1.13)), "within 3 %");
    shown(&store, &better);
    assert!(held(&store, &run(LATER, &usual(), &[1], 1.1)), "the bar is higher now");
    let names: Vec<_> = fs::read_dir(home.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, [NAME], "no temporary file is left");
}

#[test]
fn what_cores_do_in_a_cycle_is_known_to_later_runs_and_does_not_creep_up() {
    let (_home, store) = home();
    let reaching = |per_cycle: f64| {
        let mut run = run(DAY, &usual(), &[1], 1.1);
        let reached = tiermark_model::CoreThroughput { kind: None, per_cycle, record: None, beside: 0.5 };
        run.experiments[0].throughputs.push(reached);
        run
    };
    let known = || MachineRecord::open(&store, key(), false).0.throughput(None);
    shown(&store, &run(DAY, &usual(), &[1], 1.1));
    assert_eq!(known(), None);
    for (per_cycle, kept) in [(5.0, 5.0), (5.1, 5.0), (4.0, 5.0), (5.4, 5.4), (f64::NAN, 5.4)] {
        shown(&store, &reaching(per_cycle));
        assert_eq!(known(), Some(kept), "{per_cycle}");
    }
    let efficient = tiermark_model::CoreKind::Efficiency;
    assert_eq!(MachineRecord::open(&store, key(), false).0.throughput(Some(efficient)), None, "another kind of core");
}

/// A run at this clock, whose number takes so many cycles.
fn clocked(date: &str, ghz: f64, cycles: f64) -> Run {
    let mut run = run(date, &usual(), &[1], cycles / ghz);
    run.experiments[0].observations[0].per_cycle = Some(tiermark_model::PerCycle { value: cycles, unit: Unit::Cycles });
    run
}

#[test]
fn what_the_core_clocks_is_held_per_cycle() {
    let (_home, store) = home();
    shown(&store, &clocked(DAY, 2.9, 4.0));
    shown(&store, &clocked(LATER, 3.2, 4.0));
    let slower = clocked(LATER, 2.5, 4.0);
    let (record, _) = MachineRecord::open(&store, key(), false);
    let best = record.best(&slower.experiments[0], &slower.experiments[0].observations[0], &slower.machine).unwrap();
    assert_eq!(best.date, DAY, "a faster clock is no record");
    assert!(!held(&store, &slower), "a slower clock is not below the record");
    let worse = clocked(LATER, 3.2, 4.2);
    let reasons = held_by(&record, &worse).verdict.reasons;
    let [Reason::BelowRecord { record: at_its_clock, .. }] = reasons[..] else { panic!("{reasons:?}") };
    assert!((at_its_clock - 1.25).abs() < 1e-9, "4 cycles at 3.2 GHz: {at_its_clock} ns");
    shown(&store, &clocked(LATER, 2.0, 3.8));
    assert!(held(&store, &clocked(LATER, 3.2, 4.0)), "fewer cycles at a slow clock are a record");
}

/// Memory at 3.6 GHz that fell short of a record at 4.1 GHz was blamed on a neighbour.
#[test]
fn a_slower_clock_is_named_where_it_explains_what_memory_lacks() {
    let (_home, store) = home();
    let at = |date: &str, ghz: Option<f64>, ns: f64| {
        let mut run = run(date, &usual(), &[1], ns);
        run.experiments[0].observations[0].core_hz = ghz.map(|ghz| ghz * 1e9);
        run
    };
    shown(&store, &at(DAY, Some(4.1), 100.0));
    let (record, _) = MachineRecord::open(&store, key(), false);
    let said = |ghz: Option<f64>, ns: f64| {
        let held = held_by(&record, &at(LATER, ghz, ns));
        held.verdict.reasons.iter().find(|reason| reason.record().is_some()).map(ToString::to_string)
    };
    let by_clock = "this machine's record is 100 ns on 2026-11-22: the core clock was 4.1 GHz then and is 3.6 GHz \
        now, which explains most of it";
    assert_eq!(said(Some(3.6), 110.0).as_deref(), Some(by_clock));
    let by_others = "this machine's record is 100 ns on 2026-11-22: a neighbour may have been there all the time";
    for (ghz, ns) in [(Some(4.1), 110.0), (Some(4.3), 110.0), (Some(3.6), 140.0), (None, 110.0)] {
        assert_eq!(said(ghz, ns).as_deref(), Some(by_others), "{ghz:?} GHz, {ns} ns");
    }
    assert_eq!(said(Some(3.6), 102.0), None);
}

#[test]
fn a_record_without_cycles_gives_way_to_one_with_them() {
    let (_home, store) = home();
    shown(&store, &run(DAY, &usual(), &[1], 1.0));
    assert!(!held(&store, &clocked(LATER, 2.0, 4.0)), "not comparable");
    shown(&store, &clocked(LATER, 2.0, 4.0));
    assert!(held(&store, &clocked(LATER, 3.0, 4.3)));
    shown(&store, &run(LATER, &usual(), &[1], 0.5));
    assert!(held(&store, &clocked(LATER, 3.0, 4.3)), "without a clock nothing is known of cycles");
    assert!(!held(&store, &run(LATER, &usual(), &[1], 3.0)), "not comparable either");
}

#[test]
fn a_cell_is_the_same_whoever_measured_it_and_whatever_won() {
    let (_home, store) = home();
    shown(&store, &run(DAY, &usual(), &[1], 1.0));
    let worse = |labels: Labels, cpus: &[u32]| held(&store, &run(LATER, &labels, cpus, 2.0));
    let point = || Labels::new().with_purpose(Purpose::Curve).with_size(16 << 10);
    assert!(worse(usual().with_kernel("read/avx2").with_cpus("1"), &[1]));
    assert!(worse(point(), &[1]), "a point of a curve at the footprint of the tier");
    assert!(worse(usual(), &[2]), "another cpu of the same kind");
    assert!(!worse(usual(), &[1, 2]), "two threads");
    assert!(!worse(usual().with_page("thp"), &[1]));
    assert!(!worse(usual().with_size(32 << 10), &[1]));
    assert!(!worse(usual().with_from_cpu(1), &[1]), "known by a cpu's number");
    assert!(!worse(usual().with_region(3), &[1]), "known by the number of a piece of memory");
    let mut method = run(LATER, &usual(), &[1], 2.0);
    method.experiments[0].method = 4;
    assert!(!held(&store, &method), "another method measures something else");
    let mut load = run(LATER, &usual(), &[1], 2.0);
    load.experiments[0].observations[0].edge = None;
    assert!(!held(&store, &load), "what describes a load has no edge");
}

#[test]
fn only_proven_figures_of_real_and_complete_runs_are_written() {
    let (home, store) = home();
    let path = home.path().join(NAME);
    let changes: [&dyn Fn(&mut Run); 6] = [
        &|run| run.stopped = true,
        &|run| run.simulated = Some("synth:".into()),
        &|run| run.experiments[0].observations[0].verdict.bound(Reason::NotReproduced { reached: 2 }),
        &|run| run.experiments[0].observations[0].verdict.bound(Reason::TooFew { windows: 20, visits: 4 }),
        &|run| run.experiments[0].observations[0].verdict.suspect(Reason::MajorFaults { faults: 1 }),
        &|run| run.experiments[0].observations[0].value = Some(0.0),
    ];
    for change in changes {
        let mut run = run(DAY, &usual(), &[1], 1.0);
        change(&mut run);
        shown(&store, &run);
        assert!(!path.exists());
    }
    shown(&store, &run(DAY, &usual(), &[1], 1.0));
    assert!(path.exists());
}

#[test]
fn a_bound_that_was_reached_again_and_again_is_a_record_too() {
    let (_home, store) = home();
    let mut bound = run(DAY, &usual(), &[1], 1.0);
    bound.experiments[0].observations[0].verdict.bound(Reason::NotSharp { share: 0.02 });
    shown(&store, &bound);
    assert!(held(&store, &run(LATER, &usual(), &[1], 2.0)), "no trusted figure contradicts it");
}

#[test]
fn a_damaged_file_is_set_aside_and_a_new_one_begun() {
    let (home, store) = home();
    let path = home.path().join(NAME);
    let cells = json!({ "schema": SCHEMA, "machines": [{ "key": key(), "cells": { "a": { "value": null } } }] });
    for damaged in ["", "{", "[]", "{\"schema\":\"else\",\"machines\":[]}", &cells.to_string()] {
        fs::write(&path, damaged).unwrap();
        let (record, notice) = MachineRecord::open(&store, key(), false);
        assert!(record.cells.is_empty() && notice.is_some() && path.exists(), "only looked at: {damaged}");
        let notice = MachineRecord::open(&store, key(), true).1.unwrap();
        assert_eq!(notice.text("aside"), home.path().join(SET_ASIDE).to_str());
        assert!(!path.exists());
        assert_eq!(fs::read(home.path().join(SET_ASIDE)).unwrap(), damaged.as_bytes());
        // Damaged while the run went on.
        fs::write(&path, damaged).unwrap();
        shown(&store, &run(DAY, &usual(), &[1], 1.0));
        assert!(held(&store, &run(DAY, &usual(), &[1], 2.0)));
    }
}

#[test]
fn the_file_of_a_later_version_is_left_alone() {
    let (home, store) = home();
    let path = home.path().join(NAME);
    fs::write(&path, "{\"schema\":\"tiermark/record/2\",\"pages\":[]}").unwrap();
    let (mut record, notice) = MachineRecord::open(&store, key(), true);
    let notice = notice.unwrap();
    assert_eq!((&notice.code, &*notice.options), (&says::codes::record_closed, &["--no-record".to_owned()][..]));
    assert!(record.improve(&store, &run(DAY, &usual(), &[1], 1.0), "").is_err());
    assert!(fs::read_to_string(&path).unwrap().contains("record/2"));
}

#[test]
fn machines_are_told_apart_and_the_oldest_go() {
    let (home, store) = home();
    for id in 0..=MOST_MACHINES {
        let key = MachineKey::of(&machine(), &id.to_string());
        MachineRecord::open(&store, key, true).0.improve(&store, &run(DAY, &usual(), &[1], 1.0), "").unwrap();
    }
    let Ok(book) = read(&home.path().join(NAME)) else { panic!("it reads back") };
    assert_eq!(book.machines.len(), MOST_MACHINES);
    assert!(book.machines.iter().all(|page| page.key != MachineKey::of(&machine(), "0")), "the first is gone");
    assert!(!held(&store, &run(DAY, &usual(), &[1], 2.0)), "another machine's record says nothing");
}

#[test]
fn the_oldest_cells_go() {
    let best = |day: usize| Best {
        value: 1.0,
        unit: Unit::Ns,
        per_cycle: None,
        core_hz: None,
        date: format!("{day:05}"),
        run: String::new(),
        boot: String::new(),
    };
    let mut cells: BTreeMap<String, Best> =
        (0..MOST_CELLS + 10).map(|day| (format!("cell {day}"), best(day))).collect();
    limit(&mut cells);
    assert_eq!((cells.len(), cells.contains_key("cell 9"), cells.contains_key("cell 10")), (MOST_CELLS, false, true));
    let mut alike: BTreeMap<String, Best> =
        (0..MOST_CELLS + 10).map(|cell| (format!("cell {cell}"), best(1))).collect();
    limit(&mut alike);
    assert_eq!(alike.len(), MOST_CELLS);
}

#[test]
fn without_a_store_nothing_is_known_and_nothing_fails() {
    let store = Store::new(&crate::Places::default());
    let (mut record, notice) = MachineRecord::open(&store, key(), true);
    assert_eq!(notice, None);
    assert_eq!(record.improve(&store, &run(DAY, &usual(), &[1], 1.0), ""), Ok(()));
}
