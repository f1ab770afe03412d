//! Tenant capacity: refusals of a search, and warnings about its answers.

use super::rows::messages;
use crate::capacity::Votes;
use crate::{Note, Refusal};

messages! {
    /// A saved run that is not there, or cannot be opened.
    Refusal saved_run_missing(path: &str, error: &str):
        "the saved run {path}", "{error}", "see `tiermark list capacity`";

    /// A saved run whose file makes no sense.
    Refusal saved_run_damaged(path: &str, error: &str):
        "the saved run {path}", "{error}", "begin a new run, without --resume";

    /// A saved run that another process writes.
    Refusal saved_run_busy(path: &str):
        "the saved run {path}", "another process is carrying it out", "wait until that process ends, or stop it";

    /// A saved run with trials that its search would not make.
    Refusal saved_run_differs(error: &str):
        "resuming the saved run", "{error}", "begin a new run, without --resume";

    /// `--resume` without an unfinished run.
    Refusal nothing_to_resume(directory: &str):
        "resuming a run", "{directory} holds no unfinished run", "begin one, without --resume";

    /// A run that cannot be saved.
    Refusal run_not_saved(path: &str, error: &str):
        "saving the run as {path}", "{error}", "free space there, or set TIERMARK_HOME to a directory that can be \
            written";

    /// A user without a directory for runs.
    Refusal no_run_directory():
        "saving the run", "neither TIERMARK_HOME nor HOME is set, so a killed run could not be resumed", "set TIERMARK_HOME or HOME";

    /// Changes of the run that could not be taken back.
    Refusal changes_left(changes: &[String]):
        "taking back what was changed for the tenants", { changes.join("; ") },
        "the changes stay in the journal: `tiermark tune --restore` tries again";

    /// Changes of a killed run that could not be taken back.
    Refusal killed_run_left(changes: &[String]):
        "taking back what a killed run changed", { changes.join("; ") }, "see `tiermark tune --restore`";

    /// A guard after which no other trial may follow.
    Refusal guard_ended_run(cause: &Note):
        "the run", "{cause}", "report it with the kernel's version (uname -r); `tiermark capacity --resume` \
            continues the run";

    /// A saved run that others can have written.
    Refusal saved_run_of_others(path: &str):
        "the saved run {path}", "the file belongs to another user, or other users can write to it, and it names \
            programs that the run would start",
        "read the file; then add --trust, or run `tiermark capacity` anew";

    /// Something that failed, after which not all could be taken back.
    Refusal failed_and_left(failed: &Refusal, left: &Refusal):
        { failed.what.clone() },
        { format!("{}; and {}: {}", failed.why, left.what, left.why) },
        { left.cure.clone() };

    /// Searches that have no answer since the run ended before.
    Warning unfinished(open: &[String], not_begun: &[String]):
        "the run stopped early",
        {
            let part = |what: &str, of: &[String]| (!of.is_empty()).then(|| format!("{what} {}", of.join("; ")));
            let parts = [part("no answer yet for", open), part("not begun:", not_begun)];
            parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
        },
        "resume it: tiermark capacity --resume";

    /// A machine whose cpus others keep busy, before a run.
    Refusal machine_busy(busy: f64, cpus: u64, programs: &str):
        "the run was not started",
        {
            let programs = if programs.is_empty() { String::new() } else { format!(": {programs}") };
            format!(
                "other work keeps {busy:.1} of {} busy{programs}; tenants and client would wait for cpus, and trials \
                    would be unclear",
                crate::count_of(cpus, "cpu")
            )
        },
        "stop that work or wait until it ends, or run anyway with --force; `tiermark doctor` shows what is running";

    /// Other programs beside the tenants, and the time in which these programs were seen.
    Warning others_busy(share: f64, programs: &str, since: &str):
        {
            let percent = share * 100.0;
            format!("other programs, and the kernel for them, used up to {percent:.0} % of the cpus' time during a \
                trial")
        },
        { if programs.is_empty() { String::new() } else { format!("cpus busy {since}: {programs}") } },
        "measure on a quiet machine";

    /// Requests that the client sent after they were due.
    Warning late(share: f64):
        {
            let percent = share * 100.0;
            format!("the client sent up to {percent:.1} % of a trial's requests late, which adds to those response \
                times")
        },
        "",
        "give the client cpus of its own: --client-cpus";

    /// The error that ended a run with some results.
    Warning ended(refusal: &str):
        "{refusal}", "", "";

    /// A cpu quota of the control group that the program was started in; `throttled` is the most that a trial saw of
    /// it.
    Warning cpu_quota(cpus: f64, file: &str, throttled: Option<u64>):
        "the cgroup allows {cpus} cpus ({file})",
        {
            match throttled.filter(|times| *times > 0) {
                Some(times) => {
                    let times = crate::count_of(times, "time");
                    format!("the kernel stopped it up to {times} in a trial, which delays requests and answers")
                }
                None => "programs in this cgroup may wait for cpus, which delays requests and answers".to_owned(),
            }
        },
        "run tiermark outside of that control group, or raise its quota";

    /// A client whose memory the kernel may swap out.
    Warning client_not_locked(error: &str):
        "the client's memory could not be locked ({error})", "the kernel may swap it out, and requests may be late", "";

    /// A client that the kernel does not spare when memory is short.
    Warning client_not_spared(error: &str):
        "the oom_score_adj of this process could not be lowered ({error}; it needs CAP_SYS_RESOURCE, which \
            containers lack)",
        "tenants are still killed before it", "";

    /// A kernel that does not count what it kills.
    Warning kills_not_counted():
        "this kernel does not count the processes that it kills because memory ran out",
        "a trial with such a kill says that a tenant ended",
        "use Linux 4.13 or later";

    /// A kernel that does not tell how long tenants wait for memory.
    Warning stalls_not_counted():
        "this system does not report how long the tenants' control groups wait for memory (PSI)",
        "no guard can end a trial for that",
        "use Linux 4.20 or later with cgroup2 mounted, and boot with psi=1";

    /// Guests that are emulated.
    Warning emulated(why: &str):
        "KVM does not work here ({why})",
        "guests are emulated, so latencies, cpu times and numbers of tenants are not meaningful", "";

    /// Servers that keep their data from trial to trial.
    Warning servers_not_stopped():
        "the servers are not stopped between trials (no --stop)",
        "a trial after one with too many tenants starts with their pages still \
         swapped out, so it may look too slow; the keys that the run writes stay in the servers", "";

    /// A search whose part of the time is used up.
    Warning out_of_time(search: &str):
        "{search}: the search has used its share of --max-time, the time for the whole run", "--resume continues it", "";

    /// A trial that could not be made, which ends its search.
    Warning trial_not_run(tier: &str, tenants: u32, refusal: &Refusal):
        {
            let tenants = crate::capacity::tenants(tenants);
            format!("the trial of {tier} with {tenants} could not be run")
        },
        "{refusal}", "";

    /// Prices of a day to come.
    Note prices_in_future(date: &str): "the prices are dated {date}, which is in the future";

    /// Prices of more than a year ago.
    Note prices_old(date: &str, years: f64): "the prices are dated {date}, {years:.1} years ago: use current prices \
        for decisions";

    /// A tier that the price file does not have.
    Note tier_without_prices(tier: &str): "the price file has no prices of {tier}: add [tier.\"{tier}\"]";

    /// A tier that holds no tenant.
    Note no_tenant_to_price(tier: &str, load: &str): "{tier} holds no tenant ({load}), so it has no cost per tenant";

    /// A tier that the others cannot be compared with, since it has no cost per tenant.
    Note base_not_exact(tier: &str, load: &str): "{tier}, {load}: no cost per tenant, so no tier is compared with it";

    /// A tier whose number of tenants is open.
    Note no_price_of_interval(tier: &str, load: &str, answer: &str):
        "{tier}, {load}: no cost per tenant, because the number of tenants is open ({answer})";

    /// A tier whose tenants were limited by the client or by other programs, and not by the server.
    Note no_price_of_client(tier: &str, load: &str, why: &Note):
        "{tier}, {load}: no cost per tenant, because the server did not limit the run: {why}";

    /// A number of tenants that misses the level, where no other was tried.
    Note no_price_of_failure(tier: &str, load: &str, tenants: u32):
        {
            let tenants = crate::capacity::tenants(tenants);
            format!("{tier}, {load}: no cost per tenant, because {tenants} did not meet the level and fewer were not \
                tried")
        };

    /// A service level that one tenant alone does not meet.
    Note one_tenant_failed(failed: u32, trials: u32): "one tenant alone failed {failed} of {trials} trials";

    /// Trials of one number of tenants that do not say whether it fits.
    Note trials_undecided(tenants: u32, votes: &Votes, spoilt_by: Option<&Note>):
        {
            let Votes { passed, failed, unclear } = *votes;
            let said = if passed > 0 && failed > 0 { "disagree" } else { "are not clear" };
            let unclear = if unclear > 0 { format!(", {unclear} unclear") } else { String::new() };
            let why = spoilt_by.map_or_else(String::new, |why| format!(" (the last: {why})"));
            format!("trials of {} {said}: {passed} passed, {failed} failed{unclear}{why}", crate::capacity::tenants(tenants))
        };

    /// A search that made as many trials as it may.
    Note most_trials_made(trials: u32): "the limit of {trials} trials is reached (most-trials)";

    /// A search that was stopped.
    Note search_stopped(): "the search was stopped early";

    /// Tenants that failed after a larger trial on servers that keep running: `failed_before` is the fewest that had
    /// failed on the way up, if any.
    Note failed_after_more(tenants: u32, failed_before: Option<u32>):
        {
            let after = failed_before.map_or_else(|| "a trial with more tenants".to_owned(), |failed| format!("{failed} had failed"));
            format!("{tenants} failed after {after}; without --stop, pages that the larger trial left swapped out \
                may be the reason")
        };
}
