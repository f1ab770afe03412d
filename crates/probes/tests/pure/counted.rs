//! Bytes that counters see beside the useful bytes of probes, on simulated machines whose amplification is known.

use serde_json::json;
use tiermark_engine::run_experiment;
use tiermark_machine::synth::Synth;
use tiermark_model::*;
use tiermark_sim::{SimCounters, SimHost, SimOptions};

/// Observations of a probe on two sockets whose memory and links are counted.
fn counted(probe: &str, scope: Scope, params: serde_json::Value, counters: SimCounters) -> Vec<Observation> {
    let synth = Synth { sockets: 2, cores_per_node: 4, cores_per_llc: 4, smt: 1, ..Synth::default() };
    let kernels = tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect();
    let options = SimOptions { counters: Some(counters), ..SimOptions::default() };
    let mut host = SimHost::new(synth.machine().unwrap(), kernels, options);
    let request = Request { scope, effort: Effort::Quick, params, ..testing::request(probe) };
    let probe = tiermark_probes::find(probe).unwrap();
    run_experiment(probe, &request, &mut host, &mut ()).unwrap().observations
}

const PLAIN: SimCounters = SimCounters { remote_writes: 1.0, idle: 3e8 };

fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-6 * expected.max(1.0), "{value}, not {expected}");
}

#[test]
fn known_amplification_comes_out_again() {
    let scope = || Scope { mem_node: Some(0), cpus: Some("0-3".parse().unwrap()), ..Scope::default() };
    let params = json!({"ops": ["read/avx2", "write/avx2", "write.nt/avx2", "copy/avx2"], "sizes": [1_u64 << 30], "threads": [4]});
    let seen = counted("bandwidth", scope(), params, PLAIN);
    // Ordinary stores read each line before they write it.
    for (op, expected) in [
        ("read/avx2", (1.0, 0.0)),
        ("write/avx2", (1.0, 1.0)),
        ("write.nt/avx2", (0.0, 1.0)),
        ("copy/avx2", (1.0, 0.5)),
    ] {
        let own = seen.iter().find(|seen| seen.labels.kernel() == Some(op)).unwrap();
        let traffic = own.traffic.as_ref().unwrap();
        let (read, write) = traffic.amplifications().unwrap();
        near(read, expected.0);
        near(write, expected.1);
        assert!(traffic.counted.links.is_empty(), "{op}: local");
        let nodes = traffic.counted.nodes();
        near(nodes[&1].total.unwrap(), 0.0);
        assert_eq!(traffic.useful, own.moved.map(|bytes| bytes as f64), "{op}");
    }
}

#[test]
fn writes_to_another_socket_are_amplified_where_a_directory_is_kept() {
    let scope = || Scope { mem_node: Some(1), cpus: Some("0-3".parse().unwrap()), ..Scope::default() };
    let params = || json!({"ops": ["write/avx2"], "sizes": [1_u64 << 30], "threads": [4]});
    for remote_writes in [1.0, 2.0] {
        let seen = counted("bandwidth", scope(), params(), SimCounters { remote_writes, ..PLAIN });
        let traffic = seen.iter().find_map(|seen| seen.traffic.as_ref()).unwrap();
        near(traffic.counted.whole().writes_per_read().unwrap(), remote_writes);
        let useful = traffic.useful.unwrap();
        let own = traffic.counted.links.iter().find(|link| link.place.socket == Some(0)).unwrap();
        near(own.sent.unwrap() / useful, 1.0);
        near(own.received.unwrap() / useful, 1.0);
    }
}

#[test]
fn what_caches_hold_does_not_reach_memory() {
    let params = json!({"ops": ["read"], "sizes": [16384], "threads": [1]});
    let seen = counted("bandwidth", Scope::default(), params, PLAIN);
    for traffic in seen.iter().filter_map(|seen| seen.traffic.as_ref()) {
        near(traffic.amplification().unwrap(), 0.0);
    }
}
