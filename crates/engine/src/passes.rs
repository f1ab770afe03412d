//! Whole passes of streams over memory: rates that were sustained over every page of it, and not for a window only.
//! Pure.
//!
//! The best of windows of 0.25 ms is up to 9 % above the best whole pass over the same memory: a level of windows that
//! no pass comes near is no rate that a program gets.

use tiermark_model::{Cache, KernelInfo, Machine, Purpose, Role, Step};

use crate::host::{Shot, ThreadShot};

/// The shot of a pass lasts so much longer than the pass takes at the rate of the visit before it: memory is slower at
/// other moments.
const SLACK: f64 = 1.3;
/// The longest shot of a pass, seconds: 5 GiB at 10 GB/s. Longer ones are not made.
const LONGEST_SECONDS: f64 = 0.75;
/// Memory from which it is taken for memory where no cache is declared.
const LEAST: u64 = 64 << 20;
/// Passes on each allocation, and visits for which a step gets one more: a few in a short run, many in a long one.
pub(crate) const ON_EACH: u32 = 2;
pub(crate) const MORE_EVERY: u32 = 64;

/// Whether a step is measured by whole passes too: a figure of bandwidth whose streams each have memory of their own,
/// more than the caches hold.
pub(crate) fn has_passes(step: &Step, machine: &Machine) -> bool {
    let setup = &step.setup;
    let streams = setup.threads.iter().all(|thread| matches!(thread.role, Role::Stream { .. }));
    let of_step = |cache: &&Cache| !cache.cpus.intersection(&setup.cpus()).is_empty();
    let cached: u64 = machine.data_caches().filter(of_step).filter_map(|cache| cache.bytes).sum();
    let alone = setup.regions.len() == setup.threads.len();
    // The cells of a matrix are many, and their threads pass over unlike memory.
    let is_of_bandwidth = |purpose| matches!(purpose, Purpose::Ladder | Purpose::Table);
    let is_figure = step.labels.purpose().is_none_or(is_of_bandwidth);
    is_figure && streams && alone && !setup.threads.is_empty() && setup.total_bytes().0 >= (2 * cached).max(LEAST)
}

/// Useful bytes of a pass, of each thread of a step.
pub(crate) fn bytes(step: &Step, kernel: &KernelInfo) -> Vec<f64> {
    let region = |index: usize| step.setup.regions.get(index).map_or(0.0, |region| region.bytes.0 as f64);
    let per_byte = kernel.useful_per_byte() / f64::from(kernel.streams.max(1));
    step.setup.threads.iter().map(|thread| region(thread.region) * per_byte).collect()
}

/// Seconds of a shot in which each thread ends a pass, at this rate of all of them.
pub(crate) fn seconds(bytes: &[f64], rate: f64) -> Option<f64> {
    Some(SLACK * bytes.iter().sum::<f64>() / rate).filter(|seconds| *seconds <= LONGEST_SECONDS)
}

/// The rate of a pass: what all threads did from the first start until the slowest had passed over its memory,
/// interruptions included. The others go on meanwhile, so that it is of all threads at once. `None` where a thread did
/// not come to the end of its memory in time.
pub(crate) fn rate(shot: &Shot, bytes: &[f64]) -> Option<f64> {
    let (mut from, mut to) = (f64::INFINITY, 0.0_f64);
    for (thread, bytes) in shot.threads.iter().zip(bytes) {
        let blocks = (bytes / thread.per_block).ceil();
        let (start, end) = (thread.stamps_ns.first()?, thread.stamps_ns.get(blocks as usize)?);
        (from, to) = (from.min(*start), to.max(*end));
    }
    let until = |thread: &ThreadShot| (thread.stamps_ns.partition_point(|stamp| *stamp <= to) - 1) as f64;
    let done: f64 = shot.threads.iter().map(|thread| until(thread) * thread.per_block).sum();
    Some(done / (to - from) * 1e9).filter(|rate| rate.is_finite() && *rate > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    fn thread(start: f64, block_ns: f64, blocks: usize) -> ThreadShot {
        let stamps_ns = (0..=blocks).map(|block| start + block as f64 * block_ns).collect();
        ThreadShot { per_block: 1000.0, stamps_ns, ..ThreadShot::default() }
    }

    #[test]
    fn a_pass_ends_with_the_slowest_thread_and_the_others_go_on() {
        let shot = |threads| Shot { threads, ..Shot::default() };
        // 10 kB in 10 blocks of 100 ns; what follows is not part of the pass.
        assert_eq!(rate(&shot(vec![thread(0.0, 100.0, 15)]), &[10_000.0]), Some(10.0 * 1e9));
        let two = shot(vec![thread(0.0, 100.0, 25), thread(0.0, 200.0, 12)]);
        assert_eq!(rate(&two, &[10_000.0; 2]), Some(15.0 * 1e9));
        assert_eq!(rate(&shot(vec![thread(0.0, 100.0, 9)]), &[10_000.0]), None, "it did not come to the end");
    }

    #[test]
    fn a_pass_that_would_last_long_is_not_made() {
        assert_eq!(seconds(&[1e9, 1e9], 20e9), Some(0.13));
        assert_eq!(seconds(&[1e12], 20e9), None);
    }
}
