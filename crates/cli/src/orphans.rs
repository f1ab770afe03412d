//! Runs that were killed: their journals become documents.

use std::fs::{self, File};
use std::path::Path;

use tiermark_engine::{Lab, conclude};
use tiermark_history::{Store, recover};
use tiermark_model::Run;

use crate::output::tell;

/// Derives the findings of a run that was recovered from its journal; other runs stay as they are.
pub(crate) fn concluded(mut run: Run) -> Run {
    if run.complete || run.findings().next().is_some() {
        return run;
    }
    let lab = Lab { machine: &run.machine, bench: &run.bench };
    let experiments = std::mem::take(&mut run.experiments).into_iter().map(|e| {
        // A probe that this version does not know keeps its observations.
        let Some(probe) = tiermark_probes::find(&e.request.probe) else { return e };
        conclude(probe, &e.request, e.plan, e.observations, lab)
    });
    run.experiments = experiments.collect();
    run
}

/// Makes documents of the journals of killed runs, and says so once.
pub(crate) fn adopt(store: &Store, quiet: bool) {
    for journal in store.orphans() {
        match document(store, &journal) {
            _ if quiet => {}
            Ok(id) => tell(format_args!(
                "tiermark: note: run {id} was killed; what it had measured is kept: `tiermark show {id}`"
            )),
            Err(why) => tell(format_args!("tiermark: note: the journal {} is left as it is: {why}", journal.display())),
        }
    }
}

/// Saves a journal's run in the store, with the journal's age, and removes the journal.
fn document(store: &Store, journal: &Path) -> Result<String, String> {
    let run = concluded(recover(journal).map_err(|e| e.to_string())?);
    let directory = store.directory().ok_or("there is no store")?;
    // Beside its journal or not at all.
    let saved = Store::at(directory).save(&run).map_err(|e| e.to_string())?;
    let age = fs::metadata(journal).and_then(|m| m.modified());
    // `last` goes by age; a document that seems newer than it is does little harm.
    let _ = age.and_then(|age| File::options().append(true).open(&saved.path)?.set_modified(age));
    fs::remove_file(journal).map_err(|e| e.to_string())?;
    Ok(run.id)
}
