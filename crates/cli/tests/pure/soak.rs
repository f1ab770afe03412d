//! `soak` on simulated machines, and what other commands make of its documents.

use std::fs;
use std::path::Path;

use crate::common::{User, document};
use serde_json::{Value, json};

const SERVER: &str = "synth:sockets=2,cores=4,smt=1,mem=16G";
/// A bit of the first GiB that is always 1.
const FAULT: &str = "0x1000.3:stuck1";
const QUICK: [&str; 4] = ["soak", "--quick", "--simulate", SERVER];

/// A user with a sound soak, one of faulty memory, and one whose rates are halved from the first second on.
fn soaked() -> User {
    User::after("soaked", |user| {
        let run = |file: &str, more: &[&str], code: i32| {
            user.run(&[&QUICK[..], &["-q", &format!("--json={file}")], more].concat()).expect(code);
        };
        run("sound.json", &[], 0);
        run("wrong.json", &["--sim-fault", FAULT], 3);
        run("slow.json", &["--sim-hot", "0:0.5"], 0);
    })
}

/// A user with surveys that end with a soak: `sound.json` and `wrong.json`.
fn surveyed() -> User {
    User::after("surveyed-and-soaked", |user| {
        let survey = ["survey", "--quick", "--soak", "quick", "-q", "--simulate", SERVER];
        user.run(&[&survey[..], &["--json=sound.json"]].concat()).expect(0);
        user.run(&[&survey[..], &["--json=wrong.json", "--sim-fault", FAULT]].concat()).expect(3);
    })
}

/// A text with one space between its words: lines break where there is no room.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn numbers<'a>(run: &'a Value, metric: &str) -> Vec<&'a Value> {
    let experiments = run["experiments"].as_array().unwrap();
    let findings = experiments.iter().flat_map(|experiment| experiment["findings"].as_array().unwrap());
    findings.filter(|found| found["metric"] == metric).map(|found| &found["value"]).collect()
}

#[test]
fn a_report_begins_with_the_result_and_names_each_wrong_word() {
    let user = soaked();
    let sound = user.run(&["show", "sound.json"]).expect(0).out;
    assert!(sound.contains("RESULT  No wrong word: ") && !sound.contains("Wrong words"), "{sound}");
    let wrong = user.run(&["show", "wrong.json"]).expect(0).out;
    for report in [&sound, &wrong] {
        assert!(report.lines().all(|line| line.chars().count() <= 80), "{report}");
        assert!(report.find("RESULT") < report.find("Memory that was compared"), "{report}");
    }
    let result = wrong.find("RESULT").unwrap_or_else(|| panic!("{wrong}"));
    assert!(result < wrong.find("Wrong words").unwrap(), "{wrong}");
    assert!(words(&wrong).contains("wrong on node 0"), "{wrong}");
    let run = document(&user.path("wrong.json"));
    let word = &run["experiments"][0]["observations"][0]["soak"]["wrong"][0];
    assert_eq!((&word["node"], &word["offset"]), (&json!(0), &json!(0x1000)));
    // The address, the bit and what the word did when it was written again.
    let wide = user.run(&["show", "wrong.json", "--width", "200"]).expect(0).out;
    let address = word["address"].as_str().unwrap();
    let row = wide.lines().find(|line| line.contains(address)).unwrap_or_else(|| panic!("{address}: {wide}"));
    assert!(row.contains("wrong again when written again") && row.split_whitespace().any(|bit| bit == "3"), "{row}");
    // One word with a stuck bit is no line of addresses without effect.
    assert!(!words(&wrong).contains("two addresses"), "{wrong}");
    let lines = user.run(&[&QUICK[..], &["-q", "--no-save", "--sim-fault", "line:20"]].concat()).expect(3).out;
    assert!(
        words(&lines).contains("addresses that differ in bit 20: two addresses lead to one place of memory"),
        "{lines}"
    );
    assert!(wrong.contains(address), "at 80 columns: {wrong}");
    let all = user.run(&["show", "wrong.json", "-v", "--width", "200"]).expect(0).out;
    assert!(all.contains(word["expected"].as_str().unwrap()) && all.contains(word["found"].as_str().unwrap()), "{all}");
    assert!(run["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == "words_wrong"));
}

#[test]
fn the_page_and_markdown_have_the_wrong_word() {
    let user = soaked();
    let run = document(&user.path("wrong.json"));
    let address = run["experiments"][0]["observations"][0]["soak"]["wrong"][0]["address"].as_str().unwrap();
    user.run(&["report", "wrong.json", "--html", "page.html"]).expect(0);
    let page = fs::read_to_string(user.path("page.html")).unwrap();
    assert!(page.contains(address) && page.contains("Wrong words"), "no {address} on the page");
    let markdown = user.run(&["show", "wrong.json", "--format", "markdown"]).expect(0).out;
    assert!(markdown.contains(address), "{markdown}");
}

#[test]
fn wrong_memory_fails_a_check_whatever_the_limits_are() {
    let user = surveyed();
    fs::write(user.path("one.toml"), "[[expect]]\nthat = 'memory.total >= 1 GiB'\n").unwrap();
    let failed = user.run(&["check", "wrong.json", "--expect", "one.toml"]).expect(3).out;
    assert!(failed.contains("FAILED") && failed.contains("soak.wrong <= 0"), "{failed}");
    let passed = user.run(&["check", "sound.json", "--expect", "one.toml"]).expect(0).out;
    assert!(passed.contains("PASSED"), "{passed}");
    // An acceptance may ask for more than no error.
    let more = ["soak.covered >= 50 %", "soak.kinds >= 7", "soak.seconds >= 61"];
    fs::write(user.path("more.toml"), more.map(|that| format!("[[expect]]\nthat = '{that}'\n")).concat()).unwrap();
    let failed = user.run(&["check", "sound.json", "--expect", "more.toml"]).expect(3).out;
    assert!(failed.contains("✘ soak.seconds >= 61") && !failed.contains("✘ soak.kinds"), "{failed}");
    // A run without a soak says nothing of one.
    user.run(&["survey", "--quick", "-q", "--simulate", SERVER, "--json=plain.json"]).expect(0);
    let plain = user.run(&["check", "plain.json", "--expect", "one.toml"]).expect(0).out;
    assert!(plain.contains("PASSED") && !plain.contains("soak"), "{plain}");
    // In one command.
    let check = ["check", "--run", "--soak", "quick", "--expect", "one.toml", "--simulate", SERVER];
    user.run(&[&check[..], &["--", "--quick", "-q"]].concat()).expect(0);
    user.run(&[&check[..], &["--sim-fault", FAULT, "--", "--quick", "-q"]].concat()).expect(3);
}

#[test]
fn a_survey_with_a_soak_is_one_document_with_one_report() {
    let user = surveyed();
    let run = document(&user.path("sound.json"));
    let probes: Vec<&Value> = run["experiments"].as_array().unwrap().iter().map(|e| &e["request"]["probe"]).collect();
    assert_eq!(probes, ["survey", "soak"]);
    let report = user.run(&["show", "sound.json"]).expect(0).out;
    assert!(report.contains("No wrong word") && report.contains("one core, GB/s"), "{report}");
    assert!(report.lines().all(|line| line.chars().count() <= 80), "{report}");
    let wrong = user.run(&["show", "wrong.json"]).expect(0).out;
    assert!(words(&wrong).contains("wrong on node 0"), "{wrong}");
}

#[test]
fn the_host_with_wrong_memory_is_named_with_its_cause() {
    let user = surveyed();
    fs::create_dir_all(user.path("rack7")).unwrap();
    for at in 0..5 {
        let host = format!("node{at:02}");
        let mut run = document(&user.path(if at == 3 { "wrong.json" } else { "sound.json" }));
        run["id"] = format!("20261128T100000-{host}").into();
        run["started"] = "2026-11-28T10:00:00Z".into();
        run["machine"]["system"]["hostname"] = host.clone().into();
        fs::write(user.path(&format!("rack7/{host}.json")), run.to_string()).unwrap();
    }
    let text = user.run(&["fleet", "rack7"]).expect(3).out;
    assert!(words(&text).contains("5 hosts, 4 alike, 1 odd"), "{text}");
    assert!(words(&text).contains(" 1 wrong word, the first on node 0 at 0x700000001000"), "{text}");
    assert!(words(&text).contains("→ tiermark soak"), "{text}");
    let sure = user.run(&["fleet", "rack7", "--format", "hosts", "--sure"]).expect(3).out;
    assert_eq!(sure, "node03\n");
    let fleet = user.run(&["fleet", "rack7", "--json"]).expect(3).json();
    assert_eq!(fleet["hosts"][0]["causes"][0]["rule"], "wrong-memory");
    assert_valid(&fleet, "fleet-1");
}

/// Sizes follow from free memory: a series with them would end with each run.
#[test]
fn metrics_have_the_soak_without_its_sizes() {
    let user = soaked();
    let text = user.run(&["show", "wrong.json", "--format", "openmetrics"]).expect(0).out;
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("tiermark_soak")).collect();
    for name in [
        "tiermark_soak_wrong{",
        "tiermark_soak_lost{",
        "tiermark_soak_covered_bytes{",
        "tiermark_soak_read_bytes_per_second{",
        "tiermark_soak_written_bytes_per_second{",
    ] {
        assert!(lines.iter().any(|line| line.starts_with(name)), "{name}: {text}");
    }
    assert!(lines.iter().all(|line| !line.contains("size=") && line.contains("probe=\"soak\"")), "{lines:#?}");
    let wrong = lines.iter().find(|line| line.starts_with("tiermark_soak_wrong{")).unwrap();
    let value: f64 = wrong.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(value > 0.0 && text.ends_with("# EOF\n"), "{wrong}");
    let csv = user.run(&["show", "wrong.json", "--format", "csv"]).expect(0).out;
    assert!(csv.contains("soak.wrong"), "{csv}");
}

#[test]
fn documents_are_valid_by_their_schemas() {
    for user in [soaked(), surveyed()] {
        for file in ["sound.json", "wrong.json"] {
            assert_valid(&document(&user.path(file)), "run-4");
        }
    }
}

#[test]
fn rates_of_soaks_are_compared_and_have_a_history() {
    let user = soaked();
    let rate = |file: &str| numbers(&document(&user.path(file)), "soak.read")[0].as_f64().unwrap();
    assert!(rate("slow.json") < 0.6 * rate("sound.json"));
    let found = user.run(&["compare", "sound.json", "slow.json", "--json"]).expect(0).json();
    let figures = found["others"][0]["figures"].as_array().unwrap();
    for metric in ["soak.read", "soak.written"] {
        let of: Vec<&Value> = figures.iter().filter(|figure| figure["metric"] == metric).collect();
        assert!(of.len() == 2 && of.iter().all(|figure| figure["verdict"] == "worse"), "{metric}: {figures:#?}");
    }
    let text = user.run(&["compare", "sound.json", "slow.json"]).expect(0).out;
    assert!(text.contains("worse"), "{text}");
    let gate = user.run(&["compare", "sound.json", "wrong.json", "--fail-over", "5%"]).expect(3).out;
    assert!(gate.contains("soak wrong"), "{gate}");
    let why = user.run(&["explain", "wrong.json"]).expect(0).out;
    assert!(words(&why).contains("A soak read wrong words"), "{why}");
    let history = user.run(&["history", "--json", "--simulate", SERVER]).expect(0).json();
    let rates = history["figures"].as_array().unwrap().iter().filter(|figure| figure["metric"] == "soak.read");
    assert_eq!(rates.filter(|figure| figure["points"].as_array().unwrap().len() == 3).count(), 2, "{history}");
    let text = user.run(&["history", "--simulate", SERVER]).expect(0).out;
    assert!(text.contains("soak"), "{text}");
}

#[test]
fn a_plan_says_what_it_would_take_and_a_soak_is_made_again() {
    let user = soaked();
    let plan = user.run(&[&QUICK[..], &["--dry-run"]].concat()).expect(0).out;
    assert!(words(&plan).contains("node 1: ") && plan.contains("60 s"), "{plan}");
    let plans = user.run(&["survey", "--quick", "--soak", "quick", "--dry-run", "--json", "--simulate", SERVER]);
    assert_eq!(plans.expect(0).json().as_array().unwrap().len(), 2);
    let again = user.run(&["rerun", "sound.json", "--simulate", SERVER, "--json", "--no-save"]).expect(0).json();
    let before = document(&user.path("sound.json"));
    assert_eq!(again["experiments"][0]["request"], before["experiments"][0]["request"]);
    assert_eq!(numbers(&again, "soak.covered"), numbers(&before, "soak.covered"));
    let rerun = ["rerun", "sound.json", "--simulate", SERVER, "--sim-fault", FAULT, "--json", "--no-save", "-q"];
    user.run(&rerun).expect(3);
}

/// Fails unless a document is valid by one of the committed schemas.
fn assert_valid(document: &Value, schema: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schema/{schema}.json"));
    let schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let wrong = invalid(document, &schema, &schema, "");
    assert_eq!(wrong, None);
}

/// Where and why a value is invalid by a schema, as far as it uses the words that this project's schemas have.
fn invalid(value: &Value, schema: &Value, root: &Value, at: &str) -> Option<String> {
    if let Some(target) = schema["$ref"].as_str() {
        let target = root.pointer(target.trim_start_matches('#')).unwrap_or_else(|| panic!("no {target}"));
        return invalid(value, target, root, at);
    }
    for one_of in ["anyOf", "oneOf"].iter().filter_map(|key| schema[key].as_array()) {
        if !one_of.iter().any(|schema| invalid(value, schema, root, at).is_none()) {
            return Some(format!("{at}: {value} is none of {}", one_of.len()));
        }
    }
    let is_type = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        _ => value.is_object(),
    };
    let types: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|name| is_type(name)) {
        return Some(format!("{at}: {value} is not {types:?}"));
    }
    let is_other = schema["enum"].as_array().is_some_and(|all| !all.contains(value));
    if is_other || schema.get("const").is_some_and(|only| only != value) {
        return Some(format!("{at}: {value} is not allowed"));
    }
    if let Some(object) = value.as_object() {
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        if let Some(missing) = required.into_iter().find(|key| !object.contains_key(*key)) {
            return Some(format!("{at}: no {missing}"));
        }
        // Keys that are numbers: any of the patterns' schemas, all of which are one here.
        if let Some(patterns) = schema["patternProperties"].as_object() {
            let of = patterns.values().next()?;
            return object.iter().find_map(|(key, value)| invalid(value, of, root, &format!("{at}/{key}")));
        }
        return object.iter().find_map(|(key, value)| {
            let of = schema["properties"].get(key).or_else(|| schema.get("additionalProperties"))?;
            if of == false {
                Some(format!("{at}/{key} is unknown"))
            } else {
                invalid(value, of, root, &format!("{at}/{key}"))
            }
        });
    }
    let items = schema.get("items").zip(value.as_array());
    items.and_then(|(of, all)| {
        all.iter().enumerate().find_map(|(index, value)| invalid(value, of, root, &format!("{at}/{index}")))
    })
}
