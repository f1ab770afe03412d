//! The event loop against servers that do what tests want.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod common;

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::{Fake, only, polite, unwatched};
use tiermark_load::{
    Address, Arrivals, Client, ClientSetup, Length, Mix, Outcome, Pace, Phase, Snapshot, Target, TenantResult,
    ValueShape, Watch, Workload, fill, run,
};
use tiermark_model::Refusal;
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

fn impatient() -> ClientSetup {
    ClientSetup { timeout: Duration::from_millis(300), ..ClientSetup::default() }
}

fn millis(ns: Option<u64>) -> f64 {
    ns.unwrap() as f64 / 1e6
}

/// A run in which this machine let the client run nearly always: of some tries the first, or the last. A busy machine makes clients late
/// that are not; what a client is blamed for wrongly is there in every try.
fn punctual(fake: &Fake, workload: &Workload) -> TenantResult {
    let mut seen = only(run_on(&[fake.target()], workload).unwrap());
    for _ in 0..9 {
        if seen.late <= seen.scheduled / 20 {
            break;
        }
        seen = only(run_on(&[fake.target()], workload).unwrap());
    }
    seen
}

/// Few requests are the client's fault. On a machine that keeps the client waiting even for a polite server nobody can tell.
#[track_caller]
fn assert_punctual(seen: &TenantResult, workload: &Workload) {
    let is_punctual = |seen: &TenantResult| seen.late <= seen.scheduled / 20;
    if is_punctual(seen) {
        return;
    }
    let polite = Fake::new(|_, words| polite(words));
    let without_cause = punctual(&polite, workload);
    let max = millis(Some(seen.max_late_ns));
    assert!(
        !is_punctual(&without_cause),
        "{} late, at most {max} ms, and {} without a cause",
        seen.late,
        without_cause.late
    );
}

#[test]
fn a_stall_shows_in_the_response_time_and_not_in_the_service_time() {
    // One answer after 200 ms: a closed loop sees one slow request, users whose requests come at their own times see two hundred.
    const STALL: Duration = Duration::from_millis(200);
    let fake = Fake::new(|number, words| {
        if number == 501 {
            thread::sleep(STALL);
        }
        polite(words)
    });
    // One request under way at a time, so that the send has to wait for the answer, as in a client of one blocking connection.
    let workload = Workload { depth: 1, ..open(1000.0, 2.0) };
    let seen = punctual(&fake, &workload);
    // Where this machine stalls at the very end, a few requests still wait for an answer then.
    assert_eq!((seen.scheduled, seen.sent + seen.unsent, seen.response.count(), seen.errors), (2000, 2000, 2000, 0));
    assert!(seen.unsent < 100, "{}", seen.unsent);
    assert!(seen.service.max().unwrap() >= 199_000_000, "{}", millis(seen.service.max()));
    // 200 requests are due during the stall: 10 % of all, whose waits are spread evenly from 0 to 200 ms.
    let (response, service) = (millis(seen.response.quantile(0.99)), millis(seen.service.quantile(0.99)));
    assert!(response >= 150.0, "response P99 {response} ms");
    assert!(service < 100.0, "service P99 {service} ms");
    assert!(millis(seen.response.quantile(0.95)) >= 80.0);
    // They went out late because the server left no room, and that is told as such and not as the client's fault.
    assert!(seen.held >= 150 && seen.overloads > 0, "{seen:?}");
    assert_punctual(&seen, &workload);
}

#[test]
fn with_room_under_way_nothing_is_sent_late_for_a_stall() {
    let fake = Fake::new(|number, words| {
        if number == 301 {
            thread::sleep(Duration::from_millis(150));
        }
        polite(words)
    });
    let seen = only(run_on(&[fake.target()], &open(1000.0, 1.0)).unwrap());
    // Each of the requests in the stall was sent in time and had its own wait: both times show it.
    assert_eq!((seen.done, seen.overloads), (1000, 0));
    let (response, service) = (millis(seen.response.quantile(0.95)), millis(seen.service.quantile(0.95)));
    assert!(response >= 80.0 && service >= 80.0, "{response} and {service} ms");
}

#[test]
fn a_socket_that_takes_no_more_holds_requests_back() {
    // The server reads nothing for 300 ms; 64 values of 256 KiB are more than the buffers of both sockets hold.
    let fake = Fake::new(|number, words| {
        if number == 5 {
            thread::sleep(Duration::from_millis(300));
        }
        polite(words)
    });
    let value = ValueShape { bytes: 256 << 10, compressible: 1.0 };
    let workload = Workload { mix: Mix { get_percent: 0.0, brief: false }, value, depth: 1000, ..open(200.0, 1.0) };
    let seen = punctual(&fake, &workload);
    assert_eq!((seen.scheduled, seen.overloads, &seen.fault), (200, 0, &None));
    assert!(seen.held >= 10, "{} held, {} late", seen.held, seen.late);
    assert_punctual(&seen, &workload);
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
        // A Poisson number of 2,400 has a deviation of 49; a generator seeded alike would have the same number 24 times.
        let all: u64 = outcome.tenants.iter().map(|tenant| tenant.scheduled).sum();
        assert!(all.abs_diff(2400) < 250, "{all}");
        if arrivals == Arrivals::Poisson {
            assert!(outcome.tenants.iter().any(|tenant| tenant.scheduled != outcome.tenants[0].scheduled));
        }
        assert!(outcome.cpu_per_request().unwrap() > 0.0);
    }
}

#[test]
fn what_is_too_slow_is_overloaded_and_says_how_much_it_left() {
    // 5 ms an answer: 200 a second of the 1,000 that are asked for.
    let fake = Fake::new(|_, words| {
        thread::sleep(Duration::from_millis(5));
        polite(words)
    });
    let seen = only(run_on(&[fake.target()], &Workload { depth: 2, ..open(1000.0, 1.0) }).unwrap());
    assert_eq!(seen.scheduled, 1000);
    assert!(seen.overloads > 0 && seen.unsent > 500, "{} {}", seen.overloads, seen.unsent);
    assert_eq!(seen.sent + seen.unsent, 1000);
    let share = seen.achieved_share().unwrap();
    assert!(share < 0.25, "{share}");
    // What was never sent is not left out of the distribution.
    assert_eq!(seen.response.count(), 1000);
    assert!(millis(seen.response.quantile(0.5)) > 300.0, "{}", millis(seen.response.quantile(0.5)));
}

#[test]
fn refusals_misses_and_wrong_values_are_counted_apart() {
    let fake = Fake::new(|number, words| match number % 10 {
        1 => Some(b"-OOM command not allowed when used memory > 'maxmemory'.\r\n".to_vec()),
        2 if words[0] == b"GET" => Some(b"$-1\r\n".to_vec()),
        _ => polite(words),
    });
    let workload = Workload { verify: true, mix: Mix { get_percent: 100.0, brief: false }, ..closed(1000) };
    let seen = only(run_on(&[fake.target()], &workload).unwrap());
    assert_eq!((seen.done, seen.errors, seen.misses, seen.mismatches), (1000, 100, 100, Some(800)));
    assert!(seen.first_error.as_deref().unwrap().starts_with("OOM command not allowed"));
    assert_eq!(seen.service.count(), 900, "an error is no answer to time");
}

#[test]
fn one_bad_tenant_is_given_up_and_the_others_go_on() {
    let good = Fake::new(|_, words| polite(words));
    let faults: [(&str, Fake); 4] = [
        ("closed the connection", Fake::new(|number, words| if number > 50 { None } else { polite(words) })),
        (
            "no answer: not the Redis protocol",
            Fake::new(|number, words| if number > 50 { Some(b"<html>".to_vec()) } else { polite(words) }),
        ),
        ("no answer for 0.", Fake::new(|number, words| if number > 50 { Some(Vec::new()) } else { polite(words) })),
        (
            "nobody asked",
            Fake::new(|number, words| if number > 50 { Some(b"+OK\r\n+OK\r\n".to_vec()) } else { polite(words) }),
        ),
    ];
    for (why, fake) in faults {
        for workload in [open(500.0, 1.0), Workload { length: Length::Time(Duration::from_secs(1)), ..closed(1) }] {
            let outcome = run_as(&[good.target(), fake.target()], &workload, &impatient()).unwrap();
            let [fine, lost] = <[TenantResult; 2]>::try_from(outcome.tenants).unwrap();
            assert_eq!((fine.fault.as_deref(), fine.unanswered, fine.unsent), (None, 0, 0), "{why}");
            assert!(fine.done >= 400, "{why}: {}", fine.done);
            let fault = lost.fault.clone().unwrap_or_default();
            assert!(fault.contains(why), "{why}: {fault}");
            assert!(lost.done >= 40, "{why}: {}", lost.done);
            if workload.pace != Pace::Closed {
                // Those who go on asking get no answer: neither the share nor the times are of the part before alone.
                assert_eq!((lost.scheduled, lost.response.count()), (500, 500), "{why}");
                assert!(
                    lost.done_in_time <= 60 && millis(lost.response.quantile(0.5)) >= 100.0,
                    "{why}: {}",
                    lost.done_in_time
                );
            }
        }
    }
}

#[test]
fn a_tenant_that_is_through_has_its_own_time() {
    let fast = Fake::new(|_, words| polite(words));
    let slow = Fake::new(|_, words| {
        thread::sleep(Duration::from_millis(5));
        polite(words)
    });
    let outcome = run_on(&[fast.target(), slow.target()], &closed(100)).unwrap();
    let [fast, slow] = <[TenantResult; 2]>::try_from(outcome.tenants).unwrap();
    assert_eq!((fast.done, slow.done), (100, 100));
    assert!(slow.seconds >= 0.5 && fast.seconds < slow.seconds / 2.0, "{} and {} s", fast.seconds, slow.seconds);
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
        (loading.target(), codes::server_loading),
        (web.target(), codes::answer_unreadable),
        (shut.target(), codes::server_hung_up),
        (no_socket, codes::address_unknown),
    ];
    for (target, code) in cases {
        assert_eq!(run_as(&[target], &closed(1), &impatient()).unwrap_err().code, code);
    }
}

#[test]
fn a_run_stops_when_asked_and_when_its_watcher_says_so() {
    let fake = Fake::new(|_, words| polite(words));
    let long = open(100.0, 60.0);
    let began = Instant::now();
    let stop = AtomicBool::new(false);
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(300));
            stop.store(true, Ordering::Relaxed);
        });
        let mut watch = Watch { stop: &stop, each_second: &mut |_: &Snapshot| true };
        run(&[fake.target()], &long, Phase::Measure(0), &ClientSetup::default(), &mut watch)
    });
    assert!(outcome.as_ref().is_ok_and(|outcome| outcome.stopped), "{outcome:?}");
    let seen = only(outcome.unwrap());
    assert!(seen.seconds < 5.0 && seen.done > 5 && seen.unsent < 5, "{} s, {} done", seen.seconds, seen.done);

    let (stop, mut snapshots) = (AtomicBool::new(false), Vec::new());
    let mut look = |snapshot: &Snapshot| {
        snapshots.push(snapshot.clone());
        snapshots.len() < 2
    };
    let mut watch = Watch { stop: &stop, each_second: &mut look };
    let outcome = run(&[fake.target()], &long, Phase::Measure(0), &ClientSetup::default(), &mut watch).unwrap();
    assert!(outcome.stopped);
    assert_eq!(snapshots.len(), 2);
    assert!(snapshots[1].done() > snapshots[0].done() && snapshots[0].tenants[0].sent > 50, "{snapshots:?}");
    assert!(snapshots.iter().all(|one| one.tenants[0].scheduled >= one.tenants[0].sent), "{snapshots:?}");
    assert!(began.elapsed() < Duration::from_secs(20));
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
    let value = ValueShape { bytes: 100, compressible: 0.5 };
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
    assert!(filled.fault.as_deref().is_some_and(|fault| fault.contains("OOM")), "{:?}", filled.fault);
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
        mix: Mix { get_percent: 20.0, brief: false },
        value: ValueShape { bytes: BYTES, compressible: 0.0 },
        ..closed(40)
    };
    let seen = only(run_on(&[fake.target()], &workload).unwrap());
    assert_eq!((seen.sent, seen.done, seen.errors, seen.fault), (40, 40, 0, None));
    assert!(seen.sets > 20 && seen.gets > 0, "{} {}", seen.sets, seen.gets);
}

#[test]
fn single_commands_are_answered() {
    let fake = Fake::new(|_, words| polite(words));
    let mut client = Client::connect(&fake.target(), Duration::from_secs(5)).unwrap();
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
