//! The mlc-compatible layout, read back as parsers of such logs do: by block titles, columns and `name: number`.

use crate::common::{User, document};

/// The rows of numbers of the matrix below a title.
fn matrix(text: &str, title: &str) -> Vec<Vec<f64>> {
    let lines =
        text.lines().skip_while(|line| !line.starts_with(title)).skip_while(|line| !line.starts_with("Numa node"));
    let rows = lines.skip(1).take_while(|line| !line.trim().is_empty());
    let cells = |row: &str| row.split_whitespace().skip(1).map(|cell| cell.parse().unwrap_or(f64::NAN)).collect();
    rows.map(cells).collect()
}

/// A number of the peak block.
fn peak(text: &str, name: &str) -> f64 {
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {text}"));
    line.split_once(':').and_then(|_| line.rsplit('\t').next()).and_then(|value| value.trim().parse().ok()).unwrap()
}

/// A report without its version and what is measured.
fn titles(text: &str) -> String {
    let body = text.split_once('\n').map_or(text, |(_, body)| body);
    let is_title = |line: &&str| line.split_whitespace().next().is_some_and(|word| word.parse::<f64>().is_err());
    let name = |line: &str| line.split_once('\t').map_or(line, |(name, _)| name).trim_end().to_owned() + "\n";
    body.lines().filter(is_title).map(name).collect()
}

/// Useful bytes a second that all cores of the system moved in a mix.
fn useful(user: &User, mix: &str) -> f64 {
    let run = document(&user.path("run.json"));
    let is = |f: &&serde_json::Value| {
        f["metric"] == "loaded.peak" && f["labels"]["mix"] == mix && f["labels"]["place"] == "system"
    };
    crate::common::findings(&run).into_iter().find(|f| is(&f)).and_then(|f| f["value"].as_f64()).unwrap()
}

#[test]
fn a_part_of_the_system_is_not_told_as_the_whole() {
    let user = User::new();
    let server = ["--simulate", "synth:sockets=2,cores=4,mem=16G", "--format", "mlc", "--no-save"];
    let told = |more: &[&str]| user.run(&[more, &server].concat()).expect(0).out;
    let mut pages = String::new();
    for command in [
        &["loaded-latency", "--quick"][..],
        // Who names the cpus asks about those.
        &["loaded-latency", "--quick", "--cpus=0-3"],
        &["loaded-latency", "--quick", "--cpus=0-7"],
        &["loaded-latency", "--quick", "--cpus=0-3", "--mem-node=1"],
        // Streams of all cores will do for peaks, those alone that move as much on the channels.
        &["bandwidth", "--op", "read,copy/avx2,triad/avx2"],
        &["bandwidth", "--op", "read", "--cpus=0-3"],
    ] {
        pages += &format!("tiermark {}\n{}\n", command.join(" "), titles(&told(command)));
    }
    insta::assert_snapshot!("mlc_parts_of_the_system", pages);
}

#[test]
fn what_the_layout_cannot_say_is_said_beside_it() {
    let user = User::new();
    let told = |words: &[&str]| user.run(words).expect(0).err;
    let server = ["--simulate", "synth:sockets=1,cores=4,mem=16G", "--format", "mlc", "--no-save"];
    let matrix = ["matrix", "--quick", "--op", "latency"];
    for (command, has_doubts) in [
        (&["tlb", "--quick"][..], true),
        (&[&matrix[..], &["--sim-noise=0.1"]].concat(), false),
        (&[&matrix[..], &["--sim-noise=0"]].concat(), false),
    ] {
        let told = told(&[command, &server].concat());
        assert_eq!(told.contains("mlc-compatible"), has_doubts, "{command:?}: {told}");
    }
}

#[test]
fn a_simulated_server_is_told_in_the_layout_that_parsers_know() {
    let user = User::new();
    let server = "synth:sockets=2,cores=4,mem=16G";
    let plan = "name = \"all\"\ntitle = \"t\"\n[[experiment]]\nprobe = \"matrix\"\nquick = \
        true\n[[experiment]]\nprobe = \"loaded-latency\"\n[[experiment]]\nprobe = \"c2c\"\nquick = true\n";
    std::fs::write(user.path("all.toml"), plan).unwrap();
    let ran = user.run(&["run", "all.toml", "--simulate", server, "--format", "mlc", "--json=run.json"]).expect(0);
    let idle = matrix(&ran.out, "Measuring idle latencies");
    assert!(idle.len() == 2 && idle.iter().all(|row| row.len() == 2), "{}", ran.out);
    assert!(idle[0][1] > idle[0][0] && idle[1][0] > idle[1][1], "remote memory is farther: {idle:?}");
    let rates = matrix(&ran.out, "Measuring Memory Bandwidths between nodes");
    assert!(rates[0][0] > rates[0][1] && rates[0][1] > 1_000.0, "MB/s: {rates:?}");
    let peak = |name: &str| peak(&ran.out, name);
    // Twice what each node gives to its own cores, and no sum of parts of it: ratios are those on the channels.
    let diagonal = rates[0][0] + rates[1][1];
    assert!((peak("ALL Reads") / diagonal - 1.0).abs() < 0.1, "{} of {diagonal}", peak("ALL Reads"));
    for (name, mix, counted) in
        [("3:1", "2:1", 4.0 / 3.0), ("2:1", "1:1", 1.5), ("1:1", "write", 2.0), ("Stream-triad like", "triad.nt", 1.0)]
    {
        let useful = useful(&user, mix);
        assert!((peak(name) / (useful / 1e6 * counted) - 1.0).abs() < 1e-4, "{name}: {} of {useful}", peak(name));
    }
    let rows: Vec<Vec<f64>> = ran
        .out
        .lines()
        .skip_while(|line| !line.starts_with("======"))
        .skip(1)
        .take_while(|line| !line.is_empty())
        .map(|line| line.split_whitespace().map(|cell| cell.parse().unwrap()).collect())
        .collect();
    assert!(rows.len() >= 12 && rows.iter().all(|row| row.len() == 3), "{rows:?}");
    assert!(rows[0][0] == 0.0 && rows[0][2] > rows[rows.len() - 1][2], "no delay is the most traffic: {rows:?}");
    assert!(rows[0][2] > 0.8 * diagonal, "the load is that of all cores, not of one node's: {rows:?}");
    let blocks = ["Local Socket L2->L2 HITM latency\t", "homed in reader socket"];
    assert!(blocks.iter().all(|block| ran.out.contains(block)), "{}", ran.out);
}

#[test]
fn fetched_lines_are_homed_where_they_were_asked_to_be() {
    let user = User::new();
    let titles = |server: &str, more: &[&str]| -> Vec<String> {
        let arguments = [&["c2c", "--quick", "--simulate", server, "--format", "mlc"], more].concat();
        let out = user.run(&arguments).expect(0).out;
        out.lines().filter(|line| line.contains("homed")).map(str::to_owned).collect()
    };
    let title = |home: &str| vec![format!("Remote Socket L2->L2 HITM latency (data address homed {home})")];
    let two = "synth:sockets=2,cores=4,mem=16G";
    assert_eq!(titles(two, &[]), title("in reader socket"));
    // The pair that speaks for its relation begins on node 0, and who begins is who fetches.
    assert_eq!(titles(two, &["--mem-node=0"]), title("in reader socket"));
    assert_eq!(titles(two, &["--mem-node=1"]), title("in writer socket"));
    assert_eq!(titles("synth:sockets=3,cores=4,mem=24G", &["--mem-node=2", "--cpus=0-7"]), title("on node 2"));
}

#[test]
fn a_run_without_any_of_it_has_a_head_and_nothing_else() {
    let user = User::new();
    let ran = user.run(&["latency", "--sizes", "16K", "--simulate", "synth:", "--format", "mlc"]).expect(0);
    assert!(ran.out.contains("mlc-compatible") && !ran.out.contains("Measuring"), "{}", ran.out);
}
