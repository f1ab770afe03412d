//! Tenant capacity: what a search cannot do here, and what makes its answers worth less.

use super::rows::messages;
use crate::Refusal;

messages! {
    /// A saved run that is not there, or cannot be opened.
    Refusal saved_run_missing(path: &str, error: &str):
        "the saved run {path}", "{error}", "see `tiermark list capacity`";

    /// A saved run whose file makes no sense.
    Refusal saved_run_damaged(path: &str, error: &str):
        "the saved run {path}", "{error}", "begin a new run, without --resume";

    /// A saved run that another process writes.
    Refusal saved_run_busy(path: &str):
        "the saved run {path}", "another process carries it out right now", "wait until that process ends, or stop it";

    /// A saved run with trials that its search would not make.
    Refusal saved_run_differs(error: &str):
        "resuming the saved run", "{error}", "begin a new run, without --resume";

    /// Nothing to resume.
    Refusal nothing_to_resume(directory: &str):
        "resuming a run", "{directory} holds no unfinished run", "begin one, without --resume";

    /// A run that cannot be saved.
    Refusal run_not_saved(path: &str, error: &str):
        "saving the run as {path}", "{error}", "free space there, or set TIERMARK_HOME to a directory that can be written";

    /// A user without a directory for runs.
    Refusal no_run_directory():
        "saving the run", "neither TIERMARK_HOME nor HOME is set, so a killed run could not be resumed", "set TIERMARK_HOME or HOME";

    /// Changes of the run that could not be taken back.
    Refusal changes_left(changes: &[String]):
        "taking back what was changed for the tenants", { changes.join("; ") },
        "they stay in the journal: `tiermark tune --restore` tries again";

    /// Changes of a killed run that could not be taken back.
    Refusal killed_run_left():
        "beginning a run", "not all changes of a killed run could be taken back", "see `tiermark tune --restore`";

    /// Something that failed, after which not all could be taken back.
    Refusal failed_and_left(failed: &Refusal, left: &Refusal):
        { failed.what.clone() },
        { format!("{}; and {}: {}", failed.why, left.what, left.why) },
        { left.cure.clone() };

    /// Searches that have no answer since the run ended before.
    Warning unfinished(open: &[String]):
        { format!("the run stopped early: no answer yet for {}", open.join("; ")) },
        "resume it: tiermark capacity --resume";

    /// Other programs beside the tenants.
    Warning others_busy(share: f64):
        {
            let percent = share * 100.0;
            format!("other programs, and the kernel for them, used up to {percent:.0} % of the cpus' time during a trial")
        },
        "measure on a quiet machine: tiermark doctor";

    /// Requests that the client sent after they were due.
    Warning late(share: f64):
        {
            let percent = share * 100.0;
            format!("the client sent up to {percent:.1} % of a trial's requests late, which adds to those response times")
        },
        "give the client cpus of its own: --client-cpus";

    /// What ended a run that has some results.
    Warning ended(refusal: &str):
        "{refusal}", "";

    /// A remark of a run as it goes on.
    Warning remark(about: &str, text: &str):
        "{text}", "";
}
