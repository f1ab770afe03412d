//! Handmade shots, and what must come of them.

#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

use proptest::prelude::*;
use tiermark_model::{Disturbance, Machine, Metric, Role, Setup, Step, ThreadSetup, testing};

use super::value::middle_fifth;
use super::{Deductions, ShotResult, merge};
use crate::accounting::{EVENNESS, Gauge, LINE, PartAccounting, StepAccounting, Work};
use crate::host::{Guard, IdleWatch, Shot, ThreadShot};
use crate::interruptions::Interruptions;

fn thread(start: f64, per_block: f64, blocks: &[f64]) -> ThreadShot {
    let mut stamps_ns = vec![start];
    for block in blocks {
        stamps_ns.push(stamps_ns[stamps_ns.len() - 1] + block);
    }
    ThreadShot {
        unstamped: None,
        per_block,
        stamps_ns,
        guard: Guard { cpu: 1, seen_on: [1, 1], cpu_ns: 90.0, wall_ns: 100.0, ..Guard::default() },
        ..ThreadShot::default()
    }
}

fn analyse(shot: &Shot, metric: Metric, stamp_ns: f64) -> ShotResult {
    with_accounting(shot, &StepAccounting::plain(metric, shot.threads.len()), stamp_ns)
}

fn with_accounting(shot: &Shot, accounting: &StepAccounting, stamp_ns: f64) -> ShotResult {
    super::analyse(shot, accounting, Deductions { stamp_ns, interruptions: &Interruptions::default() })
}

fn shot(threads: Vec<ThreadShot>) -> Shot {
    Shot { threads, ..Shot::default() }
}

/// The middle of a column over clean windows.
fn column(result: &ShotResult, index: usize) -> Option<f64> {
    let clean = result.windows.iter().filter(|window| window.clean);
    tiermark_stats::median(&clean.filter_map(|window| window.values[index]).collect::<Vec<f64>>())
}

fn value(result: &ShotResult) -> Option<f64> {
    column(result, 0)
}

#[test]
fn latency_is_the_median_block_without_the_stamp() {
    let result = analyse(&shot(vec![thread(0.0, 64.0, &[6_420.0; 400])]), Metric::Latency, 20.0);
    assert!((value(&result).unwrap() - 100.0).abs() < 1e-9);
    assert_eq!(result.disturbance.clean_windows, result.disturbance.windows);
    assert_eq!(result.blocks_ns.len(), 400);
    assert!((result.overhead_share - 20.0 / 6420.0).abs() < 1e-9);
}

#[test]
fn only_those_that_are_measured_must_stamp() {
    let measured = || thread(0.0, 64.0, &[6_400.0; 400]);
    let silent = || thread(0.0, 1.0, &[]);
    let accounting = StepAccounting {
        metric: Metric::Latency,
        threads: vec![Work::Accesses, Work::Service],
        parts: Vec::new(),
        is_of_core: false,
    };
    let result = with_accounting(&shot(vec![measured(), silent()]), &accounting, 0.0);
    assert!((value(&result).unwrap() - 100.0).abs() < 1e-9);
    // A partner that changed cpus spoils the shot all the same.
    let mut away = silent();
    away.guard.seen_on = [1, 0];
    assert_eq!(value(&with_accounting(&shot(vec![measured(), away]), &accounting, 0.0)), None);
    // One that should have stamped and did not is not measured at all.
    let both = StepAccounting { threads: vec![Work::Accesses; 2], ..accounting };
    let result = with_accounting(&shot(vec![measured(), silent()]), &both, 0.0);
    assert_eq!((value(&result), result.disturbance.shots_set_aside), (None, 1));
}

/// Each access to memory that a hypervisor has taken away takes 0.1 ms: such visits gave 116,954 ns.
#[test]
fn accesses_to_memory_that_was_taken_away_are_not_cold_ones() {
    let accounting = StepAccounting {
        metric: Metric::Latency,
        threads: vec![Work::FirstAccesses],
        parts: Vec::new(),
        is_of_core: false,
    };
    let of = |blocks: &[f64]| {
        let result = with_accounting(&shot(vec![thread(0.0, 32.0, blocks)]), &accounting, 0.0);
        (value(&result), result.windows.first().map(|window| window.clean))
    };
    let cold = [vec![32.0 * 420.0; 20], vec![32.0 * 150.0; 3000]].concat();
    assert!(of(&cold).1 == Some(true) && of(&cold).0.is_some());
    let all_stalled = vec![32.0 * 117_000.0; 40];
    assert_eq!(of(&all_stalled), (None, Some(false)));
    let mut begins_with_one = cold.clone();
    begins_with_one[3] += 100_000.0;
    // The stall is left out, and the rest counts.
    let clean = of(&cold).0.unwrap();
    assert!((of(&begins_with_one).0.unwrap() / clean - 1.0).abs() < 0.1, "{:?}", of(&begins_with_one));
}

#[test]
fn preemption_does_not_move_the_latency_but_is_counted() {
    let mut blocks = vec![6_400.0; 600];
    for i in (0..600).step_by(200) {
        blocks[i] = 3_000_000.0;
    }
    let result = analyse(&shot(vec![thread(0.0, 64.0, &blocks)]), Metric::Latency, 0.0);
    assert!((value(&result).unwrap() - 100.0).abs() < 1e-9);
    assert!(result.disturbance.gap_share > 0.5);
    assert!(result.disturbance.clean_windows < result.disturbance.windows);
    assert!((result.disturbance.longest_gap_ns - 3e6).abs() < 1.0);
}

#[test]
fn bandwidth_counts_only_windows_in_which_every_thread_runs() {
    // Each thread moves 10 GB/s while it runs; one is off the cpu for the first 5 ms of 10.
    let steady = thread(0.0, 65_536.0, &[6_553.6; 1526]);
    let mut blocks = vec![6_553.6; 764];
    blocks[0] = 5_000_000.0;
    let late = thread(0.0, 65_536.0, &blocks);
    let result = analyse(&shot(vec![steady, late]), Metric::Bandwidth, 0.0);
    let value = value(&result).unwrap();
    assert!((value - 20e9).abs() < 0.01 * 20e9, "{value}");
    assert!(result.disturbance.clean_windows * 2 <= result.disturbance.windows);
}

#[test]
fn waits_for_the_other_side_are_part_of_a_channels_rate() {
    // Nine blocks of 64 KiB at 16 GB/s out of what the channel holds, and one that waits for the other side to be
    // woken.
    let blocks: Vec<f64> = (0..600).map(|i| if i % 10 == 9 { 60_000.0 } else { 4_096.0 }).collect();
    let accounting = StepAccounting {
        metric: Metric::Bandwidth,
        threads: vec![Work::Transfers],
        parts: Vec::new(),
        is_of_core: false,
    };
    let all = 10.0 * 65_536.0 / (9.0 * 4_096.0 + 60_000.0) * 1e9;
    let result = with_accounting(&shot(vec![thread(0.0, 65_536.0, &blocks)]), &accounting, 0.0);
    assert_eq!(result.disturbance.clean_windows, result.disturbance.windows);
    assert!((value(&result).unwrap() / all - 1.0).abs() < 0.02, "{result:?} {all}");
    // A time slice of another program does not count.
    let mut disturbed = blocks;
    disturbed[300] = 4_000_000.0;
    let result = with_accounting(&shot(vec![thread(0.0, 65_536.0, &disturbed)]), &accounting, 0.0);
    assert!(result.disturbance.clean_windows < result.disturbance.windows);
    assert!((value(&result).unwrap() / all - 1.0).abs() < 0.05, "{result:?} {all}");
    // What stamps cost is taken out.
    let stamped = with_accounting(&shot(vec![thread(0.0, 65_536.0, &[4_196.0; 600])]), &accounting, 100.0);
    assert!((value(&stamped).unwrap() / 16e9 - 1.0).abs() < 1e-9, "{stamped:?}");
}

#[test]
fn of_long_operations_those_that_were_disturbed_do_not_count() {
    let accounting =
        |work| StepAccounting { metric: Metric::Latency, threads: vec![work], parts: Vec::new(), is_of_core: false };
    let of = |work, blocks: &[f64]| with_accounting(&shot(vec![thread(0.0, 1.0, blocks)]), &accounting(work), 0.0);
    // Five forks of 5 ms, and a slice of another in two of them.
    let forks = [5e6, 5e6, 8e6, 5.1e6, 9e6];
    let result = of(Work::Calls, &forks);
    assert_eq!((result.disturbance.windows, result.disturbance.clean_windows), (5, 3));
    assert!((value(&result).unwrap() - 5e6).abs() < 1e5, "{result:?}");
    // A thread that waits for another may have to wait as long.
    assert_eq!(of(Work::Meetings, &forks).disturbance.clean_windows, 5);
    // A sleep that comes 33 ms late is one of the windows, whatever the others come to.
    let mut sleeps = [60_000.0; 80];
    sleeps[40] = 33e6;
    let late = of(Work::Calls, &sleeps);
    assert_eq!(late.disturbance.windows - late.disturbance.clean_windows, 1);
    assert_eq!(late.disturbance.windows, 20);
    // A single block is all there is.
    assert_eq!(value(&of(Work::Calls, &[7e6])), Some(7e6));
}

#[test]
fn blocks_as_long_as_windows_count_in_proportion() {
    // Two threads whose string instructions last 2.2 ms a block, begun at different moments: no window holds a block.
    let threads = [0.0, 700_000.0].map(|start| thread(start, 10e6, &[2_200_000.0; 6]));
    let result = analyse(&shot(threads.to_vec()), Metric::Bandwidth, 0.0);
    let planted = 2.0 * 10e6 / 2.2e-3;
    assert!(value(&result).is_some_and(|value| (value / planted - 1.0).abs() < 1e-6), "{:?} {planted}", value(&result));
}

#[test]
fn a_time_slice_does_not_hide_in_long_blocks() {
    // String instructions run in blocks of 1.5 ms; one slice of 2 ms inside a block is less than three of them.
    let mut blocks = vec![1_500_000.0; 40];
    blocks[20] += 2_000_000.0;
    let result = analyse(&shot(vec![thread(0.0, 6e7, &blocks)]), Metric::Bandwidth, 0.0);
    assert!(result.disturbance.gap_share > 0.03, "{result:?}");
    assert!((value(&result).unwrap() / 40e9 - 1.0).abs() < 1e-9);
}

#[test]
fn start_skew_is_not_counted_as_work() {
    let early = thread(0.0, 65_536.0, &[6_553.6; 400]);
    let late = thread(1_000_000.0, 65_536.0, &[6_553.6; 400]);
    let value = value(&analyse(&shot(vec![early, late]), Metric::Bandwidth, 0.0)).unwrap();
    assert!((value - 20e9).abs() < 1e7, "{value}");
}

#[test]
fn a_migrated_or_major_faulting_shot_is_set_aside_whole() {
    for change in [|g: &mut Guard| g.seen_on = [1, 2], |g: &mut Guard| g.major_faults = 1] {
        let mut thread = thread(0.0, 64.0, &[6_400.0; 400]);
        change(&mut thread.guard);
        let result = analyse(&shot(vec![thread]), Metric::Latency, 0.0);
        assert_eq!(value(&result), None);
        assert_eq!((result.disturbance.shots_set_aside, result.disturbance.clean_windows), (1, 0));
    }
}

#[test]
fn a_shot_without_blocks_is_set_aside() {
    for threads in [vec![], vec![thread(0.0, 64.0, &[])], vec![thread(0.0, 64.0, &[5e3; 9]), thread(0.0, 64.0, &[])]] {
        let result = analyse(&shot(threads), Metric::Bandwidth, 0.0);
        assert_eq!((value(&result), result.disturbance.shots_set_aside), (None, 1));
    }
}

#[test]
fn threads_that_never_overlap_have_no_common_window() {
    let a = thread(0.0, 65_536.0, &[6_553.6; 100]);
    let b = thread(1e9, 65_536.0, &[6_553.6; 100]);
    assert_eq!(value(&analyse(&shot(vec![a, b]), Metric::Bandwidth, 0.0)), None);
}

#[test]
fn a_chase_beside_a_load_gives_its_latency_and_the_load_its_rate() {
    let chase = thread(0.0, 64.0, &[6_400.0; 400]);
    let load = |rate: f64| thread(0.0, 65_536.0, &vec![65_536.0 / rate; 400]);
    let accounting = StepAccounting {
        metric: Metric::Latency,
        threads: vec![Work::Accesses, Work::Bytes, Work::Bytes],
        parts: vec![
            PartAccounting { name: "load".into(), gauge: Gauge::Own(Work::Bytes), members: vec![1, 2] },
            PartAccounting { name: "near".into(), gauge: Gauge::Own(Work::Bytes), members: vec![1] },
        ],
        is_of_core: false,
    };
    let result = with_accounting(&shot(vec![chase, load(10.0), load(20.0)]), &accounting, 0.0);
    assert!((value(&result).unwrap() - 100.0).abs() < 1e-9);
    assert!(
        (column(&result, 1).unwrap() / 30e9 - 1.0).abs() < 1e-6
            && (column(&result, 2).unwrap() / 10e9 - 1.0).abs() < 1e-6
    );
    assert_eq!(result.blocks_ns.len(), 400);
}

/// The accounting of a step with so many contenders.
fn contenders(count: u32) -> StepAccounting {
    let part = |cpu: u32| ThreadSetup { part: format!("cpu {cpu}"), ..ThreadSetup::new(cpu, Role::Contend, 0) };
    let setup = Setup { regions: Vec::new(), threads: (0..count).map(part).collect(), seed: 0 };
    StepAccounting::of(&Step { setup, ..testing::step("a", Metric::Latency) }, &Machine::default())
}

/// The value of a part.
fn part(result: &ShotResult, accounting: &StepAccounting, name: &str) -> f64 {
    let index = accounting.parts.iter().position(|part| part.name == name).unwrap();
    column(result, 1 + index).unwrap()
}

#[test]
fn who_wins_the_line_counts_no_more_than_who_waits_for_it() {
    // 20 ms: one has a turn every 10 ns, the two others one every 100 ns.
    let winner = || thread(0.0, 128.0, &[1_290.0; 15_000]);
    let loser = || thread(0.0, 128.0, &[12_810.0; 1_510]);
    let accounting = contenders(3);
    let result = with_accounting(&shot(vec![winner(), loser(), loser()]), &accounting, 10.0);
    assert!((value(&result).unwrap() / 100.0 - 1.0).abs() < 1e-3, "a cpu in the middle: {:?}", value(&result));
    assert!((part(&result, &accounting, "cpu 0") / 10.0 - 1.0).abs() < 1e-3);
    assert!((part(&result, &accounting, "cpu 2") / 100.0 - 1.0).abs() < 1e-3);
    // 0.1 + 0.01 + 0.01 turns a ns on the line, of which the fewest are a tenth of the most.
    assert!((part(&result, &accounting, LINE) / (1.0 / 0.12) - 1.0).abs() < 1e-3);
    assert!((part(&result, &accounting, EVENNESS) / 0.1 - 1.0).abs() < 1e-3);
    let two = with_accounting(&shot(vec![winner(), loser()]), &contenders(2), 10.0);
    assert!((value(&two).unwrap() / 55.0 - 1.0).abs() < 1e-3, "neither of two: {:?}", value(&two));
}

#[test]
fn bursts_and_the_wait_for_the_next_are_both_turns() {
    // Nine blocks in a burst of 1 us each, then one that waited for 91 us: a hundred in ten blocks.
    let bursts = |first: usize| {
        let block = |index: usize| if (index + first).is_multiple_of(10) { 91_000.0 } else { 1_000.0 };
        thread(0.0, 100.0, &(0..2_000).map(block).collect::<Vec<f64>>())
    };
    let accounting = contenders(2);
    let result = with_accounting(&shot(vec![bursts(0), bursts(5)]), &accounting, 0.0);
    assert!((value(&result).unwrap() / 100.0 - 1.0).abs() < 0.01, "{:?}", value(&result));
    assert!((part(&result, &accounting, EVENNESS) - 1.0).abs() < 0.02);
    assert_eq!(result.disturbance.gap_share, 0.0, "waiting for the line is no gap");
    assert_eq!(result.disturbance.clean_windows, result.disturbance.windows);
}

#[test]
fn a_contender_that_lost_its_cpu_is_no_contender() {
    // Without its cpu for 3 ms, twice; the other has the line for itself meanwhile.
    let mut lost = vec![10_000.0; 1_400];
    (lost[300], lost[900]) = (3_000_000.0, 3_000_000.0);
    let other = vec![10_000.0; 2_000];
    let accounting = contenders(2);
    let result = with_accounting(&shot(vec![thread(0.0, 100.0, &lost), thread(0.0, 100.0, &other)]), &accounting, 0.0);
    assert!((value(&result).unwrap() / 100.0 - 1.0).abs() < 1e-3, "{:?}", value(&result));
    let account = &result.disturbance;
    assert!(account.clean_windows + 6 <= account.windows && account.gap_share > 0.1, "{account:?}");
}

#[test]
fn the_middle_fifth_is_a_median_without_steps() {
    assert_eq!(middle_fifth(vec![]), None);
    assert_eq!(middle_fifth(vec![3.0]), Some(3.0));
    assert_eq!(middle_fifth(vec![1.0, 2.0, 900.0]), Some(2.0));
    // Half of the blocks at 10, half at 11, as a clock with a step of 1 shows 10.5.
    let stepped: Vec<f64> = (0..100).map(|i| f64::from(10 + i % 2)).collect();
    assert_eq!(middle_fifth(stepped), Some(10.5));
}

#[test]
fn accounts_merge() {
    let one = analyse(&shot(vec![thread(0.0, 64.0, &[6_400.0; 400])]), Metric::Latency, 0.0).disturbance;
    let mut total = Disturbance::default();
    merge(&mut total, &one);
    merge(&mut total, &one);
    assert_eq!(total.shots, 2);
    assert_eq!(total.windows, 2 * one.windows);
    assert!((total.cpu_share.unwrap() - 0.9).abs() < 1e-12);
}

proptest! {
    #[test]
    fn never_panics_and_never_gives_nonsense(
        a in proptest::collection::vec(1.0f64..1e6, 0..300),
        b in proptest::collection::vec(1.0f64..1e6, 0..300),
        skew in 0.0f64..1e6,
    ) {
        let shot = shot(vec![thread(0.0, 64.0, &a), thread(skew, 64.0, &b)]);
        for metric in [Metric::Latency, Metric::Bandwidth] {
            let result = analyse(&shot, metric, 0.0);
            prop_assert!(result.clean().all(|v| v.is_finite() && v > 0.0));
            prop_assert!(result.disturbance.clean_windows <= result.disturbance.windows);
        }
    }
}

/// A visit of blocks of so many ns that is interrupted at distances of 50 µs, for 1.5 to 6 µs, and what a watch beside
/// it sees.
fn interrupted_visit(block_ns: f64, per_block: f64, scatter: f64, seed: u64) -> (ThreadShot, f64) {
    let mut rng = tiermark_stats::Rng::new(seed);
    let (mut at, mut next, mut taken) = (0.0, 10_000.0, 0.0);
    let mut blocks = Vec::new();
    while at < 2e6 {
        let mut block = block_ns * (1.0 + scatter * rng.normal());
        while at + block > next {
            let gap = 1_500.0 + 4_500.0 * rng.unit();
            (block, taken, next) = (block + gap, taken + gap, next + 50_000.0 + gap);
        }
        at += block;
        blocks.push(block);
    }
    let gaps_ns: Vec<f32> = (0..40).map(|_| (1_500.0 + 4_500.0 * rng.unit()) as f32).collect();
    let idle = IdleWatch { ns: 40.0 * (50_000.0 + 3_750.0), gaps_ns };
    (ThreadShot { idle, ..thread(0.0, per_block, &blocks) }, taken / at)
}

#[test]
fn what_a_busy_hypervisor_takes_is_not_in_the_value() {
    for seed in 0..10 {
        // L1 in blocks of 4 µs: the interrupted ones are left out.
        let (visit, taken) = interrupted_visit(4_000.0, 3_200.0, 0.001, seed);
        assert!(taken > 0.05, "{taken}");
        let of_core = StepAccounting { is_of_core: true, ..StepAccounting::plain(Metric::Latency, 1) };
        let result = with_accounting(&shot(vec![visit]), &of_core, 0.0);
        assert!((value(&result).unwrap() / 1.25 - 1.0).abs() < 0.002, "seed {seed}: {:?}", value(&result));
        assert_eq!(result.disturbance.clean_windows, result.disturbance.windows);
        // Memory in blocks of 12 µs, which scatter: the share is subtracted.
        let (visit, _) = interrupted_visit(12_000.0, 192_000.0, 0.08, seed);
        let visit = shot(vec![visit]);
        let mut interruptions = Interruptions::default();
        interruptions.add(0.0, &visit);
        let deductions = Deductions { stamp_ns: 0.0, interruptions: &interruptions };
        let result = super::analyse(&visit, &StepAccounting::plain(Metric::Bandwidth, 1), deductions);
        assert!((value(&result).unwrap() / 16e9 - 1.0).abs() < 0.03, "seed {seed}: {:?}", value(&result));
    }
}

#[test]
fn a_thread_beside_one_that_lost_its_cpu_does_not_count() {
    // Alone, each moves 20 GB/s; together, 10 each. The second is off its cpu for a half of the visit, in slices of
    // 0.5 ms.
    let slices = |index: usize| (index / 42).is_multiple_of(2);
    let steady: Vec<f64> = (0..330).map(|index| if slices(index) { 12_000.0 } else { 6_000.0 }).collect();
    let (mut at, mut blocks) = (0.0, Vec::new());
    while at < 2.97e6 {
        let gap = 42.0 * 6_000.0;
        let block = if (blocks.len() + 1).is_multiple_of(43) { 12_000.0 + gap } else { 12_000.0 };
        at += block;
        blocks.push(block);
    }
    let result =
        analyse(&shot(vec![thread(0.0, 120_000.0, &steady), thread(0.0, 120_000.0, &blocks)]), Metric::Bandwidth, 0.0);
    let seen = value(&result).unwrap();
    assert!((seen / 20e9 - 1.0).abs() < 0.06, "{seen}");
}
