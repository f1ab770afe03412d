//! The STREAM-like layout, read back as scripts do that take STREAM's table apart: a function, a colon and four
//! numbers.

use crate::common::{User, document, findings};

const SERVER: [&str; 3] = ["--simulate", "synth:sockets=1,cores=4,mem=16G", "--no-save"];

/// The rows of all tables: the function, its rate in MB/s and the times of a pass.
fn rows(text: &str) -> Vec<(String, [f64; 4])> {
    let row = |line: &str| {
        let (name, numbers) = line.split_once(':')?;
        let numbers: Vec<f64> = numbers.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        Some((name.to_owned(), numbers.try_into().ok()?))
    };
    text.lines().filter_map(row).collect()
}

#[test]
fn a_table_of_arrays_of_one_length_has_the_rates_of_the_document() {
    let user = User::new();
    let words = ["bandwidth", "--quick", "--op", "copy,scale,add,triad", "--threads", "cores", "--format", "stream"];
    let more = ["--array-elements", "30000000", "--json=run.json"];
    let ran = user.run(&[&words[..], &more, &SERVER].concat()).expect(0);
    // Scripts read these lines.
    let lines = ["Array size = 30000000 (elements), Memory per array = 228.9 MiB", "Number of Threads = 4"];
    assert!(lines.iter().all(|line| ran.out.contains(line)), "{}", ran.out);
    let rows = rows(&ran.out);
    let names: Vec<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Copy", "Scale", "Add", "Triad"], "{}", ran.out);
    let run = document(&user.path("run.json"));
    for ((name, [rate, avg, min, max]), arrays) in rows.iter().zip([2.0, 2.0, 3.0, 3.0]) {
        let is = |f: &&serde_json::Value| f["labels"]["op"] == name.to_lowercase();
        let found = findings(&run).into_iter().find(|f| is(&f)).unwrap();
        assert!((found["value"].as_f64().unwrap() / 1e6 / rate - 1.0).abs() < 1e-4, "{name}: {found}");
        assert_eq!(found["labels"]["size"].as_f64().unwrap() * 4.0, 30e6 * 8.0 * arrays, "{name}");
        assert!((min * rate / (30.0 * 8.0 * arrays) - 1.0).abs() < 1e-3, "{name}: {min} s at {rate} MB/s");
        assert!(min <= avg && avg <= max, "{name}: {min} {avg} {max}");
    }
}

#[test]
fn what_the_table_cannot_say_is_said_beside_it() {
    let user = User::new();
    let latency = user.run(&[&["latency", "--quick", "--sizes", "16K", "--format", "stream"][..], &SERVER].concat());
    let latency = latency.expect(0);
    assert!(latency.err.contains("STREAM-like"), "{}", latency.err);
    assert!(rows(&latency.out).is_empty(), "{}", latency.out);
    let both = ["bandwidth", "--array-elements", "1000000", "--sizes", "1M"];
    user.run(&[&both[..], &SERVER].concat()).expect(2);
    let small = ["bandwidth", "--array-elements", "8", "--threads", "one"];
    user.run(&[&small[..], &SERVER].concat()).expect(4);
}

/// Layouts for other programs have a row for each observation, and a line for each finding with a number.
#[test]
fn a_saved_run_is_a_table_and_metrics() {
    let user = User::new();
    let path = format!("{}/../history/tests/fixtures/run-4.json", env!("CARGO_MANIFEST_DIR"));
    let shown = |format: &str| user.run(&["show", &path, "--format", format]).expect(0).out;
    let (csv, lines) = (shown("csv"), shown("json-rows"));
    assert!(csv.starts_with("run,started,simulated,probe,experiment,step,"), "{csv}");
    let rows: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!rows.is_empty() && rows.iter().all(|row| row["labels"].is_object() && row["grade"].is_string()));
    assert_eq!(csv.lines().count(), rows.len() + 1);
    let metrics = shown("openmetrics");
    assert!(metrics.contains("# TYPE tiermark_run_complete gauge\n") && metrics.ends_with("# EOF\n"), "{metrics}");
}
