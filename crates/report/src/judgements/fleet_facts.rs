//! The facts of a kind of hosts in words, which a text and a page share: what differs, what changed, what nobody knows.

use tiermark_model::{ChangedFact, Fact, HostKind, KindFact, family_words};
use tiermark_page::{Detail, Page, Text, glued, labelled, percent, text};

/// Values of a fact, and hosts with one, that are named.
const VALUES: usize = 3;
const NAMED: usize = 3;
/// Changes since before that are named.
pub(crate) const CHANGES: usize = 6;

/// The facts that differ within a kind: what most have, and who differs; after a change, what changed on how many hosts.
pub(super) fn facts(is_change: bool, kind: &HostKind, detail: Detail) -> Page {
    let differ = kind.facts.iter().filter(|fact| !fact.others.is_empty());
    let mut differ: Vec<Text> = differ.map(|fact| fact_words(fact, detail)).collect();
    if differ.is_empty() {
        let between = if is_change { " between the hosts" } else { "" };
        differ.push(format!("no recorded fact differs{between}").into());
    }
    let more = empty(kind).into_iter().chain(facts_unread(kind)).map(Text::from);
    let facts = labelled("facts", Text::joined(differ.into_iter().chain(more), "; "));
    if is_change { labelled("changed", changed(kind, detail.listed(CHANGES))) + facts } else { facts }
}

/// What changed since before, on how many hosts.
pub(crate) fn changed(kind: &HostKind, listed: usize) -> String {
    let words = |of: &ChangedFact| {
        let [hosts, all] = of.hosts;
        format!("{} {} → {} on {hosts} of {all} hosts", of.fact.name(), of.before, of.now)
    };
    let more = kind.changed.len().saturating_sub(listed);
    let more = (more > 0).then(|| format!("{more} more changes"));
    let all: Vec<String> = kind.changed.iter().take(listed).map(words).chain(more).collect();
    if all.is_empty() { "no recorded fact".to_owned() } else { all.join("; ") }
}

/// The memory channels without a module, of slots where channels are not known, if all hosts lack the same: what all lack
/// makes no host odd.
pub(crate) fn empty(kind: &HostKind) -> Option<String> {
    let of = |fact| kind.facts.iter().find(|of| of.fact == fact);
    let fact = of(Fact::Channels).or_else(|| of(Fact::Slots))?;
    let lacks = fact.amount.zip(fact.of).is_some_and(|(filled, all)| filled < all);
    (lacks && fact.others.is_empty()).then(|| format!("{} {}x {}", fact.fact.name(), fact.hosts, fact.value))
}

/// The losses that may be missed, in the families that a host is judged by.
pub(super) fn may_miss(kind: &HostKind) -> Page {
    const OF_MEMORY: [&str; 3] = ["dram.latency", "dram.bandwidth.one", "dram.bandwidth.all"];
    let visible = OF_MEMORY.iter().filter_map(|family| kind.visible.iter().find(|of| of.family == *family));
    let words: Vec<String> = visible.map(|of| format!("{} ({})", percent(of.loss), family_words(&of.family))).collect();
    match words.is_empty() {
        true => Page::new(),
        false => labelled("may miss", format!("losses of one host below {}", words.join(", "))),
    }
}

/// The facts that nobody knows of the hosts of a kind, and of how many.
pub(crate) fn facts_unread(kind: &HostKind) -> Option<String> {
    if kind.is_guest {
        return Some("virtual machines: modules, memory errors and throttling of their servers not visible".to_owned());
    }
    if kind.modules_unread == 0 {
        return None;
    }
    let of = if kind.modules_unread == kind.hosts {
        String::new()
    } else {
        format!(" on {} of {} hosts", kind.modules_unread, kind.hosts)
    };
    Some(format!("memory modules not read{of}: measure as root"))
}

fn fact_words(fact: &KindFact, detail: Detail) -> Text {
    let others = fact.others.iter().take(detail.listed(VALUES)).map(|other| {
        let hosts: Vec<&str> = other.hosts.iter().map(String::as_str).collect();
        format!("{} {}", few(&hosts, detail), other.value)
    });
    let others: Vec<String> = others.collect();
    let left = fact.others.len() - others.len();
    let left = if left == 0 { String::new() } else { format!(", and {left} other values") };
    let hosts = fact.hosts;
    text![glued(&format!("{} {hosts}x", fact.fact.name())), format!(" {}, {}{left}", fact.value, others.join(", "))]
}

/// The first of some hosts, and how many more there are.
pub(super) fn few(hosts: &[&str], detail: Detail) -> String {
    let listed = detail.listed(NAMED).min(hosts.len());
    let more = hosts.len() - listed;
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    hosts[..listed].join(", ") + &more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_hosts_lack_is_told() {
        let mut kind = tiermark_model::testing::fleet().kinds.remove(0);
        kind.facts[0] = KindFact { fact: Fact::Slots, others: Vec::new(), ..kind.facts[1].clone() };
        kind.facts.truncate(1);
        let slots = |amount, of, kind: &HostKind| {
            let fact = KindFact {
                amount: Some(amount),
                of: Some(of),
                value: format!("{amount} of {of}"),
                ..kind.facts[0].clone()
            };
            HostKind { facts: vec![fact], ..kind.clone() }
        };
        assert_eq!(empty(&slots(7.0, 8.0, &kind)).as_deref(), Some("DIMM slots filled 3x 7 of 8"));
        assert_eq!(empty(&slots(8.0, 8.0, &kind)), None);
        // Half of the slots are empty, and each channel has a module.
        let mut full = slots(8.0, 16.0, &kind);
        let channels = KindFact { fact: Fact::Channels, of: Some(8.0), ..full.facts[0].clone() };
        full.facts.push(channels);
        assert_eq!(empty(&full), None);
    }
}
