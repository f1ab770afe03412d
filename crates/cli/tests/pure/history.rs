//! `history`, as a user types it.

use std::fs;
use std::sync::LazyLock;
use std::time::Duration;

use crate::common::User;
use serde_json::{Value, json};

const GUEST: &str = "synth:cores=2,smt=1,l3=8M,mem=4G";
const HERE: [&str; 2] = ["--simulate", GUEST];

/// A survey of a simulated guest.
fn survey() -> &'static Value {
    static SURVEY: LazyLock<Value> = LazyLock::new(|| {
        let survey = ["survey", "--quick", "--no-save", "--json=-", "-q", HERE[0], HERE[1]];
        User::new().run(&survey).expect(0).json()
    });
    &SURVEY
}

/// The survey as a run of a day of November, with its latencies times a factor.
fn of_day(survey: &Value, day: usize, factor: f64) -> Value {
    let mut run = survey.clone();
    run["id"] = format!("202611{day:02}T000000-{day:06x}").into();
    run["started"] = format!("2026-11-{day:02}T00:00:00Z").into();
    let experiment = &mut run["experiments"][0];
    for part in ["findings", "observations"] {
        for number in experiment[part].as_array_mut().unwrap() {
            if number["unit"] == "ns" && number["value"].is_number() {
                number["value"] = (number["value"].as_f64().unwrap() * factor).into();
                number["interval"] = Value::Null;
            }
        }
    }
    run
}

fn save(user: &User, run: &Value) {
    fs::create_dir_all(user.path("runs")).unwrap();
    let name = format!("runs/{}.json", run["id"].as_str().unwrap());
    fs::write(user.path(&name), run.to_string()).unwrap();
}

/// Without a run of a real machine, the list of all machines says what is there.
#[test]
fn simulated_runs_are_named_where_no_other_is_saved() {
    let user = User::new();
    save(&user, &of_day(survey(), 1, 1.0));
    let said = user.run(&["history", "--all"]).expect(0).out;
    assert!(said.contains("No run of a real machine is saved") && said.contains("1 on simulated machines"), "{said}");
    // As it says.
    let said = user.run(&["history", "--all", "--simulate", "synth:"]).expect(0).out;
    assert!(said.contains("20261101T000000"), "{said}");
    let said = user.run(&["history", "--all", "--simulate", "synth:", "--since=2026-11-02"]).expect(0).out;
    assert!(said.contains("No run is that new"), "{said}");
}

/// So many values that a change is beyond chance among the figures of a survey.
const DAYS: usize = 24;

/// A user with a survey a day, the memory of whose machine became 8 % slower on the 13th, with another kernel.
fn with_a_change() -> User {
    let user = User::new();
    for day in 1..=DAYS {
        let mut run = of_day(survey(), day, if day < 13 { 1.0 } else { 1.08 } + 1e-4 * (day % 3) as f64);
        if day >= 13 {
            run["machine"]["system"]["kernel"] = "6.99.0".into();
        }
        save(&user, &run);
    }
    user
}

fn figure<'a>(found: &'a Value, tier: &str) -> &'a Value {
    let is_it = |figure: &&Value| figure["labels"]["tier"] == tier && figure["metric"] == "latency";
    found["figures"].as_array().unwrap().iter().find(is_it).unwrap()
}

#[test]
fn a_change_of_level_is_found_with_its_runs_and_facts() {
    let user = with_a_change();
    let found = user.run(&["history", "--json", HERE[0], HERE[1]]).expect(0).json();
    assert_eq!((&found["schema"], &found["total"]), (&"tiermark/history/1".into(), &DAYS.into()));
    assert_eq!(found["runs"][0]["grades"]["trusted"], 29);
    let dram = figure(&found, "DRAM");
    let change = &dram["changes"][0];
    assert_eq!((&change["last"], &change["run"]), (&"20261112T000000-00000c".into(), &"20261113T000000-00000d".into()));
    assert!((change["change"].as_f64().unwrap() - 0.08).abs() < 0.001 && change["facts"][0]["fact"] == "kernel");
    assert_eq!((dram["changes"].as_array().unwrap().len(), &dram["trend"]), (1, &Value::Null));
    let rate = found["figures"].as_array().unwrap().iter().find(|figure| figure["metric"] == "bandwidth").unwrap();
    assert_eq!((&rate["changes"], rate["points"].as_array().unwrap().len()), (&json!([]), DAYS));
    for more in [&[][..], &["-v"], &["--ascii", "--units=both"], &["latency.dram"], &["read.l3.one"]] {
        let out = user.run(&[&["history", HERE[0], HERE[1]], more].concat()).expect(0).out;
        assert!(out.lines().all(|line| line.chars().count() <= 80) && out.contains("2026-11-24"), "{out}");
        assert_eq!(out.contains("6.99.0"), more != ["read.l3.one"], "{out}");
    }
    // Names as `check` has them, of several figures too.
    let found =
        user.run(&["history", "--json", "latency.dram", "LATENCY.L1.cycles", HERE[0], HERE[1]]).expect(0).json();
    let names: Vec<&Value> = found["figures"].as_array().unwrap().iter().map(|figure| &figure["name"]).collect();
    assert_eq!(names, ["latency.l1", "latency.dram"]);
    // And what describes a run.
    let found = user.run(&["history", "--json", "core.clock", HERE[0], HERE[1]]).expect(0).json();
    assert_eq!(
        (&found["figures"][0]["name"], &found["figures"][0]["metric"]),
        (&json!("core.clock"), &json!("core.clock"))
    );
    for (name, said) in [("latency.dra", "'latency.dram'"), ("read.l3", "read.l3.one"), ("latency.l4", "none of these")]
    {
        let ran = user.run(&["history", name, HERE[0], HERE[1]]).expect(2);
        assert!(ran.err.contains(said), "{}", ran.err);
    }
}

#[test]
fn runs_are_limited_and_dated() {
    let user = with_a_change();
    let runs = |more: &[&str]| {
        let found = user.run(&[&["history", "--json", HERE[0], HERE[1]], more].concat()).expect(0).json();
        let points = found["figures"].as_array().unwrap().first().map_or(0, |f| f["points"].as_array().unwrap().len());
        (found["runs"].as_array().unwrap().len(), found["total"].as_u64().unwrap(), points)
    };
    assert_eq!(runs(&["--limit=3"]), (3, 24, 24), "figures are over all runs");
    assert_eq!(runs(&["--limit=all", "--since=2026-11-04"]), (21, 21, 21));
    assert_eq!(runs(&["--since", "20261110"]), (15, 15, 15));
    assert_eq!(runs(&["--since=100000d"]), (20, 24, 24));
    assert_eq!(runs(&["--since=2099-01-01"]), (0, 0, 0));
    assert!(user.run(&["history", "--limit=3", HERE[0], HERE[1]]).expect(0).out.contains("and 21 earlier"));
    for wrong in ["--limit=0", "--limit=few", "--since=yesterday", "--since=", "--since=2026-99-99zz"] {
        user.run(&["history", wrong, HERE[0], HERE[1]]).expect(2);
    }
}

#[test]
fn simulated_runs_and_those_of_other_machines_are_apart() {
    let user = User::new();
    let survey = survey();
    save(&user, &of_day(survey, 1, 1.0));
    let mut other = of_day(survey, 2, 1.0);
    other["machine"]["system"]["hostname"] = "elsewhere".into();
    save(&user, &other);
    // The simulated machine as if it were real.
    let mut real = of_day(survey, 3, 1.0);
    real["simulated"] = Value::Null;
    save(&user, &real);
    fs::write(user.path("runs/torn.json"), "{").unwrap();
    let ids = |more: &[&str]| {
        let found = user.run(&[&["history", "--json"], more].concat()).expect(0).json();
        let id = |run: &Value| run["id"].as_str().unwrap().split('T').next().unwrap().to_owned();
        found["runs"].as_array().unwrap().iter().map(id).collect::<Vec<_>>()
    };
    // Another simulated machine, with the same host name and processor.
    let mut larger = of_day(survey, 4, 1.0);
    larger["simulated"] = "synth:cores=2,smt=1,l3=8M,mem=8G".into();
    save(&user, &larger);
    let mut unnamed = of_day(survey, 5, 1.0);
    (unnamed["simulated"], unnamed["machine"]["system"]["hostname"]) = (Value::Null, Value::Null);
    save(&user, &unnamed);
    assert_eq!(ids(&HERE), ["20261101"]);
    assert_eq!(ids(&["--all"]), ["20261103", "20261105"]);
    assert_eq!(ids(&["--all", HERE[0], HERE[1]]), ["20261101", "20261102", "20261104"]);
    for more in [&[][..], &HERE, &["--all"], &["--since=2099-01-01"]] {
        let out = user.run(&[&["history"], more].concat()).expect(0).out;
        assert!(out.contains("torn: ") && out.contains("nreadable"), "{out}");
    }
    let found = user.run(&["history", "--json"]).expect(0).json();
    assert_eq!(
        (&found["unreadable"][0]["id"], &found["unnamed"], &found["elsewhere"]),
        (&"torn".into(), &1.into(), &1.into())
    );
    let out = user.run(&["history"]).expect(0).out;
    assert!(out.contains("of other machines") && out.contains("without a host name"), "{out}");
    let none = User::new().run(&["history"]).expect(0).out;
    assert!(none.contains("tiermark survey"), "{none}");
}

#[test]
fn another_method_is_a_series_of_its_own() {
    let user = User::new();
    let survey = survey();
    for day in 1..=4 {
        let mut run = of_day(survey, day, 1.0);
        run["experiments"][0]["method"] = if day < 3 { 1 } else { 2 }.into();
        save(&user, &run);
    }
    let out = user.run(&["history", "latency.l1", HERE[0], HERE[1]]).expect(0).out;
    let said = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("2 values of 2026-11-01 to 2026-11-02 are not comparable"), "{out}");
    assert!(said.contains("measured by an older method: not comparable (version 1 against 2)"), "{out}");
}

#[test]
fn a_killed_history_loses_no_run() {
    let user = User::new();
    let survey = survey();
    (1..=20).for_each(|day| save(&user, &of_day(survey, day, 1.0)));
    for wait in [0, 20, 60, 120, 250, 500] {
        let mut child = user.start(&["history", "--rebuild", HERE[0], HERE[1]]);
        std::thread::sleep(Duration::from_millis(wait));
        let _ = child.kill();
        child.wait().unwrap();
        let mut children: Vec<_> = (0..2).map(|_| user.start(&["history", HERE[0], HERE[1]])).collect();
        children.iter_mut().for_each(|child| assert!(child.wait().unwrap().success()));
        let found = user.run(&["history", "--json", HERE[0], HERE[1]]).expect(0).json();
        assert_eq!((&found["total"], figure(&found, "L1")["points"].as_array().unwrap().len()), (&20.into(), 20));
    }
}
