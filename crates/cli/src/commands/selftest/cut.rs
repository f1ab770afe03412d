//! What the blocks of a continuous chase say of its latency. Pure.

use tiermark_stats::upper_median;

/// Interruptions are long from here on, ns: something else got the cpu, and not only the hypervisor.
pub(super) const LONG_NS: f64 = 20_000.0;
/// What a block of a core's own caches must be longer than the median by to be interrupted: so many ns, or half a block
/// if that is less; and so many robust standard deviations.
const LONGER_NS: f64 = 500.0;
const DEVIATIONS: f64 = 6.0;
/// Standard deviations of a normal value between its lower quartile and its median.
const QUARTILE: f64 = 0.6745;
/// Blocks after an interruption that go with it, because caches are filled again; after a long one.
const REFILL: usize = 1;
const REFILL_LONG: usize = 8;
/// Share of its blocks that a stretch needs.
const LEAST: f64 = 0.5;
/// Clocks on both sides of a stretch differ by so much at most.
const STEADY: f64 = 0.004;
/// Stretches that make one value, ns: as long as a visit. Those right after all lines were read are another state of a
/// cache if accesses take longer or shorter by this share.
const VISIT_NS: f64 = 2e6;
const APART: f64 = 0.1;
/// Share of the stretches that lie closest together; their least number; and how far apart they may be, as a share: a
/// busy hardware thread all the time leaves none that agree.
const DENSE: f64 = 0.1;
const FEWEST: usize = 10;
const NEAR: f64 = 0.01;

/// The blocks of a continuous chase: a short and a long one in turn, in stretches.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Recording {
    /// Accesses of a short block; a long one has twice as many.
    pub(super) accesses: usize,
    /// Blocks of a stretch.
    pub(super) in_stretch: usize,
    /// How long each block took, ns.
    pub(super) blocks: Vec<f32>,
    /// A cycle of the core before and after each stretch, ns; empty where times are not in cycles.
    pub(super) cycles_ns: Vec<[f64; 2]>,
    /// The stretches that begin right after all lines were read.
    pub(super) firsts: Vec<usize>,
    /// Share of the time that interruptions of up to 20 µs take.
    pub(super) short_share: f64,
}

impl Recording {
    /// The latency: in cycles, with interruptions cut out, the level at which stretches lie closest together, since what
    /// else runs on the core scatters them. In ns, without the share of the time that short interruptions take, the
    /// median over the time; before it, if it is another, that of the first 2 ms after all lines were read. Empty if too
    /// few stretches are left.
    pub(super) fn latencies(&self) -> Vec<f64> {
        let is_clocked = !self.cycles_ns.is_empty();
        let stretches: Vec<Option<Kept>> =
            self.blocks.chunks_exact(self.in_stretch).map(|blocks| Kept::of(blocks, is_clocked)).collect();
        if is_clocked { self.in_cycles(&stretches).into_iter().collect() } else { self.in_ns(&stretches) }
    }

    fn in_cycles(&self, stretches: &[Option<Kept>]) -> Option<f64> {
        let clocked = stretches.iter().zip(&self.cycles_ns).filter_map(|(kept, [before, after])| {
            let is_steady = (before / after - 1.0).abs() <= STEADY;
            let (kept, cycle_ns) = (kept.as_ref().filter(|_| is_steady)?, (before + after) / 2.0);
            Some((kept.access_ns(0.0, self.accesses) / cycle_ns, kept, cycle_ns))
        });
        let found = densest(clocked.collect(), |(cycles, ..)| *cycles)?;
        // Of these alone: beside a busy hardware thread borders take longer, too.
        let border = upper_median(found.iter().map(|(_, kept, _)| kept.border_ns()).collect())?;
        let cycles = found.iter().map(|(_, kept, cycle_ns)| kept.access_ns(border, self.accesses) / cycle_ns);
        Some(cycles.sum::<f64>() / found.len() as f64)
    }

    fn in_ns(&self, stretches: &[Option<Kept>]) -> Vec<f64> {
        let (mut visits, mut sum, mut is_first) = (Vec::new(), Kept::default(), false);
        for (at, kept) in stretches.iter().enumerate() {
            if self.firsts.contains(&at) {
                (sum, is_first) = (Kept::default(), true);
            }
            kept.iter().for_each(|kept| sum.add(kept));
            if sum.ns[0] + sum.ns[1] >= VISIT_NS {
                visits.push((std::mem::take(&mut is_first), std::mem::take(&mut sum)));
            }
        }
        // Of all together: interruptions are rare in one visit, so that a median would leave them out of short blocks.
        visits.iter().for_each(|(_, visit)| sum.add(visit));
        let ns = |visit: &Kept| visit.access_ns(sum.border_ns(), self.accesses);
        let held = upper_median(visits.iter().filter(|(is_first, _)| *is_first).map(|(_, visit)| ns(visit)).collect());
        let all = upper_median(visits.iter().map(|(_, visit)| ns(visit)).collect());
        let held = held.zip(all).filter(|(held, all)| (held / all - 1.0).abs() > APART).map(|(held, _)| held);
        held.into_iter().chain(all).map(|ns| ns * (1.0 - self.short_share)).collect()
    }
}

/// Number and time of the blocks of a stretch that count, short and long.
#[derive(Default)]
struct Kept {
    blocks: [f64; 2],
    ns: [f64; 2],
}

impl Kept {
    /// Leaves out interrupted blocks, or gaps only. `None` if fewer than half are left.
    fn of(blocks: &[f32], cuts_short: bool) -> Option<Self> {
        let of_length = |odd: usize| blocks.iter().skip(odd).step_by(2).map(|block| f64::from(*block)).collect();
        let [short, long] = [0, 1].map(|odd| Length::of(of_length(odd)));
        let lengths = [short?, long?];
        let (mut kept, mut until) = (Self::default(), 0);
        for (index, block) in blocks.iter().enumerate() {
            let (odd, ns) = (index % 2, f64::from(*block));
            let over = ns - lengths[odd].median;
            if over > LONG_NS.max(lengths[odd].median / 2.0) {
                until = index + if cuts_short { 1 + REFILL_LONG } else { 1 };
            } else if cuts_short && over > lengths[odd].limit {
                until = until.max(index + 1 + REFILL);
            }
            if index >= until {
                kept.blocks[odd] += 1.0;
                kept.ns[odd] += ns;
            }
        }
        let is_enough = |odd: usize| kept.blocks[odd] >= LEAST * (blocks.len() / 2) as f64;
        (is_enough(0) && is_enough(1)).then_some(kept)
    }

    fn add(&mut self, other: &Self) {
        for odd in [0, 1] {
            self.blocks[odd] += other.blocks[odd];
            self.ns[odd] += other.ns[odd];
        }
    }

    /// What the border of two blocks costs, ns: where the straight line through blocks of both lengths begins.
    fn border_ns(&self) -> f64 {
        2.0 * self.ns[0] / self.blocks[0] - self.ns[1] / self.blocks[1]
    }

    /// Time of an access without borders, ns.
    fn access_ns(&self, border: f64, accesses: usize) -> f64 {
        let [short, long] = self.blocks;
        (self.ns[0] + self.ns[1] - border * (short + long)) / ((short + 2.0 * long) * accesses as f64)
    }
}

/// What blocks of one length take, and by how much more an interrupted one takes, ns.
struct Length {
    median: f64,
    limit: f64,
}

impl Length {
    fn of(mut blocks: Vec<f64>) -> Option<Self> {
        blocks.sort_unstable_by(f64::total_cmp);
        let quartile = *blocks.get(blocks.len() / 4)?;
        let median = upper_median(blocks)?;
        // The lower quartile: interruptions only lengthen blocks.
        let deviation = (median - quartile) / QUARTILE;
        Some(Self { median, limit: LONGER_NS.min(median / 2.0).max(DEVIATIONS * deviation) })
    }
}

/// The tenth of the stretches whose values lie closest together; `None` if there are fewer than ten, or if they do not
/// agree.
fn densest<T>(mut stretches: Vec<T>, value: impl Fn(&T) -> f64) -> Option<Vec<T>> {
    stretches.sort_unstable_by(|a, b| value(a).total_cmp(&value(b)));
    let count = FEWEST.max((DENSE * stretches.len() as f64) as usize);
    let width = |from: usize| value(&stretches[from + count - 1]) / value(&stretches[from]) - 1.0;
    let starts = 0..(stretches.len() + 1).saturating_sub(count);
    let from = starts.min_by(|a, b| width(*a).total_cmp(&width(*b))).filter(|from| width(*from) <= NEAR)?;
    Some(stretches.drain(from..from + count).collect())
}

#[cfg(test)]
mod tests {
    use tiermark_stats::Rng;

    use super::*;

    /// Cost of a border, ns, accesses of a short block, and time of one.
    const BORDER: f64 = 25.0;
    const ACCESSES: usize = 1_000;
    const ACCESS_NS: f64 = 4.0;
    const CYCLE_NS: f64 = 0.25;

    /// Blocks that scatter by a share, and are interrupted for 1 to 5 µs so many times a second.
    fn recording(is_clocked: bool, scatter: f64, rate: f64) -> Recording {
        let (mut rng, in_stretch) = (Rng::new(7), 40);
        let stretches = 400;
        let block = |index: usize| {
            let work = ACCESS_NS * (ACCESSES << (index % 2)) as f64 * (1.0 + scatter * rng.normal());
            let hit = rng.unit() < rate * work / 1e9;
            (work + BORDER + if hit { 1_000.0 + 4_000.0 * rng.unit() } else { 0.0 }) as f32
        };
        let blocks = (0..stretches * in_stretch).map(block).collect();
        let cycles_ns = vec![[CYCLE_NS; 2]; if is_clocked { stretches } else { 0 }];
        Recording { accesses: ACCESSES, in_stretch, blocks, cycles_ns, firsts: vec![0, 200], short_share: 0.0 }
    }

    fn off(found: &[f64], truth: f64) -> f64 {
        assert_eq!(found.len(), 1);
        (found[0] / truth - 1.0).abs()
    }

    #[test]
    fn borders_and_interrupted_blocks_are_no_part_of_cycles() {
        for rate in [0.0, 2_000.0, 20_000.0, 40_000.0] {
            let found = recording(true, 0.002, rate).latencies();
            assert!(off(&found, ACCESS_NS / CYCLE_NS) < 0.001, "{rate}: {found:?}");
        }
    }

    #[test]
    fn elsewhere_the_share_of_interruptions_is_subtracted_and_gaps_go() {
        let mut seen = recording(false, 0.03, 10_000.0);
        // 3 µs each.
        seen.short_share = 0.03 / 1.03;
        assert!(off(&seen.latencies(), ACCESS_NS) < 0.005, "{:?}", seen.latencies());
        seen.blocks.iter_mut().step_by(50).for_each(|block| *block += 100_000.0);
        assert!(off(&seen.latencies(), ACCESS_NS) < 0.005, "{:?}", seen.latencies());
    }

    #[test]
    fn lines_that_were_just_read_may_be_another_state() {
        let mut seen = recording(false, 0.1, 0.0);
        // The first 20 of 200 stretches, 4.8 ms.
        let mut read = |share: f32| {
            let blocks = seen.blocks.chunks_mut(200 * seen.in_stretch).flat_map(|place| &mut place[..800]);
            blocks.for_each(|block| *block *= share);
            seen.latencies()
        };
        assert_eq!(read(0.95).len(), 1);
        let found = read(0.5);
        assert!(found.len() == 2 && (0.45..0.5).contains(&(found[0] / found[1])), "{found:?}");
        seen.firsts = vec![395];
        assert_eq!(seen.latencies().len(), 1, "too short");
    }

    #[test]
    fn the_level_is_where_stretches_lie_closest_and_a_moving_clock_counts_for_nothing() {
        let mut seen = recording(true, 0.002, 5_000.0);
        let (in_stretch, mut rng) = (seen.in_stretch, Rng::new(1));
        for (at, blocks) in seen.blocks.chunks_mut(in_stretch).enumerate().filter(|(at, _)| at % 4 > 0) {
            let slower = 1.02 + 0.2 * rng.unit();
            blocks.iter_mut().for_each(|block| *block *= slower as f32);
            seen.cycles_ns[at][1] *= if at % 4 == 1 { 1.1 } else { 1.0 };
        }
        assert!(off(&seen.latencies(), ACCESS_NS / CYCLE_NS) < 0.001, "{:?}", seen.latencies());
        seen.cycles_ns.fill([1.01 * CYCLE_NS, CYCLE_NS]);
        assert!(seen.latencies().is_empty());
    }

    #[test]
    fn the_blocks_in_which_caches_fill_again_go_with_an_interruption() {
        let mut blocks: Vec<f32> = (0..100).map(|index| if index % 2 == 0 { 4_000.0 } else { 8_000.0 }).collect();
        (blocks[10], blocks[51]) = (6_000.0, 60_000.0);
        let kept = |cuts_short| Kept::of(&blocks, cuts_short).unwrap();
        let (cut, gaps) = (kept(true), kept(false));
        assert_eq!((cut.blocks, cut.ns), ([45.0, 44.0], [180_000.0, 352_000.0]));
        assert_eq!((gaps.blocks, gaps.ns), ([50.0, 49.0], [202_000.0, 392_000.0]));
        blocks.iter_mut().skip(1).step_by(8).for_each(|block| *block = 60_000.0);
        assert!(Kept::of(&blocks, true).is_none(), "over half would go");
    }

    #[test]
    fn nothing_says_nothing() {
        assert!(Recording { blocks: Vec::new(), ..recording(true, 0.0, 0.0) }.latencies().is_empty());
        let of = |values: Vec<f64>| densest(values, |value| *value);
        assert_eq!(of(vec![1.0; FEWEST - 1]), None);
        assert_eq!(of((20..70).map(f64::from).collect()), None, "no level");
        let level = (0..50).map(|index| if index < 20 { 5.0 } else { f64::from(index) });
        assert_eq!(of(level.collect()), Some(vec![5.0; FEWEST]));
    }
}
