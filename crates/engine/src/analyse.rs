//! From clock stamps to numbers: what a shot measured, and what disturbed it. Pure.
//!
//! Every worker stamps the clock after each small block of work. A block some 20 µs longer than the others is a gap
//! (preemption, hypervisor steal, an SMI; of contenders only one as long as a time slice). Of the short interruptions,
//! those of blocks in a core's own caches show, and these blocks are left out; elsewhere blocks scatter too much, and
//! the share of the time that interruptions take is subtracted. Each window has a value of its own, of the blocks in it
//! that count; it is clean if these are a third or more. What windows come to together is `estimate`.

mod account;
mod blocks;
mod clocks;
mod summary;
mod track;
mod value;

use tiermark_model::{Blocks, Disturbance, Metric, THREADS_KEPT, Window};

use crate::accounting::{Gauge, StepAccounting, Work};
use crate::host::{Shot, ThreadShot};
use crate::interruptions::Interruptions;

pub use account::merge;
pub(crate) use blocks::LONG_NS;
pub(crate) use track::WINDOW_NS;
use track::{Track, block_windows, common_windows, durations, whole_window, windows_between_looks};

/// The windows of one shot.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ShotResult {
    /// Its windows: the value (ns per access, or bytes per second, stamp cost subtracted), each named part, and, of two
    /// to eight threads, each thread.
    pub windows: Vec<Window>,
    /// What the blocks of each thread came to whose work the value counts.
    pub blocks: Vec<Blocks>,
    /// Its part of the step's disturbance account.
    pub disturbance: Disturbance,
    /// ns per access of every block as the clock gave it, gaps included, the stamp not subtracted (latency only).
    pub blocks_ns: Vec<f32>,
    /// Cost of a stamp in each of them, ns per access.
    pub stamp_per_access: f64,
    /// Work in one block: accesses, or useful bytes.
    pub block_work: f64,
    /// Work in all blocks of the threads that count, disturbed ones included.
    pub work: f64,
    /// Useful bytes of all its streams from the opening of the gate, those that serve as load too; `None` without
    /// streams, or where what they did outside their stamps is not known.
    pub streamed: Option<f64>,
    /// Whether counters of the machine saw its streams and little else.
    pub countable: bool,
    /// Stamp cost over median block, before it was subtracted; the worst thread's.
    pub overhead_share: f64,
    /// Core clocks seen, both ends of every thread.
    pub core_hz: Vec<f64>,
}

impl ShotResult {
    /// Values of its clean windows.
    pub fn clean(&self) -> impl Iterator<Item = f64> + '_ {
        self.windows.iter().filter(|window| window.clean).filter_map(Window::value)
    }
}

/// What is no time of the measured work.
#[derive(Debug, Clone, Copy)]
pub struct Deductions<'a> {
    /// Cost of one clock stamp, ns: subtracted from every block.
    pub stamp_ns: f64,
    /// The interruptions of the cpus so far.
    pub interruptions: &'a Interruptions,
}

/// Analyses one shot.
pub fn analyse(shot: &Shot, accounting: &StepAccounting, deductions: Deductions<'_>) -> ShotResult {
    let stamp_ns = deductions.stamp_ns;
    let members = accounting.members();
    let counted = || members.iter().filter_map(|index| shot.threads.get(*index));
    let block_work = counted().next().map_or(0.0, |t| t.per_block);
    let done = |thread: &ThreadShot| thread.per_block * thread.stamps_ns.len().saturating_sub(1) as f64;
    let work = counted().map(done).sum();
    let streams = shot.threads.iter().zip(&accounting.threads).filter(|(_, work)| **work == Work::Bytes);
    let streamed: Vec<Option<f64>> = streams.map(|(thread, _)| Some(done(thread) + thread.unstamped?)).collect();
    let countable = streamed.iter().all(Option::is_some);
    let streamed = if streamed.is_empty() { None } else { streamed.into_iter().sum() };
    let mut result =
        ShotResult { core_hz: core_clocks(shot), block_work, work, streamed, countable, ..ShotResult::default() };
    account::guards(shot, &mut result.disturbance);
    let works = accounting.threads.iter().copied().chain(std::iter::repeat(Work::Service));
    let mut by_thread: Vec<Option<Track<'_>>> =
        shot.threads.iter().zip(works).map(|(thread, work)| Track::new(thread, work)).collect();
    let stamps =
        |(index, work): (usize, &Work)| *work == Work::Service || by_thread.get(index).is_some_and(Option::is_some);
    if members.is_empty()
        || shot.threads.len() != accounting.threads.len()
        || !accounting.threads.iter().enumerate().all(stamps)
    {
        result.disturbance.shots_set_aside = 1;
        return result;
    }
    track::choose_blocks(&mut by_thread, accounting.is_of_core, deductions.interruptions);
    let tracks: Vec<&Track<'_>> = by_thread.iter().flatten().collect();
    account::gaps(&tracks, accounting.is_of_core, deductions.interruptions, &mut result.disturbance);
    let counted_tracks: Vec<&Track<'_>> = members.iter().filter_map(|index| by_thread[*index].as_ref()).collect();
    result.blocks = summary::of(&counted_tracks, stamp_ns);
    result.overhead_share = tracks.iter().map(|t| stamp_ns / t.median_block).fold(0.0, f64::max);
    if accounting.metric == Metric::Latency {
        result.blocks_ns = counted().flat_map(|t| durations(t).map(|d| (d / t.per_block) as f32)).collect();
        result.stamp_per_access = stamp_ns / block_work;
    }
    let spans = match (tracks.as_slice(), accounting.threads.as_slice()) {
        ([only], [Work::Revisits]) => whole_window(only),
        ([only], [Work::Calls | Work::Meetings | Work::Transfers]) => block_windows(only),
        ([only], _) if only.shot.looks.len() > 2 => windows_between_looks(only),
        _ => common_windows(&tracks),
    };
    // A shot is not valid if its worker changed cpus or waited for a disk.
    let whole = result.disturbance.migrations == 0 && result.disturbance.major_faults == 0;
    let gauges = gauges(accounting, &members);
    for span in spans {
        let clean = whole && tracks.iter().all(|track| track.is_clean(span));
        let gauge_value = |(gauge, members): &(Gauge, Vec<usize>)| {
            let members: Vec<&Track<'_>> = members.iter().filter_map(|index| by_thread[*index].as_ref()).collect();
            value::of(*gauge, &members, span, stamp_ns)
        };
        let clocks = clocks::of(&members, shot, span);
        result.windows.push(Window { clean, values: gauges.iter().map(gauge_value).collect(), clocks });
    }
    result.disturbance.windows = result.windows.len() as u64;
    result.disturbance.clean_windows = result.clean().count() as u64;
    result.disturbance.shots_set_aside = u64::from(result.disturbance.clean_windows == 0);
    result
}

/// Kind of each value of a window, and its threads.
fn gauges(accounting: &StepAccounting, members: &[usize]) -> Vec<(Gauge, Vec<usize>)> {
    let own = |index: usize| Gauge::Own(accounting.threads[index]);
    let mut gauges = vec![(own(members[0]), members.to_vec())];
    gauges.extend(accounting.parts.iter().map(|part| (part.gauge, part.members.clone())));
    if (2..=THREADS_KEPT).contains(&members.len()) {
        gauges.extend(members.iter().map(|index| (own(*index), vec![*index])));
    }
    gauges
}

fn core_clocks(shot: &Shot) -> Vec<f64> {
    shot.threads.iter().flat_map(|thread| &thread.looks).filter_map(|look| look.hz).collect()
}

#[cfg(test)]
mod tests;
