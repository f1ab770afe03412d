//! Trials of a capacity run: why each is made, its outcome, and which resource ran out.

use super::rows::messages;
use super::server_errors;
use crate::capacity::{LimitOf, tenants as counted};
use crate::{Bytes, Note, Share};

messages! {
    Note one_tenant_first(): "one tenant alone, to see whether it meets the service level at all";

    Note only_this_number(tenants: u32): "{tenants} is the number that was asked for (--tenants): no other is tried";

    Note start_by_estimate(tenants: u32, estimate: &str): "{estimate}: start at {tenants}";

    Note votes_tied(tenants: u32): "{tenants} passed as often as it did not: one more trial decides";

    Note votes_unclear(tenants: u32, trials: u32):
        {
            let trials = crate::count_of(u64::from(trials), "trial");
            format!("{trials} of {} did not show whether the level is kept: one more trial", counted(tenants))
        };

    /// The next number on the way up: as many as fill memory and tier by the estimate.
    Note up_to_estimate(passed: u32, next: u32): "{passed} passed: next {next}, which fill memory and tier by \
        arithmetic";

    Note up_beyond_estimate(passed: u32, more: u32): "{passed} passed, as many as fit by arithmetic: next {more} more";

    Note up_further(passed: u32, growth: f64): "{passed} passed, nothing failed yet: next {growth} × as many";

    Note failure_doubted(failed: u32, passed_below: u32):
        "{failed} failed once, but {passed_below} trials below it passed: one more trial shows whether that failure \
            was chance";

    Note between_passed_and_failed(passed: u32, failed: u32): "{passed} passed and {failed} failed: next one between \
        them, from a fresh fill";

    Note below_unclear(unclear: u32, passed: u32):
        "the trials of {unclear} tenants stay unclear, those of {passed} passed: next, a number between them, which \
         the disturbance may not affect";

    /// A failure that is not proven: of so many full trials of tenants that were made anew, so many failed.
    Note failure_unproven(tenants: u32, failed: u32, trials: u32):
        {
            match trials {
                0 => format!("{tenants} failed, but not yet in a full trial from a fresh fill: one more trial"),
                full => format!("{tenants} failed {failed} of {full} full trials from a fresh fill: one more trial"),
            }
        };

    Note pass_unproven(tenants: u32, passed: u32, wanted: u32): "{tenants} passed {passed} of {wanted} full trials \
        in a row: one more trial";

    Note guard_ended_trial(guard: &str, cause: &Note): "{guard}: {cause}";

    Note processes_killed(processes: u64):
        {
            let noun = if processes == 1 { "process" } else { "processes" };
            format!("the kernel killed {processes} {noun} because memory ran out")
        };

    Note tenants_ended(tenants: u32): { format!("{} ended", counted(tenants)) };

    Note swap_nearly_full(share: Share, swap: Bytes): "{share} of {swap} of swap is in use";

    Note swapped_elsewhere(elsewhere: Bytes, to_tier: Bytes):
        "{elsewhere} were swapped to areas outside of this tier, and {to_tier} to the tier";

    /// Tenants that wait for memory most of the time, both in percent.
    Note tenants_stalled(percent: f64, allowed: f64):
        "all tenants waited for memory during {percent:.0} % of the last 10 s; the guard allows {allowed} %";

    Note memory_below_floor(available: Bytes, floor: Bytes):
        "{available} of the machine's memory are available, {floor} must stay free (memory-floor)";

    Note node_below_floor(node: u32, free: Bytes, floor: Bytes): "{free} of node {node}'s memory are free, {floor} \
        must stay free";

    Note heartbeat_late(seconds: f64): "the heartbeat of this program was {seconds:.1} s late";

    Note load_behind(seconds: f64): "the load is {seconds:.1} s behind its schedule";

    Note trial_too_long(seconds: f64, allowed: f64): "the trial took {seconds:.0} s, {allowed} s are allowed \
        (trial-seconds)";

    Note rate_missed(share: f64, seconds: f64, wanted: Share):
        {
            // What is below a promise is not shown as that.
            let share = (share * 100.0).floor();
            format!("{share:.0} % of the requests due in {seconds:.0} s were answered, below {wanted}")
        };

    Note compressed_takes_dram(pool: Bytes, dram: Bytes): "compressed memory takes {pool} of the {dram} of DRAM";

    Note dram_exceeded(held: Bytes, pool: Bytes, dram: Bytes):
        "tenants hold {held} and compressed memory takes {pool}, together more than the {dram} of DRAM";

    Note client_busy(share: Share): "a thread of the load generator was busy {share} of the time";

    Note requests_sent_late(share: Share): "the load generator sent {share:.1} of the requests late";

    Note answers_read_late(share: Share): "the load generator read {share:.1} of the answers late";

    /// A load generator whose lateness is a part of the average; times in ns, and as they are shown.
    Note client_late_on_average(late_ns: f64, limit_ns: f64, late: &str, limit: &str):
        "the load generator was {late} late on average; the limit of the average is {limit}";

    Note client_cpus_busy(share: Share): "the cpus of the client's machine were busy {share} of the time";

    Note waited_for_memory(share: Share): "tenants waited for memory {share} of the time";

    /// Tenants that wait for the device of the tier: they write nothing to disks themselves.
    Note waited_for_device(share: Share): "tenants waited for the tier's device {share} of the time";

    /// Cpus that are busy: shares of all cpus' time, of tenants and client a part.
    Note all_cpus_busy(busy: Share, tenants: Share, client: Option<Share>):
        {
            let client = client.map_or_else(String::new, |share| format!(", {share} by the client"));
            format!("cpus were busy {busy} of the time: {tenants} by tenants{client}")
        };

    /// Cpus that ran out because of programs beside tenants and client: shares of all cpus' time.
    Note others_took_cpus(busy: Share, others: Share):
        "other programs used {others} of the cpus' time; cpus were busy {busy} of the time";

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

    Note guard_blind(error: &str): "the counters that guard a trial cannot be read: {error}";

    Note client_too_large(held: Bytes, limit: Bytes): "the client holds {held} of memory; its work needs less than \
        {limit}";

    Note waited_for_cpu(share: Share): "tenants waited for a cpu {share} of the time";

    Note link_full(share: Share): "the network link was {share} full";

    Note faults_in_tail(faults_per_request: f64): "{faults_per_request:.2} major faults a request, and each waits \
        for the tier";

    /// Too few seconds to say whether the system is steady.
    Note too_few_seconds(seconds: usize, wanted: usize): "only {seconds} of {wanted} seconds were observed";

    Note series_not_a_number(series: &str): "{series} is not a number";

    Note series_trends(series: &str, rises: bool, p_value: f64, seconds: f64):
        {
            let way = if rises { "rises" } else { "falls" };
            format!("{series} still {way} (Mann–Kendall p = {p_value:.4}, over {seconds:.0} s)")
        };

    Note series_varies(series: &str, variation: Share, allowed: Share):
        "{series} varies by {variation}, where at most {allowed} counts as steady";

    /// A limit of the hit rate that the trend of the hit rate leads across: `judged` is what the requests so far say,
    /// and `ahead` the share that comes if it goes on for as long again.
    Note hit_rate_moves(limit: &str, ahead: Share, judged: &Note):
        "{judged}; but the hit rate still changes: at this trend it crosses the limit ({limit}) and is {ahead} after as \
            long again; use a longer --warmup";

    Note records_not_asked(share: Share):
        "the number of answered requests is {share} of the number of records; a tier is steady after as many requests as \
            records";

    Note settling_off(): "the run does not wait for it (settle = 0)";

    Note tenant_given_up(tenant: Option<u32>, fault: &str):
        { format!("the client stopped sending to {}: {fault}", tenant.map_or_else(|| "a tenant".to_owned(), |tenant| format!("tenant {tenant}"))) };

    Note saved_trial_differs(trial: u32, tenants: u32, phase: &str, asked: u32, asked_phase: &str):
        "saved trial {trial} has {tenants} tenants ({phase}), but this search makes one with {asked} ({asked_phase}): \
         it belongs to another scenario or version";

    Note saved_trial_after_end(trial: u32): "saved trial {trial} follows the end of its search: it belongs to \
        another scenario or version";

    Note request_refused(error: &str): { format!("a tenant refused a request: {}", server_errors::explained(error)) };

    Note requests_refused(tenant: u32, requests: u64, error: &str):
        { format!("tenant {tenant} refused {requests} requests: {}", server_errors::explained(error)) };

    Note keys_lost(tenant: u32, keys: u64): "tenant {tenant} had lost {keys} of the requested keys";

    Note during_fill(cause: &Note): "during the fill, {cause}";

    Note nothing_measured(): "the trial has no measured requests";

    Note no_tenant_served(): "no tenant was served";

    Note tenant_silent(tenant: u32): "tenant {tenant} answered no request";

    Note histograms_not_merged(): "the histograms cannot be merged";

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
    Note limit_decides(of: LimitOf, limit: &str, value: f64, low: f64, high: f64, shown: &str, whose: &Note):
        "{limit}: {shown} {whose}";

    Note closest_to_limit(limit: &str, value: f64, shown: &str, tenant: usize): "{limit}: {shown} of tenant {tenant} \
        at worst";

    Note limits_kept(shown: &str, whose: &Note): "{shown} {whose}";

    Note of_tenant(tenant: usize): "of tenant {tenant}";

    Note of_all_requests(): "of all requests together";

    Note of_means(): "as the mean over the tenants";
}
