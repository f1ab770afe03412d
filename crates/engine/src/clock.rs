//! The core's clock as a state of each window: what the core clocks is estimated per cycle, the rest at one clock.
//! Pure.

use tiermark_model::{CoreClock, Finding, Interval, Labels, Metric, Quantity, Unit, Visit, Visits, Window};
use tiermark_stats::{median, quantile};

/// Share of the windows that need a clock, and their least number, for a step to be estimated by clocks: a slope needs
/// more than what is known to follow the clock.
const LEAST_SHARE: f64 = 0.5;
const FEWEST: usize = 60;
const LEAST_OF_CORE: f64 = 0.25;
const FEWEST_OF_CORE: usize = 12;
/// Clocks of a step that differ by less, from the 10th to the 90th percentile, show no slope: the noise of the values
/// is larger.
const LEAST_RANGE: f64 = 0.01;
/// Visits that a slope is taken from at most: all pairs of them are compared.
const SLOPE_VISITS: usize = 300;
/// Visits below which there is no slope.
const SLOPE_FEWEST: usize = 20;
/// A cache of the core whose speed follows the clock less than half has a clock of its own. Only a clock that moved by
/// so much shows it: within smaller ranges the noise of the looks at the clock makes slopes too flat.
const OWN_CLOCK: f64 = 0.5;
const OWN_CLOCK_RANGE: f64 = 0.05;
/// What follows the clock by less is given as measured: over a range of 20 % that changes a value by 1 %. Allocations
/// differ by as much, and a clock that was lower during one of them would be taken for the reason.
const LEAST_SLOPE: f64 = 0.05;
/// Standard deviations of a 99 % interval of a slope: one of some hundred slopes of ten runs would be found by chance.
const SURE: f64 = 2.576;

/// The clock of the cores over a run, cycles per second, by time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunClock {
    /// The 10th percentile.
    pub p10: f64,
    /// The median.
    pub median: f64,
    /// The 90th percentile: the clock that numbers are given at.
    pub p90: f64,
    /// Visits that it was seen in.
    pub visits: u64,
}

/// Share of the time between the two percentiles of a [`RunClock`].
const BETWEEN: f64 = 0.8;

impl RunClock {
    /// The clock of all visits to all steps; `None` if too few have one.
    pub fn of<'a>(visits: impl Iterator<Item = &'a Visits>) -> Option<Self> {
        Self::of_clocks(visits.flat_map(|visits| &visits.list).filter_map(clock_of))
    }

    /// The same from the clock of each visit. Each counts once: visits are spread evenly over the run.
    pub(crate) fn of_clocks(clocks: impl Iterator<Item = f64>) -> Option<Self> {
        let mut clocks: Vec<f64> = clocks.collect();
        clocks.sort_unstable_by(f64::total_cmp);
        let at = |q: f64| quantile(&clocks, q);
        let enough = clocks.len() >= FEWEST_VISITS;
        let visits = clocks.len() as u64;
        enough.then(|| Some(Self { p10: at(0.1)?, median: at(0.5)?, p90: at(0.9)?, visits })).flatten()
    }

    /// The clock as a finding of its own.
    pub(crate) fn finding(self) -> Finding {
        let interval = Some(Interval { low: self.p10, high: self.p90, level: BETWEEN });
        let finding = Finding::new(Quantity::CoreClock, Labels::new(), Some(self.p90), Unit::Hz);
        Finding { interval, samples: self.visits, ..finding }
    }
}

/// Visits of a run below which its clock is not known.
const FEWEST_VISITS: usize = 5;

/// The middle clock of a visit, cycles per second; `None` if no window has one.
pub(crate) fn clock_of(visit: &Visit) -> Option<f64> {
    let clocks: Vec<f64> = visit.windows.iter().flat_map(|window| &window.clocks).flatten().map(|c| c.hz).collect();
    median(&clocks)
}

/// How the values of a step depend on the core's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Basis {
    /// Not known, or not at all: values are as measured.
    Time,
    /// In cycles: a rate follows the clock.
    Cycles,
    /// A rate follows the clock to this power.
    Slope(f64),
}

impl Basis {
    /// How the windows of a step depend on the clock.
    pub(crate) fn of(is_of_core: bool, metric: Metric, visits: &Visits) -> Self {
        let with_clock = visits.windows().filter(|window| mean_clock(window).is_some()).count();
        let all = visits.windows().filter(|window| window.value().is_some()).count();
        let (fewest, share) = if is_of_core { (FEWEST_OF_CORE, LEAST_OF_CORE) } else { (FEWEST, LEAST_SHARE) };
        if with_clock < fewest || (with_clock as f64) < share * all as f64 {
            return Self::Time;
        }
        let slope = slope(metric, visits);
        match is_of_core {
            // What moves with the core's clock is the default: a slope is known worse than that.
            true => match slope {
                Some(Fit { slope, error, range }) if range >= OWN_CLOCK_RANGE && slope + SURE * error < OWN_CLOCK => {
                    Self::Slope(slope.max(0.0))
                }
                _ => Self::Cycles,
            },
            false => match slope {
                Some(Fit { slope, error, .. }) if slope > LEAST_SLOPE && slope - SURE * error > 0.0 => {
                    Self::Slope(slope.min(1.0))
                }
                _ => Self::Time,
            },
        }
    }

    /// The power of the clock that a rate follows.
    pub(crate) fn slope(self) -> f64 {
        match self {
            Self::Time => 0.0,
            Self::Cycles => 1.0,
            Self::Slope(slope) => slope,
        }
    }

    /// The same visits as if the core had run at one clock all the time. Windows without a clock are left out where it
    /// matters.
    pub(crate) fn at_clock(self, metric: Metric, visits: &Visits, hz: f64) -> Visits {
        let slope = self.slope();
        if slope == 0.0 {
            return visits.clone();
        }
        let sign = if metric == Metric::Latency { 1.0 } else { -1.0 };
        let first_thread = 1 + usize::from(visits.parts);
        let window = |window: &Window| {
            let mean = mean_clock(window)?;
            let factor = |clock: f64| (clock / hz).powf(sign * slope);
            let mut values = window.values.clone();
            for (index, value) in values.iter_mut().enumerate() {
                // Each thread has a clock of its own.
                // The rate of a load beside a latency is of another thread, and is shown as it was.
                if metric == Metric::Latency && (1..first_thread).contains(&index) {
                    continue;
                }
                let own = index.checked_sub(first_thread).and_then(|thread| window.clocks.get(thread)?.map(|c| c.hz));
                *value = value.map(|value| value * factor(own.unwrap_or(mean)));
            }
            // The whole is what its threads are together.
            if metric == Metric::Bandwidth && values.len() > first_thread {
                let sum: Option<f64> = values[first_thread..].iter().copied().sum();
                values[0] = sum.or(values[0]);
            }
            Some(Window { values, ..window.clone() })
        };
        let visit =
            |visit: &Visit| Visit { windows: visit.windows.iter().filter_map(window).collect(), ..visit.clone() };
        Visits { list: visits.list.iter().map(visit).collect(), ..*visits }
    }
}

/// The mean clock of the threads in a window; `None` if one is not known.
pub(crate) fn mean_clock(window: &Window) -> Option<f64> {
    let clocks: Option<Vec<CoreClock>> = window.clocks.iter().copied().collect();
    let clocks = clocks.filter(|clocks| !clocks.is_empty())?;
    Some(clocks.iter().map(|clock| clock.hz).sum::<f64>() / clocks.len() as f64)
}

/// The slope of the logarithm of the rate over that of the clock, and its standard error: Theil's over the visits'
/// medians, with Sen's interval from the variance of Kendall's statistic (Sen, "Estimates of the Regression Coefficient
/// Based on Kendall's Tau", J. Amer. Stat. Assoc. 63, 1968). Visits are the sample: windows of one visit see one
/// moment. `None` where the clock hardly moved.
fn slope(metric: Metric, visits: &Visits) -> Option<Fit> {
    let sign = if metric == Metric::Latency { -1.0 } else { 1.0 };
    let point = |visit: &Visit| {
        let clean = visit.windows.iter().filter(|window| window.clean && mean_clock(window).is_some());
        let (values, clocks): (Vec<f64>, Vec<f64>) =
            clean.filter_map(|window| Some((window.value()?, mean_clock(window)?))).unzip();
        Some((median(&clocks)?.ln(), sign * median(&values)?.ln()))
    };
    let mut points: Vec<(f64, f64)> = visits.list.iter().filter_map(point).collect();
    let every = points.len().div_ceil(SLOPE_VISITS).max(1);
    points = points.into_iter().step_by(every).collect();
    let mut clocks: Vec<f64> = points.iter().map(|(clock, _)| *clock).collect();
    clocks.sort_unstable_by(f64::total_cmp);
    let range = quantile(&clocks, 0.9)? - quantile(&clocks, 0.1)?;
    if points.len() < SLOPE_FEWEST || range < LEAST_RANGE {
        return None;
    }
    let n = points.len() as f64;
    let pairs = (0..points.len()).flat_map(|i| (i + 1..points.len()).map(move |j| (i, j)));
    let rise = |(i, j): (usize, usize)| {
        let ((x, y), (later_x, later_y)) = (points[i], points[j]);
        // Clocks closer than this differ by noise.
        ((later_x - x).abs() > LEAST_RANGE / 2.0).then(|| (later_y - y) / (later_x - x))
    };
    let mut slopes: Vec<f64> = pairs.filter_map(rise).collect();
    slopes.sort_unstable_by(f64::total_cmp);
    let all = slopes.len() as f64;
    // Pairs at one clock say nothing of the slope: divided by the others, the variance is on the wide side.
    let half = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt() / all.max(1.0) / 2.0;
    let at = |q: f64| slopes.get(((all - 1.0) * q.clamp(0.0, 1.0)).round() as usize).copied();
    let (low, middle, high) = (at(0.5 - half)?, at(0.5)?, at(0.5 + half)?);
    Some(Fit { slope: middle, error: (high - low) / 2.0, range })
}

/// A slope, its standard error, and the range of the logarithm of the clock that it was seen over.
struct Fit {
    slope: f64,
    error: f64,
    range: f64,
}

#[cfg(test)]
mod tests {
    use tiermark_stats::Rng;

    use super::*;

    /// Visits whose clocks are steps of 100 MHz, and whose rates follow them with this slope, with 1 % of noise.
    fn visits(metric: Metric, slope: f64, seed: u64) -> Visits {
        let mut rng = Rng::new(seed);
        let mut visits = Visits::new(0, 1);
        for at in 0..60 {
            let hz = 2.8e9 + 1e8 * rng.below(5) as f64;
            let rate = 100.0 * (hz / 3e9).powf(slope) * (1.0 + 0.01 * rng.normal());
            let value = if metric == Metric::Latency { 1e3 / rate } else { rate };
            let clocks = vec![Some(CoreClock { hz, is_steady: true })];
            let window = Window { clean: true, values: vec![Some(value)], clocks };
            visits.push(Visit { at: f64::from(at), windows: vec![window; 8], ..Visit::default() });
        }
        visits
    }

    #[test]
    fn caches_of_the_core_are_in_cycles_unless_they_do_not_follow_its_clock() {
        for seed in 1..=20 {
            for metric in [Metric::Latency, Metric::Bandwidth] {
                let of = |tier: &str, slope: f64| Basis::of(tier != "DRAM", metric, &visits(metric, slope, seed));
                assert_eq!(of("L1", 1.0), Basis::Cycles, "seed {seed}");
                assert_eq!(of("L2", 0.9), Basis::Cycles, "seed {seed}");
                assert!(matches!(of("L2", 0.0), Basis::Slope(slope) if slope < 0.2), "seed {seed}");
                assert!(matches!(of("DRAM", 0.9), Basis::Slope(slope) if (slope - 0.9).abs() < 0.2), "seed {seed}");
            }
        }
    }

    #[test]
    fn memory_that_does_not_follow_the_clock_is_given_as_measured() {
        let flat = (1..=100)
            .filter(|seed| Basis::of(false, Metric::Latency, &visits(Metric::Latency, 0.0, *seed)) == Basis::Time);
        let flat = flat.count();
        assert!(flat >= 95, "{flat} of 100");
    }

    #[test]
    fn at_one_clock_the_values_are_one() {
        for metric in [Metric::Latency, Metric::Bandwidth] {
            let exact = |hz: f64| {
                let rate = 100.0 * hz / 3e9;
                let value = if metric == Metric::Latency { 1e4 / rate } else { rate };
                let clocks = vec![Some(CoreClock { hz, is_steady: true })];
                Window { clean: true, values: vec![Some(value)], clocks }
            };
            let list = vec![Visit { windows: [2.9e9, 3.0e9, 3.3e9].map(exact).to_vec(), ..Visit::default() }];
            let scaled = Basis::Cycles.at_clock(metric, &Visits { clocks: 1, list, ..Visits::default() }, 3e9);
            assert!(scaled.windows().all(|window| (window.value().unwrap() - 100.0).abs() < 0.01), "{scaled:?}");
        }
    }

    #[test]
    fn each_thread_has_its_own_clock_and_the_whole_is_their_sum() {
        let clock = |hz| Some(CoreClock { hz, is_steady: true });
        let values = [Some(270.0), Some(150.0), Some(120.0)].to_vec();
        let window = Window { clean: true, values, clocks: vec![clock(3e9), clock(2.4e9)] };
        let list = vec![Visit { windows: vec![window], ..Visit::default() }];
        let visits = Visits { threads: 2, clocks: 2, list, ..Visits::default() };
        let scaled = Basis::Cycles.at_clock(Metric::Bandwidth, &visits, 3e9);
        let values: Vec<f64> = scaled.list[0].windows[0].values.iter().map(|value| value.unwrap().round()).collect();
        assert_eq!(values, [300.0, 150.0, 150.0]);
    }

    #[test]
    fn the_clock_of_a_run_is_a_finding() {
        let seen = visits(Metric::Latency, 1.0, 1);
        let found = RunClock::of(std::iter::once(&seen)).unwrap().finding();
        assert_eq!((found.quantity, found.unit), (Quantity::CoreClock, Unit::Hz));
        let interval = found.interval.unwrap();
        let mhz = [interval.low, found.value.unwrap(), interval.high].map(|hz| (hz / 1e6).round());
        assert_eq!((mhz, interval.level), ([2800.0, 3200.0, 3200.0], 0.8));
        assert_eq!((found.samples, found.verdict), (60, tiermark_model::Verdict::trusted()));
        assert!(found.labels.is_empty() && found.evidence.is_empty());
    }

    #[test]
    fn without_clocks_values_are_as_measured() {
        let mut visits = visits(Metric::Latency, 1.0, 1);
        visits.list.iter_mut().flat_map(|visit| &mut visit.windows).for_each(|window| window.clocks = vec![None]);
        assert_eq!(Basis::of(true, Metric::Latency, &visits), Basis::Time);
        assert_eq!(RunClock::of(std::iter::once(&visits)), None);
    }
}
