//! Rates in the table that users of STREAM know: a block for each number of threads and place, a row for each
//! operation.
//!
//! The layout is STREAM's, the numbers are this tool's. A row's times are those of one pass over the whole arrays,
//! computed from the rates of windows. What was measured and is invalid is `-`.

use std::fmt::Write as _;

use tiermark_model::{Observation, Run};
use tiermark_page::clean;

/// Functions in STREAM's order: what it calls them, our operation, and the arrays of each.
const FUNCTIONS: [(&str, &str, u64); 4] =
    [("Copy", "copy", 2), ("Scale", "scale", 2), ("Add", "add", 3), ("Triad", "triad", 3)];
/// Bytes of an element.
const ELEMENT: u64 = 8;
/// The line between blocks.
const RULE: &str = "-------------------------------------------------------------\n";
/// What differs from STREAM.
const DIFFERENCES: &str = "\
STREAM-like, not STREAM. What differs:
* each function has its own arrays and the fastest kernel of this processor; STREAM runs one compiled loop
* Best Rate is the typical rate of the run (of caches of a core, the level of undisturbed visits); STREAM's is the
  best of whole passes
* times are those of one pass over the arrays at the rate of a window: Avg is the mean over all windows, disturbed ones
  included, Min belongs to Best Rate, and Max to the slowest window
* results are checked by the tests of the kernels, not in this run
Counted alike: 1 MB is 10^6 bytes, and a line that a store reads first is not counted.
";

/// A row of a table: the function, and what was seen of it.
struct StreamRow<'a> {
    name: &'static str,
    arrays: u64,
    seen: &'a Observation,
}

/// Renders a run.
pub fn stream(run: &Run) -> String {
    let mut out = format!("{RULE}tiermark {} - layout of STREAM\n", clean(&run.tool.version));
    if let Some(name) = &run.simulated {
        let _ = writeln!(out, "SIMULATED machine '{}': nothing was measured", clean(name));
    }
    out.push_str(DIFFERENCES);
    out.push_str(RULE);
    let _ = writeln!(out, "This system uses {ELEMENT} bytes per array element.");
    let tables = tables(run);
    tables.iter().for_each(|table| out.push_str(&block(table)));
    if tables.iter().flatten().any(|row| !row.is_trusted()) {
        out.push_str("* not trusted: `tiermark show --why` names the reason\n");
    }
    out + RULE
}

/// What the layout cannot say of a run: that it holds nothing of it, or how many of its rates are not trusted. `None`
/// where all are.
pub fn stream_doubts(run: &Run) -> Option<String> {
    let rows: Vec<&Observation> = tables(run).into_iter().flatten().map(|row| row.seen).collect();
    if rows.is_empty() {
        let holds = "the rates of copy, scale, add and triad, and none of them was measured";
        return Some(format!("it holds {holds}: tiermark bandwidth --op copy,scale,add,triad"));
    }
    let doubted = rows.iter().filter(|seen| !seen.verdict.grade.is_number()).count();
    (doubted > 0).then(|| format!("{doubted} of its {} rates are not trusted: marked with *", rows.len()))
}

/// Rows that belong together, tables in the order of the run and rows in STREAM's.
fn tables(run: &Run) -> Vec<Vec<StreamRow<'_>>> {
    let mut tables: Vec<Vec<StreamRow<'_>>> = Vec::new();
    for row in run.observations().filter_map(row) {
        match tables.iter_mut().find(|table| fits(table, &row)) {
            Some(table) => table.push(row),
            None => tables.push(vec![row]),
        }
    }
    let order = |row: &StreamRow<'_>| FUNCTIONS.iter().position(|(name, ..)| *name == row.name);
    tables.iter_mut().for_each(|table| table.sort_by_key(order));
    tables
}

/// An observation as a row; points of a curve only draw its shape.
fn row(seen: &Observation) -> Option<StreamRow<'_>> {
    let labels = &seen.labels;
    // STREAM's arrays lie on one node, and each thread has a part of its own.
    let is_other = [labels.data(), labels.policy(), labels.buffer()].iter().any(Option::is_some);
    if labels.is_point() || labels.size().is_none() || is_other {
        return None;
    }
    let op = labels.op()?;
    // A kernel by its own name does what its operation does, past the caches or not.
    let op = op.split(['/', '.']).next().unwrap_or(op);
    let function = FUNCTIONS.iter().find(|(_, known, _)| *known == op)?;
    Some(StreamRow { name: function.0, arrays: function.2, seen })
}

/// Whether a row belongs to a table: the same threads and memory, arrays of the same length or the same footprint, and
/// no row of its function yet.
fn fits(table: &[StreamRow<'_>], row: &StreamRow<'_>) -> bool {
    let first = &table[0];
    let (own, other) = (&first.seen.labels, &row.seen.labels);
    own.are_alike(other, |of| (of.purpose(), of.cpus(), of.node(), of.page(), of.tier_name()))
        && (own.bytes() == other.bytes() || first.elements() == row.elements())
        && table.iter().all(|other| other.name != row.name)
}

impl StreamRow<'_> {
    /// Threads that worked at once.
    fn threads(&self) -> u64 {
        self.seen.labels.threads().unwrap_or(1)
    }

    /// Bytes that one pass moves, of all threads.
    fn bytes(&self) -> u64 {
        self.seen.labels.bytes().unwrap_or(0).saturating_mul(self.threads())
    }

    fn elements(&self) -> u64 {
        self.bytes() / self.arrays / ELEMENT
    }

    /// Whether its rate can be quoted as it is.
    fn is_trusted(&self) -> bool {
        self.seen.verdict.grade.is_number()
    }

    /// The line of the table, with a mark behind a rate that is not trusted. Times are seconds of one pass.
    fn line(&self) -> String {
        let pass = |rate: f64| self.bytes() as f64 / rate;
        let rates: Vec<f64> = self.seen.visits.windows().filter_map(tiermark_model::Window::value).collect();
        let passes = rates.iter().map(|rate| pass(*rate));
        let mean = (!rates.is_empty()).then(|| passes.clone().sum::<f64>() / rates.len() as f64);
        let best = self.seen.value;
        // The level of the windows lies within their noise: no time is shown below the best.
        let least = best.map_or(0.0, pass);
        let mean = mean.map(|mean| mean.max(least));
        let cell = |value: Option<f64>, width: usize, decimals: usize| match value {
            Some(value) => format!("{value:width$.decimals$}"),
            None => format!("{:>width$}", "-"),
        };
        let shown = |time: Option<f64>| cell(best.and(time), 11, 6);
        let (min, max) = (shown(best.map(pass)), shown(passes.reduce(f64::max).map(|most| most.max(least))));
        let name = format!("{}:", self.name);
        let mark = if self.is_trusted() { "" } else { " *" };
        format!("{name:<11}{}  {}  {min}  {max}{mark}\n", cell(best.map(|rate| rate / 1e6), 12, 1), shown(mean))
    }
}

fn block(table: &[StreamRow<'_>]) -> String {
    let mut out = RULE.to_owned();
    let first = &table[0];
    let labels = &first.seen.labels;
    // With a footprint asked for, arrays of two and of three have different lengths.
    let mut sizes: Vec<u64> = table.iter().map(StreamRow::elements).collect();
    sizes.dedup();
    for elements in &sizes {
        let rows = table.iter().filter(|row| row.elements() == *elements).map(|row| row.name);
        let rows = if sizes.len() > 1 { format!(" of {}", rows.collect::<Vec<_>>().join(", ")) } else { String::new() };
        let mib = (elements * ELEMENT) as f64 / 1_048_576.0;
        let _ = writeln!(out, "Array size = {elements} (elements){rows}, Memory per array = {mib:.1} MiB");
    }
    let _ = writeln!(out, "Number of Threads = {}", first.threads());
    for (what, value) in [("Tier", labels.tier_name()), ("Cpus", labels.cpus()), ("Pages", labels.page())] {
        if let Some(value) = value {
            let _ = writeln!(out, "{what}: {}", clean(value));
        }
    }
    if let Some(node) = labels.node() {
        let _ = writeln!(out, "Memory of node {node}");
    }
    out.push_str(RULE);
    out.push_str("Function    Best Rate MB/s  Avg time     Min time     Max time\n");
    table.iter().for_each(|row| out.push_str(&row.line()));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::Labels;
    use tiermark_model::{Metric, Purpose, Visit, Visits, Window};

    /// A rate of an operation with arrays of 10,000,000 elements, read by two threads, in windows of three rates.
    fn seen(op: &str, arrays: u64, best: f64) -> Observation {
        let labels =
            Labels::new().with_purpose(Purpose::Table).with_op(op).with_size(40_000_000 * arrays).with_threads(2);
        let window = |rate: f64| Window { clean: true, values: vec![Some(rate)], ..Window::default() };
        let windows = vec![window(best), window(best / 2.0), window(best / 4.0)];
        let visits = Visits { list: vec![Visit { windows, ..Visit::default() }], ..Visits::default() };
        Observation { value: Some(best), visits, ..Observation::new(op, labels, Metric::Bandwidth) }
    }

    fn cells(observation: &Observation) -> Vec<String> {
        row(observation).unwrap().line().split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn times_are_those_of_a_pass_over_the_whole_arrays() {
        // Three arrays of 80 MB at 12 GB/s take 20 ms; at half and a quarter of the rate 40 and 80 ms.
        assert_eq!(cells(&seen("triad.nt", 3, 12e9)), ["Triad:", "12000.0", "0.046667", "0.020000", "0.080000"]);
        assert_eq!(cells(&seen("scale/avx2", 2, 16e9)), ["Scale:", "16000.0", "0.023333", "0.010000", "0.040000"]);
    }

    #[test]
    fn an_invalid_rate_has_no_times() {
        let invalid = Observation { value: None, ..seen("copy", 2, 1e9) };
        assert_eq!(cells(&invalid), ["Copy:", "-", "-", "-", "-"]);
    }

    #[test]
    fn a_rate_that_is_not_trusted_is_marked() {
        let mut doubted = seen("copy", 2, 1e9);
        doubted.verdict.suspect(tiermark_model::Reason::Evicted);
        assert_eq!(cells(&doubted).last().map(String::as_str), Some("*"));
        assert_eq!(cells(&seen("copy", 2, 1e9)).len(), 5);
    }

    #[test]
    fn only_the_four_functions_have_rows() {
        assert!(
            ["read", "write", "update", "fill.rep", "2:1", "copying"].iter().all(|op| row(&seen(op, 1, 1e9)).is_none())
        );
        // Nor have arrays of zeros, on several nodes, or shared.
        for (key, text) in [("data", "zeros"), ("policy", "mixed"), ("buffer", "shared")] {
            let copy = seen("copy", 2, 1e9);
            let other = Observation {
                labels: copy.labels.clone().with_named(key, tiermark_model::Label::Text(text.to_owned())),
                ..copy
            };
            assert!(row(&other).is_none(), "{text}");
        }
    }

    #[test]
    fn a_table_has_one_row_of_a_function_and_arrays_of_one_length() {
        let (copy, add, other) = (seen("copy", 2, 1e9), seen("add", 3, 1e9), seen("scale", 4, 1e9));
        let table = [row(&copy).unwrap()];
        assert!(fits(&table, &row(&add).unwrap()), "the elements are as many");
        assert!(!fits(&table, &row(&copy).unwrap()) && !fits(&table, &row(&other).unwrap()));
        let elsewhere = Observation { labels: add.labels.clone().with_node(1), ..add.clone() };
        assert!(!fits(&table, &row(&elsewhere).unwrap()));
    }

    #[test]
    fn arrays_of_other_lengths_are_named() {
        let (copy, add) = (seen("copy", 2, 1e9), seen("add", 2, 1e9));
        assert!(fits(&[row(&copy).unwrap()], &row(&add).unwrap()), "the footprint is the same");
        let text = block(&[row(&copy).unwrap(), row(&add).unwrap()]);
        insta::assert_snapshot!(text);
    }
}
