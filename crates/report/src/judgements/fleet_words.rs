//! The words of hosts that are judged by their peers, which a text and a page share.

use tiermark_model::{FleetHost, HostFigure, HostKind, Labels, Quantity};

use crate::judgements::compare::signed;
use crate::judgements::history::distinct_names;

/// Differences of shares above this are no percentages that say anything.
const FACTORS: f64 = 1.0;

/// How much a host differs from its peers in a family. Shares of the time differ by factors of hundreds: both are shown.
pub(crate) fn difference(kind: &HostKind, host: &FleetHost, family: &str, deviation: f64) -> String {
    let is_of = |of: &&HostFigure| {
        let figure = usize::try_from(of.figure).ok().and_then(|at| kind.figures.get(at));
        figure.is_some_and(|figure| figure.family == family && figure.quantity.is_of_interruptions())
    };
    let share = |share: f64| format!("{:.*} %", if share < 0.001 { 2 } else { 1 }, share * 100.0);
    match host.figures.iter().find(is_of) {
        // Of a change, values are no shares.
        Some(of) if deviation > FACTORS && of.value <= 1.0 => {
            format!("{}, peers {}", share(of.value), share(of.value / (1.0 + deviation)))
        }
        _ => signed(deviation),
    }
}

/// The names of the figures of a kind, in their order, never the same for two of them.
#[must_use]
pub fn kind_figure_names(kind: &HostKind) -> Vec<String> {
    let described: Vec<(&str, &Quantity, &Labels)> =
        kind.figures.iter().map(|figure| (figure.probe.as_str(), &figure.quantity, &figure.labels)).collect();
    distinct_names(&described)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_that_differ_by_factors_stand_beside_those_of_the_peers() {
        let mut fleet = tiermark_model::testing::fleet();
        let (kind, host) = (&mut fleet.kinds[0], &mut fleet.hosts[0]);
        let words = |kind: &HostKind, host: &FleetHost, off| difference(kind, host, &kind.figures[0].family, off);
        host.figures[0].value = 0.04;
        assert_eq!(words(kind, host, 111.2), "+11120 %");
        kind.figures[0].quantity = Quantity::InterruptionsShare;
        assert_eq!(words(kind, host, 111.2), "4.0 %, peers 0.04 %");
        assert_eq!(words(kind, host, 0.5), "+50.0 %");
    }

    #[test]
    fn figures_of_a_kind_have_a_name_each() {
        let mut fleet = tiermark_model::testing::fleet();
        let mut other = fleet.kinds[0].figures[0].clone();
        other.labels = other.labels.with_node(7);
        fleet.kinds[0].figures.push(other);
        let names = kind_figure_names(&fleet.kinds[0]);
        let distinct: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!((names.len(), distinct.len()), (fleet.kinds[0].figures.len(), names.len()), "{names:?}");
    }
}
