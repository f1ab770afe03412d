//! A saved run, estimated again from its windows with the code of this version.

use tiermark_engine::{Lab, Record, Study, conclude, disagreements, reanalyse};
use tiermark_history::hold_again;
use tiermark_model::{Experiment, Observation, Run, Unit, format_gbs, format_ns};

/// A saved run, estimated again.
#[derive(Debug)]
pub struct Reanalysed {
    /// The run with the new estimates.
    pub run: Run,
    /// How many of its experiments are as they were saved: each has no windows, or a probe that this version does not
    /// have.
    pub kept: usize,
    /// The numbers that differ from the saved ones, one line each.
    pub changes: Vec<String>,
}

/// Makes every estimate of a run again.
///
/// # Errors
/// The run as it was saved, if nothing of it can be made again.
pub fn reanalyse_saved(mut run: Run) -> Result<Reanalysed, Box<Run>> {
    let lab = Lab::new(run.machine.clone(), run.bench.clone());
    let experiments = std::mem::take(&mut run.experiments);
    let (mut renewed, mut kept) = (0, 0);
    for saved in &experiments {
        let again = experiment(saved, &lab);
        match &again {
            Some(_) => renewed += 1,
            // An experiment that was refused as a whole has nothing to estimate.
            None => kept += usize::from(!saved.observations.is_empty()),
        }
        run.experiments.push(again.unwrap_or_else(|| saved.clone()));
    }
    if renewed == 0 {
        return Err(Box::new(run));
    }
    reconcile(&mut run.experiments, &lab);
    let saved = experiments.iter().flat_map(|experiment| &experiment.observations);
    let changes = saved.zip(run.observations()).filter_map(|(a, b)| change(a, b)).collect();
    Ok(Reanalysed { run, kept, changes })
}

/// One experiment estimated again; `None` without windows, or without its probe.
fn experiment(saved: &Experiment, lab: &Lab) -> Option<Experiment> {
    let has_windows = |seen: &Observation| seen.visits.list.iter().any(|visit| visit.at > 0.0);
    saved.observations.iter().find(|seen| has_windows(seen))?;
    let probe = tiermark_probes::find(&saved.request.probe)?;
    let study = probe.open(&saved.request, lab).ok()?;
    let again = reanalyse(study.as_ref(), saved, &lab.machine, &RecordOfRun(saved));
    Some(Experiment { method: probe.method, ..again })
}

/// The record that a saved run was compared with: that of its time.
struct RecordOfRun<'a>(&'a Experiment);

impl Record for RecordOfRun<'_> {
    fn hold(&self, experiment: &mut Experiment) {
        let pairs = self.0.observations.iter().zip(&mut experiment.observations);
        pairs.for_each(|(saved, again)| hold_again(saved, again));
    }
}

/// The difference between a number and its new estimate, in words.
fn change(saved: &Observation, again: &Observation) -> Option<String> {
    if saved.value == again.value && saved.verdict.grade == again.verdict.grade {
        return None;
    }
    let words = |seen: &Observation| {
        let value = seen.value.map_or_else(
            || "no value".to_owned(),
            |value| match seen.unit {
                Unit::Ns => format!("{} ns", format_ns(value)),
                _ => format!("{} GB/s", format_gbs(value)),
            },
        );
        format!("{value} ({})", seen.verdict.grade.in_words())
    };
    Some(format!("{}: saved {}, now {}", saved.step, words(saved), words(again)))
}

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
