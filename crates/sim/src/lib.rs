//! A simulated machine: any discovered tree, with a latency and bandwidth model per tier, noise and disturbances by
//! seed.
//!
//! The whole program runs on it end to end with exact results, and for any machine. Its speeds come from a model, never
//! from a measurement: documents made on it say so.

#![forbid(unsafe_code)]

mod blocks;
mod caches;
mod counted;
mod interruptions;
mod memory;
mod model;
mod neighbours;
mod os;
mod rig;
mod share;
mod soak;
mod state;
mod timeline;
mod traffic;

use std::cell::Cell;
use std::rc::Rc;

use tiermark_model::messages::setup as says;
use tiermark_model::{
    Bench, ClockInfo, IdSet, KernelId, KernelInfo, Layout, Machine, OsCall, Overheads, PrimitiveInfo, Refusal,
    RegionSetup, Role, Setup, total,
};

use tiermark_engine::admit::{Fresh, admit};
use tiermark_engine::host::{Host, Rig};
use tiermark_engine::soak::SoakRig;
use tiermark_engine::{Filled, Lab};

pub use caches::{SimCache, SimCore};
pub use counted::SimCounters;
pub use interruptions::{Arrangement, Interruptions, Taken, TakenRate};
use memory::Filling;
pub use memory::LeftAlone;
pub use model::StoreRates;
pub use neighbours::{ComesAndGoes, Neighbours, Visitor};
use rig::SimRig;
pub use soak::{BitFault, SimFault, SimMemory};
pub use state::{Leftovers, SimState, Warmth};
pub use timeline::SimClock;
use timeline::Timelines;
pub use traffic::Ceilings;

/// Core clock of every simulated machine: 3 GHz makes cycles easy to check by eye.
const CORE_HZ: f64 = 3.0e9;
/// Operations that every simulated core does in a cycle, where they are independent.
const THROUGHPUT: f64 = 5.0;
/// Stamp cost of the simulated clock, ns; it is in the stamps, and the analysis takes it out again.
const STAMP_NS: f64 = 10.0;

/// How quiet the simulated machine is.
#[derive(Debug, Clone, PartialEq)]
pub struct SimOptions {
    /// Seed of noise and disturbances.
    pub seed: u64,
    /// Relative scatter between allocations; shots scatter by half, blocks by twice that.
    pub noise: f64,
    /// Time slices lost by each thread, per second.
    pub preemptions_per_second: f64,
    /// Step of the simulated clock, ns; 0 is a clock without steps.
    pub clock_step_ns: f64,
    /// What the border of two blocks takes, ns: stamping the clock, and more where that stops the work.
    pub border_ns: f64,
    /// Scatter of a border that a visit measures, ns.
    pub border_noise_ns: f64,
    /// Simulated seconds after which the "user" stops the run.
    pub stop_after: Option<f64>,
    /// Rates of its memories and links.
    pub ceilings: Ceilings,
    /// The real caches of its cores, which may differ from the declaration.
    pub core: SimCore,
    /// Other work on the machine.
    pub neighbours: Neighbours,
    /// Bytes that rigs may hold together between visits.
    pub keep_bytes: u64,
    /// Counters of its memory and links; `None` if it has none.
    pub counters: Option<SimCounters>,
    /// The allocation, counted from 1, whose memory is slower than all other, and how many times slower.
    pub slow_allocation: Option<(u64, f64)>,
    /// What its caches, translations and clock do during a visit.
    pub state: SimState,
    /// What somebody else takes of its cpus; `None` if nobody does.
    pub interruptions: Option<Interruptions>,
    /// What its host does to memory that is not used; `None` if it lets it be.
    pub left_alone: Option<LeftAlone>,
    /// Bytes per second of first touch by each thread, where the host must find memory and takes back what is freed;
    /// `None` if all memory is resident for ever.
    pub first_touch: Option<f64>,
    /// Rates of stores to memory; `None` takes usual ones.
    pub stores: Option<StoreRates>,
    /// What is wrong with its memory.
    pub memory: SimMemory,
}

impl Default for SimOptions {
    fn default() -> Self {
        Self {
            seed: 1,
            noise: 0.002,
            preemptions_per_second: 0.0,
            clock_step_ns: 0.0,
            border_ns: STAMP_NS,
            border_noise_ns: 0.0,
            stop_after: None,
            ceilings: Ceilings::default(),
            core: SimCore::default(),
            neighbours: Neighbours::default(),
            keep_bytes: u64::MAX,
            counters: None,
            slow_allocation: None,
            state: SimState::default(),
            interruptions: None,
            left_alone: None,
            first_touch: None,
            stores: None,
            memory: SimMemory::default(),
        }
    }
}

/// A simulated host.
pub struct SimHost {
    world: Rc<World>,
    allocations: u64,
    /// The largest setups that the memory of the run is for: bytes of streams, and of chains.
    filled: [u64; 2],
}

/// Data that a host and its rigs share.
struct World {
    lab: Lab,
    options: SimOptions,
    /// Seconds since the host was made.
    now: Cell<f64>,
    /// Cpu seconds used.
    used: Cell<f64>,
    /// The clocks of its cores.
    clocks: Timelines,
    filling: Filling,
    /// The real machine; the declaration may differ.
    truth: Machine,
}

impl World {
    fn new(lab: Lab, options: SimOptions, truth: Machine) -> Self {
        let (clocks, filling) = (Timelines::new(options.seed), Filling::new(options.first_touch));
        Self { lab, options, now: Cell::new(0.0), used: Cell::new(0.0), clocks, filling, truth }
    }

    /// Lets so many cpus make and fill memory together.
    fn fill(&self, bytes: u64, cpus: usize) {
        let seconds = self.filling.seconds(bytes, cpus);
        self.pass(seconds);
        self.used.set(self.used.get() + seconds * cpus as f64);
    }

    /// Lets so many cpus write memory that is there.
    fn write(&self, bytes: u64, cpus: usize) {
        let seconds = Filling::writing_seconds(bytes, cpus);
        self.pass(seconds);
        self.used.set(self.used.get() + seconds * cpus as f64);
    }

    fn pass(&self, seconds: f64) {
        self.now.set(self.now.get() + seconds);
    }
}

impl SimHost {
    /// Makes a host of a discovered machine and the kernels it is to have.
    pub fn new(mut machine: Machine, kernels: Vec<KernelInfo>, options: SimOptions) -> Self {
        machine.system.first_touch = options.first_touch;
        assert!(options.interruptions.is_none_or(|plan| plan.load() < 0.9), "interruptions leave no time for work");
        let clock = ClockInfo {
            source: "simulated".into(),
            hz: 1e9,
            resolution_ns: 1.0,
            how: "a model, not a measurement".into(),
            tick_hz: None,
        };
        let overheads =
            Overheads { stamp_ns: STAMP_NS, gate_ns: Some(500.0), loop_ns: Some(2.0), core_hz: Some(CORE_HZ) };
        let truth = options.core.truth(&machine);
        let idle = |counters: SimCounters| counters.at_rest(&machine, &options.ceilings, 1.0);
        let idle_traffic = options.counters.map(idle);
        let bench = Bench { kernels, clock, overheads, idle_traffic, ..Bench::default() };
        Self { world: Rc::new(World::new(Lab::new(machine, bench), options, truth)), allocations: 0, filled: [0; 2] }
    }

    /// The same host with primitives of the operating system.
    #[must_use]
    pub fn with_primitives(mut self, primitives: Vec<PrimitiveInfo>) -> Self {
        let World { lab, options, truth, .. } = &*self.world;
        let lab = Lab::new((*lab.machine).clone(), Bench { primitives, ..(*lab.bench).clone() });
        self.world = Rc::new(World::new(lab, options.clone(), truth.clone()));
        self
    }

    /// Work per ns of each thread of a setup without noise and disturbances: accesses of a chase, useful bytes of the
    /// others. It is the median of what visits with noise of one peak find.
    ///
    /// # Errors
    /// A [`Refusal`] when the setup cannot be had here.
    pub fn planted(&self, setup: &Setup) -> Result<Vec<f64>, Refusal> {
        let rig = SimRig::new(&self.world, setup, 0, 1.0);
        rig.demands().map(|demands| rig.paces(&demands))
    }

    /// Bytes of memory that were made and filled so far, each time anew.
    pub fn filled_bytes(&self) -> u64 {
        self.world.filling.touched()
    }
}

impl Host for SimHost {
    fn lab(&self) -> &Lab {
        &self.world.lab
    }

    fn prepare(&mut self, setup: &Setup) -> Result<Box<dyn Rig>, Refusal> {
        let world = &self.world;
        admit(setup, &world.lab.machine, &Fresh::discovered(&world.lab.machine))?;
        for thread in &setup.threads {
            for kernel in thread.role.kernels() {
                find_kernel(&world.lab.bench, kernel)?;
            }
            if let Role::Os(call) = &thread.role {
                find_primitive(&world.lab.bench, call)?;
            }
        }
        self.allocations += 1;
        let [streams, chains] = parts(setup);
        let owns_memory = !setup.is_plain() || streams > self.filled[0] || chains > self.filled[1];
        match owns_memory {
            true => world.fill(setup.total_bytes().0, setup.cpus().len()),
            // Chains are written anew in memory that is there.
            false => world.write(chains, setup.cpus().len()),
        }
        let draw = world.options.seed ^ self.allocations.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slow = world.options.slow_allocation.filter(|(number, _)| *number == self.allocations);
        let rig = SimRig::new(world, setup, draw, slow.map_or(1.0, |(_, factor)| factor));
        Ok(Box::new(SimRig { owns_memory, ..rig }))
    }

    fn furnish(&mut self, setups: &[&Setup]) -> Filled {
        let began = self.now();
        let needs = setups.iter().filter(|setup| setup.is_plain()).map(|setup| parts(setup));
        let needs = needs.fold([0; 2], |[a, b]: [u64; 2], [streams, chains]| [a.max(streams), b.max(chains)]);
        let bytes: u64 = needs.iter().sum();
        if bytes > self.world.options.keep_bytes || needs.iter().zip(self.filled).all(|(need, has)| *need <= has) {
            return Filled::default();
        }
        self.filled = needs;
        let cpus = setups.iter().fold(IdSet::new(), |cpus, setup| cpus.union(&setup.cpus())).len().max(1);
        self.world.fill(bytes, cpus);
        Filled { bytes, seconds: self.now() - began }
    }

    fn soak(&mut self, setup: &Setup) -> Result<Box<dyn SoakRig>, Refusal> {
        admit(setup, &self.world.lab.machine, &Fresh::discovered(&self.world.lab.machine))?;
        Ok(Box::new(soak::SimSoak::new(&self.world, setup)))
    }

    fn keep_bytes(&self) -> u64 {
        self.world.options.keep_bytes
    }

    fn now(&self) -> f64 {
        self.world.now.get()
    }

    fn rest(&mut self, seconds: f64) {
        self.world.pass(seconds.max(0.0));
    }

    fn cpu_seconds(&self) -> Option<f64> {
        Some(self.world.used.get())
    }

    fn stopped(&self) -> bool {
        self.world.options.stop_after.is_some_and(|limit| self.now() >= limit)
    }
}

/// Bytes of a setup that streams walk, and that chains take.
fn parts(setup: &Setup) -> [u64; 2] {
    let is_chain = |region: &RegionSetup| matches!(region.layout, Layout::Chain(_));
    [false, true].map(|chains| {
        let own = setup.regions.iter().filter(|region| is_chain(region) == chains);
        total(own.map(|region| region.bytes.0))
    })
}

fn find_kernel<'a>(bench: &'a Bench, id: &KernelId) -> Result<&'a KernelInfo, Refusal> {
    bench.kernel(&id.0).ok_or_else(|| says::kernel_unusable(&id.0, None))
}

fn find_primitive<'a>(bench: &'a Bench, call: &OsCall) -> Result<&'a PrimitiveInfo, Refusal> {
    let known = bench.primitives.iter().find(|p| p.id == call.primitive);
    known.ok_or_else(|| says::primitive_unknown(&call.primitive.0))
}
