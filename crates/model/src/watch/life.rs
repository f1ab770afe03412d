//! A time as a whole: what its samples amount to.

use std::collections::BTreeMap;

use super::WatchSample;

/// Samples over the life of a command, number by number.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WatchLife {
    figures: BTreeMap<String, WatchLifeFigure>,
}

/// A number over a time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WatchLifeFigure {
    /// Lowest value.
    pub least: f64,
    /// Highest value.
    pub most: f64,
    /// Sum of value times seconds.
    area: f64,
    /// Seconds with a value.
    seconds: f64,
}

impl WatchLifeFigure {
    /// Mean over the seconds in which the number was reported; of a rate, this times the seconds is the total.
    pub fn mean(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.area / self.seconds)
    }

    /// A rate times its time: the number of events or bytes.
    pub fn total(&self) -> f64 {
        self.area
    }
}

impl WatchLife {
    /// Takes in a sample. A sample without a time before it gives no mean.
    pub fn add(&mut self, sample: &WatchSample) {
        let seconds = sample.seconds.unwrap_or(0.0);
        for figure in sample.figures() {
            let Some(value) = figure.value else { continue };
            let known = self.figures.entry(figure.name()).or_insert(WatchLifeFigure {
                least: value,
                most: value,
                ..WatchLifeFigure::default()
            });
            (known.least, known.most) = (known.least.min(value), known.most.max(value));
            known.area += value * seconds;
            known.seconds += seconds;
        }
    }

    /// A number by its name in a sample.
    pub fn of(&self, name: &str) -> Option<WatchLifeFigure> {
        self.figures.get(name).copied()
    }

    /// All numbers.
    pub fn all(&self) -> impl Iterator<Item = (&str, &WatchLifeFigure)> {
        self.figures.iter().map(|(name, figure)| (name.as_str(), figure))
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;

    #[test]
    fn means_are_over_the_seconds_that_have_a_value() {
        let sample = |seconds, faults| WatchSample {
            seconds,
            vm: WatchRates { faults, ..WatchRates::default() },
            ..WatchSample::default()
        };
        let mut life = WatchLife::default();
        for (seconds, faults) in [(None, None), (Some(1.0), Some(10.0)), (Some(3.0), Some(2.0)), (Some(9.0), None)] {
            life.add(&sample(seconds, faults));
        }
        let faults = life.of("vm.faults").unwrap();
        assert_eq!((faults.least, faults.most, faults.mean(), faults.total()), (2.0, 10.0, Some(4.0), 16.0));
        assert_eq!(life.of("vm.swap_in_bytes"), None);
    }
}
