//! Which hosts ought to be alike.

use std::collections::BTreeMap;

use tiermark_model::Fact;

use crate::FEWEST;
use crate::facts::most_common;
use crate::record::{HostRecord, Identity};

/// Facts of the hardware: hosts of one product that differ in one of them are of two kinds if both are many.
const HARDWARE: [Fact; 8] =
    [Fact::Sockets, Fact::Slots, Fact::ModuleSpeed, Fact::Memory, Fact::Caches, Fact::Cpus, Fact::Nodes, Fact::Smt];
/// The least share of the hosts of a product that is a kind of its own. A fault that a fifth of a fleet has is a
/// configuration: the table of facts shows it.
const OWN_KIND: f64 = 0.2;

/// The hosts of each kind, the largest first: hosts of one product and processor, and of those the ones with the same
/// modules, caches and cpus, if they are many. A few hosts that differ in these stand among the kind that they differ
/// from least, so that the difference is seen.
pub(crate) fn kinds(records: &[&HostRecord]) -> Vec<Vec<usize>> {
    let mut by_identity: BTreeMap<&Identity, Vec<usize>> = BTreeMap::new();
    for (at, record) in records.iter().enumerate() {
        by_identity.entry(&record.identity).or_default().push(at);
    }
    let mut all: Vec<Vec<usize>> = by_identity.into_values().flat_map(|members| divided(records, &members)).collect();
    all.sort_by_key(|members| std::cmp::Reverse(members.len()));
    all
}

/// The kinds among the hosts of one identity.
fn divided(records: &[&HostRecord], members: &[usize]) -> Vec<Vec<usize>> {
    let mut by_hardware: BTreeMap<Vec<Option<&str>>, Vec<usize>> = BTreeMap::new();
    let common = HARDWARE.map(|fact| most_common(records_facts(records, members, fact)).map(|(common, _)| common));
    for at in members {
        let own = HARDWARE.iter().zip(common).map(|(fact, common)| {
            let own = records[*at].facts.iter().find(|own| own.fact == *fact).or(common)?;
            // What is not known, or nearly the same, is no other kind.
            Some(common.filter(|common| common.is_same(own)).unwrap_or(own).text.as_str())
        });
        by_hardware.entry(own.collect()).or_default().push(*at);
    }
    let fewest = FEWEST.max((members.len() as f64 * OWN_KIND).ceil() as usize);
    let mut groups: Vec<(Vec<Option<&str>>, Vec<usize>)> = by_hardware.into_iter().collect();
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.len()));
    let many = groups.iter().take_while(|(_, group)| group.len() >= fewest).count().max(1);
    let few = groups.split_off(many.min(groups.len()));
    for (hardware, group) in few {
        // Among the kind that it differs from least.
        let apart = |of: &[Option<&str>]| of.iter().zip(&hardware).filter(|(a, b)| a != b).count();
        if let Some((_, nearest)) = groups[..many].iter_mut().min_by_key(|(of, _)| apart(of)) {
            nearest.extend(group);
        }
    }
    let mut kinds: Vec<Vec<usize>> = groups.into_iter().map(|(_, group)| group).collect();
    kinds.iter_mut().for_each(|kind| kind.sort_unstable());
    kinds
}

fn records_facts<'a>(
    records: &'a [&'a HostRecord],
    members: &'a [usize],
    fact: Fact,
) -> impl Iterator<Item = &'a crate::facts::HostFact> + Clone {
    members.iter().filter_map(move |at| records[*at].facts.iter().find(|own| own.fact == fact))
}
