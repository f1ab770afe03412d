//! A number against the other numbers of its family: what all of them share in a run is no change of one.
//!
//! Let C be the variance of what a family shares, v that of a number's own part, and V that of the mean of the others.
//! The best forecast of the number is that mean times C/(C + V), and misses it by a variance of v + CV/(C + V) (best
//! linear prediction: Searle, Casella & McCulloch, "Variance Components", 1992, ch. 7).

use std::collections::BTreeMap;

use crate::LEVEL;
use crate::evidence::{self, Weighed};
use crate::families::Mean;
use crate::judge::ComparedPair;
use crate::scatter::{Family, Noise, Scatter};

/// The fewest other numbers for this test.
const FEWEST: usize = 3;
/// The variance against the others over that alone, at most. Above it the test gains little and depends on the assumed
/// scatter.
const MOST_LEFT: f64 = 0.5;
/// The standard normal value that chance exceeds with a probability of [`LEVEL`].
const ONE_SIDED: f64 = 2.326;

/// The tests of a number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tested {
    /// Its change by itself.
    pub(crate) alone: Weighed,
    /// Its change less what its family shares, where that decides.
    pub(crate) against: Option<Weighed>,
    /// Whether its change by itself would show, too.
    pub(crate) shows_alone: bool,
    /// What counts, without Holm's correction.
    pub(crate) p_value: f64,
}

/// The tests of all numbers.
///
/// If the family changed as a whole, each number is tested alone, because the shared change is not scatter then. The
/// larger p-value counts, so that two tests do not raise the rate of false alarms.
pub(crate) fn tested(
    pairs: &[ComparedPair],
    weighed: &[Option<Weighed>],
    means: &[Mean],
    noises: &BTreeMap<Family, Noise>,
) -> Vec<Option<Tested>> {
    let count = weighed.iter().flatten().count() + means.len();
    let alone = |alone: &Weighed| Tested {
        alone: *alone,
        against: None,
        shows_alone: alone.p_value * count as f64 <= LEVEL,
        p_value: alone.p_value,
    };
    let mut all: Vec<Option<Tested>> = weighed.iter().map(|one| one.as_ref().map(alone)).collect();
    for mean in means {
        let Some(noise) = noises.get(&mean.family) else { continue };
        let is_of = |pair: &ComparedPair| pair.family().is_some_and(|(of, _)| of == (&mean.family, &mean.differs[..]));
        let members = pairs.iter().zip(weighed).enumerate().filter(|(_, (pair, _))| is_of(pair));
        let members: Vec<(usize, Weighed)> = members.filter_map(|(at, (_, one))| Some((at, (*one)?))).collect();
        for (at, one) in &members {
            let others = members.iter().filter(|(other, _)| other != at).map(|(_, other)| *other);
            let Some(against) = against(*one, &others.collect::<Vec<_>>(), noise.usual) else { continue };
            let family = mean.weighed.p_value;
            all[*at] = Some(match family <= LEVEL {
                true => Tested { p_value: one.p_value.max(against.p_value.min(family)), ..alone(one) },
                false => Tested { p_value: against.p_value, against: Some(against), ..alone(one) },
            });
        }
    }
    all
}

/// A change less what the other numbers of its family share; `None` if there are too few, they disagree, or it gains
/// little.
fn against(one: Weighed, others: &[Weighed], scatter: Scatter) -> Option<Weighed> {
    // Where a number scatters by more than its family, the rest is its own.
    let common = |of: &Weighed| scatter.common.powi(2).min(of.scatter());
    let own = |of: &Weighed| of.whole - of.factor * common(of);
    let of_mean = others.iter().map(|of| own(of).recip()).sum::<f64>().recip();
    let mean = of_mean * others.iter().map(|of| of.difference / own(of)).sum::<f64>();
    let squares = others.iter().map(|of| (of.difference - mean).powi(2) / own(of)).sum::<f64>();
    if others.len() < FEWEST || !is_chance(squares, others.len() - 1) {
        return None;
    }
    let shared = one.factor * common(&one);
    let known = shared / (shared + of_mean);
    let left = (known * of_mean / one.factor).sqrt();
    let scatter = Scatter { common: left, own: (one.scatter() - common(&one)).sqrt(), ..scatter };
    let found = evidence::weighed(one.difference - known * mean, one.own, one.factor, 1, scatter)?;
    (found.whole <= MOST_LEFT * one.whole).then_some(found)
}

/// Whether chance alone makes a sum of squares this large: else some of the others changed as well (χ² by Wilson &
/// Hilferty, Proc. Natl. Acad. Sci. 17, 1931).
fn is_chance(squares: f64, degrees: usize) -> bool {
    let degrees = degrees as f64;
    let small = 2.0 / (9.0 * degrees);
    squares / degrees <= (1.0 - small + ONE_SIDED * small.sqrt()).powi(3)
}
