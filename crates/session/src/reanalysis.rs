//! A saved run, estimated again from its windows with the code of this version.

use tiermark_engine::{Lab, Record, reanalyse};
use tiermark_history::hold_again;
use tiermark_model::{Experiment, Observation, Run, Unit, format_gbs, format_ns};

use crate::reconcile::reconcile;

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
        format!("{value} ({})", seen.verdict.grade)
    };
    Some(format!("{}: saved {}, now {}", saved.step, words(saved), words(again)))
}
