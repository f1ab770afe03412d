//! Which hosts ought to be alike.

use std::collections::BTreeMap;

use tiermark_model::Fact;

use crate::fleet::FEWEST;
use crate::fleet::record::{HostRecord, Identity};

/// Facts that tell sizes of a server apart. A missing module or a cpu that is offline is not another size.
const SIZES: [Fact; 3] = [Fact::Sockets, Fact::Cpus, Fact::Memory];
/// Amounts that differ by this factor are of two sizes: vendors sell steps of a half and more, and one module of four
/// is a third.
const OTHER_SIZE: f64 = 1.4;

/// The hosts of each kind, the largest first: hosts of one product and processor, and of those the ones of one size. A
/// size that fewer than [`FEWEST`] hosts have stands among the one that it differs from least, so that it is seen.
pub(crate) fn kinds(records: &[&HostRecord]) -> Vec<Vec<usize>> {
    let mut by_identity: BTreeMap<&Identity, Vec<usize>> = BTreeMap::new();
    for (at, record) in records.iter().enumerate() {
        by_identity.entry(&record.identity).or_default().push(at);
    }
    let mut all: Vec<Vec<usize>> = by_identity.into_values().flat_map(|members| divided(records, &members)).collect();
    all.sort_by_key(|members| std::cmp::Reverse(members.len()));
    all
}

/// The amounts of a host that tell its size; `None` where not reported.
type Size = [Option<f64>; SIZES.len()];

/// The kinds among the hosts of one identity.
fn divided(records: &[&HostRecord], members: &[usize]) -> Vec<Vec<usize>> {
    let size = |at: usize| SIZES.map(|fact| records[at].facts.iter().find(|own| own.fact == fact)?.amount);
    let mut sizes: Vec<(Size, Vec<usize>)> = Vec::new();
    for (at, own) in members.iter().map(|at| (*at, size(*at))) {
        match sizes.iter_mut().find(|(of, _)| apart(of, &own) == 0) {
            Some((_, group)) => group.push(at),
            None => sizes.push((own, vec![at])),
        }
    }
    sizes.sort_by_key(|(_, group)| std::cmp::Reverse(group.len()));
    let many = sizes.iter().take_while(|(_, group)| group.len() >= FEWEST).count().max(1);
    let few = sizes.split_off(many.min(sizes.len()));
    for (own, group) in few {
        if let Some((_, nearest)) = sizes.iter_mut().min_by_key(|(of, _)| apart(of, &own)) {
            nearest.extend(group);
        }
    }
    let mut kinds: Vec<Vec<usize>> = sizes.into_iter().map(|(_, group)| group).collect();
    kinds.iter_mut().for_each(|kind| kind.sort_unstable());
    kinds
}

/// In how many amounts two sizes differ; what is not known does not.
fn apart(one: &Size, other: &Size) -> usize {
    let differs =
        |(a, b): (&Option<f64>, &Option<f64>)| a.zip(*b).is_some_and(|(a, b)| a.max(b) >= OTHER_SIZE * a.min(b));
    one.iter().zip(other).filter(|pair| differs(*pair)).count()
}
