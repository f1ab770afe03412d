//! The workload of every tenant, and the settings of the client.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tiermark_model::Refusal;
use tiermark_model::load::{LoadMix, Spin};
use tiermark_model::messages::load as says;
use tiermark_stats::Rng;

use crate::cpus;
use crate::keys::{KeyDist, KeyOrder, Keys};
use crate::resp::{MOST_DIGITS, MOST_FRAME};
use crate::schedule::Arrivals;
use crate::values::{SMALLEST_CHECKED, ValueShape};

/// Most requests a second that a schedule is made for: more than any client sends.
const HIGHEST_RATE: f64 = 1e8;

/// When requests are sent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Pace {
    /// The next request follows an answer: as many as the server takes. Latencies miss the waiting time of users who
    /// would not wait for the answer.
    Closed,
    /// One request at a time: the next follows the answer, but not before a period of the rate is over since the last.
    /// So a stall of the server delays the schedule, and the times leave out the requests that were due meanwhile
    /// (coordinated omission).
    Paced {
        /// Requests a second of each tenant, at most.
        rate: f64,
    },
    /// Requests are due at their times, whatever the server does.
    Open {
        /// Spread in time.
        arrivals: Arrivals,
        /// Requests a second of each tenant.
        rate: f64,
    },
}

/// When a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Length {
    /// After this time.
    Time(Duration),
    /// After so many requests of each tenant.
    Requests(u64),
}

/// Whether the next request of a mix is a SET.
pub(crate) fn draws_set(mix: LoadMix, rng: &mut Rng) -> bool {
    if mix.brief {
        rng.below(100) as f64 > mix.get_percent
    } else if mix.get_percent >= 100.0 {
        false
    } else {
        rng.unit() * 100.0 >= mix.get_percent
    }
}

/// The workload of every tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// When requests are sent.
    pub pace: Pace,
    /// When it ends.
    pub length: Length,
    /// Connections to each tenant.
    pub connections: usize,
    /// Most requests under way on a connection. In a closed loop so many are; in an open one more than this are not
    /// sent before an answer comes, and the tenant counts as overloaded.
    pub depth: usize,
    /// Number of the first key of each tenant.
    pub first_key: u64,
    /// Keys of each tenant, from the first key on: their numbers in decimal digits.
    pub keys: u64,
    /// Text in front of each key.
    pub key_prefix: String,
    /// Digits that a key has at least: zeros stand before the others. redis-benchmark's have 12.
    pub key_digits: usize,
    /// How often each key is requested.
    pub key_dist: KeyDist,
    /// Whether popular keys are neighbours.
    pub key_order: KeyOrder,
    /// GETs and SETs.
    pub mix: LoadMix,
    /// Size and compressibility of values.
    pub value: ValueShape,
    /// Whether every value that comes back is checked.
    pub verify: bool,
    /// Base of all random choices.
    pub seed: u64,
}

impl Default for Workload {
    /// The published test's request: GETs of 1 KiB, 5,000 a second on one connection, for ten seconds.
    fn default() -> Self {
        Self {
            pace: Pace::Open { arrivals: Arrivals::Constant, rate: 5000.0 },
            length: Length::Time(Duration::from_secs(10)),
            connections: 1,
            depth: 1000,
            first_key: 0,
            keys: 1_000_000,
            key_prefix: String::new(),
            key_digits: 0,
            key_dist: KeyDist::Uniform,
            key_order: KeyOrder::Clustered,
            mix: LoadMix { get_percent: 100.0, brief: false },
            value: ValueShape::of(1024, 0.0),
            verify: false,
            seed: 1,
        }
    }
}

impl Workload {
    /// Bytes of the largest request: no fewer than it has, and no more than [`resp::set`](crate::resp::set) makes room
    /// for, so that a buffer that held one takes the next.
    pub(crate) fn largest_request(&self) -> usize {
        self.value.sizes.largest() + self.key_prefix.len() + MOST_FRAME
    }

    /// Whether the client can run this workload.
    ///
    /// # Errors
    /// A [`Refusal`] that names the first impossible setting.
    pub fn check(&self) -> Result<(), Refusal> {
        let refuse = |what: String, why: &str, cure: &str| Err(says::workload_impossible(&what, why, cure));
        if let Pace::Open { rate, .. } | Pace::Paced { rate } = self.pace
            && !(rate > 0.0 && rate <= HIGHEST_RATE)
        {
            return refuse(format!("{rate} requests a second"), "the rate is out of range", "use 1 to 100000000");
        }
        let empty = match self.length {
            Length::Time(time) => time.is_zero(),
            Length::Requests(requests) => requests == 0,
        };
        if empty || self.connections == 0 || self.depth == 0 {
            let what = "a run without requests".to_owned();
            return refuse(what, "no request would be sent", "use a time, connections and a depth above 0");
        }
        if matches!(self.pace, Pace::Paced { .. }) && self.connections != 1 {
            let what = format!("a closed loop with a rate on {} connections", self.connections);
            return refuse(what, "it has one request under way", "use one connection, or an open loop");
        }
        if !(0.0..=100.0).contains(&self.mix.get_percent) {
            return refuse(
                format!("a mix of {} % GETs", self.mix.get_percent),
                "the percentage is out of range",
                "use 0 to 100",
            );
        }
        if self.key_digits > MOST_DIGITS {
            let what = format!("keys of {} digits", self.key_digits);
            return refuse(what, "key numbers have at most 20 digits", "use 20 or fewer");
        }
        if !(0.0..=1.0).contains(&self.value.compressible) {
            let what = format!("values, {} of each compressible", self.value.compressible);
            return refuse(what, "a share is from 0 to 1", "use a smaller number");
        }
        if self.verify && self.value.sizes.smallest() < SMALLEST_CHECKED {
            let what = format!("checking values of {} bytes", self.value.sizes.smallest());
            return refuse(what, "the values are too short to hold a checksum", "use 16 bytes or more");
        }
        Keys::new(self.key_dist, self.key_order, self.first_key, self.keys).map(|_| ())
    }
}

/// Settings of the client, which do not change the requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientSetup {
    /// Threads; tenants are dealt to them in turn, and each is served by one.
    pub threads: usize,
    /// Cpus of the threads, one each in turn. Empty: wherever the system puts them.
    pub cpus: Vec<usize>,
    /// When it looks again and again instead of sleeping.
    pub spin: Spin,
    /// Longest wait for an answer. A tenant that takes longer is given up.
    pub timeout: Duration,
    /// A request that the client tries to send later than this after it was due and had room counts as late.
    pub late_after: Duration,
}

impl ClientSetup {
    /// Whether it can work on this machine.
    ///
    /// # Errors
    /// A [`Refusal`]: it has no thread or no time, or names cpus on which it may not run.
    pub fn check(&self) -> Result<(), Refusal> {
        if self.threads == 0 || self.timeout.is_zero() {
            return Err(says::workload_impossible(
                "the client",
                "the client needs a thread and a timeout above 0",
                "use 1 thread and 10 s",
            ));
        }
        cpus::check(&self.cpus)
    }
}

impl Default for ClientSetup {
    fn default() -> Self {
        Self {
            threads: 1,
            cpus: Vec::new(),
            spin: Spin::Auto,
            timeout: Duration::from_secs(10),
            // Delays from sleeping and serving other connections stay below a scheduler's tick; wrk2 uses the same
            // limit.
            late_after: Duration::from_millis(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share_of_sets(get_percent: f64, brief: bool) -> f64 {
        let (mix, mut rng) = (LoadMix { get_percent, brief }, Rng::new(11));
        let sets = (0..200_000).filter(|_| draws_set(mix, &mut rng)).count();
        sets as f64 / 200_000.0
    }

    #[test]
    fn the_mix_is_as_asked_with_the_published_quirk() {
        // Four standard deviations of a share of 0.3 in 200,000.
        let error = 0.0041;
        assert!((share_of_sets(70.0, false) - 0.30).abs() < error);
        assert!((share_of_sets(70.0, true) - 0.29).abs() < error);
        assert!((share_of_sets(99.5, false) - 0.005).abs() < error);
        assert_eq!((share_of_sets(100.0, false), share_of_sets(100.0, true)), (0.0, 0.0));
        assert_eq!(share_of_sets(0.0, false), 1.0);
        assert!((share_of_sets(0.0, true) - 0.99).abs() < error);
    }

    #[test]
    fn what_makes_no_sense_is_refused_before_anything_is_sent() {
        let usual = Workload::default();
        assert_eq!(usual.check(), Ok(()));
        let rate = |rate| Pace::Open { arrivals: Arrivals::Poisson, rate };
        let bad = [
            Workload { pace: rate(0.0), ..usual.clone() },
            Workload { pace: rate(f64::NAN), ..usual.clone() },
            Workload { pace: Pace::Paced { rate: 0.0 }, ..usual.clone() },
            Workload { pace: Pace::Paced { rate: 10.0 }, connections: 2, ..usual.clone() },
            Workload { length: Length::Requests(0), ..usual.clone() },
            Workload { connections: 0, ..usual.clone() },
            Workload { depth: 0, ..usual.clone() },
            Workload { keys: 0, ..usual.clone() },
            Workload { key_digits: 21, ..usual.clone() },
            Workload { key_dist: KeyDist::Zipf(-1.0), ..usual.clone() },
            Workload { mix: LoadMix { get_percent: 101.0, brief: false }, ..usual.clone() },
            Workload { first_key: u64::MAX, keys: 2, ..usual.clone() },
            Workload { value: ValueShape::of(8, 0.0), verify: true, ..usual.clone() },
            Workload { value: ValueShape::of(8, 1.5), ..usual },
        ];
        for workload in bad {
            assert!(workload.check().is_err(), "{workload:?}");
        }
    }
}
