//! Where memory comes from: files, and every pair of nodes. Where counts of its traffic come from.

use crate::common::User;
use serde_json::Value;

const SERVER: &str = "synth:sockets=2,cores=4,mem=16G";
const GUEST: &str = "synth:cores=2,smt=1,l3=8M,mem=4G";

#[test]
fn each_pair_of_nodes_is_a_part_of_its_own() {
    let user = User::new();
    let arguments = ["latency", "--simulate", SERVER, "--quick", "--sizes=64M", "--mem-node=each", "--no-save"];
    let run = user.run(&[&arguments[..], &["--json"]].concat()).expect(0).json();
    let pair = |experiment: &Value| {
        let scope = &experiment["request"]["scope"];
        (scope["cpus"].as_str().unwrap().to_owned(), scope["mem_node"].as_u64().unwrap())
    };
    let pairs: Vec<(String, u64)> = run["experiments"].as_array().unwrap().iter().map(pair).collect();
    let cpus = |node: usize| pairs[2 * node].0.clone();
    assert_eq!(pairs, [(cpus(0), 0), (cpus(0), 1), (cpus(1), 0), (cpus(1), 1)]);
    assert_ne!(cpus(0), cpus(1));
    let value = |at: usize| run["experiments"][at]["observations"][0]["value"].as_f64().unwrap();
    assert!(value(1) > 1.5 * value(0) && value(2) > 1.5 * value(3));
    let one = ["latency", "--simulate", GUEST, "--quick", "--sizes=64K", "--mem-node=each", "--no-save", "--json"];
    assert_eq!(user.run(&one).expect(0).json()["experiments"].as_array().unwrap().len(), 1);
    // Rows are those of the cpus in scope.
    let few = [&arguments[..], &["--cpu-node=1", "--dry-run", "--json"]].concat();
    assert_eq!(user.run(&few).expect(0).json().as_array().unwrap().len(), 2);
}

#[test]
fn the_plan_of_pairs_shows_the_machine_before_the_numbers() {
    let user = User::new();
    let ran = user.run(&["run", "numa-latency", "--simulate", SERVER, "--no-save"]).expect(0);
    let part = ran.out.find("1 of 4: latency").unwrap();
    let last = ran.out.find("4 of 4: latency").unwrap();
    let pair = |at: usize| ran.out[at..].split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(pair(part).contains("--cpu-node 0 --mem-node 0") && pair(last).contains("--cpu-node 1 --mem-node 1"));
    assert_eq!(ran.out.matches("up to 64 of stride:1, up to 2").count(), 4, "{}", ran.out);
    let machine = user.run(&["machine", "--simulate", SERVER]).expect(0).out;
    let distances = machine.lines().find(|line| line.contains("21")).unwrap();
    assert!(ran.out[..part].contains(distances.trim()), "{}", ran.out);
    let run = user.run(&["run", "numa-latency", "--simulate", GUEST, "--no-save", "--json"]).expect(0).json();
    assert_eq!(run["plan"]["machine"], true);
    let rows = run["experiments"][0]["findings"].as_array().unwrap();
    let shared = |layout: &str| {
        let row = rows.iter().find(|f| f["labels"]["layout"] == layout && f["metric"] == "latency").unwrap();
        let mut notes = row["notes"].as_array().into_iter().flatten();
        notes.find(|note| note["code"] == "accesses_share_lines").map(|note| note["data"]["accesses"].as_u64().unwrap())
    };
    assert_eq!(["stride:1", "stride:32", "stride:64", "random"].map(shared), [Some(64), Some(2), None, None]);
}

#[test]
fn a_file_gives_memory_to_what_reads_and_to_nothing_else() {
    let user = User::new();
    std::fs::write(user.path("data"), vec![7u8; 8 << 20]).unwrap();
    let memory = format!("--memory=file:{}", user.path("data").display());
    let quick = ["--quick", "--simulate", GUEST, "--no-save", "--json", memory.as_str()];
    let read = ["bandwidth", "--op=read", "--sizes=1M", "--threads=one"];
    let run = user.run(&[&read[..], &quick].concat()).expect(0).json();
    assert_eq!(run["experiments"][0]["request"]["scope"]["memory"]["path"], user.path("data").display().to_string());
    let regions = &run["experiments"][0]["plan"]["steps"][0]["setup"]["regions"];
    assert_eq!((&regions[0]["policy"]["file"]["path"].is_string(), &regions[0]["page"]), (&true, &Value::from("base")));
    // Some steps, and none.
    let both = user.run(&[&["bandwidth", "--op=read,write", "--sizes=1M", "--threads=one"][..], &quick].concat());
    let both = both.expect(5).json();
    assert_eq!(both["experiments"][0]["plan"]["refused"][0]["code"], "memory_file_written");
    for arguments in [&["latency", "--sizes=64K"][..], &["matrix", "--op=read"], &["os", "--only=getppid"]] {
        user.run(&[arguments, &quick[..]].concat()).expect(4);
    }
    let gone = ["bandwidth", "--memory=file:/nowhere/at/all", "--simulate", GUEST];
    let said = user.run(&gone).expect(4).err;
    assert!(said.contains("truncate -s") && said.contains("--memory dir:"), "{said}");
    user.run(&["bandwidth", "--memory=here", "--simulate", GUEST]).expect(2);
    user.run(&["bandwidth", "--read-only", "--simulate", GUEST]).expect(2);
}

#[test]
fn a_new_file_is_measured_and_gone() {
    let user = User::new();
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let memory = format!("--memory=dir:{}", directory.path().display());
    let run =
        user.run(&["latency", "--quick", "--sizes=64K", "--force", "--no-save", "--json", &memory]).expect(0).json();
    let seen = &run["experiments"][0]["observations"][0];
    assert!(seen["visits"].is_object() && seen["refusal"].is_null(), "{seen}");
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    let only = ["bandwidth", "--op=write", "--sizes=64K", "--read-only", "--force", "--no-save", &memory];
    let said = user.run(&only).expect(4).err;
    assert!(said.contains("read only"), "{said}");
}

/// The files of a server with Granite Rapids whose kernel names the events of one sub-channel only.
fn granite_rapids(directory: &std::path::Path) {
    let put = |path: &str, text: &str| {
        let path = directory.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put("proc/cpuinfo", "processor : 0\nvendor_id : GenuineIntel\ncpu family : 6\nmodel : 173\nmodel name : Xeon 6\n");
    put("sys/devices/system/cpu/online", "0\n");
    put("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
    let source = |file: &str, text: &str| put(&format!("sys/bus/event_source/devices/uncore_imc_0/{file}"), text);
    source("type", "14\n");
    source("cpumask", "0\n");
    source("format/event", "config:0-7\n");
    source("format/umask", "config:8-15,32-63\n");
    source("events/cas_count_read", "event=0x05,umask=0xcf\n");
}

#[test]
fn sources_of_counters_say_what_they_count_and_why_they_do_not_open() {
    let user = User::new();
    granite_rapids(&user.path("tree"));
    let tree = format!("--root={}", user.path("tree").display());
    let list = user.run(&["list", "counters", &tree, "--json"]).expect(0).json();
    let ids: Vec<&str> =
        list["items"].as_array().unwrap().iter().map(|item| item["source"].as_str().unwrap()).collect();
    assert_eq!(ids, ["perf", "hsmp", "resctrl", "pcm-memory", "pcm", "likwid", "core"]);
    let perf = &list["items"][0];
    // A captured machine is not this machine: nothing is opened.
    assert_eq!((&perf["opens"], &perf["sees"][0]), (&Value::Null, &Value::from("reads")));
    assert_eq!(perf["boxes"], serde_json::json!([{ "name": "uncore_imc_0", "sockets": [0] }]));
    assert_eq!(
        (&perf["notes"][0]["code"], &perf["refused"]["code"]),
        (&"partial_alias".into(), &"not_this_machine".into())
    );
    let text = user.run(&["list", "counters", &tree]).expect(0).out;
    assert!(text.contains("cas_count_read") && text.contains("not tried"), "{text}");
    // A guest has no such counters, and no list of another kind is of a machine.
    let guest = user.run(&["list", "counters", "--simulate", GUEST, "--json"]).expect(0).json();
    assert_eq!(guest["items"][0]["refused"]["code"], "no_pmu");
    user.run(&["list", "kernels", &tree]).expect(2);
    // Here: whatever it is, each source that does not open says why.
    let here = user.run(&["list", "counters", "--json"]).expect(0).json();
    let says = |item: &Value| item["opens"] == true || !item["refused"]["why"].as_str().unwrap().is_empty();
    assert!(here["items"].as_array().unwrap().iter().all(says), "{here}");
}

/// Two lines of `pcm-memory -csv`.
const PCM: &str = "\
,,SKT0,SKT0,System,System,System
Date,Time,Ch0Read,Ch0Write,Read,Write,Memory
2026-01-02,03:04:05.000,  100.00,   10.00,    100.00,     10.00,    110.00
2026-01-02,03:04:06.000,  200.00,   20.00,    200.00,     20.00,    220.00
";

#[test]
fn a_source_of_counters_can_be_named() {
    let user = User::new();
    std::fs::write(user.path("pcm.csv"), PCM).unwrap();
    let named = |source: &str| {
        let list = user.run(&["list", "counters", "--json", "--counters-from", source]).expect(0).json();
        let [item] = &list["items"].as_array().unwrap()[..] else { panic!("{list}") };
        item.clone()
    };
    let file = named(&format!("pcm-memory={}", user.path("pcm.csv").display()));
    assert_eq!(
        (&file["source"], &file["opens"], &file["sees"][2]),
        (&"pcm-memory".into(), &true.into(), &"channels".into())
    );
    assert_eq!(file["notes"][0]["code"], "counts_come_late");
    // One without channels (-nc) that nobody has written for two hours.
    let sums = PCM.replace("Ch0Read", "Mem Read (MB/s)").replace("Ch0Write", "Mem Write (MB/s)");
    let old = std::fs::File::create(user.path("old.csv")).unwrap();
    std::io::Write::write_all(&mut &old, sums.as_bytes()).unwrap();
    old.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(7300)).unwrap();
    let old = named(&format!("pcm-memory={}", user.path("old.csv").display()));
    assert_eq!(old["sees"], serde_json::json!(["reads", "writes"]));
    assert_eq!(old["notes"][1]["code"], "file_is_old", "{old}");
    // Half of the channels of EPYC.
    let text = "STRUCT,Info,1\nTABLE,Group 1 Metric,MEM1,2\nMetric,HWThread 0\nRuntime (RDTSC) [s],2.0\n\
        Memory data volume (channels 0-3) [GBytes],1.0\n";
    std::fs::write(user.path("part"), text).unwrap();
    let part = named(&format!("likwid={}", user.path("part").display()));
    assert_eq!((&part["opens"], &part["refused"]["code"]), (&false.into(), &"likwid_without_memory".into()));
    std::fs::write(user.path("both"), text.replace(" (channels 0-3)", "")).unwrap();
    let both = named(&format!("likwid={}", user.path("both").display()));
    assert_eq!((&both["opens"], &both["sees"]), (&true.into(), &serde_json::json!(["total"])));
    let gone = named("likwid=/nowhere/at/all");
    assert_eq!((&gone["opens"], &gone["refused"]["code"]), (&false.into(), &"counts_unreadable".into()));
    for wrong in ["likwid", "pcm=", "pcm-server", "http://127.0.0.1:9738", "perf=1", "vtune"] {
        user.run(&["list", "counters", "--counters-from", wrong]).expect(2);
    }
    user.run(&["list", "runs", "--counters-from=perf"]).expect(2);
    // The cores of a captured machine are not those of this one.
    let captured =
        user.run(&["list", "counters", "--simulate", GUEST, "--json", "--counters-from=core"]).expect(0).json();
    assert_eq!(captured["items"][0]["refused"]["code"], "not_this_machine");
}

#[test]
fn a_file_of_events_adds_a_processor() {
    let user = User::new();
    granite_rapids(&user.path("tree"));
    let tree = format!("--root={}", user.path("tree").display());
    let perf = |more: &[&str]| {
        let list = user.run(&[&["list", "counters", &tree, "--json"], more].concat()).expect(0).json();
        list["items"][0].clone()
    };
    assert_eq!(perf(&[])["sees"][1], "writes");
    // The user's events of a processor are preferred to those of the program.
    let events = "name = \"mine\"\nsource = \"a manual\"\n[[cpu]]\nvendor = \"GenuineIntel\"\nfamily = 6\nmodels = [[173, 173]]\n\
        [[unit]]\npmu = \"uncore_imc_*\"\nis = \"channel\"\n\
        count = [{ of = \"both\", event = { event = 5, umask = 0xff }, bytes = 64 }]\n";
    std::fs::write(user.path("mine.toml"), events).unwrap();
    let path = user.path("mine.toml").display().to_string();
    assert_eq!(perf(&["--events", &path])["sees"], serde_json::json!(["total", "channels"]));
    std::fs::write(user.path("mine.toml"), events.replace("bytes = 64", "bites = 64")).unwrap();
    let said = user.run(&["list", "counters", "--events", &path]).expect(2).err;
    assert!(said.contains("mine.toml") && said.contains("bites"), "{said}");
    user.run(&["list", "counters", "--events=/nowhere/at/all"]).expect(2);
}
