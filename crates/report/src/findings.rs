//! Findings that have no place on the ladder: tails, scaling, drift, and whatever else was concluded.

use std::collections::HashSet;

use tiermark_model::{
    Bytes, ChainLayout, Finding, Grade, Key, LADDER_SPANS, Label, Labels, Mark, Purpose, Quantity, Span,
};
use tiermark_page::{
    Cell, Detail, Ink, Page, Table, Text, graded, heading, number, paragraph, percent, rate_unit, text,
};

use crate::ladder::subject;
use crate::order::grouped;
use crate::phrases::milliseconds;
use crate::pivot::Pivot;
use crate::reasons::Reasons;
use crate::remark::{self, remark};
use crate::shown::Shown;

/// The keys of labels that are amounts of memory.
const BYTES: [Key; 5] = [Key::Size, Key::Resident, Key::Capacity, Key::WorkingSet, Key::After];

/// A label as text.
fn label_text(key: Option<Key>, label: &Label) -> String {
    match label {
        Label::Text(text) => text.clone(),
        Label::Whole(n) if key.is_some_and(|key| BYTES.contains(&key)) => tiermark_model::Bytes(*n).to_string(),
        Label::Whole(n) => n.to_string(),
    }
}

/// All labels but some, as words.
pub fn words(labels: &Labels, without: &[Key]) -> String {
    words_marked(labels, without, true)
}

/// The same; `mark_prefetched`: with a mark where the prefetcher takes part.
pub(crate) fn words_marked(labels: &Labels, without: &[Key], mark_prefetched: bool) -> String {
    // What people name first comes first; the rest follows by name.
    const FIRST: [Key; 12] = [
        Key::Tier,
        Key::Node,
        Key::Size,
        Key::Mix,
        Key::Op,
        Key::Place,
        Key::Relation,
        Key::From,
        Key::To,
        Key::Layout,
        Key::Kernel,
        Key::Page,
    ];
    // A kernel's name begins with its operation.
    let kernel = labels.kernel().filter(|_| !without.contains(&Key::Kernel));
    let kernel_op = kernel.and_then(|kernel| kernel.split_once('/')).map(|(op, _)| op);
    // Some tiers are named after their node.
    let in_tier = labels.tier_says_node() && !without.contains(&Key::Tier);
    let is_implied = |key: Key| {
        without.contains(&key)
            || (key == Key::Op && kernel_op.is_some() && labels.op() == kernel_op)
            // The name of a primitive implies its group, and its numbers imply that it is one.
            || key == Key::Group
            || (key == Key::Purpose && labels.group().is_some())
            || (key == Key::Node && in_tier)
            // `write of zeros` says so.
            || (key == Key::Data && labels.op().zip(labels.data()).is_some_and(|(op, data)| op.ends_with(data)))
            // Both are named.
            || (key == Key::Cpus && labels.to_cpu().is_some())
    };
    let all = labels.iter().map(|(name, label)| (Key::named(name), label));
    let mut shown: Vec<(Option<Key>, &Label)> = all.filter(|(key, _)| !key.is_some_and(is_implied)).collect();
    shown.sort_by_key(|(key, _)| FIRST.iter().position(|first| Some(*first) == *key).unwrap_or(FIRST.len()));
    let words = shown.into_iter().map(|(key, label)| {
        let text = label_text(key, label);
        let is_marked = key == Some(Key::Layout) && mark_prefetched && !labels.is_for(Purpose::Shape);
        let layout = labels.layout().filter(|_| is_marked).and_then(|layout| layout.parse().ok());
        if layout.is_some_and(ChainLayout::is_prefetched) {
            // The prefetcher takes part in these numbers: they must not be read as the latency of memory.
            return format!("{text} prefetch-assisted");
        }
        key.map_or(text.clone(), |key| worded(key, label, text, labels.is_for(Purpose::Shape)))
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A label in words, by its text.
fn worded(key: Key, label: &Label, text: String, is_of_shape: bool) -> String {
    match (key, label) {
        (Key::Threads, Label::Whole(1)) => "1 thread".to_owned(),
        (Key::Threads, _) => format!("{text} threads"),
        (Key::Chains, Label::Whole(1)) => "1 chain".to_owned(),
        (Key::Chains, _) => format!("{text} chains"),
        (Key::Resident, _) => format!("{text} resident"),
        (Key::Capacity, _) => format!("holding {text}"),
        (Key::WorkingSet, _) => format!("on {text}"),
        (Key::After, _) => format!("after {text} of other memory"),
        (Key::Count | Key::PairsAll, _) => format!("of {text}"),
        (Key::Region, _) => format!("region {text}"),
        (Key::Reads, _) => format!("{text} % reads"),
        (Key::Pause, _) => format!("pause {text} ns"),
        (Key::Used, _) => format!("used {text}"),
        (Key::Wait, Label::Whole(ns)) => format!("after {}", milliseconds(*ns as f64)),
        // Layouts that only a search for a shape uses are named by their description.
        (Key::Layout, Label::Text(layout)) if is_of_shape => made_up(layout),
        (Key::Remote, _) => format!("{text} % remote"),
        (Key::From, Label::Whole(_)) => format!("cpu {text}"),
        (Key::Node | Key::Nodes | Key::Cpus | Key::From | Key::Weights | Key::Against | Key::To, _) => {
            format!("{} {text}", key.name())
        }
        (Key::Pairs, Label::Whole(1)) => "1 pair".to_owned(),
        (Key::Pairs, _) => format!("{text} pairs"),
        _ => text,
    }
}

/// `scatter:2101312` and its like in words.
fn made_up(layout: &str) -> String {
    match layout.parse() {
        Ok(ChainLayout::Scatter(step)) => format!("one line every {}, in random order", Bytes(step)),
        Ok(ChainLayout::Pair(block)) => format!("pairs of lines {} apart", Bytes(block)),
        _ => layout.to_owned(),
    }
}

/// A table of findings with one label as columns and the rest as rows. Reasons and remarks come in detail:
/// quantiles have the verdict of the number they are the tail of.
fn pivot(title: &str, findings: &[&Finding], column_key: Key, detail: Detail) -> Page {
    if findings.is_empty() {
        return Page::new();
    }
    let column = |f: &&Finding| f.labels.label(column_key).map_or(String::new(), |l| label_text(Some(column_key), l));
    let row = row_names(findings, column_key);
    let mut pivot = Pivot::new(findings, &|f| row(f), &column);
    pivot.columns.sort_by(|a, b| quantile(a).total_cmp(&quantile(b)));
    let table = pivot.table("", &|f| graded(f.value.map(|v| number(v, f.unit)), &f.verdict, f.unit));
    let mut out = heading(title) + table;
    if detail.is_all() {
        out += details(findings, &row, detail);
    }
    out
}

/// Reasons and remarks of findings, each remark once with its row.
fn details(findings: &[&Finding], row: &dyn Fn(&Finding) -> String, detail: Detail) -> Page {
    let mut reasons = Reasons::default();
    findings.iter().for_each(|f| reasons.add(&subject(f), &f.verdict));
    let remarks = remark::distinct(findings.iter().filter_map(|f| Some(text![row(f), ": ", remark(f)?])));
    let remarks = if remarks.is_empty() { Page::new() } else { paragraph("  ", Text::joined(remarks, "; "), Ink::Dim) };
    reasons.page(detail) + remarks
}

/// Where a statistic stands among the columns: quantiles by rank, the largest last, other words where they came.
pub(crate) fn quantile(name: &str) -> f64 {
    match name {
        "max" => f64::INFINITY,
        _ => name.strip_prefix('p').and_then(|rank| rank.parse().ok()).unwrap_or(0.0),
    }
}

/// Names rows by as few labels as distinguish them: the tier alone, with layout and page, or all labels.
fn row_names(findings: &[&Finding], column_key: Key) -> impl Fn(&Finding) -> String {
    const FEWEST: [&[Key]; 4] = [
        &[Key::Tier, Key::Node],
        &[Key::Tier, Key::Node, Key::Page],
        &[Key::Tier, Key::Node, Key::Layout],
        &[Key::Tier, Key::Node, Key::Layout, Key::Page, Key::Chains],
    ];
    let full = |f: &Finding| words(&f.labels, &[column_key, Key::Purpose]);
    let only = |f: &Finding, keys: &[Key]| words(&f.labels.clone().only(keys), &[]);
    let distinct = |name: &dyn Fn(&Finding) -> String| {
        findings.iter().map(|f| name(f)).filter(|n| !n.is_empty()).collect::<std::collections::BTreeSet<_>>().len()
    };
    let rows = distinct(&full);
    let keys = FEWEST.into_iter().find(|keys| distinct(&|f| only(f, keys)) == rows);
    move |f| match keys {
        Some(keys) => only(f, keys),
        None => words(&f.labels, &[column_key, Key::Purpose]),
    }
}

/// The remarks of findings, each said once.
fn notes(findings: &[&Finding]) -> Page {
    let remarks = remark::distinct(findings.iter().filter_map(|f| remark(f)));
    remarks.iter().map(|note| paragraph("  ", note, Ink::Dim)).collect()
}

/// Takes the quantiles of latency.
pub(crate) fn take_tails<'a>(shown: &mut Shown<'a>) -> Vec<&'a Finding> {
    shown.take_all(|f| f.metric == Quantity::LatencyTail && f.labels.statistic().is_some())
}

/// Tail latency: quantiles as columns.
pub(crate) fn tails(findings: &[&Finding], detail: Detail) -> Page {
    pivot("Tail latency, ns an access, of the means of blocks", findings, Key::Statistic, detail)
}

/// Takes how bandwidth grows with threads; of two cpus the ladder shows as much.
pub(crate) fn scalings<'a>(shown: &mut Shown<'a>, detail: Detail) -> Vec<(String, Vec<&'a Finding>)> {
    let findings = shown.take_all(|f| f.metric == Quantity::BandwidthScaling);
    let name = |f: &Finding| {
        // The footprint of one thread shrinks as threads are added; the rest must be the same along the table.
        let along = [Key::Threads, Key::Size, Key::Purpose, Key::Span, Key::Cpus, Key::Kernel];
        words(&f.labels, &along)
    };
    let mut groups = grouped(findings.into_iter().map(|f| (name(f), f)));
    let rates = shown.findings.iter().filter(|f| f.metric == Quantity::Bandwidth && f.value.is_some());
    let columns: HashSet<Column> = rates.map(|f| column(f, f.labels.span())).collect();
    groups.retain(|(_, group)| detail.is_all() || !is_on_ladder(group, &columns));
    groups.iter().for_each(|(_, group)| shown.count(group));
    groups
}

/// How bandwidth grows with threads, with bars.
pub(crate) fn scaling(groups: &[(String, Vec<&Finding>)], detail: Detail) -> Page {
    groups.iter().map(|(name, group)| scaling_table(name, group, detail)).collect()
}

/// Whether a scaling has only the two ends that the ladder has columns for.
fn is_on_ladder(group: &[&Finding], columns: &HashSet<Column>) -> bool {
    let Some(first) = group.first() else { return true };
    group.len() <= 2 && LADDER_SPANS.iter().all(|span| columns.contains(&column(first, Some(*span))))
}

/// A column of the ladder and a row of it: span; tier, node and operation.
type Column = (Option<Span>, [Option<String>; 3]);

/// Where a rate stands on the ladder, or would with this span.
fn column(finding: &Finding, span: Option<Span>) -> Column {
    let label = |key: Key| finding.labels.label(key).map(|label| label_text(Some(key), label));
    (span, [Key::Tier, Key::Node, Key::Op].map(label))
}

fn scaling_table(name: &str, group: &[&Finding], detail: Detail) -> Page {
    let best = group.iter().filter_map(|f| f.value).filter(|v| v.is_finite()).fold(0.0, f64::max);
    let threads = |f: &Finding| f.labels.threads();
    let single = group.iter().find(|f| threads(f) == Some(1)).and_then(|f| f.value);
    // How much of one thread's rate each thread keeps: what sharing costs.
    let kept = |f: &Finding| match (f.value, single, threads(f)) {
        (Some(v), Some(one), Some(n)) if one > 0.0 && n > 0 => percent(v / one / n as f64),
        _ => String::new(),
    };
    let share =
        |f: &Finding| f.value.filter(|v| v.is_finite() && best > 0.0).map_or(0.0, |v| (v / best).clamp(0.0, 1.0));
    let table = Table::of(group).numbers("threads", |f| threads(f).map_or_else(String::new, |n| n.to_string()));
    let table = table.figures(rate_unit(), |f| figure(f)).numbers("per thread", |f| kept(f));
    let table = table.texts("", |f| Cell::bar(share(f), Ink::Series(0))).table();
    let mut reasons = Reasons::default();
    group.iter().for_each(|f| reasons.add(&subject(f), &f.verdict));
    let title = format!("Bandwidth by threads: {name}");
    heading(title.trim_end_matches([':', ' ']))
        + table
        + reasons.page(detail)
        + if detail.is_all() { notes(group) } else { Page::new() }
}

/// A number with its interval and the mark of its grade.
pub(crate) fn figure(f: &Finding) -> Cell {
    graded(f.value.map(|v| number(v, f.unit).within(f.interval)), &f.verdict, f.unit)
}

/// The sign before a number that is known to be at least so much; empty where its grade gives it the same sign.
pub(crate) fn at_least(f: &Finding) -> &'static str {
    let by_grade = f.verdict.grade == Grade::Bound && Mark::of_bound(f.unit) == Mark::AtLeast;
    if f.labels.statistic() == Some("at least") && !by_grade { "≥ " } else { "" }
}

/// Every finding no other view has shown; in detail all findings, with interval and number of samples.
pub(crate) fn others(all: &[&Finding], rest: &[&Finding], detail: Detail) -> Page {
    let mut findings = if detail.is_all() { all.to_vec() } else { rest.to_vec() };
    // Conditions of the others have lines of their own.
    findings.retain(|f| !f.metric.is_condition());
    if findings.is_empty() {
        return Page::new();
    }
    let mut reasons = Reasons::default();
    for f in rest {
        reasons.add(&format!("{} {}", f.metric, words(&f.labels, &[Key::Purpose])), &f.verdict);
    }
    let table = Table::of(&findings).texts("what", |f| f.metric.name());
    let table = table.texts("of", |f| words(&f.labels, &[Key::Purpose])).figures("value", |f| figure(f));
    let table = table.texts("unit", |f| Cell::inked(Text::unit(f.unit), Ink::Dim));
    let table = table.numbers("n", |f| Cell::inked(f.samples.to_string(), Ink::Dim)).table();
    heading("Findings") + table + reasons.page(detail) + notes(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Tier, Unit};
    use tiermark_page::text;

    #[test]
    fn a_number_that_is_a_bound_by_itself_and_by_its_grade_has_one_sign() {
        let labels = Labels::new().with_statistic("at least");
        let mut found = Finding::new(Quantity::ScaleCeiling, labels, Some(1.87e9), Unit::BytesPerSecond);
        assert_eq!(at_least(&found), "≥ ");
        found.verdict.bound(tiermark_model::Reason::NotReproduced { reached: 1 });
        assert_eq!(text![at_least(&found), figure(&found).words()].plain(), "≥1.87");
        let counted = Finding { unit: Unit::Count, ..found };
        assert_eq!(at_least(&counted), "≥ ", "a bound of a count has no sign of its own");
    }

    #[test]
    fn what_the_operation_says_is_not_said_again() {
        let stored = |op: &str| Labels::new().with_tier(Tier::Dram).with_op(op).with_data("zeros");
        assert_eq!(words(&stored("write of zeros"), &[]), "DRAM write of zeros");
        assert_eq!(words(&stored("write"), &[]), "DRAM write zeros");
    }
}
