//! A rig of a simulated host: shots whose stamps follow the model, and what disturbs them.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use tiermark_model::messages::setup as says;
use tiermark_model::{
    Before, KernelId, KernelInfo, Layout, Machine, NodeId, PageKind, PlacementProof, Refusal, Role, Setup, ThreadSetup,
    deal,
};
use tiermark_stats::Rng;

use super::blocks::{Lengths, WATCH_NS, serve, simulate_thread};
use super::model::SpeedModel;
use super::neighbours::Level;
use super::state::{VisitTiming, Visiting};
use super::traffic::Demand;
use super::{World, find_kernel, find_primitive, os, share};
use tiermark_engine::admit::region_nodes;
use tiermark_engine::host::{Fault, Rig, Shot};

/// Bytes of a line, of which a chase reads one word.
pub(super) const LINE_BYTES: f64 = 64.0;
/// Time of a visit beside its shot, seconds.
const BETWEEN_SECONDS: f64 = 0.5e-3;

pub(super) struct SimRig {
    pub(super) world: Rc<World>,
    pub(super) setup: Setup,
    pub(super) speeds: SpeedModel,
    /// ns of an access on shared lines, by thread.
    pub(super) shared: Vec<Option<f64>>,
    pub(super) kernel: Option<KernelId>,
    /// This allocation's luck with physical pages.
    pub(super) luck: f64,
    pub(super) part: Level,
    pub(super) rng: Rng,
    /// When its region was read last, seconds.
    pub(super) read_at: f64,
    /// Whether its memory is no part of what was filled for the run.
    pub(super) owns_memory: bool,
}

impl Rig for SimRig {
    fn placement(&mut self) -> PlacementProof {
        const PAGES: u64 = 256;
        let machine = &self.world.lab.machine;
        let mut by_node = BTreeMap::new();
        for region in 0..self.setup.regions.len() {
            for (node, pages) in dealt(&self.setup, region, machine, PAGES) {
                *by_node.entry(node).or_default() += pages;
            }
        }
        let page = self.setup.regions.first().map_or(PageKind::Base, |r| r.page);
        let thp_off = !machine.system.has_thp();
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
        find_kernel(&self.world.lab.bench, kernel).map_err(|r| Fault(r.to_string()))?;
        self.kernel = Some(kernel.clone());
        Ok(())
    }

    fn assign(&mut self, roles: &[Role]) -> Result<(), Fault> {
        self.setup.threads.iter_mut().zip(roles).for_each(|(thread, role)| thread.role = role.clone());
        self.kernel = streamed(&self.setup);
        Ok(())
    }

    fn owns_memory(&self) -> bool {
        self.owns_memory
    }

    fn shot(&mut self, budget: Duration) -> Result<Shot, Fault> {
        let budget_ns = budget.as_secs_f64() * 1e9;
        let threads = self.setup.threads.len();
        let lengths = Lengths {
            part: self.part,
            threads,
            budget_ns,
            is_cold: self.setup.threads.iter().any(|thread| thread.reads_first.is_some()),
            clock_step_ns: self.world.options.clock_step_ns,
        };
        let luck = self.luck * (1.0 + self.world.options.noise / 2.0 * self.rng.normal());
        let demands = self.demands().map_err(|refusal| Fault(refusal.to_string()))?;
        let paces = self.paces(&demands);
        let (options, began) = (&self.world.options, self.world.now.get());
        let seconds = budget.as_secs_f64() + BETWEEN_SECONDS + WATCH_NS / 1e9;
        let neighbours = &options.neighbours;
        let slow = neighbours.slowdown(self.part, threads, began, options.seed, &mut self.rng);
        let before = neighbours.pings(&self.setup, began, options.seed, &mut self.rng);
        let after = neighbours.pings(&self.setup, began + seconds, options.seed, &mut self.rng);
        let mut shot = Shot { pings: [before, after], ..Shot::default() };
        let world = Rc::clone(&self.world);
        for (index, pace) in paces.into_iter().enumerate() {
            let thread = &self.setup.threads[index];
            if matches!(thread.role, Role::Echo { .. } | Role::Keep { .. }) {
                shot.threads.push(serve(thread.cpu, budget_ns));
                continue;
            }
            let timing = lengths.timing(thread, pace / luck, slow);
            let mut visit = self.visit_timing(&world, index);
            shot.threads.push(simulate_thread(&mut self.rng, &world.options, &timing, &mut visit));
        }
        shot.traffic = self.counted(&shot, &demands, budget);
        let settled = shot.settling_seconds();
        self.world.pass(seconds + settled);
        self.world.used.set(self.world.used.get() + (seconds + settled) * threads as f64);
        self.read_at = self.world.now.get();
        Ok(shot)
    }
}

impl SimRig {
    /// `draw` decides where its pages lie; its memory is slower by `slower`.
    pub(super) fn new(world: &Rc<World>, setup: &Setup, draw: u64, slower: f64) -> Self {
        let mut rng = Rng::new(draw);
        let luck = (1.0 + world.options.noise * rng.normal()) * slower;
        Self {
            world: Rc::clone(world),
            setup: setup.clone(),
            speeds: SpeedModel::new(&world.truth, setup, &world.options, draw),
            shared: share::paces(&world.lab.machine, setup),
            kernel: streamed(setup),
            luck,
            part: part(&world.truth, setup),
            rng,
            read_at: world.now.get(),
            owns_memory: true,
        }
    }

    /// The demands of the threads.
    pub(super) fn demands(&self) -> Result<Vec<Demand>, Refusal> {
        let bench = &self.world.lab.bench;
        let kernel = self.kernel.as_ref().map(|id| find_kernel(bench, id)).transpose()?;
        let demand = |(index, thread): (usize, &ThreadSetup)| match &thread.role {
            Role::Chase { chains } => {
                Ok(self.speeds.chase_demand(index, chain_layout(&self.setup, thread.region), *chains))
            }
            Role::Revisit { .. } => Ok(self.speeds.chase_demand(index, chain_layout(&self.setup, thread.region), 1)),
            Role::Stream { kernel: own, .. } => {
                // The rig switches all streams together.
                let kernel = kernel.map_or_else(|| find_kernel(bench, own), Ok)?;
                Ok(self.speeds.stream_demand(index, kernel))
            }
            Role::Load { kernels, pause_ns } => {
                let kernels: Result<Vec<&KernelInfo>, Refusal> =
                    kernels.iter().map(|id| find_kernel(bench, id)).collect();
                Ok(self.speeds.load_demand(index, &kernels?, f64::from(*pause_ns)))
            }
            // Lines that go from cache to cache need no bandwidth of memory.
            Role::Ping { .. }
            | Role::Echo { .. }
            | Role::Take
            | Role::Keep { .. }
            | Role::Contend
            | Role::Os(_)
            | Role::Soak(_) => Ok(Demand::NONE),
        };
        self.setup.threads.iter().enumerate().map(demand).collect()
    }

    /// What a visit that begins now is like for a thread.
    fn visit_timing<'a>(&self, world: &'a World, index: usize) -> VisitTiming<'a> {
        let thread = &self.setup.threads[index];
        let bytes = self.setup.regions.get(thread.region).map_or(0.0, |region| region.bytes.0 as f64);
        let kernel = self.kernel.as_ref().and_then(|id| find_kernel(&world.lab.bench, id).ok());
        let (pass_work, unheld) = match (&thread.role, kernel) {
            (Role::Chase { .. }, _) => {
                let layout = chain_layout(&self.setup, thread.region);
                (bytes / LINE_BYTES, self.speeds.unheld_chase(index, layout))
            }
            (Role::Stream { .. }, Some(kernel)) => (bytes, self.speeds.unheld_stream(index, kernel)),
            _ => (1.0, 1.0),
        };
        let (truth, setup, seed) = (&world.truth, &self.setup, world.options.seed);
        let (part, at) = (self.part, world.now.get());
        let left_alone = world.options.left_alone.map(|host| (host, at - self.read_at));
        let disturbs = world.options.neighbours.beside(at, seed);
        let visiting = Visiting { truth, setup, index, part, pass_work, unheld, at, left_alone, seed, disturbs };
        VisitTiming::new(&world.options.state, &world.clocks, &visiting)
    }

    /// Work per ns of each thread, with all of them at it: accesses of a chase, useful bytes of the others.
    pub(super) fn paces(&self, demands: &[Demand]) -> Vec<f64> {
        let carried = self.speeds.carry(demands);
        let pace = |(index, thread): (usize, &ThreadSetup)| match &thread.role {
            Role::Chase { chains } => {
                let layout = chain_layout(&self.setup, thread.region);
                1.0 / self.speeds.access_ns(index, layout, *chains, carried.waits[index])
            }
            Role::Revisit { before: Before::Flushed, .. } => 1.0 / self.speeds.missed_ns(index),
            Role::Revisit { wait_ns, before, since_last, .. } => {
                let now = self.world.now.get();
                let after_ns = if *since_last { (now - self.read_at) * 1e9 } else { f64::from(*wait_ns) };
                let forgets = self.world.options.state.forgets(*before);
                let kept = if forgets { 0.0 } else { self.world.options.neighbours.kept(after_ns, now) };
                let misses = (1.0 - kept) * self.speeds.missed_ns(index);
                let slower = misses * (self.world.options.neighbours.memory_slowed(now) - 1.0);
                1.0 / (self.speeds.revisit_ns(index, chain_layout(&self.setup, thread.region), kept) + slower)
            }
            Role::Stream { .. } | Role::Load { .. } => carried.rates[index],
            Role::Os(call) => {
                find_primitive(&self.world.lab.bench, call).map_or(1.0, |p| os::pace(call, p, &self.setup, thread))
            }
            _ => 1.0 / self.shared[index].unwrap_or(1.0),
        };
        self.setup.threads.iter().enumerate().map(pace).collect()
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

/// The kernel that the streams of a setup begin with.
fn streamed(setup: &Setup) -> Option<KernelId> {
    setup.threads.iter().find_map(|thread| match &thread.role {
        Role::Stream { kernel, .. } => Some(kernel.clone()),
        _ => None,
    })
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

fn chain_layout(setup: &Setup, region: usize) -> tiermark_model::ChainLayout {
    match setup.regions.get(region).map(|r| r.layout) {
        Some(Layout::Chain(chain)) => chain,
        _ => tiermark_model::ChainLayout::Random,
    }
}
