//! Mistakes in scenarios and prices of capacity runs. Each stands behind the key that it is about.

use super::rows::messages;
use crate::Bytes;

messages! {
    Note no_tier(): "is empty: name one at least, such as \"dram\"";

    Note targets_of_another_backend(): "are only for backend = \"external\"; the other backends start their own \
        servers";

    Note targets_missing(): "\"external\" needs targets = [\"host:port\", ...]";

    Note targets_too_few(tenants: u32, servers: usize): "{tenants} tenants need as many targets; there are {servers}";

    Note tiers_elsewhere(): "cannot be set up on external servers: write tiers = [\"dram\"], and run once for each \
        tier";

    Note address_wrong(address: &str, problem: &str): "'{address}': {problem}";

    Note records_out_of_range(records: u64, most: u64): "{records} is out of range: write 1 to {most}";

    Note value_out_of_range(value: Bytes): "{value} is out of range: write 1 byte to 512 MiB, the longest value of a \
        server";

    Note reserve_too_large(reserve: Bytes, budget: Bytes): "{reserve} uses up the dram-budget of {budget}";

    Note maxmemory_too_small(limit: Bytes, least: Bytes):
        "{limit} is out of range: a server without keys takes about 1 MiB; write at least {least}, or \"off\"";

    Note maxmemory_without_policy():
        "needs maxmemory-policy: at its limit the server would refuse writes; write maxmemory-policy = \
            \"allkeys-lru\", or maxmemory = \"off\"";

    Note policy_without_maxmemory(): "needs maxmemory, the size from which on the server evicts: maxmemory = \"64M\"";

    Note maxmemory_in_guests(): "is only for backend = \"process\" and \"external\"";

    Note vm_of_another_backend(): "is only for backend = \"qemu\"; the other backends start no virtual machine";

    Note vm_append_wrong(most: Bytes): "write parameters of the kernel in one line, at most {most}, without --";

    Note vm_memory_too_small(values: Bytes): "is too small for the values, which take {values}";

    Note budget_too_small(values: Bytes, room: Bytes): "is too small for one tenant: its values alone take {values} \
        of {room}";

    Note rate_out_of_range(rate: f64, most: f64): "{rate} is out of range: write requests a second, above 0 and up \
        to {most}";

    /// A percentage that was written as a share of 1.
    Note mix_is_a_share(mix: f64): { format!("{mix} means {mix} %, less than one GET in 100 requests; if {mix} is a \
        share of 1, write {:.4}", 100.0 * mix).trim_end_matches('0').trim_end_matches('.').to_owned() };

    Note no_mix(): "is empty: write [100.0] for GETs alone";

    Note no_keys(): "is empty: write [\"uniform\"]";

    Note load_refused(problem: &str): "{problem}";

    /// A trial that cannot end in its time; `longer`: times that an unclear trial is measured as long.
    Note trial_too_short(limit: f64, needed: f64, longer: u32):
        "{limit} is too short: warm-up, settling and iterations take up to {needed} s, since an unclear trial is \
            measured {longer} times as long";

    Note no_limit(): "is empty: write a limit such as \"p99 < 300us\"";

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

    Note amount_wrong(value: f64): "{value} is not an amount: write a number from 0 on";

    Note saving_out_of_range(saving: f64): "{saving} is out of range: write 0 to below 1, for example 0.6 for 60 % \
        less";

    Note pue_below_one(pue: f64): "{pue} is below 1: the building cannot take less power than its servers";

    Note prices_lack(): "is empty: prices need it";

    Note date_wrong(date: &str): "'{date}' is not a date: write it as \"2026-11-21\"";

    Note no_base_prices(): "the file has no [tier.dram], with which every tier is compared";

    Note part_unknown(part: &str, known: &[&str]): { format!("there is no part '{part}'{}", crate::nearest(part, known)) };

    Note timeout_out_of_range(seconds: f64): "timeout_seconds: {seconds} is out of range";

    Note threads_out_of_range(threads: usize, most: usize): "threads: {threads} are more than {most}";

    Note started_unreadable(text: &str): "started: '{text}' is not a time such as 2026-11-21T12:00:00Z";

    Note cpu_out_of_range(cpu: usize): "cpus: {cpu} is no cpu of Linux";
}
