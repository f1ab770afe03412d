//! The terminal report of a run.

use std::collections::BTreeSet;

use tiermark_model::{Experiment, Finding, Grade, Labels, Observation, Refusal, Run, Warning};

use crate::c2c::c2c;
use crate::curves::{curves, orphans, tables};
use crate::findings::{others, scaling, tails, words};
use crate::header::{footer, header};
use crate::kernels::plain_rates;
use crate::ladder::{Shown, ladder, subject};
use crate::limits::limits;
use crate::loaded::loaded;
use crate::matrix::matrix;
use crate::number::percent;
use crate::os::{is_number as is_os, os};
use crate::reasons::{Reasons, is_refused};
use crate::shapes::{is_number as is_shape, shapes};
use crate::style::{Ink, Style, grade_ink};
use crate::text::{bullet, glued, hanging, heading};

/// Renders a run: header, ladder, curves, tails, scaling, tables, everything else that was found, and all trouble with its cure.
pub fn run(run: &Run, style: &Style) -> String {
    let observations: Vec<&Observation> = run.observations().collect();
    let mut shown = Shown::new(run.findings());
    told_by_tables(&mut shown, &observations);
    let mut out = header(run, style);
    out.push_str(&matrix(&mut shown, &run.machine, style));
    out.push_str(&ladder(&mut shown, &plain_rates(run), style));
    out.push_str(&c2c(&mut shown, style));
    out.push_str(&curves(&observations, &run.machine, style));
    out.push_str(&shapes(&mut shown, style));
    out.push_str(&os(&mut shown, style));
    out.push_str(&tails(&mut shown, style));
    out.push_str(&loaded(&mut shown, &observations, style));
    out.push_str(&scaling(&mut shown, style));
    out.push_str(&limits(&mut shown, style));
    out.push_str(&tables(&observations, style));
    let drift = drift(run, &mut shown, style);
    out.push_str(&others(&mut shown, style));
    let evidence: BTreeSet<&str> = run.findings().flat_map(|f| &f.evidence).map(String::as_str).collect();
    out.push_str(&orphans(&observations, &evidence, style));
    if run.findings().next().is_none() && observations.is_empty() {
        out.push_str(&format!("\n{}", hanging("", "Nothing was measured.", Ink::Plain, style)));
    }
    out.push_str(&drift);
    out.push_str(&summary(run, has_intervals(&out, style), style));
    out.push_str(&refusals(run, style));
    out.push_str(&warnings(&run.warnings, style));
    if style.verbose {
        out.push_str(&rules(&run.experiments, style));
    }
    out.push_str(&footer(run, style));
    out
}

/// A finding that only repeats a cell of a table is told by the table.
fn told_by_tables(shown: &mut Shown<'_>, observations: &[&Observation]) {
    let cells: BTreeSet<&str> = observations
        .iter()
        .filter(|o| o.labels.is("purpose", "table") && o.labels.size().is_some())
        .map(|o| o.step.as_str())
        .collect();
    let repeats = |f: &Finding| {
        matches!(f.metric.as_str(), "latency" | "bandwidth")
            && f.labels.get("tier").is_none()
            && matches!(f.evidence.as_slice(), [step] if cells.contains(step.as_str()))
    };
    shown.take_all(repeats);
}

/// What the first step said when it was measured again last.
fn drift(run: &Run, shown: &mut Shown<'_>, style: &Style) -> String {
    let mut out = String::new();
    let signed = |value: f64| format!("{}{}", if value > 0.0 { "+" } else { "" }, percent(value));
    let line = |drift: &str| format!("Drift: first step measured again last, {drift}");
    let findings = shown.take_all(|f| f.metric == "drift");
    let mut reasons = Reasons::default();
    for f in &findings {
        reasons.add(&subject(f), &f.verdict);
        let mark = style.paint(grade_ink(f.verdict.grade), style.mark(f.verdict.grade));
        let text = f.value.map_or_else(|| "Drift: not measured".to_owned(), |v| line(&signed(v)));
        out.push_str(&format!("{} {mark}\n", hanging("", &text, Ink::Plain, style).trim_end()));
    }
    if findings.is_empty() {
        let drifts = run.experiments.iter().filter_map(|e| Some((e.request.probe.as_str(), e.drift?)));
        let drifts: Vec<String> = match drifts.collect::<Vec<_>>().as_slice() {
            [(_, only)] => vec![signed(*only)],
            several => several.iter().map(|(probe, drift)| format!("{probe} {}", signed(*drift))).collect(),
        };
        if !drifts.is_empty() {
            out.push_str(&hanging("", &line(&drifts.join(", ")), Ink::Plain, style));
        }
    }
    out.push_str(&reasons.render(style));
    if out.is_empty() { out } else { format!("\n{out}") }
}

/// How far the numbers of the ladder and the tables can be trusted, in one line; tails and scalings have the verdicts of these.
fn summary(run: &Run, intervals: bool, style: &Style) -> String {
    let is_number = |f: &&Finding| {
        matches!(f.metric.as_str(), "tier.size" | "latency" | "bandwidth" | "scale.ceiling")
            || is_shape(&f.metric)
            || is_os(&f.metric)
            || f.metric.starts_with("loaded.") && f.value.is_some()
            || matches!(f.metric.as_str(), "c2c.pair" | "c2c.op" | "c2c.transfer" | "c2c.contention")
    };
    let numbers: Vec<&Finding> = run.findings().filter(is_number).collect();
    if numbers.is_empty() {
        return String::new();
    }
    let count = |grade: Grade| numbers.iter().filter(|f| f.verdict.grade == grade && !is_refused(&f.verdict)).count();
    let refused = numbers.iter().filter(|f| is_refused(&f.verdict)).count();
    let trusted = count(Grade::Trusted);
    let mut text = match (numbers.len(), trusted) {
        (1, 1) => "the only number is trusted".to_owned(),
        (all, trusted) if all == trusted => format!("all {all} numbers trusted"),
        (1, _) => "0 of 1 number trusted".to_owned(),
        (all, trusted) => format!("{trusted} of {all} numbers trusted"),
    };
    for grade in [Grade::Suspect, Grade::Invalid] {
        if count(grade) > 0 {
            text.push_str(&format!(", {} {grade} ({})", count(grade), style.mark(grade)));
        }
    }
    if refused > 0 {
        text.push_str(&format!(", {refused} refused"));
    }
    if trusted < numbers.len() {
        text.push_str("; unmarked = trusted");
    }
    // Bounds of a shape are certain; what stands behind a sign is not.
    let uncertain = numbers.iter().filter_map(|f| f.interval).find(|i| i.level < 1.0);
    if let Some(interval) = uncertain.filter(|_| intervals) {
        let key = format!("{} is a {} interval", style.glyph("±", "+-"), percent(interval.level));
        text.push_str(&format!("; {}", glued(&key)));
    }
    format!("\n{}", hanging("", &text, Ink::Plain, style))
}

/// Whether a text shows an interval: narrow tables leave them out. Axes in ASCII have the same sign, but no digit behind it.
fn has_intervals(text: &str, style: &Style) -> bool {
    let sign = style.glyph("±", "+-");
    text.split(sign).skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '<'))
}

/// Refused steps and plans, each once, with what would help.
fn refusals(run: &Run, style: &Style) -> String {
    let mut all: Vec<&Refusal> = run.experiments.iter().flat_map(|e| &e.plan.refused).collect();
    let steps: Vec<Refusal> = run.observations().filter_map(refused_step).collect();
    all.extend(&steps);
    trouble("Not measured", &all, style)
}

/// The refusal of a step; one that names nothing but the step's id names it in words.
fn refused_step(observation: &Observation) -> Option<Refusal> {
    let mut refusal = observation.refusal.clone()?;
    let words = words(&observation.labels, &[Labels::CPUS, Labels::PURPOSE, Labels::SPAN]);
    if refusal.what == observation.step && !words.is_empty() {
        refusal.what = words;
    }
    Some(refusal)
}

/// A list of refusals, those with the same reason and cure together; empty when there is none.
pub fn trouble(title: &str, refusals: &[&Refusal], style: &Style) -> String {
    // More than these of one reason are counted, but for a few.
    const LISTED: usize = 6;
    const EXAMPLES: usize = 3;
    let mut groups: Vec<(&Refusal, Vec<&str>)> = Vec::new();
    for refusal in refusals {
        let known = groups.iter_mut().find(|(r, _)| r.why == refusal.why && r.cure == refusal.cure);
        match known {
            Some((_, whats)) if whats.contains(&refusal.what.as_str()) => {}
            Some((_, whats)) => whats.push(&refusal.what),
            None => groups.push((refusal, vec![&refusal.what])),
        }
    }
    let mut out = String::new();
    for (refusal, whats) in groups {
        let listed = if style.verbose || whats.len() <= LISTED { whats.len() } else { EXAMPLES };
        let mut what = whats.iter().take(listed).copied().collect::<Vec<_>>().join(", ");
        if whats.len() > listed {
            what.push_str(&format!(" and {} more", whats.len() - listed));
        }
        let text = format!("{what}: {}", refusal.why);
        let mark = style.mark(Grade::Invalid);
        out.push_str(&bullet(mark, Ink::Bad, &text, Some(&refusal.cure), style));
    }
    if out.is_empty() { out } else { heading(title, style) + &out }
}

fn warnings(warnings: &[Warning], style: &Style) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let mut out = heading("Warnings", style);
    for warning in warnings {
        let text = format!("{}: {}", warning.code, warning.text);
        out.push_str(&bullet("!", Ink::Warn, &text, warning.cure.as_deref(), style));
    }
    out
}

fn rules(experiments: &[Experiment], style: &Style) -> String {
    let mut out = String::new();
    for experiment in experiments.iter().filter(|e| !e.plan.rules.is_empty()) {
        out.push_str(&heading(&format!("Rules of the {} plan", experiment.request.probe), style));
        for rule in &experiment.plan.rules {
            out.push_str(&hanging("  ", rule, Ink::Dim, style));
        }
    }
    out
}
