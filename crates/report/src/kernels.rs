//! Which kernels the numbers of the ladder are of, and what the plain ones do.

use std::collections::BTreeMap;

use tiermark_model::{Bench, Finding, KernelId, Labels, Observation};

use crate::number::{graded, rate};
use crate::style::{Ink, Style};
use crate::text::{hanging, heading, items};

/// A plain kernel's rate is shown if the winner's is higher by more than this: below it the choice hardly matters.
const AHEAD: f64 = 1.1;

/// The kernel behind a number of the ladder.
pub(crate) struct Winner {
    op: String,
    tier: String,
    span: String,
    kernel: String,
    /// The number, with the mark of its grade.
    value: String,
    note: Option<String>,
    /// What the fastest plain kernel did in short shots, where the winner is clearly ahead (documents of version 1).
    plain: Option<String>,
    /// Whether the ladder has a column for the number.
    in_table: bool,
}

/// Steps whose number is clearly ahead of what the fastest plain kernel did in short shots, with that rate; documents of version 1 have it.
pub(crate) fn plain_rates<'a>(bench: &Bench, observations: &[&'a Observation]) -> BTreeMap<&'a str, f64> {
    let is_plain = |id: &KernelId| bench.kernels.iter().any(|k| k.id == *id && k.plain);
    let mut rates = BTreeMap::new();
    for o in observations {
        let (Some(value), Some(op)) = (o.value, o.labels.get(Labels::OP)) else { continue };
        // `write of zeros` is a job of kernels that write.
        let job = op.split(' ').next().unwrap_or(op);
        let plain = o.rivals.iter().filter(|r| r.kernel.op() == job && is_plain(&r.kernel));
        let best = plain.filter_map(|r| r.value).max_by(f64::total_cmp);
        rates.extend(best.filter(|best| value > AHEAD * best).map(|best| (o.step.as_str(), best)));
    }
    rates
}

impl Winner {
    /// The kernel of a finding; `None` where it names none.
    pub(crate) fn new(
        finding: &Finding,
        tier: &str,
        in_table: bool,
        plain: &BTreeMap<&str, f64>,
        style: &Style,
    ) -> Option<Self> {
        let labels = &finding.labels;
        let text = |key: &str| labels.get(key).unwrap_or_default().to_owned();
        let plain = finding.evidence.first().and_then(|step| plain.get(step.as_str()));
        Some(Self {
            op: text(Labels::OP),
            tier: tier.to_owned(),
            span: text(Labels::SPAN),
            kernel: labels.get(Labels::KERNEL)?.to_owned(),
            value: graded(finding.value.map(|v| rate(v, style)), &finding.verdict, finding.unit, style)
                .text
                .trim_end()
                .to_owned(),
            note: finding.note(),
            plain: plain.map(|v| rate(*v, style)),
            in_table,
        })
    }

    /// The kernel's name without the operation, where that is said already.
    fn short(&self) -> &str {
        let rest = self.kernel.strip_prefix(self.op.as_str()).and_then(|rest| rest.strip_prefix('/'));
        rest.unwrap_or(&self.kernel)
    }

    fn place(&self) -> String {
        format!("{} {}", self.tier, self.span).trim().to_owned()
    }
}

/// The section; empty when no number names a kernel.
pub(crate) fn kernels(winners: &[Winner], style: &Style) -> String {
    let mut ops: Vec<&str> = Vec::new();
    for w in winners {
        if !ops.contains(&w.op.as_str()) {
            ops.push(&w.op);
        }
    }
    let mut out = String::new();
    for op in ops {
        let of_op: Vec<&Winner> = winners.iter().filter(|w| w.op == op).collect();
        if style.verbose {
            for w in of_op {
                let note = w.note.as_deref().map(|note| format!("; {note}")).unwrap_or_default();
                let text = format!("{} {}: {} {}{note}", w.op, w.place(), w.kernel, w.value);
                out.push_str(&hanging("  ", &text, Ink::Plain, style));
            }
        } else {
            let parts = summary(&of_op);
            // Commas stand between the places of one kernel.
            let list = if style.unicode { items(&parts, style) } else { parts.join("; ") };
            let text = format!("{op}: {list}");
            out.push_str(&hanging("  ", &text, Ink::Plain, style));
        }
    }
    let title = match winners.iter().any(|w| w.plain.is_some()) && !style.verbose {
        true => "Kernels behind the ladder (plain: the simplest, where it is over 10 % slower)",
        false => "Kernels behind the ladder",
    };
    if out.is_empty() { out } else { format!("{}{out}", heading(title, style)) }
}

/// The winners of one operation in few words: places that share a kernel stand together.
fn summary(winners: &[&Winner]) -> Vec<String> {
    // Within a tier the rates of the plain kernels stand side by side.
    let groups =
        winners.chunk_by(|a, b| (&a.kernel, &a.tier, a.plain.is_some()) == (&b.kernel, &b.tier, b.plain.is_some()));
    let whole = |group: &[&Winner]| winners.iter().filter(|w| w.tier == group[0].tier).count() == group.len();
    let mut parts: Vec<(Vec<String>, String)> = Vec::new();
    for group in groups {
        let place = if whole(group) { group[0].tier.clone() } else { group[0].place() };
        let kernel = told(group);
        match parts.last_mut() {
            Some((places, known)) if *known == kernel => places.push(place),
            _ => parts.push((vec![place], kernel)),
        }
    }
    match parts.as_slice() {
        [(places, kernel)] if places.len() > 1 => vec![format!("{kernel} throughout")],
        _ => parts.into_iter().map(|(places, kernel)| format!("{} {kernel}", places.join(", "))).collect(),
    }
}

/// `avx2-nta (plain 109.3, 220.6)`; the numbers themselves only where the ladder has no column for them.
fn told(group: &[&Winner]) -> String {
    let list = |texts: Vec<&str>| texts.join(", ");
    let values = list(group.iter().filter(|w| !w.in_table).map(|w| w.value.as_str()).collect());
    let plain = list(group.iter().filter_map(|w| w.plain.as_deref()).collect());
    let mut text = group[0].short().to_owned();
    if !values.is_empty() {
        text.push_str(&format!(" {values}"));
    }
    if !plain.is_empty() {
        text.push_str(&format!(" (plain {plain})"));
    }
    text
}
