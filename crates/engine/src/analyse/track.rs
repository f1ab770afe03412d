//! One thread's blocks: which of them are gaps, and the windows that threads have in common.

use super::blocks;
use crate::accounting::Work;
use crate::host::ThreadShot;
use crate::interruptions::Interruptions;

/// A block this much longer than its thread's median is a gap, ns: the shortest loss of a cpu to something else (an
/// interrupt that schedules, a hypervisor's exit that does) takes about that. The limit is absolute: one relative to
/// the shot's own median would censor a slow stretch where most of the shot is fast, and keep it where most is slow.
const GAP_NS: f64 = blocks::LONG_NS;
/// Blocks of streams last as long as that themselves, and those of string instructions longer: of them a gap is this
/// share of a block.
const GAP_SHARE: f64 = 0.5;
/// What takes turns with others waits for them: only what is as long as a scheduler's slice, ns, or this many median
/// blocks, is a gap.
const SLICE_NS: f64 = 500_000.0;
const TURNS: f64 = 3.0;
/// The first blocks after other work take longer than the median block of the visit: only what exceeds it by more than
/// this factor is a gap.
const COLD: f64 = 4.0;
/// Time of an access to memory after other work at most, ns: a walk of the page table of which each step misses takes
/// less. Where the system or a hypervisor has taken the memory away, it takes 100 µs to bring it back, in the median
/// block too: then every block is a gap.
const COLD_NS: f64 = 2_000.0;
/// Share of the blocks of a window that must count: of fewer the rest is chance.
const COUNTING: f64 = 1.0 / 3.0;

/// Shortest window, ns: the capability is what the hardware sustains for a window, and a visit of 2 ms has eight of
/// them. Shorter than a scheduler time slice, so that windows fit between preemptions on a busy machine.
pub(crate) const WINDOW_NS: f64 = 250_000.0;
/// Shortest window of contenders, ns: they get their turns in bursts, and a window holds several of them.
const TURNS_WINDOW_NS: f64 = 1_000_000.0;
/// A window holds at least this many median blocks, so that cutting blocks at its edges moves its rate by little.
const WINDOW_BLOCKS: f64 = 8.0;

/// One thread's blocks and gaps.
pub(super) struct Track<'a> {
    pub(super) shot: &'a ThreadShot,
    pub(super) work: Work,
    pub(super) median_block: f64,
    /// Start and end of each gap, ns.
    pub(super) gaps: Vec<(f64, f64)>,
    /// Which blocks do not count; `None` of work whose windows count whole or not at all.
    left_out: Option<Vec<bool>>,
    /// Share of the time of the blocks that count which interruptions take.
    pub(super) taken: f64,
    /// Whether over half of its blocks were interrupted, so that those that were not do not show.
    pub(super) is_mostly_interrupted: bool,
}

impl<'a> Track<'a> {
    pub(super) fn new(shot: &'a ThreadShot, work: Work) -> Option<Self> {
        let blocks: Vec<f64> = durations(shot).collect();
        let median_block = tiermark_stats::median(&blocks).filter(|m| *m > 0.0)?;
        let limit = gap_limit(median_block, work, shot.per_block);
        let gaps = shot.stamps_ns.windows(2).filter(|w| w[1] - w[0] > limit).map(|w| (w[0], w[1])).collect();
        Some(Self { shot, work, median_block, gaps, left_out: None, taken: 0.0, is_mostly_interrupted: false })
    }

    pub(super) fn start(&self) -> f64 {
        self.shot.stamps_ns.first().copied().unwrap_or_default()
    }

    pub(super) fn end(&self) -> f64 {
        self.shot.stamps_ns.last().copied().unwrap_or_default()
    }

    /// Whether a gap reaches into the span.
    pub(super) fn disturbed(&self, from: f64, to: f64) -> bool {
        let next = self.gaps.partition_point(|(_, end)| *end <= from);
        self.gaps.get(next).is_some_and(|(start, _)| *start < to)
    }

    /// Whether a block does not count.
    pub(super) fn leaves_out(&self, index: usize) -> bool {
        let stamps = &self.shot.stamps_ns;
        self.left_out.as_ref().map_or_else(|| self.disturbed(stamps[index], stamps[index + 1]), |gone| gone[index])
    }

    /// Whether enough of it counts in a window.
    pub(super) fn is_clean(&self, (from, to): (f64, f64)) -> bool {
        match &self.left_out {
            Some(left_out) => {
                let (counting, all) = self.parts(from, to).fold((0.0, 0.0), |(counting, all), (index, part)| {
                    (counting + if left_out[index] { 0.0 } else { part }, all + part)
                });
                counting > 0.0 && counting >= COUNTING * all
            }
            None => !self.disturbed(from, to),
        }
    }

    /// The blocks of which a part lies in a window, each with that part: blocks of string instructions are longer than
    /// windows.
    fn parts(&self, from: f64, to: f64) -> impl Iterator<Item = (usize, f64)> {
        let stamps = &self.shot.stamps_ns;
        let first = stamps[1..].partition_point(|end| *end <= from);
        let blocks = stamps[first..].windows(2).take_while(move |block| block[0] < to).enumerate();
        blocks.map(move |(index, block)| {
            let length = block[1] - block[0];
            (first + index, if length > 0.0 { (block[1].min(to) - block[0].max(from)) / length } else { 1.0 })
        })
    }

    /// Work and time, ns, of what counts in a window, stamps and interruptions taken out. Of work whose windows count
    /// whole, blocks are cut in proportion at the ends of the window.
    pub(super) fn counted(&self, (from, to): (f64, f64), stamp_ns: f64) -> (f64, f64) {
        let Some(left_out) = &self.left_out else {
            let work = self.work_at(to) - self.work_at(from);
            return (work, to - from - stamp_ns * work / self.shot.per_block);
        };
        let (mut blocks, mut ns) = (0.0, 0.0);
        for (index, part) in self.parts(from, to).filter(|(index, _)| !left_out[*index]) {
            blocks += part;
            ns += part * (self.shot.stamps_ns[index + 1] - self.shot.stamps_ns[index] - stamp_ns);
        }
        (blocks * self.shot.per_block, ns * (1.0 - self.taken))
    }

    /// Work done by the time `at`, blocks cut in proportion.
    pub(super) fn work_at(&self, at: f64) -> f64 {
        let stamps = &self.shot.stamps_ns;
        let next = stamps.partition_point(|s| *s <= at);
        if next == 0 {
            return 0.0;
        }
        let whole = (next - 1) as f64;
        let part = match stamps.get(next) {
            Some(end) => (at - stamps[next - 1]) / (end - stamps[next - 1]),
            None => 0.0,
        };
        (whole + part) * self.shot.per_block
    }
}

/// Chooses the blocks that count of the threads of a shot, where blocks of their work are alike.
///
/// In a core's own caches interrupted blocks show, and each thread stands for itself. Elsewhere a block counts while no
/// thread has a gap: while one is off its cpu, the others have the memory for themselves. Interruptions that are no gap
/// do not show in such blocks; the share of the time that they take is subtracted.
pub(super) fn choose_blocks(tracks: &mut [Option<Track<'_>>], is_of_core: bool, interruptions: &Interruptions) {
    let is_steady =
        |track: &Track<'_>| matches!(track.work, Work::Accesses | Work::Bytes | Work::FirstAccesses | Work::Revisits);
    if !tracks.iter().flatten().all(is_steady) {
        return;
    }
    let mut gaps: Vec<(f64, f64)> = tracks.iter().flatten().flat_map(|track| track.gaps.iter().copied()).collect();
    gaps.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    for track in tracks.iter_mut().flatten() {
        let own: Vec<f64> = durations(track.shot).collect();
        let interrupted = is_of_core.then(|| blocks::interrupted(&own));
        track.is_mostly_interrupted = interrupted == Some(Err(blocks::Unclear::MostlyInterrupted));
        let interrupted = interrupted.and_then(Result::ok);
        track.taken = if interrupted.is_some() { 0.0 } else { interruptions.short_share(track.shot.guard.cpu) };
        track.left_out = Some(interrupted.unwrap_or_else(|| beside_gaps(&track.shot.stamps_ns, &gaps)));
    }
}

/// Marks the blocks during which any of the gaps, in order of their starts, lasted.
fn beside_gaps(stamps_ns: &[f64], gaps: &[(f64, f64)]) -> Vec<bool> {
    let mut left_out = vec![false; stamps_ns.len().saturating_sub(1)];
    let ends = &stamps_ns[1..];
    for (start, end) in gaps {
        let first = ends.partition_point(|stamp| *stamp <= *start);
        let during = left_out.iter_mut().zip(stamps_ns).skip(first);
        during.take_while(|(_, begins)| **begins < *end).for_each(|(gone, _)| *gone = true);
    }
    left_out
}

/// The longest block that is no gap, ns. Contenders get their turns in bursts, and wait many times a median block for
/// the next one: that wait is what is measured, as it is where the kernel wakes another.
fn gap_limit(median_block: f64, work: Work, accesses: f64) -> f64 {
    match work {
        Work::Turns | Work::Meetings | Work::Transfers => (TURNS * median_block).max(median_block + SLICE_NS),
        Work::FirstAccesses => (COLD * median_block).max(median_block + GAP_NS).min(COLD_NS * accesses + GAP_NS),
        _ => median_block + GAP_NS.max(GAP_SHARE * median_block),
    }
}

/// How long each block of a thread took, ns.
pub(super) fn durations(shot: &ThreadShot) -> impl Iterator<Item = f64> + '_ {
    shot.stamps_ns.windows(2).map(|w| w[1] - w[0])
}

/// The windows of operations of the kernel: whole blocks, as many as reach the length of a window. Time that does not
/// count is taken out of the stamps, and blocks may be long: cut by time, one gap would fill many windows, and one
/// window would hold parts of few blocks.
pub(super) fn block_windows(track: &Track<'_>) -> Vec<(f64, f64)> {
    let stamps = &track.shot.stamps_ns;
    let last = stamps.len() - 1;
    let blocks = ((WINDOW_NS / track.median_block) as usize).clamp(1, last.max(1));
    let whole = (0..last / blocks).map(|i| (stamps[i * blocks], stamps[(i + 1) * blocks]));
    whole.collect()
}

/// The one window of a visit to what was touched before: all of its chase. Cut by time, a slow chase would count more
/// often than a fast one.
pub(super) fn whole_window(track: &Track<'_>) -> Vec<(f64, f64)> {
    vec![(track.start(), track.end())]
}

/// Cuts the span common to all threads into windows of equal length; one shorter window if the span is short.
pub(super) fn common_windows(tracks: &[&Track<'_>]) -> Vec<(f64, f64)> {
    let start = tracks.iter().map(|t| t.start()).fold(f64::MIN, f64::max);
    let end = tracks.iter().map(|t| t.end()).fold(f64::MAX, f64::min);
    let slowest = tracks.iter().map(|t| t.median_block).fold(0.0, f64::max);
    let turns = tracks.iter().any(|track| track.work == Work::Turns);
    let length = if turns { TURNS_WINDOW_NS } else { WINDOW_NS }.max(WINDOW_BLOCKS * slowest);
    let span = end - start;
    if span <= 0.0 {
        return Vec::new();
    }
    let count = (span / length).floor().max(1.0);
    let length = length.min(span);
    (0..count as u64).map(|i| (start + i as f64 * length, start + (i + 1) as f64 * length)).collect()
}

/// The windows of a thread whose clock was looked at between them: from one look to the next. A last piece that is much
/// shorter than the others would be noisier than they are, and is left out.
pub(super) fn windows_between_looks(track: &Track<'_>) -> Vec<(f64, f64)> {
    /// Share of the length of a window from which a piece is one.
    const WHOLE: f64 = 0.75;
    let spans: Vec<(f64, f64)> = track.shot.looks.windows(2).map(|pair| (pair[0].at_ns, pair[1].at_ns)).collect();
    let longest = spans.iter().map(|(from, to)| to - from).fold(0.0, f64::max).min(WINDOW_NS);
    spans.into_iter().filter(|(from, to)| to - from >= WHOLE * longest).collect()
}
