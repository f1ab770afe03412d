//! One quantity has one value: figures of a run that mean the same and differ become bounds when the run ends.

use tiermark_engine::{Lab, conclude, disagreements};
use tiermark_model::{Experiment, Observation};

use crate::sinks::EventLines;

/// Makes bounds of the figures of a run that contradict each other, and derives the findings of their experiments
/// again; listeners get what changed. An experiment without its probe, as of another version, stays as it is.
pub(crate) fn agreed(experiments: &mut [Experiment], lab: Lab<'_>, mut lines: Option<&mut EventLines>) {
    for (at, observations) in disagreements(experiments, lab.machine) {
        let Some(probe) = tiermark_probes::find(&experiments[at].request.probe) else { continue };
        let before = experiments[at].clone();
        // The numbers are of the method of the version that made them.
        let method = before.method;
        let after = Experiment { method, ..conclude(probe, &before.request, before.plan, observations, lab) };
        if let Some(lines) = lines.as_mut() {
            let pairs = before.observations.iter().zip(&after.observations);
            let changed = pairs.filter(|(before, after)| before.verdict != after.verdict);
            let changed: Vec<&Observation> = changed.map(|(_, after)| after).collect();
            lines.revised(at, changed, &after.findings);
        }
        experiments[at] = after;
    }
}
