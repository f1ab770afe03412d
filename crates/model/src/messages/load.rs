//! The load generator, its servers, and where results are kept.

use super::rows::messages;

const HOME: &str = "free space there, or set TIERMARK_HOME to a directory that can be written";

messages! {
    /// Cpus on which the client may not run.
    Refusal client_cpus_unusable(what: &str, why: &str):
        "{what}", "{why}", "name some of those with --client-cpus";

    /// A workload or a client that cannot be.
    Refusal workload_impossible(what: &str, why: &str, cure: &str):
        "{what}", "{why}", "{cure}";

    /// A run without a server.
    Refusal no_target():
        "a run without tenants", "it has no server to send to", "name a target: --target HOST:PORT";

    /// A run that was stopped before it began.
    Refusal load_stopped():
        "the run", "it was stopped before it began", "";

    /// A thread of the client that the system does not start.
    Refusal client_thread_refused(error: &str):
        "a thread of the client", "{error}", "check --client-cpus and the limits of this process";

    /// A server that cannot be reached.
    Refusal server_unreachable(address: &str, why: &str, cure: &str):
        "{address}", "{why}", "{cure}";

    /// A connection to a server that ended.
    Refusal connection_broken(address: &str, why: &str, cure: &str):
        "{address}", "{why}", "{cure}";

    /// An answer that is no answer of a Redis server.
    Refusal answer_unreadable(address: &str, error: &str):
        "{address}", "{error}", "is this the port of a Redis server?";

    /// An answer of a server that says no; `answer`: its own words.
    Refusal server_refused(address: &str, why: &str, answer: &str, cure: &str):
        "{address}", "{why}: {answer}", "{cure}";

    /// A journal that cannot be begun.
    Refusal journal_refused(directory: &str, why: &str):
        "a journal in {directory}", "{why}", "free space, or set TIERMARK_HOME to a directory that can be written";

    /// A journal that cannot be written any more.
    Refusal journal_broken(path: &str, error: &str):
        "the journal {path}", "{error}; the run goes on, but a kill from now on would lose what it measures", { HOME };

    /// A run that was saved in another directory than that for runs.
    Refusal saved_elsewhere(directory: &str, error: &str, path: &str):
        "saving in {directory}", "{error}; the document is in {path} instead", { HOME };

    /// A saved document that cannot be read back.
    Refusal saved_unreadable(error: &str):
        "reading the saved document back", "{error}", "keep the file and report this as a defect";

    /// A directory of runs that cannot be read.
    Refusal runs_unreadable(directory: &str, error: &str):
        "listing the runs in {directory}", "{error}", "make the directory readable, or set TIERMARK_HOME to another";

    /// A record of the machine that cannot be written.
    Refusal record_unwritable(path: &str, error: &str):
        "writing the machine's record {path}", "{error}", "make the directory writable, or give --no-record";

    /// A record of the machine that this user may not read.
    Refusal record_closed(path: &str, error: &str):
        "the machine's record {path}", "{error}; no number is held against it", "give --no-record to leave it alone";

    /// A record of the machine that is damaged; `aside`: where it is now, if it could be moved.
    Refusal record_damaged(path: &str, error: &str, aside: Option<&str>):
        "the machine's record {path}",
        {
            let place = aside.map_or_else(String::new, |aside| format!("; it is set aside as {aside}"));
            format!("it cannot be read: {error}{place}")
        },
        "nothing needs to be done: a new one begins with the next run";
}
