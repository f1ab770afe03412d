//! The sources of counters of memory traffic.

use tiermark_model::{CounterBox, CounterSight, CounterSourceInfo, Refusal};
use tiermark_page::{Cell, Detail, Ink, Page, Table, bullet, paragraph};

use crate::{notes_text, trouble};

/// Boxes that one line names: a large server has some fifty.
const NAMED: usize = 4;

/// Renders what each source sees, whether it opens here, and why not.
pub fn counter_sources(all: &[CounterSourceInfo], detail: Detail) -> Page {
    let opens = |info: &CounterSourceInfo| match info.opens {
        Some(true) => Cell::inked("yes", Ink::Good),
        Some(false) => Cell::new("no"),
        None => Cell::new("not tried"),
    };
    let unseen = |info: &CounterSourceInfo| {
        let unseen = |sight: &CounterSight| !info.sees.contains(sight) && is_news(*sight, info);
        let unseen: Vec<CounterSight> = CounterSight::ALL.into_iter().filter(unseen).collect();
        if info.sees.is_empty() { String::new() } else { names(&unseen) }
    };
    let table = Table::of(all).texts("source", |info| Cell::inked(info.source.name(), Ink::Head));
    let table = table.texts("opens here", opens).texts("counts", |info| names(&info.sees));
    let table = table.texts("does not count", unseen).table().indent(0);
    let mut out = Page::from(table);
    for info in all.iter().filter(|info| !info.boxes.is_empty()) {
        out += paragraph(&format!("{}: ", info.source.name()), boxes(&info.boxes), Ink::Plain);
    }
    for note in all.iter().flat_map(|info| &info.notes) {
        out += bullet("!", Ink::Warn, notes_text(std::slice::from_ref(note)), None);
    }
    let refused: Vec<&Refusal> = all.iter().filter_map(|info| info.refused.as_ref()).collect();
    out + trouble("Not opened here", &refused, detail)
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
