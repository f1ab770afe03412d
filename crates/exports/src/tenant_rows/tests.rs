use std::collections::BTreeSet;

use super::*;

fn seed<T: serde::de::DeserializeOwned>(name: &str) -> T {
    let path = format!("{}/../../fuzz/seeds/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Objects of rows, which have their numbers and labels by name.
fn objects(rows: &TenantRows<'_>) -> Vec<Value> {
    rows.json_rows().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn times_with_the_clients_own_delay_are_in_doubt() {
    let mut run: LoadRun = seed("load.json");
    run.workload.pacing = LoadLoop::Open;
    let grades = |run: &LoadRun| -> BTreeSet<String> {
        objects(&TenantRows::of_load(run)).iter().map(|row| row["grade"].to_string()).collect()
    };
    let part = run.measured.as_mut().unwrap();
    for seen in part.tenants.iter_mut().chain([&mut part.all]) {
        (seen.errors, seen.unanswered, seen.late, seen.late_answers, seen.scheduled) = (0, 0, 1, 0, 200);
    }
    assert_eq!(grades(&run), BTreeSet::from(["\"trusted\"".to_owned()]));
    run.measured.as_mut().unwrap().all.late = 10;
    run.measured.as_mut().unwrap().tenants.truncate(1);
    assert_eq!(grades(&run), BTreeSet::from(["\"suspect\"".to_owned()]));
    let late = objects(&TenantRows::of_load(&run)).into_iter().find(|row| row["metric"] == "request.late").unwrap();
    assert_eq!((&late["value"], &late["reasons"][0]), (&0.05.into(), &"late_client".into()));
}

#[test]
fn rows_have_the_columns_of_every_kind_of_run() {
    let probes = serde_json::from_str(include_str!("../../../history/tests/fixtures/run-4.json")).unwrap();
    let (capacity, load): (Capacity, LoadRun) = (seed("capacity.json"), seed("load.json"));
    let all = [crate::csv(&probes), TenantRows::of_capacity(&capacity).csv(), TenantRows::of_load(&load).csv()];
    let heads: BTreeSet<&str> = all.iter().filter_map(|text| text.lines().next()).collect();
    assert_eq!(heads.len(), 1, "{heads:#?}");
    assert!(all.iter().all(|text| text.lines().count() > 2), "{all:#?}");
}

#[test]
fn a_search_has_its_tenants_and_each_trial() {
    let mut run: Capacity = seed("capacity.json");
    run.id = "20261124T080826-000001".to_owned();
    let last = run.cases[0].curve.len() - 1;
    run.cases[0].curve[last].ended_early = true;
    let ended = run.cases[0].curve[last].trial;
    let rows = objects(&TenantRows::of_capacity(&run));
    assert!(rows.iter().all(|row| row["run"] == run.id.as_str() && row["probe"] == "capacity"));
    let tenants: Vec<&Value> = rows.iter().filter(|row| row["metric"] == "tenants").collect();
    assert_eq!(tenants.len(), run.cases.len());
    assert_eq!((&tenants[0]["value"], &tenants[0]["grade"]), (&5.0.into(), &"trusted".into()), "{tenants:?}");
    assert_eq!((&tenants[1]["low"], &tenants[1]["grade"]), (&11.0.into(), &"bound".into()), "{tenants:?}");
    for (case, number) in run.cases.iter().zip(1..) {
        for trial in &case.trials {
            let is_own = |row: &&Value| row["experiment"] == number && row["labels"]["trial"] == trial.number;
            let own: Vec<&Value> = rows.iter().filter(is_own).collect();
            let statistics: Vec<&Value> = own.iter().map(|row| &row["labels"]["statistic"]).collect();
            assert_eq!(statistics[..7], ["mean", "p50", "p90", "p95", "p99", "p999", "max"], "{own:#?}");
            let point = case.curve.iter().find(|point| point.trial == trial.number);
            assert_eq!(own[4]["value"].as_f64(), point.map(|point| point.p99_ns), "{own:#?}");
            assert_eq!(own[6]["value"].as_f64(), point.map(|point| point.max_ns), "{own:#?}");
            let of = |metric: &str| own.iter().find(|row| row["metric"] == metric).map(|row| &row["value"]);
            let seen = trial.evidence.as_ref();
            assert_eq!(of("cpus.busy").and_then(Value::as_f64), seen.and_then(|seen| seen.cpu), "{own:#?}");
            assert_eq!(of("request.late").and_then(Value::as_f64), seen.and_then(|seen| seen.late_sends));
            assert_eq!(own[1]["labels"]["phase"], trial.phase.to_string());
        }
    }
    for (row, case) in tenants.iter().zip(&run.cases) {
        let ended_by = case.ended_by.as_ref().map(|by| by.resource.to_string());
        assert_eq!(row["labels"]["ended_by"].as_str(), ended_by.as_deref(), "{row}");
    }
    assert!(run.cases.iter().any(|case| case.ended_by.is_some()));
    let of_answer: Vec<&Value> =
        rows.iter().filter(|row| row["experiment"] == 1 && row["step"] == "search").map(|row| &row["metric"]).collect();
    let trials: Vec<u64> = rows.iter().filter_map(|row| row["labels"]["trial"].as_u64()).collect();
    assert!(trials.chunk_by(|a, b| a <= b).count() == run.cases.len(), "in their order: {trials:?}");
    let times = ["request.latency"; 7];
    assert_eq!(of_answer, [&["tenants"][..], &times, &["request.rate", "request.answered"]].concat());
    let is_ended = |row: &&Value| row["experiment"] == 1 && row["labels"]["trial"] == ended;
    assert_eq!(rows.iter().find(is_ended).unwrap()["reasons"][0], "ended_early");
}

#[test]
fn the_share_of_gets_that_found_their_key_is_a_number_of_each_kind_of_run() {
    let mut run: Capacity = seed("capacity.json");
    for trial in run.cases.iter_mut().flat_map(|case| &mut case.trials) {
        trial.evidence.get_or_insert_default().hit_share = Some(0.47);
    }
    let hits = |rows: &TenantRows<'_>| -> Vec<Value> {
        objects(rows).into_iter().filter(|row| row["metric"] == "request.hits").collect()
    };
    let rows = TenantRows::of_capacity(&run);
    let of_trials = run.cases.iter().map(|case| case.trials.len()).sum::<usize>();
    assert!(hits(&rows).iter().all(|row| row["value"] == 0.47 && row["unit"] == "ratio"));
    assert!(hits(&rows).iter().any(|row| row["step"] == "search") && hits(&rows).len() > of_trials);
    assert!(rows.openmetrics().contains("tiermark_request_hits_ratio{"), "{}", rows.openmetrics());
    let mut load: LoadRun = seed("load.json");
    let part = load.measured.as_mut().unwrap();
    (part.all.gets, part.all.misses) = (200, 50);
    assert_eq!(hits(&TenantRows::of_load(&load))[0]["value"], 0.75);
}

#[test]
fn gauges_have_one_series_for_each_tier() {
    let run: Capacity = seed("capacity.json");
    let text = TenantRows::of_capacity(&run).openmetrics();
    let of = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!(of("tiermark_tenants{"), run.cases.len(), "{text}");
    assert!(text.contains("tier=\"dram\",workload=\"100 % GET, uniform\"} 5\n"), "{text}");
    assert!(!text.contains("trial=") && text.ends_with("# EOF\n"), "{text}");
    let load: LoadRun = seed("load.json");
    let text = TenantRows::of_load(&load).openmetrics();
    let p99 = load.measured.as_ref().unwrap().all.service.p99.unwrap() as f64 / 1e9;
    let line = text.lines().find(|line| line.starts_with("tiermark_request_service") && line.contains("p99\""));
    assert_eq!(line.and_then(|line| line.rsplit(' ').next()?.parse().ok()), Some(p99), "{text}");
}
