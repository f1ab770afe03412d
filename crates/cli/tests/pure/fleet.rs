//! `fleet`, as a user types it.

use std::fs;
use std::sync::LazyLock;

use crate::common::User;
use serde_json::{Value, json};

/// A survey of a simulated server.
fn survey() -> &'static Value {
    static SURVEY: LazyLock<Value> = LazyLock::new(|| {
        let server = "synth:sockets=1,cores=4,smt=1,l3=8M,mem=4G";
        let survey = ["survey", "--quick", "--no-save", "--json=-", "-q", "--simulate", server];
        User::new().run(&survey).expect(0).json()
    });
    &SURVEY
}

/// The survey as one of a host, with the rates of memory of all cores times a factor.
fn of_host(host: &str, factor: f64) -> Value {
    let mut run = survey().clone();
    run["id"] = format!("20261128T100000-{host}").into();
    run["started"] = "2026-11-28T10:00:00Z".into();
    run["machine"]["system"]["hostname"] = host.into();
    let experiment = &mut run["experiments"][0];
    for part in ["findings", "observations"] {
        for number in experiment[part].as_array_mut().unwrap() {
            let labels = &number["labels"];
            if labels["tier"] == "DRAM" && labels["span"] == "all" && number["value"].is_number() {
                number["value"] = (number["value"].as_f64().unwrap() * factor).into();
                number["interval"] = Value::Null;
            }
        }
    }
    run
}

/// A folder of eight hosts, of which one is slow.
fn rack(user: &User) {
    fs::create_dir_all(user.path("rack7")).unwrap();
    for at in 0..8 {
        let host = format!("node{at:02}");
        let run = of_host(&host, if at == 3 { 0.8 } else { 1.0 + f64::from(at) * 1e-3 });
        fs::write(user.path(&format!("rack7/{host}.json")), run.to_string()).unwrap();
    }
}

#[test]
fn the_slow_host_of_a_folder_is_named_in_every_layout() {
    let user = User::new();
    rack(&user);
    let text = user.run(&["fleet", "rack7"]).expect(3).out;
    assert!(text.contains("8 hosts, 7 alike, 1 odd") && text.contains("-20"), "{text}");
    assert!(text.contains("SIMULATED: the numbers of 8 hosts"), "{text}");
    assert!(text.contains("✘ slow memory, no recorded fact explains it → tiermark"), "{text}");
    assert_eq!(user.run(&["fleet", "rack7", "--format", "hosts"]).expect(3).out, "node03\n");
    let fleet = user.run(&["fleet", "rack7", "--json"]).expect(3).json();
    assert_eq!((&fleet["schema"], &fleet["hosts"][0]["host"]), (&"tiermark/fleet/1".into(), &"node03".into()));
    assert_eq!(fleet["hosts"][0]["causes"][0]["rule"], "slow-memory");
    let csv = user.run(&["fleet", "rack7", "--format", "csv"]).expect(3).out;
    assert!(csv.lines().filter(|line| line.starts_with("node03,odd,1,")).count() > 20, "{csv}");
    let lines = user.run(&["fleet", "rack7", "--format", "lines"]).expect(3).out;
    assert_eq!(lines.lines().count(), csv.lines().count() - 1);
    let gauges = user.run(&["fleet", "rack7", "--format", "openmetrics"]).expect(3).out;
    assert!(gauges.contains("tiermark_fleet_hosts{state=\"odd\"} 1\n"), "{gauges}");
    let markdown = user.run(&["fleet", "rack7", "--format", "markdown"]).expect(3).out;
    assert!(markdown.starts_with("### tiermark fleet\n") && markdown.contains("| node03 |"), "{markdown}");
}

/// What drains nodes lists sure causes only, if asked, and never more than a share of the fleet.
#[test]
fn a_script_that_drains_nodes_gets_few_and_sure_ones() {
    let user = User::new();
    rack(&user);
    let chosen = |options: &[&str]| user.run(&[&["fleet", "rack7", "--format", "hosts"], options].concat()).expect(3);
    // Nothing that is recorded explains the slow host; one with many errors is sure.
    assert_eq!(chosen(&["--sure"]).out, "");
    let mut failing = of_host("node05", 1.0);
    failing["health"] = json!({"memory": [{"place": "mc0", "label": null, "uncorrected": null,
        "corrected": {"before": 500, "after": 500, "grew": 0}}], "up_seconds": 864_000});
    fs::write(user.path("rack7/node05.json"), failing.to_string()).unwrap();
    assert_eq!(chosen(&["--sure"]).out, "node05\n");
    assert_eq!(chosen(&["--sure", "--errors-a-day", "50"]).out, "");
    let few = chosen(&["--most", "15%"]);
    assert_eq!((few.out.as_str(), few.err.contains("--most leaves out 1 host")), ("node05\n", true), "{}", few.err);
    assert_eq!(chosen(&["--most", "30%"]).out, "node05\nnode03\n");
    let told = user.run(&["fleet", "rack7", "--most", "5%", "--format", "text"]).expect(2).err;
    assert!(told.contains("--format hosts"), "{told}");
}

/// Two machines of one name: nobody knows which is which.
#[test]
fn two_machines_under_one_name_are_no_clean_result() {
    let user = User::new();
    rack(&user);
    fs::remove_file(user.path("rack7/node03.json")).unwrap();
    user.run(&["fleet", "rack7"]).expect(0);
    let mut other = of_host("node02", 1.0);
    other["machine"]["system"]["product"] = "another".into();
    fs::write(user.path("rack7/clone.json"), other.to_string()).unwrap();
    let said = user.run(&["fleet", "rack7"]).expect(5).out;
    assert!(words(&said).contains("several files name their host 'node02'"), "{said}");
    // The label of another machine, given by mistake.
    fs::remove_file(user.path("rack7/clone.json")).unwrap();
    for (file, product) in [("node05", "the one"), ("node04", "another")] {
        let mut run = of_host(file, 1.0);
        run["labels"] = json!({"host": "node05"});
        run["machine"]["system"]["product"] = product.into();
        fs::write(user.path(&format!("rack7/{file}.json")), run.to_string()).unwrap();
    }
    let said = user.run(&["fleet", "rack7"]).expect(5).out;
    assert!(words(&said).contains("several machines have one name: node05"), "{said}");
}

/// Limits of a rack whose memory was not measured would pass a server whose memory is slow.
#[test]
fn limits_need_latency_and_bandwidth_of_memory() {
    let user = User::new();
    rack(&user);
    let limits = user.run(&["fleet", "rack7", "--limits"]).expect(3).out;
    assert!(limits.contains("edac.corrected.boot <= 0"), "hosts that count no errors: {limits}");
    for at in 0..8 {
        let mut run = of_host(&format!("node{at:02}"), 1.0);
        let findings = run["experiments"][0]["findings"].as_array_mut().unwrap();
        findings.retain(|found| !found["labels"]["tier"].as_str().is_some_and(|tier| tier.starts_with("DRAM")));
        fs::write(user.path(&format!("rack7/node{at:02}.json")), run.to_string()).unwrap();
    }
    let told = user.run(&["fleet", "rack7", "--limits"]).expect(5).err;
    assert!(told.contains("no latency or no bandwidth of memory"), "{told}");
}

/// `fleet` reads a part of each document.
#[test]
fn what_is_read_of_a_document_has_all_figures_and_facts_of_the_run() {
    let text = survey().to_string();
    let whole = tiermark_history::parse(text.as_bytes(), "a document").unwrap();
    let part = tiermark_history::parse_results(text.as_bytes(), "a document").unwrap();
    let figures = tiermark_compare::named_figures(&part);
    assert!(figures.len() > 20, "{}", figures.len());
    assert_eq!(figures, tiermark_compare::named_figures(&whole));
    assert_eq!(tiermark_compare::run_facts(&part), tiermark_compare::run_facts(&whole));
    let of = |run| format!("{:?}", tiermark_compare::fleet::HostRecord::of("a.json", "a", None, run));
    assert_eq!(of(&part), of(&whole));
}

#[test]
fn the_page_names_the_slow_host() {
    let user = User::new();
    rack(&user);
    user.run(&["fleet", "rack7", "--html", "rack7.html", "--format", "hosts"]).expect(3);
    let page = fs::read_to_string(user.path("rack7.html")).unwrap();
    assert!(page.starts_with("<!doctype html") && page.contains("node03") && page.contains("7 alike"), "{page}");
    let said = user.run(&["fleet", "rack7", "--html", "-"]).expect(3).out;
    assert!(said.starts_with("<!doctype html"), "{said}");
}

#[test]
fn what_a_fleet_taught_is_a_file_for_check() {
    let user = User::new();
    rack(&user);
    let limits = user.run(&["fleet", "rack7", "--limits"]).expect(3).out;
    fs::write(user.path("rack7.toml"), &limits).unwrap();
    user.run(&["check", "rack7/node05.json", "--expect", "rack7.toml"]).expect(0);
    let failed = user.run(&["check", "rack7/node03.json", "--expect", "rack7.toml"]).expect(3).out;
    assert!(failed.contains("read.dram.all"), "{failed}");
}

/// A text with one space between its words: lines break where there is no room.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// As a loop of ssh leaves them: the shell makes the files before the commands fail.
#[test]
fn hosts_without_a_document_are_named_with_what_they_said() {
    let user = User::new();
    rack(&user);
    fs::remove_file(user.path("rack7/node03.json")).unwrap();
    let write = |name: &str, text: &[u8]| fs::write(user.path(&format!("rack7/{name}")), text).unwrap();
    write("node08.json", b"");
    write("node08.err", b"ssh: connect to host node08 port 22: No route to host\n");
    // Documents begin with their schema.
    let whole = format!("{{\"schema\": \"tiermark/run/4\", {}", &of_host("node09", 1.0).to_string()[1..]);
    write("node09.json", &whole.as_bytes()[..whole.len() / 2]);
    write("node10.err", b"tiermark: error: no memory\n");
    let row = json!({"schema": "tiermark/failed-host/1", "host": "node11", "how": "timed_out", "exit": null,
        "message": "after 600 s", "at": "2026-11-28T10:00:00Z"});
    write("node11.failed.json", row.to_string().as_bytes());
    write("package.json", b"{\"name\": \"<script>\\u001b[2J\"}");
    write("broken.json", b"{");
    fs::write(user.path("hosts"), "node00 # first\n\nnode10\nnode12\n../secret\n").unwrap();
    let said = user.run(&["fleet", "rack7", "--hosts", "hosts"]).expect(7).out;
    for part in [
        "13 hosts, 7 alike, 4 failed, 2 missing",
        "node08  failed: ssh: connect to host node08 port 22: No route to host",
        "node09  failed: ",
        "node10  failed: tiermark: error: no memory",
        "node11  took too long: after 600 s",
        "node12  no document",
        "'rack7/package.json'",
        "'rack7/broken.json'",
    ] {
        assert!(words(&said).contains(&words(part)), "{part}\n{said}");
    }
    assert!(!said.contains('\u{1b}'), "{said}");
}

#[test]
fn names_can_be_left_out() {
    let user = User::new();
    rack(&user);
    fs::write(user.path("rack7/node08.err"), "node08 said").unwrap();
    fs::write(user.path("rack7/node08.json"), "").unwrap();
    fs::write(user.path("hosts"), "node01\nnode09\n").unwrap();
    for layout in ["text", "csv", "openmetrics"] {
        let said = user.run(&["fleet", "rack7", "--hosts", "hosts", "--redact", "--format", layout]).expect(3);
        assert!(!said.out.contains("node") || layout == "text" && !said.out.contains("node0"), "{}", said.out);
        assert!(said.out.contains("host-"), "{}", said.out);
    }
}

#[test]
fn a_wave_of_changes_is_judged_by_the_change_of_the_others() {
    let user = User::new();
    rack(&user);
    fs::create_dir_all(user.path("new")).unwrap();
    for at in 0..8 {
        let host = format!("node{at:02}");
        let factor = if at == 3 { 0.8 * 1.1 } else { 1.1 } * if at == 5 { 0.85 } else { 1.0 };
        fs::write(user.path(&format!("new/{host}.json")), of_host(&host, factor).to_string()).unwrap();
    }
    let said = user.run(&["fleet", "new", "--before", "rack7", "--format", "hosts"]).expect(3).out;
    assert_eq!(said, "node05\n");
    let text = user.run(&["fleet", "new", "--before", "rack7"]).expect(3).out;
    assert!(text.contains("read.dram.all") && text.contains("+9.") || text.contains("+10"), "{text}");
}

/// Documents of a newer version: each file is named with its reason.
#[test]
fn a_folder_of_which_nothing_could_be_read_says_why() {
    let user = User::new();
    fs::create_dir_all(user.path("newer")).unwrap();
    for host in ["node01", "node02"] {
        let mut run = of_host(host, 1.0);
        run["schema"] = "tiermark/run/9".into();
        fs::write(user.path(&format!("newer/{host}.json")), run.to_string()).unwrap();
    }
    fs::write(user.path("hosts"), "node01\nnode03\n").unwrap();
    let said = words(&user.run(&["fleet", "newer", "--hosts", "hosts"]).expect(4).out);
    for part in
        ["2 files not read", "'newer/node01.json'", "'newer/node02.json'", "newer tiermark", "node03 no document"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    let told = user.run(&["fleet", "newer", "--limits"]).expect(4).err;
    assert!(told.contains("newer/node01.json"), "{told}");
    rack(&user);
    let told = user.run(&["fleet", "rack7", "--before", "newer"]).expect(4).err;
    assert!(told.contains("newer/node01.json"), "{told}");
}

#[test]
fn wrong_use_says_what_is_wanted() {
    let user = User::new();
    fs::create_dir_all(user.path("empty")).unwrap();
    for (words, part) in [
        (&["fleet", "empty"][..], "there is no document of a host"),
        (&["fleet", "nowhere"], "'nowhere': it cannot be read"),
        (&["fleet", "empty", "--hosts", "none"], "--hosts 'none'"),
        (&["fleet"], "PATH"),
    ] {
        let said = user.run(words).expect(2).err;
        assert!(said.contains(part), "{said}");
    }
}

/// What the recipes for many hosts run, in their files.
const RECIPE: &str = "survey --quick --wait=10m";

/// A guest that shares a large L3, and whose host gives it memory at 0.4 GB/s and thread at first touch: filling could
/// take the time of the run.
#[test]
fn the_command_of_the_recipes_judges_memory_on_a_guest_with_slow_first_touch() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for file in ["docs/FLEET.md", "fleet/slurm/tiermark.sbatch", "fleet/ansible/roles/run/defaults/main.yml"] {
        assert!(fs::read_to_string(root.join(file)).unwrap().contains(RECIPE), "{file}");
    }
    let job = fs::read_to_string(root.join("fleet/kubernetes/base/job.yaml")).unwrap();
    let listed = RECIPE.split(' ').map(|word| format!("            - {word}\n")).collect::<String>();
    assert!(job.contains(&listed), "{job}");
    let guest = ["--simulate", "synth:cores=2,l3=480M,mem=16G", "--sim-first-touch", "0.4"];
    let user = User::new();
    user.run(&[&RECIPE.split(' ').collect::<Vec<_>>(), &guest[..], &["-q", "--json=guest.json"]].concat()).expect(0);
    let limits = ["latency.dram <= 10 us", "read.dram.one >= 0.1 GB/s", "read.dram.all >= 0.1 GB/s"];
    let limits = limits.map(|that| format!("[[expect]]\nthat = '{that}'\n")).concat();
    fs::write(user.path("limits.toml"), limits).unwrap();
    // Exit code 5: a figure is missing, or a bound.
    user.run(&["check", "guest.json", "--expect", "limits.toml"]).expect(0);
}

/// The loop of docs/FLEET.md, with stand-ins for ssh and the program: it runs from a folder that no other user can
/// enter, and leaves none.
#[test]
fn the_loop_over_ssh_runs_the_program_in_a_private_folder() {
    use std::os::unix::fs::PermissionsExt as _;
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/FLEET.md");
    let page = fs::read_to_string(page).unwrap();
    let from = page.find("    mkdir -p rack7\n").unwrap();
    let length = page[from..].find("\n\n").unwrap();
    let user = User::new();
    fs::create_dir_all(user.path("hosts-tmp")).unwrap();
    fs::write(user.path("hosts"), "n1\nn2\n").unwrap();
    for (name, text) in [
        ("ssh", "#!/bin/sh\nshift\nTMPDIR=$PWD/hosts-tmp exec sh -c \"$*\"\n"),
        ("tiermark", "#!/bin/sh\nstat -c %a \"${0%/*}\"\necho \"$@\"\n"),
    ] {
        fs::write(user.path(name), text).unwrap();
        fs::set_permissions(user.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", user.home.path().display(), std::env::var("PATH").unwrap());
    let mut shell = std::process::Command::new("bash");
    let ran = shell.args(["-c", &page[from..from + length]]).current_dir(user.home.path()).env("PATH", path).output();
    assert!(ran.unwrap().status.success());
    for host in ["n1", "n2"] {
        let document = fs::read_to_string(user.path(&format!("rack7/{host}.json"))).unwrap();
        assert_eq!(document, format!("700\n{RECIPE} --json -q --no-save --label host={host}\n"));
    }
    assert_eq!(fs::read_dir(user.path("hosts-tmp")).unwrap().count(), 0);
}
