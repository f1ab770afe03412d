//! What the program advises: it must work, and fit what was asked.

use std::fs;

use crate::common::{User, document};

const MACHINE: &str = "synth:sockets=1,cores=2,smt=1,mem=4G";
const LATENCY: [&str; 5] = ["latency", "--quick", "--sizes=32K", "--simulate", MACHINE];

/// The command between backquotes that shows a run again.
fn shown_again(told: &str) -> Vec<String> {
    let command = told.split('`').find(|part| part.starts_with("tiermark show ")).expect(told);
    command.split(' ').skip(1).map(str::to_owned).collect()
}

#[test]
fn a_run_is_shown_again_as_told_wherever_it_was_saved() {
    for in_the_way in [false, true] {
        let user = User::new();
        if in_the_way {
            fs::write(user.path("runs"), b"in the way").unwrap();
        }
        let ran = user.run(&LATENCY).expect(0);
        let again = shown_again(&ran.err);
        let again: Vec<&str> = again.iter().map(String::as_str).collect();
        assert_eq!(user.run(&again).expect(0).out, ran.out);
        assert_eq!(again[1].contains('/'), in_the_way, "{again:?}");
    }
    // No home at all: the current directory takes it, which no id reaches.
    let user = User::new();
    let without_home = |arguments: &[&str]| user.command(arguments).env_remove("TIERMARK_HOME").output().unwrap();
    let told = String::from_utf8(without_home(&LATENCY).stderr).unwrap();
    let again = shown_again(&told);
    let output = without_home(&again.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(output.status.success() && !output.stdout.is_empty(), "{told}");
    let lost = String::from_utf8(without_home(&["show", "20200101"]).stderr).unwrap();
    assert!(lost.contains("TIERMARK_HOME"), "{lost}");
}

#[test]
fn a_bad_document_is_the_same_mistake_whichever_way_it_comes() {
    let user = User::new();
    fs::create_dir(user.path("runs")).unwrap();
    for text in
        [&b"{\"schema\":\"tiermark/run/4\",\"id\":"[..], b"[1,2]", b"{\"schema\":\"tiermark/run/9\"}", b"\xff\xfe"]
    {
        fs::write(user.path("x.json"), text).unwrap();
        fs::write(user.path("runs/20200101T000000-abcdef.json"), text).unwrap();
        fs::write(user.path("x.csv"), text).unwrap();
        for reference in [&user.path("x.json").display().to_string(), "20200101", "last", "x.csv"] {
            user.run(&["show", reference]).expect(2);
        }
        let mut command = user.command(&["show", "-"]);
        command.stdin(fs::File::open(user.path("x.json")).unwrap());
        assert_eq!(command.output().unwrap().status.code(), Some(2));
    }
}

#[test]
fn what_a_plan_asks_in_vain_is_not_the_users_option() {
    let user = User::new();
    let experiment = |more: &str| format!("[[experiment]]\nprobe='latency'\nsizes='32K'\nquick=true\n{more}");
    let both = format!("name='p'\ntitle='p'\n{}{}", experiment(""), experiment("mem-node='far'\n"));
    fs::write(user.path("far.toml"), both).unwrap();
    let plan = |more: &[&str]| {
        let arguments = ["run", "far.toml", "--simulate", MACHINE, "--no-save"];
        user.run(&[&arguments[..], more].concat())
    };
    let refused = plan(&["--json=-"]).expect(5).json()["experiments"][1]["plan"]["refused"][0].take();
    assert_eq!((&refused["code"], &refused["options"]), (&"no_far_node".into(), &["--allow-partial"].into()));
    for ran in [plan(&[]).expect(5), plan(&["--dry-run"]).expect(5)] {
        let told = ran.out + &ran.err;
        assert!(told.contains("--allow-partial") && !told.contains("leave --mem-node"), "{told}");
    }
    // One part is missing, which is said unless that was allowed.
    assert!(plan(&[]).expect(5).err.contains("--allow-partial"));
    assert!(!plan(&["--allow-partial"]).expect(0).err.contains("--allow-partial"));
    let told = user.run(&["latency", "--mem-node=far", "--simulate", MACHINE]).expect(4).err;
    assert!(told.contains("--mem-node"), "{told}");
    fs::write(user.path("p.toml"), "name='p'\ntitle='p'\n[[experiment]]\nprobe='tlb'\nmem-node=7\n").unwrap();
    let told = user.run(&["run", "p.toml", "--simulate", MACHINE]).expect(4).err;
    assert!(!told.contains("--mem-node"), "{told}");
}

#[test]
fn a_stopped_run_does_not_ask_for_more_time() {
    let user = User::new();
    let ran = user.run(&["survey", "--simulate", MACHINE, "--sim-stop", "0.3", "--json=run.json"]).expect(130);
    assert!(!ran.out.contains("--max-time"), "{}", ran.out);
    let run = document(&user.path("run.json"));
    let refusals =
        run["experiments"][0]["observations"].as_array().unwrap().iter().map(|seen| &seen["refusal"]["code"]);
    let codes: Vec<&serde_json::Value> = refusals.filter(|code| !code.is_null()).collect();
    assert!(!codes.is_empty() && codes.iter().all(|code| **code == "run_stopped"), "{codes:?}");
}

#[test]
fn little_time_goes_to_the_headlines() {
    let user = User::new();
    let ran = user.run(&["survey", "--max-time=1", "--simulate", MACHINE, "--json=run.json"]);
    let run = document(&user.path("run.json"));
    assert!(run["seconds"].as_f64().unwrap() < 1.1, "{}", run["seconds"]);
    let latency = &run["experiments"][0]["observations"];
    let first = latency.as_array().unwrap().iter().find(|o| o["labels"]["tier"] == "L1").unwrap();
    assert!(first["value"].is_f64(), "{}\n{}", first["verdict"], ran.out);
}

#[test]
fn points_of_a_curve_that_time_left_out_make_no_run_partial() {
    let user = User::new();
    // Enough for the ladder and not for the curves.
    let ran = user.run(&["latency", "--max-time=0.9", "--simulate", MACHINE, "--json=run.json"]).expect(0);
    let run = document(&user.path("run.json"));
    let left_out = run["experiments"][0]["observations"].as_array().unwrap().iter().filter(|o| o["value"].is_null());
    assert!(left_out.clone().count() > 0 && left_out.clone().all(|o| o["labels"]["purpose"] == "curve"), "{}", ran.out);
}

#[test]
fn a_plan_is_checked_whole() {
    let user = User::new();
    let check = |text: &str| {
        fs::write(user.path("p.toml"), text).unwrap();
        user.run(&["plan", "check", "p.toml", "--simulate", MACHINE])
    };
    let bad = "name='p'\ntitle='p'\n[[experiment]]\nprobe='latency'\nsizes=[]\nlayout='spiral'\nquick='yes'\n";
    let told = check(bad).expect(2).err;
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 3, "{told}");
    for (line, place) in lines.iter().zip(["line 5: sizes: ", "line 6: layout: ", "line 7: quick: "]) {
        assert!(line.starts_with(&format!("tiermark: error: plan p.toml, {place}")), "{told}");
    }
    let told = check("name='p'\ntitle='p'\n").expect(2).err;
    assert!(told.starts_with("tiermark: error: plan p.toml: experiment: "), "{told}");
    // What this machine lacks is no mistake: the plan may be for another.
    let elsewhere = "name='quick'\ntitle='p'\n[[experiment]]\nprobe='latency'\ncpus='0-99'\n\n[[experiment]]\nprobe='tlb'\nmem-node=7\n";
    let ran = check(elsewhere).expect(0);
    assert_eq!(ran.out, "quick: 2 experiments, no mistake found\n");
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(lines.len(), 3, "{}", ran.err);
    for (line, parts) in lines.iter().zip([["warning", "'quick'"], ["line 3: ", "99"], ["line 7: ", "7"]]) {
        assert!(parts.iter().all(|part| line.contains(part)), "{line}");
    }
    let ran = check("name='p'\ntitle='p'\n[[experiment]]\nprobe='latency'\n").expect(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("p: 1 experiment, no mistake found\n", ""));
    assert_eq!(user.run(&["plan", "check", "quick", "--simulate", MACHINE]).expect(0).err, "");
}

#[test]
fn every_key_is_listed_with_what_it_takes() {
    let page = User::new().run(&["plan", "keys"]).expect(0).out;
    for (key, takes) in [
        ("name", "text, required"),
        ("probe", "text, required"),
        ("quick", "true or false"),
        ("mem-node", "text"),
        ("sizes", "list"),
        ("target-ns", "text"),
    ] {
        let line = page.lines().find(|line| line.split_whitespace().next() == Some(key)).expect(key);
        assert!(line.trim_start()[key.len()..].trim_start().starts_with(takes), "{line}");
    }
    for of_the_run in ["json", "no-save", "simulate", "seed", "help"] {
        assert!(!page.lines().any(|line| line.split_whitespace().next() == Some(of_the_run)), "{of_the_run}");
    }
}

/// On this machine: what it lacks is not known here, and which of it is missing follows from what was asked.
#[test]
fn what_the_system_lacks_is_missing_where_it_is_named() {
    let user = User::new();
    let plan = user.run(&["os", "--dry-run", "--json"]).expect(0).json();
    let refused: Vec<&str> =
        plan[0]["plan"]["refused"].as_array().unwrap().iter().map(|r| r["what"].as_str().unwrap()).collect();
    let known = user.run(&["list", "primitives"]).expect(0).out;
    for name in refused {
        assert!(known.contains(name), "{name} is no primitive");
        let told = user.run(&["os", "--dry-run", &format!("--only={name},getppid")]).expect(5).out;
        assert!(told.contains(name), "{told}");
        user.run(&["os", "--dry-run", &format!("--only={name}")]).expect(4);
    }
}
