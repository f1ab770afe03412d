//! Shares of weighted interleaving: the first points, and points between the best and its neighbours.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use tiermark_model::{IdSet, NodeId};

/// What a home node gives for what every other node gives, from all to nothing, so that both ends are measured on the
/// same footprint: memory beside the cpus may be the slower one (HBM without cpus is faster).
const SWEEP: [(u32, u32); 8] = [(1, 0), (8, 1), (4, 1), (2, 1), (1, 1), (1, 2), (1, 4), (0, 1)];
/// Neighbours closer than this get no point between them: their rates differ by less than an interval.
const CLOSE: f64 = 1.3;
/// The kernel keeps a weight in a byte.
const MOST: u32 = 255;

/// Pages that each node gives in one round, by node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Weights(Vec<(NodeId, u32)>);

impl Weights {
    /// Weights, or none of them for the word `sweep`.
    ///
    /// # Errors
    /// A message that says what to write instead.
    pub fn or_sweep(text: &str) -> Result<Self, String> {
        if text == "sweep" { Ok(Self::default()) } else { text.parse() }
    }

    /// The nodes that take part.
    pub(super) fn nodes(&self) -> IdSet {
        self.0.iter().map(|(node, _)| *node).collect()
    }

    /// The weights in rising order of the nodes.
    pub(super) fn list(&self) -> Vec<u32> {
        self.0.iter().map(|(_, weight)| *weight).collect()
    }

    /// Pages of one round.
    pub(super) fn round(&self) -> u64 {
        self.0.iter().map(|(_, weight)| u64::from(*weight)).sum()
    }

    fn of_two(nodes: &IdSet, homes: &IdSet, (home, far): (u32, u32)) -> Self {
        Self(nodes.iter().map(|node| (node, if homes.contains(node) { home } else { far })).collect())
    }

    /// Pages of a home node for each page of the others; `None` where homes or others do not all give the same.
    fn ratio(&self, homes: &IdSet) -> Option<(u32, u32)> {
        let same = |home: bool| {
            let mut weights =
                self.0.iter().filter(|(node, _)| homes.contains(*node) == home).map(|(_, weight)| *weight);
            let first = weights.next()?;
            weights.all(|weight| weight == first).then_some(first)
        };
        Some((same(true)?, same(false)?))
    }
}

impl fmt::Display for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(|(node, weight)| format!("{node}:{weight}")).collect();
        f.pad(&parts.join(","))
    }
}

impl FromStr for Weights {
    type Err = String;

    /// Parses `NODE:WEIGHT,NODE:WEIGHT`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = |why: &str| format!("weights '{text}': {why}; write NODE:WEIGHT,NODE:WEIGHT as in 0:3,1:1");
        let mut weights = Vec::new();
        for part in text.split(',') {
            let (node, weight) = part.split_once(':').ok_or_else(|| bad("a node has no weight"))?;
            let number = |text: &str| text.trim().parse::<u32>().map_err(|_| bad(&format!("'{text}' is not a number")));
            weights.push((number(node)?, number(weight)?));
        }
        weights.sort_unstable();
        match () {
            () if weights.len() < 2 => Err(bad("one node is no interleaving")),
            () if weights.windows(2).any(|w| w[0].0 == w[1].0) => Err(bad("a node is named twice")),
            () if weights.iter().any(|(_, weight)| *weight > MOST) => Err(bad("a weight is at most 255")),
            () if weights.iter().all(|(_, weight)| *weight == 0) => Err(bad("all weights are zero")),
            () => Ok(Self(weights)),
        }
    }
}

impl Serialize for Weights {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Weights {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// The first points of a sweep over these nodes by cpus with these homes.
pub(super) fn sweep(nodes: &IdSet, homes: &IdSet) -> Vec<Weights> {
    SWEEP.iter().map(|ratio| Weights::of_two(nodes, homes, *ratio)).collect()
}

/// Points on both sides of the best of a sweep. None once the neighbours are close.
pub(super) fn between(nodes: &IdSet, homes: &IdSet, seen: &[(Weights, f64)]) -> Vec<Weights> {
    let mut points: Vec<((u32, u32), f64)> =
        seen.iter().filter_map(|(weights, rate)| Some((weights.ratio(homes)?, *rate))).collect();
    points.sort_by(|a, b| share(a.0).total_cmp(&share(b.0)));
    let Some(best) = (0..points.len()).max_by(|a, b| points[*a].1.total_cmp(&points[*b].1)) else { return Vec::new() };
    let neighbours = [best.checked_sub(1), Some(best + 1).filter(|i| *i < points.len())];
    let between = neighbours.into_iter().flatten().filter_map(|near| middle(points[best].0, points[near].0));
    between.map(|ratio| Weights::of_two(nodes, homes, ratio)).collect()
}

/// Pages of home nodes for each page of the others.
fn share((home, far): (u32, u32)) -> f64 {
    f64::from(home) / f64::from(far)
}

/// A point between two, as simple as it can be: the mediant (between 2:1 and 1:1 lies 3:2); beside all and nothing,
/// twice the share.
fn middle(one: (u32, u32), other: (u32, u32)) -> Option<(u32, u32)> {
    /// A page in so many moves a rate by little more than its interval.
    const MOST: f64 = 16.0;
    let inner = if one.0 == 0 || one.1 == 0 { other } else { one };
    match (one, other) {
        ((_, 0), _) | (_, (_, 0)) => (share(inner) < MOST).then(|| reduced(2 * inner.0, inner.1)),
        ((0, _), _) | (_, (0, _)) => (share(inner) > 1.0 / MOST).then(|| reduced(inner.0, 2 * inner.1)),
        _ => {
            let apart = (share(one) / share(other)).max(share(other) / share(one));
            (apart > CLOSE).then(|| reduced(one.0 + other.0, one.1 + other.1))
        }
    }
}

/// A share in smallest numbers.
fn reduced(home: u32, far: u32) -> (u32, u32) {
    let common = divisor(home, far).max(1);
    (home / common, far / common)
}

/// The greatest common divisor.
fn divisor(mut a: u32, mut b: u32) -> u32 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Weights in proportion to what each node gave alone, in small numbers.
pub(super) fn proportional(rates: &[(NodeId, f64)]) -> Option<Weights> {
    /// Larger rounds than this need more pages than a thread has.
    const LARGEST: f64 = 16.0;
    let least = rates.iter().map(|(_, rate)| *rate).reduce(f64::min).filter(|least| *least > 0.0)?;
    let weights =
        |scale: f64| rates.iter().map(move |(node, rate)| (*node, (rate / least * scale).round().clamp(1.0, LARGEST)));
    // The smallest multiple that comes within a twentieth of every share.
    let close = |scale: f64| {
        weights(scale).zip(rates).all(|((_, w), (_, rate))| (w / (rate / least * scale) - 1.0).abs() < 0.05)
    };
    let scale = [1.0, 2.0, 3.0].into_iter().find(|scale| close(*scale)).unwrap_or(3.0);
    let weights: Vec<(NodeId, u32)> = weights(scale).map(|(node, weight)| (node, weight as u32)).collect();
    // In smallest numbers: three pages for three are one for one, which the sweep has already.
    let common = weights.iter().fold(0, |common, (_, weight)| divisor(common, *weight)).max(1);
    let weights = weights.into_iter().map(|(node, weight)| (node, weight / common)).collect();
    (rates.len() > 1).then_some(Weights(weights))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes() -> (IdSet, IdSet) {
        ("0,2".parse().unwrap(), "0".parse().unwrap())
    }

    #[test]
    fn weights_read_back_what_they_print() {
        let weights: Weights = "2:1,0:3".parse().unwrap();
        assert_eq!((weights.to_string().as_str(), weights.list(), weights.round()), ("0:3,2:1", vec![3, 1], 4));
        for bad in ["", "0", "0:1", "0:1,0:2", "0:x,1:1", "0:256,1:1", "0:0,1:0"] {
            assert!(bad.parse::<Weights>().unwrap_err().contains("0:3,1:1"), "{bad}");
        }
    }

    #[test]
    fn the_best_share_is_approached_from_both_sides() {
        let (nodes, homes) = nodes();
        // Best where the home gives 2.6 pages for each other: a roof with its ridge there.
        let rate = |weights: &Weights| {
            let (home, far) = weights.ratio(&homes).unwrap();
            if home == 0 || far == 0 {
                return -9.0;
            }
            -(f64::from(home) / f64::from(far) / 2.6).ln().abs()
        };
        let mut seen: Vec<(Weights, f64)> = sweep(&nodes, &homes)
            .into_iter()
            .map(|w| {
                let r = rate(&w);
                (w, r)
            })
            .collect();
        let mut rounds = 0;
        loop {
            let more: Vec<Weights> = between(&nodes, &homes, &seen);
            let more: Vec<Weights> = more.into_iter().filter(|w| seen.iter().all(|(known, _)| known != w)).collect();
            if more.is_empty() {
                break;
            }
            rounds += 1;
            assert!(rounds < 5, "a sweep must end");
            seen.extend(more.into_iter().map(|w| {
                let r = rate(&w);
                (w, r)
            }));
        }
        let best = seen.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert_eq!(best.0.to_string(), "0:5,2:2");
        assert!(seen.len() <= 14, "{}", seen.len());
    }

    #[test]
    fn shares_beyond_the_sweep_are_found() {
        assert_eq!(middle((8, 1), (1, 0)), Some((16, 1)));
        assert_eq!(middle((1, 0), (16, 1)), None);
        assert_eq!(middle((1, 4), (0, 1)), Some((1, 8)));
        assert_eq!(middle((2, 1), (1, 1)), Some((3, 2)));
        assert_eq!(middle((4, 1), (2, 1)), Some((3, 1)));
        assert_eq!(middle((5, 4), (1, 1)), None);
    }

    #[test]
    fn shares_follow_what_each_node_gave_alone() {
        let weights = |rates: &[(NodeId, f64)]| proportional(rates).map(|w| w.to_string());
        assert_eq!(weights(&[(0, 200.0), (2, 50.0)]).as_deref(), Some("0:4,2:1"));
        assert_eq!(weights(&[(0, 150.0), (1, 100.0), (2, 50.0)]).as_deref(), Some("0:3,1:2,2:1"));
        assert_eq!(weights(&[(0, 150.0), (1, 100.0)]).as_deref(), Some("0:3,1:2"));
        // Nearly alike is alike, and not another point of the sweep.
        assert_eq!(weights(&[(0, 110.0), (1, 100.0)]).as_deref(), Some("0:1,1:1"));
        assert_eq!(weights(&[(0, 150.0)]), None);
        assert_eq!(weights(&[(0, 150.0), (1, 0.0)]), None);
    }
}
