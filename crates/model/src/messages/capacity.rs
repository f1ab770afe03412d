//! Tenant capacity: refusals of a search, and warnings about its answers.

use super::HOME;
use super::rows::messages;
use crate::capacity::Votes;
use crate::{Note, Refusal, Share};

messages! {
    Refusal saved_run_missing(path: &str, error: &str):
        "the saved run {path}", "{error}", "see `tiermark list capacity`";

    Refusal saved_run_damaged(path: &str, error: &str) options ["--resume"]:
        "the saved run {path}", "{error}", "begin a new run, without --resume";

    Refusal saved_run_busy(path: &str):
        "the saved run {path}", "another process is carrying it out", "wait until that process ends, or stop it";

    Refusal saved_run_differs(error: &str) options ["--resume"]:
        "resuming the saved run", "{error}", "begin a new run, without --resume";

    /// `--resume` without an unfinished run.
    Refusal nothing_to_resume(directory: &str) options ["--resume"]:
        "resuming a run", "{directory} holds no unfinished run", "begin one, without --resume";

    Refusal run_not_saved(path: &str, error: &str):
        "saving the run as {path}", "{error}", { HOME };

    Refusal no_run_directory():
        "saving the run", "neither TIERMARK_HOME nor HOME is set, so a killed run could not be resumed", "set TIERMARK_HOME or HOME";

    Refusal changes_left(changes: &[String]) options ["--restore"]:
        "taking back what was changed for the tenants", { changes.join("; ") },
        "the changes stay in the journal: `tiermark tune --restore` tries again";

    Refusal killed_run_left(changes: &[String]) options ["--restore"]:
        "taking back what a killed run changed", { changes.join("; ") }, "see `tiermark tune --restore`";

    Refusal guard_ended_run(cause: &Note) options ["--resume"]:
        "the run", "{cause}", "report it with the kernel's version (uname -r); `tiermark capacity --resume` \
            continues the run";

    Refusal saved_run_of_others(path: &str) options ["--trust"]:
        "the saved run {path}", "the file belongs to another user, or other users can write to it, and it names \
            programs that the run would start",
        "read the file; then add --trust, or run `tiermark capacity` anew";

    Refusal failed_and_left(failed: &Refusal, left: &Refusal) options (left.options.clone()):
        { failed.what.clone() },
        { format!("{}; and {}: {}", failed.why, left.what, left.why) },
        { left.cure.clone() };

    Warning unfinished(open: &[String], not_begun: &[String]):
        "the run stopped early",
        {
            let part = |what: &str, of: &[String]| (!of.is_empty()).then(|| format!("{what} {}", of.join("; ")));
            let parts = [part("no answer yet for", open), part("not begun:", not_begun)];
            parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
        },
        "resume it: tiermark capacity --resume";

    Refusal machine_busy(busy: f64, cpus: u64, programs: &str) options ["--wait", "--force"]:
        "the run was not started",
        {
            let programs = if programs.is_empty() { String::new() } else { format!(": {programs}") };
            format!(
                "other work keeps {busy:.1} of {} busy{programs}; tenants and client would wait for cpus, and trials \
                    would be unclear",
                crate::count_of(cpus, "cpu")
            )
        },
        "stop that work or wait until it ends (--wait), or run anyway with --force; `tiermark doctor` shows what is running";

    Warning others_busy(share: Share, programs: &str, since: &str):
        "other programs, and the kernel for them, used up to {share} of the cpus' time during a trial",
        { if programs.is_empty() { String::new() } else { format!("cpus busy {since}: {programs}") } },
        "measure on a quiet machine";

    Warning late(share: Share):
        "the client sent up to {share:.1} of a trial's requests late, which adds to those response times",
        "",
        "give the client cpus of its own: --client-cpus";

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

    Warning client_not_locked(error: &str):
        "the client's memory could not be locked ({error})", "the kernel may swap it out, and requests may be late", "";

    Warning client_not_spared(error: &str):
        "the oom_score_adj of this process could not be lowered ({error}; it needs CAP_SYS_RESOURCE, which \
            containers lack)",
        "tenants are still killed before it", "";

    Warning kills_not_counted():
        "this kernel does not count the processes that it kills because memory ran out",
        "a trial with such a kill says that a tenant ended",
        "use Linux 4.13 or later";

    Warning stalls_not_counted():
        "this system does not report how long the tenants' control groups wait for memory (PSI)",
        "no guard can end a trial for that",
        "use Linux 4.20 or later with cgroup2 mounted, and boot with psi=1";

    Warning emulated(why: &str):
        "KVM does not work here ({why})",
        "guests are emulated, so latencies, cpu times and numbers of tenants are not meaningful", "";

    Warning servers_not_stopped():
        "the servers are not stopped between trials (no --stop)",
        "a trial after one with too many tenants starts with their pages still \
         swapped out, so it may look too slow; the keys that the run writes stay in the servers", "";

    Warning out_of_time(search: &str):
        "{search}: the search has used its share of --max-time, the time for the whole run", "--resume continues it", "";

    Warning trial_not_run(tier: &str, tenants: u32, refusal: &Refusal):
        {
            let tenants = crate::capacity::tenants(tenants);
            format!("the trial of {tier} with {tenants} could not be run")
        },
        "{refusal}", "";

    Note prices_in_future(date: &str): "the prices are dated {date}, which is in the future";

    Note prices_old(date: &str, years: f64): "the prices are dated {date}, {years:.1} years ago: use current prices \
        for decisions";

    Note tier_without_prices(tier: &str): "the price file has no prices of {tier}: add [tier.\"{tier}\"]";

    Note no_tenant_to_price(tier: &str, load: &str): "{tier} holds no tenant ({load}), so it has no cost per tenant";

    Note base_not_exact(tier: &str, load: &str): "{tier}, {load}: no cost per tenant, so no tier is compared with it";

    Note no_price_of_interval(tier: &str, load: &str, answer: &str):
        "{tier}, {load}: no cost per tenant, because the number of tenants is open ({answer})";

    Note no_price_of_client(tier: &str, load: &str, why: &Note):
        "{tier}, {load}: no cost per tenant, because the server did not limit the run: {why}";

    Note no_price_of_failure(tier: &str, load: &str, tenants: u32):
        {
            let tenants = crate::capacity::tenants(tenants);
            format!("{tier}, {load}: no cost per tenant, because {tenants} did not meet the level and fewer were not \
                tried")
        };

    Note one_tenant_failed(failed: u32, trials: u32): "one tenant alone failed {failed} of {trials} trials";

    Note trials_undecided(tenants: u32, votes: &Votes, spoilt_by: Option<&Note>):
        {
            let Votes { passed, failed, unclear } = *votes;
            let result = if passed > 0 && failed > 0 { "disagree" } else { "are not clear" };
            let unclear = if unclear > 0 { format!(", {unclear} unclear") } else { String::new() };
            let why = spoilt_by.map_or_else(String::new, |why| format!(" (the last: {why})"));
            format!("trials of {} {result}: {passed} passed, {failed} failed{unclear}{why}", crate::capacity::tenants(tenants))
        };

    Note most_trials_made(trials: u32): "the limit of {trials} trials is reached (most-trials)";

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
