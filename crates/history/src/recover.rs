//! Making a run of a journal.

use std::collections::HashMap;
use std::path::Path;

use tiermark_model::{Experiment, Refusal, Run, messages};

use crate::document::{name_of, parse};
use crate::journal::Record;
use crate::lines::{Damaged, Lines};

/// Reads a journal, torn at any byte, up to its first damaged line, into a run that was stopped and without
/// findings, which its probes derive again.
///
/// # Errors
/// A [`Refusal`] if the file cannot be read or its first line, the head of the run, is not whole.
pub fn recover(path: &Path) -> Result<Run, Refusal> {
    let from = name_of(path);
    let lines =
        Lines::read(path).map_err(|error| messages::documents::document_unreadable(&from, &error.to_string()))?;
    let mut run = parse(lines.head(), &from)?;
    (run.complete, run.stopped) = (false, true);
    run.experiments.clear();
    let mut index: HashMap<String, usize> = HashMap::new();
    // Later lines could belong to the experiment of the damaged line: they are dropped, with a warning.
    if let Err(damaged) = lines.each(Damaged::Ends, |record| take(&mut run, &mut index, record)) {
        run.warnings.push(messages::run::journal_damaged(damaged.number, &path.display().to_string(), &damaged.why));
    }
    for experiment in &mut run.experiments {
        sort_by_plan(experiment);
    }
    let ends = run.observations().map(|o| o.started_seconds + o.seconds);
    run.seconds = ends.filter(|end| end.is_finite()).fold(run.seconds, f64::max);
    Ok(run)
}

fn take(run: &mut Run, index: &mut HashMap<String, usize>, record: Record) -> Result<(), String> {
    match (record, run.experiments.last_mut()) {
        (Record::Experiment { request, method, plan }, _) => {
            index.clear();
            run.experiments.push(Experiment::new(*request, method, plan));
        }
        (_, None) => return Err(messages::documents::record_before_experiment().text),
        (Record::Steps(steps), Some(experiment)) => experiment.plan.add(steps),
        (Record::Done { states, drift, interruptions, throughputs, time }, Some(experiment)) => {
            (experiment.states, experiment.drift, experiment.interruptions) = (states, drift, interruptions);
            (experiment.throughputs, experiment.time) = (throughputs, time);
        }
        (Record::Observation(observation), Some(experiment)) => match index.get(&observation.step) {
            Some(&at) => experiment.observations[at] = *observation,
            None => {
                index.insert(observation.step.clone(), experiment.observations.len());
                experiment.observations.push(*observation);
            }
        },
    }
    Ok(())
}

fn sort_by_plan(experiment: &mut Experiment) {
    let order: HashMap<&str, usize> =
        experiment.plan.steps.iter().enumerate().map(|(at, step)| (step.id.as_str(), at)).collect();
    experiment.observations.sort_by_key(|o| order.get(o.step.as_str()).copied().unwrap_or(usize::MAX));
}
