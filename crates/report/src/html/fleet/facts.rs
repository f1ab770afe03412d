//! The facts in which hosts of a kind differ: what goes with odd hosts, and which host has what.

use std::collections::HashMap;

use tiermark_model::{Confidence, FleetHost, KindFact, OtherValue, explains};
use tiermark_page::escaped as text;

use super::hosts::{capital, state_mark};
use super::{Kind, head, shortened, table};
use crate::judgements::{CHANGES, changed, empty, facts_unread};

/// Characters of a value in a table.
const VALUE: usize = 48;
/// Values that are listed; more are in the matrix.
const LISTED: usize = 30;
impl Kind<'_> {
    /// The facts that differ; empty if none does.
    pub(super) fn facts(&self) -> String {
        let differ: Vec<&KindFact> = self.kind.facts.iter().filter(|fact| !fact.others.is_empty()).collect();
        let unread = empty(self.kind).into_iter().chain(facts_unread(self.kind));
        let unread: String = unread.map(|unread| format!("<p>{}.</p>\n", text(&capital(&unread)))).collect();
        let changed = text(&capital(&changed(self.kind, CHANGES)));
        let changed =
            if self.fleet.is_change { format!("<h3>Changed facts</h3>\n<p>{changed}.</p>\n") } else { String::new() };
        let unread = changed + &unread;
        if differ.is_empty() {
            return unread;
        }
        format!("<h3>Facts that differ</h3>\n{}{}{unread}", self.values(&differ), self.matrix(&differ))
    }

    /// The values that some hosts have and most do not, those first that go with odd hosts.
    fn values(&self, differ: &[&KindFact]) -> String {
        let values = differ.iter().flat_map(|fact| fact.others.iter().map(move |other| (*fact, other)));
        let mut all: Vec<(&KindFact, &OtherValue)> = values.collect();
        let p_value = |other: &OtherValue| if other.odd > 0 { other.p_value.unwrap_or(1.0) } else { 2.0 };
        all.sort_by(|(_, a), (_, b)| p_value(a).total_cmp(&p_value(b)).then(b.hosts.len().cmp(&a.hosts.len())));
        let row = |(fact, other): &(&KindFact, &OtherValue)| {
            let (class, says) = says(other);
            format!(
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td class=\"number\">{}</td>\
                 <td class=\"number\">{}</td><td class=\"{class}\">{says}</td></tr>\n",
                fact.fact.name(),
                shortened(&other.value, VALUE),
                shortened(&fact.value, VALUE),
                other.hosts.len(),
                other.odd
            )
        };
        let rows: String = all.iter().take(LISTED).map(row).collect();
        let more = match all.len().saturating_sub(LISTED) {
            0 => String::new(),
            more => format!("<p class=\"dim\">{more} more values are in the next table.</p>\n"),
        };
        let heads = [
            ("fact", ""),
            ("value", ""),
            ("commonest", ""),
            ("hosts", "number"),
            ("odd by figures", "number"),
            ("does it explain the odd hosts?", "why"),
        ];
        let heads = heads.map(|(name, class)| head(name, class, "")).concat();
        table("Facts that differ", "sorts differing", &heads, &rows) + &more
    }

    /// A row for each host that differs in any fact, a column for each fact that differs in any host.
    fn matrix(&self, differ: &[&KindFact]) -> String {
        let mut rows: HashMap<&str, Vec<Option<&str>>> = HashMap::new();
        for (column, fact) in differ.iter().enumerate() {
            for other in &fact.others {
                for host in &other.hosts {
                    let row = rows.entry(host).or_insert_with(|| vec![None; differ.len()]);
                    row[column] = Some(&other.value);
                }
            }
        }
        let mut heads = head("host", "", "");
        for fact in differ {
            let (most, hosts) = (shortened(&fact.value, VALUE), fact.hosts);
            let name = text(fact.fact.name());
            heads += &format!("<th scope=\"col\"><span>{name}</span><small>{most}: {hosts} hosts</small></th>");
        }
        let cell = |value: &Option<&str>| match value {
            Some(value) => format!("<td class=\"differs\">≠ {}</td>", shortened(value, VALUE)),
            None => "<td class=\"dim\">·</td>".to_owned(),
        };
        let row = |host: &&FleetHost| {
            let cells: String = rows.get(host.host.as_str())?.iter().map(cell).collect();
            let name = shortened(&host.host, 40);
            Some(format!("<tr><th scope=\"row\">{}{name}</th>{cells}</tr>\n", state_mark(host)))
        };
        let rows: String = self.hosts.iter().filter_map(row).collect();
        let key = "≠ differs from the commonest value (in the column head); · the same, or not reported.";
        let table = table("Facts by host", "sorts differing", &heads, &rows);
        format!("<h3>Facts by host</h3>\n{table}<p class=\"dim\">{key}</p>\n")
    }
}

/// Whether a value explains odd hosts, as the causes of these hosts say: a class and words.
fn says(other: &OtherValue) -> (&'static str, String) {
    let holders = other.hosts.len() as u64;
    let is_beyond_chance = explains(other.odd, holders, other.p_value) == Some(Confidence::Measured);
    let found = match other.group_p_value.filter(|_| !is_beyond_chance) {
        Some(p_value) => format!("together they are worse; {}", chance(p_value)),
        None => format!("{} of {holders} odd by figures; {}", other.odd, chance(other.p_value.unwrap_or(1.0))),
    };
    match other.cause {
        Some(Confidence::Reported) => {
            ("head", format!("yes: odd by this fact itself; {} of {holders} odd by figures", other.odd))
        }
        Some(Confidence::Hint) => ("", format!("perhaps: {found}")),
        Some(_) => ("head", format!("yes: {found}")),
        None if other.odd == 0 => ("dim", "no: none of them is odd by its own figures".to_owned()),
        None if explains(other.odd, holders, other.p_value).is_none() => {
            ("dim", format!("no: only {} of {holders} odd", other.odd))
        }
        None => ("dim", "no: another cause explains them".to_owned()),
    }
}

fn chance(p_value: f64) -> String {
    let share = if p_value < 0.001 { "less than 0.1 %".to_owned() } else { crate::judgements::plain(p_value) };
    format!("chance alone does that in {share} of fleets")
}
