//! The mlc-compatible layout, read back as parsers of such logs do: by block titles, columns and `name: number`.

mod common;

use common::User;

/// The rows of numbers of the matrix below a title.
fn matrix(text: &str, title: &str) -> Vec<Vec<f64>> {
    let lines =
        text.lines().skip_while(|line| !line.starts_with(title)).skip_while(|line| !line.starts_with("Numa node"));
    let rows = lines.skip(1).take_while(|line| !line.trim().is_empty());
    let cells = |row: &str| row.split_whitespace().skip(1).map(|cell| cell.parse().unwrap_or(f64::NAN)).collect();
    rows.map(cells).collect()
}

#[test]
fn a_simulated_server_is_told_in_the_layout_that_parsers_know() {
    let user = User::new();
    let server = "synth:sockets=2,cores=4,mem=16G";
    let plan = "name = \"all\"\ntitle = \"t\"\n[[experiment]]\nprobe = \"matrix\"\nquick = true\n[[experiment]]\nprobe = \"loaded\"\n[[experiment]]\nprobe = \"c2c\"\nquick = true\n";
    std::fs::write(user.path("all.toml"), plan).unwrap();
    let ran = user.run(&["run", "all.toml", "--simulate", server, "--format", "mlc"]).expect(0);
    let idle = matrix(&ran.out, "Measuring idle latencies");
    assert!(idle.len() == 2 && idle.iter().all(|row| row.len() == 2), "{}", ran.out);
    assert!(idle[0][1] > idle[0][0] && idle[1][0] > idle[1][1], "remote memory is farther: {idle:?}");
    let rates = matrix(&ran.out, "Measuring Memory Bandwidths between nodes");
    assert!(rates[0][0] > rates[0][1] && rates[0][1] > 1_000.0, "MB/s: {rates:?}");
    for peak in ["ALL Reads", "2:1 Reads-Writes", "1:1 Reads-Writes"] {
        let line = ran.out.lines().find(|line| line.starts_with(peak)).unwrap_or_else(|| panic!("{peak}: {}", ran.out));
        assert!(line.split_once(':').is_some() && line.rsplit('\t').next().unwrap().parse::<f64>().unwrap() > 1_000.0);
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
    assert!(ran.out.contains("Local Socket L2->L2 HITM latency\t"), "{}", ran.out);
    assert!(ran.out.contains("homed in reader socket"), "{}", ran.out);
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
    assert!(ran.out.contains("mlc-compatible layout") && !ran.out.contains("Measuring"), "{}", ran.out);
}
