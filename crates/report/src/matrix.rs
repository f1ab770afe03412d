//! The matrix: cpus against memory, policies, mixed placement, pairs that should be alike, and what firmware says.

mod shares;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use tiermark_model::{
    Finding, HmatAccess, Machine, MatrixCell, NodeId, Purpose, Quantity, RunCounters, Span, Unit, Work,
};
use tiermark_page::{
    ABSENT, Cell, Detail, Ink, Page, Table, Text, bullet, glued, grade_ink, grade_mark, graded, heading, number,
    paragraph, percent, rate, rate_unit, space, text,
};

use crate::findings::figure;
use crate::order::{distinct, first, grouped};
use crate::pivot::with_quantity;
use crate::reasons::Reasons;
use crate::remark::remark;
use crate::shown::Shown;

/// Whether a finding is a cell: another number is about cells.
fn is_cell(f: &&&Finding) -> bool {
    matches!(f.quantity, Quantity::Latency | Quantity::Bandwidth)
}

/// Takes the findings of a matrix.
pub(crate) fn take<'a>(shown: &mut Shown<'a>) -> Vec<&'a Finding> {
    let all = shown.take_all(|f| f.labels.is_for(Purpose::Matrix) && f.labels.from().is_some());
    let parts = |f: &&&Finding| matches!(f.quantity, Quantity::MatrixFar | Quantity::BandwidthPart);
    shown.count(&all.iter().filter(is_cell).copied().collect::<Vec<_>>());
    shown.count(&all.iter().filter(parts).copied().collect::<Vec<_>>());
    all
}

/// All that a matrix found.
pub(crate) fn matrix(all: &[&Finding], machine: &Machine, counters: Option<&RunCounters>, detail: Detail) -> Page {
    let numbers: Vec<&Finding> = all.iter().filter(is_cell).copied().collect();
    let (spread, cells): (Vec<&Finding>, Vec<&Finding>) =
        numbers.iter().copied().partition(|f| f.labels.policy().is_some());
    let mut reasons = Reasons::default();
    numbers.iter().for_each(|f| reasons.add(&named(f), &f.verdict));
    let mut out = Page::new();
    let works = by_work(&cells);
    if is_one_pair(&cells) && works.len() > 1 {
        out += one_pair(&works);
    } else {
        works.iter().for_each(|(work, group)| out += square(work, group, machine));
    }
    out += shares::used(&with_quantity(all, &Quantity::MatrixUsed), counters, detail);
    out += shares::of_theory(&with_quantity(all, &Quantity::MatrixShare));
    out += far(&with_quantity(all, &Quantity::MatrixFar), detail);
    // Mixed memory is the answer of its run.
    let spread: Vec<&Finding> = spread.into_iter().filter(|f| f.labels.policy() != Some("mixed")).collect();
    out += policies(&spread, &cells);
    out += best(&with_quantity(all, &Quantity::InterleaveBest));
    out += uneven(all);
    out += firmware(&cells, machine);
    let trouble = reasons.page(detail);
    out + if trouble.is_empty() { trouble } else { space() + trouble }
}

/// The cpus of a row.
fn from(finding: &Finding) -> &str {
    finding.labels.from().unwrap_or_default()
}

fn weights(finding: &Finding) -> &str {
    finding.labels.weights().unwrap_or_default()
}

/// The node of the memory of a cell; `None` where it is spread.
fn node(finding: &Finding) -> Option<NodeId> {
    finding.labels.node()
}

/// A finding in a list of reasons.
fn named(finding: &Finding) -> String {
    let to = match (node(finding), finding.labels.nodes()) {
        (Some(node), _) => format!("node {node}"),
        (None, Some(nodes)) => format!("nodes {nodes}"),
        (None, None) => "its own nodes".to_owned(),
    };
    let how = finding.labels.policy().map_or_else(String::new, |policy| format!(" {policy}"));
    let weights = finding.labels.weights().map_or_else(String::new, |weights| format!(" {weights}"));
    format!("{} {} to {to}{how}{weights}", work(finding).op, from(finding))
}

fn work(finding: &Finding) -> Work<'_> {
    Work::of(&finding.labels)
}

fn by_work<'a>(findings: &[&'a Finding]) -> Vec<(Work<'a>, Vec<&'a Finding>)> {
    grouped(findings.iter().map(|finding| (work(finding), *finding)))
}

fn span_words(span: Option<Span>) -> String {
    match span {
        None | Some(Span::One) => "one thread".to_owned(),
        Some(Span::Cores) => "one thread a core".to_owned(),
        Some(Span::Cpus) => "one thread a cpu".to_owned(),
        Some(number) => format!("{number} threads"),
    }
}

/// Whether all cells are of the same cpus and the same memory: a machine of one node.
fn is_one_pair(cells: &[&Finding]) -> bool {
    distinct(cells.iter().map(|f| (from(f), node(f)))).len() == 1
}

/// All that was done to one node's memory from one group of cpus: a matrix each would be a single cell.
fn one_pair(works: &[(Work<'_>, Vec<&Finding>)]) -> Page {
    let rows = works.iter().flat_map(|(work, group)| group.iter().map(move |f| (work, *f)));
    let rows: Vec<(&Work<'_>, &Finding)> = rows.collect();
    let Some((_, first)) = rows.first() else { return Page::new() };
    let kernel = |f: &Finding| f.labels.kernel().map(str::to_owned);
    let table = Table::of(&rows).texts("what", |(work, f)| match f.unit {
        Unit::Ns => "idle latency".to_owned(),
        _ => format!("{}, {}", work.op, span_words(work.span)),
    });
    let table = table.figures("", |(.., f)| figure(f)).texts("", |(.., f)| Cell::inked(Text::unit(f.unit), Ink::Dim));
    let table = table.when(rows.iter().any(|(.., f)| kernel(f).is_some()), |table| {
        table.texts("kernel", |(.., f)| Cell::inked(kernel(f).unwrap_or_default(), Ink::Dim))
    });
    let to = node(first).map_or_else(String::new, |node| format!(" to the memory of node {node}"));
    heading(format!("From {}{to}", from(first))) + table.table()
}

/// Cells of a matrix for each one that was measured from which on a list is shorter: runs of some pairs only, and
/// hostile documents.
const SPARSE: usize = 8;

/// One matrix: rows are cpus, columns are memory.
fn square(work: &Work<'_>, cells: &[&Finding], machine: &Machine) -> Page {
    let unit = cells.first().map_or(Unit::Ns, |f| f.unit);
    let title = match unit {
        Unit::Ns => "Idle latency, ns: from cpus (rows) to memory (columns)".into(),
        _ => {
            let how = format!(", {}: from cpus (rows) to memory (columns)", span_words(work.span));
            text![format!("Bandwidth, {}, ", work.op), Text::unit(unit), how]
        }
    };
    let columns: BTreeSet<NodeId> = cells.iter().filter_map(|f| node(f)).collect();
    let rows = grouped(cells.iter().map(|f| (from(f), (node(f), *f))));
    if rows.len() * columns.len() > SPARSE * cells.len() {
        return heading(title) + listed(cells) + below(cells);
    }
    let rows: Vec<(&str, HashMap<Option<NodeId>, &Finding>)> =
        rows.into_iter().map(|(name, here)| (name, first(here))).collect();
    let memory_only = |node: NodeId| machine.node(node).is_some_and(tiermark_model::Node::is_memory_only);
    let table = Table::of(&rows).texts("", |(name, _)| *name).each(columns, |table, column| {
        let kind = if memory_only(column) { "no cpus|" } else { "" };
        table.figures(format!("{kind}node {column}"), |(_, here)| here.get(&Some(column)).map(|f| heated(f)))
    });
    heading(title) + table.table().shaded_in(unit) + below(cells)
}

/// A cell coloured by its value.
fn heated(f: &Finding) -> Cell {
    graded(f.value.map(|v| number(v, f.unit)), &f.verdict, f.unit).heated(f.value)
}

/// The cells of a matrix that is nearly empty, one a row.
fn listed(cells: &[&Finding]) -> Page {
    let to = |f: &Finding| node(f).map_or_else(String::new, |node| format!("node {node}"));
    let table = Table::of(cells).texts("from", |f| from(f)).texts("to", |f| to(f));
    table.figures("", |f| heated(f)).table().into()
}

/// The kernels that won and the widest interval, below a matrix.
fn below(cells: &[&Finding]) -> Page {
    let mut kernels: BTreeMap<&str, usize> = BTreeMap::new();
    for kernel in cells.iter().filter_map(|f| f.labels.kernel()) {
        *kernels.entry(kernel).or_default() += 1;
    }
    let mut words: Vec<String> = match kernels.len() {
        0 => Vec::new(),
        1 => kernels.keys().map(|kernel| format!("kernel {kernel}")).collect(),
        _ => kernels.iter().map(|(kernel, cells)| format!("{kernel} in {cells}")).collect(),
    };
    let half = |f: &&Finding| {
        let (value, interval) = f.value.zip(f.interval)?;
        Some((interval.high - value).max(value - interval.low) / value)
    };
    let widest = cells.iter().filter_map(half).filter(|half| half.is_finite()).reduce(f64::max);
    words.extend(widest.map(|half| format!("widest interval ±{}", percent(half))));
    if words.is_empty() { Page::new() } else { paragraph("  ", words.join("; "), Ink::Dim) }
}

/// Far memory against each row's own: times the latency, shares of the bandwidth.
fn far(findings: &[&Finding], detail: Detail) -> Page {
    /// More rows repeat one another.
    const ROWS: usize = 8;
    if findings.is_empty() {
        return Page::new();
    }
    let works = distinct(findings.iter().map(|f| work(f)));
    let rows = grouped(findings.iter().map(|f| ((from(f), node(f)), *f)));
    let shown = detail.listed(ROWS).min(rows.len());
    let to = |to: Option<NodeId>, here: &[&Finding]| {
        let distance = here.iter().find_map(|f| remark(f)).unwrap_or_default();
        to.map_or_else(Text::default, |node| text![format!("node {node} "), distance])
    };
    let cell = |f: &Finding| {
        let is_time = f.labels.op() == Some("latency");
        let show = |v: f64| if is_time { format!("{v:.2}×") } else { percent(v) };
        graded(f.value.map(show), &f.verdict, f.unit)
    };
    let table = Table::of(&rows[..shown]).texts("from", |((from, _), _)| *from);
    let table = table.texts("to", |((_, node), here)| to(*node, here)).each(&works, |table, column| {
        let found = |here: &[&Finding]| here.iter().find(|f| work(f) == *column).map(|f| cell(f));
        table.figures(work_head(column, &works), |(_, here)| found(here))
    });
    let left = rows.len() - shown;
    let more =
        if left > 0 { paragraph("  ", format!("and {left} more, with --verbose"), Ink::Dim) } else { Page::new() };
    heading("Far memory against the row's own") + table.table() + more
}

/// The head of a column of a work: with the number of threads where the others have another.
fn work_head(work: &Work<'_>, works: &[Work<'_>]) -> String {
    let several = works.iter().filter_map(|work| work.span).filter(|span| *span != Span::One);
    match work.span {
        Some(span) if distinct(several).len() > 1 => format!("{}|{span}", work.op),
        _ => work.op.to_owned(),
    }
}

/// How the memory of a row of the policies table lies.
fn how(finding: &Finding) -> String {
    let nodes = finding.labels.nodes().unwrap_or_default();
    match finding.labels.policy() {
        None => node(finding).map_or_else(String::new, |node| format!("all on node {node}")),
        Some("local") => "each on its own node".to_owned(),
        Some("weighted") => format!("weights {}", weights(finding)),
        Some(policy) => format!("{policy}, nodes {nodes}"),
    }
}

/// Where a row of the policies table stands: by nodes, and weights from most to least on the first of them.
fn order(finding: &Finding) -> (String, u8, f64) {
    let rank = match finding.labels.policy() {
        Some("local") => 0,
        Some("interleave") => 1,
        Some("weighted") => 2,
        _ => 3,
    };
    let weights = weights(finding).split(',').filter_map(|part| part.rsplit(':').next()?.parse::<f64>().ok());
    let weights: Vec<f64> = weights.collect();
    let first = weights.first().map_or(0.0, |first| first / weights.iter().sum::<f64>().max(1.0));
    (finding.labels.nodes().unwrap_or_default().to_owned(), rank, -first)
}

/// Spread memory beside that of single nodes, by the same cpus.
fn policies(spread: &[&Finding], cells: &[&Finding]) -> Page {
    if spread.is_empty() {
        return Page::new();
    }
    let works = distinct(spread.iter().map(|f| work(f)));
    let shown: HashSet<Work<'_>> = works.iter().copied().collect();
    let alone = grouped(cells.iter().filter(|f| shown.contains(&work(f))).map(|f| (from(f), *f)));
    let alone: HashMap<&str, Vec<&Finding>> = alone.into_iter().collect();
    let mut rows: Vec<PolicyRow<'_>> = Vec::new();
    for (from, mut of) in grouped(spread.iter().map(|f| (from(f), *f))) {
        of.sort_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal));
        let lines = alone.get(from).into_iter().flatten().copied().chain(of);
        let lines = grouped(lines.map(|f| (how(f), f))).into_iter().enumerate();
        rows.extend(lines.map(|(at, (how, here))| PolicyRow {
            from: if at == 0 { from } else { "" },
            how,
            size: here.iter().find_map(|f| f.labels.size()),
            here: first(here.into_iter().map(|f| (work(f), f))),
        }));
    }
    let table = Table::of(&rows).texts("from", |row| row.from).texts("memory", |row| &row.how);
    let size = |row: &PolicyRow<'_>| row.size.map_or_else(String::new, |size| size.to_string());
    let table = table.numbers("each", |row| Cell::inked(size(row), Ink::Dim));
    let table = table.each(&works, |table, column| {
        table.figures(work_head(column, &works), |row| row.here.get(column).map(|f| rated(f)))
    });
    let title = Text::from("Memory spread over nodes, ") + rate_unit();
    let shared = spread.iter().any(|f| f.labels.buffer().is_some());
    let each = if shared { "each = the one buffer of all threads" } else { "each = footprint of each thread" };
    heading(title) + table.table().named_by(2) + paragraph("  ", each, Ink::Dim)
}

/// Memory that lies in one way, seen from some cpus.
struct PolicyRow<'a> {
    /// The cpus; empty where they are those of the row above.
    from: &'a str,
    how: String,
    size: Option<tiermark_model::Bytes>,
    /// By what was done, and by how many threads.
    here: HashMap<Work<'a>, &'a Finding>,
}

/// A rate with the mark of its grade, without its interval.
fn rated(f: &Finding) -> Cell {
    graded(f.value.map(rate), &f.verdict, f.unit)
}

/// The best weights of each sweep.
fn best(findings: &[&Finding]) -> Page {
    let line = |f: &&Finding| {
        let best = f.value.map_or_else(|| ABSENT.into(), |v| Text::from(rate(v).within(f.interval)));
        let note = remark(f).map_or_else(Text::default, |note| text!["; ", note]);
        let (op, from, weights) = (work(f).op, from(f), weights(f));
        let what = format!("Best weights for {op} from {from}: {weights} with ");
        paragraph("  ", text![what, best, " ", rate_unit(), note], Ink::Plain)
    };
    findings.iter().map(line).collect()
}

/// Pairs that differ and should not, each named; the others in one line.
fn uneven(all: &[&Finding]) -> Page {
    let found: Vec<&Finding> = all
        .iter()
        .filter(|f| f.quantity == Quantity::MatrixAsymmetry || f.quantity == Quantity::MatrixUneven)
        .copied()
        .collect();
    let by = |f: &Finding| f.value.map_or_else(|| ABSENT.to_owned(), |v| percent(v - 1.0));
    let (alike, named): (Vec<&Finding>, Vec<&Finding>) =
        found.into_iter().partition(|f| f.labels.statistic() == Some("widest"));
    let mut out = Page::new();
    for f in &named {
        let what = if f.quantity == Quantity::MatrixAsymmetry { "both directions" } else { "same distance" };
        let differs = format!("{what}, {} differs by {}: ", work(f).op, by(f));
        let text = text![differs, remark(f).unwrap_or_default()];
        out += bullet(grade_mark(f.verdict.grade), grade_ink(f.verdict.grade), text, None);
    }
    if !alike.is_empty() {
        let widest: Vec<String> = alike.iter().map(|f| glued(&format!("{} {}", work(f).op, by(f)))).collect();
        let which =
            if named.is_empty() { "Both directions are alike" } else { "Of the others both directions are alike" };
        let text = format!("{which}: the widest pairs differ by {}", widest.join(", "));
        out += paragraph("  ", &text, Ink::Plain);
    }
    if out.is_empty() { out } else { heading("Pairs that should be alike") + out }
}

/// The measured cell of an initiator and a target, by operation.
fn measured<'a>(cells: &[&'a Finding], from: NodeId, to: NodeId, op: &str) -> Option<&'a Finding> {
    let is = |cell: MatrixCell<'_>| cell.from_node == Some(from) && cell.to == to && cell.work.op == op;
    cells.iter().find(|f| MatrixCell::of(&f.labels).is_some_and(is)).copied()
}

/// What firmware says of access from the best initiators, beside what was measured from them.
fn firmware(cells: &[&Finding], machine: &Machine) -> Page {
    // Class 1 is the best cpus, class 0 the best of anything.
    let says = machine.nodes.iter().filter_map(|to| Some((to.id, to.hmat.iter().max_by_key(|access| access.class)?)));
    let rows = says.flat_map(|(to, says)| says.initiators.iter().map(move |from| (from, to, says)));
    let rows: Vec<(NodeId, NodeId, &HmatAccess)> = rows.collect();
    if rows.is_empty() || cells.is_empty() {
        return Page::new();
    }
    let cell = |from: NodeId, to: NodeId, op: &str| {
        measured(cells, from, to, op).map(|f| graded(f.value.map(|v| number(v, f.unit)), &f.verdict, f.unit))
    };
    let stated = |value: Option<f64>, unit: Unit| value.map_or_else(|| ABSENT.into(), |v| Text::from(number(v, unit)));
    let table = Table::of(&rows).texts("memory", |(_, to, _)| format!("node {to}"));
    let table = table.texts("from", |(from, ..)| format!("node:{from}"));
    let table = table.figures("latency|ns", |(from, to, _)| cell(*from, *to, "latency"));
    let table = table.figures("firmware", |(.., says)| stated(says.read_latency_ns, Unit::Ns));
    let table = table.figures(Text::from("read|") + rate_unit(), |(from, to, _)| cell(*from, *to, "read"));
    let table = table.figures("firmware", |(.., says)| stated(says.read_bandwidth, Unit::BytesPerSecond));
    heading("What firmware says (HMAT), beside what was measured") + table.table()
}
