//! The view of a capacity run: tenants per tier, the curve over their number, trials, and cost.

mod charts;
mod evidence;

use std::cmp::Ordering;
use tiermark_stats::{max, median};

use tiermark_model::Grade;
use tiermark_model::capacity::{
    Answer, Capacity, Case, CostRow, CostTable, CurvePoint, Outcome, Phase, Setting, TenantCount, TrialKind,
    TrialRecord, Votes, tenants as words,
};
use tiermark_model::messages::trials::codes::settling_off;
use tiermark_page::{
    ABSENT, Cell, Detail, Ink, Page, Table, achieved, bullet, grade_mark, heading, items, nanoseconds, paragraph,
    percent, railed, space, text,
};

use crate::{RunSummary, labels_line, machine_line};

/// Renders a capacity run. In detail every trial says why it was made.
pub fn capacity(run: &Capacity, detail: Detail) -> Page {
    let mut first = vec![format!("tiermark capacity: {}", run.scenario), run.started.clone()];
    first.extend(run.host().map(str::to_owned));
    let mut out = paragraph("", items(&first), Ink::Head);
    out += paragraph("", machine_line(&run.machine), Ink::Plain);
    out += labels_line(&run.labels);
    out += space();
    out += paragraph("  tenant  ", &run.workload, Ink::Plain);
    out += paragraph("  level   ", &run.level, Ink::Plain);
    if is_unsettled(run) {
        out += paragraph("  settle  ", "0: no trial waited until the system was steady", Ink::Dim);
    }
    out += space();
    out += answers(&run.cases);
    out += conclusion(run);
    out += charts::side_by_side(&run.cases);
    out += charts::bars(run);
    for case in &run.cases {
        out += heading(format!("{}, {}", case.tier, case.load));
        out += explained(case);
        out += curve(case, &run.level);
        out += charts::over_tenants(case);
        out += charts::omission(case);
        if detail.is_all() {
            out += settings(case);
            out += trials(&case.trials);
        }
    }
    out += charts::curves(run);
    if let Some(cost) = &run.cost {
        out += heading("Cost");
        out += costs(cost);
        out += charts::cost_curves(run, cost);
    }
    if !run.refused.is_empty() {
        out += heading("Not measured");
    }
    for refusal in &run.refused {
        out += bullet("!", Ink::Warn, format!("{}: {}", refusal.what, refusal.why), Some(&refusal.cure));
    }
    if !run.warnings.is_empty() {
        out += space();
    }
    for warning in &run.warnings {
        out += bullet("!", Ink::Warn, &warning.text, warning.cure.as_deref());
    }
    let git = run.tool.git.as_ref().map_or(String::new(), |git| format!(" ({git})"));
    let last = [format!("tiermark {}{git} {}", run.tool.version, run.tool.target), format!("seed {}", run.seed)];
    out += space() + paragraph("", items(&last), Ink::Dim);
    out
}

/// The run in a list of runs.
pub fn summary(run: &Capacity) -> RunSummary {
    let name = run.machine.cpu_model.name.as_deref().unwrap_or("unknown processor");
    let stopped = if run.is_stopped() { ", stopped" } else { "" };
    let title = format!("capacity {}{stopped}", capacity_line(run));
    RunSummary { title, seconds: None, trusted: None, host: run.host().map(str::to_owned), machine: name.to_owned() }
}

/// A capacity run in one line: the scenario, and how many tenants fit on each kind of memory.
pub fn capacity_line(run: &Capacity) -> String {
    let several = run.cases.iter().any(|case| case.load != run.cases[0].load);
    let answers = run.cases.iter().map(|case| {
        let load = if several { format!(" ({})", case.load) } else { String::new() };
        format!("{}{load} {}", case.tier, case.answer.as_number())
    });
    format!("{}: {}", run.scenario, answers.collect::<Vec<_>>().join(", "))
}

/// Whether the run waited for no trial to become steady: said once, and not of each trial.
fn is_unsettled(run: &Capacity) -> bool {
    let evidence = run.cases.iter().flat_map(|case| case.trials.iter().filter_map(|trial| trial.evidence.as_ref()));
    evidence.filter_map(|evidence| evidence.not_steady.as_ref()).any(|why| why.code == settling_off)
}

fn answers(cases: &[Case]) -> Page {
    let table = Table::of(cases).texts("tier", |case| &case.tier).texts("load", |case| &case.load);
    let table = table.numbers("tenants", |case| Cell::inked(case.answer.as_number(), Ink::Head));
    let table = table.numbers("× dram", |case| or_absent(case.over_dram, |ratio| format!("{ratio:.2}")));
    table.texts("ended by", |case| or_absent(case.ended_by.as_ref(), |by| by.resource.to_string())).table().into()
}

/// What follows: how many tenants each tier holds, how many times those of DRAM, and what one costs.
fn conclusion(run: &Capacity) -> Page {
    let several = run.cases.iter().any(|case| case.load != run.cases[0].load);
    let part = |case: &Case| {
        let load = if several { format!(" ({})", case.load) } else { String::new() };
        let times = case.over_dram.map(|times| format!(", {times:.2} times those of dram"));
        let row =
            run.cost.iter().flat_map(|cost| &cost.rows).find(|row| row.tier == case.tier && row.load == case.load);
        let price = run.cost.as_ref().zip(row.map(|row: &CostRow| row.per_tenant));
        let price = price.map(|(cost, each)| format!(", {each:.2} {} each", cost.currency));
        let (times, price) = (times.unwrap_or_default(), price.unwrap_or_default());
        format!("{}{load} {}{}{times}{price}", case.tier, case.answer.in_words(), no_more(case, run))
    };
    if run.cases.is_empty() {
        return Page::new();
    }
    let parts: Vec<String> = run.cases.iter().map(part).collect();
    paragraph("  ", format!("{}.", parts.join("; ")), Ink::Head)
}

/// Where the run tried no more tenants, and not the tier held no more.
fn no_more(case: &Case, run: &Capacity) -> String {
    let at_least = matches!(case.answer, Answer::AtLeast { .. } | Answer::Between { high: None, .. });
    let is_limit = at_least && run.most_tenants.is_some_and(|most| case.answer.fits() >= most);
    if is_limit { format!(" (`{}` stops there; --most-tenants N tries more)", run.scenario) } else { String::new() }
}

fn of_votes(votes: &Votes) -> String {
    let unclear = if votes.unclear > 0 { format!(", {} unclear", votes.unclear) } else { String::new() };
    format!("{} of {} trials{unclear}", votes.passed, u64::from(votes.passed) + u64::from(votes.failed))
}

/// How sure the answer is, and what ended it.
fn explained(case: &Case) -> Page {
    let text = match &case.answer {
        Answer::Exactly { tenants, votes: holds, beyond } => {
            // As the table counts them. The answer of the document leaves short trials out of `beyond`.
            let more = u64::from(*tenants) + 1;
            let holds = case.votes(u64::from(*tenants)).unwrap_or(*holds);
            let beyond = case.votes(more).unwrap_or(*beyond);
            let failed = Votes { passed: beyond.failed, failed: beyond.passed, unclear: beyond.unclear };
            format!("{} passed {}, {more} failed {}", words(*tenants), of_votes(&holds), of_votes(&failed))
        }
        Answer::Between { why, .. } => format!("{}: {why}", case.answer.in_words()),
        Answer::AtLeast { tenants } => {
            format!("{} passed, the limit of this run (most-tenants)", words(*tenants))
        }
        Answer::Fixed { tenants, .. } => match case.trials.last() {
            Some(trial) => format!("{}: {}", words(*tenants), trial.reason()),
            None => words(*tenants),
        },
        Answer::None { why } => format!("not even one tenant: {why}"),
    };
    let mut out = paragraph("  ", &text, Ink::Plain);
    if let Some(ended) = &case.ended_by {
        out += paragraph("  ", format!("ended by {}: {}", ended.resource, ended.why), Ink::Plain);
    }
    // A single number of tenants says it above.
    let is_stated = matches!(case.answer, Answer::Fixed { .. });
    if let Some(trial) = case.telling().filter(|trial| trial.missed().is_some() && !is_stated) {
        out += paragraph("  ", format!("missed: {}", trial.decided_by), Ink::Plain);
    }
    // The last trial of the most tenants within the level: the resources that it used.
    let most = case.trials.iter().filter(|trial| trial.outcome == Outcome::Pass).max_by_key(|trial| trial.tenants);
    if let Some((trial, usage)) = most.and_then(|trial| Some((trial, usage(trial)?))) {
        out += paragraph("  ", format!("at {}: {usage}", words(trial.tenants)), Ink::Plain);
    }
    out
}

/// Counters of the system during a trial.
fn usage(trial: &TrialRecord) -> Option<String> {
    trial.evidence.as_ref().map(evidence::words).filter(|words| !words.is_empty())
}

fn mark(outcome: Outcome) -> (&'static str, Ink) {
    match outcome {
        Outcome::Pass => (grade_mark(Grade::Trusted), Ink::Good),
        Outcome::Fail => (grade_mark(Grade::Invalid), Ink::Bad),
        Outcome::Unclear => ("?", Ink::Warn),
    }
}

fn outcome(outcome: Outcome) -> Cell {
    let (mark, ink) = mark(outcome);
    Cell::inked(format!("{mark} {outcome}"), ink)
}

/// Outcomes of the trials of one number of tenants: that of all, or how many passed of those with a clear outcome.
fn outcomes(votes: &Votes) -> Cell {
    match *votes {
        Votes { passed: 1, failed: 0, unclear: 0 } => outcome(Outcome::Pass),
        Votes { passed: 0, failed: 1, unclear: 0 } => outcome(Outcome::Fail),
        Votes { passed: 0, failed: 0, .. } => outcome(Outcome::Unclear),
        Votes { passed, failed, unclear } => {
            let (mark, ink) = mark(majority(passed, failed));
            let unclear = if unclear > 0 { format!(", {unclear} ?") } else { String::new() };
            Cell::inked(format!("{mark} {passed} of {}{unclear}", u64::from(passed) + u64::from(failed)), ink)
        }
    }
}

fn majority(passed: u32, failed: u32) -> Outcome {
    match passed.cmp(&failed) {
        Ordering::Greater => Outcome::Pass,
        Ordering::Less => Outcome::Fail,
        Ordering::Equal => Outcome::Unclear,
    }
}

/// A number of a table; a dash where it is not known.
fn or_absent<T>(of: Option<T>, text: impl FnOnce(T) -> String) -> String {
    of.map_or_else(|| ABSENT.to_owned(), text)
}

/// A time in µs.
fn micro(ns: f64) -> String {
    nanoseconds(ns / 1000.0)
}

/// Settings of the system during the search.
fn settings(case: &Case) -> Page {
    let setting = |setting: &Setting| {
        let on = setting.on.as_ref().map_or_else(String::new, |on| format!(" ({on})"));
        format!("{}{on} {}", setting.name, setting.value)
    };
    let settings: Vec<String> = case.settings.iter().map(setting).collect();
    if settings.is_empty() {
        return Page::new();
    }
    space() + paragraph("  settings: ", settings.join(", "), Ink::Dim)
}

/// A figure of a trial.
type Field = fn(&CurvePoint) -> Option<f64>;

/// Columns of times: the heading, and the figure.
const TIMES: [(&str, Field); 6] = [
    ("average|µs", |point| Some(point.average_ns)),
    ("P50|µs", |point| Some(point.p50_ns)),
    ("P95|µs", |point| point.p95_ns),
    ("P99|µs", |point| Some(point.p99_ns)),
    ("P99.9|µs", |point| Some(point.p99_9_ns)),
    ("max|µs", |point| Some(point.max_ns)),
];

/// A row of the table over tenants: each figure is picked among the trials of a number.
struct TenantsRow<'a> {
    of: &'a TenantCount<'a>,
    trials: String,
    pick: fn(&[f64]) -> Option<f64>,
    /// The outcomes are those of all trials, and said once.
    has_outcomes: bool,
}

impl TenantsRow<'_> {
    fn picked(&self, field: Field) -> Option<f64> {
        (self.pick)(&self.of.results().iter().filter_map(|point| field(point)).collect::<Vec<f64>>())
    }
}

/// Results over the number of tenants: of several full trials the worst and the median of each figure.
fn curve(case: &Case, level: &str) -> Page {
    let numbers = case.tenant_counts();
    if numbers.is_empty() {
        return Page::new();
    }
    let rows = numbers.iter().flat_map(|of| {
        let row = |trials, pick: fn(&[f64]) -> Option<f64>, has_outcomes| TenantsRow { of, trials, pick, has_outcomes };
        match of.results().len() {
            0 | 1 => vec![row(of.words(), max, true)],
            count => vec![row(of.worst(), max, true), row(format!("median of {count}"), median, false)],
        }
    });
    let rows: Vec<TenantsRow<'_>> = rows.collect();
    let table = Table::of(&rows).numbers("N", |row| Cell::inked(row.of.tenants.to_string(), Ink::Head));
    let table = table.texts("trials", |row| &row.trials);
    let table = table.texts("level", |row| row.has_outcomes.then(|| outcomes(&row.of.votes)));
    let table =
        table.each(TIMES, |table, (head, field)| table.numbers(head, |row| or_absent(row.picked(field), micro)));
    // The worst rate is the smallest.
    let rate = |row: &TenantsRow<'_>| row.picked(|point| Some(-point.achieved));
    let table = table.numbers("rate", |row| or_absent(rate(row), |rate| achieved(-rate)));
    let faults = |row: &TenantsRow<'_>| row.picked(|point| point.faults_per_request);
    let table = table.numbers("faults|/req", |row| or_absent(faults(row), |faults| format!("{faults:.2}")));
    let legend = "N = tenants; trials = full trials with a clear outcome (worst, median: of each column by itself); \
                  ramp: a short trial on the way up; its times are not in worst and median of full trials; level: trials that kept it, of all with a clear outcome (? = unclear); rate = requests answered of those due; faults = major page faults";
    let ended = "ended early, ended: times until a guard ended the trial, of its warm-up if it got no further; they \
                 decide nothing";
    let none = "no times: each trial ended before a request was answered, such as while tenants were filled";
    let has = |kind: Option<TrialKind>| numbers.iter().any(|number| number.kind() == kind);
    let marks = [(has(Some(TrialKind::EndedEarly)), ended), (has(None), none)];
    let marks = marks.iter().map(|(is_used, text)| is_used.then(|| (*text).to_owned()));
    let legend = [Some(format!("target: {level}")), Some(legend.to_owned())].into_iter().chain(marks);
    let legend: Vec<Option<String>> = legend.collect();
    let lines: Page = legend.iter().flatten().map(|line| paragraph("  ", line, Ink::Dim)).collect();
    space() + table.table().gap(1).named_by(3) + lines
}

/// Every trial below the phase it belongs to.
fn trials(trials: &[TrialRecord]) -> Page {
    let mut out = space();
    let mut phase: Option<Phase> = None;
    for (at, trial) in trials.iter().enumerate() {
        if phase != Some(trial.phase) {
            out += paragraph("  ", trial.phase.to_string(), Ink::Head);
            phase = Some(trial.phase);
        }
        let last = trials.get(at + 1).is_none_or(|next| next.phase != trial.phase);
        let (branch, rail) = match last {
            true => ("  └─ ", "     "),
            false => ("  ├─ ", "  │  "),
        };
        let fill = if trial.fresh { "fresh" } else { "added" };
        let cell = outcome(trial.outcome);
        let text = text![words(trial.tenants), format!(" ({fill}) "), cell.text, format!(": {}", trial.reason())];
        out += railed(branch, rail, text, Ink::Plain);
        let below = format!("{rail} ");
        out += railed(&below, &below, &trial.why.text, Ink::Dim);
        if let Some(usage) = usage(trial) {
            out += railed(&below, &below, &usage, Ink::Plain);
        }
    }
    out
}

/// A share in percent with one decimal, as prices are compared; figures that no server has are kept short.
fn tenths(share: f64) -> String {
    let shown = share * 100.0;
    if shown.abs() < 1e6 { format!("{shown:.1} %") } else { percent(share) }
}

/// An amount of money, kept short where no server costs that much.
fn amount(money: f64) -> String {
    if money.abs() < 1e10 { format!("{money:.2}") } else { format!("{money:.2e}") }
}

fn costs(cost: &CostTable) -> Page {
    let source =
        format!("prices of {} in {}, {}; {} months of running", cost.date, cost.currency, cost.source, cost.months);
    let mut out = paragraph("  ", &source, Ink::Dim);
    let table = Table::of(&cost.rows).texts("tier", |row| &row.tier).texts("load", |row| &row.load);
    let table = table.numbers("tenants", |row| row.tenants.to_string()).numbers("total", |row| amount(row.total));
    let table = table.numbers("per|tenant", |row| amount(row.per_tenant));
    let saving = |row: &CostRow| or_absent(row.against, |against| tenths(against.saving));
    let table = table.numbers("saving", |row| Cell::inked(saving(row), Ink::Head)).table();
    if !table.is_empty() {
        out += table;
    }
    for (row, against) in cost.rows.iter().filter_map(|row| Some((row, row.against?))) {
        let text = format!(
            "{}, {}: {:.2} × the tenants of dram for {} more money; a tenant costs no more than with dram up to {} \
                more money",
            row.tier,
            row.load,
            against.ratio,
            tenths(against.upgrade),
            tenths(against.break_even)
        );
        out += paragraph("  ", &text, Ink::Plain);
        if let Some((wanted, most)) = cost.saving_wanted.zip(against.affordable) {
            out += paragraph("  ", affordable(&row.tier, wanted, most), Ink::Plain);
        }
    }
    for remark in &cost.remarks {
        out += bullet("!", Ink::Warn, &remark.text, None);
    }
    out
}

/// The most that a tier may cost for a wanted saving.
fn affordable(tier: &str, wanted: f64, most: f64) -> String {
    let wanted = tenths(wanted);
    if most < 0.0 {
        return format!("{tier}: a tenant cannot cost {wanted} less, even if the tier cost nothing");
    }
    format!("{tier}: for a tenant to cost {wanted} less, the tier may cost at most {} more than dram", tenths(most))
}

#[cfg(test)]
mod tests;
