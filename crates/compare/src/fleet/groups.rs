//! Hosts of a kind by what they report of a fact, and groups of hosts whose figures differ from those of the others.
//!
//! A difference that is lost in the scatter of single hosts shows in the mean of a group. Each group of two or more is
//! tested in each family against the hosts with the commonest value, and false discoveries are controlled over all
//! facts, families and kinds (Benjamini & Hochberg, Journal of the Royal Statistical Society B 57(1), 1995).

use std::collections::{BTreeSet, HashMap};

use tiermark_model::Fact;
use tiermark_stats::benjamini_hochberg;

use crate::fleet::catalogue::Catalogue;
use crate::fleet::facts::{Common, HostFact, most_common};
use crate::fleet::judge::{GroupTest, Judged, threshold};
use crate::fleet::record::HostRecord;

/// Expected share of false ones among the groups that are called worse. A false one makes several hosts odd, so that it
/// is less than the level of single hosts.
const LEVEL: f64 = 0.005;
/// The fewest hosts of a group: one is judged by itself.
const FEWEST: usize = 2;

/// A fact over the hosts of a kind.
pub(crate) struct FactGroups<'a> {
    pub(crate) fact: Fact,
    /// Whether the first value is that of most hosts: then it is the others that are odd.
    pub(crate) is_majority: bool,
    /// The hosts by their value, those with the commonest first.
    pub(crate) groups: Vec<Group<'a>>,
    /// The place of a host's value among these, by the host's place in the kind.
    of_host: HashMap<usize, usize>,
}

/// The hosts with a value of a fact, by their places in the kind.
pub(crate) struct Group<'a> {
    pub(crate) value: &'a HostFact,
    pub(crate) hosts: Vec<usize>,
}

impl FactGroups<'_> {
    /// The place of a host's value among the groups; `None` if it does not report the fact.
    pub(crate) fn place(&self, host: usize) -> Option<usize> {
        self.of_host.get(&host).copied()
    }

    /// The hosts that report the fact.
    pub(crate) fn known(&self) -> usize {
        self.of_host.len()
    }
}

/// The facts of the hosts of a kind.
pub(crate) fn groups<'a>(records: &[&'a HostRecord]) -> Vec<FactGroups<'a>> {
    let names: BTreeSet<_> = records.iter().flat_map(|record| &record.facts).map(|own| own.fact).collect();
    names.into_iter().filter_map(|fact| of_fact(fact, records)).collect()
}

fn of_fact<'a>(fact: Fact, records: &[&'a HostRecord]) -> Option<FactGroups<'a>> {
    let own = records.iter().enumerate();
    let own = own.filter_map(|(at, record)| Some((at, record.facts.iter().find(|own| own.fact == fact)?)));
    let Common { fact: common, is_majority } = most_common(own.clone().map(|(_, fact)| fact))?;
    let mut groups = vec![Group { value: common, hosts: Vec::new() }];
    let (mut of_host, mut by_text) = (HashMap::new(), HashMap::new());
    for (at, fact) in own {
        let next = groups.len();
        let place = if fact.is_same(common) { 0 } else { *by_text.entry(fact.text.as_str()).or_insert(next) };
        if place == next {
            groups.push(Group { value: fact, hosts: Vec::new() });
        }
        groups[place].hosts.push(at);
        of_host.insert(at, place);
    }
    Some(FactGroups { fact, is_majority, groups, of_host })
}

/// A group of hosts that is worse in a family than the hosts with another value of the fact.
#[derive(Debug)]
pub(crate) struct OddGroup {
    pub(crate) fact: Fact,
    /// The places of its value, and of that it was held against, among the groups of the fact.
    pub(crate) place: usize,
    pub(crate) against: usize,
    pub(crate) family: String,
    /// Its hosts that are worse themselves, by their places in the kind.
    pub(crate) hosts: BTreeSet<usize>,
    /// p-value over all tests (false discovery rate).
    pub(crate) p_value: f64,
}

/// Finds the groups that are worse than the hosts with the commonest value; without a majority, the worse of both.
pub(crate) fn mark(kinds: &mut [Judged], facts: &[Vec<FactGroups<'_>>], catalogue: &Catalogue) {
    let mut tests: Vec<(usize, f64, Option<OddGroup>)> = Vec::new();
    for (kind, (judged, facts)) in kinds.iter().zip(facts).enumerate() {
        for fact in facts {
            for place in 1..fact.groups.len() {
                let of_family = |family: &String| Some((kind, tested(judged, fact, place, family, catalogue)?));
                let found = judged.families.keys().filter_map(of_family);
                tests.extend(found.map(|(kind, (p_value, group))| (kind, p_value, group)));
            }
        }
    }
    let adjusted = benjamini_hochberg(&tests.iter().map(|(_, p_value, _)| *p_value).collect::<Vec<_>>());
    for ((kind, _, group), p_value) in tests.into_iter().zip(adjusted) {
        if let Some(group) = group.filter(|_| p_value <= LEVEL) {
            kinds[kind].grouped.push(OddGroup { p_value, ..group });
        }
    }
}

/// The p-value of a group in a family, and the group that is worse, if any may be called so. `None` without a test.
fn tested(
    judged: &Judged,
    fact: &FactGroups<'_>,
    place: usize,
    family: &str,
    catalogue: &Catalogue,
) -> Option<(f64, Option<OddGroup>)> {
    let [common, other] = [&fact.groups[0].hosts, &fact.groups[place].hosts];
    if other.len() < FEWEST {
        return None;
    }
    let GroupTest { means: [own, peers], p_value } = judged.against(family, other, common)?;
    let figure = catalogue.figures.iter().find(|figure| figure.family == *family)?;
    let is_other_worse = figure.less_is_better().is_none_or(|less| (own > peers) == less);
    // What most hosts have is no fault of theirs, if a few are better.
    let is_fault = is_other_worse || !fact.is_majority;
    let (place, against) = if is_other_worse { (place, 0) } else { (0, place) };
    let (worse, better) = if is_other_worse { (own, peers) } else { (peers, own) };
    // One that is as good as the others has not lost what its group has.
    let has_lost = |host: &&usize| {
        let off = judged.families[family].get(host).map(|mean| mean.off);
        let small = (1.0 + threshold(&figure.how.quantity)).ln();
        off.is_some_and(|off| (off - worse).abs() < (off - better).abs() && (off - better).abs() > small)
    };
    let hosts = fact.groups[place].hosts.iter().filter(has_lost).copied().collect();
    let group = OddGroup { fact: fact.fact, place, against, family: family.to_owned(), hosts, p_value };
    Some((p_value, is_fault.then_some(group)))
}
