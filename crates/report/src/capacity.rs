//! The view of a capacity run: tenants per tier, the curve over their number, trials, and cost.

mod evidence;

use tiermark_model::Grade;
use tiermark_model::capacity::{
    Answer, Capacity, Case, CostTable, CurvePoint, Outcome, Phase, TrialRecord, Votes, tenants as words,
};

use crate::header::machine_line;
use crate::number::{achieved, nanoseconds, percent};
use crate::style::{Ink, Style};
use crate::table::{Align, Cell, Table};
use crate::text::{bullet, hanging, heading, items};

/// Renders a capacity run. With `verbose` every trial says why it was made.
pub fn capacity(run: &Capacity, style: &Style) -> String {
    let first = [format!("tiermark capacity: {}", run.scenario), run.started.clone()];
    let mut out = hanging("", &items(&first, style), Ink::Head, style);
    out.push_str(&hanging("", &machine_line(&run.machine, style), Ink::Plain, style));
    out.push('\n');
    out.push_str(&hanging("  tenant  ", &run.workload, Ink::Plain, style));
    out.push_str(&hanging("  level   ", &run.level, Ink::Plain, style));
    out.push('\n');
    out.push_str(&answers(&run.cases, style));
    for case in &run.cases {
        out.push_str(&heading(&format!("{}, {}", case.tier, case.load), style));
        out.push_str(&explained(case, style));
        out.push_str(&curve(case, &run.level, style));
        if style.verbose {
            out.push_str(&trials(&case.trials, style));
        }
    }
    if let Some(cost) = &run.cost {
        out.push_str(&heading("Cost", style));
        out.push_str(&costs(cost, style));
    }
    if !run.refused.is_empty() {
        out.push_str(&heading("Not measured", style));
    }
    for refusal in &run.refused {
        out.push_str(&bullet(
            "!",
            Ink::Warn,
            &format!("{}: {}", refusal.what, refusal.why),
            Some(&refusal.cure),
            style,
        ));
    }
    if !run.warnings.is_empty() {
        out.push('\n');
    }
    for warning in &run.warnings {
        out.push_str(&bullet("!", Ink::Warn, &warning.text, warning.cure.as_deref(), style));
    }
    let git = run.tool.git.as_ref().map_or(String::new(), |git| format!(" ({git})"));
    let last = [format!("tiermark {}{git} {}", run.tool.version, run.tool.target), format!("seed {}", run.seed)];
    out.push_str(&format!("\n{}", hanging("", &items(&last, style), Ink::Dim, style)));
    out
}

/// A capacity run in one line: the scenario, and how many tenants fit on each kind of memory.
pub fn capacity_line(run: &Capacity) -> String {
    let several = run.cases.iter().any(|case| case.load != run.cases[0].load);
    let answers = run.cases.iter().map(|case| {
        let load = if several { format!(" ({})", case.load) } else { String::new() };
        format!("{}{load} {}", case.tier, number(&case.answer))
    });
    format!("{}: {}", run.scenario, answers.collect::<Vec<_>>().join(", "))
}

/// The number of tenants in few words.
fn number(answer: &Answer) -> String {
    match answer {
        Answer::Exactly { tenants, .. } => tenants.to_string(),
        Answer::Between { low, high: Some(high), .. } => format!("{low} to {high}"),
        Answer::Between { low: tenants, high: None, .. } | Answer::AtLeast { tenants } => format!("{tenants} or more"),
        Answer::None { .. } => "none".to_owned(),
    }
}

fn answers(cases: &[Case], style: &Style) -> String {
    let mut table =
        Table::new().column("tier", Align::Left).column("load", Align::Left).column("tenants", Align::Right);
    table = table.column("× dram", Align::Right).column("ended by", Align::Left);
    for case in cases {
        let ratio = case.over_dram.map_or_else(|| style.absent().to_owned(), |r| format!("{r:.2}"));
        let ended = case.ended_by.as_ref().map_or_else(|| style.absent().to_owned(), |e| e.resource.to_string());
        table.row(vec![
            Cell::new(&case.tier),
            Cell::new(&case.load),
            Cell::inked(number(&case.answer), Ink::Head),
            Cell::new(ratio),
            Cell::new(ended),
        ]);
    }
    table.render(style)
}

fn of_votes(votes: &Votes) -> String {
    let unclear = if votes.unclear > 0 { format!(", {} unclear", votes.unclear) } else { String::new() };
    format!("{} of {} trials{unclear}", votes.passed, votes.all())
}

/// How sure the answer is, and what ended it.
fn explained(case: &Case, style: &Style) -> String {
    let text = match &case.answer {
        Answer::Exactly { tenants, votes, beyond } => {
            let failed = Votes { passed: beyond.failed, failed: beyond.passed, unclear: beyond.unclear };
            let (holds, failed) = (of_votes(votes), of_votes(&failed));
            format!("{} passed {holds}, {} failed {failed}", words(*tenants), u64::from(*tenants) + 1)
        }
        Answer::Between { low, high: Some(high), why } => format!("between {low} and {}: {why}", words(*high)),
        Answer::Between { low, high: None, why } => format!("{} or more: {why}", words(*low)),
        Answer::AtLeast { tenants } => {
            format!("{} passed, the limit of this run (most-tenants)", words(*tenants))
        }
        Answer::None { why } => format!("not even one tenant: {why}"),
    };
    let mut out = hanging("  ", &text, Ink::Plain, style);
    if let Some(ended) = &case.ended_by {
        out.push_str(&hanging("  ", &format!("ended by {}: {}", ended.resource, ended.why), Ink::Plain, style));
    }
    // The last trial of the most tenants within the level: the resources that it used.
    let most = case.trials.iter().filter(|trial| trial.outcome == Outcome::Pass).max_by_key(|trial| trial.tenants);
    if let Some((trial, said)) = most.and_then(|trial| Some((trial, said(trial)?))) {
        out.push_str(&hanging("  ", &format!("at {}: {said}", words(trial.tenants)), Ink::Plain, style));
    }
    out
}

/// Counters of the system during a trial.
fn said(trial: &TrialRecord) -> Option<String> {
    trial.evidence.as_ref().map(evidence::words).filter(|words| !words.is_empty())
}

fn outcome(outcome: Outcome, style: &Style) -> Cell {
    match outcome {
        Outcome::Pass => Cell::inked(format!("{} pass", style.mark(Grade::Trusted)), Ink::Good),
        Outcome::Fail => Cell::inked(format!("{} fail", style.mark(Grade::Invalid)), Ink::Bad),
        Outcome::Unclear => Cell::inked("? unclear", Ink::Warn),
    }
}

/// The curve, with a line between the numbers within the service level and the others.
fn curve(case: &Case, level: &str, style: &Style) -> String {
    if case.curve.is_empty() {
        return String::new();
    }
    let mut points: Vec<&CurvePoint> = case.curve.iter().collect();
    points.sort_by_key(|point| (point.tenants, point.trial));
    let mut table = Table::new().gap(1).column("N", Align::Right);
    for head in
        ["average|µs", "P50|µs", "P90|µs", "P99|µs", "P99.9|µs", "max|µs", "brief's|P99 µs", "rate", "faults|/req"]
    {
        table = table.column(head, Align::Right);
    }
    table = table.column("", Align::Left);
    let micro = |ns: f64| nanoseconds(ns / 1000.0);
    for point in points {
        let faults = point.faults_per_request.map_or_else(|| style.absent().to_owned(), |f| format!("{f:.2}"));
        let times = [
            point.average_ns,
            point.p50_ns,
            point.p90_ns,
            point.p99_ns,
            point.p99_9_ns,
            point.max_ns,
            point.brief_p99_ns,
        ];
        let mut row = vec![Cell::inked(point.tenants.to_string(), Ink::Head)];
        row.extend(times.map(|ns| Cell::new(micro(ns))));
        row.extend([Cell::new(achieved(point.achieved)), Cell::new(faults), outcome(point.outcome, style)]);
        table.row(row);
    }
    let lines = [
        format!("target: {level}"),
        "N = tenants; brief's P99 = mean of the tenants' P99s; rate = requests answered of those due; faults = major page faults".to_owned(),
    ];
    let lines: String = lines.iter().map(|line| hanging("  ", line, Ink::Dim, style)).collect();
    format!("\n{}{lines}", table.render(style))
}

/// Every trial below the phase it belongs to.
fn trials(trials: &[TrialRecord], style: &Style) -> String {
    let mut out = String::from("\n");
    let mut phase: Option<Phase> = None;
    for (at, trial) in trials.iter().enumerate() {
        if phase != Some(trial.phase) {
            out.push_str(&hanging("  ", &trial.phase.to_string(), Ink::Head, style));
            phase = Some(trial.phase);
        }
        let last = trials.get(at + 1).is_none_or(|next| next.phase != trial.phase);
        let branch = if last { style.glyph("└─", "`-") } else { style.glyph("├─", "|-") };
        let fill = if trial.fresh { "fresh" } else { "added" };
        let cell = outcome(trial.outcome, style);
        let text = format!("{} ({fill}) {}: {}", words(trial.tenants), cell.text, trial.decided_by);
        out.push_str(&hanging(&format!("  {branch} "), &text, Ink::Plain, style));
        let rail = if last { "      " } else { style.glyph("  │   ", "  |   ") };
        out.push_str(&hanging(rail, &trial.why.text, Ink::Dim, style));
        if let Some(said) = said(trial) {
            out.push_str(&hanging(rail, &said, Ink::Plain, style));
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

fn costs(cost: &CostTable, style: &Style) -> String {
    let source =
        format!("prices of {} in {}, {}; {} months of running", cost.date, cost.currency, cost.source, cost.months);
    let mut out = hanging("  ", &source, Ink::Dim, style);
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
    out.push_str(&table.render(style));
    for (row, against) in cost.rows.iter().filter_map(|row| Some((row, row.against?))) {
        let text = format!(
            "{}, {}: {:.2} × the tenants of dram for {} more money; a tenant costs no more than with dram up to {} more money",
            row.tier,
            row.load,
            against.ratio,
            tenths(against.upgrade),
            tenths(against.break_even)
        );
        out.push_str(&hanging("  ", &text, Ink::Plain, style));
        if let Some((wanted, most)) = cost.saving_wanted.zip(against.affordable) {
            out.push_str(&hanging("  ", &affordable(&row.tier, wanted, most), Ink::Plain, style));
        }
    }
    for remark in &cost.remarks {
        out.push_str(&bullet("!", Ink::Warn, &remark.text, None, style));
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
