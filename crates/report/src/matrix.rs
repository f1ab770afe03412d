//! The matrix: cpus against memory, policies, mixed placement, pairs that should be alike, and what firmware says.

mod shares;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use tiermark_model::{Finding, Labels, Machine, NodeId, Purpose, Quantity, RunCounters, Unit};
use tiermark_page::{
    Align, Cell, Ink, Page, Style, Table, bullet, glued, grade_ink, graded, heading, nanoseconds, paragraph, percent,
    rate, space, unit_name, value, with_interval,
};

use crate::ladder::Shown;
use crate::order::{distinct, first, grouped};
use crate::reasons::Reasons;

/// All that a matrix found, in tables of the style's width.
pub(crate) fn matrix(shown: &mut Shown<'_>, machine: &Machine, counters: Option<&RunCounters>, style: &Style) -> Page {
    let all = shown.take_all(|f| f.labels.is_for(Purpose::Matrix) && f.labels.get(Labels::FROM).is_some());
    let is_number = |f: &&&Finding| matches!(f.metric, Quantity::Latency | Quantity::Bandwidth);
    let numbers: Vec<&Finding> = all.iter().filter(is_number).copied().collect();
    let (spread, cells): (Vec<&Finding>, Vec<&Finding>) =
        numbers.iter().copied().partition(|f| f.labels.get(Labels::POLICY).is_some());
    let mut reasons = Reasons::new(style);
    let parts = |f: &&&Finding| matches!(f.metric, Quantity::MatrixFar | Quantity::BandwidthPart);
    shown.count(&numbers);
    shown.count(&all.iter().filter(parts).copied().collect::<Vec<_>>());
    numbers.iter().for_each(|f| reasons.add(&named(f), &f.verdict));
    let mut out = Page::new();
    let works = by_work(&cells);
    if is_one_pair(&cells) && works.len() > 1 {
        out += one_pair(&works, style);
    } else {
        works.iter().for_each(|(work, group)| out += square(work, group, machine, style));
    }
    out += shares::used(&of_metric(&all, &Quantity::MatrixUsed), counters, style);
    out += shares::of_theory(&of_metric(&all, &Quantity::MatrixShare), style);
    out += far(&of_metric(&all, &Quantity::MatrixFar), style);
    let (mixed, spread): (Vec<&Finding>, Vec<&Finding>) =
        spread.into_iter().partition(|f| f.labels.is(Labels::POLICY, "mixed"));
    out += policies(&spread, &cells, style);
    out += best(&of_metric(&all, &Quantity::InterleaveBest), style);
    out += mixes(&mixed, &all, &cells, style);
    out += uneven(&all, style);
    out += firmware(&cells, machine, style);
    let trouble = reasons.page(style);
    out + if trouble.is_empty() { trouble } else { space() + trouble }
}

fn of_metric<'a>(findings: &[&'a Finding], metric: &Quantity) -> Vec<&'a Finding> {
    findings.iter().filter(|f| f.metric == *metric).copied().collect()
}

fn label<'a>(finding: &'a Finding, key: &str) -> &'a str {
    finding.labels.get(key).unwrap_or_default()
}

pub(crate) fn node(finding: &Finding) -> Option<NodeId> {
    finding.labels.number(Labels::NODE).and_then(|node| NodeId::try_from(node).ok())
}

/// A finding in a list of reasons.
fn named(finding: &Finding) -> String {
    let to = match (node(finding), finding.labels.get(Labels::NODES)) {
        (Some(node), _) => format!("node {node}"),
        (None, Some(nodes)) => format!("nodes {nodes}"),
        (None, None) => "its own nodes".to_owned(),
    };
    let how = finding.labels.get(Labels::POLICY).map_or_else(String::new, |policy| format!(" {policy}"));
    let weights = finding.labels.get(Labels::WEIGHTS).map_or_else(String::new, |weights| format!(" {weights}"));
    format!("{} {} to {to}{how}{weights}", label(finding, Labels::OP), label(finding, Labels::FROM))
}

/// What was done, and by how many threads: one matrix each.
fn work(finding: &Finding) -> (String, String) {
    (label(finding, Labels::OP).to_owned(), label(finding, Labels::SPAN).to_owned())
}

fn by_work<'a>(findings: &[&'a Finding]) -> Vec<((String, String), Vec<&'a Finding>)> {
    grouped(findings.iter().map(|finding| (work(finding), *finding)))
}

fn span_words(span: &str) -> String {
    match span {
        "" | "one" => "one thread".to_owned(),
        "cores" => "one thread a core".to_owned(),
        "cpus" => "one thread a cpu".to_owned(),
        number => format!("{number} threads"),
    }
}

/// Whether all cells are of the same cpus and the same memory: a machine of one node.
fn is_one_pair(cells: &[&Finding]) -> bool {
    distinct(cells.iter().map(|f| (label(f, Labels::FROM), node(f)))).len() == 1
}

/// All that was done to one node's memory from one group of cpus: a matrix each would be a single cell.
fn one_pair(works: &[((String, String), Vec<&Finding>)], style: &Style) -> Page {
    let Some(first) = works.first().and_then(|(_, group)| group.first()) else { return Page::new() };
    let mut table = Table::new().column("what", Align::Left).column("", Align::Right).column("", Align::Left);
    let kernels = works.iter().flat_map(|(_, group)| group).any(|f| f.labels.get(Labels::KERNEL).is_some());
    if kernels {
        table = table.column("kernel", Align::Left);
    }
    for ((op, span), group) in works {
        for f in group {
            let what = match f.unit {
                Unit::Ns => "idle latency".to_owned(),
                _ => format!("{op}, {}", span_words(span)),
            };
            let mut row = vec![Cell::new(what)];
            row.push(graded(f.value.map(|v| with_interval(v, f.interval, f.unit, style)), &f.verdict, f.unit, style));
            row.push(Cell::inked(unit_name(f.unit, style), Ink::Dim));
            row.push(Cell::inked(f.labels.get(Labels::KERNEL).unwrap_or_default(), Ink::Dim));
            table.row(row);
        }
    }
    let to = node(first).map_or_else(String::new, |node| format!(" to the memory of node {node}"));
    heading(&format!("From {}{to}", label(first, Labels::FROM))) + table
}

/// Cells of a matrix for each one that was measured from which on a list is shorter: runs of some pairs only, and
/// hostile documents.
const SPARSE: usize = 8;

/// One matrix: rows are cpus, columns are memory.
fn square((op, span): &(String, String), cells: &[&Finding], machine: &Machine, style: &Style) -> Page {
    let unit = cells.first().map_or(Unit::Ns, |f| f.unit);
    let title = match unit {
        Unit::Ns => "Idle latency, ns: from cpus (rows) to memory (columns)".to_owned(),
        _ => format!(
            "Bandwidth, {op}, {}, {}: from cpus (rows) to memory (columns)",
            unit_name(unit, style),
            span_words(span)
        ),
    };
    let columns: BTreeSet<NodeId> = cells.iter().filter_map(|f| node(f)).collect();
    let rows = distinct(cells.iter().map(|f| label(f, Labels::FROM))).len();
    if rows * columns.len() > SPARSE * cells.len() {
        return heading(&title) + listed(cells, style) + below(cells, style);
    }
    let memory_only = |node: NodeId| machine.node(node).is_some_and(tiermark_model::Node::is_memory_only);
    let mut table = Table::new().shaded_in(unit).column("", Align::Left);
    for column in &columns {
        let kind = if memory_only(*column) { "no cpus |" } else { "" };
        table = table.column(&format!("{kind}node {column} "), Align::Right);
    }
    for (row, here) in grouped(cells.iter().map(|f| (label(f, Labels::FROM), (node(f), *f)))) {
        let mut line = vec![Cell::new(row)];
        let here = first(here);
        for column in &columns {
            line.push(here.get(&Some(*column)).map_or_else(Cell::default, |f| {
                graded(f.value.map(|v| value(v, unit, style)), &f.verdict, f.unit, style).heated(f.value)
            }));
        }
        table.row(line);
    }
    heading(&title) + table + below(cells, style)
}

/// The cells of a matrix that is nearly empty, one a row.
fn listed(cells: &[&Finding], style: &Style) -> Page {
    let mut table = Table::new().column("from", Align::Left).column("to", Align::Left).column("", Align::Right);
    for f in cells {
        let to = node(f).map_or_else(String::new, |node| format!("node {node}"));
        let value = graded(f.value.map(|v| value(v, f.unit, style)), &f.verdict, f.unit, style);
        table.row(vec![Cell::new(label(f, Labels::FROM)), Cell::new(to), value.heated(f.value)]);
    }
    table.into()
}

/// The kernels that won and the widest interval, below a matrix.
fn below(cells: &[&Finding], style: &Style) -> Page {
    let mut kernels: BTreeMap<&str, usize> = BTreeMap::new();
    for kernel in cells.iter().filter_map(|f| f.labels.get(Labels::KERNEL)) {
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
    words.extend(widest.map(|half| format!("widest interval {}{}", style.glyph("±", "+-"), percent(half))));
    if words.is_empty() { Page::new() } else { paragraph("  ", words.join("; "), Ink::Dim) }
}

/// Far memory against each row's own: times the latency, shares of the bandwidth.
fn far(findings: &[&Finding], style: &Style) -> Page {
    /// More rows repeat one another.
    const ROWS: usize = 8;
    if findings.is_empty() {
        return Page::new();
    }
    let works = distinct(findings.iter().map(|f| work(f)));
    let spans = distinct(works.iter().map(|(_, span)| span.as_str()).filter(|span| !matches!(*span, "" | "one"))).len();
    let mut table = Table::new().column("from", Align::Left).column("to", Align::Left);
    for (op, span) in &works {
        let head = if spans > 1 { format!("{op} |{span} ") } else { format!("{op} ") };
        table = table.column(&head, Align::Right);
    }
    let rows = grouped(findings.iter().map(|f| ((label(f, Labels::FROM), node(f)), *f)));
    let shown = if style.verbose { rows.len() } else { rows.len().min(ROWS) };
    for ((from, to), here) in &rows[..shown] {
        let distance = here.iter().find_map(|f| f.note(style.rate_unit)).unwrap_or_default();
        let to = to.map_or_else(String::new, |node| format!("node {node} {distance}"));
        let mut line = vec![Cell::new(*from), Cell::new(to)];
        for column in &works {
            let cell = here.iter().find(|f| work(f) == *column);
            let show = |v: f64| if column.0 == "latency" { format!("{}{v:.2}", style.times()) } else { percent(v) };
            line.push(cell.map_or_else(Cell::default, |f| graded(f.value.map(show), &f.verdict, f.unit, style)));
        }
        table.row(line);
    }
    let left = rows.len() - shown;
    let more =
        if left > 0 { paragraph("  ", format!("and {left} more, with --verbose"), Ink::Dim) } else { Page::new() };
    heading("Far memory against the row's own") + table + more
}

/// How the memory of a row of the policies table lies.
fn how(finding: &Finding) -> String {
    let nodes = label(finding, Labels::NODES);
    match finding.labels.get(Labels::POLICY) {
        None => node(finding).map_or_else(String::new, |node| format!("all on node {node}")),
        Some("local") => "each on its own node".to_owned(),
        Some("weighted") => format!("weights {}", label(finding, Labels::WEIGHTS)),
        Some(policy) => format!("{policy}, nodes {nodes}"),
    }
}

/// Where a row of the policies table stands: by nodes, and weights from most to least on the first of them.
fn order(finding: &Finding) -> (String, u8, f64) {
    let rank = match finding.labels.get(Labels::POLICY) {
        Some("local") => 0,
        Some("interleave") => 1,
        Some("weighted") => 2,
        _ => 3,
    };
    let weights =
        label(finding, Labels::WEIGHTS).split(',').filter_map(|part| part.rsplit(':').next()?.parse::<f64>().ok());
    let weights: Vec<f64> = weights.collect();
    let first = weights.first().map_or(0.0, |first| first / weights.iter().sum::<f64>().max(1.0));
    (label(finding, Labels::NODES).to_owned(), rank, -first)
}

/// Spread memory beside that of single nodes, by the same cpus.
fn policies(spread: &[&Finding], cells: &[&Finding], style: &Style) -> Page {
    if spread.is_empty() {
        return Page::new();
    }
    let works = distinct(spread.iter().map(|f| work(f)));
    let spans = distinct(works.iter().map(|(_, span)| span.clone())).len();
    let mut table = Table::new().column("from", Align::Left).column("memory", Align::Left).column("each", Align::Right);
    for (op, span) in &works {
        let head = if spans > 1 { format!("{op} |{span} ") } else { format!("{op} ") };
        table = table.column(&head, Align::Right);
    }
    let shown: HashSet<&(String, String)> = works.iter().collect();
    let alone = grouped(cells.iter().filter(|f| shown.contains(&work(f))).map(|f| (label(f, Labels::FROM), *f)));
    let alone: HashMap<&str, Vec<&Finding>> = alone.into_iter().collect();
    for (from, mut rows) in grouped(spread.iter().map(|f| (label(f, Labels::FROM), *f))) {
        rows.sort_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal));
        let lines = alone.get(from).into_iter().flatten().copied().chain(rows);
        for (at, (row, here)) in grouped(lines.map(|f| (how(f), f))).into_iter().enumerate() {
            let size = here.iter().find_map(|f| f.labels.size());
            let mut line = vec![Cell::new(if at == 0 { from } else { "" }), Cell::new(&row)];
            line.push(Cell::inked(size.map_or_else(String::new, |size| size.to_string()), Ink::Dim));
            let here = first(here.into_iter().map(|f| (work(f), f)));
            for column in &works {
                line.push(here.get(column).map_or_else(Cell::default, |f| {
                    graded(f.value.map(|v| rate(v, style)), &f.verdict, f.unit, style)
                }));
            }
            table.row(line);
        }
    }
    let title = format!("Memory spread over nodes, {}", style.rate_unit());
    let shared = spread.iter().any(|f| f.labels.get(Labels::BUFFER).is_some());
    let each = if shared { "each = the one buffer of all threads" } else { "each = footprint of each thread" };
    heading(&title) + table + paragraph("  ", each, Ink::Dim)
}

/// The best weights of each sweep.
fn best(findings: &[&Finding], style: &Style) -> Page {
    let line = |f: &&Finding| {
        let rate = f.value.map(|v| with_interval(v, f.interval, f.unit, style));
        let rate = rate.unwrap_or_else(|| style.absent().to_owned().into());
        let note = f.note(style.rate_unit).map_or_else(String::new, |note| format!("; {note}"));
        let (op, from, weights) = (label(f, Labels::OP), label(f, Labels::FROM), label(f, Labels::WEIGHTS));
        let text = format!("Best weights for {op} from {from}: {weights} with {rate} {}{note}", style.rate_unit());
        paragraph("  ", &text, Ink::Plain).with_sign(rate.sign)
    };
    findings.iter().map(line).collect()
}

/// Mixed placement: the same threads all local, all remote, and some of each.
fn mixes<'a>(mixed: &[&'a Finding], all: &[&'a Finding], cells: &[&'a Finding], style: &Style) -> Page {
    if mixed.is_empty() {
        return Page::new();
    }
    let heads = ["from", "remote|node", "op"].map(|head| (head, Align::Left));
    let numbers = ["all |local ", "all |remote ", "mixed ", "local |part ", "remote |part ", "of all|local"];
    let mut table = Table::new().gap(1);
    for (head, align) in heads.into_iter().chain(numbers.map(|head| (head, Align::Right))) {
        table = table.column(head, align);
    }
    let place = |f: &Finding| (label(f, Labels::FROM).to_owned(), work(f));
    let of = |metric: Quantity| all.iter().filter(move |f| f.metric == metric).copied();
    let steps = |f: &'a Finding| f.evidence.iter().map(move |step| (step.as_str(), f));
    let parts = of(Quantity::BandwidthPart).flat_map(steps);
    let parts = first(parts.map(|(step, f)| ((step, label(f, Labels::PART)), f)));
    let shares = first(of(Quantity::MixedAgainstLocal).flat_map(steps));
    let by_cell_step = first(cells.iter().map(|f| ((place(f), f.evidence.first()), *f)));
    let by_node = first(cells.iter().map(|f| ((place(f), node(f)), *f)));
    for f in mixed {
        let step = f.evidence.first().map(String::as_str).unwrap_or_default();
        let part = |name: &'static str| parts.get(&(step, name));
        let against = shares.get(step);
        let local = against.and_then(|against| by_cell_step.get(&(place(f), against.evidence.get(1))));
        let remote = by_node.get(&(place(f), node(f)));
        let number = |f: Option<&&Finding>| {
            f.map_or_else(Cell::default, |f| graded(f.value.map(|v| rate(v, style)), &f.verdict, f.unit, style))
        };
        let share = f.labels.number(Labels::REMOTE).unwrap_or_default();
        table.row(vec![
            Cell::new(label(f, Labels::FROM)),
            Cell::new(format!("{}, {share}%", node(f).unwrap_or_default())),
            Cell::new(label(f, Labels::OP)),
            number(local),
            number(remote),
            number(Some(f)),
            number(part("local")),
            number(part("remote")),
            Cell::new(against.and_then(|f| f.value).map(percent).unwrap_or_default()),
        ]);
    }
    let title = format!("The same threads with local, remote and mixed memory, {}", style.rate_unit());
    let key =
        "percent = threads whose memory is remote; of all local = the mixed total against that of all local threads";
    heading(&title) + table + paragraph("  ", key, Ink::Dim)
}

/// Pairs that differ and should not, each named; the others in one line.
fn uneven(all: &[&Finding], style: &Style) -> Page {
    let found: Vec<&Finding> = all
        .iter()
        .filter(|f| f.metric == Quantity::MatrixAsymmetry || f.metric == Quantity::MatrixUneven)
        .copied()
        .collect();
    let by = |f: &Finding| f.value.map_or_else(|| style.absent().to_owned(), |v| percent(v - 1.0));
    let (alike, named): (Vec<&Finding>, Vec<&Finding>) =
        found.into_iter().partition(|f| f.labels.is(Labels::STATISTIC, "widest"));
    let mut out = Page::new();
    for f in &named {
        let what = if f.metric == Quantity::MatrixAsymmetry { "both directions" } else { "same distance" };
        let text = format!(
            "{what}, {} differs by {}: {}",
            label(f, Labels::OP),
            by(f),
            f.note(style.rate_unit).unwrap_or_default()
        );
        out += bullet(style.mark(f.verdict.grade), grade_ink(f.verdict.grade), &text, None);
    }
    if !alike.is_empty() {
        let widest: Vec<String> = alike.iter().map(|f| glued(&format!("{} {}", label(f, Labels::OP), by(f)))).collect();
        let text = format!("Both directions are alike: the widest pairs differ by {}", widest.join(", "));
        out += paragraph("  ", &text, Ink::Plain);
    }
    if out.is_empty() { out } else { heading("Pairs that should be alike") + out }
}

/// The measured cell of an initiator and a target, by operation.
pub(crate) fn measured<'a>(cells: &[&'a Finding], from: NodeId, to: NodeId, op: &str) -> Option<&'a Finding> {
    let from = format!("node:{from}");
    let is = |f: &&&Finding| label(f, Labels::FROM) == from && node(f) == Some(to) && label(f, Labels::OP) == op;
    cells.iter().find(is).copied()
}

/// What firmware says of access from the best initiators, beside what was measured from them.
fn firmware(cells: &[&Finding], machine: &Machine, style: &Style) -> Page {
    let mut table = Table::new().column("memory", Align::Left).column("from", Align::Left);
    for head in ["latency |ns ", "firmware ", "read |GB/s ", "firmware "] {
        table = table.column(&head.replace("GB/s", style.rate_unit()), Align::Right);
    }
    for to in &machine.nodes {
        // Class 1 is the best cpus, class 0 the best of anything.
        let Some(says) = to.hmat.iter().max_by_key(|access| access.class) else { continue };
        for from in says.initiators.iter() {
            let cell = |op: &str, show: &dyn Fn(f64) -> String| {
                let found = measured(cells, from, to.id, op);
                found.map_or_else(Cell::default, |f| graded(f.value.map(show), &f.verdict, f.unit, style))
            };
            let said = |value: Option<f64>, show: &dyn Fn(f64) -> String| {
                Cell::new(value.map_or_else(|| style.absent().to_owned(), show) + " ")
            };
            let gbs = |v: f64| rate(v, style);
            table.row(vec![
                Cell::new(format!("node {}", to.id)),
                Cell::new(format!("node:{from}")),
                cell("latency", &nanoseconds),
                said(says.read_latency_ns, &nanoseconds),
                cell("read", &gbs),
                said(says.read_bandwidth, &gbs),
            ]);
        }
    }
    if table.is_empty() || cells.is_empty() {
        return Page::new();
    }
    heading("What firmware says (HMAT), beside what was measured") + table
}
