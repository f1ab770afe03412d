//! The load of a scenario, as the load generator takes it.

use std::time::Duration;

use tiermark_load::{Length, Pace, ValueShape, Workload};
use tiermark_model::load::LoadMix;

use super::{Pacing, Requests, Scenario};

impl Scenario {
    /// The workload of one tenant in the part that is measured.
    pub fn asked(&self, Requests { gets, keys }: Requests, seed: u64) -> Workload {
        let (tenant, load) = (&self.tenant, &self.load);
        Workload {
            pace: match load.pacing {
                Pacing::Open => Pace::Open { arrivals: load.arrival, rate: load.rate },
                Pacing::Closed => Pace::Paced { rate: load.rate },
            },
            length: Length::Time(Duration::from_secs_f64(self.time.measure.clamp(0.0, f64::from(u32::MAX)))),
            connections: load.connections as usize,
            depth: load.pipeline as usize,
            first_key: 0,
            keys: tenant.records,
            key_prefix: String::new(),
            key_digits: 0,
            key_dist: keys,
            key_order: load.key_order,
            mix: LoadMix { get_percent: gets, brief: load.brief_mix },
            value: ValueShape::of(tenant.value.0 as usize, tenant.compressibility),
            verify: false,
            seed,
        }
    }
}
