//! Pairs of cpus, and the time that a line takes between them.

use std::collections::BTreeMap;

use crate::idset::CpuId;
use crate::observation::Finding;
use crate::quantity::Quantity;

/// Two cpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// The cpu with the lower number.
    pub low: CpuId,
    /// The other.
    pub high: CpuId,
}

impl Pair {
    /// The pair that a finding is of, whichever of its cpus begins.
    pub fn of(finding: &Finding) -> Option<Self> {
        let (from, to) = (finding.labels.from_cpu()?, finding.labels.to_cpu()?);
        Some(Self { low: from.min(to), high: from.max(to) })
    }
}

/// Round trips of pairs, by the way to pass turns; of several of one pair, the last.
pub fn pairs<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> BTreeMap<&'a str, BTreeMap<Pair, &'a Finding>> {
    let mut all: BTreeMap<&str, BTreeMap<Pair, &Finding>> = BTreeMap::new();
    for finding in findings.into_iter().filter(|f| f.quantity == Quantity::C2cPair) {
        if let (Some(op), Some(pair)) = (finding.labels.op(), Pair::of(finding)) {
            all.entry(op).or_default().insert(pair, finding);
        }
    }
    all
}
