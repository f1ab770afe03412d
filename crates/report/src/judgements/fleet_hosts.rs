//! The hosts of a kind that are not like their peers, with why, as rows of a table.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use tiermark_model::{FleetHost, HostCause, HostKind, HostState, family_words};
use tiermark_page::{ABSENT, Cell, Detail, Ink, Page, Table};

use crate::judgements::fleet_facts::few;
use crate::judgements::fleet_words::difference;

/// Families with a column of their own.
const COLUMNS: usize = 3;
/// Families without a column that are named.
const FAMILIES: usize = 3;
/// A column shows why a host is odd if the difference there is at least this share of the host's largest.
const NOT_SMALL: f64 = 0.5;
/// Causes of a host that are named.
const CAUSES: usize = 2;
/// A family that a host is like its peers in.
const LIKE: &str = "·";

/// Hosts with why they differ, and by how much in the families that any of them differs in.
pub(super) fn hosts(kind: &HostKind, rows: &[Row<'_>], detail: Detail) -> Page {
    let columns = columns(kind, &rows.iter().map(|row| row.host).collect::<Vec<_>>());
    let mut table = Table::of(rows).texts("host", |row| Cell::inked(few(&row.names, detail), Ink::Head)).texts(
        "why",
        |Row { host, .. }| {
            let (mark, ink) = mark(host);
            Cell::inked(format!("{mark} {}{}", why(host, detail), unshown(kind, host, &columns)), ink)
        },
    );
    for family in &columns {
        let head = family_words(family);
        let head = head.replace(", ", "|");
        table = table.numbers(head, |row: &Row<'_>| cell(kind, row.host, family));
    }
    table.table().into()
}

/// A host, and those that are not judged for the same reasons.
pub(super) struct Row<'a> {
    host: &'a FleetHost,
    pub(super) names: Vec<&'a str>,
}

/// The rows of hosts; in detail, each has its own.
pub(super) fn rows<'a>(hosts: &[&'a FleetHost], detail: Detail) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    for host in hosts.iter().copied() {
        let is_same = |row: &&mut Row<'a>| row.host.state == host.state && row.host.reasons == host.reasons;
        let may_share = host.state == HostState::NotJudged && !detail.is_all();
        match rows.iter_mut().find(is_same).filter(|_| may_share) {
            Some(row) => row.names.push(&host.host),
            None => rows.push(Row { host, names: vec![&host.host] }),
        }
    }
    rows
}

/// The families that a host is odd in and that have no column, the largest differences first: one that is slow everywhere
/// says so.
fn unshown(kind: &HostKind, host: &FleetHost, columns: &[String]) -> String {
    let mut odd = odd_families(kind, host);
    odd.sort_by(|(_, a), (_, b)| b.abs().total_cmp(&a.abs()));
    let mut names: Vec<String> = Vec::new();
    for (family, _) in odd.into_iter().filter(|(family, _)| !columns.iter().any(|column| column == family)) {
        let words = family_words(family);
        let words = words.split_once(", ").map_or_else(|| words.clone(), |(tier, cores)| format!("{tier} ({cores})"));
        if !names.contains(&words) {
            names.push(words);
        }
    }
    let more = names.len().saturating_sub(FAMILIES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    names.truncate(FAMILIES);
    if names.is_empty() { String::new() } else { format!("; also differs in {}{more}", names.join(", ")) }
}

/// The families with a column, at most [`COLUMNS`], in the order of the figures. Each host, the worst first, gets a
/// column that shows a difference of at least [`NOT_SMALL`] of its largest, unless a column chosen before does.
fn columns(kind: &HostKind, hosts: &[&FleetHost]) -> Vec<String> {
    let mut tell: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (at, host) in hosts.iter().enumerate() {
        let odd = odd_families(kind, host);
        let worst = odd.iter().map(|(_, deviation)| deviation.abs()).fold(0.0, f64::max);
        for (family, _) in odd.iter().filter(|(_, deviation)| deviation.abs() >= worst * NOT_SMALL) {
            tell.entry(family).or_default().insert(at);
        }
    }
    let at = |family: &str| kind.figures.iter().position(|figure| figure.family == family);
    let (mut chosen, mut covered) = (Vec::new(), BTreeSet::new());
    let mut worst_first: Vec<usize> = (0..hosts.len()).collect();
    worst_first.sort_by(|a, b| hosts[*b].damage().total_cmp(&hosts[*a].damage()));
    for host in worst_first {
        let new = |hosts: &BTreeSet<usize>| hosts.difference(&covered).count();
        let of_host = tell.iter().filter(|(_, hosts)| hosts.contains(&host) && !covered.contains(&host));
        let best = of_host.max_by_key(|(family, hosts)| (new(hosts), Reverse(at(family))));
        if let Some((family, hosts)) = best.filter(|_| chosen.len() < COLUMNS) {
            covered.extend(hosts.iter().copied());
            chosen.push(*family);
        }
    }
    chosen.sort_by_key(|family| at(family));
    chosen.into_iter().map(str::to_owned).collect()
}

/// The families that a host is odd in, by their means or by single figures, with the difference.
fn odd_families<'a>(kind: &'a HostKind, host: &'a FleetHost) -> Vec<(&'a str, f64)> {
    let means = host.families.iter().filter(|family| family.is_odd);
    let means = means.map(|family| (family.family.as_str(), family.deviation));
    let figures = host.figures.iter().filter(|figure| figure.is_odd);
    let figures = figures.filter_map(|of| {
        let figure = kind.figures.get(usize::try_from(of.figure).ok()?)?;
        Some((figure.family.as_str(), of.deviation))
    });
    means.chain(figures).collect()
}

/// How far a host is from its peers in a family: that of the mean if it is odd, else of its oddest figure.
fn cell(kind: &HostKind, host: &FleetHost, family: &str) -> Cell {
    let Some(mean) = host.families.iter().find(|own| own.family == family) else {
        return Cell::inked(ABSENT, Ink::Dim);
    };
    let odd = odd_families(kind, host).into_iter().filter(|(own, _)| *own == family).map(|(_, deviation)| deviation);
    let odd = Some(mean.deviation).filter(|_| mean.is_odd).or_else(|| odd.max_by(|a, b| a.abs().total_cmp(&b.abs())));
    let ink = if mean.is_worse == Some(false) { Ink::Good } else { Ink::Bad };
    let words = |deviation| Cell::inked(difference(kind, host, family, deviation), ink);
    odd.map_or_else(|| Cell::inked(LIKE, Ink::Dim), words)
}

fn mark(host: &FleetHost) -> (&'static str, Ink) {
    match host.state {
        HostState::Odd => ("✘", Ink::Bad),
        HostState::Alike => ("✔", Ink::Good),
        HostState::Failed | HostState::Missing | HostState::NotJudged => (ABSENT, Ink::Warn),
    }
}

/// Why a host is not like its peers, in a line.
pub(super) fn why(host: &FleetHost, detail: Detail) -> String {
    let causes: Vec<String> =
        host.causes.iter().take(detail.listed(CAUSES)).map(|cause| cause_text(cause, detail)).collect();
    let reasons = host.reasons.iter().map(|note| note.text.clone());
    let failure = host.failure.as_ref().map(|failure| {
        let colon = if failure.reason().is_empty() { "" } else { ": " };
        format!("{}{colon}{}", failure.how.words(), failure.reason())
    });
    let next = host.causes.first();
    let next = next.map_or_else(String::new, |cause| format!(" → {}", cause.advice));
    causes.into_iter().chain(reasons).chain(failure).collect::<Vec<_>>().join("; ") + &next
}

/// A cause in words, in detail with what may be behind it.
fn cause_text(cause: &HostCause, detail: Detail) -> String {
    let hint = cause.hint.as_ref().filter(|_| detail.is_all()).map_or_else(String::new, |hint| format!(" ({hint})"));
    cause.in_words() + &hint
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::messages::fleet as says;
    use tiermark_model::{HostFamily, KindFigure};
    use tiermark_page::{Style, terminal};

    #[test]
    fn columns_are_few_and_tell_of_each_host() {
        let mut fleet = tiermark_model::testing::fleet();
        let usual = fleet.hosts[0].families[0].clone();
        let family = |family: &str, deviation| HostFamily {
            family: family.to_owned(),
            deviation,
            is_odd: true,
            ..usual.clone()
        };
        let [all, far, near] = ["dram.bandwidth.all", "dram.remote.latency", "dram.latency"];
        let figure = KindFigure { family: far.to_owned(), ..fleet.kinds[0].figures[0].clone() };
        fleet.kinds[0].figures.push(figure);
        let of_hosts = [
            vec![family(all, -0.1), family(far, 0.2), family(near, 0.19)],
            vec![family(all, -0.1)],
            vec![family(far, 0.2), family(near, 0.19)],
        ];
        for (host, families) in fleet.hosts.iter_mut().zip(of_hosts) {
            (host.families, host.figures) = (families, Vec::new());
        }
        let hosts: Vec<&FleetHost> = fleet.hosts.iter().take(3).collect();
        assert_eq!(columns(&fleet.kinds[0], &hosts), [near, all]);
        assert_eq!(columns(&fleet.kinds[0], &hosts[1..2]), [all]);
        // The worst host has its column, however many others differ elsewhere.
        let worst = FleetHost { families: vec![family("clock", -0.4)], ..hosts[0].clone() };
        let found = columns(&fleet.kinds[0], &[hosts[0], hosts[1], &worst]);
        assert!(found.contains(&"clock".to_owned()), "{found:?}");
    }

    #[test]
    fn hosts_that_are_not_judged_for_one_reason_have_one_row() {
        let mut fleet = tiermark_model::testing::fleet();
        let reason = says::few_figures(0, 39);
        for host in fleet.hosts.iter_mut().filter(|host| host.state == HostState::Alike) {
            (host.state, host.reasons) = (HostState::NotJudged, vec![reason.clone()]);
        }
        let last = FleetHost { host: "node06".to_owned(), ..fleet.hosts[4].clone() };
        let other = FleetHost { host: "node05".to_owned(), reasons: vec![says::few_peers(2, 4)], ..last.clone() };
        fleet.hosts.extend([other, last]);
        let text = |detail| terminal(&crate::judgements::fleet(&fleet, detail), &Style::default());
        let usual = text(Detail::Usual);
        assert!(usual.contains("and 1 more"), "{usual}");
        assert_eq!(usual.matches("0 of 39 figures").count(), 1, "{usual}");
        assert!(usual.contains("node05"), "{usual}");
        assert_eq!(text(Detail::All).matches("0 of 39 figures").count(), 4);
    }
}
