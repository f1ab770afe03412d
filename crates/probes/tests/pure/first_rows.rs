//! The first values of `latency` and `bandwidth`: before their curves, within the patience of a user.

use tiermark_engine::{Event, Probe, Sink, run_experiment};
use tiermark_machine::synth::Synth;
use tiermark_model::{Effort, Finding, GIB, MIB, Observation, Purpose, Quantity, testing};
use tiermark_probes::{bandwidth, latency};
use tiermark_sim::{SimCache, SimCore, SimHost, SimOptions};

use crate::common::kernels;

/// Seconds in which a user has a first answer.
const PATIENCE: f64 = 10.0;

/// What listeners get first.
#[derive(Default)]
struct First {
    observations: Vec<Observation>,
    findings: Vec<Finding>,
    answers: usize,
}

impl Sink for First {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Answered { observations, findings } = event {
            (self.observations, self.findings) = (observations.to_vec(), findings.to_vec());
            self.answers += 1;
        }
    }
}

/// A guest that declares an L3 of 480 MiB, has another, and gets memory at 0.4 GB/s and thread when it touches it.
fn first(probe: &Probe, cores: u32, held: u64) -> First {
    let synth = Synth { cores_per_node: cores, l3_bytes: 480 * MIB, node_bytes: 64 * GIB, ..Synth::default() };
    let caches = vec![SimCache { level: 3, bytes: held, ways: 16 }];
    let core = SimCore { caches, ..SimCore::default() };
    let options = SimOptions { core, noise: 0.005, first_touch: Some(0.4e9), ..SimOptions::default() };
    let mut host = SimHost::new(synth.machine().unwrap(), kernels(), options);
    let mut first = First::default();
    let request = tiermark_model::Request { effort: Effort::Standard, ..testing::request(probe.id) };
    run_experiment(probe, &request, &mut host, &mut first).unwrap();
    first
}

#[test]
fn the_rows_of_all_tiers_come_within_ten_seconds_however_large_the_last_cache_is() {
    for (cores, held) in [(2, 480), (8, 480), (2, 40), (8, 16)] {
        for (probe, quantity, tiers) in [
            (&latency::PROBE, Quantity::Latency, &["L1", "L2", "L3", "DRAM", "DRAM random"][..]),
            (&bandwidth::PROBE, Quantity::Bandwidth, &["L1", "L2", "L3", "DRAM"]),
        ] {
            let first = first(probe, cores, held * MIB);
            let what = format!("{} of {cores} cores, {held} MiB", probe.id);
            assert_eq!(first.answers, 1, "{what}");
            let visits = first.observations.iter().flat_map(|seen| &seen.visits.list);
            let last = visits.map(|visit| visit.at).fold(0.0, f64::max);
            assert!(last < PATIENCE, "{what}: {last:.1} s");
            for tier in tiers {
                let mut rows = first.findings.iter().filter(|f| f.quantity == quantity);
                let row = rows.find(|f| f.labels.tier_name() == Some(tier));
                assert!(row.is_some_and(|row| row.value.is_some()), "{what}: {tier}: {row:?}");
            }
            // Points beyond those that the tiers were found in come after them.
            let is_late =
                |seen: &&Observation| seen.labels.is_for(Purpose::Curve) && seen.labels.bytes() > Some(128 * MIB);
            assert_eq!(first.observations.iter().filter(is_late).count(), 0, "{what}");
        }
    }
}
