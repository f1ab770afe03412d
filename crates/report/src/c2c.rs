//! Core to core: round trips by relation and by pair, one pair of each relation in all its ways, homes, contention.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tiermark_model::{CpuId, Finding, Kinds, Labels, Pair, PingOp, Quantity, Relation, pairs};
use tiermark_page::{
    Block, Cell, Detail, Ink, Page, PairMap, Table, graded, heading, nanoseconds, number, paragraph, percent, text,
};

use crate::order::{first, grouped};
use crate::pivot::with_quantity;
use crate::reasons::Reasons;
use crate::remark::remark;
use crate::shown::Shown;

/// A matrix of this many cpus is shown whole: its lower half fits 80 columns.
const WHOLE: usize = 16;
/// Meaning of the letters of a hybrid's pairs.
const KINDS: &str = "kinds of the two cores: P performance (big), E efficiency (little), LP low-power";

/// Takes the findings of this view.
pub(crate) fn take<'a>(shown: &mut Shown<'a>) -> Vec<&'a Finding> {
    let findings = shown.take_all(|f| f.quantity.family() == "c2c");
    shown.count(&findings.iter().filter(|f| f.quantity != Quantity::C2cModes).copied().collect::<Vec<_>>());
    findings
}

/// All of it; empty where a run has no such findings.
pub(crate) fn c2c(findings: &[&Finding], detail: Detail) -> Page {
    if findings.is_empty() {
        return Page::new();
    }
    let mut out = relations(&with_quantity(findings, &Quantity::C2cRelation));
    out += pairs(findings.iter().copied()).iter().map(|(op, cells)| matrix(op, cells)).collect::<Page>();
    out += speakers(findings);
    out += modes(&with_quantity(findings, &Quantity::C2cModes), detail);
    out += homes(&with_quantity(findings, &Quantity::C2cHome));
    out += contention(
        &with_quantity(findings, &Quantity::C2cContention),
        &with_quantity(findings, &Quantity::C2cLine),
        &with_quantity(findings, &Quantity::C2cFairness),
    );
    let mut reasons = Reasons::default();
    // What the median of a relation says of its pairs, the pairs need not say again.
    let is_shown = |f: &&&Finding| {
        detail.is_all() || f.quantity != Quantity::C2cRelation || f.labels.statistic() == Some("median")
    };
    // Modes say themselves what there is to doubt, and an only pair says it for its relation.
    let is_doubted = |f: &&&Finding| {
        is_shown(f)
            && f.quantity != Quantity::C2cModes
            && !(f.quantity == Quantity::C2cRelation && f.labels.pairs() == Some(1))
    };
    findings.iter().filter(is_doubted).for_each(|f| reasons.add(&subject(f), &f.verdict));
    out + reasons.page(detail)
}

/// A finding's name among reasons.
fn subject(finding: &Finding) -> String {
    let labels = &finding.labels;
    let mut words: Vec<String> = Vec::new();
    words.extend(class(finding));
    words.extend(pair_name(finding).filter(|_| finding.quantity != Quantity::C2cRelation));
    let cpus = |n: u64| format!("{n} cpu{} on one line:", if n == 1 { "" } else { "s" });
    words.extend(labels.threads().map(cpus));
    // The rest as the columns are called.
    let column = match &finding.quantity {
        Quantity::C2cContention => Some("an addition".to_owned()),
        Quantity::C2cLine => Some("additions a µs".to_owned()),
        Quantity::C2cFairness => Some("slowest over fastest".to_owned()),
        Quantity::C2cAsymmetry => Some("reverse".to_owned()),
        Quantity::C2cTransfer => labels.state().map(|state| format!("a {state} line")),
        _ => labels.op().map(str::to_owned),
    };
    words.extend(column);
    words.extend(labels.statistic().map(str::to_owned));
    words.extend(labels.home().map(|home| format!("home {home}")));
    words.join(" ")
}

/// The pair's cpus, the one that begins first.
fn pair_name(finding: &Finding) -> Option<String> {
    let (from, to) = (finding.labels.from_cpu()?, finding.labels.to_cpu()?);
    Some(format!("{from}-{to}"))
}

fn relation(finding: &Finding) -> Option<Relation> {
    finding.labels.relation()?.parse().ok()
}

/// The kinds of its pair's cores, on a hybrid machine.
fn kinds(finding: &Finding) -> Option<Kinds> {
    finding.labels.kinds()?.parse().ok()
}

/// Relation and kinds of its pair.
fn class(finding: &Finding) -> Option<String> {
    let related = finding.labels.relation()?;
    Some(kinds(finding).map_or_else(|| related.to_owned(), |kinds| format!("{related} {kinds}")))
}

/// A time in its cell.
fn ns(f: &Finding) -> Cell {
    graded(f.value.map(|v| number(v, f.unit)), &f.verdict, f.unit)
}

/// One row a relation: how many pairs, and where they lie.
fn relations(findings: &[&Finding]) -> Page {
    let mut rows: BTreeMap<(Relation, Option<Kinds>, &str), HashMap<&str, &Finding>> = BTreeMap::new();
    for f in findings {
        let Some((related, op)) = relation(f).zip(f.labels.op()) else { continue };
        let row = rows.entry((related, kinds(f), op)).or_default();
        row.entry(f.labels.statistic().unwrap_or_default()).or_insert(f);
    }
    if rows.is_empty() {
        return Page::new();
    }
    let ops: BTreeSet<&str> = rows.keys().map(|(_, _, op)| *op).collect();
    let row = |((related, _, op), by)| RelationRow { related, op, by };
    let rows: Vec<RelationRow<'_>> = rows.into_iter().map(row).collect();
    let table = Table::of(&rows).texts("relation", RelationRow::name);
    let table = table.when(ops.len() > 1, |table| table.texts("by", |row| row.op));
    let table = table.numbers("pairs", RelationRow::pairs);
    let table = table.each(["min", "median", "max"], |table, statistic| {
        table.figures(statistic, |row| row.by.get(statistic).map(|f| ns(f)))
    });
    let note = |row: &RelationRow<'_>| Some(text![row.name(), ": ", remark(row.by.get("median")?)?]);
    let notes = rows.iter().filter_map(note).map(|note| paragraph("  ", note, Ink::Dim));
    let mut notes: Page = notes.collect();
    let op = ops.first().filter(|_| ops.len() == 1).map_or_else(String::new, |op| format!(" ({op})"));
    let one_way = PingOp::OneWay.to_string();
    let what = if ops.contains(one_way.as_str()) { "a round trip (one-way: one way)" } else { "a round trip" };
    if findings.iter().any(|f| kinds(f).is_some()) {
        notes += paragraph("  ", KINDS, Ink::Dim);
    }
    heading(format!("Core to core, {what}, ns{op}")) + table.table() + notes
}

/// The pairs of a relation by one operation.
struct RelationRow<'a> {
    related: Relation,
    op: &'a str,
    /// By statistic.
    by: HashMap<&'a str, &'a Finding>,
}

impl RelationRow<'_> {
    fn name(&self) -> String {
        self.by.get("median").and_then(|f| class(f)).unwrap_or_else(|| self.related.to_string())
    }

    fn pairs(&self) -> String {
        let labels = self.by.get("median").map(|f| &f.labels);
        match (labels.and_then(Labels::pairs), labels.and_then(Labels::pairs_all)) {
            (Some(pairs), Some(all)) if all != pairs => format!("{pairs} of {all}"),
            (Some(pairs), _) => pairs.to_string(),
            _ => String::new(),
        }
    }
}

/// All pairs: as numbers of a few cpus, as shades of many.
fn matrix(op: &str, cells: &BTreeMap<Pair, &Finding>) -> Page {
    let cpus: BTreeSet<CpuId> = cells.keys().flat_map(|pair| [pair.low, pair.high]).collect();
    let cpus: Vec<CpuId> = cpus.into_iter().collect();
    match cpus.len() {
        // With one or two pairs, their relation names them.
        0..=2 => Page::new(),
        n if n <= WHOLE => whole(op, &cpus, cells),
        _ => heat_map(op, &cpus, cells),
    }
}

fn whole(op: &str, cpus: &[CpuId], cells: &BTreeMap<Pair, &Finding>) -> Page {
    let cell = |f: &&Finding| graded(f.value.map(|v| format!("{v:.0}")), &f.verdict, f.unit).heated(f.value);
    let table = Table::of(&cpus[1..]).numbers("cpu", |second| Cell::inked(second.to_string(), Ink::Dim));
    let table = table.each(&cpus[..cpus.len() - 1], |table, first| {
        table.figures(first.to_string(), |second| cells.get(&Pair { low: *first, high: *second }).map(cell))
    });
    heading(format!("All pairs by {op}, ns")) + table.table().gap(1)
}

/// Medians of bins of cpus as shades.
fn heat_map(op: &str, cpus: &[CpuId], cells: &BTreeMap<Pair, &Finding>) -> Page {
    let measured =
        |(pair, f): (&Pair, &&Finding)| Some(((pair.low, pair.high), f.value.filter(|v| v.is_finite() && *v > 0.0)?));
    let values: Vec<((CpuId, CpuId), f64)> = cells.iter().filter_map(measured).collect();
    if values.is_empty() {
        return Page::new();
    }
    let (of, by, unit) = ("cpus".to_owned(), op.to_owned(), "ns".to_owned());
    Block::Map(PairMap { of, by, unit, items: cpus.to_vec(), values }).into()
}

/// One pair of each relation in all the ways it was measured.
fn speakers(findings: &[&Finding]) -> Page {
    let lines: Vec<&&Finding> = findings.iter().filter(|f| f.quantity == Quantity::C2cTransfer).collect();
    let rows: BTreeSet<(Relation, Option<Kinds>, Pair)> =
        lines.iter().filter_map(|f| Some((relation(f)?, kinds(f), Pair::of(f)?))).collect();
    if rows.is_empty() {
        return Page::new();
    }
    let of_pairs: HashMap<Pair, Vec<&Finding>> =
        grouped(findings.iter().filter_map(|f| Some((Pair::of(f)?, *f)))).into_iter().collect();
    let of_pair = |pair: Pair| of_pairs.get(&pair).into_iter().flatten();
    let find = |quantity: Quantity, op: &str, pair| {
        of_pair(pair).find(|f| f.quantity == quantity && f.labels.op() == Some(op))
    };
    let by = |op: &str, pair| find(Quantity::C2cPair, op, pair).or_else(|| find(Quantity::C2cOp, op, pair));
    let fetched = |state: &str, pair| {
        of_pair(pair).find(|f| f.quantity == Quantity::C2cTransfer && f.labels.state() == Some(state))
    };
    let ops: Vec<&str> = ["cas", "flag", "one-way"]
        .into_iter()
        .filter(|op| rows.iter().any(|(_, _, pair)| by(op, *pair).is_some()))
        .collect();
    let rows: Vec<(Relation, Option<Kinds>, Pair)> = rows.into_iter().collect();
    let table = Table::of(&rows);
    let table = table.texts("relation", |(related, kinds, _)| {
        kinds.map_or_else(|| related.to_string(), |kinds| format!("{related} {kinds}"))
    });
    let table = table.numbers("cpus", |(.., pair)| format!("{}-{}", pair.low, pair.high));
    let table = table.each(ops, |table, op| table.figures(op, |(.., pair)| by(op, *pair).map(|f| ns(f))));
    let signed = |v: f64| match v {
        // What rounds to nothing has no sign.
        v if v.abs() < 0.0005 => percent(0.0),
        v if v > 0.0 => format!("+{}", percent(v)),
        v => percent(v),
    };
    let back = |f: &&Finding| graded(f.value.map(signed), &f.verdict, f.unit);
    let table =
        table.figures("reverse", |(.., pair)| of_pair(*pair).find(|f| f.quantity == Quantity::C2cAsymmetry).map(back));
    let lines = [("a clean|line", "clean"), ("a dirty|line", "dirty")];
    let table = table
        .each(lines, |table, (head, state)| table.figures(head, |(.., pair)| fetched(state, *pair).map(|f| ns(f))));
    let key = "reverse: when the other cpu begins; lines: the time to fetch one that the other cpu has read (clean) \
        or written (dirty)";
    heading("One pair of each relation, ns") + table.table() + paragraph("  ", key, Ink::Dim)
}

/// Pairs whose cpus were at two distances in turn.
fn modes(findings: &[&Finding], detail: Detail) -> Page {
    // More than these are counted.
    const LISTED: usize = 6;
    let listed = detail.listed(LISTED);
    let mut out = Page::new();
    for f in findings.iter().take(listed) {
        let note = remark(f).unwrap_or_default();
        out += paragraph("  ", text![subject(f), ": ", note], Ink::Warn);
    }
    if findings.len() > listed {
        out += paragraph("  ", format!("and {} more like these", findings.len() - listed), Ink::Warn);
    }
    out
}

/// Round trips by where the memory of the line is.
fn homes(findings: &[&Finding]) -> Page {
    if findings.is_empty() {
        return Page::new();
    }
    let home = |f: &Finding| {
        let node = f.labels.node().map_or_else(String::new, |node| format!(", node {node}"));
        let home = match f.labels.home() {
            Some("first") => "the first cpu's node",
            Some("second") => "the second cpu's",
            _ => "another",
        };
        format!("{home}{node}")
    };
    let table = Table::of(findings).texts("relation", |f| class(f).unwrap_or_default());
    let table = table.numbers("cpus", |f| pair_name(f).unwrap_or_default());
    let table = table.texts("home of the line", |f| home(f)).figures("ns", |f| ns(f)).table();
    heading("Round trips by the home of the line") + table
}

/// The first finding of each number of threads.
fn by_threads<'a>(findings: &[&'a Finding]) -> HashMap<Option<u64>, &'a Finding> {
    first(findings.iter().map(|f| (f.labels.threads(), *f)))
}

/// Many on one line.
fn contention(times: &[&Finding], line: &[&Finding], fair: &[&Finding]) -> Page {
    if times.is_empty() {
        return Page::new();
    }
    let threads = |f: &Finding| f.labels.threads();
    let mut rows = times.to_vec();
    rows.sort_by_key(|f| threads(f));
    let (line, fair) = (by_threads(line), by_threads(fair));
    // A rate, made of a time that is at most so long, is at least so high.
    let rate = |f: &&Finding| {
        let per_us = f.value.filter(|ns| *ns > 0.0).map(|ns| nanoseconds(1e3 / ns));
        graded(per_us, &f.verdict, tiermark_model::Unit::BytesPerSecond)
    };
    let table = Table::of(&rows).numbers("cpus", |f| threads(f).map_or_else(String::new, |n| n.to_string()));
    let table = table.figures("ns an|addition", |f| ns(f));
    let table = table.figures("additions|a µs, all", |f| line.get(&threads(f)).map(rate));
    let table = table.figures("slowest over|fastest", |f| fair.get(&threads(f)).map(|f| ns(f))).table();
    let key = "an addition: time from one addition of a cpu to its next, median over the cpus";
    heading("All on one line") + table + paragraph("  ", key, Ink::Dim)
}
