//! How long a shared cache keeps what was read.

use tiermark_model::WatchShared;
use tiermark_stats::Side;

use super::series::Series;

/// Waits between two looks within a sample, seconds. The longest takes little of the shortest interval; what lasts
/// longer is seen from one sample to the next.
const WAITS: [f64; 7] = [0.5e-3, 1e-3, 2e-3, 4e-3, 8e-3, 16e-3, 32e-3];
/// Shares beyond which a look only bounds the time: they differ from all and from none by less than a chase can tell.
const BOUNDS: (f64, f64) = (0.05, 0.95);
/// What a share of nothing counts as: an edge is of positive values.
const LEAST: f64 = 1e-6;

/// What was seen of it.
#[derive(Debug, Clone)]
pub(super) struct Retention {
    kept: Series,
    lasts: Series,
    /// Index into [`WAITS`]; behind its end, one look a sample.
    wait: usize,
    /// Seconds between samples.
    interval: f64,
}

impl Retention {
    pub(super) fn new(interval: f64) -> Self {
        let series = || Series::new(Side::High, None);
        Self { kept: series(), lasts: series(), wait: WAITS.len(), interval }
    }

    /// Seconds after which to look once more in this sample, if at all.
    pub(super) fn wait(&self) -> Option<f64> {
        WAITS.get(self.wait).copied()
    }

    /// Takes in the look of a new sample: the time of an access, what a hit and a miss take, and the seconds since the
    /// range was read.
    pub(super) fn look(&mut self, at: f64, seen: f64, (hit, miss): (f64, f64), after: f64) {
        let Some(kept) = share(seen, hit, miss) else { return };
        self.kept.add(at, vec![kept.max(LEAST)]);
        // Soon after the memory was made, a look bounds the time by less than the next.
        if self.wait == WAITS.len() && after >= self.interval / 2.0 {
            self.step(at, kept, after);
        }
    }

    /// Takes in the look after the wait.
    pub(super) fn look_again(&mut self, at: f64, seen: f64, (hit, miss): (f64, f64), after: f64) {
        if let Some(kept) = share(seen, hit, miss) {
            self.step(at, kept, after);
        }
    }

    /// The next wait is longer where more than half was kept, and else shorter, so that waits are near the time after
    /// which half is left (the up-and-down method: Dixon & Mood, J. Am. Stat. Assoc. 43, 1948).
    fn step(&mut self, at: f64, kept: f64, after: f64) {
        // Where a visit was left out, a look bounds the time by more than the others do, and the cache is no better.
        let most = half_life(BOUNDS.1, self.interval);
        self.lasts.add(at, vec![half_life(kept, after).min(most)]);
        self.wait = if kept > 0.5 { (self.wait + 1).min(WAITS.len()) } else { self.wait.saturating_sub(1) };
    }

    pub(super) fn shown(&self, at: f64) -> WatchShared {
        WatchShared { kept: Some(self.kept.best(at)), lasts: Some(self.lasts.best(at)), ..WatchShared::default() }
    }
}

/// Share of accesses that hit, from their mean time.
fn share(seen: f64, hit: f64, miss: f64) -> Option<f64> {
    let share = (miss - seen) / (miss - hit);
    (miss > hit && share.is_finite()).then(|| share.clamp(0.0, 1.0))
}

/// Seconds after which half is left where lines leave at a constant rate.
fn half_life(kept: f64, after: f64) -> f64 {
    after * std::f64::consts::LN_2 / -kept.clamp(BOUNDS.0, BOUNDS.1).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_goes_to_where_half_is_left() {
        for half in [1e-3, 5e-3, 20e-3] {
            let mut lasting = Retention::new(1.0);
            let of = |after: f64| 100.0 - 80.0 * 0.5f64.powf(after / half);
            for second in 0..20 {
                let at = f64::from(second);
                lasting.look(at, of(1.0), (20.0, 100.0), 1.0);
                if let Some(wait) = lasting.wait() {
                    lasting.look_again(at, of(wait), (20.0, 100.0), wait);
                }
            }
            let shown = lasting.shown(20.0);
            let lasts = shown.lasts.and_then(|lasts| lasts.now).unwrap();
            assert!((lasts / half - 1.0).abs() < 1e-6, "{lasts} {half}");
            assert!(shown.kept.and_then(|kept| kept.now).unwrap() <= LEAST);
        }
        // A cache of one's own: one look a sample, and a bound.
        let mut lasting = Retention::new(1.0);
        lasting.look(0.0, 20.0, (20.0, 100.0), 0.01);
        assert_eq!(lasting.lasts.now(), None);
        lasting.look(0.0, 20.0, (20.0, 100.0), 1.0);
        assert_eq!(lasting.wait(), None);
        let shown = lasting.shown(0.0);
        assert_eq!(shown.kept.and_then(|kept| kept.now), Some(1.0));
        assert!(shown.lasts.and_then(|lasts| lasts.now).unwrap() > 13.0);
        // What cannot be told apart says nothing.
        lasting.look(1.0, 20.0, (20.0, 20.0), 1.0);
        assert_eq!(lasting.kept.best(1.0).age_seconds, Some(1.0));
    }
}
