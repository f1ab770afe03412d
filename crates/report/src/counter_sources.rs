//! The sources of counters of memory traffic.

use tiermark_model::{CounterBox, CounterSight, CounterSourceInfo, Refusal};
use tiermark_page::{Align, Cell, Ink, Page, Style, Table, bullet, paragraph};

use crate::refusals::trouble;

/// Boxes that one line names: a large server has some fifty.
const NAMED: usize = 4;

/// Renders what each source sees, whether it opens here, and why not.
pub fn counter_sources(all: &[CounterSourceInfo], style: &Style) -> Page {
    let mut table = Table::new().indent(0).column("source", Align::Left).column("opens here", Align::Left);
    table = table.column("counts", Align::Left).column("does not count", Align::Left);
    for info in all {
        let (opens, ink) = match info.opens {
            Some(true) => ("yes", Ink::Good),
            Some(false) => ("no", Ink::Plain),
            None => ("not tried", Ink::Plain),
        };
        let seen = !info.sees.is_empty();
        let unseen = CounterSight::ALL.into_iter().filter(|sight| !info.sees.contains(sight) && is_news(*sight, info));
        let unseen: Vec<CounterSight> = unseen.collect();
        table.row(vec![
            Cell::inked(info.source.name(), Ink::Head),
            Cell::inked(opens, ink),
            Cell::new(if seen { names(&info.sees) } else { String::new() }),
            Cell::new(if seen { names(&unseen) } else { String::new() }),
        ]);
    }
    let mut out = Page::from(table);
    for info in all.iter().filter(|info| !info.boxes.is_empty()) {
        out += paragraph(&format!("{}: ", info.source.name()), boxes(&info.boxes), Ink::Plain);
    }
    for note in all.iter().flat_map(|info| &info.notes) {
        out += bullet("!", Ink::Warn, &note.text, None);
    }
    let refused: Vec<&Refusal> = all.iter().filter_map(|info| info.refused.as_ref()).collect();
    out + trouble("Not opened here", &refused, style)
}

/// Whether it is worth a word that a source does not count something: reads and writes together follow from both, and
/// that a source does not count a part only is no lack.
fn is_news(sight: CounterSight, info: &CounterSourceInfo) -> bool {
    match sight {
        CounterSight::Total => !info.sees.contains(&CounterSight::Writes),
        CounterSight::LowerBound => false,
        _ => true,
    }
}

fn names(sights: &[CounterSight]) -> String {
    sights.iter().map(|sight| sight.name()).collect::<Vec<_>>().join(", ")
}

/// How many boxes there are, and the first of them.
fn boxes(all: &[CounterBox]) -> String {
    let named: Vec<&str> = all.iter().take(NAMED).map(|own| own.name.as_str()).collect();
    let more = all.len().saturating_sub(named.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let counted: usize = all.iter().map(|own| own.sockets.len()).sum();
    let sources = tiermark_model::count_of(all.len() as u64, "event source");
    format!("{sources}, {counted} on all sockets together: {}{more}", named.join(", "))
}
