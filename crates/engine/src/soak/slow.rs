//! Whether a soak became slower for good.

use tiermark_model::{Slowdown, SoakSample, SoakWork};
use tiermark_stats::change_point;

/// The highest p-value of "no change". One soak is judged, not hundreds of figures.
const MOST_P: f64 = 0.001;
/// The least share of the rate that counts as a loss: rates of memory scatter by a few percent between minutes.
const LEAST: f64 = 0.05;
/// The fewest samples on either side.
const FEWEST: usize = 4;

/// The level that reading fell to and stayed at; `None` where it did not fall.
pub(super) fn slowdown(samples: &[SoakSample]) -> Option<Slowdown> {
    let read: Vec<&SoakSample> = samples.iter().filter(|sample| sample.work == SoakWork::Read).collect();
    let rates: Vec<f64> = read.iter().map(|sample| sample.rate()).collect();
    let change = change_point(&rates).filter(|change| change.p_value < MOST_P)?;
    let is_long = change.index >= FEWEST && rates.len() - change.index >= FEWEST;
    if !is_long || change.after > change.before * (1.0 - LEAST) {
        return None;
    }
    // Ranks find the place to within a few samples: the first of those that are nearer to the lower level.
    let is_lower = |index: &usize| rates[*index] < f64::midpoint(change.before, change.after);
    let first = (1..change.index).rev().take_while(is_lower).last().unwrap_or(change.index);
    let last_before = read[first - 1];
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
}
