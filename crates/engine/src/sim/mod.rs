//! A simulated machine: any discovered tree, with a latency and bandwidth model per tier, noise and disturbances by seed.
//!
//! The whole program runs on it end to end with exact results, and for any machine. Its speeds come from a model, never
//! from a measurement: documents made on it say so.

mod caches;
mod counted;
mod model;
mod neighbours;
mod os;
mod share;
mod traffic;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use tiermark_model::messages::setup as says;
use tiermark_model::{
    Bench, ClockInfo, KernelId, KernelInfo, Layout, Machine, NodeId, OsCall, Overheads, PageKind, PlacementProof,
    PrimitiveInfo, Refusal, Role, Setup, ThreadSetup, deal,
};

use crate::admit::{Fresh, admit, region_nodes};
use crate::host::{Fault, Guard, Host, Rig, Shot, ThreadShot};

pub use caches::{SimCache, SimCore};
pub use counted::SimCounters;
use model::SpeedModel;
use neighbours::Level;
pub use neighbours::{ComesAndGoes, Neighbours, Visitor};
use tiermark_stats::Rng;
pub use traffic::Ceilings;
use traffic::Demand;

/// Core clock of every simulated machine: 3 GHz makes cycles easy to check by eye.
const CORE_HZ: f64 = 3.0e9;
/// Stamp cost of the simulated clock, ns; it is in the stamps, and the analysis takes it out again.
const STAMP_NS: f64 = 10.0;
/// Blocks simulated a shot and thread at most, by number of threads: keeps 2,048 threads cheap and one thread fine.
const BLOCKS: [(usize, f64); 2] = [(64, 400.0), (usize::MAX, 64.0)];
/// Shortest simulated block, ns.
const BLOCK_NS: f64 = 16_000.0;
/// Accesses of a block of a chase that revisits.
const REVISIT_BLOCK: f64 = 128.0;
/// A lost time slice, ns: a scheduler's usual base slice.
const SLICE_NS: f64 = 3.0e6;
/// Time of a visit beside its shot, seconds.
const BETWEEN_SECONDS: f64 = 0.5e-3;
/// Seconds it takes to prepare a byte.
const PREPARE_SECONDS_PER_BYTE: f64 = 0.5e-9;

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
}

impl Default for SimOptions {
    fn default() -> Self {
        Self {
            seed: 1,
            noise: 0.002,
            preemptions_per_second: 0.0,
            clock_step_ns: 0.0,
            stop_after: None,
            ceilings: Ceilings::default(),
            core: SimCore::default(),
            neighbours: Neighbours::default(),
            keep_bytes: u64::MAX,
            counters: None,
            slow_allocation: None,
        }
    }
}

/// A simulated host.
pub struct SimHost {
    world: Rc<World>,
    /// The real machine; the declaration may differ.
    truth: Machine,
    allocations: u64,
}

/// Data that a host and its rigs share.
struct World {
    machine: Machine,
    bench: Bench,
    options: SimOptions,
    /// Seconds since the host was made.
    now: Cell<f64>,
    /// Cpu seconds used.
    used: Cell<f64>,
}

impl World {
    fn pass(&self, seconds: f64) {
        self.now.set(self.now.get() + seconds);
    }
}

impl SimHost {
    /// Makes a host of a discovered machine and the kernels it is to have.
    pub fn new(machine: Machine, kernels: Vec<KernelInfo>, options: SimOptions) -> Self {
        let clock = ClockInfo {
            source: "simulated".into(),
            hz: 1e9,
            resolution_ns: 1.0,
            how: "a model, not a measurement".into(),
        };
        let overheads =
            Overheads { stamp_ns: STAMP_NS, gate_ns: Some(500.0), loop_ns: Some(2.0), core_hz: Some(CORE_HZ) };
        let truth = options.core.truth(&machine);
        let idle = |counters: SimCounters| counters.at_rest(&machine, &options.ceilings, 1.0);
        let idle_traffic = options.counters.map(idle);
        let bench = Bench { kernels, clock, overheads, idle_traffic, ..Bench::default() };
        let world = World { machine, bench, options, now: Cell::new(0.0), used: Cell::new(0.0) };
        Self { world: Rc::new(world), truth, allocations: 0 }
    }

    /// The same host with primitives of the operating system.
    #[must_use]
    pub fn with_primitives(mut self, primitives: Vec<PrimitiveInfo>) -> Self {
        let World { machine, bench, options, now, used } = &*self.world;
        let bench = Bench { primitives, ..bench.clone() };
        let (machine, options, now, used) = (machine.clone(), options.clone(), now.clone(), used.clone());
        self.world = Rc::new(World { machine, bench, options, now, used });
        self
    }
}

impl Host for SimHost {
    fn machine(&self) -> &Machine {
        &self.world.machine
    }

    fn bench(&self) -> &Bench {
        &self.world.bench
    }

    fn prepare(&mut self, setup: &Setup) -> Result<Box<dyn Rig>, Refusal> {
        let world = &self.world;
        admit(setup, &world.machine, &Fresh::discovered(&world.machine))?;
        for thread in &setup.threads {
            for kernel in thread.role.kernels() {
                find_kernel(&world.bench, kernel)?;
            }
            if let Role::Os(call) = &thread.role {
                find_primitive(&world.bench, call)?;
            }
        }
        self.allocations += 1;
        world.pass(setup.total_bytes().0 as f64 * PREPARE_SECONDS_PER_BYTE / setup.threads.len().max(1) as f64);
        let draw = world.options.seed ^ self.allocations.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut rng = Rng::new(draw);
        let slow = world.options.slow_allocation.filter(|(number, _)| *number == self.allocations);
        let luck = (1.0 + world.options.noise * rng.normal()) * slow.map_or(1.0, |(_, factor)| factor);
        let kernel = streamed(setup);
        let speeds = SpeedModel::new(&self.truth, setup, &world.options, draw);
        let shared = share::paces(&world.machine, setup);
        let part = part(&self.truth, setup);
        let world = Rc::clone(world);
        let read_at = world.now.get();
        Ok(Box::new(SimRig { world, setup: setup.clone(), speeds, shared, kernel, luck, part, rng, read_at }))
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

/// Which part of the machine answers a setup: by its largest region.
fn part(truth: &Machine, setup: &Setup) -> Level {
    let bytes = setup.regions.iter().map(|region| region.bytes.0).max().unwrap_or(0);
    let holds = |shared: bool| {
        let caches = truth.data_caches().filter(|cache| (cache.level > 2) == shared);
        caches.filter_map(|cache| cache.bytes).max().unwrap_or(0) >= bytes
    };
    match (holds(false), holds(true)) {
        (true, _) => Level::Private,
        (false, true) => Level::Shared,
        _ => Level::Memory,
    }
}

fn find_kernel<'a>(bench: &'a Bench, id: &KernelId) -> Result<&'a KernelInfo, Refusal> {
    let known = bench.kernels.iter().find(|k| k.id == *id);
    known.ok_or_else(|| says::kernel_unusable(&id.0, None))
}

/// The kernel that the streams of a setup begin with.
fn streamed(setup: &Setup) -> Option<KernelId> {
    setup.threads.iter().find_map(|thread| match &thread.role {
        Role::Stream { kernel, .. } => Some(kernel.clone()),
        _ => None,
    })
}

fn find_primitive<'a>(bench: &'a Bench, call: &OsCall) -> Result<&'a PrimitiveInfo, Refusal> {
    let known = bench.primitives.iter().find(|p| p.id == call.primitive);
    known.ok_or_else(|| says::primitive_unknown(&call.primitive.0))
}

struct SimRig {
    world: Rc<World>,
    setup: Setup,
    speeds: SpeedModel,
    /// ns of an access on shared lines, by thread.
    shared: Vec<Option<f64>>,
    kernel: Option<KernelId>,
    /// This allocation's luck with physical pages.
    luck: f64,
    part: Level,
    rng: Rng,
    /// When its region was read last, seconds.
    read_at: f64,
}

impl Rig for SimRig {
    fn placement(&mut self) -> PlacementProof {
        const PAGES: u64 = 256;
        let machine = &self.world.machine;
        let mut by_node = BTreeMap::new();
        for region in 0..self.setup.regions.len() {
            for (node, pages) in dealt(&self.setup, region, machine, PAGES) {
                *by_node.entry(node).or_default() += pages;
            }
        }
        let page = self.setup.regions.first().map_or(PageKind::Base, |r| r.page);
        let thp_off = machine.system.thp.as_deref() == Some("never");
        PlacementProof {
            how: says::placement_simulated(),
            pages: by_node.values().sum(),
            by_node,
            on_target: Some(1.0),
            page_share: Some(if page == PageKind::Thp && thp_off { 0.0 } else { 1.0 }),
            page: page.to_string(),
            physical: None,
            notes: Vec::new(),
        }
    }

    fn select(&mut self, kernel: &KernelId) -> Result<(), Fault> {
        find_kernel(&self.world.bench, kernel).map_err(|r| Fault(r.to_string()))?;
        self.kernel = Some(kernel.clone());
        Ok(())
    }

    fn assign(&mut self, roles: &[Role]) -> Result<(), Fault> {
        self.setup.threads.iter_mut().zip(roles).for_each(|(thread, role)| thread.role = role.clone());
        self.kernel = streamed(&self.setup);
        Ok(())
    }

    fn shot(&mut self, budget: Duration) -> Result<Shot, Fault> {
        let budget_ns = budget.as_secs_f64() * 1e9;
        let threads = self.setup.threads.len();
        let most = BLOCKS.iter().find(|(limit, _)| threads <= *limit).map_or(64.0, |(_, blocks)| *blocks);
        let block_ns = BLOCK_NS.max(budget_ns / most);
        let luck = self.luck * (1.0 + self.world.options.noise / 2.0 * self.rng.normal());
        let demands = self.demands()?;
        let paces = self.paces(&demands);
        let (options, began) = (&self.world.options, self.world.now.get());
        let seconds = budget.as_secs_f64() + BETWEEN_SECONDS;
        let neighbours = &options.neighbours;
        let slow = neighbours.slowdown(self.part, threads, began, options.seed, &mut self.rng);
        let before = neighbours.pings(&self.setup, began, options.seed, &mut self.rng);
        let after = neighbours.pings(&self.setup, began + seconds, options.seed, &mut self.rng);
        let mut shot = Shot { pings: [before, after], ..Shot::default() };
        for (thread, pace) in self.setup.threads.iter().zip(paces) {
            if matches!(thread.role, Role::Echo { .. } | Role::Keep { .. }) {
                shot.threads.push(serve(thread.cpu, budget_ns));
                continue;
            }
            if let Role::Revisit { accesses, .. } = thread.role {
                // One chase of equal blocks; the wait before it is part of the budget.
                let accesses = f64::from(accesses);
                let per_block = REVISIT_BLOCK.min(accesses);
                let clean_ns = per_block * luck / pace * slow;
                // Half a block less: the last one is begun before the end.
                let chase_ns = (accesses / per_block - 0.5) * (clean_ns + STAMP_NS);
                shot.threads.push(simulate_thread(&mut self.rng, options, thread.cpu, per_block, clean_ns, chase_ns));
                continue;
            }
            let per_block = (pace * block_ns / luck).round().max(1.0);
            let clean_ns = per_block * luck / pace * slow;
            shot.threads.push(simulate_thread(&mut self.rng, options, thread.cpu, per_block, clean_ns, budget_ns));
        }
        shot.traffic = self.counted(&shot, &demands, budget);
        self.world.pass(seconds);
        self.world.used.set(self.world.used.get() + seconds * threads as f64);
        self.read_at = self.world.now.get();
        Ok(shot)
    }
}

impl SimRig {
    /// The demands of the threads.
    fn demands(&self) -> Result<Vec<Demand>, Fault> {
        let fault = |refusal: Refusal| Fault(refusal.to_string());
        let bench = &self.world.bench;
        let kernel = self.kernel.as_ref().map(|id| find_kernel(bench, id)).transpose().map_err(fault)?;
        let demand = |(index, thread): (usize, &ThreadSetup)| match &thread.role {
            Role::Chase { chains } => {
                Ok(self.speeds.chase_demand(index, chain_layout(&self.setup, thread.region), *chains))
            }
            Role::Revisit { .. } => Ok(self.speeds.chase_demand(index, chain_layout(&self.setup, thread.region), 1)),
            Role::Stream { kernel: own, .. } => {
                // The rig switches all streams together.
                let kernel = kernel.map_or_else(|| find_kernel(bench, own).map_err(fault), Ok)?;
                Ok(self.speeds.stream_demand(index, kernel))
            }
            Role::Load { kernels, pause_ns } => {
                let kernels: Result<Vec<&KernelInfo>, Refusal> =
                    kernels.iter().map(|id| find_kernel(bench, id)).collect();
                Ok(self.speeds.load_demand(index, &kernels.map_err(fault)?, f64::from(*pause_ns)))
            }
            // Lines that go from cache to cache need no bandwidth of memory.
            Role::Ping { .. } | Role::Echo { .. } | Role::Take | Role::Keep { .. } | Role::Contend | Role::Os(_) => {
                Ok(Demand::NONE)
            }
        };
        self.setup.threads.iter().enumerate().map(demand).collect()
    }

    /// Work per ns of each thread, with all of them at it: accesses of a chase, useful bytes of the others.
    fn paces(&self, demands: &[Demand]) -> Vec<f64> {
        let carried = self.speeds.carry(demands);
        let pace = |(index, thread): (usize, &ThreadSetup)| match &thread.role {
            Role::Chase { chains } => {
                let layout = chain_layout(&self.setup, thread.region);
                1.0 / self.speeds.access_ns(index, layout, *chains, carried.waits[index])
            }
            Role::Revisit { flushed: true, .. } => 1.0 / self.speeds.missed_ns(index),
            Role::Revisit { wait_ns, since_last, .. } => {
                let now = self.world.now.get();
                let after_ns = if *since_last { (now - self.read_at) * 1e9 } else { f64::from(*wait_ns) };
                let kept = self.world.options.neighbours.kept(after_ns, now);
                let misses = (1.0 - kept) * self.speeds.missed_ns(index);
                let slower = misses * (self.world.options.neighbours.memory_slowed(now) - 1.0);
                1.0 / (self.speeds.revisit_ns(index, chain_layout(&self.setup, thread.region), kept) + slower)
            }
            Role::Stream { .. } | Role::Load { .. } => carried.rates[index],
            Role::Os(call) => {
                find_primitive(&self.world.bench, call).map_or(1.0, |p| os::pace(call, p, &self.setup, thread))
            }
            _ => 1.0 / self.shared[index].unwrap_or(1.0),
        };
        self.setup.threads.iter().enumerate().map(pace).collect()
    }
}

/// The pages of a region by node, as its policy deals them out; where any node may give all, the first does.
fn dealt(setup: &Setup, region: usize, machine: &Machine, pages: u64) -> Vec<(NodeId, u64)> {
    let nodes: Vec<NodeId> = region_nodes(setup, region, machine).iter().collect();
    let shares = setup.regions.get(region).map(|r| r.policy.shares(nodes.len())).unwrap_or_default();
    let order = deal(&shares);
    if order.is_empty() {
        return nodes.first().map(|node| (*node, pages)).into_iter().collect();
    }
    let here = |index: usize| (0..pages as usize).filter(|page| order[page % order.len()] == index).count() as u64;
    nodes.iter().enumerate().map(|(index, node)| (*node, here(index))).filter(|(_, pages)| *pages > 0).collect()
}

/// A thread that serves others: present, and nothing more.
fn serve(cpu: u32, budget_ns: f64) -> ThreadShot {
    let guard = Guard { cpu, seen_on: [cpu, cpu], cpu_ns: budget_ns, wall_ns: budget_ns, ..Guard::default() };
    ThreadShot { per_block: 1.0, stamps_ns: Vec::new(), lead: Some(0.0), guard }
}

fn chain_layout(setup: &Setup, region: usize) -> tiermark_model::ChainLayout {
    match setup.regions.get(region).map(|r| r.layout) {
        Some(Layout::Chain(chain)) => chain,
        _ => tiermark_model::ChainLayout::Random,
    }
}

fn simulate_thread(
    rng: &mut Rng,
    options: &SimOptions,
    cpu: u32,
    per_block: f64,
    clean_ns: f64,
    budget_ns: f64,
) -> ThreadShot {
    let read = |at: f64| {
        if options.clock_step_ns > 0.0 { (at / options.clock_step_ns).floor() * options.clock_step_ns } else { at }
    };
    let mut at = rng.unit() * 200.0;
    let mut stamps_ns = vec![read(at)];
    let (mut switches, mut lost) = (0, 0.0);
    while at < budget_ns {
        let mut block = clean_ns * (1.0 + 2.0 * options.noise * rng.normal()) + STAMP_NS;
        if rng.unit() < options.preemptions_per_second * block / 1e9 {
            let slice = SLICE_NS * (0.75 + 0.5 * rng.unit());
            block += slice;
            lost += slice;
            switches += 1;
        }
        at += block.max(1.0);
        stamps_ns.push(read(at));
    }
    let guard = Guard {
        cpu,
        seen_on: [cpu, cpu],
        cpu_ns: at - lost,
        wall_ns: at,
        involuntary_switches: switches,
        run_delay_ns: Some(lost),
        core_hz: [Some(CORE_HZ), Some(CORE_HZ)],
        ..Guard::default()
    };
    ThreadShot { per_block, stamps_ns, lead: Some(0.0), guard }
}
