//! The view of load on Redis servers: rates, both latencies, and what a reader has to know to believe them.

use tiermark_page::{Align, Cell, Ink, Page, Style, Table, achieved, bullet, heading, percent, seconds, space};
/// Latencies that are shown, ns: mean, P50, P90, P95, P99, P99.9, maximum. `None` without an answer.
type Shown = [Option<f64>; 7];

/// Heads of those columns.
const HEADS: [&str; 7] = ["mean", "P50", "P90", "P95", "P99", "P99.9", "max"];
/// Most tenants that are shown one by one without --verbose.
const MOST: usize = 20;

/// One tenant, or all as one.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadLine {
    /// Its address.
    pub name: String,
    /// Answers a second.
    pub rate: f64,
    /// Answers over requests that were due, of an open loop.
    pub share: Option<f64>,
    /// Share of the requests that the client sent late, of an open loop.
    pub late: Option<f64>,
    /// From when a request was due.
    pub response: Shown,
    /// From when it was sent.
    pub service: Shown,
}

/// Everything that is shown of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadView {
    /// The workload, in one line.
    pub title: String,
    /// One line for each tenant.
    pub tenants: Vec<LoadLine>,
    /// All as one; `None` where nothing was measured.
    pub all: Option<LoadLine>,
    /// Further facts, in sentences.
    pub facts: Vec<String>,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
    /// Whether the response times are estimated: of a closed loop with a rate.
    pub is_paced: bool,
}

/// Renders a run of load.
pub fn load(view: &LoadView, style: &Style) -> Page {
    let mut out = heading(&view.title);
    if let Some(all) = &view.all {
        let shown = if style.verbose { view.tenants.len() } else { view.tenants.len().min(MOST) };
        let mut lines: Vec<&LoadLine> =
            if view.tenants.len() > 1 { view.tenants[..shown].iter().collect() } else { Vec::new() };
        lines.push(all);
        out += heading("Rate");
        out += rates(&lines);
        // In a closed loop a request is due when it is sent.
        if all.share.is_some() {
            let what = match view.is_paced {
                true => "Response: with the requests that the closed loop left out while it waited, µs",
                false => "Response: from when a request was due to its answer, µs",
            };
            out += heading(what);
            out += latencies(&lines, |line| &line.response, style);
        }
        out += heading("Service: from when it was sent to its answer, µs");
        out += latencies(&lines, |line| &line.service, style);
        if shown < view.tenants.len() {
            out +=
                bullet(" ", Ink::Dim, &format!("and {} tenants more; -v shows all", view.tenants.len() - shown), None);
        }
        out += space();
    }
    view.facts.iter().for_each(|fact| out += bullet(style.glyph("·", "-"), Ink::Dim, fact, None));
    view.warnings.iter().for_each(|warning| out += bullet("!", Ink::Warn, warning, None));
    out
}

fn rates(lines: &[&LoadLine]) -> Page {
    let mut table = Table::new().column("", Align::Left).column("requests/s", Align::Right);
    let is_open = lines.iter().any(|line| line.share.is_some());
    if is_open {
        table = table.column("of requests due", Align::Right).column("sent late", Align::Right);
    }
    for line in lines {
        let mut row = vec![Cell::inked(&line.name, Ink::Head), Cell::new(format!("{:.0}", line.rate))];
        if is_open {
            let cell = |share: Option<String>| Cell::new(share.unwrap_or_default());
            row.extend([cell(line.share.map(achieved)), cell(line.late.map(percent))]);
        }
        table.row(row);
    }
    table.into()
}

fn latencies(lines: &[&LoadLine], of: impl Fn(&LoadLine) -> &Shown, style: &Style) -> Page {
    let mut table = Table::new().column("", Align::Left);
    for head in HEADS {
        table = table.column(head, Align::Right);
    }
    for line in lines {
        let mut row = vec![Cell::inked(&line.name, Ink::Head)];
        row.extend(of(line).iter().map(|ns| Cell::new(ns.map_or_else(|| style.absent().to_owned(), microseconds))));
        table.row(row);
    }
    table.into()
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
    use tiermark_page::terminal;

    fn line(name: &str) -> LoadLine {
        let us = [25.3, 24.0, 31.0, 40.0, 120.0, 980.0, 20_000.0].map(|us| Some(us * 1e3));
        let mut response = us;
        response[6] = Some(62e9);
        LoadLine { name: name.into(), rate: 4998.2, share: Some(0.9996), late: Some(0.004), response, service: us }
    }

    fn view(tenants: usize) -> LoadView {
        LoadView {
            title: "2 tenants, open loop at 5,000 requests/s each".into(),
            tenants: (0..tenants).map(|i| line(&format!("127.0.0.1:{}", 7000 + i))).collect(),
            all: Some(line("all")),
            facts: vec!["client: 4.1 µs of cpu a request".into()],
            is_paced: false,
            warnings: vec!["12 % of the GETs found no key; --fill writes all first".into()],
        }
    }

    #[test]
    fn a_run_of_two_tenants() {
        insta::assert_snapshot!(terminal(&load(&view(2), &Style::default()), &Style::default()));
    }

    #[test]
    fn one_tenant_is_told_once_and_many_are_counted() {
        let one = terminal(&load(&view(1), &Style::default()), &Style::default());
        assert!(!one.contains("7000") && one.contains("all"), "{one}");
        let many = terminal(&load(&view(30), &Style::default()), &Style::default());
        assert!(many.contains("7019") && !many.contains("7020"), "{many}");
        assert!(
            terminal(
                &load(&view(30), &Style { verbose: true, ..Style::default() }),
                &Style { verbose: true, ..Style::default() }
            )
            .contains("7029")
        );
        let nothing = LoadView { all: None, ..view(1) };
        assert!(!terminal(&load(&nothing, &Style::default()), &Style::default()).contains("Service"));
    }

    #[test]
    fn a_closed_loop_has_no_share_of_what_was_due() {
        let mut all = line("all");
        (all.share, all.late) = (None, None);
        let text = terminal(
            &load(&LoadView { tenants: Vec::new(), all: Some(all), ..view(0) }, &Style::default()),
            &Style::default(),
        );
        assert!(!text.contains(" due") && !text.contains(" late"), "{text}");
        assert!(!text.contains("Response") && text.contains("Service"), "{text}");
    }
}
