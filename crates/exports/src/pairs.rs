//! Times between pairs of cpus as a matrix in CSV, as core-to-core-latency prints it: a row and a column for each cpu,
//! without names; ns of one way; only pairs below the diagonal have a number.

use std::collections::{BTreeMap, BTreeSet};

use tiermark_model::{CpuId, Finding, IdSet, Pair, PingOp, Run};

/// The pairs of a run by one way to pass turns.
struct Pairs<'a> {
    op: PingOp,
    cells: BTreeMap<Pair, &'a Finding>,
}

/// The pairs of the first way that was measured; `None` without pairs.
fn pairs<'a>(findings: &[&'a Finding]) -> Option<Pairs<'a>> {
    let mut all = tiermark_model::pairs(findings.iter().copied());
    let found = PingOp::ALL.iter().find_map(|op| Some((*op, all.remove(op.to_string().as_str())?)));
    found.map(|(op, cells)| Pairs { op, cells })
}

impl Pairs<'_> {
    fn cpus(&self) -> BTreeSet<CpuId> {
        self.cells.keys().flat_map(|pair| [pair.high, pair.low]).collect()
    }

    /// ns of one way.
    fn value(&self, found: &Finding) -> Option<f64> {
        let trips = if self.op == PingOp::OneWay { 1.0 } else { 2.0 };
        found.value.map(|ns| ns / trips)
    }
}

/// Renders a run; empty where it has no pairs.
pub fn pairs_csv(run: &Run) -> String {
    csv(&run.findings().collect::<Vec<_>>())
}

fn csv(findings: &[&Finding]) -> String {
    let Some(pairs) = pairs(findings) else { return String::new() };
    let cpus = pairs.cpus();
    let row = |high: &CpuId| {
        let cell = |low: &CpuId| {
            pairs.cells.get(&Pair { low: *low, high: *high }).filter(|_| low < high).and_then(|f| pairs.value(f))
        };
        let cells = cpus.iter().map(|low| cell(low).map_or_else(String::new, |ns| format!("{ns:.2}")));
        cells.collect::<Vec<_>>().join(",") + "\n"
    };
    cpus.iter().map(row).collect()
}

/// What the layout does not say: that the run has no pairs, the cpus of its rows, and how many numbers are not trusted.
pub fn pairs_doubts(run: &Run) -> Option<String> {
    Some(doubts(&run.findings().collect::<Vec<_>>()))
}

fn doubts(findings: &[&Finding]) -> String {
    let Some(pairs) = pairs(findings) else {
        return "it holds times between pairs of cpus, and none of them was measured: tiermark c2c".to_owned();
    };
    let cpus: IdSet = pairs.cpus().into_iter().collect();
    let way = if pairs.op == PingOp::OneWay { "one way" } else { "half a round trip" };
    let all = format!("rows and columns are cpus {cpus}, numbers are {way} by {}, ns", pairs.op);
    let doubted = pairs.cells.values().filter(|found| !found.verdict.grade.is_number()).count();
    match doubted {
        0 => all,
        _ => format!("{all}; {doubted} of {} are not trusted, which it does not mark", pairs.cells.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::Labels;
    use tiermark_model::Unit;

    /// Findings of pairs: first cpu, second cpu, how, ns.
    fn found(pairs: &[(CpuId, CpuId, &str, f64)]) -> Vec<Finding> {
        let found = |(from, to, op, ns): &(CpuId, CpuId, &str, f64)| {
            let labels = Labels::new().with_from_cpu(*from).with_to_cpu(*to).with_op(op);
            Finding::new(tiermark_model::Quantity::C2cPair, labels, Some(*ns), Unit::Ns)
        };
        pairs.iter().map(found).collect()
    }

    #[test]
    fn a_row_and_a_column_for_each_cpu_and_numbers_below_the_diagonal() {
        let all = found(&[(0, 2, "cas", 100.0), (5, 0, "cas", 201.0), (2, 5, "flag", 50.0), (0, 2, "flag", 50.0)]);
        let all: Vec<&Finding> = all.iter().collect();
        assert_eq!(csv(&all), ",,\n50.00,,\n100.50,,\n");
        assert!(doubts(&all).contains("cpus 0,2,5") && doubts(&all).contains("half a round trip by cas"));
    }

    #[test]
    fn one_way_messages_are_not_halved() {
        let one = found(&[(0, 1, "one-way", 40.0)]);
        assert_eq!(csv(&one.iter().collect::<Vec<_>>()), ",\n40.00,\n");
        assert!(csv(&[]).is_empty() && doubts(&[]).contains("tiermark c2c"));
    }
}
