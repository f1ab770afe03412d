//! The traffic of memory and links, a row each: the machine, its sockets and nodes, channels, links.

use std::collections::BTreeMap;

use ratatui::text::{Line, Span};
use tiermark_model::{BoxKind, BoxPlace, CounterMark, Traffic, TrafficSum};

use crate::glyphs::{Ink, Look};
use crate::history::History;

/// Columns of a row's name, and of its bar.
const NAME: usize = 24;
const BAR: usize = 10;
/// Columns before a sparkline.
const TEXT: usize = NAME + BAR + 33;
/// Rates below this have the lowest marks of a sparkline: what an idle machine does looks flat.
const LEAST: f64 = 1e9;
/// Share of its peak from which a channel or link is marked with `!`: refresh and turns between reads and writes take
/// part of the peak, so that little is free above it. `--curve` has the knee of the machine itself.
const NOTABLE: f64 = 0.8;

/// A row.
struct Row {
    name: String,
    /// Share of the peak.
    share: Option<f64>,
    /// Bytes read or received, written or sent, and both.
    sum: TrafficSum,
}

/// The rows of a traffic.
fn rows_of(traffic: &Traffic) -> Vec<Row> {
    let whole =
        |name: String, sum, fits: &dyn Fn(&BoxPlace) -> bool| Row { name, share: traffic.utilisation(fits), sum };
    let mut rows = vec![whole("all memory".to_owned(), traffic.whole(), &|_| true)];
    let (sockets, nodes) = (traffic.sockets(), traffic.nodes());
    // Of one socket, or of a node that is a socket, the sum is there already.
    if sockets.len() > 1 {
        rows.extend(
            sockets
                .iter()
                .map(|(socket, sum)| whole(format!("socket {socket}"), *sum, &|place| place.socket == Some(*socket))),
        );
    }
    if nodes.len() > sockets.len() {
        let of =
            |(node, sum): (&u32, &TrafficSum)| whole(format!("node {node}"), *sum, &|place| place.node == Some(*node));
        rows.extend(nodes.iter().map(of));
    }
    rows.extend(traffic.boxes.iter().map(|own| Row {
        name: name(&own.place),
        share: own.utilisation(),
        sum: TrafficSum { read: own.read, write: own.write, total: Some(own.total) },
    }));
    rows.extend(traffic.links.iter().map(|own| {
        let (sent, received) = own.utilisation();
        let total = match (own.sent, own.received) {
            (Some(sent), Some(received)) => Some(sent + received),
            (one, other) => one.or(other),
        };
        Row {
            name: name(&own.place),
            share: sent.into_iter().chain(received).reduce(f64::max),
            sum: TrafficSum { read: own.received, write: own.sent, total },
        }
    }));
    rows
}

/// The name of a box: `0 uncore_imc_3`, with its socket in front.
fn name(place: &BoxPlace) -> String {
    let socket = place.socket.map_or_else(String::new, |socket| format!("{socket} "));
    let link = if place.kind == BoxKind::Link && !place.unit.contains("link") { " link" } else { "" };
    let name = format!(" {socket}{}{link}", place.unit);
    if name.chars().count() <= NAME { name } else { name.chars().take(NAME - 1).chain(['+']).collect() }
}

/// How many rows there are.
pub(crate) fn rows(traffic: &Traffic) -> usize {
    rows_of(traffic).len()
}

/// Bytes a second by the name of the row.
pub(crate) fn rates(traffic: &Traffic) -> BTreeMap<String, f64> {
    let rate = |row: Row| Some((row.name, row.sum.total? / traffic.seconds));
    if traffic.seconds > 0.0 { rows_of(traffic).into_iter().filter_map(rate).collect() } else { BTreeMap::new() }
}

/// The lines of the pane: the rows from `scroll` on that fit, and what is wrong with the counts.
pub(crate) fn lines(
    traffic: &Traffic,
    history: &History,
    scroll: usize,
    (columns, room): (usize, usize),
    look: Look,
) -> Vec<Line<'static>> {
    let head = format!(" {:<NAME$} {:<BAR$} {:>6} {:>7} {:>7} {:>7}", "", "of peak", "%", "both", "read", "write");
    let mut lines = vec![Line::styled(head, look.style(Ink::Dim))];
    let last = doubts(&traffic.marks);
    let rows = rows_of(traffic);
    let fit = room.saturating_sub(1 + usize::from(last.is_some())).max(1);
    let first = scroll.min(rows.len().saturating_sub(fit));
    let spark = columns.saturating_sub(TEXT + 1);
    lines.extend(rows.iter().skip(first).take(fit).map(|row| line(row, traffic.seconds, history, spark, look)));
    lines.extend(last.map(|text| Line::styled(text, look.style(Ink::Alarm))));
    lines
}

fn line(row: &Row, seconds: f64, history: &History, spark: usize, look: Look) -> Line<'static> {
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
