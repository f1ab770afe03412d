//! Which findings the report of some experiments shows, and where: views take them from here.

use std::collections::BTreeSet;

use tiermark_model::{Experiment, Finding, Observation, Purpose, Quantity};
use tiermark_page::Detail;

use crate::findings::scalings;
use crate::ladder::{LadderRow, take_rows};
use crate::shown::Shown;
use crate::{c2c, loaded, matrix, os, shapes};

/// The findings of some experiments by the view that shows them, each in one view.
pub(crate) struct Selection<'a> {
    /// All of them.
    pub(crate) all: Vec<&'a Finding>,
    pub(crate) matrix: Vec<&'a Finding>,
    pub(crate) ladder: Vec<LadderRow<'a>>,
    /// Shares of the theoretical peak, below the ladder.
    pub(crate) shares: Vec<&'a Finding>,
    /// The core clock and interruptions.
    pub(crate) conditions: Vec<&'a Finding>,
    pub(crate) c2c: Vec<&'a Finding>,
    /// In the order of the families' views.
    pub(crate) shapes: Vec<Vec<&'a Finding>>,
    pub(crate) os: Vec<&'a Finding>,
    pub(crate) tails: Vec<&'a Finding>,
    pub(crate) loaded: Vec<&'a Finding>,
    /// Scalings by threads, each with its name.
    pub(crate) scaling: Vec<(String, Vec<&'a Finding>)>,
    pub(crate) limits: Vec<&'a Finding>,
    /// What has no view of its own.
    pub(crate) others: Vec<&'a Finding>,
    /// The numbers that are shown with their marks.
    pub(crate) numbers: Vec<&'a Finding>,
}

impl<'a> Selection<'a> {
    pub(crate) fn of(experiments: &[&'a Experiment], detail: Detail) -> Self {
        let observations = experiments.iter().flat_map(|e| &e.observations);
        let mut shown = Shown::new(experiments.iter().flat_map(|e| &e.findings));
        let in_tables = shown.take_all(repeats_a_cell(observations));
        shown.count(&in_tables);
        let matrix = matrix::take(&mut shown);
        let ladder = take_rows(&mut shown);
        let is_share = |f: &Finding| f.quantity == Quantity::PeakShare && f.labels.tier_name().is_some();
        let shares = if ladder.is_empty() { Vec::new() } else { shown.take_all(is_share) };
        let recovery = shown.take_all(|f| f.quantity == Quantity::LatencyRecovery);
        shown.count(&recovery);
        let conditions = shown.take_all(|f| f.quantity.is_condition());
        let c2c = c2c::take(&mut shown);
        let shapes = shapes::take(&mut shown);
        let os = os::take(&mut shown);
        let tails = crate::findings::take_tails(&mut shown);
        shown.count(&tails);
        // Its view is made of what was seen.
        let soaked = shown.take_all(|f| f.quantity.family() == "soak");
        shown.count(&soaked);
        let loaded = loaded::take(&mut shown);
        let scaling = scalings(&mut shown, detail);
        let limits = shown.take_all(|f| f.quantity.family() == "scale");
        // A share stands in a remark, and has the doubts of its ceiling.
        shown.count(&limits.iter().filter(|f| f.quantity != Quantity::ScaleShare).copied().collect::<Vec<_>>());
        let others = shown.take_all(|_| true);
        shown.count(&others);
        let Shown { findings: all, numbers, .. } = shown;
        Self {
            all,
            matrix,
            ladder,
            shares,
            conditions,
            c2c,
            shapes,
            os,
            tails,
            loaded,
            scaling,
            limits,
            others,
            numbers,
        }
    }
}

/// Findings that only repeat a cell of a table.
fn repeats_a_cell<'a>(observations: impl Iterator<Item = &'a Observation>) -> impl Fn(&Finding) -> bool {
    let cells = observations.filter(|o| o.labels.is_for(Purpose::Table) && o.labels.size().is_some());
    let cells: BTreeSet<&str> = cells.map(|o| o.step.as_str()).collect();
    move |f: &Finding| {
        matches!(f.quantity, Quantity::Latency | Quantity::Bandwidth)
            && f.labels.tier_name().is_none()
            && matches!(f.evidence.as_slice(), [step] if cells.contains(step.as_str()))
    }
}
