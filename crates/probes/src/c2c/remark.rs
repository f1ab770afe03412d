//! Whether pairs take as long as their declared relation allows.

use tiermark_model::messages::memory;
use tiermark_model::{Finding, Note, PingOp, Relation};

/// Medians of round trips by compare-and-swap that were published of a relation, the shortest and the longest, in ns:
/// up to some 30 in one core, 46 (Zen 3) to 120 (large meshes) in one last-level cache, up to 250 in one socket, 216 to
/// 400 between sockets.
fn published(relation: Relation) -> (f64, f64) {
    match relation {
        // Nothing is nearer.
        Relation::Smt => (0.0, 30.0),
        Relation::Cluster | Relation::Llc => (46.0, 120.0),
        // Not every last-level cache is declared: a pair that shares one that is not, as in a guest or in front of a
        // mesh's memory, is of one socket by its name, and as quick as the quickest in a declared one.
        Relation::Die | Relation::Socket => (46.0, 250.0),
        // Nothing is farther.
        Relation::Remote => (216.0, f64::INFINITY),
    }
}

/// Round trips that pairs of a relation can take: half of the shortest and one and a half times the longest of
/// published medians. Times outside belong to another relation.
fn possible(relation: Relation) -> (f64, f64) {
    let (shortest, longest) = published(relation);
    (0.5 * shortest, 1.5 * longest)
}

/// Says of what time a relation would be, where it is not that of the declared one.
fn contradiction(relation: Relation, ns: f64) -> Option<Note> {
    let (least, most) = possible(relation);
    if ns > most {
        return Some(memory::farther_than_declared(ns.into()));
    }
    (ns < least).then(|| memory::nearer_than_declared(ns.into(), ns < possible(Relation::Llc).0))
}

/// Adds to the medians of relations what speaks against them, and in a guest whose word they are.
pub(super) fn on_relations(findings: &mut [Finding], guest: bool) {
    let is_median = |f: &&mut Finding| f.labels.statistic() == Some("median");
    let mut whose = guest;
    for found in findings.iter_mut().filter(is_median) {
        let cas = found.labels.op() == Some(&PingOp::Cas.to_string());
        let relation = found.labels.relation().and_then(|relation| relation.parse().ok());
        let against = relation.zip(found.value).filter(|_| cas).and_then(|(relation, ns)| contradiction(relation, ns));
        // Once is enough of what holds for all.
        let guest = (std::mem::take(&mut whose) || (guest && against.is_some())).then(memory::declared_by_hypervisor);
        found.notes.extend(against.into_iter().chain(guest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::messages::memory::codes;

    #[test]
    fn only_what_is_far_outside_is_told() {
        for (relation, ns) in [
            (Relation::Smt, 16.0),
            (Relation::Llc, 46.0),
            (Relation::Llc, 24.0),
            (Relation::Llc, 128.0),
            (Relation::Socket, 60.0),
            (Relation::Socket, 24.0),
            (Relation::Socket, 250.0),
            (Relation::Remote, 216.0),
            (Relation::Remote, 109.0),
            (Relation::Remote, 900.0),
        ] {
            assert_eq!(contradiction(relation, ns), None, "{relation} {ns}");
        }
        let told = |relation, ns| contradiction(relation, ns).unwrap();
        assert_eq!(told(Relation::Llc, 22.7), memory::nearer_than_declared(22.7.into(), true));
        assert_eq!(told(Relation::Socket, 22.7), memory::nearer_than_declared(22.7.into(), true));
        assert_eq!(told(Relation::Remote, 107.0), memory::nearer_than_declared(107.0.into(), false));
        assert_eq!(told(Relation::Llc, 253.0).code, codes::farther_than_declared);
        assert_eq!(told(Relation::Smt, 60.0).code, codes::farther_than_declared);
        assert_eq!(told(Relation::Remote, 60.0), memory::nearer_than_declared(60.0.into(), false));
    }
}
