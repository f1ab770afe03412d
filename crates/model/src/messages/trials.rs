//! Trials of a capacity run: why each is made, its outcome, and which resource ran out.

use super::rows::messages;
use crate::capacity::tenants as counted;
use crate::{Bytes, Note};

/// A share in whole percent.
fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

messages! {
    /// The first trial of a search.
    Note one_tenant_first(): "one tenant alone, to see whether it meets the service level at all";

    /// The trial of a number of tenants that was asked for.
    Note only_this_number(tenants: u32): "{tenants} is the number that was asked for (--tenants): no other is tried";

    /// The number of tenants that a search begins with, and the estimate that it comes from.
    Note start_by_estimate(tenants: u32, estimate: &str): "{estimate}: start at {tenants}";

    /// A number of tenants that passed as often as it did not.
    Note votes_tied(tenants: u32): "{tenants} passed as often as it did not: one more trial decides";

    /// A number of tenants of which all trials were unclear.
    Note votes_unclear(tenants: u32, trials: u32):
        {
            let trials = crate::count_of(u64::from(trials), "trial");
            format!("{trials} of {} did not show whether the level is kept: one more trial", counted(tenants))
        };

    /// The next number on the way up: as many as fill memory and tier by the estimate.
    Note up_to_estimate(passed: u32, next: u32): "{passed} passed: next {next}, which fill memory and tier by \
        arithmetic";

    /// The next number on the way up, beyond the estimate.
    Note up_beyond_estimate(passed: u32, more: u32): "{passed} passed, as many as fit by arithmetic: next {more} more";

    /// The next number on the way up.
    Note up_further(passed: u32, growth: f64): "{passed} passed, nothing failed yet: next {growth} × as many";

    /// One failure above several passes is doubted.
    Note failure_doubted(failed: u32, passed_below: u32):
        "{failed} failed once, but {passed_below} trials below it passed: one more trial shows whether that failure \
            was chance";

    /// A number between one that passed and one that failed.
    Note between_passed_and_failed(passed: u32, failed: u32): "{passed} passed and {failed} failed: next one between \
        them, from a fresh fill";

    /// Fewer tenants than a number whose trials all stayed unclear.
    Note below_unclear(unclear: u32, passed: u32):
        "the trials of {unclear} tenants stay unclear, those of {passed} passed: next, a number between them, which \
         the disturbance may not affect";

    /// A failure that is not proven: of so many full trials of tenants that were made anew, so many failed.
    Note failure_unproven(tenants: u32, failed: u32, trials: u32):
        {
            match trials {
                0 => format!("{tenants} failed, but not yet in a full trial from a fresh fill: one more trial"),
                made => format!("{tenants} failed {failed} of {made} full trials from a fresh fill: one more trial"),
            }
        };

    /// A pass that is not proven.
    Note pass_unproven(tenants: u32, passed: u32, wanted: u32): "{tenants} passed {passed} of {wanted} full trials \
        in a row: one more trial";

    /// A guard ended the trial.
    Note guard_ended_trial(guard: &str, cause: &Note): "{guard}: {cause}";

    /// The kernel killed tenants' processes.
    Note processes_killed(processes: u64):
        {
            let noun = if processes == 1 { "process" } else { "processes" };
            format!("the kernel killed {processes} {noun} because memory ran out")
        };

    /// Tenants that ended by themselves.
    Note tenants_ended(tenants: u32): { format!("{} ended", counted(tenants)) };

    /// Swap that is nearly full.
    Note swap_nearly_full(share: f64, swap: Bytes): { format!("{} of {swap} of swap is in use", percent(share)) };

    /// Pages that went to swap areas of others.
    Note swapped_elsewhere(elsewhere: Bytes, to_tier: Bytes):
        "{elsewhere} were swapped to areas outside of this tier, and {to_tier} to the tier";

    /// Tenants that wait for memory most of the time, both in percent.
    Note tenants_stalled(percent: f64, allowed: f64):
        "all tenants waited for memory during {percent:.0} % of the last 10 s; the guard allows {allowed} %";

    /// Memory of the machine that is used up.
    Note memory_below_floor(available: Bytes, floor: Bytes):
        "{available} of the machine's memory are available, {floor} must stay free (memory-floor)";

    /// Memory of a node that is used up.
    Note node_below_floor(node: u32, free: Bytes, floor: Bytes): "{free} of node {node}'s memory are free, {floor} \
        must stay free";

    /// This program did not get to run.
    Note heartbeat_late(seconds: f64): "the heartbeat of this program was {seconds:.1} s late";

    /// A load that does not keep up.
    Note load_behind(seconds: f64): "the load is {seconds:.1} s behind its schedule";

    /// A trial that takes too long.
    Note trial_too_long(seconds: f64, allowed: f64): "the trial took {seconds:.0} s, {allowed} s are allowed \
        (trial-seconds)";

    /// Too few requests answered.
    Note rate_missed(share: f64, seconds: f64, wanted: f64):
        {
            // What is below a promise is not shown as that.
            let share = (share * 100.0).floor();
            format!("{share:.0} % of the requests due in {seconds:.0} s were answered, below {}", percent(wanted))
        };

    /// Compressed memory that takes all of the DRAM.
    Note compressed_takes_dram(pool: Bytes, dram: Bytes): "compressed memory takes {pool} of the {dram} of DRAM";

    /// Tenants and compressed memory that take more than there is.
    Note dram_exceeded(held: Bytes, pool: Bytes, dram: Bytes):
        "tenants hold {held} and compressed memory takes {pool}, together more than the {dram} of DRAM";

    /// A load generator without free cpu time.
    Note client_busy(share: f64): { format!("a thread of the load generator was busy {} of the time", percent(share)) };

    /// A load generator that sends late.
    Note requests_sent_late(share: f64): { format!("the load generator sent {:.1} % of the requests late", share * 100.0) };

    /// A load generator that reads late.
    Note answers_read_late(share: f64): { format!("the load generator read {:.1} % of the answers late", share * 100.0) };

    /// A load generator whose lateness is a part of the average; times in ns, and as they are shown.
    Note client_late_on_average(late_ns: f64, limit_ns: f64, late: &str, limit: &str):
        "the load generator was {late} late on average; the limit of the average is {limit}";

    /// A client's machine without free cpu time.
    Note client_cpus_busy(share: f64): { format!("the cpus of the client's machine were busy {} of the time", percent(share)) };

    /// Tenants that wait for memory.
    Note waited_for_memory(share: f64): { format!("tenants waited for memory {} of the time", percent(share)) };

    /// Tenants that wait for the device of the tier: they write nothing to disks themselves.
    Note waited_for_device(share: f64): { format!("tenants waited for the tier's device {} of the time", percent(share)) };

    /// Cpus that are busy: shares of all cpus' time, of tenants and client a part.
    Note all_cpus_busy(busy: f64, tenants: f64, client: Option<f64>):
        {
            let client = client.map_or_else(String::new, |share| format!(", {} by the client", percent(share)));
            format!("cpus were busy {} of the time: {} by tenants{client}", percent(busy), percent(tenants))
        };

    /// Cpus that ran out because of programs beside tenants and client: shares of all cpus' time.
    Note others_took_cpus(busy: f64, others: f64):
        { format!("other programs used {} of the cpus' time; cpus were busy {} of the time", percent(others), percent(busy)) };

    /// A cpu quota of the group that the client, and servers with it, are in.
    Note quota_enforced(cpus: f64, file: &str, throttled: u64):
        {
            let times = crate::count_of(throttled, "time");
            format!("the kernel stopped the cgroup {times}, because it used up its quota of {cpus} cpus ({file})")
        };

    /// Keys that servers evicted, with the hit rate that the level asks for; `ahead`: the hit rate after as long again,
    /// where it has a trend.
    Note keys_evicted(share: f64, limit: &str, ahead: Option<f64>):
        {
            // What is below a promise is not shown as that.
            let percent = |share: f64| format!("{:.1} %", (share * 1e3 + 1e-6).floor() / 10.0);
            let trend = ahead.map_or_else(String::new, |ahead| {
                format!("; it still changed, towards {} after as long again", percent(ahead))
            });
            let share = percent(share);
            format!("{share} of GETs found their key (limit: {limit}): servers evict keys that do not fit into maxmemory{trend}")
        };

    /// Counters without which no guard sees anything.
    Note guard_blind(error: &str): "the counters that guard a trial cannot be read: {error}";

    /// A client that holds more memory than its work needs.
    Note client_too_large(held: Bytes, limit: Bytes): "the client holds {held} of memory; its work needs less than \
        {limit}";

    /// Tenants that wait for a cpu.
    Note waited_for_cpu(share: f64): { format!("tenants waited for a cpu {} of the time", percent(share)) };

    /// A network link that is full.
    Note link_full(share: f64): { format!("the network link was {} full", percent(share)) };

    /// Major faults that reach the tail of the response times.
    Note faults_in_tail(faults_per_request: f64): "{faults_per_request:.2} major faults a request, and each waits \
        for the tier";

    /// Too few seconds to say whether the system is steady.
    Note too_few_seconds(seconds: usize, wanted: usize): "only {seconds} of {wanted} seconds were observed";

    /// A series without values.
    Note series_not_a_number(series: &str): "{series} is not a number";

    /// A series with a trend, by the Mann–Kendall test.
    Note series_trends(series: &str, rises: bool, p_value: f64, seconds: f64):
        {
            let way = if rises { "rises" } else { "falls" };
            format!("{series} still {way} (Mann–Kendall p = {p_value:.4}, over {seconds:.0} s)")
        };

    /// A series with too much variation to be steady.
    Note series_varies(series: &str, variation: f64, allowed: f64):
        { format!("{series} varies by {}, where at most {} counts as steady", percent(variation), percent(allowed)) };

    /// A limit of the hit rate that the trend of the hit rate leads across: `judged` is what the requests so far say,
    /// and `ahead` the share that comes if it goes on for as long again.
    Note hit_rate_moves(limit: &str, ahead: f64, judged: &Note):
        {
            let ahead = percent(ahead);
            format!(
                "{judged}; but the hit rate still changes: at this trend it crosses the limit ({limit}) and is {ahead} \
                 after as long again; use a longer --warmup"
            )
        };

    /// Too few requests so far to have touched all records.
    Note records_not_asked(share: f64):
        { format!("the number of answered requests is {} of the number of records; a tier is steady after as many \
            requests as records", percent(share)) };

    /// A run that does not wait until the system is steady.
    Note settling_off(): "the run does not wait for it (settle = 0)";

    /// A tenant that the client gave up.
    Note tenant_given_up(tenant: Option<u32>, fault: &str):
        { format!("the client stopped sending to {}: {fault}", tenant.map_or_else(|| "a tenant".to_owned(), |tenant| format!("tenant {tenant}"))) };

    /// A trial of a saved run that its scenario does not lead to.
    Note saved_trial_differs(trial: u32, tenants: u32, phase: &str, asked: u32, asked_phase: &str):
        "saved trial {trial} has {tenants} tenants ({phase}), but this search makes one with {asked} ({asked_phase}): \
         it belongs to another scenario or version";

    /// A trial of a saved run after that with which its search ends.
    Note saved_trial_after_end(trial: u32): "saved trial {trial} follows the end of its search: it belongs to \
        another scenario or version";

    /// A tenant that refused while it was filled.
    Note request_refused(error: &str): "a tenant refused a request: {error}";

    /// A tenant that refused requests.
    Note requests_refused(tenant: u32, requests: u64, error: &str): "tenant {tenant} refused {requests} requests: \
        {error}";

    /// A tenant that lost keys.
    Note keys_lost(tenant: u32, keys: u64): "tenant {tenant} had lost {keys} of the requested keys";

    /// The fault happened during the fill.
    Note during_fill(cause: &Note): "during the fill, {cause}";

    /// A trial without a load.
    Note nothing_measured(): "the trial has no measured requests";

    /// A trial without tenants.
    Note no_tenant_served(): "no tenant was served";

    /// A tenant without an answer.
    Note tenant_silent(tenant: u32): "tenant {tenant} answered no request";

    /// Histograms too large to be added.
    Note histograms_not_merged(): "the histograms cannot be merged";

    /// Enough of the tenants kept the level.
    Note enough_tenants(passed: usize, tenants: usize, wanted: usize): "{passed} of {tenants} tenants keep the \
        level, {wanted} must";

    /// Too few tenants kept the level, or it is not clear; the first of them is the example.
    Note too_few_tenants(failed: bool, those: usize, tenants: usize, example: &Note):
        {
            let verb = match (failed, those) {
                (true, 1) => "fails",
                (true, _) => "fail",
                (false, 1) => "is not clear",
                (false, _) => "are not clear",
            };
            format!("{those} of {} {verb}: {example}", crate::count_of(tenants as u64, "tenant"))
        };

    /// A figure and its limit, with the ends of its interval: ns, or a share for a rate; `shown` has the unit.
    Note limit_decides(limit: &str, value: f64, low: f64, high: f64, shown: &str, whose: &Note): "{limit}: {shown} \
        {whose}";

    /// The figure that passed with the least to spare.
    Note closest_to_limit(limit: &str, value: f64, shown: &str, tenant: usize): "{limit}: {shown} of tenant {tenant} \
        at worst";

    /// All figures, which passed.
    Note limits_kept(shown: &str, whose: &Note): "{shown} {whose}";

    /// A figure of one tenant.
    Note of_tenant(tenant: usize): "of tenant {tenant}";

    /// A figure of all requests.
    Note of_all_requests(): "of all requests together";

    /// A figure of the brief's kind.
    Note of_means(): "as the mean over the tenants";
}
