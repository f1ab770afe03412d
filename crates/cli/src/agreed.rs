//! One quantity has one value: figures of a run that mean the same and differ become bounds when the run ends.

use tiermark_engine::{Lab, Study, conclude, disagreements};
use tiermark_model::{Experiment, Observation};

use crate::sinks::EventLines;

/// A saved experiment, opened again; `None` if this version has no such probe, or the probe refuses its request.
pub(crate) fn study(saved: &Experiment, lab: &Lab) -> Option<Box<dyn Study>> {
    tiermark_probes::find(&saved.request.probe)?.open(&saved.request, lab).ok()
}

/// Makes bounds of the figures of a run that contradict each other, and derives the findings of their experiments
/// again; listeners get what changed. An experiment without its probe, as of another version, stays as it is.
pub(crate) fn agreed(experiments: &mut [Experiment], lab: &Lab, mut lines: Option<&mut EventLines>) {
    for (at, observations) in disagreements(experiments, &lab.machine) {
        let before = &experiments[at];
        let Some(study) = study(before, lab) else { continue };
        let after = conclude(study.as_ref(), Experiment { observations, ..before.clone() });
        if let Some(lines) = lines.as_mut() {
            let pairs = before.observations.iter().zip(&after.observations);
            let changed = pairs.filter(|(before, after)| before.verdict != after.verdict);
            let changed: Vec<&Observation> = changed.map(|(_, after)| after).collect();
            lines.revised(at, changed, &after.findings);
        }
        experiments[at] = after;
    }
}
