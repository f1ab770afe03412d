//! What a user should know of the figures: what is not known yet, and what the budget does not allow.

use std::collections::BTreeSet;

use tiermark_model::messages::active as says;
use tiermark_model::{Bytes, Note, WatchBest};

use super::{Active, Cell, Figure};

impl Active {
    /// What a user should know before the first sample. A simulated machine has no record.
    pub fn notes(&self, has_record: bool) -> Vec<Note> {
        let mut notes = vec![says::active_capability_later(self.options.budget * 100.0, self.options.interval)];
        let without = self.lacking(|best| best.record);
        if has_record && !without.is_empty() {
            let names: Vec<&str> = without.iter().map(|cell| cell.figure.name()).collect();
            notes.push(says::active_without_record(&names.join(", "), &commands(&without)));
        }
        notes
    }

    /// The names of figures that lack a number.
    pub(super) fn without(&self, number: impl Fn(WatchBest) -> Option<f64>) -> Vec<String> {
        self.lacking(number).iter().map(|cell| cell.figure.name().to_owned()).collect()
    }

    /// The cells that are steps of other probes, and have a capability and a record of their own, but lack this number.
    fn lacking(&self, number: impl Fn(WatchBest) -> Option<f64>) -> Vec<&Cell> {
        let is_compared = |cell: &&Cell| matches!(cell.figure, Figure::Latency(_) | Figure::Bandwidth(_));
        let lacks = |cell: &&Cell| number(cell.series.best(cell.seen)).is_none();
        self.cells.iter().filter(is_compared).filter(lacks).collect()
    }

    /// Says once that too little of the budget is left for the cells.
    pub(super) fn judge_overhead(&mut self) {
        let Some(excess) = self.overhead.excess().filter(|_| !self.has_noted_overhead) else { return };
        self.has_noted_overhead = true;
        let percent = [excess.share, self.options.budget, excess.budget].map(|share| share * 100.0);
        self.notices.push(says::active_budget_spent(self.options.interval, percent, excess.interval));
    }
}

/// The commands that measure the same steps as these cells.
fn commands(cells: &[&Cell]) -> String {
    let sizes = |is_one: fn(Figure) -> bool| {
        let sizes: BTreeSet<u64> = cells.iter().filter(|cell| is_one(cell.figure)).map(|cell| cell.bytes).collect();
        sizes.into_iter().map(|bytes| Bytes(bytes).typed()).collect::<Vec<_>>().join(",")
    };
    let latency = sizes(|figure| matches!(figure, Figure::Latency(_)));
    let bandwidth = sizes(|figure| matches!(figure, Figure::Bandwidth(_)));
    let commands = [("tiermark latency", "", latency), ("tiermark bandwidth", " --op read --threads one", bandwidth)];
    let command = |(name, rest, sizes): (&str, &str, String)| format!("`{name} --sizes {sizes}{rest}`");
    commands.into_iter().filter(|(.., sizes)| !sizes.is_empty()).map(command).collect::<Vec<_>>().join(" and ")
}
