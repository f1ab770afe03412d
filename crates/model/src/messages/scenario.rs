//! Mistakes in scenarios and prices of capacity runs. Each stands behind the key that it is about.

use super::rows::messages;
use crate::Bytes;

messages! {
    /// A scenario without a tier.
    Note no_tier(): "is empty: name one at least, such as \"dram\"";

    /// Servers elsewhere, for a backend that starts its own.
    Note targets_of_another_backend(): "are only for backend = \"external\"; the other backends start their own \
        servers";

    /// Servers elsewhere that are not named.
    Note targets_missing(): "\"external\" needs targets = [\"host:port\", ...]";

    /// Fewer servers elsewhere than tenants.
    Note targets_too_few(tenants: u32, servers: usize): "{tenants} tenants need as many targets; there are {servers}";

    /// Tiers that would have to be set up on servers elsewhere.
    Note tiers_elsewhere(): "cannot be set up on external servers: write tiers = [\"dram\"], and run once for each \
        tier";

    /// An address that is none.
    Note address_wrong(address: &str, problem: &str): "'{address}': {problem}";

    /// A number of records that no tenant has.
    Note records_out_of_range(records: u64, most: u64): "{records} is out of range: write 1 to {most}";

    /// A size of values that no server takes.
    Note value_out_of_range(value: Bytes): "{value} is out of range: write 1 byte to 512 MiB, the longest value of a \
        server";

    /// A reserve that leaves no DRAM.
    Note reserve_too_large(reserve: Bytes, budget: Bytes): "{reserve} uses up the dram-budget of {budget}";

    /// A memory limit that a server without keys exceeds.
    Note maxmemory_too_small(limit: Bytes, least: Bytes):
        "{limit} is out of range: a server without keys takes about 1 MiB; write at least {least}, or \"off\"";

    /// A limit at which a server refuses writes.
    Note maxmemory_without_policy():
        "needs maxmemory-policy: at its limit the server would refuse writes; write maxmemory-policy = \
            \"allkeys-lru\", or maxmemory = \"off\"";

    /// A policy that nothing applies.
    Note policy_without_maxmemory(): "needs maxmemory, the size from which on the server evicts: maxmemory = \"64M\"";

    /// A limit of servers in virtual machines.
    Note maxmemory_in_guests(): "is only for backend = \"process\" and \"external\"";

    /// A property of virtual machines, for a backend without them.
    Note vm_of_another_backend(): "is only for backend = \"qemu\"; the other backends start no virtual machine";

    /// Parameters for the kernel of virtual machines that are none.
    Note vm_append_wrong(most: Bytes): "write parameters of the kernel in one line, at most {most}, without --";

    /// Virtual machines that do not hold their values.
    Note vm_memory_too_small(values: Bytes): "is too small for the values, which take {values}";

    /// DRAM that does not hold one tenant, where no tier helps.
    Note budget_too_small(values: Bytes, room: Bytes): "is too small for one tenant: its values alone take {values} \
        of {room}";

    /// A rate of requests that no server answers.
    Note rate_out_of_range(rate: f64, most: f64): "{rate} is out of range: write requests a second, above 0 and up \
        to {most}";

    /// A percentage that was written as a share of 1.
    Note mix_is_a_share(mix: f64): { format!("{mix} means {mix} %, less than one GET in 100 requests; if {mix} is a \
        share of 1, write {:.4}", 100.0 * mix).trim_end_matches('0').trim_end_matches('.').to_owned() };

    /// A load without a mix of requests.
    Note no_mix(): "is empty: write [100.0] for GETs alone";

    /// A load without a distribution of keys.
    Note no_keys(): "is empty: write [\"uniform\"]";

    /// A load that the load generator refuses, in its words.
    Note load_refused(problem: &str): "{problem}";

    /// A trial that cannot end in its time; `longer`: times that an unclear trial is measured as long.
    Note trial_too_short(limit: f64, needed: f64, longer: u32):
        "{limit} is too short: warm-up, settling and iterations take up to {needed} s, since an unclear trial is \
            measured {longer} times as long";

    /// A level without a limit.
    Note no_limit(): "is empty: write a limit such as \"p99 < 300us\"";

    /// A limit of the hit rate for a load that asks for nothing.
    Note hit_rate_without_gets(limit: &str): "{limit}: a mix of 0 % GET has no hit rate; remove the mix or the limit";

    /// A percentile that so few requests do not show; `needed`: the fewest that do, `measure`: seconds in which as many
    /// come.
    Note limit_not_judged(limit: &str, requests: f64, needed: Option<u64>, measure: Option<f64>, rate: f64, iterations: u32):
        {
            let cure = match (needed, measure) {
                (None, _) => "no number of requests is enough; choose a lower percentile".to_owned(),
                (Some(needed), None) => format!("{needed} are needed: raise rate, measure or iterations"),
                (Some(needed), Some(measure)) => format!(
                    "{needed} are needed, as with measure = {measure} at {rate} requests/s in {}; or raise rate or \
                        iterations",
                    crate::count_of(u64::from(iterations), "iteration")
                ),
            };
            format!("{limit} cannot be judged from {requests} requests of a tenant: {cure}")
        };

    /// A price or a count that is none.
    Note amount_wrong(value: f64): "{value} is not an amount: write a number from 0 on";

    /// A saving that is no share.
    Note saving_out_of_range(saving: f64): "{saving} is out of range: write 0 to below 1, for example 0.6 for 60 % \
        less";

    /// A building that takes less power than its servers.
    Note pue_below_one(pue: f64): "{pue} is below 1: the building cannot take less power than its servers";

    /// Prices without currency or source.
    Note prices_lack(): "is empty: prices need it";

    /// A text that is no date.
    Note date_wrong(date: &str): "'{date}' is not a date: write it as \"2026-11-21\"";

    /// Prices without those of DRAM.
    Note no_base_prices(): "the file has no [tier.dram], with which every tier is compared";

    /// A part of a server without a price.
    Note part_unknown(part: &str, known: &[&str]): { format!("there is no part '{part}'{}", crate::nearest(part, known)) };

    /// A setting of a saved run that no run has.
    Note timeout_out_of_range(seconds: f64): "timeout_seconds: {seconds} is out of range";

    /// Threads of a saved run that no run has.
    Note threads_out_of_range(threads: usize, most: usize): "threads: {threads} are more than {most}";

    /// When a saved run began, in no form that this program writes.
    Note started_unreadable(text: &str): "started: '{text}' is not a time such as 2026-11-21T12:00:00Z";

    /// A cpu of a saved run that Linux does not have.
    Note cpu_out_of_range(cpu: usize): "cpus: {cpu} is no cpu of Linux";
}
