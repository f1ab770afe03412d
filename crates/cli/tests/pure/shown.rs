//! What reports show: plans part by part, the reader's units and signs, counts that fit the tables.

use crate::common::{User, stable};
use serde_json::Value;

/// A small guest: one socket, two cores.
const GUEST: &str = "synth:cores=2,smt=1,l3=8M,mem=4G";

/// A plan whose experiments differ in what is no column of any table.
const TWICE: &str = r#"
name = "twice"
title = "the same, twice"
about = """
Nothing is like the original.

Look for: two rows.
"""

[[experiment]]
probe = "latency"
note = "from the first cpu"
cpus = "0"
sizes = ["32K", "64M"]
quick = true

[[experiment]]
probe = "latency"
note = "from the second"
cpus = "1"
sizes = ["32K", "64M"]
quick = true

[[experiment]]
probe = "c2c"
quick = true

[[experiment]]
probe = "c2c"
quick = true
pages = "base"
"#;

/// The report of a plan of one's own.
fn planned(plan: &str, more: &[&str]) -> (User, String) {
    let user = User::new();
    std::fs::write(user.path("plan.toml"), plan).unwrap();
    let out = user.run(&[&["run", "plan.toml", "--simulate", GUEST], more].concat()).expect(0).out;
    (user, stable(&out))
}

#[test]
fn experiments_of_one_probe_are_told_apart() {
    let (user, out) = planned(TWICE, &["--ascii"]);
    insta::assert_snapshot!("plan_twice", out);
    let again = user.run(&["show", "last", "--ascii"]).expect(0).out;
    assert_eq!(stable(&again), out);
    // The whole page is for --verbose.
    let page = "Nothing is like the original.";
    assert_eq!([&[][..], &["-v"]].map(|more| user.run(&[&["show"], more].concat()).out.contains(page)), [false, true]);
}

#[test]
fn latency_and_bandwidth_of_one_place_are_one_ladder() {
    let out = User::new().run(&["run", "quick", "--simulate", GUEST, "--no-save"]).expect(0).out;
    assert_eq!(out.matches("The ladder").count(), 1, "{out}");
    assert!(!out.contains("1 of 2: "), "{out}");
}

#[test]
fn what_a_plan_cannot_measure_stands_with_its_experiment() {
    let user = User::new();
    let experiment = |more: &str| format!("[[experiment]]\nprobe='latency'\nsizes='32K,64K'\nquick=true\n{more}");
    let both = format!("name='p'\ntitle='p'\n{}{}", experiment(""), experiment("mem-node='far'\n"));
    std::fs::write(user.path("far.toml"), both).unwrap();
    let out = user.run(&["run", "far.toml", "--simulate", GUEST, "--no-save", "--allow-partial"]).expect(0).out;
    let (second, missing) = (out.find("2 of 2: latency").unwrap(), out.find("Not measured").unwrap());
    assert!(second < missing && missing < out.find("numbers trusted").unwrap(), "{out}");
}

#[test]
fn remarks_have_the_unit_of_the_tables() {
    let loads = ["loaded-latency", "--quick", "--simulate", GUEST, "--no-save", "--units=iec", "-v"];
    let out = User::new().run(&loads).expect(0).out;
    assert!(out.contains("GiB/s") && !out.contains("GB/s"), "{out}");
    assert!(out.contains("none"), "a knee that is not there is no doubtful number: {out}");
    let grains = ["granularity", "--quick", "--simulate", GUEST, "--no-save", "--units=iec", "-v", "--ascii"];
    let out = User::new().run(&grains).expect(0).out;
    assert!(out.contains("GiB/s") && !out.contains("GB/s") && out.is_ascii(), "{out}");
}

#[test]
fn one_node_is_one_table() {
    let out = User::new().run(&["matrix", "--simulate", GUEST, "--no-save"]).expect(0).out;
    insta::assert_snapshot!("one_node_is_one_table", stable(&out));
}

#[test]
fn empty_columns_say_why() {
    let survey = ["survey", "--quick", "--simulate", GUEST, "--no-save", "--cpus=1", "--width=120"];
    insta::assert_snapshot!("survey_of_one_core", stable(&User::new().run(&survey).expect(0).out));
}

#[test]
fn a_survey_has_long_views() {
    let user = User::new();
    let report = user.run(&["survey", "--quick", "--simulate", GUEST]).expect(0).out;
    for view in &tiermark_report::RUN_VIEWS {
        let out = user.run(&["show", &format!("--{}", view.name)]).expect(0).out;
        assert!(out != report && !out.contains("This run "), "{}: {out}", view.name);
        assert!(report.contains(&format!("--{}", view.name)) || view.name != "why", "{report}");
    }
    user.run(&["show", "--why", "--tails"]).expect(2);
    // The list counts what the report counts.
    let list = user.run(&["list", "runs"]).expect(0).out;
    assert!(list.contains(" of 29"), "{list}");
}

#[test]
fn lists_fit_and_say_how_far_runs_can_be_trusted() {
    let user = User::new();
    user.run(&["run", "link-saturation", "--simulate", GUEST]).expect(0);
    let shown = user.run(&["show", "last"]).expect(0).out;
    let list = user.run(&["list", "runs"]).expect(0).out;
    let head = list.lines().next().unwrap();
    for column in ["run", "what", "took", "trusted", "machine"] {
        assert!(head.contains(column), "{list}");
    }
    let count = list.lines().nth(1).unwrap().split("  ").map(str::trim).find(|cell| cell.contains(" of ")).unwrap();
    let (trusted, all) = count.split_once(" of ").unwrap();
    assert!(trusted == all && shown.contains(&format!("all {all} numbers trusted")), "{list}\n{shown}");
    for arguments in [&["list", "runs"][..], &["plan", "list"], &["list", "commands"], &["plan", "show", "hierarchy"]] {
        let out = user.run(arguments).expect(0).out;
        assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    }
    for arguments in [&["list", "commands"][..], &["--help"]] {
        let out = user.run(arguments).expect(0).out;
        assert!(out.lines().any(|line| line.split_whitespace().next() == Some("man")), "{out}");
    }
}

#[test]
fn points_of_a_file_of_curves_have_their_numbers() {
    let user = User::new();
    let loads = ["loaded-latency", "--quick", "--simulate", GUEST, "--no-save", "--csv=a.csv", "--sim-noise=0.1"];
    let err = user.run(&loads).expect(0).err;
    assert!(err.is_empty() || err.contains("--csv a.csv: "), "{err}");
    let out = user.run(&["show", "a.csv"]).expect(0).out;
    let points = std::fs::read_to_string(user.path("a.csv")).unwrap().lines().count() - 1;
    assert!(out.contains(&format!("{points} points of 1 curve: ")), "{out}");
    let rows = out.lines().filter(|line| line.trim_start().starts_with("100 ")).count();
    assert_eq!(rows, points, "{out}");
    let trusted = ["loaded-latency", "--quick", "--simulate", GUEST, "--no-save", "--csv=a.csv"];
    assert!(!user.run(&trusted).expect(0).err.contains("--csv a.csv: "));
}

#[test]
fn documents_of_other_kinds_and_versions_are_told() {
    let user = User::new();
    let write = |text: &str| std::fs::write(user.path("x.json"), text).unwrap();
    for (text, said) in [
        (r#"{"schema":"tiermark/load/1"}"#, "x.json"),
        (r#"{"schema":"tiermark/capacity/1","cases":5}"#, "x.json"),
        (r#"{"schema":"tiermark/capacity/99"}"#, "tiermark/capacity/99"),
    ] {
        write(text);
        let told = user.run(&["show", "x.json"]).expect(2).err;
        assert!(told.contains(said), "{text}: {told}");
    }
}

/// `last` is the newest run, simulated or not, so whatever shows it says so above the numbers.
#[test]
fn a_run_of_a_simulated_machine_is_named_as_one() {
    let user = User::new();
    user.run(&["latency", "--sizes=16K", "--quick", "--simulate", GUEST, "-q"]).expect(0);
    for (arguments, code) in [
        (&["show"][..], 0),
        (&["report", "--html", "-"], 0),
        (&["explain"], 0),
        // Figures by size have no name that a rule could judge.
        (&["check"], 5),
        (&["compare", "last", "last"], 0),
    ] {
        let shown = user.run(arguments).expect(code).out;
        assert!(shown.contains("SIMULATED"), "{arguments:?}: {shown}");
    }
}

/// A user with the documents of the fuzzer's seeds: of load of the 1st, of tenants of the 2nd of November.
fn with_other_kinds() -> User {
    let user = User::new();
    for (kind, seed, id) in [("load", "load.json", LOAD), ("capacity", "capacity.json", TENANTS)] {
        std::fs::create_dir_all(user.path(kind)).unwrap();
        let seed = format!("{}/../../fuzz/seeds/{seed}", env!("CARGO_MANIFEST_DIR"));
        std::fs::copy(seed, user.path(&format!("{kind}/{id}.json"))).unwrap();
    }
    user
}

const LOAD: &str = "20261101T000000-000001";
const TENANTS: &str = "20261102T000000-000002";

/// Of the 3rd, with two trials in its journal.
#[test]
fn a_killed_run_of_tenants_is_named_before_the_newest_document() {
    let user = with_other_kinds();
    let quiet = user.run(&["show"]).expect(0);
    assert!(quiet.out.contains("tiermark capacity: mini") && quiet.err.is_empty(), "{}", quiet.err);
    let seed = format!("{}/../../fuzz/seeds/saved.jsonl", env!("CARGO_MANIFEST_DIR"));
    let journal = user.path("capacity/20261103T000000-000003.jsonl");
    std::fs::copy(seed, &journal).unwrap();
    let cure = format!("tiermark capacity --resume={}", journal.display());
    for arguments in [&["show"][..], &["explain"], &["report", "--html", "-"]] {
        let told = user.run(arguments).expect(0);
        for words in ["20261103T000000-000003 (capacity), was killed", "with 2 trials", &cure, TENANTS] {
            assert!(told.err.contains(words), "{arguments:?}: {words}: {}", told.err);
        }
    }
    assert_eq!(user.run(&["show"]).expect(0).out, quiet.out, "the newest run with a document");
    let running = std::fs::File::open(&journal).unwrap();
    running.lock().unwrap();
    let told = user.run(&["show"]).expect(0).err;
    assert!(told.contains("goes on and has no document yet") && !told.contains("killed"), "{told}");
    // A run that was stopped has a document beside its journal.
    std::fs::copy(user.path(&format!("capacity/{TENANTS}.json")), journal.with_extension("json")).unwrap();
    assert_eq!(user.run(&["show"]).expect(0).err, "");
}

/// One that was stopped has a document, one that was killed has none.
#[test]
fn lists_say_which_runs_of_tenants_have_no_end_and_how_to_go_on() {
    let user = with_other_kinds();
    let listed = |list: &str| {
        let text = user.run(&["list", list, "--width=200"]).expect(0).out;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let row = |list: &str, id: &str| {
        let text = listed(list);
        let (_, row) = text.split_once(id).unwrap_or_else(|| panic!("{id}: {text}"));
        row.split("2026").next().unwrap_or(row).split(" In /").next().unwrap_or(row).to_owned()
    };
    for list in ["runs", "capacity"] {
        assert!(!listed(list).contains("--resume"), "without its journal it cannot go on: {}", listed(list));
    }
    let seed = format!("{}/../../fuzz/seeds/saved.jsonl", env!("CARGO_MANIFEST_DIR"));
    let killed = "20261103T000000-000003";
    for id in [TENANTS, killed] {
        std::fs::copy(&seed, user.path(&format!("capacity/{id}.jsonl"))).unwrap();
    }
    let resume = format!("tiermark capacity --resume={}", user.path("capacity/RUN.jsonl").display());
    for list in ["runs", "capacity"] {
        assert!(listed(list).contains(&resume), "{}", listed(list));
        assert!(row(list, TENANTS).contains(", stopped"), "{}", row(list, TENANTS));
        assert!(row(list, killed).contains("killed, no document"), "{}", row(list, killed));
    }
    assert!(row("runs", killed).contains("capacity mini: killed, no document"), "{}", row("runs", killed));
    let running = std::fs::File::open(user.path(&format!("capacity/{killed}.jsonl"))).unwrap();
    running.lock().unwrap();
    assert!(row("runs", killed).contains("capacity mini: running"), "{}", row("runs", killed));
    // A run that ended is neither.
    let ended = user.path(&format!("capacity/{TENANTS}.json"));
    let document = std::fs::read_to_string(&ended).unwrap().replace("\"unfinished\"", "\"late\"");
    std::fs::write(&ended, document).unwrap();
    for list in ["runs", "capacity"] {
        assert!(!row(list, TENANTS).contains("stopped"), "{}", row(list, TENANTS));
        assert!(!listed(list).contains("--resume"), "{}", listed(list));
    }
}

#[test]
fn runs_of_all_kinds_are_listed_and_found() {
    let user = with_other_kinds();
    user.run(&["latency", "--sizes=16K", "--quick", "--simulate", GUEST, "-q"]).expect(0);
    let list = user.run(&["list", "runs", "--width=120"]).expect(0).out;
    let at = |words: &str| list.find(words).unwrap_or_else(|| panic!("{words}: {list}"));
    assert!(at("capacity mini") < at("load: 1 tenant") && at("latency") < at("capacity mini"), "newest first: {list}");
    let items = user.run(&["list", "runs", "--json"]).expect(0).json();
    let kinds: Vec<&Value> = items["items"].as_array().unwrap().iter().map(|item| &item["kind"]).collect();
    assert_eq!(kinds, ["probes", "capacity", "load"], "{items}");
    for arguments in [&["show", LOAD][..], &["show", "20261101"], &["explain", LOAD], &["report", LOAD, "--html", "-"]]
    {
        let shown = user.run(arguments).expect(0).out;
        assert!(shown.contains("tenant"), "{arguments:?}: {shown}");
    }
}

/// Commands about memory use an older run then.
#[test]
fn last_of_memory_names_a_newer_run_of_tenants() {
    let user = with_other_kinds();
    user.run(&["latency", "--sizes=16K", "--quick", "--simulate", GUEST, "-q"]).expect(0);
    let commands = [(&["show", "last", "--why"][..], 0), (&["check", "last"], 5), (&["compare", "last", "last"], 0)];
    for (arguments, code) in commands {
        assert!(!user.run(arguments).expect(code).err.contains("the newest run"), "{arguments:?}");
    }
    let newest = "20991104T000000-000004";
    let document = user.path(&format!("capacity/{TENANTS}.json"));
    std::fs::copy(document, user.path(&format!("capacity/{newest}.json"))).unwrap();
    for (arguments, code) in commands {
        let told = user.run(arguments).expect(code).err;
        for said in [&format!("the newest run, {newest}, is of capacity"), &format!("`tiermark show {newest} -v`")] {
            assert!(told.contains(said.as_str()), "{arguments:?}: {told}");
        }
    }
}

#[test]
fn any_run_has_a_report_in_markdown() {
    let user = with_other_kinds();
    user.run(&["latency", "--quick", "--simulate", GUEST, "-q", "--json=run.json"]).expect(0);
    for run in ["run.json", LOAD, TENANTS] {
        let text = user.run(&["show", run, "--format", "markdown"]).expect(0).out;
        assert!(text.starts_with("# ") || text.starts_with("## "), "{run}: {text}");
        let tables = text.lines().filter(|line| line.starts_with("| --")).count();
        assert!(tables > 0 && text.matches("```").count().is_multiple_of(2), "{run}: {text}");
    }
    let text = user.run(&["show", "run.json", "--format", "markdown"]).expect(0).out;
    assert!(text.contains("\n## The ladder\n\n| tier |") && text.contains("\n```text\n"), "{text}");
}

#[test]
fn runs_of_tenants_and_of_load_have_the_rows_of_other_runs() {
    let user = with_other_kinds();
    user.run(&["latency", "--sizes=16K", "--quick", "--simulate", GUEST, "-q", "--json=run.json"]).expect(0);
    let table = |run: &str| user.run(&["show", run, "--format", "csv"]).expect(0).out;
    let head = |text: &str| text.lines().next().unwrap().to_owned();
    let all = [table("run.json"), table(LOAD), table(TENANTS)];
    assert!(all.iter().all(|text| head(text) == head(&all[0]) && text.lines().count() > 1), "{all:?}");
    assert!(all[1].contains("request.latency") && all[2].contains("tenants,count,5.0"), "{all:?}");
    for run in [LOAD, TENANTS] {
        let rows = user.run(&["show", run, "--format", "json-rows"]).expect(0).out;
        assert!(rows.lines().all(|row| serde_json::from_str::<Value>(row).unwrap()["labels"]["workload"].is_string()));
        let gauges = user.run(&["show", run, "--format", "openmetrics"]).expect(0).out;
        assert!(gauges.contains("tiermark_request_latency_seconds{") && gauges.ends_with("# EOF\n"), "{gauges}");
        let told = user.run(&["show", run, "--format", "mlc"]).expect(2).err;
        assert!(told.contains("--format csv its numbers"), "{told}");
    }
}
