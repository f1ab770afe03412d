//! The view of a capacity run: tenants per tier, the curve over their number, trials, and cost.

mod charts;
mod evidence;
pub(crate) mod numbers;

use std::cmp::Ordering;

use tiermark_model::Grade;
use tiermark_model::capacity::{
    Answer, Capacity, Case, CostTable, CurvePoint, Outcome, Phase, Setting, TrialRecord, Votes, tenants as words,
};
use tiermark_model::messages::trials::codes::settling_off;
use tiermark_page::{
    Align, Cell, Ink, Page, Style, Table, achieved, bullet, heading, items, nanoseconds, paragraph, percent, railed,
    space,
};

use crate::header::machine_line;
use numbers::{Kind, Number, largest, median, numbers, votes};

/// Renders a capacity run. With `verbose` every trial says why it was made.
pub fn capacity(run: &Capacity, style: &Style) -> Page {
    let first = [format!("tiermark capacity: {}", run.scenario), run.started.clone()];
    let mut out = paragraph("", items(&first), Ink::Head);
    out += paragraph("", machine_line(&run.machine), Ink::Plain);
    out += space();
    out += paragraph("  tenant  ", &run.workload, Ink::Plain);
    out += paragraph("  level   ", &run.level, Ink::Plain);
    if is_unsettled(run) {
        out += paragraph("  settle  ", "0: no trial waited until the system was steady", Ink::Dim);
    }
    out += space();
    out += answers(&run.cases, style);
    out += charts::side_by_side(&run.cases, style);
    for case in &run.cases {
        out += heading(&format!("{}, {}", case.tier, case.load));
        out += explained(case);
        out += curve(case, &run.level, style);
        out += charts::over_tenants(case);
        out += charts::omission(case);
        if style.verbose {
            out += settings(case);
            out += trials(&case.trials, style);
        }
    }
    out += charts::curves(run);
    if let Some(cost) = &run.cost {
        out += heading("Cost");
        out += costs(cost, style);
        out += charts::cost_curves(run, cost);
    }
    if !run.refused.is_empty() {
        out += heading("Not measured");
    }
    for refusal in &run.refused {
        out += bullet("!", Ink::Warn, &format!("{}: {}", refusal.what, refusal.why), Some(&refusal.cure));
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

fn answers(cases: &[Case], style: &Style) -> Page {
    let mut table =
        Table::new().column("tier", Align::Left).column("load", Align::Left).column("tenants", Align::Right);
    table = table.column("× dram", Align::Right).column("ended by", Align::Left);
    for case in cases {
        let ratio = case.over_dram.map_or_else(|| style.absent().to_owned(), |r| format!("{r:.2}"));
        let ended = case.ended_by.as_ref().map_or_else(|| style.absent().to_owned(), |e| e.resource.to_string());
        table.row(vec![
            Cell::new(&case.tier),
            Cell::new(&case.load),
            Cell::inked(case.answer.as_number(), Ink::Head),
            Cell::new(ratio),
            Cell::new(ended),
        ]);
    }
    table.into()
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
            let holds = votes(case, u64::from(*tenants)).unwrap_or(*holds);
            let beyond = votes(case, more).unwrap_or(*beyond);
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
    let is_said = matches!(case.answer, Answer::Fixed { .. });
    if let Some(trial) = case.telling().filter(|trial| trial.missed().is_some() && !is_said) {
        out += paragraph("  ", format!("missed: {}", trial.decided_by), Ink::Plain);
    }
    // The last trial of the most tenants within the level: the resources that it used.
    let most = case.trials.iter().filter(|trial| trial.outcome == Outcome::Pass).max_by_key(|trial| trial.tenants);
    if let Some((trial, said)) = most.and_then(|trial| Some((trial, said(trial)?))) {
        out += paragraph("  ", format!("at {}: {said}", words(trial.tenants)), Ink::Plain);
    }
    out
}

/// Counters of the system during a trial.
fn said(trial: &TrialRecord) -> Option<String> {
    trial.evidence.as_ref().map(evidence::words).filter(|words| !words.is_empty())
}

fn mark(outcome: Outcome, style: &Style) -> (&'static str, Ink) {
    match outcome {
        Outcome::Pass => (style.mark(Grade::Trusted), Ink::Good),
        Outcome::Fail => (style.mark(Grade::Invalid), Ink::Bad),
        Outcome::Unclear => ("?", Ink::Warn),
    }
}

fn outcome(outcome: Outcome, style: &Style) -> Cell {
    let (mark, ink) = mark(outcome, style);
    Cell::inked(format!("{mark} {outcome}"), ink)
}

/// Outcomes of the trials of one number of tenants: that of all, or how many passed of those with a clear outcome.
fn outcomes(votes: &Votes, style: &Style) -> Cell {
    match *votes {
        Votes { passed: 1, failed: 0, unclear: 0 } => outcome(Outcome::Pass, style),
        Votes { passed: 0, failed: 1, unclear: 0 } => outcome(Outcome::Fail, style),
        Votes { passed: 0, failed: 0, .. } => outcome(Outcome::Unclear, style),
        Votes { passed, failed, unclear } => {
            let (mark, ink) = mark(majority(passed, failed), style);
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
type Of = fn(&CurvePoint) -> Option<f64>;

/// Columns of times: the heading, and the figure.
const TIMES: [(&str, Of); 6] = [
    ("average|µs", |point| Some(point.average_ns)),
    ("P50|µs", |point| Some(point.p50_ns)),
    ("P90|µs", |point| Some(point.p90_ns)),
    ("P99|µs", |point| Some(point.p99_ns)),
    ("P99.9|µs", |point| Some(point.p99_9_ns)),
    ("max|µs", |point| Some(point.max_ns)),
];

/// The column of outcomes.
const LEVEL: usize = 2;

/// Results over the number of tenants: of several full trials the worst and the median of each figure.
fn curve(case: &Case, level: &str, style: &Style) -> Page {
    let numbers = numbers(case);
    if numbers.is_empty() {
        return Page::new();
    }
    let mut table = Table::new().gap(1).named_by(3).column("N", Align::Right).column("trials", Align::Left);
    table = table.column("level", Align::Left);
    for (head, _) in TIMES {
        table = table.column(head, Align::Right);
    }
    table = table.column("rate", Align::Right).column("faults|/req", Align::Right);
    for number in &numbers {
        match number.results().len() {
            0 | 1 => table.row(figures(number, &number.words(), largest, style)),
            count => {
                table.row(figures(number, &number.worst(), largest, style));
                let mut middle = figures(number, &format!("median of {count}"), median, style);
                // The outcomes are those of all, and said once.
                middle[LEVEL] = Cell::default();
                table.row(middle);
            }
        }
    }
    let legend = "N = tenants; trials = full trials with a clear outcome (worst, median: of each column by itself); \
                  ramp: a short trial on the way up; its times are not in worst and median of full trials; level: trials that kept it, of all with a clear outcome (? = unclear); rate = requests answered of those due; faults = major page faults";
    let ended = "ended early, ended: times until a guard ended the trial, of its warm-up if it got no further; they \
                 decide nothing";
    let none = "no times: each trial ended before a request was answered, such as while tenants were filled";
    let has = |kind: Option<Kind>| numbers.iter().any(|number| number.kind() == kind);
    let marks = [(has(Some(Kind::EndedEarly)), ended), (has(None), none)];
    let marks = marks.iter().map(|(is_used, text)| is_used.then(|| (*text).to_owned()));
    let legend = [Some(format!("target: {level}")), Some(legend.to_owned())].into_iter().chain(marks);
    let legend: Vec<Option<String>> = legend.collect();
    let lines: Page = legend.iter().flatten().map(|line| paragraph("  ", line, Ink::Dim)).collect();
    space() + table + lines
}

/// A row of the table over tenants: each figure picked among the trials of a number.
fn figures(number: &Number<'_>, trials: &str, pick: fn(Vec<f64>) -> Option<f64>, style: &Style) -> Vec<Cell> {
    let picked = |of: Of| pick(number.results().iter().filter_map(|point| of(point)).collect());
    let absent = || style.absent().to_owned();
    let level = outcomes(&number.votes, style);
    let mut row = vec![Cell::inked(number.tenants.to_string(), Ink::Head), Cell::new(trials), level];
    row.extend(TIMES.iter().map(|(_, of)| Cell::new(picked(*of).map_or_else(absent, micro))));
    // The worst rate is the smallest.
    let rate = picked(|point| Some(-point.achieved)).map_or_else(absent, |rate| achieved(-rate));
    let faults = picked(|point| point.faults_per_request).map_or_else(absent, |faults| format!("{faults:.2}"));
    row.extend([Cell::new(rate), Cell::new(faults)]);
    row
}

/// Every trial below the phase it belongs to.
fn trials(trials: &[TrialRecord], style: &Style) -> Page {
    let mut out = space();
    let mut phase: Option<Phase> = None;
    for (at, trial) in trials.iter().enumerate() {
        if phase != Some(trial.phase) {
            out += paragraph("  ", trial.phase.to_string(), Ink::Head);
            phase = Some(trial.phase);
        }
        let last = trials.get(at + 1).is_none_or(|next| next.phase != trial.phase);
        let (branch, rail) = match last {
            true => (style.glyph("  └─ ", "  `- "), "     "),
            false => (style.glyph("  ├─ ", "  |- "), style.glyph("  │  ", "  |  ")),
        };
        let fill = if trial.fresh { "fresh" } else { "added" };
        let cell = outcome(trial.outcome, style);
        let text = format!("{} ({fill}) {}: {}", words(trial.tenants), cell.text, trial.reason());
        out += railed(branch, rail, &text, Ink::Plain);
        let below = format!("{rail} ");
        out += railed(&below, &below, &trial.why.text, Ink::Dim);
        if let Some(said) = said(trial) {
            out += railed(&below, &below, &said, Ink::Plain);
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

fn costs(cost: &CostTable, style: &Style) -> Page {
    let source =
        format!("prices of {} in {}, {}; {} months of running", cost.date, cost.currency, cost.source, cost.months);
    let mut out = paragraph("  ", &source, Ink::Dim);
    let mut table = Table::new().column("tier", Align::Left).column("load", Align::Left);
    for head in ["tenants", "total", "per|tenant", "saving"] {
        table = table.column(head, Align::Right);
    }
    for row in &cost.rows {
        let saving = row.against.map_or_else(|| style.absent().to_owned(), |a| tenths(a.saving));
        table.row(vec![
            Cell::new(&row.tier),
            Cell::new(&row.load),
            Cell::new(row.tenants.to_string()),
            Cell::new(amount(row.total)),
            Cell::new(amount(row.per_tenant)),
            Cell::inked(saving, Ink::Head),
        ]);
    }
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
