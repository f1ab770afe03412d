//! The view of load on Redis servers: rates, both latencies, and what a reader has to know to believe them.

mod words;

use tiermark_model::Note;
use tiermark_model::load::{LoadLatencies, LoadLoop, LoadPart, LoadRun, LoadTenant};
use tiermark_page::{
    ABSENT, Cell, Detail, Ink, Page, Table, achieved, bullet, heading, paragraph, percent, seconds, space,
};

use crate::{RunSummary, labels_line};
use words::with_cure;
pub use words::workload as load_workload;

/// Heads of the columns of latencies.
const HEADS: [&str; 8] = ["mean", "min", "P50", "P90", "P95", "P99", "P99.9", "max"];
/// Most tenants that are shown one by one without --verbose.
const MOST: usize = 20;

/// The latencies of these columns, ns.
fn columns(of: &LoadLatencies) -> [Option<f64>; HEADS.len()] {
    let [min, p50, p90, p95, p99, p999, max] =
        [of.min, of.p50, of.p90, of.p95, of.p99, of.p999, of.max].map(|ns| ns.map(|ns| ns as f64));
    [of.mean, min, p50, p90, p95, p99, p999, max]
}

/// The page of a run of load.
pub fn load(run: &LoadRun, detail: Detail) -> Page {
    let mut out = heading(words::title(run));
    out.extend(run.host().map(|host| paragraph("", format!("Client: {host}"), Ink::Plain)));
    out += labels_line(&run.labels);
    out += run.measured.as_ref().map(|part| numbers(part, run.workload.pacing, detail)).unwrap_or_default();
    words::facts(run).iter().for_each(|fact| out += bullet("·", Ink::Dim, fact, None));
    let before = run.warnings.iter().map(with_cure);
    before
        .chain(run.doubts.iter().map(Note::to_string))
        .for_each(|warning| out += bullet("!", Ink::Warn, &warning, None));
    out
}

/// The run in a list of runs.
pub fn summary(run: &LoadRun) -> RunSummary {
    let parts = [&run.fill, &run.measured].into_iter().flatten();
    let seconds = Some(parts.map(|part| part.client_wall_seconds).sum());
    let machine = if run.complete { "" } else { "incomplete" };
    RunSummary {
        title: format!("load: {}", words::title(run)),
        seconds,
        trusted: None,
        host: run.host().map(str::to_owned),
        machine: machine.to_owned(),
    }
}

/// The tables of what was measured: a row for each tenant, and one for all where there are several.
fn numbers(part: &LoadPart, pacing: LoadLoop, detail: Detail) -> Page {
    let tenants = &part.tenants[..if part.tenants.len() > 1 { part.tenants.len() } else { 0 }];
    let shown = if detail.is_all() { tenants.len() } else { tenants.len().min(MOST) };
    let names = part.names();
    let name = if let [only] = names.as_slice() { only } else { "all" };
    let mut rows: Vec<(&str, &LoadTenant)> = names.iter().map(String::as_str).zip(&tenants[..shown]).collect();
    rows.push((name, &part.all));
    let mut out = heading("Rate") + rates(&rows, pacing != LoadLoop::Closed);
    // In a closed loop a request is due when it is sent.
    if pacing != LoadLoop::Closed {
        out += heading(match pacing {
            LoadLoop::Paced => "Response: with the requests that the closed loop left out while it waited, µs",
            _ => "Response: from when a request was due to its answer, µs",
        });
        out += latencies(&rows, |seen| &seen.response);
    }
    out += heading("Service: from when it was sent to its answer, µs");
    out += latencies(&rows, |seen| &seen.service);
    if shown < tenants.len() {
        out += bullet(" ", Ink::Dim, format!("and {} tenants more; -v shows all", tenants.len() - shown), None);
    }
    out + space()
}

fn rates(rows: &[(&str, &LoadTenant)], has_rate: bool) -> Page {
    let table = Table::of(rows).texts("", |(name, _)| Cell::inked(*name, Ink::Head));
    let table = table.numbers("requests/s", |(_, seen)| format!("{:.0}", seen.requests_per_second));
    let with_shares = table.when(has_rate, |table| {
        let table = table.numbers("of requests due", |(_, seen)| seen.achieved_share.map(achieved).unwrap_or_default());
        table.numbers("sent late", |(_, seen)| seen.late_share().map(percent).unwrap_or_default())
    });
    with_shares.table().into()
}

fn latencies(rows: &[(&str, &LoadTenant)], field: fn(&LoadTenant) -> &LoadLatencies) -> Page {
    let table = Table::of(rows).texts("", |(name, _)| Cell::inked(*name, Ink::Head));
    let shown = |ns: Option<f64>| ns.map_or_else(|| ABSENT.to_owned(), microseconds);
    let heads = HEADS.into_iter().enumerate();
    table
        .each(heads, |table, (at, head)| table.numbers(head, move |(_, seen)| shown(columns(field(seen))[at])))
        .table()
        .into()
}

/// A latency in µs, with as many digits as its histogram keeps.
fn microseconds(ns: f64) -> String {
    let us = ns / 1e3;
    match us {
        us if us < 10.0 => format!("{us:.2}"),
        us if us < 100.0 => format!("{us:.1}"),
        us if us < 1e7 => format!("{us:.0}"),
        us => seconds(us / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_page::{Style, terminal};

    /// A run of an open loop with so many tenants, which are all alike.
    fn open(tenants: usize) -> LoadRun {
        let mut run = words::tests::seed();
        (run.workload.pacing, run.workload.requests_per_second) = (LoadLoop::Open, Some(5000.0));
        let part = run.measured.as_mut().unwrap();
        part.all.response.max = Some(62_000_000_000);
        let one = LoadTenant { target: String::new(), ..part.all.clone() };
        let named = |at: usize| LoadTenant { target: format!("127.0.0.1:{}", 7000 + at), ..one.clone() };
        part.tenants = (0..tenants).map(named).collect();
        run
    }

    fn shown(run: &LoadRun, detail: Detail) -> String {
        terminal(&load(&run.clone().judged(), detail), &Style::default())
    }

    #[test]
    fn a_run_of_two_tenants() {
        insta::assert_snapshot!(shown(&open(2), Detail::Usual));
    }

    #[test]
    fn one_tenant_is_told_once_and_many_are_counted() {
        let one = shown(&open(1), Detail::Usual);
        assert!(one.matches("127.0.0.1:7000").count() == 3 && !one.contains("  all "), "{one}");
        let many = shown(&open(30), Detail::Usual);
        assert!(many.contains("7019") && !many.contains("7020"), "{many}");
        assert!(shown(&open(30), Detail::All).contains("7029"));
        let nothing = LoadRun { measured: None, ..open(1) };
        assert!(!shown(&nothing, Detail::Usual).contains("Service"));
    }

    #[test]
    fn a_closed_loop_has_no_share_of_what_was_due() {
        let text = shown(&words::tests::seed(), Detail::Usual);
        assert!(!text.contains("requests due") && !text.contains("sent late"), "{text}");
        assert!(!text.contains("Response") && text.contains("Service"), "{text}");
    }
}
