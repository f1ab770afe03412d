//! `tiermark load` as users call it: on a real server where `redis-server` is installed, and where there is none.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod common;

use std::net::TcpListener;
use std::time::Duration;

use common::User;
use common::redis::{Redis, free_port};
use serde_json::Value;

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
fn doubts_and_bad_answers_are_told_and_leave_a_code() {
    let Some(redis) = Redis::start(&["--maxmemory", "2500kb"]) else { return };
    let user = User::new();
    let common = ["load", "-t", redis.target.as_str(), "--keys", "20000", "--warmup", "0", "-n", "500"];
    let misses = user.run(&common).expect(0);
    assert!(misses.out.contains("100.00 % of the GETs found no key"), "{}", misses.out);
    let errors = user.run(&[&common[..], &["--gets", "0"]].concat()).expect(0);
    assert!(errors.out.contains("500 SETs"), "{}", errors.out);
    let full = user.run(&[&common[..], &["--fill"]].concat()).expect(1);
    assert!(full.out.contains("was stopped early: it refuses: OOM"), "{}", full.out);
    let errors = user.run(&[&common[..], &["--gets", "0"]].concat()).expect(5);
    assert!(errors.out.contains("of the answers were errors, the first: OOM"), "{}", errors.out);
}

#[test]
fn a_signal_ends_it_with_what_was_seen() {
    let Some(redis) = Redis::start(&[]) else { return };
    let user = User::new();
    let arguments =
        ["load", "-t", redis.target.as_str(), "--rps", "200", "--duration", "60", "--warmup", "0", "--json=out.json"];
    let mut child = user.start(&arguments);
    std::thread::sleep(Duration::from_millis(1500));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let run = common::document(&user.path("out.json"));
    assert_eq!(run["complete"], false);
    let seen = &run["measured"]["tenants"][0];
    assert!(seen["done"].as_u64().is_some_and(|n| (20..2000).contains(&n)), "{seen}");
}

#[test]
fn what_cannot_be_loaded_is_refused_with_a_cure() {
    let user = User::new();
    let nobody = free_port();
    let refused = user.run(&["load", "-t", &nobody, "--duration", "1"]).expect(4);
    assert!(refused.err.contains("no server listens there (start the server"), "{}", refused.err);
    assert!(refused.out.is_empty(), "{}", refused.out);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let refused = user.run(&["load", "-t", &address, "--timeout", "0.2"]).expect(4);
    assert!(refused.err.contains("does not answer"), "{}", refused.err);
    for (arguments, said) in [
        (vec!["load"], "--target"),
        (vec!["load", "-t", "host:0"], "is no port"),
        (vec!["load", "-t", "h", "--rps", "0"], "above 0"),
        (vec!["load", "-t", "h", "--key-dist", "zipfian"], "zipf:0.99"),
        (vec!["load", "-t", "h", "--arrivals", "poisson"], "--rps"),
        (vec!["load", "-t", "h", "--histograms"], "--json"),
        (vec!["load", "-t", "h", "-n", "5", "--duration", "5"], "cannot be used with"),
    ] {
        let refused = user.run(&arguments).expect(2);
        assert!(refused.err.contains(said), "{said} in:\n{}", refused.err);
    }
    let refused = user.run(&["load", "-t", &nobody, "--key-dist", "zipf:20"]).expect(4);
    assert!(refused.err.contains("at most 10"), "{}", refused.err);
    let refused = user.run(&["load", "-t", &nobody, "--verify", "-d", "8"]).expect(4);
    assert!(refused.err.contains("too short"), "{}", refused.err);
}
