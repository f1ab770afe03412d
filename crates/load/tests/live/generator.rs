//! Whole runs against servers that do what tests want: what is asked, in which order, and what is refused. What the
//! loop says of time is tested on a clock that tests advance, in `src/worker/tests`.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::{Fake, only, polite, unwatched};
use tiermark_load::{
    Address, Arrivals, Client, ClientSetup, Length, Outcome, Pace, Phase, Snapshot, Target, ValueShape, Watch,
    Workload, fill, run,
};
use tiermark_model::Refusal;
use tiermark_model::load::LoadMix;
use tiermark_model::messages::load::codes;

fn open(rate: f64, seconds: f64) -> Workload {
    Workload {
        pace: Pace::Open { arrivals: Arrivals::Constant, rate },
        length: Length::Time(Duration::from_secs_f64(seconds)),
        keys: 1000,
        ..Workload::default()
    }
}

fn closed(requests: u64) -> Workload {
    Workload { pace: Pace::Closed, length: Length::Requests(requests), depth: 1, keys: 1000, ..Workload::default() }
}

fn run_on(targets: &[Target], workload: &Workload) -> Result<Outcome, Refusal> {
    run_as(targets, workload, &ClientSetup::default())
}

fn run_as(targets: &[Target], workload: &Workload, client: &ClientSetup) -> Result<Outcome, Refusal> {
    unwatched(|watch| run(targets, workload, Phase::Measure(0), client, watch))
}

#[test]
fn every_request_is_asked_once_and_answered_in_order() {
    let fake = Fake::new(|_, words| polite(words));
    for (connections, depth) in [(1, 1), (1, 16), (5, 3)] {
        let before = fake.answered.load(Ordering::Relaxed);
        let workload = Workload { connections, depth, ..closed(5000) };
        let seen = only(run_on(&[fake.target()], &workload).unwrap());
        assert_eq!((seen.sent, seen.done, seen.gets, seen.sets, seen.misses), (5000, 5000, 5000, 0, 0));
        assert_eq!((seen.response.count(), seen.service.count()), (5000, 5000));
        assert_eq!(seen.windows.iter().map(|window| window.done).sum::<u64>(), 5000);
        let asked = fake.answered.load(Ordering::Relaxed) - before;
        assert_eq!(asked, 5000 + connections as u64, "and one PING a connection");
    }
}

#[test]
fn many_tenants_share_a_thread_and_none_is_forgotten() {
    let fakes: Vec<Fake> = (0..3).map(|_| Fake::new(|_, words| polite(words))).collect();
    let targets: Vec<Target> = (0..24).map(|i| fakes[i % 3].target()).collect();
    for (threads, arrivals) in [(1, Arrivals::Constant), (2, Arrivals::Poisson)] {
        let workload = Workload { pace: Pace::Open { arrivals, rate: 100.0 }, ..open(100.0, 1.0) };
        let client = ClientSetup { threads, ..ClientSetup::default() };
        let outcome = run_as(&targets, &workload, &client).unwrap();
        assert_eq!((outcome.tenants.len(), outcome.thread_cpu.len(), outcome.stopped), (24, threads, false));
        for tenant in &outcome.tenants {
            assert_eq!((tenant.done, tenant.unsent, tenant.unanswered), (tenant.scheduled, 0, 0));
            if arrivals == Arrivals::Constant {
                assert_eq!(tenant.scheduled, 100);
            }
        }
        // A Poisson number of 2,400 has a deviation of 49; a generator seeded alike would have the same number 24
        // times.
        let all: u64 = outcome.tenants.iter().map(|tenant| tenant.scheduled).sum();
        assert!(all.abs_diff(2400) < 250, "{all}");
        if arrivals == Arrivals::Poisson {
            assert!(outcome.tenants.iter().any(|tenant| tenant.scheduled != outcome.tenants[0].scheduled));
        }
        assert!(outcome.cpu_per_request().unwrap() > 0.0);
    }
}

#[test]
fn refusals_misses_and_wrong_values_are_counted_apart() {
    let fake = Fake::new(|number, words| match number % 10 {
        1 => Some(b"-OOM command not allowed when used memory > 'maxmemory'.\r\n".to_vec()),
        2 if words[0] == b"GET" => Some(b"$-1\r\n".to_vec()),
        _ => polite(words),
    });
    let workload = Workload { verify: true, mix: LoadMix { get_percent: 100.0, brief: false }, ..closed(1000) };
    let seen = only(run_on(&[fake.target()], &workload).unwrap());
    assert_eq!((seen.done, seen.errors, seen.misses, seen.mismatches), (1000, 100, 100, Some(800)));
    assert!(seen.first_error.as_deref().unwrap().starts_with("OOM command not allowed"));
    assert_eq!(seen.service.count(), 900, "an error is no answer to time");
}

#[test]
fn servers_that_cannot_be_used_are_refused_with_a_cure() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let nobody = Target::new(Address::Tcp("127.0.0.1".into(), port));
    // It is connected to by the system and accepted by nobody.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_target = Target::new(Address::Tcp("127.0.0.1".into(), silent.local_addr().unwrap().port()));
    let locked = Fake::new(|_, words| match words {
        [auth, password] if auth == b"AUTH" && password == b"right" => Some(b"+OK\r\n".to_vec()),
        [auth, ..] if auth == b"AUTH" => Some(b"-WRONGPASS invalid username-password pair\r\n".to_vec()),
        _ => Some(b"-NOAUTH Authentication required.\r\n".to_vec()),
    });
    let with = |password: &str| Target { password: Some(password.into()), ..locked.target() };
    let loading = Fake::new(|_, _| Some(b"-LOADING Redis is loading the dataset in memory\r\n".to_vec()));
    let web = Fake::new(|_, _| Some(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()));
    let shut = Fake::new(|_, _| None);
    let no_socket = Target::new(Address::Unix("/nonexistent/redis.sock".into()));
    let cases = [
        (nobody, codes::nobody_listens),
        (silent_target, codes::server_answers_nothing),
        (locked.target(), codes::password_missing),
        (with("wrong"), codes::password_refused),
        // The password is right, but PING is refused all the same.
        (with("right"), codes::password_missing),
        (loading.target(), codes::server_refuses),
        (web.target(), codes::answer_unreadable),
        (shut.target(), codes::server_hung_up),
        (no_socket, codes::address_unknown),
    ];
    for (target, code) in cases {
        // Only the one that never answers is waited for in vain; a busy machine keeps the others for long.
        let timeout = Duration::from_secs(if code == codes::server_answers_nothing { 1 } else { 30 });
        let client = ClientSetup { timeout, ..ClientSetup::default() };
        assert_eq!(run_as(&[target], &closed(1), &client).unwrap_err().code, code);
    }
}

#[test]
fn a_run_stops_when_asked_and_when_its_watcher_says_so() {
    let stop = Arc::new(AtomicBool::new(false));
    let asks = Arc::clone(&stop);
    let fake = Fake::new(move |number, words| {
        asks.fetch_or(number == 20, Ordering::Relaxed);
        polite(words)
    });
    let long = open(100.0, 600.0);
    let mut watch = Watch { stop: &stop, each_second: &mut |_: &Snapshot| true };
    let outcome = run(&[fake.target()], &long, Phase::Measure(0), &ClientSetup::default(), &mut watch).unwrap();
    assert!(outcome.stopped);
    let seen = only(outcome);
    assert!(seen.done >= 19 && seen.scheduled < 60_000 && seen.seconds < 600.0, "{seen:?}");

    let (stop, mut snapshots) = (AtomicBool::new(false), Vec::new());
    let mut look = |snapshot: &Snapshot| {
        snapshots.push(snapshot.clone());
        snapshots.len() < 2
    };
    let mut watch = Watch { stop: &stop, each_second: &mut look };
    let outcome = run(&[fake.target()], &long, Phase::Measure(0), &ClientSetup::default(), &mut watch).unwrap();
    assert!(outcome.stopped);
    assert_eq!(snapshots.len(), 2);
    assert!(snapshots[1].done() >= snapshots[0].done() && snapshots[1].tenants[0].sent > 0, "{snapshots:?}");
    assert!(snapshots.iter().all(|one| one.tenants[0].scheduled >= one.tenants[0].sent), "{snapshots:?}");
}

/// A timeout of an hour must not keep a run that is to stop while it connects: to one that never answers, or to the
/// next of many.
#[test]
fn a_run_that_is_stopped_while_it_connects_is_refused_as_that() {
    let stop = Arc::new(AtomicBool::new(false));
    let asks = Arc::clone(&stop);
    let silent = Fake::new(move |_, _| {
        asks.store(true, Ordering::Relaxed);
        Some(Vec::new())
    });
    let client = ClientSetup { timeout: Duration::from_secs(3600), ..ClientSetup::default() };
    let workload = Workload { connections: 1000, ..closed(1) };
    let mut watch = Watch { stop: &stop, each_second: &mut |_: &Snapshot| true };
    let refused = run(&[silent.target()], &workload, Phase::Measure(0), &client, &mut watch).unwrap_err();
    assert_eq!((refused.code, silent.answered.load(Ordering::Relaxed)), (codes::load_stopped, 1));
}

#[test]
fn filling_asks_for_every_key_once_in_order() {
    let order = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let keep = std::sync::Arc::clone(&order);
    let fake = Fake::new(move |_, words| {
        if words[0] == b"SET" {
            keep.lock().unwrap().push((String::from_utf8(words[1].clone()).unwrap(), words[2].len()));
        }
        polite(words)
    });
    let value = ValueShape::of(100, 0.5);
    let workload = Workload { keys: 500, key_prefix: "k:".into(), key_digits: 3, value, ..Workload::default() };
    let filled = only(unwatched(|watch| fill(&[fake.target()], &workload, &ClientSetup::default(), watch)).unwrap());
    assert_eq!((filled.done, filled.sets, filled.fault), (500, 500, None));
    let expected: Vec<(String, usize)> = (0..500).map(|i| (format!("k:{i:03}"), 100)).collect();
    assert_eq!(*order.lock().unwrap(), expected);

    let full = Fake::new(
        |number, words| {
            if number > 100 { Some(b"-OOM command not allowed\r\n".to_vec()) } else { polite(words) }
        },
    );
    let filled = only(unwatched(|watch| fill(&[full.target()], &workload, &ClientSetup::default(), watch)).unwrap());
    let fault = filled.fault.unwrap();
    assert_eq!((&fault.code, &fault.data["answer"]), (&codes::tenant_refuses, &"OOM command not allowed".into()));
    assert!(filled.sent < 500);
}

#[test]
fn tenants_that_are_filled_apart_hold_different_values() {
    let (send, values) = std::sync::mpsc::channel();
    let send = std::sync::Mutex::new(send);
    let fake = Fake::new(move |_, words| {
        if words[0] == b"SET" {
            send.lock().unwrap().send(words[2].clone()).unwrap();
        }
        polite(words)
    });
    let workload = Workload { keys: 3, ..Workload::default() };
    for number in [Some(0), Some(1), None] {
        let target = Target { number, ..fake.target() };
        unwatched(|watch| fill(&[target], &workload, &ClientSetup::default(), watch)).unwrap();
    }
    let values: Vec<Vec<u8>> = values.try_iter().collect();
    assert_eq!(values.len(), 9);
    assert_ne!(values[0], values[3], "numbers make the difference");
    assert_eq!(values[0], values[6], "the first of a list is number 0");
    assert_ne!(values[0], values[1]);
}

#[test]
fn what_a_socket_does_not_take_at_once_follows_when_it_does() {
    // 24 MiB are under way at most, and no buffer of a socket holds as much.
    const BYTES: usize = 3 << 20;
    let fake = Fake::new(|_, words| {
        thread::sleep(Duration::from_millis(2));
        if words[0] == b"SET" && words[2].len() != BYTES {
            Some(b"-ERR wrong length\r\n".to_vec())
        } else {
            polite(words)
        }
    });
    let workload = Workload {
        depth: 8,
        mix: LoadMix { get_percent: 20.0, brief: false },
        value: ValueShape::of(BYTES, 0.0),
        ..closed(40)
    };
    let seen = only(run_on(&[fake.target()], &workload).unwrap());
    assert_eq!((seen.sent, seen.done, seen.errors, seen.fault), (40, 40, 0, None));
    assert!(seen.sets > 20 && seen.gets > 0, "{} {}", seen.sets, seen.gets);
}

#[test]
fn single_commands_are_answered() {
    let (fake, stop) = (Fake::new(|_, words| polite(words)), AtomicBool::new(false));
    let mut client = Client::connect(&fake.target(), Duration::from_secs(5), &stop).unwrap();
    assert_eq!(client.ask(&[b"GET", b"x"]), Ok(tiermark_load::Answer::Text(b"abcd".to_vec())));
}

#[test]
fn a_client_that_cannot_work_is_refused() {
    let fake = Fake::new(|_, words| polite(words));
    for client in [
        ClientSetup { threads: 0, ..ClientSetup::default() },
        ClientSetup { cpus: vec![100_000], ..ClientSetup::default() },
        ClientSetup { cpus: vec![1023], ..ClientSetup::default() },
    ] {
        assert!(run_as(&[fake.target()], &closed(1), &client).is_err(), "{client:?}");
    }
    assert!(run_on(&[], &closed(1)).is_err());
}
