//! What users of MLC, likwid-bench and core-to-core-latency look for: a list of delays, the cpu that is timed, random
//! traffic, groups of threads, seconds a point, a scan of memory, pairs of cpus as CSV.

use crate::common::{User, document, findings};
use serde_json::{Value, json};

const SERVER: [&str; 3] = ["--simulate", "synth:sockets=1,cores=4,mem=16G", "--no-save"];

/// The plan of a command on a simulated server.
fn plan(user: &User, words: &[&str]) -> Value {
    user.run(&[words, &SERVER, &["--dry-run", "--json=-"]].concat()).expect(0).json()[0].clone()
}

#[test]
fn delays_and_the_chaser_are_what_was_asked_for() {
    let user = User::new();
    let words = ["loaded-latency", "--quick", "--mix", "2:1.random", "--delays", "0,500ns", "--chaser-cpu", "2"];
    let plan = plan(&user, &words);
    assert_eq!(plan["request"]["params"]["delays"], json!([0, 500]));
    let steps = plan["plan"]["steps"].as_array().unwrap();
    let loads = steps.iter().filter(|step| step["labels"]["purpose"] == "load");
    let pauses: Vec<&Value> = loads.clone().map(|step| &step["labels"]["pause"]).collect();
    assert_eq!(pauses, [0, 500]);
    for step in loads {
        assert_eq!((&step["setup"]["threads"][0]["cpu"], &step["labels"]["mix"]), (&json!(2), &json!("2:1.random")));
    }
    let refused = |words: &[&str]| user.run(&[&["loaded-latency"], words, &SERVER].concat()).expect(2).err;
    assert!(refused(&["--delays", "0,1s"]).contains("whole ns"));
    assert!(refused(&["--mix", "read", "--traffic", "cpus=1"]).contains("--traffic"));
}

#[test]
fn groups_come_from_the_command_line_a_file_and_a_plan_alike() {
    let user = User::new();
    let groups = ["cpus=0-1 mix=read size=128M", "cpus=2 mix=write.nt size=64M delay=300"];
    std::fs::write(user.path("traffic.txt"), format!("# two groups\n{}\n\n{}\n", groups[0], groups[1])).unwrap();
    let text = format!(
        "name = \"p\"\ntitle = \"t\"\n[[experiment]]\nprobe = \"bandwidth\"\nquick = true\ntraffic = [\"{}\", \
            \"{}\"]\n",
        groups[0], groups[1]
    );
    std::fs::write(user.path("plan.toml"), text).unwrap();
    let typed = plan(&user, &["bandwidth", "--quick", "--traffic", groups[0], "--traffic", groups[1]]);
    let read = plan(&user, &["bandwidth", "--quick", "--traffic", "traffic.txt"]);
    let planned = plan(&user, &["run", "plan.toml"]);
    for other in [&read, &planned] {
        assert_eq!(other["plan"]["steps"], typed["plan"]["steps"]);
        assert_eq!(other["request"]["params"], typed["request"]["params"]);
    }
    assert_eq!(typed["plan"]["steps"].as_array().unwrap().len(), 1);
    let words = ["bandwidth", "--quick", "--traffic", "traffic.txt", "--json=run.json"];
    let ran = user.run(&[&words[..], &SERVER].concat()).expect(0);
    let shown = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("write.nt on 2"), "{shown}");
    let run = document(&user.path("run.json"));
    let parts = findings(&run).into_iter().filter(|f| f["metric"] == "bandwidth.part").count();
    assert_eq!(parts, 2);
    std::fs::write(user.path("bad.txt"), "cpus=0-1 mix=read\ncpus=2 kind=write\n").unwrap();
    let bad = user.run(&[&["bandwidth", "--traffic", "bad.txt"][..], &SERVER].concat()).expect(2).err;
    assert!(bad.contains("line 2") && bad.contains("unknown key 'kind'"), "{bad}");
}

#[test]
fn seconds_are_those_of_each_point() {
    let user = User::new();
    let shots = |plan: &Value| -> Vec<f64> {
        let steps = plan["plan"]["steps"].as_array().unwrap();
        let of = |step: &Value| {
            step["stop"]["max_visits"].as_f64().unwrap() * step["stop"]["shot_seconds"].as_f64().unwrap()
        };
        steps.iter().map(of).collect()
    };
    for words in [&["loaded-latency", "--quick", "--seconds", "0.5"][..], &["matrix", "--quick", "--seconds", "0.5"]] {
        let shots = shots(&plan(&user, words));
        assert!(!shots.is_empty() && shots.iter().all(|seconds| (0.5..0.51).contains(seconds)), "{shots:?}");
    }
    let text = "name = \"p\"\ntitle = \"t\"\n[[experiment]]\nprobe = \"mlp\"\nseconds = \
        \"0.2\"\n[[experiment]]\nprobe = \"mlp\"\n";
    std::fs::write(user.path("plan.toml"), text).unwrap();
    let ran = user.run(&[&["run", "plan.toml", "--seconds", "0.3", "--dry-run", "--json=-"][..], &SERVER].concat());
    let plans = ran.expect(0).json();
    for (plan, seconds) in plans.as_array().unwrap().iter().zip([0.2, 0.3]) {
        assert!(shots(plan).iter().all(|of| (seconds..seconds + 0.01).contains(of)), "{plan}");
    }
    user.run(&[&["matrix", "--seconds", "0"][..], &SERVER].concat()).expect(2);
}

#[test]
fn a_scan_of_even_memory_lists_its_regions_and_names_none() {
    let user = User::new();
    let ran = user.run(&[&["scan", "--quick", "--max-mem", "8G", "--json=run.json"][..], &SERVER].concat()).expect(0);
    assert!(ran.out.contains("No slow region") && ran.out.contains("readable for root"), "{}", ran.out);
    assert!(ran.out.lines().all(|line| line.chars().count() <= 80), "{}", ran.out);
    let run = document(&user.path("run.json"));
    let of = |metric: &str| findings(&run).into_iter().filter(|f| f["metric"] == metric).count();
    assert_eq!((of("scan.latency"), of("scan.bandwidth"), of("scan.median"), of("scan.slow")), (8, 8, 2, 0));
    let few = user.run(&[&["scan", "--quick", "--max-mem", "2G"][..], &SERVER].concat()).expect(0).out;
    assert!(few.contains("too few") && !few.contains("No slow region"), "{few}");
    user.run(&[&["scan", "--chunk", "1M"][..], &SERVER].concat()).expect(2);
    // Where memory takes all of the time, the answer is of the regions that were reached.
    let slow = ["scan", "--quick", "--simulate", "synth:cores=2,mem=64G", "--sim-first-touch", "0.1"];
    let part = user.run(&slow).expect(5).out;
    assert!(part.contains("regions of node 0 scanned: what follows is of these alone"), "{part}");
}

#[test]
fn a_scan_needs_no_option_where_the_caches_are_large() {
    let user = User::new();
    let machine = ["--simulate", "synth:cores=4,l3=300M,mem=16G"];
    let ran = user.run(&[&["scan", "--quick", "--json=run.json"][..], &machine].concat()).expect(0);
    assert!(ran.out.contains("No slow region"), "{}", ran.out);
    let planned = user.run(&[&["scan", "--quick", "--dry-run"][..], &machine].concat()).expect(0).out;
    let words = planned.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("regions have 1.5 GiB, at least four times the 301 MiB of caches"), "{planned}");
}

#[test]
fn pairs_of_cpus_are_a_matrix_in_csv() {
    let user = User::new();
    let ran = user.run(&[&["c2c", "--quick", "--format", "pairs", "--json=run.json"][..], &SERVER].concat()).expect(0);
    let rows: Vec<Vec<&str>> = ran.out.lines().map(|line| line.split(',').collect()).collect();
    assert!(rows.len() > 2 && rows.iter().all(|row| row.len() == rows.len()), "{}", ran.out);
    for (index, row) in rows.iter().enumerate() {
        assert!(row[..index].iter().all(|cell| cell.parse::<f64>().is_ok_and(|ns| ns > 0.0)), "{}", ran.out);
        assert!(row[index..].iter().all(|cell| cell.is_empty()), "{}", ran.out);
    }
    let run = document(&user.path("run.json"));
    let is = |f: &&Value| f["metric"] == "c2c.pair" && f["labels"]["from"] == 0 && f["labels"]["to"] == 1;
    let pair = findings(&run).into_iter().find(|f| is(&f)).unwrap();
    assert!((rows[1][0].parse::<f64>().unwrap() * 2.0 - pair["value"].as_f64().unwrap()).abs() < 0.02, "{pair}");
    assert!(ran.err.contains("rows and columns are cpus 0-"), "{}", ran.err);
    let none =
        user.run(&[&["latency", "--quick", "--sizes", "16K", "--format", "pairs"][..], &SERVER].concat()).expect(0);
    assert!(none.out.trim().is_empty() && none.err.contains("tiermark c2c"), "{}", none.err);
}
