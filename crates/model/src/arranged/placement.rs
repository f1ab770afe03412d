//! Bandwidth of the same threads with local, remote and mixed memory.

use std::collections::HashMap;

use crate::figure::{Distance, distance};
use crate::idset::NodeId;
use crate::observation::Observation;
use crate::purpose::Purpose;
use crate::run::Run;
use crate::units::Metric;

use super::matrix::{MatrixCell, Work};

/// A difference that is none in practice, as `compare` has it.
const NO_CHANGE: f64 = 0.03;

/// What some threads do, with memory in one place and in two.
#[derive(Debug, Clone, Copy)]
pub struct PlacementRow<'a> {
    /// The cpus, as a selector names them.
    pub from: &'a str,
    /// What they do.
    pub work: Work<'a>,
    /// The node of the remote memory.
    pub node: NodeId,
    /// Percent of the threads whose memory is remote in the mixed step.
    pub percent: u64,
    /// All memory local.
    pub local: Option<&'a Observation>,
    /// All memory remote.
    pub remote: Option<&'a Observation>,
    /// Some of each.
    pub mixed: &'a Observation,
}

impl PlacementRow<'_> {
    /// The rate of a part of the mixed step: `local` or `remote`.
    pub fn part(&self, name: &str) -> Option<f64> {
        self.mixed.parts.iter().find(|part| part.name == name)?.value
    }

    /// A rate over that of local memory.
    fn of_local(&self, seen: &Observation) -> Option<f64> {
        Some(seen.value? / self.local?.value?).filter(|share| share.is_finite())
    }

    /// Remote memory over local memory.
    pub fn remote_of_local(&self) -> Option<f64> {
        self.of_local(self.remote?)
    }

    /// Mixed memory over local memory.
    pub fn mixed_of_local(&self) -> Option<f64> {
        self.of_local(self.mixed)
    }

    /// Whether mixed memory is faster (`true`) or slower than local memory, beyond the intervals of both and by more than
    /// [`NO_CHANGE`]; `None` where that could not be shown.
    pub fn gains(&self) -> Option<bool> {
        self.mixed_of_local().filter(|ratio| ratio.ln().abs() > NO_CHANGE.ln_1p())?;
        let (mixed, local) = (self.mixed.interval?, self.local?.interval?);
        match () {
            () if mixed.low > local.high => Some(true),
            () if mixed.high < local.low => Some(false),
            () => None,
        }
    }

    /// Whether all of its numbers can be quoted.
    pub fn is_trusted(&self) -> bool {
        [self.local, self.remote, Some(self.mixed)].iter().flatten().all(|seen| seen.verdict.grade.is_number())
    }
}

/// Whether a step is of mixed memory.
fn is_mixed(seen: &Observation) -> bool {
    seen.labels.is_for(Purpose::Matrix) && seen.labels.policy() == Some("mixed") && seen.metric == Metric::Bandwidth
}

/// The rows of a run, in its order; empty where no memory was mixed.
pub fn placements(run: &Run) -> Vec<PlacementRow<'_>> {
    let mut rows = Vec::new();
    for experiment in &run.experiments {
        let scope = &experiment.request.scope;
        let mut local: HashMap<(&str, Work<'_>), &Observation> = HashMap::new();
        let mut of_node: HashMap<(&str, Work<'_>, NodeId), &Observation> = HashMap::new();
        for seen in &experiment.observations {
            let Some(cell) = MatrixCell::of(&seen.labels) else { continue };
            of_node.entry((cell.from, cell.work, cell.to)).or_insert(seen);
            if distance(&seen.labels, scope, &run.machine) == Some(Distance::Local) {
                local.entry((cell.from, cell.work)).or_insert(seen);
            }
        }
        for mixed in experiment.observations.iter().filter(|seen| is_mixed(seen)) {
            let labels = &mixed.labels;
            let (Some(from), Some(node)) = (labels.from(), labels.node()) else { continue };
            let work = Work::of(labels);
            rows.push(PlacementRow {
                from,
                work,
                node,
                percent: labels.remote().unwrap_or_default(),
                local: local.get(&(from, work)).copied(),
                remote: of_node.get(&(from, work, node)).copied(),
                mixed,
            });
        }
    }
    rows
}
