//! The traffic of memory and links, a row each: the machine, its sockets and nodes, channels, links.

use ratatui::text::{Line, Span};
use tiermark_model::{CounterMark, Traffic};

use crate::glyphs::{Ink, Look};
use crate::history::History;
use crate::traffic_rows::{NAME, TrafficRow, name, rows_of};

/// Columns of a row's bar.
const BAR: usize = 10;
/// Columns before a sparkline.
const TEXT: usize = NAME + BAR + 33;
/// Rates below this have the lowest marks of a sparkline: what an idle machine does looks flat.
const LEAST: f64 = 1e9;
/// Share of its peak from which a channel or link is marked with `!`: refresh and turns between reads and writes take
/// part of the peak, so that little is free above it. `--curve` has the knee of the machine itself.
const NOTABLE: f64 = 0.8;

/// The heads of the columns: of memory, and of links.
const HEADS: [[&str; 5]; 2] = [["of peak", "%", "both", "read", "write"], ["busier way", "%", "both", "recv", "sent"]];

/// A line of the pane.
enum Item {
    Row(TrafficRow),
    /// The head of the links, which follow.
    Links,
}

/// The rows, with a head before the first link.
fn items(traffic: &Traffic) -> Vec<Item> {
    let rows = rows_of(traffic);
    let first = rows.iter().position(|row| row.is_link);
    let mut items: Vec<Item> = rows.into_iter().map(Item::Row).collect();
    if let Some(first) = first {
        items.insert(first, Item::Links);
    }
    items
}

/// How many lines there are below the first head.
pub(crate) fn rows(traffic: &Traffic) -> usize {
    items(traffic).len()
}

/// The lines of the pane: the rows from `scroll` on that fit, and what is wrong with the counts.
pub(crate) fn lines(
    traffic: &Traffic,
    history: &History,
    scroll: usize,
    (columns, room): (usize, usize),
    look: Look,
) -> Vec<Line<'static>> {
    let last = doubts(&traffic.marks);
    let items = items(traffic);
    let fit = room.saturating_sub(1 + usize::from(last.is_some())).max(1);
    let first = scroll.min(items.len().saturating_sub(fit));
    let spark = columns.saturating_sub(TEXT + 1);
    // The head is that of the rows below it, also where the page is scrolled.
    let is_of_links = matches!(items.get(first), Some(Item::Row(row)) if row.is_link);
    let mut lines = vec![head(is_of_links, look)];
    lines.extend(items.iter().skip(first).take(fit).map(|item| match item {
        Item::Row(row) => line(row, traffic.seconds, history, spark, look),
        Item::Links => head(true, look),
    }));
    lines.extend(last.map(|text| Line::styled(text, look.style(Ink::Alarm))));
    lines
}

/// The head of rows of memory, or of links.
fn head(is_of_links: bool, look: Look) -> Line<'static> {
    let [bar, share, both, first, second] = HEADS[usize::from(is_of_links)];
    let of = if is_of_links { "links" } else { "" };
    let head = format!(" {of:<NAME$} {bar:<BAR$} {share:>6} {both:>7} {first:>7} {second:>7}");
    Line::styled(head, look.style(Ink::Dim))
}

fn line(row: &TrafficRow, seconds: f64, history: &History, spark: usize, look: Look) -> Line<'static> {
    let rate = |bytes: Option<f64>| {
        let rate = bytes.filter(|_| seconds > 0.0).map(|bytes| bytes / seconds / 1e9);
        rate.map_or_else(|| look.absent(), |rate| format!("{rate:.1}"))
    };
    let notable = row.share.is_some_and(|share| share >= NOTABLE);
    let share = row.share.map_or_else(|| look.absent(), |share| format!("{:.1}", share * 100.0));
    let (mark, ink) = if notable { ("!", Ink::Alarm) } else { (" ", Ink::Plain) };
    let numbers =
        format!(" {share:>6} {:>7} {:>7} {:>7} ", rate(row.sum.total), rate(row.sum.read), rate(row.sum.write));
    Line::from(vec![
        Span::styled(format!("{mark}{:<NAME$} ", row.name), look.style(ink)),
        Span::styled(look.bar(row.share, BAR), look.style(Ink::Graph)),
        Span::styled(numbers, look.style(ink)),
        Span::styled(look.spark(&history.of_traffic(&row.name, spark), LEAST, spark), look.style(Ink::Graph)),
    ])
}

/// What is wrong with the counts, in a line.
fn doubts(marks: &[CounterMark]) -> Option<String> {
    let first = marks.first()?;
    let what = match first {
        CounterMark::Multiplexed { share, .. } => format!("counted {:.0} % of the time, and scaled", share * 100.0),
        CounterMark::NeverCounted { .. } => "never counted".to_owned(),
        CounterMark::Lost { .. } => "no longer counted".to_owned(),
        CounterMark::WentBack { .. } => "set back by another program".to_owned(),
        CounterMark::Impossible { rate, .. } => format!("{:.0} GB/s cannot be, and is left out", rate / 1e9),
        CounterMark::Silent { .. } => "stays at 0, and is left out".to_owned(),
        CounterMark::Partial { .. } => "counted in part, and left out".to_owned(),
    };
    let more = if marks.len() > 1 { format!("; {} more", marks.len() - 1) } else { String::new() };
    Some(format!("!{}: {what}{more}", name(first.place())))
}

/// The text in place of a traffic that is not counted.
pub(crate) fn absent(why: &[String]) -> Vec<String> {
    let head = "The traffic of memory and links is not counted.".to_owned();
    let cure = "`tiermark list counters` shows all sources of counters.".to_owned();
    std::iter::once(head).chain(why.iter().cloned()).chain([cure]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{BoxKind, BoxPlace, BoxTraffic, LinkTraffic};

    #[test]
    fn the_first_head_is_that_of_the_rows_below_it() {
        let place = |kind, unit: &str| BoxPlace { socket: Some(0), node: None, kind, unit: unit.into() };
        let memory = BoxTraffic {
            place: place(BoxKind::Channel, "imc_0"),
            read: Some(1e9),
            write: Some(1e9),
            total: 2e9,
            local: None,
            transfers: None,
        };
        let link =
            |unit| LinkTraffic { place: place(BoxKind::Link, unit), sent: Some(1e9), received: Some(3e9), most: None };
        let traffic = Traffic {
            seconds: 1.0,
            boxes: vec![memory],
            links: vec![link("upi_0"), link("upi_1")],
            ..Traffic::default()
        };
        let look = Look { unicode: false, color: false };
        let text = |scroll| -> Vec<String> {
            lines(&traffic, &History::default(), scroll, (80, 3), look).iter().map(ToString::to_string).collect()
        };
        let top = text(0);
        assert!(top[0].contains("read") && top[1].contains("all memory") && rows(&traffic) == 5, "{top:?}");
        let scrolled = text(9);
        assert!(scrolled[0].contains("recv") && scrolled[1].contains("upi_0"), "{scrolled:?}");
        assert!(!scrolled[0].contains("read"), "{scrolled:?}");
    }
}
