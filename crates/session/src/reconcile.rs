//! One quantity has one value: figures of a run that mean the same and differ become bounds when the run ends.

use tiermark_engine::{Lab, Study, conclude, disagreements};
use tiermark_model::Experiment;

/// A saved experiment, opened again; `None` if this version has no such probe, or the probe refuses its request.
pub(crate) fn study(saved: &Experiment, lab: &Lab) -> Option<Box<dyn Study>> {
    tiermark_probes::find(&saved.request.probe)?.open(&saved.request, lab).ok()
}

/// What changed of an experiment at the end of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// The number of the experiment, from 0.
    pub experiment: usize,
    /// The numbers of its observations with another verdict.
    pub observations: Vec<usize>,
}

/// Makes bounds of the figures of a run that contradict each other, and derives the findings of their experiments
/// again; returns what changed. An experiment without its probe, as of another version, stays as it is.
pub(crate) fn reconcile(experiments: &mut [Experiment], lab: &Lab) -> Vec<Revision> {
    let mut revisions = Vec::new();
    for (at, observations) in disagreements(experiments, &lab.machine) {
        let before = &experiments[at];
        let Some(study) = study(before, lab) else { continue };
        let after = conclude(study.as_ref(), Experiment { observations, ..before.clone() });
        let pairs = before.observations.iter().zip(&after.observations).enumerate();
        let changed = pairs.filter(|(_, (before, after))| before.verdict != after.verdict);
        revisions.push(Revision { experiment: at, observations: changed.map(|(number, _)| number).collect() });
        experiments[at] = after;
    }
    revisions
}
