//! Plans run as a whole: what their commands would write, and options that hold for all experiments.

use crate::common::User;

const SERVER: &str = "synth:sockets=2,cores=4,mem=16G";

/// A plan of some experiments, each a probe with `quick`.
fn plan(user: &User, name: &str, probes: &[&str]) {
    let experiments: String =
        probes.iter().map(|probe| format!("[[experiment]]\nprobe = \"{probe}\"\nquick = true\n")).collect();
    std::fs::write(user.path(name), format!("name = \"p\"\ntitle = \"t\"\n{experiments}")).unwrap();
}

/// Whether a rule of this code is among those of an experiment's plan.
fn has_rule(experiment: &serde_json::Value, code: &str) -> bool {
    experiment["plan"]["rules"].as_array().unwrap().iter().any(|rule| rule["code"] == code)
}

#[test]
fn a_plan_writes_what_its_commands_would() {
    let user = User::new();
    plan(&user, "both.toml", &["matrix", "loaded-latency"]);
    let arguments = ["run", "both.toml", "--simulate", SERVER, "--no-save"];
    user.run(&[&arguments[..], &["--csv", "curve.csv", "--html=page.html"]].concat()).expect(0);
    let curve = std::fs::read_to_string(user.path("curve.csv")).unwrap();
    assert!(curve.starts_with("type,rd_percentage,pause,") && curve.lines().count() >= 12, "{curve}");
    assert!(std::fs::read_to_string(user.path("page.html")).unwrap().starts_with("<!"));
    let ran = user.run(&[&arguments[..], &["--csv=-"]].concat()).expect(0);
    assert_eq!(ran.out, curve, "on standard output in place of the report");
    let ran = user.run(&[&arguments[..], &["--csv=-", "--html=-"]].concat()).expect(2);
    assert!(ran.out.is_empty() && ran.err.contains("--csv and --html"), "{}", ran.err);
}

#[test]
fn published_figures_stand_beside_those_of_the_same_distance() {
    let user = User::new();
    let plan = ["run", "numa-latency", "--simulate", SERVER, "--no-save", "-q"];
    for node in ["0", "1"] {
        let told = user.run(&[&plan[..], &["--cpu-node", node]].concat()).expect(0).out;
        let beside = told.split("Figures published").nth(1).unwrap_or_else(|| panic!("{told}"));
        let rows = beside.lines().filter(|line| line.trim_start().starts_with("128 MiB"));
        let words: Vec<&str> = rows.flat_map(str::split_whitespace).collect();
        // What was published at a stride of 64, then what was measured.
        let here = |published: &str| -> f64 {
            let at = words.iter().position(|word| *word == published).unwrap_or_else(|| panic!("{published}: {told}"));
            words[at + 1].parse().unwrap()
        };
        let (local, remote) = (here("8.92"), here("12.9"));
        assert!(remote > 1.3 * local, "cpus of node {node}: {local} and {remote}");
        // Footprints four times apart show no caches.
        assert!(!told.contains("Caches, measured and declared"), "{told}");
    }
}

#[test]
fn a_plan_takes_the_options_that_its_text_recommends() {
    let user = User::new();
    let run = |arguments: &[&str]| {
        user.run(&[&["run"], arguments, &["--simulate", SERVER, "--no-save", "-q", "--json"]].concat())
    };
    let stated = ["link-saturation", "--peak", "90GB/s", "--link-rate", "45GB/s", "--touch-cpu", "0"];
    let params = &run(&stated).expect(0).json()["experiments"][0]["request"]["params"];
    let of = |key: &str| params[key].as_f64();
    assert_eq!((of("peak"), of("link_rate"), of("touch_cpu")), (Some(90e9), Some(45e9), Some(0.0)), "{params}");
    let pair = run(&["numa-latency", "--mem-node", "1"]).expect(0).json();
    let requests: Vec<&serde_json::Value> =
        pair["experiments"].as_array().unwrap().iter().map(|one| &one["request"]).collect();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert_eq!(requests[0]["scope"]["mem_node"], 1);
    let command = requests[0]["part"]["command"].as_str().unwrap();
    assert!(command.contains("--mem-node 1") && !command.contains("each"), "{command}");
}

#[test]
fn options_that_no_experiment_of_a_plan_takes_are_refused_by_name() {
    let user = User::new();
    let refused = |arguments: &[&str]| user.run(&[&["run"], arguments, &["--simulate", SERVER]].concat()).expect(2).err;
    let told = refused(&["hierarchy", "--peak", "90GB/s"]);
    for part in ["--peak", "`tiermark scale --peak`", "`tiermark matrix --peak`"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let told = refused(&["link-saturation", "--peak", "fast"]);
    assert!(told.contains("--peak") && told.contains("fast"), "{told}");
    let text = "name = \"own\"\ntitle = \"t\"\n[[experiment]]\nprobe = \"latency\"\npages = \"base\"\nquick = true\n";
    std::fs::write(user.path("own.toml"), text).unwrap();
    let told = refused(&["own.toml", "--pages", "thp"]);
    assert!(told.contains("--pages") && told.contains("plan show PLAN --toml"), "{told}");
}

#[test]
fn a_stated_peak_that_is_exceeded_limits_nothing() {
    let user = User::new();
    for probe in ["scale", "matrix"] {
        let run = [probe, "--quick", "--op", "read", "--simulate", SERVER, "--peak", "8.53GB/s"];
        let told = user.run(&run).expect(0).out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains("therefore too low") && !told.contains("channels are full"), "{told}");
        let explained = user.run(&["explain", "--json"]).expect(0).json();
        let found = explained["found"].as_array().unwrap();
        assert!(!found.iter().any(|one| one["rule"] == "limit-channels"), "{found:#?}");
    }
}

#[test]
fn what_a_plan_cannot_write_is_refused_before_it_runs() {
    let user = User::new();
    plan(&user, "one.toml", &["latency"]);
    let ran = user.run(&["run", "one.toml", "--simulate", SERVER, "--csv=x"]).expect(2);
    assert!(ran.out.is_empty() && !user.path("x").exists(), "{}", ran.err);
}

#[test]
fn options_of_a_run_hold_for_every_experiment() {
    let user = User::new();
    let probes = [
        "latency",
        "bandwidth",
        "matrix",
        "scale",
        "loaded-latency",
        "c2c",
        "geometry",
        "tlb",
        "mlp",
        "granularity",
        "residency",
        "scan",
        "soak",
    ];
    plan(&user, "all.toml", &probes);
    let arguments = ["run", "all.toml", "--simulate", SERVER, "--dry-run", "--json", "--cpus=2-3", "--precision=7"];
    let plans = user.run(&[&arguments[..], &["--allow-partial"]].concat()).expect(0).json();
    let plans = plans.as_array().unwrap();
    assert_eq!(plans.len(), probes.len());
    for plan in plans {
        let request = &plan["request"];
        assert_eq!(request["scope"]["cpus"], "2-3", "{}", request["probe"]);
        assert_eq!(request["precision"].as_f64(), Some(0.07), "{}", request["probe"]);
    }
}

/// `scan` and `soak` take most of the free memory, and `survey` is `latency` and `bandwidth`.
#[test]
fn the_full_plan_has_every_probe_but_those_that_its_text_names() {
    let user = User::new();
    let plans =
        user.run(&["run", "full", "--dry-run", "--json", "--allow-partial", "--simulate", SERVER]).expect(0).json();
    let planned: Vec<&serde_json::Value> =
        plans.as_array().unwrap().iter().map(|plan| &plan["request"]["probe"]).collect();
    let listed = user.run(&["list", "probes", "--json"]).expect(0).json();
    let probes: Vec<&serde_json::Value> = listed["items"].as_array().unwrap().iter().map(|row| &row["id"]).collect();
    let without: Vec<&&serde_json::Value> = probes.iter().filter(|probe| !planned.contains(probe)).collect();
    assert_eq!(without, [&"survey", &"scan", &"soak"], "{listed}");
    let text = user.run(&["plan", "show", "full"]).expect(0).out;
    assert!(text.contains("scan") && text.contains("soak"), "{text}");
}

#[test]
fn little_time_leaves_points_out_and_not_visits() {
    for tree in ["synth:cores=2,smt=1,l3=8M,mem=4G", SERVER] {
        let run = User::new().run(&["os", "--quick", "--no-save", "--json=-", "--simulate", tree]).expect(0).json();
        let experiment = &run["experiments"][0];
        assert!(has_rule(experiment, "quick_points"), "{}", experiment["plan"]["rules"]);
        assert!(run["seconds"].as_f64().unwrap() <= 20.0, "{}", run["seconds"]);
        let seen = experiment["observations"].as_array().unwrap();
        assert!(seen.len() > 60, "{} points", seen.len());
        for seen in seen {
            assert!(seen["allocations"].as_u64() >= Some(5), "{}: {}", seen["step"], seen["allocations"]);
        }
    }
}

#[test]
fn memory_moves_between_one_pair_of_nodes_of_each_distance() {
    let tree = "synth:sockets=8,cores=2,smt=1,mem=4G";
    let steps = |more: &[&str]| {
        let plan = [&["os", "--only=numa", "--dry-run", "--json=-", "--simulate", tree], more].concat();
        let plan = User::new().run(&plan).expect(0).json();
        let steps = plan[0]["plan"]["steps"].as_array().unwrap().len();
        (steps, has_rule(&plan[0], "left_out_of"))
    };
    let (few, is_told) = steps(&[]);
    // Three calls; every other socket is as far: there and back with the usual size, and the other size one way.
    assert_eq!(few, 3 * 3);
    assert!(is_told);
    assert_eq!(steps(&["--full"]), (3 * 2 * 56, false));
}

#[test]
fn a_plan_takes_names_of_primitives_as_the_command_does() {
    let user = User::new();
    let write = |more: &str| {
        let text = format!("name = \"p\"\ntitle = \"t\"\n[[experiment]]\nprobe = \"os\"\nquick = true\n{more}\n");
        std::fs::write(user.path("os.toml"), text).unwrap();
    };
    write("only = [\"getppid\", \"frok+exit\"]");
    let said = user.run(&["plan", "check", "os.toml"]).expect(2).err;
    assert!(said.contains("line 6: only: ") && said.contains("'fork+exit'"), "{said}");
    // Options of the whole run are for experiments that can take them, and no mistake beside one that cannot.
    write("only = [\"GETPP\"]");
    let run = ["run", "os.toml", "--pages=thp", "--format=mlc", "--no-save", "--json=run.json", "--simulate", SERVER];
    user.run(&run).expect(0);
    let run = crate::common::document(&user.path("run.json"));
    let experiment = &run["experiments"][0];
    assert_eq!(experiment["observations"].as_array().unwrap().len(), 1);
    assert!(has_rule(experiment, "pages_say_nothing"), "{}", experiment["plan"]["rules"]);
}
