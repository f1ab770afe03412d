//! A real server, where `redis-server` is installed: started by the test on a free port and a socket, and ended by it.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{only, unwatched};
use tempfile::TempDir;
use tiermark_load::{
    Address, Answer, Arrivals, Client, ClientSetup, KeyDist, KeyOrder, Length, Pace, Phase, Target, TenantResult,
    ValueShape, Workload, fill, run,
};
use tiermark_model::load::LoadMix;
use tiermark_model::messages::load::codes;

const PASSWORD: &str = "right one";
const PATIENCE: Duration = Duration::from_secs(60);
/// Nobody stops these tests.
static GOES_ON: AtomicBool = AtomicBool::new(false);

struct Redis {
    child: Child,
    home: TempDir,
    port: u16,
}

impl Redis {
    /// A server in a directory of its own, or `None` where there is none. CI must not skip.
    fn start(more: &[&str]) -> Option<Self> {
        let home = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
        command.args(["--unixsocket", "redis.sock", "--requirepass", PASSWORD]).args(more);
        let child = match command.current_dir(home.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn() {
            Ok(child) => child,
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "redis-server: {error}; CI must not skip this");
                println!("skipped: redis-server: {error}");
                return None;
            }
        };
        let redis = Self { child, home, port };
        let begun = Instant::now();
        while let Err(refusal) = Client::connect(&redis.tcp(), PATIENCE, &GOES_ON) {
            assert!(begun.elapsed() < PATIENCE, "{refusal}");
            thread::sleep(Duration::from_millis(20));
        }
        Some(redis)
    }

    fn tcp(&self) -> Target {
        let address = Address::Tcp("127.0.0.1".into(), self.port);
        Target { password: Some(PASSWORD.into()), ..Target::new(address) }
    }

    fn unix(&self) -> Target {
        let path: PathBuf = self.home.path().join("redis.sock");
        Target { user: Some("default".into()), ..Target { address: Address::Unix(path), ..self.tcp() } }
    }

    fn ask(&self, words: &[&[u8]]) -> Answer {
        Client::connect(&self.tcp(), PATIENCE, &GOES_ON).unwrap().ask(words).unwrap()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // It holds nothing that is worth saving.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn filled(target: &Target, workload: &Workload) -> TenantResult {
    let target = std::slice::from_ref(target);
    only(unwatched(|watch| fill(target, workload, &ClientSetup::default(), watch)).unwrap())
}

fn ran(target: &Target, workload: &Workload, iteration: u32) -> TenantResult {
    let (target, phase) = (std::slice::from_ref(target), Phase::Measure(iteration));
    only(unwatched(|watch| run(target, workload, phase, &ClientSetup::default(), watch)).unwrap())
}

fn workload() -> Workload {
    Workload {
        pace: Pace::Closed,
        length: Length::Requests(20_000),
        depth: 8,
        keys: 5000,
        value: ValueShape::of(300, 0.5),
        mix: LoadMix { get_percent: 70.0, brief: false },
        verify: true,
        ..Workload::default()
    }
}

#[test]
fn what_is_filled_is_found_and_right_over_both_kinds_of_sockets() {
    let Some(redis) = Redis::start(&[]) else { return };
    let workload = workload();
    let fill = filled(&redis.tcp(), &workload);
    assert_eq!((fill.done, fill.sets, fill.errors, fill.fault), (5000, 5000, 0, None));
    assert_eq!(redis.ask(&[b"DBSIZE"]), Answer::Integer(5000));
    assert_eq!(redis.ask(&[b"STRLEN", b"4999"]), Answer::Integer(300));
    let dists =
        [KeyDist::Uniform, KeyDist::Brief(25), KeyDist::Zipf(0.99), KeyDist::Hotspot { keys: 0.1, requests: 0.9 }];
    for (iteration, (key_dist, target)) in (0..).zip(dists.into_iter().zip([redis.tcp(), redis.unix()].iter().cycle()))
    {
        let asked = Workload { key_dist, key_order: KeyOrder::Scrambled, connections: 3, ..workload.clone() };
        let seen = ran(target, &asked, iteration);
        assert_eq!((seen.done, seen.errors, seen.misses, seen.fault), (20_000, 0, 0, None), "{key_dist}");
        // Values that this run's and earlier runs' SETs wrote are right as well.
        assert_eq!(seen.mismatches, Some(0), "{key_dist}");
        let share = seen.sets as f64 / seen.done as f64;
        assert!((share - 0.3).abs() < 0.02, "{share}");
    }
    assert_eq!(redis.ask(&[b"DBSIZE"]), Answer::Integer(5000), "no key outside was written");
    redis.ask(&[b"SET", b"17", b"something else"]);
    redis.ask(&[b"DEL", b"18"]);
    let seen = ran(&redis.tcp(), &Workload { mix: LoadMix { get_percent: 100.0, brief: false }, ..workload }, 9);
    assert!(seen.mismatches.is_some_and(|wrong| wrong > 0) && seen.misses > 0, "{:?} {}", seen.mismatches, seen.misses);
}

#[test]
fn an_open_loop_keeps_its_rate() {
    let Some(redis) = Redis::start(&[]) else { return };
    let workload = Workload {
        pace: Pace::Open { arrivals: Arrivals::Poisson, rate: 500.0 },
        length: Length::Time(Duration::from_secs(1)),
        depth: 1000,
        ..workload()
    };
    filled(&redis.tcp(), &workload);
    let seen = ran(&redis.tcp(), &workload, 0);
    assert_eq!((seen.done, seen.unsent, seen.unanswered, seen.errors), (seen.scheduled, 0, 0, 0));
    assert!(seen.scheduled.abs_diff(500) < 120, "{}", seen.scheduled);
    assert_eq!(seen.response.count(), seen.service.count());
    assert!(seen.response.mean() >= seen.service.mean());
}

#[test]
fn a_password_is_asked_for_and_checked() {
    let Some(redis) = Redis::start(&[]) else { return };
    let without = Target { password: None, ..redis.tcp() };
    let refusal = Client::connect(&without, PATIENCE, &GOES_ON).unwrap_err();
    assert_eq!(refusal.code, codes::password_missing);
    let wrong = Target { password: Some("guessed".into()), ..redis.tcp() };
    let refusal = Client::connect(&wrong, PATIENCE, &GOES_ON).unwrap_err();
    assert!(refusal.code == codes::password_refused && !refusal.to_string().contains("guessed"), "{refusal}");
}

#[test]
fn a_server_out_of_memory_ends_the_filling_with_its_words() {
    let Some(redis) = Redis::start(&["--maxmemory", "3mb"]) else { return };
    let seen = filled(&redis.tcp(), &Workload { keys: 50_000, ..workload() });
    assert!(
        seen.fault.as_ref().is_some_and(|fault| {
            fault.code == codes::tenant_refuses
                && fault.data["answer"].as_str().is_some_and(|answer| answer.starts_with("OOM"))
        }),
        "{:?}",
        seen.fault
    );
}

#[test]
fn a_server_that_is_killed_ends_the_run() {
    let Some(mut redis) = Redis::start(&[]) else { return };
    let (target, workload) = (redis.tcp(), Workload { length: Length::Time(PATIENCE), ..workload() });
    let seen = thread::scope(|scope| {
        let running = scope.spawn(|| ran(&target, &workload, 0));
        thread::sleep(Duration::from_millis(300));
        redis.child.kill().unwrap();
        running.join().unwrap()
    });
    assert_eq!(seen.fault.unwrap().code, codes::tenant_hung_up);
    assert!(seen.done > 0);
}
