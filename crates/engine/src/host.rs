//! The one door to the machine, and the raw observations that come through it.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tiermark_model::{Bench, Bytes, CpuId, KernelId, Machine, PlacementProof, Refusal, Role, Setup, StepTraffic};

use crate::probe::Lab;
use crate::soak::SoakRig;

/// A machine that experiments can be carried out on: the real one, or a simulated one.
pub trait Host {
    /// The machine as discovered, and the measuring instruments.
    fn lab(&self) -> &Lab;

    /// The machine as discovered.
    fn machine(&self) -> &Machine {
        &self.lab().machine
    }

    /// The measuring instruments: kernels that run here, the clock, what measuring costs.
    fn bench(&self) -> &Bench {
        &self.lab().bench
    }

    /// Makes the memory that these setups are to share, as far as there is room, filled by all cpus at once: done before
    /// the first visit of a run. Setups of the plain kind ([`Setup::is_plain`]) then get slices of it. Memory that is
    /// there and suffices stays; what these setups do not need is given back.
    fn furnish(&mut self, setups: &[&Setup]) -> Filled {
        let _ = setups;
        Filled::default()
    }

    /// Places, fills and proves the memory of a setup, where it is not there already, and starts its pinned workers.
    ///
    /// # Errors
    /// A [`Refusal`] when the setup cannot be had here: no such cpu or node, not enough memory, no huge pages, unknown
    /// kernel.
    fn prepare(&mut self, setup: &Setup) -> Result<Box<dyn Rig>, Refusal>;

    /// Takes the memory of a soak, and seats a thread on each of its cpus.
    ///
    /// # Errors
    /// A [`Refusal`] when the memory or a cpu cannot be had, or the memory could be swapped out.
    fn soak(&mut self, setup: &Setup) -> Result<Box<dyn SoakRig>, Refusal>;

    /// Most bytes of memory of their own that rigs may hold together between visits.
    fn keep_bytes(&self) -> u64;

    /// Seconds since the host was made, by the host's own clock (simulated hosts have a simulated one).
    fn now(&self) -> f64;

    /// Lets so many seconds pass without a shot. A simulated host only moves its clock.
    fn rest(&mut self, seconds: f64);

    /// Cpu time that the host has used so far, by all of its threads, seconds; `None` if it is not counted.
    fn cpu_seconds(&self) -> Option<f64>;

    /// Whether the user wants to stop; checked before each visit, and by preparation itself. Shots take milliseconds.
    fn stopped(&self) -> bool;
}

/// Memory that was filled, and how long it took.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Filled {
    /// Bytes.
    pub bytes: u64,
    /// Wall time.
    pub seconds: f64,
}

impl Filled {
    /// Bytes a second.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 / self.seconds.max(1e-9)
    }
}

impl fmt::Display for Filled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "filling {} took {:.1} s, {:.1} GB/s", Bytes(self.bytes), self.seconds, self.rate() / 1e9)
    }
}

/// A prepared setup: memory in place, workers waiting at the gate. Several may be there at once. Dropping it gives
/// everything back.
pub trait Rig {
    /// Proves where the pages are now and what size they have. Called before the first shot and after the last.
    fn placement(&mut self) -> PlacementProof;

    /// Switches every stream worker to another kernel of the setup's rivals.
    ///
    /// # Errors
    /// A [`Fault`] when the kernel does not exist here.
    fn select(&mut self, kernel: &KernelId) -> Result<(), Fault>;

    /// Gives the workers other roles on the same memory, in setup order.
    ///
    /// # Errors
    /// A [`Fault`] when a role does not fit the memory, or this rig cannot change roles.
    fn assign(&mut self, roles: &[Role]) -> Result<(), Fault> {
        Err(Fault(format!("{} workers keep their roles here", roles.len())))
    }

    /// Whether its memory is its own, not slices of what [`Host::furnish`] made.
    fn owns_memory(&self) -> bool {
        true
    }

    /// Opens the gate: every worker runs its role for about `budget` and stamps the clock after each block. Before and
    /// after, pairs of the workers' cpus answer each other, where a hypervisor may have moved them.
    ///
    /// # Errors
    /// A [`Fault`] when a worker failed.
    fn shot(&mut self, budget: Duration) -> Result<Shot, Fault>;
}

/// The pairs of so many workers that are pinged, by their numbers in setup order, in the order of [`Shot::pings`]:
/// partners at distance 1, 2 and 4 show which of eight cpus lie together.
pub fn ping_pairs(workers: usize) -> Vec<(usize, usize)> {
    let partners = |index: usize| (0..3).map(move |round| (index, index ^ (1 << round)));
    (0..workers).flat_map(partners).filter(|(index, partner)| index < partner && *partner < workers).collect()
}

/// An error inside a rig; the step ends with its results so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(pub String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

/// One timed run of all workers of a rig.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Shot {
    /// One entry a worker, in setup order.
    pub threads: Vec<ThreadShot>,
    /// Ping times between pairs of the workers' cpus before and after the shot, ns; 0 if a pair did not answer, empty
    /// if no pair was pinged.
    pub pings: [Vec<f64>; 2],
    /// What memory and links carried meanwhile; `None` without counters. Useful bytes follow from the blocks.
    pub traffic: Option<StepTraffic>,
}

impl Shot {
    /// Seconds that the slowest worker took to settle.
    pub fn settling_seconds(&self) -> f64 {
        self.threads.iter().map(|thread| thread.settling.ns).fold(0.0, f64::max) / 1e9
    }
}

/// Results of one worker.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ThreadShot {
    /// Work between two stamps: accesses (all chains together) of a chase, useful bytes of a stream.
    pub per_block: f64,
    /// Clock stamps in ns since an origin common to all workers: the start, then the end of each block. Rising.
    pub stamps_ns: Vec<f64>,
    /// Looks at the core's clock, in order: before the first block, after the last, and, of a thread that shares
    /// nothing, between windows. The time that looks take is not in the stamps.
    #[serde(default)]
    pub looks: Vec<ClockLook>,
    /// How its caches and translations came to the state that they keep while it is measured.
    #[serde(default)]
    pub settling: Settling,
    /// Work done before the first stamp and after the last, in the units of `per_block`: counters of the machine see it
    /// too. `None` if caches were filled first, or it is not known: what counters see then is not the work between the
    /// stamps.
    #[serde(default)]
    pub unstamped: Option<f64>,
    /// Cost of a border between two blocks, ns, by as much of the same work with and without borders; `None` where it
    /// was not measured.
    #[serde(default)]
    pub border_ns: Option<f64>,
    /// What interrupted the worker while it did nothing but read the clock.
    #[serde(default)]
    pub idle: IdleWatch,
    /// The system's counters of the worker during the shot.
    pub guard: Guard,
}

/// A watch of the clock by a worker that does nothing else, just after its shot: what interrupts it is nobody's work of
/// its own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct IdleWatch {
    /// How long it lasted, ns; 0 where there was none.
    pub ns: f64,
    /// Each time from one reading of the clock to the next that is longer than 0.5 µs, ns.
    pub gaps_ns: Vec<f32>,
}

/// The worker's own account of a shot, taken outside the stamped part.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Guard {
    /// The cpu that it is pinned to.
    pub cpu: CpuId,
    /// The cpus it was on at the start and at the end.
    pub seen_on: [CpuId; 2],
    /// Thread cpu time, ns.
    pub cpu_ns: f64,
    /// Wall time over the same span, ns.
    pub wall_ns: f64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// Minor page faults.
    pub minor_faults: u64,
    /// Major page faults.
    pub major_faults: u64,
    /// Time runnable but waiting, ns, where schedstat is readable.
    pub run_delay_ns: Option<f64>,
}

/// The core's clock at one moment, by chains of dependent operations of known length.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ClockLook {
    /// When it was, on the time line of the stamps, ns.
    pub at_ns: f64,
    /// Cycles per second; `None` when a chain was preempted, or other work on the core slowed it down.
    pub hz: Option<f64>,
    /// Independent operations (additions and loads from L1) in a cycle; `None` without a clock, or if they were not
    /// counted.
    #[serde(default)]
    pub throughput: Option<f64>,
}

/// The untimed work before the first stamp that brings caches and translations into the state that they keep.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Settling {
    /// How long it took, ns.
    pub ns: f64,
    /// Whether the state was reached: the last pass was not over 3 % faster than all before it.
    pub is_settled: bool,
}

impl Default for Settling {
    /// Nothing to settle.
    fn default() -> Self {
        Self { ns: 0.0, is_settled: true }
    }
}
