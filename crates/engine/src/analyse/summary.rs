//! What the blocks of a visit come to, for each counted thread.

use tiermark_model::{BlockValues, Blocks, THREADS_KEPT};

use super::track::{Track, durations};
use crate::accounting::Work;

/// The blocks of each thread; of more threads than a document keeps, of all together.
pub(super) fn of(tracks: &[&Track<'_>], stamp_ns: f64) -> Vec<Blocks> {
    if tracks.len() > THREADS_KEPT {
        return vec![together(tracks, stamp_ns)];
    }
    tracks.iter().map(|track| together(&[track], stamp_ns)).collect()
}

/// The blocks of threads that do the same work.
fn together(tracks: &[&Track<'_>], stamp_ns: f64) -> Blocks {
    let value = |ns: f64, work: f64| match tracks[0].work {
        Work::Bytes | Work::Transfers => work / ns * 1e9,
        _ => ns / work,
    };
    let (mut count, mut all_ns, mut left_out_ns) = (0, 0.0, 0.0);
    let (mut values, mut ns, mut work) = (Vec::new(), 0.0, 0.0);
    for track in tracks {
        let per_block = track.shot.per_block;
        for (index, block_ns) in durations(track.shot).enumerate() {
            (count, all_ns) = (count + 1, all_ns + block_ns);
            if track.leaves_out(index) {
                left_out_ns += block_ns;
                continue;
            }
            values.push(value(block_ns - stamp_ns, per_block));
            (ns, work) = (ns + block_ns - stamp_ns, work + per_block);
        }
    }
    let left_out = count - values.len() as u64;
    // Selected, not sorted: 400 threads stamp 100,000 blocks and more in a visit.
    let mut at = |q: f64| {
        let index = (values.len().checked_sub(1)? as f64 * q).round() as usize;
        Some(*values.select_nth_unstable_by(index, f64::total_cmp).1)
    };
    let quantiles = [at(0.1), at(0.5), at(0.9)];
    Blocks {
        count,
        left_out,
        left_out_share: if all_ns > 0.0 { left_out_ns / all_ns } else { 0.0 },
        subtracted: tracks.iter().map(|track| track.taken).sum::<f64>() / tracks.len() as f64,
        values: match quantiles {
            [Some(p10), Some(median), Some(p90)] => Some(BlockValues { mean: value(ns, work), median, p10, p90 }),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use tiermark_model::{Blocks, Metric};

    use super::super::{Deductions, analyse};
    use crate::accounting::{StepAccounting, Work};
    use crate::host::{Guard, IdleWatch, Shot, ThreadShot};
    use crate::interruptions::Interruptions;

    fn thread(per_block: f64, blocks: &[f64]) -> ThreadShot {
        let ends = blocks.iter().scan(0.0, |at, block| {
            *at += block;
            Some(*at)
        });
        let guard = Guard { cpu: 1, seen_on: [1, 1], ..Guard::default() };
        // A tenth of the time goes to interruptions of 2 µs.
        let idle = IdleWatch { ns: 200_000.0, gaps_ns: vec![2_000.0; 10] };
        ThreadShot {
            per_block,
            stamps_ns: std::iter::once(0.0).chain(ends).collect(),
            guard,
            idle,
            ..Default::default()
        }
    }

    fn summary(threads: Vec<ThreadShot>, accounting: &StepAccounting) -> Vec<Blocks> {
        let shot = Shot { threads, ..Shot::default() };
        let mut interruptions = Interruptions::default();
        interruptions.add(0.0, &shot);
        analyse(&shot, accounting, Deductions { stamp_ns: 20.0, interruptions: &interruptions }).blocks
    }

    #[test]
    fn of_a_core_interrupted_blocks_are_left_out_and_nothing_is_subtracted() {
        let mut blocks: Vec<f64> = (0..100).map(|index| 4_020.0 + f64::from(index % 10)).collect();
        (blocks[10], blocks[50]) = (6_020.0, 60_020.0);
        let of_core = StepAccounting { is_of_core: true, ..StepAccounting::plain(Metric::Latency, 1) };
        let [one] = summary(vec![thread(1_000.0, &blocks)], &of_core).try_into().unwrap();
        // Each with those in which caches fill again: 2 and 9.
        assert_eq!((one.count, one.left_out, one.subtracted), (100, 11, 0.0));
        let gone: f64 = blocks[10..12].iter().chain(&blocks[50..59]).sum();
        assert!((one.left_out_share / (gone / blocks.iter().sum::<f64>()) - 1.0).abs() < 1e-9);
        let values = one.values.unwrap();
        let left: f64 = blocks.iter().sum::<f64>() - gone;
        assert!((values.mean - (left / 89.0 - 20.0) / 1_000.0).abs() < 1e-9);
        assert_eq!([values.p10, values.median, values.p90], [4.001, 4.005, 4.009]);
    }

    #[test]
    fn of_memory_both_threads_lose_a_gap_and_short_interruptions_are_subtracted() {
        let mut blocks = vec![10_020.0; 100];
        blocks[40] = 100_020.0;
        let threads = vec![thread(1e5, &blocks), thread(1e5, &[20_020.0; 55])];
        let [gone, beside] = summary(threads, &StepAccounting::plain(Metric::Bandwidth, 2)).try_into().unwrap();
        assert_eq!((gone.count, gone.left_out, beside.count, beside.left_out), (100, 1, 55, 6));
        assert!([gone, beside].iter().all(|thread| (thread.subtracted - 0.1).abs() < 1e-9));
        let rates = |thread: Blocks| thread.values.map(|of| [of.mean, of.p10, of.median, of.p90].map(|r| r.round()));
        assert_eq!((rates(gone), rates(beside)), (Some([1e10; 4]), Some([5e9; 4])));
    }

    #[test]
    fn many_threads_have_one_summary_and_gaps_of_calls_are_left_out() {
        let all = summary(vec![thread(1e5, &[10_020.0; 50]); 12], &StepAccounting::plain(Metric::Bandwidth, 12));
        assert!(matches!(all[..], [Blocks { count: 600, left_out: 0, .. }]), "{all:?}");
        let calls = StepAccounting { threads: vec![Work::Calls], ..StepAccounting::plain(Metric::Latency, 1) };
        let mut blocks = vec![1_020.0; 50];
        blocks[7] = 50_000.0;
        let [one] = summary(vec![thread(1.0, &blocks)], &calls).try_into().unwrap();
        assert_eq!((one.count, one.left_out, one.subtracted), (50, 1, 0.0));
    }
}
