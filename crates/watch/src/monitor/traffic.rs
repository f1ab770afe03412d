//! The traffic of memory and links, a row each: the machine, its sockets and nodes, channels, links.

use ratatui::text::Line;
use tiermark_model::{CounterMark, Share, Traffic};
use tiermark_page::{Ink, Style, Table};

use crate::monitor::backend::{self, alarm, bar, line, spark};
use crate::monitor::history::History;
use crate::monitor::lines::percent;
use crate::monitor::traffic_rows::{NAME, TrafficRow, name, rows_of};

/// Columns of a row's bar.
const BAR: usize = 10;
/// Rates below this have the lowest marks of a sparkline: what an idle machine does looks flat.
const LEAST: f64 = 1e9;
/// Share of its peak from which a channel or link is marked with `!`: refresh and turns between reads and writes take
/// part of the peak, so that little is free above it. `--curve` has the knee of the machine itself.
const NOTABLE: f64 = 0.8;

/// The heads of the columns: of memory, and of links.
const HEADS: [[&str; 4]; 2] = [["", "of peak", "read", "write"], ["links", "busier way", "recv", "sent"]];

/// How many lines there are below the first head.
pub(crate) fn rows(traffic: &Traffic) -> usize {
    let rows = rows_of(traffic);
    rows.len() + usize::from(rows.iter().any(|row| row.is_link))
}

/// The lines of the pane: the rows from `scroll` on that fit, and what is wrong with the counts.
pub(crate) fn lines(
    traffic: &Traffic,
    history: &History,
    scroll: usize,
    room: usize,
    style: &Style,
) -> Vec<Line<'static>> {
    let (links, memory): (Vec<_>, Vec<_>) = rows_of(traffic).into_iter().partition(|row| row.is_link);
    let table = |rows: &[TrafficRow], heads| table(rows, heads, traffic.seconds, history, style);
    let mut all = table(&memory, HEADS[0]);
    let head_of_links = all.len();
    if !links.is_empty() {
        all.extend(table(&links, HEADS[1]));
    }
    let last = doubts(&traffic.marks);
    let fit = room.saturating_sub(1 + usize::from(last.is_some())).max(1);
    let first = 1 + scroll.min((all.len() - 1).saturating_sub(fit));
    // The head is that of the rows below it, also where the page is scrolled.
    let mut lines = vec![all[if first > head_of_links { head_of_links } else { 0 }].clone()];
    lines.extend(all.into_iter().skip(first).take(fit));
    lines.extend(last.map(|text| line(text, Ink::Bad, style)));
    lines
}

/// The rows of memory, or of links, below their head.
fn table(
    rows: &[TrafficRow],
    [name, of, first, second]: [&str; 4],
    seconds: f64,
    history: &History,
    style: &Style,
) -> Vec<Line<'static>> {
    let rate = |bytes: Option<f64>| percent(bytes.filter(|_| seconds > 0.0).map(|bytes| bytes / seconds / 1e9));
    let table = Table::of(rows).at_least(NAME).texts(name, |row| &row.name);
    let table = table.at_least(BAR).texts(of, |row| bar(row.share, BAR));
    let table = table.at_least(6).numbers("%", |row| percent(row.share.map(|share| share * 100.0)));
    let table = table.at_least(7).numbers("both", |row| rate(row.sum.total));
    let table = table.numbers(first, |row| rate(row.sum.read)).numbers(second, |row| rate(row.sum.write));
    let table = table.rest(style.width, |row, room| spark(&history.of_traffic(&row.name, room), LEAST));
    let is_notable = |row: &TrafficRow| row.share.is_some_and(|share| share >= NOTABLE);
    backend::lines(table.inked(|row| alarm(is_notable(row))), style)
}

/// What is wrong with the counts, in a line.
fn doubts(marks: &[CounterMark]) -> Option<String> {
    let first = marks.first()?;
    let what = match first {
        CounterMark::Multiplexed { share, .. } => format!("counted {} of the time, and scaled", Share(*share)),
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
    use tiermark_model::{BoxKind, BoxPlace, BoxTraffic, LinkStated, LinkTraffic};

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
        let link = |unit| LinkTraffic {
            place: place(BoxKind::Link, unit),
            sent: Some(1e9),
            received: Some(3e9),
            most: None,
            stated: LinkStated::default(),
        };
        let traffic = Traffic {
            seconds: 1.0,
            boxes: vec![memory],
            links: vec![link("upi_0"), link("upi_1")],
            ..Traffic::default()
        };
        let style = Style { width: 78, unicode: false, ..Style::default() };
        let text = |scroll| -> Vec<String> {
            lines(&traffic, &History::default(), scroll, 3, &style).iter().map(ToString::to_string).collect()
        };
        let top = text(0);
        assert!(top[0].contains("read") && top[1].contains("all memory") && rows(&traffic) == 5, "{top:?}");
        let scrolled = text(9);
        assert!(scrolled[0].contains("recv") && scrolled[1].contains("upi_0"), "{scrolled:?}");
        assert!(!scrolled[0].contains("read"), "{scrolled:?}");
        // What a link sent with its protocol has a row of its own, and is in no sum.
        let mut stated = traffic.clone();
        stated.links[1].stated.sent_all = Some(2e9);
        let all = lines(&stated, &History::default(), 0, 9, &style).iter().map(ToString::to_string).collect::<Vec<_>>();
        let (row, payload) = (&all[6], &all[5]);
        assert!(row.contains("upi_1 link + overhead") && row.contains(" 2.0"), "{all:?}");
        assert!(payload.contains("4.0") && rows(&stated) == 6, "{all:?}");
    }
}
