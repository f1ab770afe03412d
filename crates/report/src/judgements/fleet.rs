//! Hosts judged by their peers: the odd ones with why, what the others share, and what is missing.

use tiermark_model::messages::fleet as says;
use tiermark_model::{
    ChangedFact, Fact, Fleet, FleetHost, FleetLoss, HostKind, HostState, KindFigure, count_of, family_words,
};
use tiermark_page::{
    ABSENT, Cell, Detail, Ink, Page, Table, Text, bullet, heading, height, number, paragraph, percent, space,
};

use crate::judgements::compare::signed;
use crate::judgements::fleet_facts::{facts, may_miss};
use crate::judgements::fleet_hosts::{hosts, rows, why};
use crate::judgements::fleet_words::kind_figure_names;

/// Columns of the picture of a figure's distribution.
const BINS: usize = 8;
/// Losses of a fleet that are named.
const LOSSES: usize = 6;
/// Hosts of a list.
const HOSTS: usize = 40;

/// Renders a fleet.
pub fn fleet(fleet: &Fleet, detail: Detail) -> Page {
    let mut out = paragraph("RESULT  ", verdict(fleet), ink(fleet));
    for at in 0..fleet.kinds.len() {
        out += kind(fleet, at, detail);
    }
    out += lost(fleet, detail);
    out += unread(fleet, detail);
    out
}

/// All states in a line.
fn verdict(fleet: &Fleet) -> String {
    let hosts: Vec<&FleetHost> = fleet.hosts.iter().collect();
    let mut parts = vec![count_of(hosts.len() as u64, "host")];
    parts.extend(tally(fleet, &hosts));
    if !fleet.unread.is_empty() {
        parts.push(format!("{} not read", count_of(fleet.unread.len() as u64, "file")));
    }
    if !fleet.shared_names.is_empty() {
        parts.push(format!("several machines have one name: {}", fleet.shared_names.join(", ")));
    }
    parts.extend(unseen(fleet).map(str::to_owned));
    let losses = losses(fleet).map_or_else(String::new, |losses| format!("{losses}. "));
    let next = fleet.losses.first().and_then(FleetLoss::advice);
    let next = next.map_or_else(String::new, |next| format!(". Next: {next}"));
    losses + &parts.join(", ") + &next
}

/// "33 alike, 6 odd": the states of some hosts.
pub(crate) fn tally(fleet: &Fleet, hosts: &[&FleetHost]) -> Vec<String> {
    let words = [
        (HostState::Alike, alike_words(fleet)),
        (HostState::Odd, "odd"),
        (HostState::NotJudged, "not judged"),
        (HostState::Failed, "failed"),
        (HostState::Missing, "missing"),
    ];
    let count = |state| hosts.iter().filter(|host| host.state == state).count();
    let all = words.map(|(state, word)| (count(state), word));
    all.into_iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect()
}

/// What hosts are that are like their peers: after a change, all of them may be worse.
fn alike_words(fleet: &Fleet) -> &'static str {
    if fleet.is_change { "changed alike" } else { "alike" }
}

/// The figures of memory that no host was judged by: what could not be seen is no "alike".
pub(crate) fn unseen(fleet: &Fleet) -> impl Iterator<Item = &str> {
    fleet.notes.iter().filter(|note| note.code == says::codes::nobody_judged).map(|note| note.text.as_str())
}

/// What the hosts of a kind lost together, and what else changed.
pub(crate) fn losses(fleet: &Fleet) -> Option<String> {
    let several = fleet.kinds.len() > 1;
    let words = |loss: &FleetLoss| {
        let ([worse, of], family) = (loss.hosts, family_words(&loss.family));
        let kind = usize::try_from(loss.kind).ok().and_then(|at| fleet.kinds.get(at)).filter(|_| several);
        let kind = kind.map_or_else(String::new, |kind| format!(", {}", kind_words(kind)));
        format!("{family} {} ({worse} of {of} hosts{kind})", signed(loss.change))
    };
    let more = fleet.losses.len().saturating_sub(LOSSES);
    let more = (more > 0).then(|| format!("{more} more"));
    let losses: Vec<String> = fleet.losses.iter().take(LOSSES).map(words).chain(more).collect();
    let mut facts: Vec<&ChangedFact> = Vec::new();
    for fact in fleet.losses.iter().flat_map(|loss| &loss.facts) {
        if !facts.contains(&fact) {
            facts.push(fact);
        }
    }
    let facts = facts.into_iter().map(|of| format!("{} {} → {}", of.fact.name(), of.before, of.now));
    let all: Vec<String> = losses.into_iter().chain(facts).collect();
    (!fleet.losses.is_empty()).then(|| format!("worse than before: {}", all.join("; ")))
}

fn ink(fleet: &Fleet) -> Ink {
    if !fleet.losses.is_empty() {
        return Ink::Bad;
    }
    match fleet.hosts.iter().map(|host| host.state).min() {
        Some(HostState::Odd | HostState::Failed) => Ink::Bad,
        Some(HostState::Alike) if fleet.unread.is_empty() => Ink::Good,
        _ => Ink::Warn,
    }
}

/// A kind of hosts.
fn kind(fleet: &Fleet, at: usize, detail: Detail) -> Page {
    let kind = &fleet.kinds[at];
    let own: Vec<&FleetHost> = fleet.hosts.iter().filter(|host| host.kind == Some(at as u64)).collect();
    let alike = own.iter().filter(|host| host.state == HostState::Alike).count();
    let alike = if alike == own.len() { "all".to_owned() } else { alike.to_string() };
    let alike = format!("{alike} {}", alike_words(fleet));
    let mut out = heading(format!("{}, {}: {alike}", count_of(kind.hosts, "host"), kind_words(kind)));
    let shown: Vec<&FleetHost> =
        own.iter().copied().filter(|host| host.state != HostState::Alike || detail.is_all()).collect();
    let listed = detail.listed(HOSTS);
    if !shown.is_empty() {
        let rows = rows(&shown, detail);
        let listed = listed.min(rows.len());
        out += hosts(kind, &rows[..listed], detail);
        out += more(rows[listed..].iter().map(|row| row.names.len()).sum(), 0, "host");
    }
    out += facts(fleet.is_change, kind, detail);
    out += may_miss(kind);
    out + spread(fleet, kind, &own, detail)
}

fn more(all: usize, listed: usize, what: &str) -> Page {
    let more = all.saturating_sub(listed);
    if more == 0 {
        return Page::new();
    }
    bullet("…", Ink::Dim, format!("{} more (-v lists all)", count_of(more as u64, what)), None)
}

/// The main figures of the hosts: the range of those that are like each other, the median, and the scatter.
fn spread(fleet: &Fleet, kind: &HostKind, own: &[&FleetHost], detail: Detail) -> Page {
    let is_main = |figure: &KindFigure| match figure.name.as_deref() {
        Some("read.dram.all" | "latency.dram" | "latency.l3" | "read.l3.one") => true,
        _ => figure.quantity.is_condition() || detail.is_all(),
    };
    let names = kind_figure_names(kind);
    let shown: Vec<(usize, &KindFigure)> =
        kind.figures.iter().enumerate().filter(|(_, figure)| is_main(figure)).collect();
    if shown.is_empty() {
        return Page::new();
    }
    let alike = |at: usize| -> Vec<f64> {
        let figures = own.iter().filter(|host| host.state == HostState::Alike).flat_map(|host| &host.figures);
        figures.filter(|figure| figure.figure == at as u64 && !figure.is_bound).map(|figure| figure.value).collect()
    };
    let value = |value: f64, figure: &KindFigure| -> Text {
        if fleet.is_change { signed(value - 1.0).into() } else { number(value, figure.unit).into() }
    };
    let range = |(at, figure): &(usize, &KindFigure)| -> Cell {
        let values = alike(*at);
        let (low, high) = (values.iter().copied().reduce(f64::min), values.iter().copied().reduce(f64::max));
        match low.zip(high) {
            Some((low, high)) => Cell::new(value(low, figure) + " – " + value(high, figure)),
            None => Cell::inked(ABSENT, Ink::Dim),
        }
    };
    let unit = |figure: &KindFigure| if fleet.is_change { "change".into() } else { Text::unit(figure.unit) };
    let table = Table::of(&shown)
        .texts("figure", |(at, _)| names[*at].clone())
        .texts("", |(_, figure)| Cell::inked(unit(figure), Ink::Dim))
        .numbers("median", |(_, figure)| value(figure.median, figure))
        .numbers("scatter", |(_, figure)| format!("±{}", percent(figure.sd)))
        .numbers("those alike", range)
        .texts("", |(at, _)| Cell::inked(distribution(&alike(*at)), Ink::Series(0)));
    space() + table.table()
}

/// How many values lie where between the lowest and the highest, as marks.
fn distribution(values: &[f64]) -> String {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut counts = [0usize; BINS];
    for value in values {
        let share = if high > low { (value - low) / (high - low) } else { 0.5 };
        counts[((share * BINS as f64) as usize).min(BINS - 1)] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    counts.map(|count| if count == 0 { " " } else { height(count as f64 / most as f64) }).concat()
}

/// A kind of hosts in words: `Dell R7525, 2 × EPYC 7343`.
#[must_use]
pub fn kind_words(kind: &HostKind) -> String {
    let cpu = kind.cpu.as_deref().unwrap_or("unknown processor");
    let cpu = if kind.sockets > 1 { format!("{} x {cpu}", kind.sockets) } else { cpu.to_owned() };
    let memory = kind.facts.iter().find(|of| of.fact == Fact::Memory).map(|of| of.value.clone());
    let guests = kind.is_guest.then(|| "virtual machines".to_owned());
    kind.product.iter().cloned().chain([cpu]).chain(memory).chain(guests).collect::<Vec<_>>().join(", ")
}

/// Hosts without a document.
fn lost(fleet: &Fleet, detail: Detail) -> Page {
    let is_lost = |host: &&FleetHost| matches!(host.state, HostState::Failed | HostState::Missing);
    let lost: Vec<&FleetHost> = fleet.hosts.iter().filter(is_lost).collect();
    if lost.is_empty() {
        return Page::new();
    }
    let why = |host: &&FleetHost| match host.state {
        HostState::Missing => "no document".to_owned(),
        _ => why(host, detail),
    };
    let listed = detail.listed(HOSTS).min(lost.len());
    let table = Table::of(&lost[..listed]).texts("host", |host| Cell::inked(host.host.as_str(), Ink::Head));
    heading("Without a document") + table.texts("why", why).table() + more(lost.len(), listed, "host")
}

/// Files that are no documents, and what is to be known of the others.
fn unread(fleet: &Fleet, detail: Detail) -> Page {
    if fleet.unread.is_empty() && fleet.notes.is_empty() {
        return Page::new();
    }
    let unread = fleet.unread.iter().map(|refusal| (ABSENT, Ink::Warn, refusal.to_string()));
    let notes = fleet.notes.iter().map(|note| ("!", Ink::Warn, note.text.clone()));
    let all: Vec<_> = unread.chain(notes).collect();
    let listed = detail.listed(HOSTS).min(all.len());
    let lines: Page = all[..listed].iter().map(|(mark, ink, text)| bullet(mark, *ink, text.clone(), None)).collect();
    heading("Documents") + lines + more(all.len(), listed, "note")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::messages::fleet as says;
    use tiermark_page::{Style, terminal};

    #[test]
    fn a_fleet_on_a_page() {
        let mut fleet = tiermark_model::testing::fleet();
        fleet.notes.push(says::older_documents("node01", "new/node01.json", &["old/node01.json".to_owned()]));
        insta::assert_snapshot!(terminal(&super::fleet(&fleet, Detail::Usual), &Style::default()));
    }

    #[test]
    fn guests_and_bare_metal_of_one_product_have_headings_of_their_own() {
        let kind = tiermark_model::testing::fleet().kinds.remove(0);
        let guests = HostKind { is_guest: true, ..kind.clone() };
        assert_eq!(kind_words(&guests), format!("{}, virtual machines", kind_words(&kind)));
    }

    #[test]
    fn a_change_is_in_percent() {
        let mut fleet = tiermark_model::testing::fleet();
        fleet.is_change = true;
        fleet.kinds[0].figures.iter_mut().for_each(|figure| figure.median = 1.021);
        fleet.hosts.iter_mut().flat_map(|host| &mut host.figures).for_each(|figure| figure.value = 1.02);
        let text = terminal(&super::fleet(&fleet, Detail::Usual), &Style::default());
        assert!(text.contains("2.1 %") && text.contains("changed     no recorded fact"), "{text}");
        let (before, now) = ("0x1".to_owned(), "0x2".to_owned());
        fleet.kinds[0].changed = vec![ChangedFact { fact: Fact::Microcode, before, now, hosts: [3, 4] }];
        let text = terminal(&super::fleet(&fleet, Detail::Usual), &Style::default());
        assert!(text.contains("changed     microcode 0x1 → 0x2 on 3 of 4 hosts"), "{text}");
    }
}
