//! What the system said during a probe, in words.

use tiermark_model::Bytes;
use tiermark_model::capacity::Evidence;

use crate::number::{nanoseconds, percent};

/// What is known, as one sentence without an end; empty where nothing is.
pub(super) fn words(evidence: &Evidence) -> String {
    let e = evidence;
    let share = |name: &str, share: Option<f64>| share.map(|share| format!("{name} {}", percent(share)));
    let time = |name: &str, ns: Option<f64>| ns.map(|ns| format!("{name} {} µs", nanoseconds(ns / 1000.0)));
    // A busy server without a tier has nothing to say of one.
    let some = |n: Option<f64>| n.filter(|n| *n > 0.0);
    let parts = [
        some(e.faults_per_request).map(|faults| format!("{faults:.2} major faults a request")),
        some(e.swap_bytes_per_request).map(|bytes| format!("{} swapped a request", Bytes(bytes.round() as u64))),
        share("resident", e.resident_share.filter(|share| *share < 0.9995)),
        e.compression.map(|ratio| format!("compressed {ratio:.1} : 1")),
        time("a read of the device", e.read_ns),
        time("a write", e.write_ns),
        share("device busy", some(e.device_busy)),
        e.cpu_seconds_per_million.map(|s| format!("{s:.0} s of cpu a million requests")),
        e.client_seconds_per_million.map(|s| format!("the client's {s:.0} s")),
        share("waiting for memory", some(e.memory_wait)),
        share("for a cpu", some(e.cpu_wait)),
        share("cpus busy", e.cpu),
        share("stolen", some(e.steal)),
        share("sent late", some(e.late_sends)),
        e.oom_kills.filter(|kills| *kills > 0).map(|kills| format!("{kills} killed for want of memory")),
        e.not_steady.as_ref().map(|why| format!("not at rest: {why}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_not_said() {
        assert_eq!(words(&Evidence::default()), "");
        let known = Evidence {
            faults_per_request: Some(0.766),
            swap_bytes_per_request: Some(6144.4),
            resident_share: Some(0.43),
            compression: Some(2.31),
            read_ns: Some(58_000.0),
            cpu_seconds_per_million: Some(83.4),
            memory_wait: Some(0.021),
            steal: Some(0.0),
            oom_kills: Some(2),
            not_steady: Some("it was not waited for".into()),
            ..Evidence::default()
        };
        assert_eq!(
            words(&known),
            "0.77 major faults a request, 6 KiB swapped a request, resident 43 %, compressed 2.3 : 1, a read of the device 58.0 µs, \
             83 s of cpu a million requests, waiting for memory 2.1 %, 2 killed for want of memory, not at rest: it was not waited for"
        );
    }
}
