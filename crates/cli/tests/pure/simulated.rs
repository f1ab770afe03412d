//! The whole program on simulated machines: exact, whatever this machine is.

use std::time::{Duration, Instant};

use crate::common::{User, document, findings, stable};
use tiermark_machine::synth::Synth;
use tiermark_model::testing;

/// A small guest: one socket, two cores.
const GUEST: &str = "synth:cores=2,smt=1,l3=8M,mem=4G";
/// Two sockets of four cores with two threads.
const SERVER: &str = "synth:sockets=2,cores=4,smt=2,mem=16G";
/// Two sockets, and two nodes of CXL memory.
const EXPANDED: &str = "synth:sockets=2,cores=4,smt=1,mem=16G,cxl=32G,cxl=32G";
/// 8 sockets, 2,048 cpus.
const LARGEST: &str = "synth:largest";

/// The report of a survey, and its document beside it.
fn survey(tree: &str, more: &[&str]) -> (String, serde_json::Value) {
    let user = User::new();
    let mut arguments = vec!["survey", "--simulate", tree, "--json=run.json"];
    arguments.extend(more);
    let ran = user.run(&arguments).expect(0);
    assert!(ran.err.is_empty() || ran.err.starts_with("Saved as") && ran.err.lines().count() <= 3, "{}", ran.err);
    (stable(&ran.out), document(&user.path("run.json")))
}

// Kernels differ between architectures, and their names stand in reports.
#[cfg(target_arch = "x86_64")]
#[test]
fn reports_are_exact() {
    insta::assert_snapshot!("survey_guest", survey(GUEST, &[]).0);
    insta::assert_snapshot!("survey_server_quick", survey(SERVER, &["--quick"]).0);
    insta::assert_snapshot!("survey_expanded_quick_ascii", survey(EXPANDED, &["--quick", "--ascii", "--width=120"]).0);
}

/// The report of one command on a guest that has less than it declares.
#[cfg(target_arch = "x86_64")]
fn shape(command: &str) -> String {
    let lies = ["--sim-caches=48K/12,1280K/20,5M/10", "--sim-pair=128"];
    let tree = "synth:cores=2,smt=1,l1=48K,l2=2M,l3=8M,mem=4G";
    stable(
        &User::new()
            .run(
                &[&command.split(' ').collect::<Vec<_>>()[..], &["--quick", "--no-save", "--simulate", tree], &lies]
                    .concat(),
            )
            .expect(0)
            .out,
    )
}

#[cfg(target_arch = "x86_64")]
#[test]
fn shapes_are_exact() {
    for command in ["geometry", "tlb", "mlp", "granularity", "loaded-latency --neighbour"] {
        let report = shape(command);
        assert!(report.lines().all(|line| line.chars().count() <= 80), "{report}");
        insta::assert_snapshot!(format!("shape_{}", command.trim_start_matches("loaded-latency --")), report);
    }
    let contended = ["residency", "--quick", "--no-save", "--simulate", GUEST, "--sim-half-life=2.5"];
    insta::assert_snapshot!("shape_residency", stable(&User::new().run(&contended).expect(0).out));
    let from_second_use = [&contended[..], &["--sim-kept-from-use=2"]].concat();
    insta::assert_snapshot!("shape_residency_used_once", stable(&User::new().run(&from_second_use).expect(0).out));
    let narrow = ["geometry", "--quick", "--no-save", "--simulate", GUEST, "--ascii", "--width=60"];
    let report = User::new().run(&narrow).expect(0).out;
    assert!(report.is_ascii() && report.lines().all(|line| line.len() <= 60), "{report}");
}

#[test]
fn primitives_are_exact() {
    for (name, tree) in [("guest", GUEST), ("server", SERVER)] {
        let only = ["--only=syscalls,fork+exit,sleep 50us,sleep 1ms,pipe,munmap,numa,malloc+free"];
        let arguments = [&["os", "--quick", "--no-save", "--simulate", tree][..], &only].concat();
        let report = stable(&User::new().run(&arguments).expect(0).out);
        assert!(report.lines().all(|line| line.chars().count() <= 80), "{report}");
        insta::assert_snapshot!(format!("os_{name}"), report);
    }
}

/// Two sockets, SMT: every place has its column, no name is cut and no row is wrapped.
#[test]
fn primitives_have_a_column_for_each_place() {
    let only = "--only=switches,pipe,socketpair,pipe ping-pong,shared memory ping-pong,userfaultfd";
    let report = stable(&User::new().run(&["os", "--no-save", "--simulate", SERVER, only]).expect(0).out);
    assert!(report.lines().all(|line| line.chars().count() <= 80), "{report}");
    insta::assert_snapshot!("os_places", report);
    let dry = User::new().run(&["os", "--dry-run", "--simulate", SERVER, "--only=pipe,fork+exit written,munmap"]);
    insta::assert_snapshot!("plan_os", dry.expect(0).out);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn plans_are_exact() {
    let plan = |arguments: &[&str]| User::new().run(arguments).expect(0).out;
    insta::assert_snapshot!("plan_largest", plan(&["survey", "--simulate", LARGEST, "--dry-run"]));
    insta::assert_snapshot!(
        "plan_remote_latency",
        plan(&[
            "latency",
            "--simulate",
            SERVER,
            "--dry-run",
            "--sizes",
            "2K,32K,2M,128M",
            "--layout",
            "stride:64,random",
            "--cpus",
            "node:0",
            "--mem-node",
            "1",
        ])
    );
}

#[cfg(target_arch = "x86_64")]
#[test]
fn loads_and_ramps_are_exact() {
    let report = |arguments: &[&str]| stable(&User::new().run(arguments).expect(0).out);
    let tree = ["--simulate", SERVER, "--sim-memory=60", "--sim-link=25"];
    insta::assert_snapshot!(
        "loaded_server",
        report(&[&["loaded-latency", "--mix=read,2:1,write.nt", "--target-ns=150"], &tree[..]].concat())
    );
    insta::assert_snapshot!("loaded_overload_quick_verbose", {
        let tree = ["--simulate", SERVER, "--sim-memory=30", "--sim-overload=0.3"];
        report(&[&["loaded-latency", "--quick", "-v", "--ascii"], &tree[..]].concat())
    });
    insta::assert_snapshot!("scale_server", report(&[&["scale", "--op=read,write.nt"], &tree[..]].concat()));
    insta::assert_snapshot!("scale_expanded_quick", report(&["scale", "--quick", "--simulate", EXPANDED]));
    let plan = User::new().run(&["loaded-latency", "--dry-run", "--simulate", EXPANDED]).expect(0).out;
    insta::assert_snapshot!("plan_loaded_expanded", plan);
}

/// The published experiment `link-saturation` finds the known ceiling of a simulated link, with each seed of noise.
#[test]
fn link_saturation_finds_the_link() {
    let tree = "synth:sockets=2,cores=8,smt=1,mem=16G";
    for seed in 1..=testing::seeds(3) {
        let (link, seed) = (30.0 + 20.0 * testing::spread(seed), format!("--seed={seed}"));
        let arguments = [
            "run",
            "link-saturation",
            "--simulate",
            tree,
            &format!("--sim-link={link}"),
            "--sim-noise=0.01",
            &seed,
            "--no-save",
            "--json=-",
        ];
        let run = User::new().run(&arguments).expect(0).json();
        let found = findings(&run);
        let ceiling =
            found.iter().find(|f| f["metric"] == "scale.ceiling" && f["labels"]["place"] == "remote").unwrap();
        // The plan's kernel uses 8 bytes of each line: the link carries the lines.
        let value = ceiling["value"].as_f64().unwrap() / 1e9 * 8.0;
        assert!(
            (value / link - 1.0).abs() < 0.035 && ceiling["labels"]["limit"] == "link",
            "{seed}: {value} of {link}"
        );
    }
}

#[test]
fn curves_are_written_and_read_back() {
    let user = User::new();
    let arguments =
        ["loaded-latency", "--quick", "--simulate", SERVER, "--sim-memory=60", "--csv", "curve.csv", "--json=run.json"];
    user.run(&arguments).expect(0);
    let text = std::fs::read_to_string(user.path("curve.csv")).unwrap();
    let run = document(&user.path("run.json"));
    let seen = run["experiments"][0]["observations"].as_array().unwrap();
    let points = seen.iter().filter(|o| o["labels"]["purpose"] == "load").count();
    assert!(points >= 12 && text.lines().count() == points + 1, "{points} points: {text}");
    // Each row has its observation's numbers: GB/s in the fourth column, ns in the eighth.
    for row in text.lines().skip(1) {
        let fields: Vec<f64> = row.split(',').skip(1).map(|field| field.parse().unwrap()).collect();
        let here = seen.iter().find(|o| o["labels"]["pause"].as_f64() == Some(fields[1])).unwrap();
        assert_eq!(here["value"].as_f64(), Some(fields[6]), "{row}");
        let rate = here["parts"][0]["value"].as_f64().unwrap();
        assert!((fields[2] * 1e9 / rate - 1.0).abs() < 1e-9, "{row}");
    }
    let shown = user.run(&["show", "curve.csv"]).expect(0).out;
    assert!(shown.contains(&format!("{points} points of 1 curve:")), "{shown}");
    let printed = user
        .run(&["loaded-latency", "--quick", "--simulate", SERVER, "--sim-memory=60", "--csv=-", "-q"])
        .expect(0)
        .out;
    assert_eq!(printed, text, "the same curve on standard output, and nothing else");
    user.run(&["loaded-latency", "--simulate", SERVER, "--csv=-", "--json"]).expect(2);
    std::fs::write(user.path("bad.csv"), "rd_percentage,bandwidth,latency\n50,1,fast\n").unwrap();
    let refused = user.run(&["show", "bad.csv"]).expect(2).err;
    assert!(refused.contains("bad.csv") && refused.contains("'fast'"), "{refused}");
    user.run(&["show", "missing.csv"]).expect(2);
}

#[test]
fn loads_without_another_core_are_refused_with_a_cure() {
    let refused = User::new().run(&["loaded-latency", "--simulate", GUEST, "--cpus=1"]).expect(4).err;
    assert!(refused.contains("--cpus"), "{refused}");
    User::new().run(&["loaded-latency", "--simulate", GUEST, "--mix=9:1"]).expect(2);
    User::new().run(&["scale", "--simulate", GUEST, "--mem-node=3"]).expect(4);
    // Without siblings or a second node there is still a ramp.
    User::new().run(&["scale", "--simulate", GUEST]).expect(0);
}

#[test]
fn core_to_core_reports_are_exact() {
    let report = |tree: &str, more: &[&str]| {
        let arguments = [&["c2c", "--simulate", tree, "--no-save"], more].concat();
        let out = User::new().run(&arguments).expect(0).out;
        assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
        stable(&out)
    };
    insta::assert_snapshot!("c2c_guest", report(GUEST, &["--quick"]));
    insta::assert_snapshot!("c2c_server", report(SERVER, &[]));
    insta::assert_snapshot!("c2c_server_ops_ascii", report(SERVER, &["--op=cas,flag", "--sample=5", "--ascii"]));
    // 64 cpus: shades instead of numbers.
    insta::assert_snapshot!("c2c_many", report("synth:sockets=2,cores=16,smt=2,mem=16G", &["--quick"]));
    let plan = User::new().run(&["c2c", "--simulate", LARGEST, "--dry-run", "--max-time=60"]).expect(0).out;
    insta::assert_snapshot!("c2c_plan_largest", plan);
}

#[test]
fn core_to_core_of_a_hybrid_names_the_kinds() {
    let user = User::new();
    let hybrid =
        Synth { smt: 1, cores_per_node: 6, cores_per_llc: 6, first_efficiency_core: Some(2), ..Synth::default() };
    for (path, text) in hybrid.files() {
        let path = user.path(&format!("hybrid/{path}"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let out = user.run(&["c2c", "--simulate", "hybrid", "--quick", "--no-save"]).expect(0).out;
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    insta::assert_snapshot!("c2c_hybrid", stable(&out));
}

#[test]
fn the_same_command_gives_the_same_numbers() {
    let (first, one) = survey(GUEST, &["--quick", "--seed=7"]);
    let (second, two) = survey(GUEST, &["--quick", "--seed=7"]);
    assert_eq!(first, second);
    assert_eq!(one["experiments"], two["experiments"]);
    let (_, other) = survey(GUEST, &["--quick", "--seed=8"]);
    assert_ne!(one["experiments"], other["experiments"], "another seed, other noise");
}

#[test]
fn planning_for_2048_cpus_is_quick() {
    let began = Instant::now();
    let plan = User::new().run(&["survey", "--simulate", LARGEST, "--dry-run", "--json"]).expect(0).json();
    // Wide of the mark on purpose: this is about a plan that grows with the square of the cpus, not about speed.
    assert!(began.elapsed() < Duration::from_secs(30));
    let steps: usize = plan.as_array().unwrap().iter().map(|p| p["plan"]["steps"].as_array().unwrap().len()).sum();
    let small = User::new().run(&["survey", "--simulate", GUEST, "--dry-run", "--json"]).expect(0).json();
    let few: usize = small.as_array().unwrap().iter().map(|p| p["plan"]["steps"].as_array().unwrap().len()).sum();
    // Steps follow tiers and the octaves of their sizes: 1,024 times the cpus must not make 4 times the steps.
    assert!(steps < 4 * few, "{steps} steps, {few} on two cpus");
}

#[test]
fn a_cache_too_small_for_all_threads_is_said_and_is_no_failure() {
    // 8 cores with 2 MiB each above a shared cache of 16 MiB.
    let user = User::new();
    let tree = "synth:cores=8,smt=1,l2=2M,l3=16M,mem=16G";
    let refused = |ran: crate::common::Ran| -> Vec<serde_json::Value> {
        let run = ran.json();
        let experiments = run["experiments"].as_array().unwrap();
        experiments.iter().flat_map(|one| one["plan"]["refused"].as_array().unwrap().clone()).collect()
    };
    let survey = ["survey", "--quick", "--simulate", tree, "--json=-"];
    let names = |refused: &[serde_json::Value], what: &str| {
        refused.iter().any(|refusal| refusal["what"].as_str().unwrap().contains(what))
    };
    let small = refused(user.run(&survey).expect(0));
    assert!(names(&small, "L3"), "{small:?}");
    // Without room for DRAM a tier is missing, and that is one.
    let short = refused(user.run(&[&survey[..], &["--max-mem=8M"]].concat()).expect(5));
    assert!(names(&short, "DRAM"), "{short:?}");
    user.run(&["survey", "--quick", "--simulate", tree, "--max-mem=8M", "--allow-partial"]).expect(0);
    // Room for one thread's DRAM buffer, none for that of all: one thread's figure does not answer for all.
    let short = refused(user.run(&[&survey[..], &["--max-mem=48M"]].concat()).expect(5));
    assert!(names(&short, "DRAM"), "{short:?}");
}

#[test]
fn little_memory_leaves_the_caches_that_fit() {
    let tree = "synth:cores=2,smt=1,l3=32M,mem=4G";
    let user = User::new();
    let arguments = ["survey", "--simulate", tree, "--max-mem=4M", "--json=run.json"];
    let ran = user.run(&arguments).expect(5);
    let run = document(&user.path("run.json"));
    for tier in ["L1", "L2"] {
        for metric in ["latency", "bandwidth"] {
            let here = |f: &&serde_json::Value| f["metric"] == metric && f["labels"]["tier"] == tier;
            let measured = findings(&run).iter().filter(here).filter(|f| f["value"].is_number()).count();
            assert!(measured > 0, "{metric} of {tier}");
        }
    }
    assert!(!findings(&run).iter().any(|f| f["labels"]["tier"] == "DRAM"), "its footprint is above the limit");
    assert!(ran.out.contains("DRAM") && ran.out.contains("--max-mem"), "{}", ran.out);
    // Sizes that a user names: those that fit are measured, the others refused one by one.
    let ran = user.run(&["latency", "--simulate", tree, "--sizes=1M,2M,64M", "--max-mem=4M", "--quick"]).expect(5);
    for size in ["1 MiB", "2 MiB", "64 MiB"] {
        assert!(ran.out.contains(size), "{size}: {}", ran.out);
    }
}

#[test]
fn measured_sizes_are_those_of_the_machine() {
    let (_, run) = survey("synth:cores=2,smt=1,l1=48K,l2=1280K,l3=40M,mem=8G", &["--no-save"]);
    for (tier, truth) in [("L1", 48.0 * 1024.0), ("L2", 1280.0 * 1024.0), ("L3", 40.0 * 1024.0 * 1024.0)] {
        let here = |f: &&serde_json::Value| f["metric"] == "tier.size" && f["labels"]["tier"] == tier;
        let size = findings(&run).iter().find(here).and_then(|f| f["value"].as_f64());
        let size = size.unwrap_or_else(|| panic!("no size of {tier}"));
        assert!((size / truth - 1.0).abs() < 0.25, "{tier}: {size} measured, {truth} there");
    }
}

#[test]
fn a_busy_machine_is_told() {
    let (_, run) = survey(GUEST, &["--quick", "--sim-busy=200"]);
    let seen = run["experiments"].as_array().unwrap().iter().flat_map(|e| e["observations"].as_array().unwrap());
    let lost = seen.filter(|o| o["disturbance"]["gap_share"].as_f64().is_some_and(|share| share > 0.1)).count();
    assert!(lost > 20, "time slices lost 200 times a second leave {lost} marks");
}

#[test]
fn a_stopped_run_keeps_what_it_has() {
    let user = User::new();
    let ran = user.run(&["survey", "--simulate", GUEST, "--sim-stop=3"]).expect(130);
    assert!(ran.out.contains("INCOMPLETE"), "{}", ran.out);
    let saved = user.saved("json");
    assert_eq!((saved.len(), user.saved("journal").len()), (1, 0));
    let run = document(&saved[0]);
    assert_eq!(run["complete"], false);
    assert!(findings(&run).iter().any(|f| f["value"].is_number()));
}

#[test]
fn a_saved_run_is_shown_as_it_was() {
    let user = User::new();
    let first = user.run(&["latency", "--simulate", GUEST, "--quick", "--sizes=32K,1M"]).expect(0);
    let again = user.run(&["show"]).expect(0);
    assert_eq!(first.out, again.out);
    assert!(first.err.starts_with("Saved as") && first.err.lines().all(|line| line.len() <= 80), "{}", first.err);
    let json = user.run(&["show", "last", "--json"]).expect(0);
    let id = json.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(user.run(&["show", &id]).expect(0).out, again.out);
    assert!(user.run(&["list", "runs"]).expect(0).out.contains(&id));
    let mut piped = user.command(&["show", "-"]);
    piped.stdin(std::fs::File::open(user.saved("json").remove(0)).unwrap());
    assert_eq!(String::from_utf8(piped.output().unwrap().stdout).unwrap(), again.out);
    assert_ne!(user.run(&["show", "last", "--redact"]).expect(0).out, again.out);
}

#[test]
fn events_are_json_lines_and_end_with_the_run() {
    let user = User::new();
    let ran = user.run(&["latency", "--simulate", GUEST, "--quick", "--sizes=32K", "--jsonl"]).expect(0);
    let events: Vec<serde_json::Value> = ran.out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let name = |at: usize| events[at]["event"].as_str().unwrap();
    assert_eq!((name(0), name(1), name(events.len() - 1)), ("run_started", "experiment_started", "run_done"));
    assert!(events.iter().any(|e| e["event"] == "observed" && e["observation"]["value"].is_number()));
    assert_eq!(events.last().unwrap()["complete"], true);
    // The findings are those of the document.
    let found = events.iter().find(|e| e["event"] == "findings").unwrap();
    let run = user.run(&["latency", "--simulate", GUEST, "--quick", "--sizes=32K", "--json"]).expect(0).json();
    assert_eq!(found["findings"], run["experiments"][0]["findings"]);
}

#[test]
fn one_run_has_several_outputs_at_once() {
    let user = User::new();
    let arguments = ["bandwidth", "--simulate", GUEST, "--quick", "--sizes=32K", "--op=read", "--json=a.json"];
    let ran = user.run(&[&arguments[..], &["--jsonl=a.jsonl", "--no-save"]].concat()).expect(0);
    assert!(ran.out.contains("GB/s") && user.path("a.jsonl").exists());
    assert_eq!(document(&user.path("a.json"))["title"], "bandwidth");
    assert!(user.saved("json").is_empty(), "--no-save saves nothing");
}
