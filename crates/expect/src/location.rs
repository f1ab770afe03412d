//! Where a figure was measured.

use std::collections::HashSet;

use tiermark_model::IdSet;

/// Where a figure was measured; an empty place is the whole machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// Nodes of the cpus.
    pub(crate) from: Option<IdSet>,
    /// Nodes of the memory.
    pub(crate) nodes: Option<IdSet>,
    /// Nodes whose theoretical limit this is; it is compared only with figures of the memory of exactly these nodes.
    pub(crate) limit_of: Option<IdSet>,
    /// The memory module.
    pub(crate) module: Option<String>,
    /// Whether it is a rate of all cores of `from`.
    pub(crate) is_of_all: bool,
    /// The places of the figures that a number was computed from, in words, if there is more than one.
    pub(crate) figures: Vec<String>,
}

impl Place {
    /// The place of a number that was computed from numbers of two places; `None` if the two do not belong together.
    pub(crate) fn joined(&self, other: &Self) -> Option<Self> {
        let limit_fits = |limit: &Self, of: &Self| match (&limit.limit_of, &of.nodes) {
            (Some(limit), Some(nodes)) => limit == nodes,
            _ => true,
        };
        // Rates of all cores are of the same cores, or have no quotient.
        let are_of_same_cores = !(self.is_of_all && other.is_of_all) || self.from == other.from;
        let fits = are_of_same_cores
            && limit_fits(self, other)
            && limit_fits(other, self)
            && both(&self.from, &other.from).is_none_or(|(a, b)| !a.intersection(b).is_empty())
            && both(&self.module, &other.module).is_none_or(|(a, b)| a == b);
        fits.then(|| Self {
            from: smaller(&self.from, &other.from),
            nodes: self.nodes.clone().or_else(|| other.nodes.clone()),
            limit_of: self.limit_of.clone().or_else(|| other.limit_of.clone()),
            module: self.module.clone().or_else(|| other.module.clone()),
            is_of_all: self.is_of_all || other.is_of_all,
            figures: self.figures_with(other),
        })
    }

    /// The places of the figures of both, in words.
    fn figures_with(&self, other: &Self) -> Vec<String> {
        let texts = |place: &Self| match place.figures.as_slice() {
            [] => place.text().into_iter().collect(),
            several => several.to_vec(),
        };
        let mut all: Vec<String> = texts(self);
        all.extend(texts(other));
        let mut met = HashSet::new();
        all.retain(|text| met.insert(text.clone()));
        if all.len() > 1 { all } else { Vec::new() }
    }

    /// In words; `None` for the whole machine.
    pub(crate) fn text(&self) -> Option<String> {
        if let Some(module) = &self.module {
            return Some(module.clone());
        }
        if !self.figures.is_empty() {
            return Some(self.figures.join(", against "));
        }
        let name = |nodes: &IdSet| format!("node{} {nodes}", if nodes.len() == 1 { "" } else { "s" });
        match (&self.from, &self.nodes) {
            (Some(from), Some(nodes)) if from != nodes => {
                Some(format!("cpus of {}, memory of {}", name(from), name(nodes)))
            }
            (_, Some(nodes)) | (Some(nodes), None) => Some(name(nodes)),
            (None, None) => None,
        }
    }
}

fn both<'a, T>(one: &'a Option<T>, other: &'a Option<T>) -> Option<(&'a T, &'a T)> {
    one.as_ref().zip(other.as_ref())
}

/// The cpus of both: those of fewer nodes.
fn smaller(one: &Option<IdSet>, other: &Option<IdSet>) -> Option<IdSet> {
    match both(one, other) {
        Some((a, b)) => Some(if b.len() < a.len() { b.clone() } else { a.clone() }),
        None => one.clone().or_else(|| other.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(from: &str, nodes: &str) -> Place {
        Place { from: from.parse().ok(), nodes: nodes.parse().ok(), ..Place::default() }
    }

    #[test]
    fn figures_of_one_row_belong_together() {
        let joined = at("0", "1").joined(&at("0", "0")).unwrap();
        assert_eq!((&joined.from, &joined.nodes), (&at("0", "1").from, &at("0", "1").nodes));
        // The places of all figures are named.
        let both = "cpus of node 0, memory of node 1, against node 0";
        assert_eq!(joined.text().as_deref(), Some(both));
        let thrice = joined.joined(&at("0", "1")).unwrap().joined(&Place::default()).unwrap();
        assert_eq!(thrice.text().as_deref(), Some(both));
        assert_eq!(at("0", "0").joined(&Place::default()).unwrap(), at("0", "0"));
        assert_eq!(at("0", "1").joined(&at("1", "1")), None);
        let all = |from: &str, nodes: &str| Place { is_of_all: true, ..at(from, nodes) };
        assert_eq!(all("0", "1").joined(&all("0-1", "0-1")), None, "half of the cores over all");
        assert!(all("0", "1").joined(&all("0", "0")).unwrap().is_of_all);
        let peak = Place { limit_of: "0".parse().ok(), ..Place::default() };
        assert!(at("0", "0").joined(&peak).is_some() && peak.joined(&at("0", "0")).is_some());
        assert_eq!((at("0-1", "0-1").joined(&peak), peak.joined(&at("1", "1"))), (None, None));
        assert_eq!(at("0", "0").text().as_deref(), Some("node 0"));
        assert_eq!(at("0", "1").text().as_deref(), Some("cpus of node 0, memory of node 1"));
        assert_eq!((at("0-1", "0-1").text().as_deref(), Place::default().text()), (Some("nodes 0-1"), None));
    }
}
