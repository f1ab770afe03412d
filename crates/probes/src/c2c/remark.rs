//! Whether pairs take as long as what they are declared to share lets them.

use tiermark_model::{Finding, Labels, PingOp, Relation, format_ns};

/// What a guest's pairs are, whatever they take.
const GUEST: &str = "as the hypervisor declares it, which may move the cpus between cores at any time";

/// Round trips by compare-and-swap that pairs of a relation can take, in ns: half of the shortest and one and a half times the longest of
/// published medians, which are some 15 to 30 ns in one core, 46 (Zen 3) to 120 (large meshes) in one last-level cache, 200
/// to 250 between such caches of one socket, 216 to 400 between sockets. What lies outside is another relation's.
fn possible(relation: Relation) -> (f64, f64) {
    match relation {
        Relation::Smt => (0.0, 45.0),
        Relation::Cluster | Relation::Llc => (25.0, 180.0),
        Relation::Die | Relation::Socket => (35.0, 375.0),
        Relation::Remote => (110.0, f64::INFINITY),
    }
}

/// Says of what time a relation would be, where it is not that of the declared one.
fn contradiction(relation: Relation, ns: f64) -> Option<String> {
    let (least, most) = possible(relation);
    let told = format_ns(ns);
    if ns > most {
        return Some(format!("{told} ns is too long for that: these cpus are farther apart than declared"));
    }
    (ns < least).then(|| {
        let nearer = if ns < possible(Relation::Llc).0 { "as in one core" } else { "as in one last-level cache" };
        format!("{told} ns is too short for that: these cpus are nearer than declared, {nearer}")
    })
}

/// Adds to the medians of relations what speaks against them, and in a guest whose word they are.
pub(super) fn on_relations(findings: &mut [Finding], guest: bool) {
    let is_median = |f: &&mut Finding| f.labels.is(Labels::STATISTIC, "median");
    let mut whose = guest;
    for found in findings.iter_mut().filter(is_median) {
        let cas = found.labels.is(Labels::OP, &PingOp::Cas.to_string());
        let relation = found.labels.get(Labels::RELATION).and_then(|relation| relation.parse().ok());
        let against = relation.zip(found.value).filter(|_| cas).and_then(|(relation, ns)| contradiction(relation, ns));
        // Once is enough of what holds for all.
        let guest = (std::mem::take(&mut whose) || (guest && against.is_some())).then(|| GUEST.to_owned());
        let notes: Vec<String> = [found.note.take(), against, guest].into_iter().flatten().collect();
        found.note = (!notes.is_empty()).then(|| notes.join("; "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_far_outside_is_told() {
        for (relation, ns) in [
            (Relation::Smt, 16.0),
            (Relation::Llc, 46.0),
            (Relation::Llc, 128.0),
            (Relation::Socket, 60.0),
            (Relation::Socket, 250.0),
            (Relation::Remote, 216.0),
            (Relation::Remote, 900.0),
        ] {
            assert_eq!(contradiction(relation, ns), None, "{relation} {ns}");
        }
        let told = |relation, ns| contradiction(relation, ns).unwrap_or_default();
        assert!(told(Relation::Llc, 22.7).contains("nearer than declared, as in one core"));
        assert!(told(Relation::Llc, 253.0).contains("farther apart than declared"));
        assert!(told(Relation::Smt, 60.0).contains("farther apart"));
        assert!(told(Relation::Remote, 60.0).contains("as in one last-level cache"));
    }
}
