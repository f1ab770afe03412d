//! A run as a table with a row for each observation and conclusion, for programs that analyse data: CSV, and lines of JSON. Numbers
//! are in base units (ns, bytes, bytes a second).

use std::collections::{BTreeSet, HashSet};

use serde::Serialize;
use serde_json::Value;
use tiermark_model::{
    Code, Experiment, Finding, Grade, Labels, Observation, Quantity, ReasonCode, Run, StateKind, Unit, ValueKind,
    Verdict,
};
use tiermark_page::clean;

/// Columns of CSV that every row has, in order; labels follow.
const COLUMNS: [&str; 21] = [
    "run",
    "started",
    "simulated",
    "probe",
    "experiment",
    "step",
    "metric",
    "unit",
    "value",
    "low",
    "high",
    "kind",
    "p10",
    "p90",
    "best",
    "grade",
    "reasons",
    "refusal",
    "visits",
    "state",
    "host",
];

/// Findings that are the number of a step.
const REPEATING: [Quantity; 4] =
    [Quantity::Latency, Quantity::Bandwidth, Quantity::BandwidthScaling, Quantity::ScaleLatency];

/// An observation as a row.
#[derive(Serialize)]
pub(crate) struct TidyRow<'a, M, U, R> {
    pub(crate) run: &'a str,
    pub(crate) started: &'a str,
    /// Whether the numbers are of a model of a machine.
    pub(crate) simulated: bool,
    pub(crate) probe: &'a str,
    /// Counted from 1.
    pub(crate) experiment: usize,
    pub(crate) step: &'a str,
    pub(crate) metric: M,
    pub(crate) unit: U,
    pub(crate) value: Option<f64>,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    /// Which statistic of the visits the value is; then their 10th and 90th percentile.
    pub(crate) kind: Option<ValueKind>,
    pub(crate) p10: Option<f64>,
    pub(crate) p90: Option<f64>,
    /// The best that was sustained.
    pub(crate) best: Option<f64>,
    pub(crate) grade: Option<Grade>,
    pub(crate) reasons: Vec<R>,
    /// The code of the refusal, where the step was refused.
    pub(crate) refusal: Option<&'a Code>,
    /// `None` where nothing is visited.
    pub(crate) visits: Option<usize>,
    pub(crate) state: Option<StateKind>,
    /// Name of the host, where known.
    pub(crate) host: Option<&'a str>,
    pub(crate) labels: &'a Labels,
}

impl<M: Serialize, U: Serialize, R: Serialize> TidyRow<'_, M, U, R> {
    /// The row as an object.
    pub(crate) fn object(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// All observations of a run as objects, and what was concluded from them.
fn rows(run: &Run) -> Vec<Value> {
    let numbered = || run.experiments.iter().enumerate();
    let observations = numbered().flat_map(|(number, e)| e.observations.iter().map(move |o| observed(run, number, o)));
    // A latency or a rate of one step is that step's own row, whatever the finding is called.
    let steps = |(number, e): (usize, &'_ Experiment)| {
        e.observations.iter().map(move |o| (number, o.step.clone())).collect::<Vec<_>>()
    };
    let known: HashSet<(usize, String)> = numbered().flat_map(steps).collect();
    let repeats = |number: usize, f: &Finding| match f.evidence.as_slice() {
        [step] => REPEATING.contains(&f.quantity) && known.contains(&(number, step.clone())),
        _ => false,
    };
    let findings = numbered().flat_map(|(number, e)| e.findings.iter().map(move |f| (number, f)));
    let findings = findings.filter(|(number, f)| !repeats(*number, f)).map(|(number, f)| found(run, number, f));
    let derived = tiermark_model::derived(run);
    observations.chain(findings).chain(derived.iter().map(|(number, f)| found(run, *number, f))).collect()
}

/// Labels with the cpus' node and the distance of the memory, where the request says them.
fn placed(run: &Run, experiment: usize, labels: &Labels) -> Labels {
    let Some(scope) = run.experiments.get(experiment).map(|e| &e.request.scope) else { return labels.clone() };
    let mut labels = labels.clone();
    if labels.from().is_none() && labels.from_cpu().is_none() {
        let node = tiermark_model::cpu_node(scope, &run.machine);
        labels = node.map(|node| labels.clone().with_from(format!("node:{node}"))).unwrap_or(labels);
    }
    if labels.place().is_none() {
        let place = tiermark_model::distance(&labels, scope, &run.machine);
        labels = place.map(|place| labels.clone().with_place(place)).unwrap_or(labels);
    }
    labels
}

/// What every row of an experiment has: the run, and a number with its labels and its verdict.
fn of_experiment<'a>(
    run: &'a Run,
    experiment: usize,
    quantity: Quantity,
    (labels, verdict): (&'a Labels, &Verdict),
) -> TidyRow<'a, Quantity, Unit, ReasonCode> {
    TidyRow {
        run: &run.id,
        started: &run.started,
        simulated: run.simulated.is_some(),
        probe: run.experiments.get(experiment).map_or("", |e| &e.request.probe),
        experiment: experiment + 1,
        step: "",
        metric: quantity,
        unit: Unit::Count,
        value: None,
        low: None,
        high: None,
        kind: None,
        p10: None,
        p90: None,
        best: None,
        grade: Some(verdict.grade),
        reasons: verdict.reasons.iter().map(tiermark_model::Reason::code).collect(),
        refusal: None,
        visits: None,
        state: None,
        host: run.host(),
        labels,
    }
}

fn observed(run: &Run, experiment: usize, seen: &Observation) -> Value {
    let labels = placed(run, experiment, &seen.labels);
    let row = TidyRow {
        step: &seen.step,
        unit: seen.unit,
        value: seen.value,
        low: seen.interval.map(|interval| interval.low),
        high: seen.interval.map(|interval| interval.high),
        kind: Some(seen.kind),
        p10: seen.typical.map(|typical| typical.p10),
        p90: seen.typical.map(|typical| typical.p90),
        best: seen.best,
        refusal: seen.refusal.as_ref().map(|refusal| &refusal.code),
        visits: Some(seen.visits.len()),
        state: seen.state,
        ..of_experiment(run, experiment, seen.metric.into(), (&labels, &seen.verdict))
    };
    row.object()
}

/// A finding: its step is the first that it rests on.
fn found(run: &Run, experiment: usize, finding: &Finding) -> Value {
    let labels = placed(run, experiment, &finding.labels);
    let row = TidyRow {
        step: finding.evidence.first().map_or("", String::as_str),
        unit: finding.unit,
        value: finding.value,
        // What was looked for and not found is no number that could be good or bad.
        grade: Some(finding.verdict.grade).filter(|grade| finding.value.is_some() || !grade.is_number()),
        low: finding.interval.map(|interval| interval.low),
        high: finding.interval.map(|interval| interval.high),
        kind: finding.kind,
        p10: finding.typical.map(|typical| typical.p10),
        p90: finding.typical.map(|typical| typical.p90),
        best: finding.best,
        ..of_experiment(run, experiment, finding.quantity.clone(), (&labels, &finding.verdict))
    };
    row.object()
}

/// Renders a run as lines of JSON: an object for each observation and each conclusion, with its labels in an object of
/// their own.
pub fn json_rows(run: &Run) -> String {
    lines(rows(run).into_iter())
}

/// Rows as lines of JSON.
pub(crate) fn lines(rows: impl Iterator<Item = Value>) -> String {
    rows.map(|row| format!("{row}\n")).collect()
}

/// Renders a run as CSV (RFC 4180): a row for each observation and each conclusion (sizes, knees, limits,
/// shares, ratios), and a column for each label that any kind of run has,
/// so that the files of several runs can be joined. A label that is called as another column has `label_` before its
/// name. Labels that only documents of other versions have follow in further columns.
pub fn csv(run: &Run) -> String {
    table(&rows(run))
}

/// Rows as CSV, with the columns of every kind of run.
pub(crate) fn table(all: &[Value]) -> String {
    let own = all.iter().filter_map(|row| row["labels"].as_object()).flat_map(|labels| labels.keys());
    let strange: BTreeSet<&str> = own.map(String::as_str).filter(|key| !Labels::NAMES.contains(key)).collect();
    let keys: Vec<&str> = Labels::NAMES.iter().copied().chain(strange).collect();
    let name = |key: &&str| if COLUMNS.contains(key) { format!("label_{key}") } else { (*key).to_owned() };
    let names: Vec<String> = keys.iter().map(name).collect();
    let head = COLUMNS.into_iter().chain(names.iter().map(String::as_str)).map(quoted);
    let mut out = head.collect::<Vec<_>>().join(",") + "\n";
    for row in all {
        let fixed = COLUMNS.iter().map(|column| cell(&row[*column]));
        let labels = keys.iter().map(|key| cell(&row["labels"][*key]));
        out.push_str(&fixed.chain(labels).collect::<Vec<_>>().join(","));
        out.push('\n');
    }
    out
}

/// A value as a field; nothing for what is absent.
pub(crate) fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => quoted(text),
        Value::Array(all) => {
            let all: Vec<&str> = all.iter().filter_map(Value::as_str).collect();
            quoted(&all.join(";"))
        }
        Value::Object(all) => {
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let all: Vec<String> = all.iter().map(|(key, value)| format!("{key}={}", text(value))).collect();
            quoted(&all.join(" "))
        }
        other => other.to_string(),
    }
}

/// A text as a field, without control characters, in quotes where it has to be. A sign at its beginning would make a
/// formula of it in a spreadsheet (CWE-1236), so that an apostrophe stands before it.
fn quoted(text: &str) -> String {
    let formula = if text.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
    let text = &format!("{formula}{}", clean(text));
    let plain = !text.contains(['"', ',']);
    if plain { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use tiermark_model::{Interval, Metric, Reason, Typical};

    use super::*;
    use tiermark_model::Label;

    fn run() -> Run {
        let labels = Labels::new().with_tier_name("L1, \"first\"").with_size(4096).with_state("x");
        let interval = Some(Interval { low: 1.0, high: 1.5, level: 0.95 });
        let typical = Some(Typical { median: 1.25, p10: 1.5, p90: 4.0 });
        let mut seen = Observation {
            value: Some(1.25),
            kind: ValueKind::Typical,
            interval,
            typical,
            best: Some(1.125),
            ..Observation::new("a", labels, Metric::Latency)
        };
        seen.verdict.bound(Reason::TooFew { windows: 1, visits: 1 });
        let other = Observation::new("b", Labels::new().with_op("read"), Metric::Bandwidth);
        let mut run: Run = serde_json::from_str(include_str!("../../history/tests/fixtures/run-4.json")).unwrap();
        run.experiments.truncate(1);
        run.experiments[0].observations = vec![seen, other];
        run
    }

    /// The cells of a line without commas in quotes, by the names of the head.
    fn cell<'a>(text: &'a str, line: usize, column: &str) -> &'a str {
        let lines: Vec<&str> = text.lines().collect();
        let at = lines[0].split(',').position(|name| name == column).unwrap_or_else(|| panic!("no {column}"));
        lines[line].split(',').nth(at).unwrap()
    }

    #[test]
    fn a_row_has_every_column() {
        let mut run = run();
        run.labels.insert(tiermark_model::HOST_LABEL.to_owned(), "node07".to_owned());
        let text = csv(&run);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5, "two observations, and what was concluded");
        assert!(lines[0].starts_with("run,started,simulated,probe,experiment,step,metric,unit,value,low,high"));
        assert!(
            lines[1].contains(",1.25,1.0,1.5,typical,1.5,4.0,1.125,bound,")
                && lines[1].contains(",\"L1, \"\"first\"\"\",")
        );
        let of_second = ["op", "size", "label_state", "tier", "value"].map(|column| cell(&text, 2, column));
        assert_eq!(of_second, ["read", "", "", "", ""]);
        assert_eq!(cell(&text, 2, "host"), "node07");
    }

    /// So that files can be joined, whatever was measured.
    #[test]
    fn every_run_has_the_same_columns() {
        let head = |run: &Run| csv(run).lines().next().unwrap().to_owned();
        let mut other = run();
        other.experiments[0].observations.clear();
        assert_eq!(head(&run()), head(&other));
        for key in Labels::NAMES {
            assert!(head(&other).split(',').any(|name| name.strip_prefix("label_").unwrap_or(name) == *key), "{key}");
        }
        // Of a document of another version nothing is lost.
        other.experiments[0].observations = vec![Observation::new(
            "a",
            Labels::new().with_named("colour", Label::Text("red".to_owned())),
            Metric::Latency,
        )];
        assert_eq!(head(&other), head(&run()) + ",colour");
        assert_eq!(cell(&csv(&other), 1, "colour"), "red");
    }

    #[test]
    fn rows_say_that_they_are_simulated_and_have_no_control_characters() {
        let mut run = run();
        run.simulated = Some("synth:".into());
        run.experiments[0].observations[1].labels = Labels::new().with_op("re\u{1b}[31mad");
        let text = csv(&run);
        assert!(text.lines().nth(1).unwrap().contains(",true,") && !text.contains('\u{1b}'), "{text}");
        run.simulated = None;
        assert!(csv(&run).lines().nth(1).unwrap().contains(",false,"));
    }

    #[test]
    fn a_line_is_an_object_with_its_labels() {
        let text = json_rows(&run());
        let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((rows.len(), &rows[0]["value"], &rows[0]["labels"]["size"]), (4, &1.25.into(), &4096.into()));
        assert_eq!((&rows[0]["grade"], rows[0]["reasons"][0].as_str()), (&"bound".into(), Some("too_few")));
        assert_eq!((&rows[1]["value"], &rows[1]["unit"]), (&Value::Null, &"bytes_per_second".into()));
    }
}
