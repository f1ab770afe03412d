//! The ladder: what each tier does.

use std::collections::HashMap;

use crate::labels::Labels;
use crate::observation::Finding;
use crate::purpose::Purpose;
use crate::quantity::Quantity;
use crate::span::Span;
use crate::tier::Tier;

/// The operations that every ladder has, in the order of its columns.
pub const LADDER_OPS: [&str; 3] = ["read", "write", "copy"];
/// The threads that every ladder has, in the order of its columns.
pub const LADDER_SPANS: [Span; 2] = [Span::One, Span::All];

/// The findings of one tier, of one node where they name one.
#[derive(Debug, Clone)]
pub struct Rung<'a> {
    /// The tier, and the node where labelled.
    pub name: String,
    /// All findings of it, in the order of the run.
    pub findings: Vec<&'a Finding>,
    /// Latency at random over the same memory, of each page size that was measured.
    pub walks: Vec<&'a Finding>,
}

impl<'a> Rung<'a> {
    fn of(&self, quantity: Quantity) -> impl Iterator<Item = &'a Finding> {
        self.findings.iter().copied().filter(move |f| f.quantity == quantity)
    }

    /// The size of a cache, as measured.
    pub fn size(&self) -> Option<&'a Finding> {
        self.of(Quantity::TierSize).next()
    }

    /// Its idle latency: by accesses at random, or, where that was not measured, in another order.
    pub fn latency(&self) -> Option<&'a Finding> {
        let mut all = self.of(Quantity::Latency);
        let usual = self.of(Quantity::Latency).find(|f| f.labels.has_usual_layout());
        usual.or_else(|| all.find(|f| f.labels.statistic().is_none()))
    }

    /// The rate of an operation by so many threads.
    pub fn rate(&self, op: &str, span: Span) -> Option<&'a Finding> {
        self.of(Quantity::Bandwidth).find(|f| f.labels.op() == Some(op) && f.labels.span() == Some(span))
    }

    /// The rate of stores of zeros, where it was measured beside that of data.
    pub fn zeros(&self, span: Span) -> Option<&'a Finding> {
        self.of(Quantity::Bandwidth).find(|f| f.labels.data() == Some("zeros") && f.labels.span() == Some(span))
    }

    /// Rates of other operations.
    pub fn other_rates(&self) -> impl Iterator<Item = &'a Finding> {
        let columns: Vec<&Finding> =
            LADDER_SPANS.iter().flat_map(|span| LADDER_OPS.iter().filter_map(|op| self.rate(op, *span))).collect();
        let is_other = move |f: &&Finding| {
            let labels = &f.labels;
            let is_column = columns.iter().any(|column| std::ptr::eq(*column, *f));
            labels.is_for(Purpose::Ladder) && labels.kernel().is_some() && !is_column
        };
        self.of(Quantity::Bandwidth).filter(is_other)
    }

    /// The highest share of the theoretical peak.
    pub fn best_share(&self) -> Option<&'a Finding> {
        let known = self.of(Quantity::PeakShare).filter(|f| f.value.is_some_and(f64::is_finite));
        known.max_by(|a, b| a.value.unwrap_or(0.0).total_cmp(&b.value.unwrap_or(0.0)))
    }

    /// Whether it has a latency or a rate.
    pub fn has_numbers(&self) -> bool {
        self.findings.iter().any(|f| matches!(f.quantity, Quantity::Latency | Quantity::Bandwidth))
    }

    fn is_random_memory(&self) -> bool {
        self.findings.first().is_some_and(|f| f.labels.tier() == Some(Tier::DramRandom))
    }

    /// Rungs with memory at random on the rung of the same memory, where it has one.
    #[must_use]
    pub fn with_walks(rungs: Vec<Self>) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::with_capacity(rungs.len());
        for rung in rungs {
            let walk = rung.findings.first().filter(|_| rung.is_random_memory());
            let whole = walk.and_then(|f| f.labels.clone().with_tier(Tier::Dram).tier_of_node());
            match whole.and_then(|whole| all.iter_mut().find(|other| other.name == whole)) {
                Some(whole) => whole.walks.extend(rung.of(Quantity::Latency)),
                None => all.push(rung),
            }
        }
        all
    }
}

impl Labels {
    /// The tier, and the node where labelled: the name of a row of the ladder.
    pub fn tier_of_node(&self) -> Option<String> {
        let tier = self.tier_name()?;
        Some(match self.node().filter(|_| !self.tier_says_node()) {
            Some(node) => format!("{tier} node {node}"),
            None => tier.to_owned(),
        })
    }
}

/// The tiers that findings name, in the order of their first size, latency or rate. Accesses right after other work
/// are on no ladder.
pub fn ladder<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Vec<Rung<'a>> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut rungs: Vec<(Option<usize>, Rung<'a>)> = Vec::new();
    for (at, finding) in findings.into_iter().enumerate() {
        let Some(name) = finding.labels.tier_of_node().filter(|_| !finding.labels.is_for(Purpose::Cold)) else {
            continue;
        };
        let place = *places.entry(name).or_insert_with_key(|name| {
            rungs.push((None, Rung { name: name.clone(), findings: Vec::new(), walks: Vec::new() }));
            rungs.len() - 1
        });
        let (first, rung) = &mut rungs[place];
        // Shares, tails and the like may come before it.
        if matches!(finding.quantity, Quantity::TierSize | Quantity::Latency | Quantity::Bandwidth) {
            first.get_or_insert(at);
        }
        rung.findings.push(finding);
    }
    rungs.retain(|(first, _)| first.is_some());
    rungs.sort_by_key(|(first, _)| *first);
    rungs.into_iter().map(|(_, rung)| rung).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Unit;

    #[test]
    fn tiers_named_after_their_node_are_named_once() {
        let name = |tier: &str, node: u32| Labels::new().with_tier_name(tier).with_node(node).tier_of_node();
        assert_eq!(name("DRAM", 1).as_deref(), Some("DRAM node 1"));
        assert_eq!(name("DRAM node 1", 1).as_deref(), Some("DRAM node 1"));
        assert_eq!(name("far node 2", 2).as_deref(), Some("far node 2"));
        assert_eq!(name("far node 12", 2).as_deref(), Some("far node 12 node 2"));
        assert_eq!(name("CXL node 4", 4).as_deref(), Some("CXL node 4"), "of another version");
        assert_eq!(Labels::new().with_node(1).tier_of_node(), None);
    }

    #[test]
    fn each_number_of_a_tier_has_its_place() {
        let found = |quantity: Quantity, labels: Labels, value: f64| {
            let unit = if quantity == Quantity::Latency { Unit::Ns } else { Unit::BytesPerSecond };
            Finding::new(quantity, labels.with_purpose(Purpose::Ladder), Some(value), unit)
        };
        let dram = || Labels::new().with_tier(Tier::Dram);
        let all = [
            found(Quantity::PeakShare, dram(), 0.5),
            found(Quantity::Latency, Labels::new().with_tier(Tier::Cache(1)), 1.0),
            found(Quantity::Latency, dram().with_layout("stride"), 20.0),
            found(Quantity::Latency, dram().with_layout("groups"), 90.0),
            found(Quantity::Bandwidth, dram().with_op("read").with_span(Span::One).with_kernel("read/avx2"), 1e10),
            found(Quantity::Bandwidth, dram().with_op("triad").with_span(Span::One).with_kernel("triad/avx2"), 2e10),
            found(Quantity::Bandwidth, dram().with_op("write").with_span(Span::All).with_data("zeros"), 3e10),
            found(Quantity::Latency, Labels::new().with_tier(Tier::DramRandom).with_layout("random"), 150.0),
        ];
        let rungs = ladder(&all);
        assert_eq!(rungs.iter().map(|rung| rung.name.as_str()).collect::<Vec<_>>(), ["L1", "DRAM", "DRAM random"]);
        let rungs = Rung::with_walks(rungs);
        let dram = &rungs[1];
        let value = |f: Option<&Finding>| f.and_then(|f| f.value);
        assert_eq!((rungs.len(), value(dram.latency()), value(dram.best_share())), (2, Some(90.0), Some(0.5)));
        assert_eq!(value(dram.rate("read", Span::One)), Some(1e10));
        assert_eq!(value(dram.rate("read", Span::All)), None);
        assert_eq!(value(dram.zeros(Span::All)), Some(3e10));
        assert_eq!(dram.other_rates().filter_map(|f| f.value).collect::<Vec<_>>(), [2e10]);
        assert_eq!(value(dram.walks.first().copied()), Some(150.0));
    }
}
