//! What is known from other runs: the machine's own record, saved windows, and the work of others during a run.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::common::{User, document, findings};
use serde_json::Value;

/// A small guest: one socket, two cores.
const GUEST: &str = "synth:cores=2,smt=1,l3=8M,mem=4G";
/// One number of this machine, in a second or two.
const QUICK: [&str; 6] = ["latency", "--quick", "--force", "--sizes=16K", "--max-time=6", "--json=run.json"];

/// The one number of a real run, with the names of the reasons for its verdict.
fn number(user: &User, more: &[&str]) -> (f64, String, Vec<String>) {
    user.run(&[&QUICK[..], more].concat()).expect(0);
    let run = document(&user.path("run.json"));
    let seen = &run["experiments"][0]["observations"][0];
    let reasons = seen["verdict"]["reasons"].as_array().unwrap().iter();
    let reasons = reasons.map(|reason| reason["reason"].as_str().unwrap().to_owned()).collect();
    (seen["value"].as_f64().unwrap(), seen["verdict"]["grade"].as_str().unwrap().to_owned(), reasons)
}

/// The file of the record, where there is one.
fn record(user: &User) -> Option<Value> {
    let path = user.path("record.json");
    path.exists().then(|| document(&path))
}

#[test]
fn a_run_below_the_record_of_its_machine_is_a_bound() {
    let user = User::new();
    number(&user, &["--no-record"]);
    number(&user, &["--no-save"]);
    assert_eq!(record(&user), None, "neither writes it");
    let trusted = (0..3).any(|_| number(&user, &[]).1 == "trusted");
    let Some(mut book) = record(&user).filter(|_| trusted) else {
        eprintln!("skipped: this machine gave no trusted number of its first cache");
        return;
    };
    let cells = book["machines"][0]["cells"].as_object_mut().unwrap();
    assert_eq!(cells.len(), 1);
    // Somebody was alone on this machine once.
    let best = cells.values_mut().next().unwrap();
    let value = best["value"].as_f64().unwrap() / 2.0;
    best["value"] = value.into();
    let cycles = best["per_cycle"]["value"].as_f64().unwrap() / 2.0;
    best["per_cycle"]["value"] = cycles.into();
    std::fs::write(user.path("record.json"), book.to_string()).unwrap();
    for more in [&[][..], &["--no-save"]] {
        // Beside a busy hardware thread a number is not per cycle, as the record is.
        let clocked = |_| Some(number(&user, more)).filter(|(.., reasons)| !reasons.contains(&"no_clock".to_owned()));
        let Some((_, grade, reasons)) = (0..5).find_map(clocked) else {
            eprintln!("skipped: the other hardware thread was busy");
            return;
        };
        assert_eq!((grade.as_str(), reasons.last().unwrap().as_str()), ("bound", "below_record"));
    }
    let run = document(&user.path("run.json"));
    let finding = &findings(&run)[0];
    assert_eq!(finding["verdict"]["grade"], "bound", "derived after it was held: {finding}");
    assert!(!number(&user, &["--no-record"]).2.contains(&"below_record".to_owned()));
    let cells = |book: &Value| book["machines"][0]["cells"].clone();
    assert_eq!(cells(&record(&user).unwrap()), cells(&book), "nothing was better");
    // The saved run says it again.
    let again = user.run(&["show", "last", "--reanalyse", "--json"]).expect(0).json();
    let is_figure = |found: &&Value| {
        let metric = found["metric"].as_str().unwrap();
        metric != "core.clock" && !metric.starts_with("interruptions")
    };
    let figures = findings(&again).iter().filter(is_figure).count();
    assert_eq!(figures, 1);
    // Whatever is in the file, no run fails of it.
    std::fs::write(user.path("record.json"), "{ damaged").unwrap();
    let ran = user.run(&QUICK).expect(0);
    assert!(ran.err.contains("record.json.damaged"), "{}", ran.err);
    assert_eq!(std::fs::read(user.path("record.json.damaged")).unwrap(), b"{ damaged");
}

#[test]
fn simulated_runs_have_no_record() {
    let user = User::new();
    let simulated = ["latency", "--quick", "--simulate", GUEST, "--sizes=16K"];
    user.run(&simulated).expect(0);
    assert_eq!(record(&user), None);
    std::fs::write(user.path("record.json"), "{ damaged").unwrap();
    let ran = user.run(&simulated).expect(0);
    assert!(!ran.err.contains("record"), "{}", ran.err);
    assert_eq!(std::fs::read(user.path("record.json")).unwrap(), b"{ damaged", "it is not even read");
}

#[test]
fn a_run_made_again_from_its_windows_is_the_same() {
    for command in ["survey", "loaded-latency", "c2c"] {
        let user = User::new();
        user.run(&[command, "--quick", "--simulate", GUEST]).expect(0);
        let saved = user.run(&["show", "last", "--json"]).expect(0).json();
        let again = user.run(&["show", "last", "--json", "--reanalyse", "-v"]).expect(0);
        assert_eq!(again.json(), saved, "{command}");
        let report = |more: &[&str]| user.run(&[&["show", "last"], more].concat()).expect(0).out;
        assert_eq!(report(&["--reanalyse"]), report(&[]), "{command}");
    }
}

/// Two sizes, measured twice.
const TWICE: &str = r#"
name = "twice"
title = "twice"
about = "twice"
[[experiment]]
probe = "latency"
sizes = ["8M", "256M"]
[[experiment]]
probe = "latency"
sizes = ["8M", "256M"]
"#;

/// The grades of the findings of both experiments, with their reasons.
fn grades(run: &Value) -> Vec<(u64, String, Vec<String>)> {
    let experiments = run["experiments"].as_array().unwrap().iter();
    let found = experiments.flat_map(|of| of["findings"].as_array().unwrap());
    let sized = found.filter_map(|found| Some((found["labels"]["size"].as_u64()?, &found["verdict"])));
    let reasons = |verdict: &Value| {
        let all = verdict["reasons"].as_array().unwrap().iter();
        all.map(|reason| reason["reason"].as_str().unwrap().to_owned()).collect()
    };
    sized.map(|(size, v)| (size >> 20, v["grade"].as_str().unwrap().to_owned(), reasons(v))).collect()
}

#[test]
fn figures_that_mean_the_same_and_differ_are_not_trusted() {
    let user = User::new();
    std::fs::write(user.path("twice.toml"), TWICE).unwrap();
    let measure = |visitor: &[&str]| {
        let run = ["run", "twice.toml", "--simulate", GUEST, "--json=run.json", "--jsonl=lines"];
        user.run(&[&run[..], visitor].concat()).expect(0);
        document(&user.path("run.json"))
    };
    let trusted = |size| (size, "trusted".to_owned(), Vec::new());
    assert_eq!(grades(&measure(&[])), [trusted(8), trusted(256), trusted(8), trusted(256)]);
    let lines = || std::fs::read_to_string(user.path("lines")).unwrap();
    assert!(!lines().contains("revised"));
    // Memory is slower while the first experiment goes on.
    let run = measure(&["--sim-visitor=0-3.38:1.3"]);
    let shared = || (256, "shared".to_owned(), vec!["disagrees".to_owned()]);
    assert_eq!(grades(&run), [trusted(8), shared(), trusted(8), shared()]);
    let lines: Vec<Value> = lines().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let revised: Vec<&Value> = lines.iter().filter(|line| line["event"] == "revised").collect();
    assert_eq!(revised.len(), 2);
    assert_eq!(revised[1]["findings"], run["experiments"][1]["findings"]);
    assert_eq!(revised[1]["observations"].as_array().unwrap().len(), 1);
    assert_eq!(revised[1]["experiment"], 1);
    // Estimated again it is the same, and the report says why.
    let again = user.run(&["show", "last", "--json", "--reanalyse"]).expect(0).json();
    assert_eq!(again, user.run(&["show", "last", "--json"]).expect(0).json());
    let why = user.run(&["show", "last", "--why"]).expect(0).out;
    assert!(why.contains("Figures that mean the same differ"), "{why}");
}

#[test]
fn a_changed_estimate_is_made_right_and_named() {
    let user = User::new();
    user.run(&["latency", "--quick", "--simulate", GUEST, "--sizes=16K,64M"]).expect(0);
    let path = user.saved("json").pop().unwrap();
    let mut run = document(&path);
    let value = run["experiments"][0]["observations"][0]["value"].take();
    run["experiments"][0]["observations"][0]["value"] = 1000.0.into();
    std::fs::write(&path, run.to_string()).unwrap();
    let again = user.run(&["show", "last", "--json", "--reanalyse", "-v"]).expect(0);
    assert!(again.err.contains("1 of 2") && again.err.contains("1000 ns"), "{}", again.err);
    assert_eq!(again.json()["experiments"][0]["observations"][0]["value"], value);
}

#[test]
fn a_document_without_windows_is_shown_as_it_is() {
    let user = User::new();
    let document = include_bytes!("../../../history/tests/fixtures/run-4.json");
    std::fs::write(user.path("old.json"), document).unwrap();
    let again = user.run(&["show", "./old.json", "--reanalyse"]).expect(0);
    assert!(again.err.contains("it is shown as it was saved"), "{}", again.err);
    assert_eq!(again.out, user.run(&["show", "./old.json"]).expect(0).out);
}

#[test]
fn a_saved_document_is_shown_and_estimated_again() {
    let user = User::new();
    let document = include_bytes!("../../../history/tests/fixtures/run-4-measured.json");
    std::fs::write(user.path("run.json"), document).unwrap();
    let shown = user.run(&["show", "./run.json"]).expect(0).out;
    assert!(shown.contains("SIMULATED") && shown.contains("L1"), "{shown}");
    let again = user.run(&["show", "./run.json", "--reanalyse"]).expect(0);
    assert!(again.err.contains("numbers"), "{}", again.err);
}

#[test]
fn a_document_of_an_earlier_version_is_refused() {
    let user = User::new();
    std::fs::write(user.path("old.json"), r#"{"schema":"tiermark/run/3","id":"a"}"#).unwrap();
    let refused = user.run(&["show", "./old.json"]).expect(2);
    assert!(refused.err.contains("written by an earlier version") && refused.err.contains("measure again"));
}

/// Programs that keep a cpu busy, until they are dropped.
struct Others(Vec<Child>);

impl Others {
    /// Several of one name, so that it is among the first wherever this runs; `None` where none can be bound to a cpu.
    fn on(cpu: u32) -> Option<Self> {
        let busy = || {
            let mut command = Command::new("taskset");
            command.args(["-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
        };
        let others = Self((0..3).map_while(|_| busy()).collect());
        thread::sleep(Duration::from_millis(100));
        (others.0.len() == 3).then_some(others)
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The last cpu that this process may use.
fn a_cpu() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    list.trim().rsplit([',', '-']).next().unwrap().parse().unwrap()
}

#[test]
fn other_work_is_refused_and_warned_of_by_name() {
    let cpu = a_cpu();
    let Some(_others) = Others::on(cpu) else {
        eprintln!("skipped: no taskset here");
        return;
    };
    let user = User::new();
    let cpus = format!("--cpus={cpu}");
    let one = ["latency", "--quick", "--sizes=16K", "--max-time=3", "--json=run.json", &cpus];
    let refused = user.run(&one).expect(4).err;
    for part in ["sh ", "--cpus", "--force"] {
        assert!(refused.contains(part), "'{part}' is missing: {refused}");
    }
    // What judges a new server does not judge it beside other work either, unless the user insists.
    let judged = user.run(&["check", "--run", "--", "--quick", "-q", &cpus]).expect(4);
    assert!(judged.err.contains("sh ") && judged.err.contains("--force") && judged.out.is_empty(), "{}", judged.err);
    user.run(&[&one[..], &["--force"]].concat());
    let run = document(&user.path("run.json"));
    let warnings = run["warnings"].as_array().unwrap();
    let busy = warnings.iter().find(|warning| warning["code"] == "busy").expect("a warning");
    assert_eq!(busy["data"]["cpus"], 1, "{busy}");
    assert!(busy["data"]["programs"].as_str().unwrap().contains("sh "), "{busy}");
}
