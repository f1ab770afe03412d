//! Hosts judged by their peers as rows, as gauges, and as a list of names.

use std::collections::BTreeMap;

use serde::Serialize;
use tiermark_model::{Fleet, FleetHost, HostCause, HostFigure, HostKind, HostState, Unit};

use crate::metrics::{self, Metric};
use crate::openmetrics::{Families, Named, add_gauge, base, text, unix_seconds, written};
use crate::tidy::{cell, lines};

/// A figure of a host as a row; a host without figures has one row.
#[derive(Serialize)]
struct HostRow<'a> {
    host: &'a str,
    state: &'a str,
    /// The number of its kind, from 1.
    kind: Option<u64>,
    product: Option<&'a str>,
    cpu: Option<&'a str>,
    started: Option<&'a str>,
    run: Option<&'a str>,
    figure: Option<String>,
    family: Option<&'a str>,
    unit: Option<Unit>,
    value: Option<f64>,
    /// Of the hosts of its kind.
    median: Option<f64>,
    /// 0.1: 10 % more than the median.
    deviation: Option<f64>,
    odd: Option<bool>,
    /// Whether the family is odd by the mean of its figures; `None` if it has no judged figure.
    family_odd: Option<bool>,
    bound: Option<bool>,
    /// The likeliest cause.
    cause: Option<&'a str>,
    fact: Option<&'a str>,
    fact_value: Option<&'a str>,
    fact_peers: Option<&'a str>,
    /// All causes in words, the likeliest first.
    causes: Option<String>,
    /// How it failed.
    failure: Option<&'a str>,
    /// The error text of a failed host.
    message: Option<&'a str>,
    labels: &'a BTreeMap<String, String>,
}

/// The columns of CSV, in the order of the row.
const COLUMNS: [&str; 24] = [
    "host",
    "state",
    "kind",
    "product",
    "cpu",
    "started",
    "run",
    "figure",
    "family",
    "unit",
    "value",
    "median",
    "deviation",
    "odd",
    "family_odd",
    "bound",
    "cause",
    "fact",
    "fact_value",
    "fact_peers",
    "causes",
    "failure",
    "message",
    "labels",
];

/// Renders hosts as CSV (RFC 4180), a row for each figure of each host.
pub fn fleet_csv(fleet: &Fleet) -> String {
    let mut out = COLUMNS.join(",") + "\n";
    for row in rows(fleet) {
        let cells: Vec<String> = COLUMNS.iter().map(|column| cell(&row[*column])).collect();
        out.push_str(&cells.join(","));
        out.push('\n');
    }
    out
}

/// Renders the same as lines of JSON.
pub fn fleet_lines(fleet: &Fleet) -> String {
    lines(rows(fleet))
}

/// The names of the odd hosts, one a line, worst first: without those that are only better than their peers, and without
/// names that a program may take for more than one host (`node[1-9]`, `ALL`).
pub fn fleet_hosts(fleet: &Fleet) -> String {
    hosts_to_drain(fleet, false).into_iter().map(|host| format!("{host}\n")).collect()
}

/// The same names as a list; `only_sure`: only hosts with a sure cause.
pub fn hosts_to_drain(fleet: &Fleet, only_sure: bool) -> Vec<&str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    let is_host = |name: &str| name.chars().all(is_name) && !name.starts_with('-') && !name.eq_ignore_ascii_case("all");
    let worse = fleet.hosts.iter().filter(|host| host.is_worse());
    let chosen = worse.filter(|host| is_host(&host.host) && (!only_sure || host.is_sure()));
    chosen.map(|host| host.host.as_str()).collect()
}

/// Renders hosts in the text format of OpenMetrics: how many are in which state, and of each its kind, when it measured,
/// its figures and how far they are from those of its peers. Values are in base units (seconds, bytes).
pub fn fleet_openmetrics(fleet: &Fleet) -> String {
    let mut families = Families::new();
    let mut add = |metric: Metric<'static>, labels: &[(&str, &str)], value: f64| {
        let labels: Named = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        add_gauge(&mut families, metric, &labels, value);
    };
    for state in HostState::ALL {
        let count = fleet.hosts.iter().filter(|host| host.state == state).count();
        add(metrics::FLEET_HOSTS, &[("state", state.name())], count as f64);
    }
    for host in &fleet.hosts {
        let kind = kind(fleet, host);
        let number = host.kind.map(|at| (at + 1).to_string()).unwrap_or_default();
        let name = host.host.as_str();
        let worse = host.is_worse().to_string();
        let labels = [("host", name), ("kind", &number), ("state", host.state.name()), ("worse", &worse)];
        add(metrics::FLEET_HOST_INFO, &labels, 1.0);
        if let Some(at) = host.started.as_deref().and_then(unix_seconds) {
            add(metrics::FLEET_TIMESTAMP, &[("host", name)], at);
        }
        let Some(kind) = kind else { continue };
        for of in &host.figures {
            let figure = figure(kind, of).unwrap_or_default();
            let own = &kind.figures[of.figure as usize];
            let (unit, divisor) = base(own.unit);
            let (unit, value) =
                if fleet.is_change { ("ratio", of.value) } else { (unit.trim_start_matches('_'), of.value / divisor) };
            add(metrics::FLEET_DEVIATION, &[("host", name), ("figure", &figure)], of.deviation);
            add(metrics::FLEET_VALUE, &[("host", name), ("figure", &figure), ("unit", unit)], value);
        }
    }
    written(families)
}

fn kind<'a>(fleet: &'a Fleet, host: &FleetHost) -> Option<&'a HostKind> {
    fleet.kinds.get(usize::try_from(host.kind?).ok()?)
}

/// The name of a figure in expectations; without one, its family and what tells it from others.
fn figure(kind: &HostKind, of: &HostFigure) -> Option<String> {
    let figure = kind.figures.get(usize::try_from(of.figure).ok()?)?;
    let alone = || {
        let labels: Vec<String> = figure.labels.iter().map(|(key, label)| format!("{key}={}", text(label))).collect();
        format!("{} {}", figure.family, labels.join(" ")).trim_end().to_owned()
    };
    Some(figure.name.clone().unwrap_or_else(alone))
}

fn rows(fleet: &Fleet) -> impl Iterator<Item = serde_json::Value> {
    fleet.hosts.iter().flat_map(|host| of_host(fleet, host))
}

fn of_host(fleet: &Fleet, host: &FleetHost) -> Vec<serde_json::Value> {
    let kind = kind(fleet, host);
    let cause = host.causes.first();
    let causes: Vec<String> = host.causes.iter().map(HostCause::in_words).collect();
    let causes = (!causes.is_empty()).then(|| causes.join("; "));
    let row = |of: Option<&HostFigure>| {
        let own = kind.zip(of).and_then(|(kind, of)| kind.figures.get(usize::try_from(of.figure).ok()?));
        let family = own.and_then(|own| host.families.iter().find(|family| family.family == own.family));
        HostRow {
            host: &host.host,
            state: host.state.name(),
            kind: host.kind.map(|at| at + 1),
            product: kind.and_then(|kind| kind.product.as_deref()),
            cpu: kind.and_then(|kind| kind.cpu.as_deref()),
            started: host.started.as_deref(),
            run: host.run.as_deref(),
            figure: kind.zip(of).and_then(|(kind, of)| figure(kind, of)),
            family: own.map(|own| own.family.as_str()),
            unit: own.map(|own| if fleet.is_change { Unit::Ratio } else { own.unit }),
            value: of.map(|of| of.value),
            median: own.map(|own| own.median),
            deviation: of.map(|of| of.deviation),
            odd: of.map(|of| of.is_odd),
            family_odd: family.map(|family| family.is_odd),
            bound: of.map(|of| of.is_bound),
            cause: cause.map(|cause| cause.rule.as_str()),
            fact: cause.and_then(|cause| cause.fact).map(tiermark_model::Fact::name),
            fact_value: cause.and_then(|cause| cause.value.as_deref()),
            fact_peers: cause.and_then(|cause| cause.peers.as_deref()),
            causes: causes.clone(),
            failure: host.failure.as_ref().map(|failure| failure.how.name()),
            message: host.failure.as_ref().map(|failure| failure.message.as_str()),
            labels: &host.labels,
        }
    };
    let all: Vec<Option<&HostFigure>> =
        if host.figures.is_empty() { vec![None] } else { host.figures.iter().map(Some).collect() };
    all.into_iter().map(|of| serde_json::to_value(row(of)).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::testing::fleet;

    /// The fields of a line of CSV.
    fn cells(line: &str) -> Vec<String> {
        let mut cells = vec![String::new()];
        let mut is_quoted = false;
        for part in line.split_inclusive(['"', ',']) {
            let (text, end) = part.split_at(part.len() - usize::from(part.ends_with(['"', ','])));
            cells.last_mut().unwrap().push_str(text);
            match end {
                "\"" => is_quoted = !is_quoted,
                "," if is_quoted => cells.last_mut().unwrap().push(','),
                "," => cells.push(String::new()),
                _ => {}
            }
        }
        cells
    }

    /// The field of the first row of a host.
    fn field(fleet: &Fleet, host: &str, column: &str) -> String {
        let at = COLUMNS.iter().position(|known| *known == column).unwrap();
        let text = fleet_csv(fleet);
        let row = text.lines().map(cells).find(|row| row[0] == host).unwrap();
        row[at].clone()
    }

    #[test]
    fn a_row_has_all_causes_the_labels_and_the_family() {
        let mut fleet = fleet();
        let host = fleet.hosts.iter_mut().find(|host| host.host == "node07").unwrap();
        host.labels = [("asset", "4711"), ("rack", "7, left")].map(|(key, value)| (key.into(), value.into())).into();
        let mut other = host.causes[0].clone();
        (other.fact, other.value, other.finding) = (None, None, "slow".to_owned());
        host.causes.push(other);
        let families = host.families.clone();
        let first = host.causes[0].in_words();
        assert_eq!(field(&fleet, "node07", "causes"), format!("{first}; slow"));
        assert_eq!(field(&fleet, "node07", "labels"), "asset=4711 rack=7, left");
        for row in fleet_lines(&fleet).lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()) {
            if row["host"] == "node07" {
                let family = families.iter().find(|family| row["family"] == *family.family);
                assert_eq!(row["family_odd"].as_bool(), family.map(|family| family.is_odd), "{row}");
                assert_eq!(row["labels"]["rack"], "7, left");
            }
        }
    }

    #[test]
    fn what_a_failed_host_said_has_its_lines_in_json_and_is_no_formula_in_csv() {
        let mut fleet = fleet();
        let failed = fleet.hosts.iter_mut().find(|host| host.failure.is_some()).unwrap();
        failed.failure.as_mut().unwrap().message = "=cmd()\n\"no\", memory".to_owned();
        failed.labels.insert("-rack".to_owned(), "7".to_owned());
        let name = failed.host.clone();
        // The reader above leaves doubled quotes out.
        assert_eq!(field(&fleet, &name, "message"), "'=cmd() no, memory");
        assert_eq!(field(&fleet, &name, "labels"), "'-rack=7");
        assert!(fleet_lines(&fleet).contains(r#""message":"=cmd()\n\"no\", memory""#));
        let odd = fleet.hosts.iter_mut().find(|host| host.host == "node07").unwrap();
        (odd.causes[0].fact, odd.causes[0].finding) = (None, "+slow".to_owned());
        assert!(field(&fleet, "node07", "causes").starts_with("'+slow"));
    }

    #[test]
    fn every_host_has_a_row_and_every_figure_its_own() {
        let fleet = fleet();
        let text = fleet_csv(&fleet);
        let rows: Vec<Vec<String>> = text.lines().map(cells).collect();
        assert!(rows.iter().all(|row| row.len() == COLUMNS.len()), "{text}");
        let hosts: std::collections::BTreeSet<&str> = rows[1..].iter().map(|row| row[0].as_str()).collect();
        assert_eq!(hosts.len(), fleet.hosts.len());
        let figures: usize = fleet.hosts.iter().map(|host| host.figures.len().max(1)).sum();
        assert_eq!(rows.len() - 1, figures);
        assert_eq!(fleet_lines(&fleet).lines().count(), figures);
        let odd = rows.iter().find(|row| row[0] == "node07").unwrap();
        assert_eq!(odd[1], "odd");
        assert_eq!(fleet_hosts(&fleet), "node07\n");
    }

    #[test]
    fn a_better_host_is_no_host_to_drain_and_no_alert() {
        let mut fleet = fleet();
        let has = |fleet: &Fleet, worse: &str| {
            let text = fleet_openmetrics(fleet);
            text.contains(&format!("{{host=\"node07\",kind=\"1\",state=\"odd\",worse=\"{worse}\"}} 1\n"))
        };
        assert!(has(&fleet, "true"));
        fleet.hosts[0].is_better = true;
        assert!(has(&fleet, "false"));
        assert_eq!(fleet_hosts(&fleet), "");
        assert_eq!(hosts_to_drain(&fleet, true), Vec::<&str>::new());
    }

    #[test]
    fn gauges_are_in_base_units_and_names_are_escaped() {
        let mut fleet = fleet();
        fleet.hosts[0].host = "no\"de\n07".into();
        let text = fleet_openmetrics(&fleet);
        assert!(text.contains("tiermark_fleet_hosts{state=\"odd\"} 1\n"), "{text}");
        assert!(text.contains("host=\"no\\\"de") && text.ends_with("# EOF\n"), "{text}");
        assert!(text.contains("unit=\"bytes_per_second\"} 305000000000"), "{text}");
        let begun =
            text.lines().find(|line| line.starts_with("tiermark_fleet_host_timestamp_seconds{host=\"node01\"} "));
        assert!(begun.is_some_and(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() > 1e9), "{text}");
        assert!(text.contains("figure=\"latency.dram\",host=\"node01\",unit=\"seconds\"} 0.000000095"), "{text}");
    }
}
