//! Counters of the system during a trial, in words.

use tiermark_model::Bytes;
use tiermark_model::capacity::Evidence;
use tiermark_model::messages::trials::codes::settling_off;
use tiermark_page::{nanoseconds, percent};

/// Bytes of compressed memory below which its ratio says nothing.
const LEAST_POOL: u64 = 1 << 20;

/// The known counters, as one sentence without a full stop; empty without any.
pub(super) fn words(evidence: &Evidence) -> String {
    let e = evidence;
    let share = |name: &str, share: Option<f64>| share.map(|share| format!("{name} {}", percent(share)));
    let time = |name: &str, ns: Option<f64>| ns.map(|ns| format!("{name} {} µs", nanoseconds(ns / 1000.0)));
    // A busy server without a tier has nothing to say of one.
    let some = |n: Option<f64>| n.filter(|n| *n > 0.0);
    let dram = e.dram_budget.zip(e.pool).map(|(budget, pool)| {
        let used = match e.dram_used.map(|used| (used, used.checked_sub(budget).filter(|over| *over > 0))) {
            None => Bytes(budget).to_string(),
            Some((used, None)) => format!("{} in use of {}", Bytes(used), Bytes(budget)),
            // The pool grows before the limit of the tenants follows.
            Some((_, Some(over))) => format!("all {} and for a moment {} more", Bytes(budget), Bytes(over)),
        };
        format!("{used} of DRAM, {} of it compressed memory", Bytes(pool))
    });
    let not_steady = e.not_steady.as_ref().filter(|why| why.code != settling_off);
    // Of a few pages tables and fragments are more than what they hold.
    let compression = e.compression.filter(|_| e.pool.is_none_or(|pool| pool >= LEAST_POOL));
    let written_back = e.zswap_written_back.filter(|pages| *pages > 0);
    let parts = [
        dram,
        share("GETs that found their key", e.hit_share.filter(|share| *share < 0.9995)),
        some(e.faults_per_request).map(|faults| format!("{faults:.2} major faults a request")),
        some(e.swap_bytes_per_request).map(|bytes| format!("{} swapped a request", Bytes(bytes.round() as u64))),
        share("resident memory", e.resident_share.filter(|share| *share < 0.9995)),
        compression.map(|ratio| format!("compressed {ratio:.1} : 1")),
        time("device read", e.read_ns),
        time("device write", e.write_ns.filter(|ns| *ns >= 10.0)),
        share("device busy", some(e.device_busy)),
        e.cpu_seconds_per_million.map(|s| format!("tenants {s:.0} cpu-s per million requests")),
        e.client_seconds_per_million.map(|s| format!("client {s:.0} cpu-s")),
        share("waiting for memory", some(e.memory_wait)),
        share("waiting for a cpu", some(e.cpu_wait)),
        share("waiting for devices", some(e.io_wait)),
        share("cpus busy", e.cpu),
        share("by tenants", some(e.tenants_cpu)),
        share("by the client", some(e.client_share)),
        share("busiest link", some(e.link)),
        e.demoted.filter(|pages| *pages > 0).map(|pages| format!("{pages} pages demoted")),
        written_back.map(|pages| format!("{pages} pages that zswap wrote to swap")),
        share("stolen by the hypervisor", some(e.steal)),
        share("requests sent late", some(e.late_sends)),
        share("answers read late", some(e.late_answers)),
        e.oom_kills.filter(|kills| *kills > 0).map(|kills| format!("{kills} processes killed because memory ran out")),
        not_steady.map(|why| format!("not steady: {why}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use tiermark_model::messages::trials::{self as says, too_few_seconds};

    use super::*;

    #[test]
    fn what_is_not_known_is_not_said() {
        assert_eq!(words(&Evidence::default()), "");
        let known = Evidence {
            faults_per_request: Some(0.766),
            swap_bytes_per_request: Some(6144.4),
            resident_share: Some(0.43),
            dram_budget: Some(512 << 20),
            dram_used: Some(511 << 20),
            pool: Some(130 << 20),
            cpu: Some(0.7),
            tenants_cpu: Some(0.4),
            link: Some(0.0),
            compression: Some(2.31),
            read_ns: Some(58_000.0),
            cpu_seconds_per_million: Some(83.4),
            memory_wait: Some(0.021),
            steal: Some(0.0),
            oom_kills: Some(2),
            not_steady: Some(too_few_seconds(3, 10)),
            ..Evidence::default()
        };
        assert_eq!(
            words(&known),
            "511 MiB in use of 512 MiB of DRAM, 130 MiB of it compressed memory, 0.77 major faults a request, 6 KiB \
             swapped a request, resident memory 43 %, compressed 2.3 : 1, device read 58.0 µs, tenants 83 cpu-s per million requests, waiting for memory 2.1 %, cpus busy 70 %, by tenants 40 %, 2 processes killed because memory ran out, not steady: only 3 of 10 seconds were observed"
        );
        // More than there is cannot be in use of it; what holds for all trials is said once, above them.
        let over = Evidence { dram_used: Some(514 << 20), not_steady: Some(says::settling_off()), ..known };
        let text = words(&over);
        assert!(
            text.starts_with("all 512 MiB and for a moment 2 MiB more of DRAM, 130 MiB of it compressed"),
            "{text}"
        );
        assert!(!text.contains("steady"), "{text}");
    }
}
