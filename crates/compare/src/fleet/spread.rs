//! The spread of values over hosts, and how far a value lies beyond it.
//!
//! On logarithms, a value is the median of its figure over the hosts, plus the difference of the host, plus noise
//! (between runs, between allocations, within the run). The spread of the differences over the hosts shows that noise;
//! a default for one machine measured twice has the weight of a few hosts. The half of the hosts that lie closest
//! together give a first estimate, which slow hosts move little if they are less than half; then all hosts count that
//! are not far beyond it, because half of a few hosts give an imprecise estimate (reweighting: Rousseeuw & Leroy,
//! "Robust Regression and Outlier Detection", 1987).

use tiermark_stats::{median, student_quantile, student_two_sided};

/// Standard deviation of a normal distribution per half the length of its shortest half (least median of squares:
/// Rousseeuw, Journal of the American Statistical Association 79(388), 1984).
const OF_HALF: f64 = 1.4826;
/// Efficiency of that estimate: n values are worth 0.37 n of which all count. It is that of the MAD, its equal in a normal
/// distribution (Rousseeuw & Croux, Journal of the American Statistical Association 88(424), 1993).
const WORTH: f64 = 0.37;
/// A value whose p-value by the first estimate is lower does not count for the second. Of 1e-4, 3e-4 and 3e-3, tried on
/// simulated fleets, the first finds nearly as much, and calls the fewest sound hosts odd where the scatter is three
/// times the default.
const BEYOND: f64 = 1e-4;
/// Weight of the default scatter beside the one seen, in degrees of freedom: that of five runs of one machine, as
/// `compare` weighs it (moderated variances: Smyth, Stat. Appl. Genet. Mol. Biol. 3(1), 2004).
const PRIOR: f64 = 4.0;
/// Variance of a median of many normal values, in variances of their mean.
pub(crate) const OF_MEDIAN: f64 = std::f64::consts::FRAC_PI_2;
/// The smallest scatter of a number between machines, as `compare` has it between runs.
pub(crate) const FLOOR: f64 = 0.003;

/// A loss of a size is visible if at least this share of such losses is found.
const POWER: f64 = 0.95;

/// How much the means of a family differ between hosts.
#[derive(Debug)]
pub(crate) struct FamilyScatter {
    pub(crate) usual: Usual,
    pub(crate) means: Vec<Value>,
}

/// What a machine measured twice differs by: the variance, and how much is none in practice, on logarithms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usual {
    pub(crate) variance: f64,
    pub(crate) small: f64,
}

/// A value of a host on logarithms, with the variance that its own run shows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Value {
    pub(crate) at: f64,
    pub(crate) variance: f64,
}

pub(crate) struct Tested {
    /// Median of the hosts that count.
    pub(crate) centre: f64,
    /// Standard deviation between hosts.
    pub(crate) sd: f64,
    /// Degrees of freedom of its square.
    pub(crate) degrees: f64,
    pub(crate) p_values: Vec<f64>,
}

/// Tests each value against the spread of all.
pub(crate) fn tested(of_hosts: &[Value], usual: Usual) -> Tested {
    let mut sorted: Vec<f64> = of_hosts.iter().map(|of| of.at).collect();
    sorted.sort_by(f64::total_cmp);
    let half = shortest_half(&sorted);
    let first =
        Spread::new((half.0 + half.1) / 2.0, OF_HALF * (half.1 - half.0) / 2.0, sorted.len(), WORTH, usual.variance);
    let counting: Vec<f64> = sorted.into_iter().filter(|at| first.p_value(at - first.centre, 0.0) >= BEYOND).collect();
    let n = counting.len();
    let mean = counting.iter().sum::<f64>() / n.max(1) as f64;
    let variance = counting.iter().map(|at| (at - mean).powi(2)).sum::<f64>() / n.saturating_sub(1).max(1) as f64;
    let second = Spread::new(median(&counting).unwrap_or(mean), variance.sqrt(), n, 1.0, usual.variance);
    let within = median(&of_hosts.iter().map(|of| of.variance).collect::<Vec<f64>>()).unwrap_or(0.0);
    let of_centre = second.variance * OF_MEDIAN / n.max(1) as f64;
    let p_value = |of: &Value| {
        let off = of.at - second.centre;
        // A host that knows its value less well than its peers do.
        let own = (of.variance - within).max(0.0);
        if off.abs() <= usual.small { 1.0 } else { second.p_value(off, own + of_centre) }
    };
    Tested {
        centre: second.centre,
        sd: second.variance.sqrt(),
        degrees: second.degrees,
        p_values: of_hosts.iter().map(p_value).collect(),
    }
}

impl FamilyScatter {
    /// How far from the centre one of the hosts must be to be found in [`POWER`] of the cases; `None` where not even 16
    /// times is found. The host itself counts for the scatter, in a kind of few hosts much.
    pub(crate) fn visible(&self, p_value: f64) -> Option<f64> {
        let sound = tested(&self.means, self.usual);
        let from_centre = |of: &Value| (of.at - sound.centre).abs();
        let middle = (0..self.means.len())
            .min_by(|a, b| from_centre(&self.means[*a]).total_cmp(&from_centre(&self.means[*b])))?;
        let is_found = |off: f64| {
            let mut means = self.means.clone();
            means[middle].at = sound.centre + off;
            tested(&means, self.usual).p_values[middle] <= p_value
        };
        let (mut low, mut high) = (0.0, 16.0_f64.ln());
        if !is_found(high) {
            return None;
        }
        // To a tenth of a percent.
        for _ in 0..12 {
            let off = f64::midpoint(low, high);
            if is_found(off) { high = off } else { low = off }
        }
        // The host scatters too: of those at the edge, half are found.
        Some(high + student_quantile(sound.degrees, 2.0 * (1.0 - POWER))? * sound.sd)
    }
}

/// The ends of the shortest range that holds more than half of the sorted values.
fn shortest_half(sorted: &[f64]) -> (f64, f64) {
    let ranges = sorted.windows(sorted.len() / 2 + 1).filter_map(|of| Some((*of.first()?, *of.last()?)));
    ranges.min_by(|(a, b), (c, d)| (b - a).total_cmp(&(d - c))).unwrap_or_default()
}

/// A normal distribution of which the variance is an estimate.
pub(crate) struct Spread {
    pub(crate) centre: f64,
    pub(crate) variance: f64,
    /// Degrees of freedom of the variance.
    pub(crate) degrees: f64,
}

impl Spread {
    /// From the standard deviation of `n` values, each of weight `worth`, and the `usual` variance, of weight [`PRIOR`].
    pub(crate) fn new(centre: f64, sd: f64, n: usize, worth: f64, usual: f64) -> Self {
        let seen = worth * n.saturating_sub(1) as f64;
        let variance = (PRIOR * usual + seen * sd.powi(2)) / (PRIOR + seen);
        Self { centre, variance: variance.max(FLOOR.powi(2)), degrees: PRIOR + seen }
    }

    /// p-value of a difference from the centre; `more`: variance to add.
    pub(crate) fn p_value(&self, off: f64, more: f64) -> f64 {
        student_two_sided(off / (self.variance + more).sqrt(), self.degrees).unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NORMAL: [f64; 12] = [-1.2, -0.8, -0.4, -0.1, 0.0, 0.1, 0.3, 0.5, 0.9, 1.3, -0.6, 0.7];

    const USUAL: Usual = Usual { variance: 1e-4, small: 0.0296 };

    fn values(sd: f64, others: &[f64]) -> Vec<Value> {
        let all = NORMAL.iter().map(|z| z * sd).chain(others.iter().copied());
        all.map(|at| Value { at, variance: 0.0 }).collect()
    }

    #[test]
    fn the_spread_of_the_peers_decides() {
        let last = |values: &[Value]| tested(values, USUAL).p_values[values.len() - 1];
        assert!(last(&values(0.005, &[-0.1])) < BEYOND);
        assert!(last(&values(0.05, &[-0.1])) > 0.01);
        // A difference of 2 % does not count, however sure it is.
        assert_eq!(last(&values(0.0005, &[-0.02])), 1.0);
        // What the host itself does not know well is not odd.
        let mut vague = values(0.005, &[-0.1]);
        vague[12].variance = 0.05_f64.powi(2);
        assert!(last(&vague) > 0.01);
    }

    #[test]
    fn hosts_far_beyond_move_nothing_if_they_are_less_than_half() {
        let (sound, mixed) = (tested(&values(0.01, &[]), USUAL), tested(&values(0.01, &[-0.1; 10]), USUAL));
        assert_eq!((mixed.centre, mixed.sd), (sound.centre, sound.sd));
        assert!(mixed.p_values[12..].iter().all(|p| *p < BEYOND) && mixed.p_values[..12].iter().all(|p| *p == 1.0));
        assert!(tested(&[], USUAL).p_values.is_empty());
    }
}
