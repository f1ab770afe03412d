//! `tiermark load` as users call it: on a real server where `redis-server` is installed, and where there is none.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::User;
use crate::common::redis::{Redis, free_port};
use crate::common::terminal::{Terminal, ended};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};
use serde_json::Value;

#[test]
fn a_terminal_shows_what_is_being_done() {
    let Some(redis) = Redis::start(&[]) else { return };
    let user = User::new();
    let words = ["load", "-t", redis.target.as_str(), "--rps=100", "--duration=3", "--warmup=0", "--keys=10"];
    let mut terminal = Terminal::start(&user, &words);
    terminal.until("measuring ");
    terminal.until(" %: 1 s, ");
    assert_eq!(ended(&mut terminal.child), Some(0));
}

/// What `help` answers to command lines of redis-benchmark and memtier_benchmark, on a server.
#[test]
fn commands_in_place_of_other_tools_run() {
    let Some(redis) = Redis::start(&[]) else { return };
    let user = User::new();
    let (host, port) = redis.target.rsplit_once(':').unwrap();
    for line in [
        "redis-benchmark -h HOST -p PORT -r 1000 -n 2000 -t get,set,lpush -q -P 16",
        "memtier_benchmark -s HOST -p PORT --key-maximum=500 -n 5 --ratio 1:1 --key-pattern=G:G --data-size-list=64:80,1K:20",
        "memtier_benchmark --requests=allkeys --host=HOST --port=PORT --key-minimum=1 --key-maximum=300",
    ] {
        let line = line.replace("HOST", host).replace("PORT", port);
        let help = user.run(&[&["help"], &line.split(' ').collect::<Vec<_>>()[..]].concat()).expect(0).out;
        let here = help.lines().find_map(|line| line.strip_prefix("    tiermark ")).unwrap();
        user.run(&[&here.split(' ').collect::<Vec<_>>()[..], &["--force", "--warmup=0"]].concat()).expect(0);
    }
}

/// A run of load that ends with this code, as its document.
#[track_caller]
fn document(user: &User, arguments: &[&str], code: i32) -> Value {
    let all = [&["load"], arguments, &["--json"]].concat();
    user.run(&all).expect(code).json()
}

#[test]
fn an_open_loop_reports_both_latencies_rate_and_cost() {
    let Some(redis) = Redis::start(&[]) else { return };
    let user = User::new();
    let target = redis.target.as_str();
    let run = document(
        &user,
        &[
            "-t",
            target,
            "--fill",
            "--rps",
            "300",
            "--duration",
            "1",
            "--warmup",
            "0.2",
            "--keys",
            "500",
            "--gets",
            "70",
            "--verify",
            "--seed",
            "5",
        ],
        0,
    );
    assert_eq!(run["schema"], "tiermark/load/1");
    assert_eq!(
        (&run["complete"], &run["workload"]["seed"], &run["workload"]["loop"]),
        (&true.into(), &5.into(), &"open".into())
    );
    let filled = &run["fill"]["tenants"][0];
    assert_eq!((filled["sets"].as_u64(), filled["errors"].as_u64()), (Some(500), Some(0)));
    let seen = &run["measured"]["tenants"][0];
    assert_eq!(seen["target"], *target);
    assert_eq!((seen["scheduled"].as_u64(), seen["done"].as_u64()), (Some(300), Some(300)));
    assert_eq!((seen["misses"].as_u64(), seen["mismatches"].as_u64()), (Some(0), Some(0)));
    assert_eq!(seen["gets"].as_u64().unwrap() + seen["sets"].as_u64().unwrap(), 300);
    for kind in ["response", "service"] {
        assert_eq!((seen[kind]["count"].as_u64(), &seen[kind]["unit"]), (Some(300), &"ns".into()));
        let values: Vec<f64> = ["min", "p50", "p99", "p999", "max"].map(|q| seen[kind][q].as_f64().unwrap()).to_vec();
        assert!(values[0] > 0.0 && values.windows(2).all(|pair| pair[0] <= pair[1]), "{kind}: {values:?}");
    }
    assert!(run["measured"]["client_cpu_seconds_per_request"].as_f64().is_some_and(|s| s > 0.0));

    let text = user
        .run(&["load", "-t", target, "-n", "2000", "-c", "4", "-P", "3", "--keys", "500", "--warmup", "0"])
        .expect(0);
    for said in ["closed loop", "Service", "P99.9", "cpu a request", "requests/s", "2000 answers"] {
        assert!(text.out.contains(said), "{said} in:\n{}", text.out);
    }
}

#[test]
fn a_load_is_saved_and_found_as_other_runs_are() {
    let Some(redis) = Redis::start(&[]) else { return };
    let user = User::new();
    let common = ["load", "-t", redis.target.as_str(), "-n", "100", "--warmup", "0", "--keys", "10"];
    let saved = || std::fs::read_dir(user.path("load")).map_or(0, |files| files.count());
    user.run(&[&common[..], &["--no-save"]].concat()).expect(0);
    assert_eq!(saved(), 0);
    let told = user.run(&common).expect(0);
    let id = user.run(&["list", "runs", "--json"]).expect(0).json()["items"][0]["id"].as_str().unwrap().to_owned();
    assert!(told.err.contains(&format!("`tiermark show {id}` shows it again.")) && saved() == 1, "{}", told.err);
    for name in ["last", id.as_str()] {
        assert_eq!(user.run(&["show", name]).expect(0).out, told.out);
    }
    let json = user.run(&["show", "--json"]).expect(0).json();
    assert_eq!((&json["id"], &json["measured"]["all"]["done"]), (&id.clone().into(), &100.into()));
    let csv = user.run(&["show", "--format", "csv"]).expect(0).out;
    assert!(csv.lines().skip(1).all(|row| row.starts_with(&format!("{id},"))) && csv.contains("request.rate"), "{csv}");
    // With --json alone nothing else is on standard output, and the document is the one that is saved.
    let json = user.run(&[&common[..], &["--json", "-q"]].concat()).expect(0);
    assert!(json.err.is_empty(), "{}", json.err);
    assert_eq!(json.json(), user.run(&["show", "--json"]).expect(0).json());
    // What cannot be saved is no success.
    std::fs::remove_dir_all(user.path("load")).unwrap();
    std::fs::write(user.path("load"), "a file").unwrap();
    let told = user.run(&common).expect(0).err;
    assert!(told.contains("tiermark-") && told.contains("warning"), "it is in the current directory: {told}");
}

/// Of a distribution by percentile: the last row's count and the lines behind the rows.
fn percentiles(text: &str) -> (u64, Vec<&str>) {
    let rows: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(rows[0].split_whitespace().next(), Some("Value"), "{text}");
    let last = rows.last().unwrap().split_whitespace().nth(2).unwrap();
    (last.parse().unwrap(), text.lines().filter(|line| line.starts_with('#')).collect())
}

#[test]
fn values_of_several_sizes_and_a_range_of_keys_are_recorded_and_written_by_percentile() {
    let Some(redis) = Redis::start(&[]) else { return };
    let user = User::new();
    let common = ["-t", redis.target.as_str(), "--warmup", "0", "-n", "600", "--verify", "--fill", "--gets", "50"];
    let sized = ["-d", "16-64:3,1K", "--value-order", "rising", "-k", "1000-1199", "--key-dist", "sequential"];
    let run = document(&user, &[&common[..], &sized, &["--hgrm", "r.hgrm", "--hgrm-service", "s.hgrm"]].concat(), 0);
    let asked = &run["workload"];
    assert_eq!((&asked["value_sizes"], &asked["value_order"]), (&"16-64:3,1024".into(), &"rising".into()));
    assert_eq!((asked["value_bytes"].as_u64(), asked["value_mean_bytes"].as_f64()), (Some(1024), Some(286.0)));
    assert_eq!((asked["first_key"].as_u64(), asked["keys"].as_u64()), (Some(1000), Some(200)));
    let seen = &run["measured"]["tenants"][0];
    assert_eq!((seen["misses"].as_u64(), seen["mismatches"].as_u64()), (Some(0), Some(0)));
    for (file, what) in [("r.hgrm", "Response times of 1 tenant"), ("s.hgrm", "Service times of 1 tenant")] {
        let text = std::fs::read_to_string(user.path(file)).unwrap();
        let (counted, lines) = percentiles(&text);
        assert_eq!((counted, lines.len()), (600, 4), "{text}");
        assert!(lines[3].contains(what) && lines[3].contains("milliseconds"), "{text}");
    }
    let shown = user.run(&[&["load"], &common[..], &["--hgrm", "-"]].concat()).expect(0);
    assert_eq!(percentiles(&shown.out).0, 600);
    let twice = user.run(&[&["load"], &common[..], &["--hgrm", "-", "--json"]].concat()).expect(2);
    assert!(twice.err.contains("standard output"), "{}", twice.err);
}

#[test]
fn doubts_and_bad_answers_are_told_and_leave_a_code() {
    let Some(redis) = Redis::start(&["--maxmemory", "2500kb"]) else { return };
    let user = User::new();
    let common = ["load", "-t", redis.target.as_str(), "--keys", "20000", "--warmup", "0", "-n", "500"];
    let part = |more: &[&str], code: i32, part: &str| {
        let ran = user.run(&[&common[..], more, &["--json"]].concat()).expect(code);
        ran.json()[part]["tenants"][0].take()
    };
    let misses = part(&[], 0, "measured");
    assert_eq!(misses["misses"], misses["gets"], "{misses}");
    assert_eq!(part(&["--gets", "0"], 0, "measured")["sets"], 500);
    let fault = part(&["--fill"], 1, "fill")["fault"].take();
    assert_eq!(fault["code"], "tenant_refuses", "{fault}");
    assert!(fault["data"]["answer"].as_str().unwrap().starts_with("OOM "), "{fault}");
    let errors = part(&["--gets", "0"], 5, "measured");
    assert!(errors["first_error"].as_str().unwrap().starts_with("OOM "), "{errors}");
}

#[test]
fn a_signal_ends_it_with_what_was_seen() {
    let Some(redis) = Redis::start(&[]) else { return };
    let user = User::new();
    let arguments =
        ["load", "-t", redis.target.as_str(), "--rps", "200", "--duration", "60", "--warmup", "0", "--json=out.json"];
    let mut child = user.start(&arguments);
    thread::sleep(Duration::from_millis(1500));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let run = crate::common::document(&user.path("out.json"));
    assert_eq!(run["complete"], false);
    let seen = &run["measured"]["tenants"][0];
    assert!(seen["done"].as_u64().is_some_and(|n| (20..2000).contains(&n)), "{seen}");
}

/// A server that accepts connections and answers some PINGs, and reads nothing else.
struct Deaf {
    address: String,
    /// Connections that it has.
    accepted: Arc<AtomicUsize>,
    _held: Arc<Mutex<Vec<TcpStream>>>,
}

impl Deaf {
    /// A server that answers the PING of each connection, or no PING at all.
    fn new(answers: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (accepted, held) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (counts, keeps) = (Arc::clone(&accepted), Arc::clone(&held));
        // It ends with the test's process.
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                if answers && stream.read_exact(&mut [0; b"*1\r\n$4\r\nPING\r\n".len()]).is_ok() {
                    let _ = stream.write_all(b"+PONG\r\n");
                }
                keeps.lock().unwrap().push(stream);
                counts.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self { address, accepted, _held: held }
    }
}

/// Longest that something is waited for which takes a moment.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that answers nothing keeps it going.
#[test]
fn a_load_that_is_killed_is_listed() {
    let (user, silent) = (User::new(), TcpListener::bind("127.0.0.1:0").unwrap());
    let target = silent.local_addr().unwrap().to_string();
    let listed = || {
        let text = user.run(&["list", "runs"]).expect(0).out;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let journal = || {
        let files = std::fs::read_dir(user.path("load")).into_iter().flatten().flatten().map(|file| file.path());
        files.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
    };
    for (signal, word) in [(Signal::INT, None), (Signal::KILL, Some("killed"))] {
        let mut child = user.start(&["load", "-t", &target, "--rps=10", "--quiet"]);
        let started = Instant::now();
        while !journal().is_some_and(|path| std::fs::metadata(path).is_ok_and(|file| file.len() > 0)) {
            assert!(started.elapsed() < Duration::from_secs(20), "no file");
            thread::sleep(Duration::from_millis(5));
        }
        assert!(
            listed().contains("load: open loop, 10 requests/s each") && listed().contains(": running"),
            "{}",
            listed()
        );
        kill_process(Pid::from_child(&child), signal).unwrap();
        child.wait().unwrap();
        assert_eq!(journal().is_some(), word.is_some(), "{signal:?}");
        assert_eq!(listed().contains(": killed, no document"), word.is_some(), "{signal:?}: {}", listed());
    }
    let id = journal().unwrap().file_stem().unwrap().to_string_lossy().into_owned();
    let told = user.run(&["show", &id]).expect(2).err;
    assert!(told.contains("it has no results") && told.contains("run it again"), "{told}");
    let told = user.run(&["show"]).expect(2).err;
    assert!(told.contains("(load), was killed"), "{told}");
}

/// The exit code of a program that has to end soon.
#[track_caller]
fn ends(child: &mut Child) -> Option<i32> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("it goes on");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_signal_ends_it_while_a_server_that_answers_nothing_is_waited_for() {
    let (user, deaf) = (User::new(), Deaf::new(false));
    let mut child = user.start(&["load", "-t", &deaf.address, "--timeout", "3600", "--json=out.json"]);
    while deaf.accepted.load(Ordering::Relaxed) == 0 {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(ends(&mut child), Some(130));
    let run = crate::common::document(&user.path("out.json"));
    assert_eq!((&run["complete"], &run["measured"]), (&false.into(), &Value::Null));
    let mut shown = String::new();
    child.stdout.take().unwrap().read_to_string(&mut shown).unwrap();
    assert!(shown.starts_with("nothing was measured"), "{shown}");
}

/// The most memory that a process has held, bytes; 0 once it has ended.
fn most_held(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or(0) << 10
}

/// A thousand requests of 16 MiB, which nobody reads: 16 GiB, if each connection kept its own.
#[test]
fn a_server_that_reads_nothing_does_not_fill_the_memory_of_the_client() {
    const CONNECTIONS: usize = 1000;
    let files = getrlimit(Resource::Nofile);
    let enough = files.maximum.is_none_or(|most| most > 2 * CONNECTIONS as u64 + 100);
    if !enough {
        crate::common::skipped(format_args!("needs {} open files, and may have {:?}", 2 * CONNECTIONS, files.maximum));
        return;
    }
    setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files }).unwrap();
    let (user, deaf) = (User::new(), Deaf::new(true));
    let connections = CONNECTIONS.to_string();
    let words = ["load", "-t", &deaf.address, "-c", &connections, "-d", "16M", "--gets", "0", "--warmup", "0"];
    let times = ["--duration", "30", "--timeout", "2", "--json=out.json"];
    let mut child = user.start(&[&words[..], &times].concat());
    let (begun, mut most) = (Instant::now(), 0);
    while child.try_wait().unwrap().is_none() && begun.elapsed() < PATIENCE {
        most = most_held(&child).max(most);
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(ends(&mut child), Some(1), "its only server answers nothing");
    assert_eq!(deaf.accepted.load(Ordering::Relaxed), CONNECTIONS);
    // 256 MiB for all, one request more, and what it has besides.
    assert!((200 << 20..600 << 20).contains(&most), "{} MiB", most >> 20);
}

#[test]
fn what_needs_more_memory_than_there_is_is_refused_before_a_server_is_asked() {
    let (user, nobody) = (User::new(), free_port());
    let refused = user.run(&["load", "-t", &nobody, "-c", "1000000", "-d", "16M", "--verify"]).expect(4);
    // A server that is asked is named.
    assert!(refused.err.contains("--pipeline-depth") && !refused.err.contains(&nobody), "{}", refused.err);
}

#[test]
fn what_cannot_be_loaded_is_refused_with_a_cure() {
    let user = User::new();
    let nobody = free_port();
    let refused = user.run(&["load", "-t", &nobody, "--duration", "1"]).expect(4);
    assert!(refused.err.contains(&nobody) && refused.out.is_empty(), "{}", refused.err);
    let refused = user.run(&["load", "-t", &nobody, "--threads", "4"]).expect(4);
    assert!(refused.err.contains("--threads 4 has no effect beyond 1, with 1 server: "), "{}", refused.err);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let refused = user.run(&["load", "-t", &address, "--timeout", "0.2"]).expect(4);
    assert!(refused.err.contains(&address), "{}", refused.err);
    for (arguments, said) in [
        (vec!["load"], "--target"),
        (vec!["load", "-t", "host:0"], "host:0"),
        (vec!["load", "-t", "h", "--rps", "0"], "--rps"),
        (vec!["load", "-t", "h", "--key-dist", "zipfian"], "zipf:0.99"),
        (vec!["load", "-t", "h", "--arrivals", "poisson"], "--rps"),
        (vec!["load", "-t", "h", "--histograms"], "--json"),
        (vec!["load", "-t", "h", "-d", "4K-32"], "32-4096"),
        (vec!["load", "-t", "h", "-k", "9-5"], "1000-1999"),
        (vec!["load", "-t", "h", "--hgrm", "/nonexistent/x"], "/nonexistent/x"),
        (vec!["load", "-t", "h", "--hgrm", "x", "--fill-only"], "--fill-only"),
        (vec!["load", "-t", "h", "-n", "5", "--duration", "5"], "--duration"),
    ] {
        let refused = user.run(&arguments).expect(2);
        assert!(refused.err.contains(said), "{said} in:\n{}", refused.err);
    }
    for wrong in [&["--key-dist", "zipf:20"][..], &["--verify", "-d", "8"]] {
        let refused = user.run(&[&["load", "-t", &nobody], wrong].concat()).expect(4);
        // What cannot be is refused before the server, which is not there, is asked.
        assert!(!refused.err.contains(&nobody), "{}", refused.err);
    }
}

/// Each client on its own, started at one moment, as a fleet's hosts are.
#[test]
fn clients_that_start_together_are_shown_as_one() {
    let (Some(one), Some(two)) = (Redis::start(&[]), Redis::start(&[])) else { return };
    let user = User::new();
    let at = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() + 4;
    let at = format!("--at=@{at}");
    let client = |target: &str, label: &str, file: &str| {
        let own =
            ["load", "-t", target, "--fill", "--rps=200", "--duration=2", "--keys=50", "--no-save", "--histograms"];
        user.start(&[&own[..], &["--force", &at, label, file, "-q"]].concat())
    };
    let clients = [
        client(&one.target, "--label=host=vm1", "--json=a.json"),
        client(&two.target, "--label=rack=7", "--json=b.json"),
    ];
    for mut child in clients {
        assert_eq!(ended(&mut child), Some(0));
    }
    let merged = user.run(&["show", "a.json", "b.json", "--json"]).expect(0).json();
    let all = &merged["measured"]["all"];
    assert_eq!((all["done"].as_u64(), all["response"]["count"].as_u64()), (Some(800), Some(800)), "{all}");
    let hosts: Vec<&Value> = (0..2).map(|at| &merged["measured"]["tenants"][at]["host"]).collect();
    assert_eq!(hosts, ["vm1", "b"]);
    let apart = merged["warnings"].as_array().is_some_and(|all| all.iter().any(|one| one["code"] == "clients_apart"));
    assert!(!apart, "{}", merged["warnings"]);
    let shown = user.run(&["show", "a.json", "b.json"]).expect(0).out;
    assert!(shown.contains("2 tenants, open loop") && shown.contains("vm1") && !shown.contains(&one.target), "{shown}");
    let csv = user.run(&["show", "a.json", "b.json", "--format=csv"]).expect(0).out;
    assert!(csv.contains("vm1"), "{csv}");
    let redacted = user.run(&["show", "a.json", "b.json", "--redact", "--json"]).expect(0).out;
    assert!(!redacted.contains("vm1"), "{redacted}");
    // One client's own document, and one without histograms.
    let twice = user.run(&["show", "a.json", "a.json"]).expect(2).err;
    assert!(twice.contains("two of the documents have it"), "{twice}");
    let own = ["load", "-t", &one.target, "--rps=200", "--duration=2", "--keys=50", "--no-save", "--json=c.json"];
    user.run(&[&own[..], &["--force", "-q"]].concat()).expect(0);
    let without = user.run(&["show", "a.json", "c.json"]).expect(2).err;
    assert!(without.contains("--histograms"), "{without}");
}
