//! Which blocks of a thread count: those that nothing interrupted.

/// Robust standard deviations by which a block must be longer than its visit's median block to be interrupted. Blocks
/// in a core's own caches scatter by 0.1 to 0.3 %, so that the limit is [`LONGER_NS`] there.
const DEVIATIONS: f64 = 6.0;
/// The least by which it must be longer, ns: exits of a hypervisor take 1 µs and more. Of blocks shorter than twice as
/// much, half a block.
const LONGER_NS: f64 = 500.0;
/// Blocks after an interruption that go with it: its caches are filled again. L1 and L2 took 1.4 to 14 % longer in the
/// first block, and as usual in the second.
const REFILL: usize = 1;
/// The same after an interruption that lasted longer than [`LONG_NS`]: other programs ran meanwhile.
const REFILL_LONG: usize = 8;
/// Interruptions are long from here on, ns: something else got the cpu, and not only the hypervisor.
pub(crate) const LONG_NS: f64 = 20_000.0;
/// Standard deviations of a normal value between its lower quartile and its median.
const QUARTILE: f64 = 0.6745;
/// Deviation over median from which the median block was interrupted, too: undisturbed blocks scatter far less.
const SCATTER_MOST: f64 = 0.05;
/// Share of the blocks that may be left out: where half of them are interrupted, the median block is, too.
const LEFT_OUT_MOST: f64 = 0.5;

/// Why no block of a visit can be told to be interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unclear {
    /// Undisturbed blocks differ too much, as where the other hardware thread works now and then, or there are none.
    Scattered,
    /// More than half of the blocks would be left out, so that their median says nothing.
    MostlyInterrupted,
}

/// Marks the blocks to leave out of a visit to a core's own caches: the interrupted ones, and those in which caches are
/// filled again.
pub(super) fn interrupted(blocks: &[f64]) -> Result<Vec<bool>, Unclear> {
    let mut sorted = blocks.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |q: f64| tiermark_stats::quantile(&sorted, q);
    let (Some(lower), Some(median)) = (at(0.25), at(0.5)) else { return Err(Unclear::Scattered) };
    // The lower quartile: interruptions only lengthen blocks.
    let deviation = (median - lower) / QUARTILE;
    if deviation > SCATTER_MOST * median {
        return Err(Unclear::Scattered);
    }
    let limit = median + LONGER_NS.min(median / 2.0).max(DEVIATIONS * deviation);
    let mut left_out = vec![false; blocks.len()];
    let mut until = 0;
    for (index, block) in blocks.iter().enumerate() {
        if *block > limit {
            let refill = if *block > median + LONG_NS { REFILL_LONG } else { REFILL };
            until = until.max(index + 1 + refill);
        }
        left_out[index] = index < until;
    }
    let gone = left_out.iter().filter(|gone| **gone).count();
    if gone as f64 > LEFT_OUT_MOST * blocks.len() as f64 {
        return Err(Unclear::MostlyInterrupted);
    }
    Ok(left_out)
}

#[cfg(test)]
mod tests {
    use tiermark_stats::Rng;

    use super::*;

    /// The mean of the blocks that count.
    fn mean(blocks: &[f64], left_out: &[bool]) -> f64 {
        let kept: Vec<f64> = blocks.iter().zip(left_out).filter(|(_, gone)| !**gone).map(|(block, _)| *block).collect();
        kept.iter().sum::<f64>() / kept.len() as f64
    }

    #[test]
    fn blocks_between_interruptions_are_what_the_core_takes() {
        for rate in [2_000.0, 10_000.0, 20_000.0, 50_000.0] {
            let mut rng = Rng::new(7);
            let blocks: Vec<f64> = (0..500)
                .map(|_| {
                    let clean = 4_000.0 * (1.0 + 0.002 * rng.normal());
                    let hit = rng.unit() < rate * clean / 1e9;
                    clean + if hit { 1_000.0 + 4_000.0 * rng.unit() } else { 0.0 }
                })
                .collect();
            let kept = mean(&blocks, &interrupted(&blocks).unwrap());
            assert!((kept / 4_000.0 - 1.0).abs() < 0.001, "{rate}: {kept}");
        }
    }

    #[test]
    fn the_blocks_in_which_caches_fill_again_go_with_the_interruption() {
        let mut blocks = vec![4_000.0; 100];
        (blocks[10], blocks[50]) = (6_000.0, 60_000.0);
        let left_out = interrupted(&blocks).unwrap();
        let gone: Vec<usize> = (0..100).filter(|index| left_out[*index]).collect();
        assert_eq!(gone, (10..12).chain(50..59).collect::<Vec<_>>());
    }

    #[test]
    fn an_undisturbed_visit_loses_nothing_and_one_that_is_mostly_interrupted_says_nothing() {
        assert_eq!(interrupted(&[4_000.0; 500]), Ok(vec![false; 500]));
        let half: Vec<f64> = (0..100).map(|index| if index % 2 == 0 { 4_000.0 } else { 6_000.0 }).collect();
        assert_eq!(interrupted(&half), Err(Unclear::Scattered));
        let most: Vec<f64> = (0..99).map(|index| if index % 3 == 0 { 6_000.0 } else { 4_000.0 }).collect();
        assert_eq!(interrupted(&most), Err(Unclear::MostlyInterrupted));
        assert_eq!(interrupted(&[]), Err(Unclear::Scattered));
    }
}
