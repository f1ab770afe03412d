//! Whether a soak became slower for good.

use tiermark_model::{Slowdown, SoakSample, SoakWork};
use tiermark_stats::{median, step};

/// The highest p-value of "no change". One soak is judged, not hundreds of figures.
const MOST_P: f64 = 0.001;
/// The least share of the rate that counts as a loss: rates of memory scatter by a few percent between minutes.
const LEAST: f64 = 0.05;
/// The fewest samples on either side: a server may become hot in its first seconds.
const FEWEST: usize = 3;

/// The level that reading fell to and stayed at; `None` where it did not fall.
pub(super) fn slowdown(samples: &[SoakSample]) -> Option<Slowdown> {
    let read: Vec<&SoakSample> = samples.iter().filter(|sample| sample.work == SoakWork::Read).collect();
    let rates: Vec<f64> = read.iter().map(|sample| sample.rate()).collect();
    let change = step(&rates, FEWEST).filter(|change| change.p_value < MOST_P)?;
    let is_lower = |rate: f64| rate <= change.before * (1.0 - LEAST);
    // Of a loss that passed, the last half is as fast as before.
    let last_half = &rates[change.index..][(rates.len() - change.index) / 2..];
    if !is_lower(change.after) || !is_lower(median(last_half)?) {
        return None;
    }
    let last_before = read[change.index - 1];
    let last = read.iter().rev().find_map(|sample| sample.state.throttled);
    let grew = last_before.state.throttled.zip(last);
    Some(Slowdown {
        from: last_before.at,
        before: change.before,
        after: change.after,
        throttled: grew.map(|(before, last)| last.saturating_sub(before)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::SoakState;

    fn samples(rates: &[f64]) -> Vec<SoakSample> {
        let sample = |(index, rate): (usize, &f64)| SoakSample {
            at: 60.0 * (index + 1) as f64,
            seconds: 60.0,
            work: SoakWork::Read,
            rates: vec![*rate],
            state: SoakState {
                throttled: Some(if *rate < 95.0 { 10 * index as u64 } else { 0 }),
                ..SoakState::default()
            },
        };
        rates.iter().enumerate().map(sample).collect()
    }

    #[test]
    fn a_level_that_stays_lower_is_one() {
        let mut rates: Vec<f64> = (0..14).map(|index| 100.0 + f64::from(index % 3)).collect();
        assert_eq!(slowdown(&samples(&rates)), None);
        rates.extend((0..10).map(|index| 89.0 + f64::from(index % 3)));
        let found = slowdown(&samples(&rates)).unwrap();
        assert!((found.share() - 0.11).abs() < 0.01 && (found.from - 14.0 * 60.0).abs() < 1.0, "{found:?}");
        assert_eq!(found.throttled, Some(230));
        // Faster later is none, and neither is a loss of 3 %.
        let faster: Vec<f64> = rates.iter().rev().copied().collect();
        assert_eq!(slowdown(&samples(&faster)), None);
        let small: Vec<f64> =
            (0..24).map(|index| if index < 12 { 100.0 } else { 97.0 } + f64::from(index % 2)).collect();
        assert_eq!(slowdown(&samples(&small)), None);
    }

    #[test]
    fn a_loss_that_begins_early_or_late_is_seen_and_a_lull_of_others_is_none() {
        let scattered = |index: usize, level: f64| level + (index * 7 % 5) as f64 / 4.0;
        for first in [4, 20, 94] {
            let rates: Vec<f64> =
                (0..100).map(|index| scattered(index, if index < first { 100.0 } else { 85.0 })).collect();
            let found = slowdown(&samples(&rates)).unwrap_or_else(|| panic!("not seen from {first} on"));
            assert!((found.from - 60.0 * first as f64).abs() < 1.0 && (found.share() - 0.15).abs() < 0.01, "{found:?}");
        }
        let lull: Vec<f64> =
            (0..100).map(|index| scattered(index, if (40..50).contains(&index) { 130.0 } else { 100.0 })).collect();
        assert_eq!(slowdown(&samples(&lull)), None);
        let passed: Vec<f64> =
            (0..100).map(|index| scattered(index, if (60..80).contains(&index) { 85.0 } else { 100.0 })).collect();
        assert_eq!(slowdown(&samples(&passed)), None);
    }
}
