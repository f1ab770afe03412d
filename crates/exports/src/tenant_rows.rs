//! Runs of tenants and of load in the layouts for other programs: rows with the columns of every kind of run, and
//! gauges.

use serde_json::Value;
use tiermark_model::capacity::{
    Answer, Capacity, Case, CurvePoint, Evidence, Outcome, TenantCount, TrialKind, TrialRecord,
};
use tiermark_model::load::{LoadLatencies, LoadLoop, LoadRun, LoadTenant, PUNCTUAL};
use tiermark_model::{Grade, LabelSet, Labels, RunLabels};

use crate::metrics::{self, Metric};
use crate::openmetrics::{AboutRun, Families, Named, add, add_run, name, text, written};
use crate::tidy::{TidyRow, lines, table};
use tiermark_stats::median;

/// What a number is of: its name and unit in rows, the gauge, and how many of the unit a unit of the gauge has.
type Measure = (&'static str, &'static str, Metric<'static>, f64);

/// How many tenants fit.
const TENANTS: Measure = ("tenants", "count", metrics::TENANTS, 1.0);
/// Time from when a request was due to its answer.
const RESPONSE: Measure = ("request.latency", "ns", metrics::REQUEST_LATENCY, 1e9);
/// Time from when it was sent.
const SERVICE: Measure = ("request.service", "ns", metrics::REQUEST_SERVICE, 1e9);
/// Answers a second.
const RATE: Measure = ("request.rate", "per_second", metrics::REQUEST_RATE, 1.0);
/// Requests answered over requests due.
const ANSWERED: Measure = ("request.answered", "ratio", metrics::REQUEST_ANSWERED, 1.0);
/// GETs that found their key over all GETs.
const HITS: Measure = ("request.hits", "ratio", metrics::REQUEST_HITS, 1.0);
/// Requests sent late over requests due.
const LATE: Measure = ("request.late", "ratio", metrics::REQUEST_LATE, 1.0);
/// Shares of the cpus' time that were used: by all, and by whom.
const CPUS: Measure = ("cpus.busy", "ratio", metrics::CPUS_BUSY, 1.0);
const CPUS_OF_TENANTS: Measure = ("cpus.tenants", "ratio", metrics::CPUS_TENANTS, 1.0);
const CPUS_OF_CLIENT: Measure = ("cpus.client", "ratio", metrics::CPUS_CLIENT, 1.0);
const CPUS_OF_OTHERS: Measure = ("cpus.others", "ratio", metrics::CPUS_OTHERS, 1.0);

/// Labels that may differ from run to run, beside the grade.
const OF_THE_RUN: LabelSet = LabelSet::NONE.tenants().ended_by();

/// A number.
struct TenantRow {
    /// Number of the search, from 1.
    search: usize,
    /// `search` and `load` of what the run is about, `trial/3` of one trial.
    step: String,
    measure: Measure,
    value: Option<f64>,
    ends: Option<(f64, f64)>,
    grade: Grade,
    /// Why the grade is not trusted.
    reasons: Vec<&'static str>,
    labels: Labels,
}

/// A run of tenants or of load as numbers.
pub struct TenantRows<'a> {
    id: &'a str,
    host: Option<&'a str>,
    run_labels: &'a RunLabels,
    started: &'a str,
    probe: &'static str,
    title: String,
    is_complete: bool,
    seconds: Option<f64>,
    rows: Vec<TenantRow>,
}

impl<'a> TenantRows<'a> {
    /// The numbers of a run of tenants: of each search the tenants that fit and their requests, then each trial.
    #[must_use]
    pub fn of_capacity(run: &'a Capacity) -> Self {
        let is_open = |case: &Case| matches!(case.answer, Answer::Between { .. });
        Self {
            id: &run.id,
            host: run.host(),
            run_labels: &run.labels,
            started: &run.started,
            probe: "capacity",
            title: format!("capacity {}", run.scenario),
            is_complete: !run.cases.iter().any(is_open),
            seconds: None,
            rows: run.cases.iter().zip(1..).flat_map(|(case, number)| of_case(case, number)).collect(),
        }
    }

    /// The numbers of a run of load: of all tenants, and of each of several.
    #[must_use]
    pub fn of_load(run: &'a LoadRun) -> Self {
        let seconds = [&run.fill, &run.measured].into_iter().flatten().map(|part| part.client_wall_seconds).sum();
        Self {
            id: &run.id,
            host: run.host(),
            run_labels: &run.labels,
            started: &run.started,
            probe: "load",
            title: "load".to_owned(),
            is_complete: run.complete,
            seconds: Some(seconds),
            rows: of_load(run),
        }
    }

    /// As CSV, with the columns of every kind of run.
    #[must_use]
    pub fn csv(&self) -> String {
        table(&self.objects().collect::<Vec<_>>())
    }

    /// As lines of JSON.
    #[must_use]
    pub fn json_rows(&self) -> String {
        lines(self.objects())
    }

    /// As OpenMetrics: what the run is about, without single trials.
    #[must_use]
    pub fn openmetrics(&self) -> String {
        let mut families = Families::new();
        let rows = self.rows.iter().filter(|row| row.labels.trial().is_none());
        for row in rows.filter(|row| row.grade != Grade::Invalid) {
            let Some(value) = row.value.filter(|value| value.is_finite()) else { continue };
            let (.., gauge, divisor) = row.measure;
            let named = |is_of_the_run: bool| -> Named {
                let own = row.labels.iter().filter(|(key, _)| OF_THE_RUN.has_name(key) == is_of_the_run);
                own.map(|(key, label)| (name(key), text(label))).collect()
            };
            let (mut how, mut of) = (named(true), named(false));
            of.insert("probe".to_owned(), self.probe.to_owned());
            how.insert("grade".to_owned(), row.grade.to_string());
            add(&mut families, gauge, value / divisor, of, how);
        }
        let about = AboutRun {
            id: self.id,
            host: self.host,
            labels: self.run_labels,
            title: &self.title,
            started: self.started,
            is_complete: self.is_complete,
            is_simulated: false,
            seconds: self.seconds,
        };
        add_run(&mut families, &about);
        written(families)
    }

    fn objects(&self) -> impl Iterator<Item = Value> {
        self.rows.iter().map(|row| {
            let (metric, unit, ..) = row.measure;
            let row = TidyRow {
                run: self.id,
                started: self.started,
                simulated: false,
                probe: self.probe,
                experiment: row.search,
                step: &row.step,
                metric,
                unit,
                value: row.value,
                low: row.ends.map(|(low, _)| low),
                high: row.ends.map(|(_, high)| high),
                kind: None,
                p10: None,
                p90: None,
                best: None,
                grade: Some(row.grade),
                reasons: row.reasons.clone(),
                refusal: None,
                visits: None,
                state: None,
                host: self.host,
                labels: &row.labels,
            };
            row.object()
        })
    }
}

/// A statistic of a trial.
type Percentile = (&'static str, fn(&CurvePoint) -> Option<f64>);

/// Those that rows have.
const PERCENTILES: [Percentile; 7] = [
    ("mean", |point| Some(point.average_ns)),
    ("p50", |point| Some(point.p50_ns)),
    ("p90", |point| Some(point.p90_ns)),
    ("p95", |point| point.p95_ns),
    ("p99", |point| Some(point.p99_ns)),
    ("p999", |point| Some(point.p99_9_ns)),
    ("max", |point| Some(point.max_ns)),
];

/// A share that a trial saw.
type Seen = (Measure, fn(&Evidence) -> Option<f64>);

/// Those that rows have.
const SEEN: [Seen; 6] = [
    (HITS, |seen| seen.hit_share),
    (LATE, |seen| seen.late_sends),
    (CPUS, |seen| seen.cpu),
    (CPUS_OF_TENANTS, |seen| seen.tenants_cpu),
    (CPUS_OF_CLIENT, |seen| seen.client_share),
    (CPUS_OF_OTHERS, Evidence::others_cpu),
];

/// The rows of a search.
fn of_case(case: &Case, search: usize) -> Vec<TenantRow> {
    let labels = Labels::new().with_tier_name(&case.tier).with_workload(&case.load);
    let ended_by = case.ended_by.as_ref().map(|by| by.resource.to_string());
    let answer = ended_by.map_or(labels.clone(), |by| labels.clone().with_ended_by(by));
    let mut rows = vec![of_answer(&case.answer, search, answer)];
    let numbers = case.tenant_counts();
    let fits = case.answer.fits();
    let fitting = numbers.iter().filter(|number| number.tenants == fits);
    rows.extend(fitting.flat_map(|number| of_number(number, &case.trials, search, &labels)));
    let mut trials = Vec::new();
    for number in &numbers {
        for (kind, point) in number.trials.iter().flat_map(|(kind, points)| points.iter().map(|p| (*kind, *p))) {
            let record = case.trials.iter().find(|trial| trial.number == point.trial);
            trials.push((point.trial, of_trial(record, Some((kind, point)), search, &labels)));
        }
    }
    let is_measured = |trial: &&TrialRecord| case.curve.iter().any(|point| point.trial == trial.number);
    let others = case.trials.iter().filter(|trial| !is_measured(trial));
    trials.extend(others.map(|trial| (trial.number, of_trial(Some(trial), None, search, &labels))));
    trials.sort_by_key(|(number, _)| *number);
    rows.extend(trials.into_iter().flat_map(|(_, rows)| rows));
    rows
}

/// How many tenants fit.
fn of_answer(answer: &Answer, search: usize, labels: Labels) -> TenantRow {
    let ends = |low: u32, high: Option<u32>| high.map(|high| (f64::from(low), f64::from(high)));
    let (value, ends, grade, reasons) = match answer {
        Answer::Exactly { tenants, .. } => (Some(*tenants), None, Grade::Trusted, Vec::new()),
        Answer::None { .. } => (Some(0), None, Grade::Trusted, Vec::new()),
        Answer::AtLeast { tenants } => (Some(*tenants), None, Grade::Bound, vec!["most_tenants"]),
        Answer::Fixed { tenants, outcome: Outcome::Pass } => (Some(*tenants), None, Grade::Bound, vec!["fixed"]),
        Answer::Fixed { .. } => (None, None, Grade::Invalid, vec!["fixed"]),
        // Nothing is known of a search without a clear trial.
        Answer::Between { low: 0, high: None, .. } => (None, None, Grade::Invalid, vec!["between"]),
        Answer::Between { low, high, .. } => (Some(*low), ends(*low, *high), Grade::Bound, vec!["between"]),
    };
    let value = value.map(f64::from);
    TenantRow { search, step: "search".to_owned(), measure: TENANTS, value, ends, grade, reasons, labels }
}

/// Requests of the tenants that fit: the median over the trials that tables show.
fn of_number(number: &TenantCount<'_>, trials: &[TrialRecord], search: usize, labels: &Labels) -> Vec<TenantRow> {
    let labels = labels.clone().with_tenants(u64::from(number.tenants));
    let Some(kind) = number.kind() else { return Vec::new() };
    let middle = |field: fn(&CurvePoint) -> Option<f64>| {
        median(&number.results().iter().filter_map(|point| field(point)).collect::<Vec<f64>>())
    };
    let row = |measure: Measure, value: Option<f64>, labels: Labels| TenantRow {
        search,
        step: "search".to_owned(),
        measure,
        value,
        ends: None,
        grade: kind.grade(),
        reasons: kind.code().into_iter().collect(),
        labels,
    };
    let percentiles = PERCENTILES
        .iter()
        .map(|(statistic, field)| row(RESPONSE, middle(*field), labels.clone().with_statistic(statistic)));
    let is_shown = |trial: &&TrialRecord| number.results().iter().any(|point| point.trial == trial.number);
    let of_trials = |field: fn(&TrialRecord) -> Option<f64>| {
        median(&trials.iter().filter(is_shown).filter_map(field).collect::<Vec<f64>>())
    };
    let mut others = vec![(RATE, of_trials(rate)), (ANSWERED, middle(|point| Some(point.achieved)))];
    let hits = of_trials(|trial| trial.evidence.as_ref()?.hit_share);
    others.extend(hits.map(|share| (HITS, Some(share))));
    percentiles.chain(others.into_iter().map(|(measure, value)| row(measure, value, labels.clone()))).collect()
}

/// Answers a second in a trial.
fn rate(trial: &TrialRecord) -> Option<f64> {
    let seen = trial.evidence.as_ref().filter(|seen| seen.seconds > 0.0)?;
    Some(seen.requests as f64 / seen.seconds)
}

/// A trial: its record, and its result where requests were answered.
fn of_trial(
    record: Option<&TrialRecord>,
    result: Option<(TrialKind, &CurvePoint)>,
    search: usize,
    labels: &Labels,
) -> Vec<TenantRow> {
    let (point, kind) = (result.map(|(_, point)| point), result.map(|(kind, _)| kind));
    let either = |own: fn(&CurvePoint) -> u32, other: fn(&TrialRecord) -> u32| point.map(own).or(record.map(other));
    let (number, tenants) = (either(|p| p.trial, |t| t.number), either(|p| p.tenants, |t| t.tenants));
    let mut labels = labels.clone().with_trial(u64::from(number.unwrap_or_default()));
    labels = labels.with_tenants(u64::from(tenants.unwrap_or_default()));
    if let Some(outcome) = record.map(|trial| trial.outcome).or(point.map(|point| point.outcome)) {
        labels = labels.with_outcome(outcome);
    }
    if let Some(trial) = record {
        labels = labels.with_phase(trial.phase);
    }
    let late = record
        .and_then(|trial| trial.evidence.as_ref())
        .is_some_and(|seen| seen.late_sends.is_some_and(|share| share > PUNCTUAL));
    let row = |measure: Measure, value: Option<f64>, labels: Labels| TenantRow {
        search,
        step: format!("trial/{}", number.unwrap_or_default()),
        measure,
        value,
        ends: None,
        grade: kind.map_or(Grade::Invalid, |kind| if late { Grade::Suspect } else { kind.grade() }),
        reasons: kind
            .map_or(Some("no_times"), TrialKind::code)
            .into_iter()
            .chain(late.then_some("late_client"))
            .collect(),
        labels,
    };
    let percentiles = PERCENTILES
        .iter()
        .map(|(statistic, value)| row(RESPONSE, point.and_then(value), labels.clone().with_statistic(statistic)));
    let mut rows: Vec<TenantRow> = percentiles.collect();
    rows.extend(record.and_then(rate).map(|rate| row(RATE, Some(rate), labels.clone())));
    rows.extend(point.map(|point| row(ANSWERED, Some(point.achieved), labels.clone())));
    let seen = record.and_then(|trial| trial.evidence.as_ref());
    let shares =
        seen.into_iter().flat_map(|seen| SEEN.iter().filter_map(|(measure, value)| Some((*measure, value(seen)?))));
    rows.extend(shares.map(|(measure, share)| row(measure, Some(share), labels.clone())));
    rows
}

/// The rows of a load: of all tenants, and of each of several.
fn of_load(run: &LoadRun) -> Vec<TenantRow> {
    let Some(part) = &run.measured else { return Vec::new() };
    let asked = &run.workload;
    let labels = Labels::new()
        .with_workload(format!("{} % GET, {}", asked.mix.get_percent, asked.key_dist))
        .with_tenants(part.tenants.len() as u64);
    let each = part.tenants.iter().zip(part.names()).filter(|_| part.tenants.len() > 1);
    let each = each.map(|(seen, name)| (seen, labels.clone().with_tenant(name)));
    std::iter::once((&part.all, labels.clone())).chain(each).flat_map(|(seen, of)| of_tenant(seen, run, &of)).collect()
}

fn of_tenant(seen: &LoadTenant, run: &LoadRun, labels: &Labels) -> Vec<TenantRow> {
    let doubts = [
        (!run.complete, "stopped"),
        (seen.fault.is_some(), "given_up"),
        (seen.errors > 0 || seen.unanswered > 0, "errors"),
        // Its times have the client's own delay in them.
        (seen.is_client_late(), "late_client"),
    ];
    let reasons: Vec<&str> = doubts.iter().filter(|(is_so, _)| *is_so).map(|(_, code)| *code).collect();
    let row = |measure: Measure, value: Option<f64>, labels: Labels| TenantRow {
        search: 1,
        step: "load".to_owned(),
        measure,
        value,
        ends: None,
        grade: if reasons.is_empty() { Grade::Trusted } else { Grade::Suspect },
        reasons: reasons.clone(),
        labels,
    };
    let times = |of: &LoadLatencies| {
        [
            ("mean", of.mean),
            ("min", ns(of.min)),
            ("p50", ns(of.p50)),
            ("p90", ns(of.p90)),
            ("p95", ns(of.p95)),
            ("p99", ns(of.p99)),
            ("p999", ns(of.p999)),
            ("max", ns(of.max)),
        ]
    };
    let percentiles = [(RESPONSE, &seen.response), (SERVICE, &seen.service)].into_iter().flat_map(|(measure, of)| {
        times(of).map(|(statistic, value)| (measure, value, labels.clone().with_statistic(statistic)))
    });
    let mut rows: Vec<TenantRow> = percentiles.map(|(measure, value, of)| row(measure, value, of)).collect();
    rows.push(row(RATE, Some(seen.requests_per_second), labels.clone()));
    let is_due = run.workload.pacing != LoadLoop::Closed;
    rows.extend(seen.achieved_share.filter(|_| is_due).map(|share| row(ANSWERED, Some(share), labels.clone())));
    rows.extend(hits(seen).map(|share| row(HITS, Some(share), labels.clone())));
    rows.extend(seen.late_share().filter(|_| is_due).map(|share| row(LATE, Some(share), labels.clone())));
    rows
}

/// The share of the GETs of a load that found their key; `None` without a GET.
fn hits(seen: &LoadTenant) -> Option<f64> {
    (seen.gets > 0).then(|| seen.gets.saturating_sub(seen.misses) as f64 / seen.gets as f64)
}

fn ns(value: Option<u64>) -> Option<f64> {
    value.map(|ns| ns as f64)
}

#[cfg(test)]
mod tests;
