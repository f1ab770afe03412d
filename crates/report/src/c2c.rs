//! Core to core: round trips by relation and by pair, one pair of each relation in all its ways, homes, contention.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tiermark_model::{Finding, Kinds, Labels, Quantity, Relation, Unit};
use tiermark_page::{
    Align, Block, Cell, Ink, Page, PairMap, Style, Table, graded, heading, nanoseconds, paragraph, percent,
};

use crate::ladder::Shown;
use crate::order::{first, grouped};
use crate::reasons::Reasons;

/// A matrix of this many cpus is shown whole: its lower half fits 80 columns.
const WHOLE: usize = 16;
/// Meaning of the letters of a hybrid's pairs.
const KINDS: &str = "kinds of the two cores: P performance (big), E efficiency (little), LP low-power";

/// All of it; empty where a run has no such findings.
pub(crate) fn c2c(shown: &mut Shown<'_>, style: &Style) -> Page {
    let findings = shown.take_all(|f| f.metric.family() == "c2c");
    if findings.is_empty() {
        return Page::new();
    }
    shown.count(&findings.iter().filter(|f| f.metric != Quantity::C2cModes).copied().collect::<Vec<_>>());
    let of = |metric: Quantity| findings.iter().filter(|f| f.metric == metric).copied().collect::<Vec<_>>();
    let pairs = of(Quantity::C2cPair);
    let mut out = relations(&of(Quantity::C2cRelation), style);
    let ops: BTreeSet<&str> = pairs.iter().filter_map(|f| f.labels.get(Labels::OP)).collect();
    for op in ops {
        let of_op: Vec<&Finding> = pairs.iter().filter(|f| f.labels.is(Labels::OP, op)).copied().collect();
        out += matrix(op, &of_op, style);
    }
    out += speakers(&findings, style);
    out += modes(&of(Quantity::C2cModes), style);
    out += homes(&of(Quantity::C2cHome), style);
    out += contention(&of(Quantity::C2cContention), &of(Quantity::C2cLine), &of(Quantity::C2cFairness), style);
    let mut reasons = Reasons::new(style);
    // What the median of a relation says of its pairs, the pairs need not say again.
    let told =
        |f: &&&Finding| style.verbose || f.metric != Quantity::C2cRelation || f.labels.is(Labels::STATISTIC, "median");
    // Modes say themselves what there is to doubt, and an only pair says it for its relation.
    let told = |f: &&&Finding| {
        told(f)
            && f.metric != Quantity::C2cModes
            && !(f.metric == Quantity::C2cRelation && f.labels.number(Labels::PAIRS) == Some(1))
    };
    findings.iter().filter(told).for_each(|f| reasons.add(&subject(f), &f.verdict));
    out + reasons.page(style)
}

/// A finding's name among reasons.
fn subject(finding: &Finding) -> String {
    let labels = &finding.labels;
    let mut words: Vec<String> = Vec::new();
    words.extend(class(finding));
    words.extend(pair_name(finding).filter(|_| finding.metric != Quantity::C2cRelation));
    let cpus = |n: u64| format!("{n} cpu{} on one line:", if n == 1 { "" } else { "s" });
    words.extend(labels.number(Labels::THREADS).map(cpus));
    // The rest as the columns are called.
    let column = match &finding.metric {
        Quantity::C2cContention => Some("an addition".to_owned()),
        Quantity::C2cLine => Some("additions a µs".to_owned()),
        Quantity::C2cFairness => Some("slowest over fastest".to_owned()),
        Quantity::C2cAsymmetry => Some("reverse".to_owned()),
        Quantity::C2cTransfer => labels.get(Labels::STATE).map(|state| format!("a {state} line")),
        _ => labels.get(Labels::OP).map(str::to_owned),
    };
    words.extend(column);
    words.extend(labels.get(Labels::STATISTIC).map(str::to_owned));
    words.extend(labels.get(Labels::HOME).map(|home| format!("home {home}")));
    words.join(" ")
}

/// The pair's cpus, the one that begins first.
fn pair_name(finding: &Finding) -> Option<String> {
    let (from, to) = (finding.labels.number(Labels::FROM)?, finding.labels.number(Labels::TO)?);
    Some(format!("{from}-{to}"))
}

fn relation(finding: &Finding) -> Option<Relation> {
    finding.labels.get(Labels::RELATION)?.parse().ok()
}

/// The kinds of its pair's cores, on a hybrid machine.
fn kinds(finding: &Finding) -> Option<Kinds> {
    finding.labels.get(Labels::KINDS)?.parse().ok()
}

/// Relation and kinds of its pair.
fn class(finding: &Finding) -> Option<String> {
    let related = finding.labels.get(Labels::RELATION)?;
    Some(kinds(finding).map_or_else(|| related.to_owned(), |kinds| format!("{related} {kinds}")))
}

/// A time in its cell.
fn ns(finding: Option<&&Finding>, style: &Style) -> Cell {
    finding.map_or_else(Cell::default, |f| {
        let text = |v| if f.unit == Unit::Ratio { percent(v) } else { nanoseconds(v) };
        graded(f.value.map(text), &f.verdict, f.unit, style)
    })
}

/// One row a relation: how many pairs, and where they lie.
fn relations(findings: &[&Finding], style: &Style) -> Page {
    let mut rows: BTreeMap<(Relation, Option<Kinds>, &str), HashMap<&str, &Finding>> = BTreeMap::new();
    for f in findings {
        let Some((related, op)) = relation(f).zip(f.labels.get(Labels::OP)) else { continue };
        let row = rows.entry((related, kinds(f), op)).or_default();
        row.entry(f.labels.get(Labels::STATISTIC).unwrap_or_default()).or_insert(f);
    }
    if rows.is_empty() {
        return Page::new();
    }
    let ops: BTreeSet<&str> = rows.keys().map(|(_, _, op)| *op).collect();
    let mut table = Table::new().column("relation", Align::Left);
    if ops.len() > 1 {
        table = table.column("by", Align::Left);
    }
    table = table.column("pairs", Align::Right).column("min ", Align::Right);
    table = table.column("median ", Align::Right).column("max ", Align::Right);
    let mut notes = Page::new();
    for ((related, _, op), row) in rows {
        let of = |statistic: &str| row.get(statistic);
        let median = of("median");
        let number = |key: &str| median.and_then(|f| f.labels.number(key));
        let pairs = match (number(Labels::PAIRS), number(Labels::OF)) {
            (Some(pairs), Some(all)) if all != pairs => format!("{pairs} of {all}"),
            (Some(pairs), _) => pairs.to_string(),
            _ => String::new(),
        };
        let name = median.and_then(|f| class(f)).unwrap_or_else(|| related.to_string());
        let mut row = vec![Cell::new(name.clone())];
        if ops.len() > 1 {
            row.push(Cell::new(op));
        }
        row.extend([Cell::new(pairs), ns(of("min"), style), ns(median, style), ns(of("max"), style)]);
        table.row(row);
        if let Some(note) = median.and_then(|f| f.note(style.rate_unit)) {
            notes += paragraph("  ", format!("{name}: {note}"), Ink::Dim);
        }
    }
    let op = ops.first().filter(|_| ops.len() == 1).map_or_else(String::new, |op| format!(" ({op})"));
    let what = if ops.contains("one-way") { "a round trip (one-way: one way)" } else { "a round trip" };
    if findings.iter().any(|f| kinds(f).is_some()) {
        notes += paragraph("  ", KINDS, Ink::Dim);
    }
    heading(&format!("Core to core, {what}, ns{op}")) + table + notes
}

/// All pairs: as numbers of a few cpus, as shades of many.
fn matrix(op: &str, pairs: &[&Finding], style: &Style) -> Page {
    let mut cells: BTreeMap<(u64, u64), &Finding> = BTreeMap::new();
    let mut cpus: BTreeSet<u64> = BTreeSet::new();
    for f in pairs {
        if let (Some(from), Some(to)) = (f.labels.number(Labels::FROM), f.labels.number(Labels::TO)) {
            cpus.extend([from, to]);
            cells.insert((from.min(to), from.max(to)), f);
        }
    }
    let cpus: Vec<u64> = cpus.into_iter().collect();
    match cpus.len() {
        // With one or two pairs, their relation names them.
        0..=2 => Page::new(),
        n if n <= WHOLE => whole(op, &cpus, &cells, style),
        _ => heat_map(op, &cpus, &cells),
    }
}

fn whole(op: &str, cpus: &[u64], cells: &BTreeMap<(u64, u64), &Finding>, style: &Style) -> Page {
    let mut table = Table::new().gap(1).column("cpu", Align::Right);
    for cpu in &cpus[..cpus.len() - 1] {
        table = table.column(&format!("{cpu} "), Align::Right);
    }
    for (row, second) in cpus.iter().enumerate().skip(1) {
        let mut line = vec![Cell::inked(second.to_string(), Ink::Dim)];
        line.extend(cpus[..row].iter().map(|first| {
            let found = cells.get(&(*first, *second));
            found.map_or_else(Cell::default, |f| {
                graded(f.value.map(|v| format!("{v:.0}")), &f.verdict, f.unit, style).heated(f.value)
            })
        }));
        table.row(line);
    }
    heading(&format!("All pairs by {op}, ns")) + table
}

/// Medians of bins of cpus as shades.
fn heat_map(op: &str, cpus: &[u64], cells: &BTreeMap<(u64, u64), &Finding>) -> Page {
    let measured = |(pair, f): (&(u64, u64), &&Finding)| Some((*pair, f.value.filter(|v| v.is_finite() && *v > 0.0)?));
    let values: Vec<((u64, u64), f64)> = cells.iter().filter_map(measured).collect();
    if values.is_empty() {
        return Page::new();
    }
    let (of, by, unit) = ("cpus".to_owned(), op.to_owned(), "ns".to_owned());
    Block::Map(PairMap { of, by, unit, items: cpus.to_vec(), values }).into()
}

/// One pair of each relation in all the ways it was measured.
fn speakers(findings: &[&Finding], style: &Style) -> Page {
    let ends = |f: &Finding| {
        let (from, to) = (f.labels.number(Labels::FROM)?, f.labels.number(Labels::TO)?);
        Some((from.min(to), from.max(to)))
    };
    let fetched: Vec<&&Finding> = findings.iter().filter(|f| f.metric == Quantity::C2cTransfer).collect();
    let rows: BTreeSet<(Relation, Option<Kinds>, (u64, u64))> =
        fetched.iter().filter_map(|f| Some((relation(f)?, kinds(f), ends(f)?))).collect();
    if rows.is_empty() {
        return Page::new();
    }
    let of_pairs: HashMap<(u64, u64), Vec<&Finding>> =
        grouped(findings.iter().filter_map(|f| Some((ends(f)?, *f)))).into_iter().collect();
    let of_pair = |pair: (u64, u64)| of_pairs.get(&pair).into_iter().flatten();
    let find = |metric: Quantity, key: &str, value: &str, pair: (u64, u64)| {
        of_pair(pair).find(|f| f.metric == metric && f.labels.is(key, value))
    };
    let by = |op: &str, pair| {
        find(Quantity::C2cPair, Labels::OP, op, pair).or_else(|| find(Quantity::C2cOp, Labels::OP, op, pair))
    };
    let ops: Vec<&str> = ["cas", "flag", "one-way"]
        .into_iter()
        .filter(|op| rows.iter().any(|(_, _, pair)| by(op, *pair).is_some()))
        .collect();
    let mut table = Table::new().column("relation", Align::Left).column("cpus", Align::Right);
    for op in &ops {
        table = table.column(&format!("{op} "), Align::Right);
    }
    table = table.column("reverse ", Align::Right).column("a clean |line ", Align::Right);
    table = table.column("a dirty |line ", Align::Right);
    for (related, kinds, pair) in &rows {
        let name = kinds.map_or_else(|| related.to_string(), |kinds| format!("{related} {kinds}"));
        let mut row = vec![Cell::new(name), Cell::new(format!("{}-{}", pair.0, pair.1))];
        row.extend(ops.iter().map(|op| ns(by(op, *pair), style)));
        let back = of_pair(*pair).find(|f| f.metric == Quantity::C2cAsymmetry);
        row.push(back.map_or_else(Cell::default, |f| {
            let signed = |v: f64| match v {
                // What rounds to nothing has no sign.
                v if v.abs() < 0.0005 => percent(0.0),
                v if v > 0.0 => format!("+{}", percent(v)),
                v => percent(v),
            };
            graded(f.value.map(signed), &f.verdict, f.unit, style)
        }));
        row.extend(["clean", "dirty"].map(|state| ns(find(Quantity::C2cTransfer, Labels::STATE, state, *pair), style)));
        table.row(row);
    }
    let key = "reverse: when the other cpu begins; lines: the time to fetch one that the other cpu has read (clean) \
        or written (dirty)";
    heading("One pair of each relation, ns") + table + paragraph("  ", key, Ink::Dim)
}

/// Pairs whose cpus were at two distances in turn.
fn modes(findings: &[&Finding], style: &Style) -> Page {
    // More than these are counted.
    const LISTED: usize = 6;
    let listed = if style.verbose { findings.len() } else { LISTED };
    let mut out = Page::new();
    for f in findings.iter().take(listed) {
        let note = f.note(style.rate_unit).unwrap_or_default();
        out += paragraph("  ", format!("{}: {note}", subject(f)), Ink::Warn);
    }
    if findings.len() > listed {
        out += paragraph("  ", format!("and {} more like these", findings.len() - listed), Ink::Warn);
    }
    out
}

/// Round trips by where the memory of the line is.
fn homes(findings: &[&Finding], style: &Style) -> Page {
    if findings.is_empty() {
        return Page::new();
    }
    let mut table = Table::new().column("relation", Align::Left).column("cpus", Align::Right);
    table = table.column("home of the line", Align::Left).column("ns ", Align::Right);
    for f in findings {
        let node = f.labels.number(Labels::NODE).map_or_else(String::new, |node| format!(", node {node}"));
        let home = match f.labels.get(Labels::HOME) {
            Some("first") => "the first cpu's node".to_owned(),
            Some("second") => "the second cpu's".to_owned(),
            _ => "another".to_owned(),
        };
        table.row(vec![
            Cell::new(class(f).unwrap_or_default()),
            Cell::new(pair_name(f).unwrap_or_default()),
            Cell::new(home + &node),
            ns(Some(f), style),
        ]);
    }
    heading("Round trips by the home of the line") + table
}

/// The first finding of each number of threads.
fn by_threads<'a>(findings: &[&'a Finding]) -> HashMap<Option<u64>, &'a Finding> {
    first(findings.iter().map(|f| (f.labels.number(Labels::THREADS), *f)))
}

/// Many on one line.
fn contention(times: &[&Finding], line: &[&Finding], fair: &[&Finding], style: &Style) -> Page {
    if times.is_empty() {
        return Page::new();
    }
    let mut table = Table::new().column("cpus", Align::Right).column("ns an |addition ", Align::Right);
    table = table.column("additions |a µs, all ", Align::Right).column("slowest over |fastest ", Align::Right);
    let mut rows: Vec<&&Finding> = times.iter().collect();
    rows.sort_by_key(|f| f.labels.number(Labels::THREADS));
    let (line, fair) = (by_threads(line), by_threads(fair));
    for f in rows {
        let threads = f.labels.number(Labels::THREADS);
        let rate = line.get(&threads).map_or_else(Cell::default, |f| {
            // A rate, made of a time that is at most so long, is at least so high.
            let per_us = f.value.filter(|ns| *ns > 0.0).map(|ns| nanoseconds(1e3 / ns));
            graded(per_us, &f.verdict, tiermark_model::Unit::BytesPerSecond, style)
        });
        table.row(vec![
            Cell::new(threads.map_or_else(String::new, |n| n.to_string())),
            ns(Some(f), style),
            rate,
            ns(fair.get(&threads), style),
        ]);
    }
    let key = "an addition: time from one addition of a cpu to its next, median over the cpus";
    heading("All on one line") + table + paragraph("  ", key, Ink::Dim)
}
