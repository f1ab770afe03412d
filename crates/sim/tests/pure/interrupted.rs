//! Interruptions: what was planted is in the blocks of every tier, and in what a watch of the idle cpu sees.

use tiermark_model::*;
use tiermark_sim::{Arrangement, Interruptions, SimClock, SimOptions, SimState, Taken};

use crate::made::*;

const ARRANGEMENTS: [Arrangement; 3] =
    [Arrangement::Periodic { jitter: 0.5 }, Arrangement::Bursty { share: 0.25, seconds: 0.002 }, Arrangement::Random];
const VISITS: usize = 400;

fn interrupted(plan: Interruptions, seed: u64) -> SimOptions {
    SimOptions { seed, interruptions: Some(plan), ..quiet() }
}

fn share(taken: Taken) -> f64 {
    taken.short.share + taken.long.share
}

/// Chases and streams in every tier.
fn cells() -> Vec<Setup> {
    let sizes = [16 * KIB, 512 * KIB, 8 * MIB, 256 * MIB];
    sizes.into_iter().flat_map(|bytes| [chase(bytes, 1), stream("read/plain", bytes, 1)]).collect()
}

#[test]
fn blocks_are_longer_by_the_share_that_was_planted() {
    for arrangement in ARRANGEMENTS {
        for setup in cells() {
            let plan = Interruptions { arrangement, long_per_second: 0.0, refill: false, ..Interruptions::default() };
            let mean = |options| {
                let visits = visits(&mut host(options), &setup, VISITS);
                pace(visits.iter().map(|shot| &shot.threads[0]))
            };
            let taken = share(plan.seen(2.0, 0, 3));
            let seen = 1.0 - mean(quiet()) / mean(interrupted(plan, 3));
            assert!((0.03..0.06).contains(&taken) && (seen / taken - 1.0).abs() < 0.08, "{seen} {taken} {setup:?}");
        }
    }
}

#[test]
fn most_blocks_of_a_core_are_left_alone_and_exact() {
    for rate in [2_000.0, 20_000.0, 50_000.0] {
        let plan = Interruptions { per_second: rate, refill: false, ..Interruptions::default() };
        for setup in [chase(16 * KIB, 1), stream("read/plain", 512 * KIB, 1), chase(256 * MIB, 1)] {
            let clean = blocks(&visits(&mut host(quiet()), &setup, 1)[0].threads[0]);
            let all: Vec<f64> = visits(&mut host(interrupted(plan, 5)), &setup, 50)
                .iter()
                .flat_map(|shot| blocks(&shot.threads[0]))
                .collect();
            // The clock is read at the end of a block: no interruption is split between two of them.
            let alone = all.iter().filter(|block| (*block - clean[0]).abs() < 0.01).count() as f64 / all.len() as f64;
            let expected = 1.0 - rate * clean[0] / 1e9 / (1.0 - share(plan.seen(1.0, 0, 5)));
            assert!((clean[0] - 4_010.0).abs() < 50.0, "{clean:?}");
            assert!((alone - expected).abs() < 0.04, "{rate}: {alone} {expected}");
        }
    }
}

#[test]
fn a_watch_of_the_idle_cpu_sees_number_share_and_the_split() {
    for (seed, arrangement) in (1..).zip(ARRANGEMENTS) {
        let plan = Interruptions { arrangement, long_per_second: 400.0, ..Interruptions::default() };
        let shots = visits(&mut host(interrupted(plan, seed)), &chase(16 * KIB, 2), 1_500);
        for cpu in 0..2 {
            let watches: Vec<_> = shots.iter().map(|shot| &shot.threads[cpu as usize].idle).collect();
            let ns: f64 = watches.iter().map(|watch| watch.ns).sum();
            let gaps: Vec<f64> = watches.iter().flat_map(|watch| &watch.gaps_ns).map(|gap| f64::from(*gap)).collect();
            let (short, long): (Vec<f64>, Vec<f64>) = gaps.iter().partition(|gap| **gap < 20e3);
            let planted = plan.seen(4.0, cpu, seed);
            let near = |seen: f64, planted: f64, tolerance: f64| {
                assert!((seen / planted - 1.0).abs() < tolerance, "{arrangement:?}: {seen} {planted}");
            };
            near(short.len() as f64 / ns * 1e9, planted.short.per_second, 0.08);
            near(short.iter().sum::<f64>() / ns, planted.short.share, 0.08);
            near(long.len() as f64 / ns * 1e9, planted.long.per_second, 0.35);
            near(long.iter().sum::<f64>() / ns, planted.long.share, 0.4);
        }
    }
}

#[test]
fn an_idle_cpu_that_nobody_interrupts_is_watched_too_and_time_slices_are_seen() {
    let shot = &visits(&mut host(quiet()), &chase(16 * KIB, 1), 1)[0];
    assert_eq!((shot.threads[0].idle.ns, shot.threads[0].idle.gaps_ns.len()), (200_000.0, 0));
    let busy = SimOptions { preemptions_per_second: 200.0, ..quiet() };
    let shots = visits(&mut host(busy), &chase(16 * KIB, 1), 2_000);
    let gaps: Vec<f32> = shots.iter().flat_map(|shot| shot.threads[0].idle.gaps_ns.clone()).collect();
    assert!((50..110).contains(&gaps.len()) && gaps.iter().all(|gap| *gap > 2e6), "{}", gaps.len());
}

#[test]
fn each_cpu_has_its_own_course() {
    let plan = Interruptions { refill: false, ..Interruptions::default() };
    let shot = &visits(&mut host(interrupted(plan, 3)), &chase(16 * KIB, 2), 1)[0];
    let hit = |thread: usize| blocks(&shot.threads[thread]).iter().map(|block| *block > 4_500.0).collect::<Vec<_>>();
    assert!(hit(0) != hit(1) && hit(0).contains(&true) && hit(1).contains(&true));
}

#[test]
fn the_block_after_an_interruption_is_longer_in_the_caches_of_the_core() {
    for (setup, percent) in [
        (chase(16 * KIB, 1), 1.4),
        (chase(512 * KIB, 1), 2.0),
        (stream("read/plain", 512 * KIB, 1), 14.0),
        (chase(8 * MIB, 1), 0.0),
    ] {
        let plan = Interruptions { per_second: 5_000.0, long_per_second: 0.0, ..Interruptions::default() };
        let clean = blocks(&visits(&mut host(quiet()), &setup, 1)[0].threads[0])[0];
        let mut after = Vec::new();
        for shot in visits(&mut host(interrupted(plan, 3)), &setup, 50) {
            let blocks = blocks(&shot.threads[0]);
            let pairs = blocks.windows(2).filter(|pair| pair[0] > clean + 990.0 && pair[1] < clean + 990.0);
            after.extend(pairs.map(|pair| (pair[1] / clean - 1.0) * 100.0));
        }
        assert!(after.len() > 100 && (median(after.clone()) - percent).abs() < 0.1, "{percent}: {:?}", median(after));
    }
}

#[test]
fn time_that_is_in_no_stamp_is_interrupted_too() {
    // Looks at a clock that moves stop the stamps every 0.25 ms: what they miss does not come later.
    let state =
        SimState { clock: SimClock::Glide { low: 3e9, high: 3.000_01e9, period_seconds: 1.0 }, ..SimState::default() };
    let plan = Interruptions { long_per_second: 0.0, refill: false, ..Interruptions::default() };
    let options = SimOptions { state, ..interrupted(plan, 3) };
    let shots = visits(&mut host(options), &chase(16 * KIB, 1), VISITS);
    let clean = 4_010.0;
    let (mut taken, mut all) = (0.0, 0.0);
    for block in shots.iter().flat_map(|shot| blocks(&shot.threads[0])) {
        taken += (block - clean).max(0.0);
        all += block;
    }
    assert!((taken / all / share(plan.seen(1.0, 0, 3)) - 1.0).abs() < 0.1, "{}", taken / all);
}

#[test]
fn blocks_are_short_with_few_threads_and_few_with_many() {
    let number = |setup: &Setup| visits(&mut host(quiet()), setup, 1)[0].threads[0].stamps_ns.len() - 1;
    for bytes in [16 * KIB, 512 * KIB] {
        assert!((495..=501).contains(&number(&stream("read/plain", bytes, 2))));
    }
    assert!((495..=501).contains(&number(&chase(256 * MIB, 1))));
    assert!((248..=251).contains(&number(&stream("read/plain", 256 * MIB, 1))));
    let mut many = tiermark_sim::SimHost::new(testing::small_machine(2048), Vec::new(), quiet());
    let shot = &visits(&mut many, &chase(16 * KIB, 2048), 1)[0];
    assert!(shot.threads.iter().all(|thread| (60..=65).contains(&thread.stamps_ns.len())));
}
