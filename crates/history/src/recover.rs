//! Making a run of a journal.

use std::collections::HashMap;
use std::path::Path;

use tiermark_model::{Experiment, Run, messages};

use crate::document::{DocumentError, Source, parse_from, read_bounded};
use crate::journal::Record;

/// Journals repeat the observation of a step every few seconds, so they may be larger than documents.
const MAX_JOURNAL_BYTES: u64 = 1 << 30;

/// Reads a journal, torn at any byte, into a run with `complete: false` and without findings, which its probes derive again.
///
/// # Errors
/// A [`DocumentError`] if the file cannot be read or its first line, the head of the run, is not whole.
pub fn recover(path: &Path) -> Result<Run, DocumentError> {
    let bytes = read_bounded(path, MAX_JOURNAL_BYTES)?;
    // The newline ends a record: what follows the last one was being written when the writer died.
    let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |last| last + 1);
    let mut lines = bytes[..whole].split_inclusive(|b| *b == b'\n');
    let head = lines.next().unwrap_or_default();
    let mut run = parse_from(head, Source::File(path.to_owned()))?;
    run.complete = false;
    run.experiments.clear();
    let mut index: HashMap<String, usize> = HashMap::new();
    for (number, line) in lines.enumerate() {
        let record = serde_json::from_slice::<Record>(line).map_err(|error| error.to_string());
        if let Err(why) = record.and_then(|record| take(&mut run, &mut index, record)) {
            // What follows could belong to an experiment that was not understood: it is better left out, and said.
            run.warnings.push(messages::run::journal_damaged(number + 2, &path.display().to_string(), &why));
            break;
        }
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
            let (observations, findings) = (Vec::new(), Vec::new());
            let request = *request;
            let (states, drift) = (Vec::new(), Vec::new());
            run.experiments.push(Experiment { request, method, plan, observations, states, drift, findings });
        }
        (_, None) => return Err("a record before any experiment".to_owned()),
        (Record::Steps(steps), Some(experiment)) => experiment.plan.steps.extend(steps),
        (Record::Done { states, drift }, Some(experiment)) => (experiment.states, experiment.drift) = (states, drift),
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
