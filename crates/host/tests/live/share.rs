//! Threads on shared lines, on the real machine: what their shots hold, that nobody hangs, never how fast they were.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{SHOT, assert_sane, machine, region};
use tiermark_engine::Host;
use tiermark_host::{LinuxHost, Options};
use tiermark_model::{CpuId, Layout, LineState, PageKind, PingOp, Role, Setup, ThreadSetup};

fn host() -> LinuxHost {
    LinuxHost::new(machine(), Options::default()).unwrap()
}

fn setup(threads: &[(CpuId, Role)]) -> Setup {
    Setup {
        regions: vec![region(64 << 10, PageKind::Base, Layout::Shared)],
        threads: threads.iter().map(|(cpu, role)| ThreadSetup::new(*cpu, role.clone(), 0)).collect(),
        seed: 3,
    }
}

/// Two cpus; the same one twice where there is no other.
fn two() -> [CpuId; 2] {
    let cpus: Vec<CpuId> = machine().allowed_cpus.iter().collect();
    [cpus[0], *cpus.last().unwrap()]
}

fn games() -> Vec<[Role; 2]> {
    let pings = PingOp::ALL.map(|op| [Role::Ping { op }, Role::Echo { op }]);
    let fetches = [LineState::Clean, LineState::Dirty].map(|state| [Role::Take, Role::Keep { state }]);
    pings.into_iter().chain(fetches).collect()
}

#[test]
fn every_game_is_played_in_blocks_and_the_partner_stamps_nothing() {
    let mut host = host();
    let [a, b] = two();
    for [first, second] in games() {
        let mut rig = host.prepare(&setup(&[(a, first.clone()), (b, second)])).unwrap();
        for _ in 0..3 {
            let shot = rig.shot(SHOT).unwrap();
            assert_eq!(shot.threads.len(), 2);
            assert_sane(&shot.threads[0], a);
            assert!(shot.threads[1].stamps_ns.is_empty(), "{first:?}");
            assert_eq!(shot.threads[1].guard.cpu, b);
            assert_eq!(shot.threads[0].per_block, 128.0);
        }
        let proof = rig.placement();
        assert!(proof.on_target.is_none_or(|share| share == 1.0), "{proof:?}");
    }
}

#[test]
fn partners_on_one_cpu_do_not_hang() {
    let mut host = host();
    let cpu = two()[0];
    for [first, second] in games() {
        let mut rig = host.prepare(&setup(&[(cpu, first), (cpu, second)])).unwrap();
        let began = Instant::now();
        // A block of 128 turns, each of a time slice: it may be finished, or given up, but it ends.
        let _ = rig.shot(Duration::from_millis(1));
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    }
}

#[test]
fn contenders_all_stamp_and_share_one_line() {
    let mut host = host();
    let cpus: Vec<CpuId> = machine().allowed_cpus.iter().take(8).collect();
    let threads: Vec<(CpuId, Role)> = cpus.iter().map(|cpu| (*cpu, Role::Contend)).collect();
    let mut rig = host.prepare(&setup(&threads)).unwrap();
    let shot = rig.shot(SHOT).unwrap();
    shot.threads.iter().zip(&cpus).for_each(|(thread, cpu)| assert_sane(thread, *cpu));
}

#[test]
fn a_stop_ends_a_shot_that_waits() {
    let stopped = Arc::new(AtomicBool::new(false));
    let options = Options { stopped: Arc::clone(&stopped), ..Options::default() };
    let mut host = LinuxHost::new(machine(), options).unwrap();
    let cpu = two()[0];
    let op = PingOp::Flag;
    // Both on one cpu: each waits nearly all the time.
    let mut rig = host.prepare(&setup(&[(cpu, Role::Ping { op }), (cpu, Role::Echo { op })])).unwrap();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        stopped.store(true, Ordering::Relaxed);
    });
    let began = Instant::now();
    let _ = rig.shot(Duration::from_secs(30));
    stopper.join().unwrap();
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[test]
fn games_without_their_partner_are_refused() {
    let mut host = host();
    let [a, b] = two();
    let ping = |op| Role::Ping { op };
    let echo = |op| Role::Echo { op };
    let cases = [
        setup(&[(a, ping(PingOp::Cas))]),
        setup(&[(a, ping(PingOp::Cas)), (b, echo(PingOp::Flag))]),
        setup(&[(a, echo(PingOp::Cas)), (b, ping(PingOp::Cas))]),
        setup(&[(a, Role::Take), (b, echo(PingOp::Cas))]),
        setup(&[(a, Role::Contend), (b, Role::Chase { chains: 1 })]),
        Setup { regions: vec![region(4096, PageKind::Base, Layout::Shared)], ..setup(&[(a, Role::Contend)]) },
        Setup { regions: vec![region(64 << 10, PageKind::Base, Layout::Data)], ..setup(&[(a, Role::Contend)]) },
    ];
    for case in cases {
        let refusal = host.prepare(&case).map(|_| ()).unwrap_err();
        assert!(!refusal.cure.is_empty() && !refusal.why.is_empty(), "{refusal}");
    }
}
