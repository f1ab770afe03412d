//! Saved documents that cannot be read, and runs that are not there.

use super::rows::messages;
use crate::Bytes;

const OURS: &str = "give a file that tiermark wrote";

messages! {
    Refusal document_unreadable(from: &str, error: &str):
        "{from}", "it cannot be read: {error}", "check the path and its permissions";

    /// A directory where a document is wanted; `newest`: the newest document in it.
    Refusal document_is_directory(from: &str, newest: Option<&str>):
        "{from}", "it is a directory",
        {
            newest.map_or_else(
                || "name a document, `last`, or the id of a saved run (`tiermark list runs`)".to_owned(),
                |path| format!("name one of its documents, such as {path}"),
            )
        };

    Refusal document_too_large(from: &str, most: Bytes):
        "{from}", "it is larger than {most}, which no tiermark run is", { OURS };

    Refusal document_too_heavy(from: &str):
        "{from}", "it holds more data than any tiermark run of its size", { OURS };

    /// A document that is not JSON or cut short, or a field of the wrong type; line and column from 1, as serde_json
    /// counts.
    Refusal document_malformed(from: &str, line: usize, column: usize, problem: &str):
        "{from}, line {line}, column {column}", "{problem}", "give a complete file that tiermark wrote";

    /// `unpack`: the command that unpacks it.
    Refusal document_compressed(from: &str, unpack: &str): "{from}", "it is compressed", "unpack it first: {unpack} FILE";

    Refusal document_empty(from: &str): "{from}", "it is empty", "measure again, or copy the file again";

    Refusal document_older(from: &str, schema: &str, known: &str):
        "{from}", "written by an earlier version: its schema is '{schema}', this tiermark reads {known}",
        "measure again";

    Refusal document_newer(from: &str, schema: &str, known: &str):
        "{from}", "its schema is '{schema}', written by a newer tiermark; this one reads {known}",
        "update tiermark";

    Refusal document_of_others(from: &str, schema: &str, known: &str):
        "{from}", "its schema is '{schema}', not a tiermark run; this tiermark reads {known}",
        { OURS };

    Refusal document_without_schema(from: &str, known: &str):
        "{from}", "it names no schema, so it is not a tiermark run; this tiermark reads {known}",
        { OURS };

    /// A name that no run has; `directory`: that of saved runs, if there is one, and the newest there.
    Refusal run_unknown(reference: &str, directory: Option<&str>, newest: &[String]):
        "run '{reference}'", { format!("it is neither a file nor an id in {}", place(directory)) },
        {
            match newest {
                [] => "no run is saved there".to_owned(),
                ids => format!("the newest are {}", ids.join(", ")),
            }
        };

    Refusal no_last_run(directory: Option<&str>):
        "the last run", { format!("no run is saved in {}", place(directory)) },
        "run `tiermark survey` first, or give a file";

    Refusal run_ambiguous(reference: &str, ids: &[String]):
        "run '{reference}'", { format!("several ids begin so: {}", ids.join(", ")) }, "give more of the id";

    /// A name that no baseline can have; `most`: its characters at most.
    Refusal baseline_name(name: &str, most: usize):
        "baseline '{name}'", "a name has 1 to {most} letters, digits, '-', '_' and '.', and does not begin with '.'",
        "choose another name";

    Refusal baseline_unknown(name: &str, known: &[String]):
        "baseline '{name}'", "no run is kept under this name",
        {
            match known {
                [] => "`tiermark baseline set NAME` keeps the last run".to_owned(),
                names => format!("the baselines are {}", names.join(", ")),
            }
        };

    Refusal baseline_not_kept(name: &str, error: &str):
        "keeping the baseline '{name}'", "{error}", "free space or set TIERMARK_HOME to a directory that can be \
            written";

    Refusal baseline_not_removed(name: &str, error: &str):
        "removing the baseline '{name}'", "{error}", "check the permissions of its directory";

    /// A file of a capacity run that has not ended; `quoted`: its path as a shell takes it.
    Refusal capacity_run_unfinished(path: &str, quoted: &str) options ["--resume"]:
        "{path}", "it is an unfinished capacity run", "to continue it: tiermark capacity --resume={quoted}";

    /// A killed run of tenants that is newer than every document; `quoted`: the path of its journal for a shell.
    Note newest_run_killed(id: &str, trials: u64, quoted: &str):
        {
            let trials = crate::count_of(trials, "trial");
            format!(
                "the newest run, {id} (capacity), was killed: it has no document, only a journal with {trials}; to go \
                 on with it and see its trials: tiermark capacity --resume={quoted}"
            )
        };

    Note newest_load_killed(id: &str):
        "the newest run, {id} (load), was killed and has no results; `tiermark list runs` shows its load";

    /// A run of tenants or of load (`what`) of another process that goes on.
    Note newest_run_under_way(id: &str, what: &str): "the newest run, {id} ({what}), goes on and has no document yet";

    /// `last` of a command about runs of probes, where the newest run is one of tenants or of load (`what`); `used`:
    /// the newest run of probes.
    Note newest_is_of_servers(id: &str, what: &str, used: &str):
        "the newest run, {id}, is of {what} and has no figures of memory: this command uses {used}, the newest \
         run that has them. `tiermark show {id} -v` shows {id} with its reasons";

    Refusal load_run_unfinished(path: &str):
        "{path}", "this run of load is still running, or was killed: it has no results",
        "if `tiermark list runs` shows it as running, wait until it ends; else run it again, or delete the file";

    /// A recording where a run is wanted; `quoted`: its path as a shell takes it.
    Refusal recording_is_no_run(path: &str, quoted: &str) options ["--replay"]:
        "{path}", "it is a recording of `tiermark watch`, and no run", "to see it: tiermark watch --replay={quoted}";

    Refusal lines_are_no_run(path: &str):
        "{path}", "it is neither a run nor an unfinished capacity run", "name a run document (tiermark list runs)";

    /// A run that no directory took; `attempts`: each directory with the system's answer.
    Refusal no_place_for_run(attempts: &[(String, String)]) options ["--json"]:
        "saving the run",
        { attempts.iter().map(|(directory, error)| format!("{directory}: {error}")).collect::<Vec<_>>().join("; ") },
        "free space or set TIERMARK_HOME to a directory that can be written; --json=- prints the document instead";

    Note record_too_large(most: Bytes): "it is larger than {most}";

    Note record_of_another_version(schema: &str): "it is of another version of tiermark ({schema})";

    Note record_schema_unknown(schema: &str): "'{schema}' is no schema of a record";

    Note record_before_experiment(): "a record before any experiment";
}

/// The directory of runs, or why there is none.
fn place(directory: Option<&str>) -> String {
    directory.map_or_else(
        || "any directory of runs (none of TIERMARK_HOME, XDG_DATA_HOME and HOME is set)".to_owned(),
        str::to_owned,
    )
}
