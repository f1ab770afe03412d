//! A prepared setup: memory in place, workers at the gate.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tiermark_engine::{Fault, Rig, Shot};
use tiermark_kernels::layout::is_one_cycle;
use tiermark_kernels::{SPAN_QUANTUM, StreamSpec};
use tiermark_model::messages::setup as says;
use tiermark_model::{IdSet, KernelId, Layout, NodeId, Pattern, PlacementProof, Refusal, Role, Setup};
use tiermark_system::LineOrder;

use crate::check;
use crate::ended::Ended;
use crate::gate::StartGate;
use crate::indices::{Indices, indices};
use crate::ping::Pings;
use crate::proof::Proofs;
use crate::region::{Region, chain_refused, stop_refusal};
use crate::resources::Resources;
use crate::streams::{Share, stream_plan};
use crate::team::{Job, Pool, Reply, Team};
use crate::worker::{Worker, WorkerShot};

/// The reply of a worker to a job.
type Answer = Result<Option<WorkerShot>, Refusal>;

/// The rig of setups on this machine.
pub(crate) struct LinuxRig {
    team: Team<Worker, Answer>,
    regions: Vec<Arc<Region>>,
    indices: Arc<Mutex<Indices>>,
    proofs: Arc<Proofs>,
    /// Between workers whose cpus a hypervisor may move; `None` where nothing does.
    pings: Option<Arc<Pings>>,
    one_node: Option<NodeId>,
    stopped: Arc<AtomicBool>,
    seed: u64,
    proofs_made: u64,
    /// Number of the next shot, unlike any other of this means.
    shots: u64,
}

impl LinuxRig {
    /// Starts, fills, calibrates.
    pub(crate) fn prepare(
        resources: &mut Resources,
        setup: &Setup,
        regions: Vec<Arc<Region>>,
    ) -> Result<Self, Refusal> {
        resources.prepared += 1;
        let machine = &resources.lab.machine;
        let one_node = machine.only_memory_node();
        let moved = machine.system.hypervisor.is_some() && setup.threads.len() > 1;
        let workers = (0..setup.threads.len()).map(|index| resources.worker(setup, index, &regions));
        let workers = workers.map(|worker| (worker.cpu, worker)).collect();
        // System calls change the threads that make them: these threads belong to this rig alone.
        let asks = setup.threads.iter().any(|thread| matches!(thread.role, Role::Os(_)));
        let mut own = Pool::default();
        let team = Team::new(if asks { &mut own } else { &mut resources.pool }, workers)?;
        let mut rig = Self {
            team,
            regions,
            indices: Arc::clone(&resources.indices),
            proofs: Arc::clone(&resources.proofs),
            pings: moved.then(|| Arc::new(Pings::new(setup.threads.len()))),
            one_node,
            stopped: Arc::clone(&resources.stopped),
            seed: setup.seed,
            proofs_made: 0,
            shots: resources.prepared << 32,
        };
        rig.fill()?;
        let spec = first_stream(setup.threads.iter().map(|thread| &thread.role)).map(check::kernel).transpose()?;
        rig.equip(spec)?;
        if rig.stopped.load(Ordering::Relaxed) { Err(stop_refusal()) } else { Ok(rig) }
    }

    /// Has every worker fill its region, where that is not done.
    fn fill(&mut self) -> Result<(), Refusal> {
        let (cycles, seed) = (self.cycles()?, self.seed);
        self.all(Arc::new(move |worker: &mut Worker| {
            let next = cycles.get(&worker.region.mapping.address()).map(|next| next.as_slice());
            worker.settle(seed, next).map(|()| None)
        }))
    }

    /// Makes the chains again whose place another rig has taken.
    fn restore(&mut self) -> Result<(), Refusal> {
        if self.regions.iter().any(|region| region.is_lost()) { self.fill() } else { Ok(()) }
    }

    /// The cycle of every chain region that is to be written, by the region's address. Chains of several permutations, and of bytes, are
    /// built in place.
    fn cycles(&mut self) -> Result<BTreeMap<usize, Arc<Vec<u32>>>, Refusal> {
        let mut cycles = BTreeMap::new();
        for region in &self.regions {
            let Layout::Chain(chain) = region.layout else { continue };
            if !is_one_cycle(chain) || !region.is_lost() {
                continue;
            }
            let next = indices(&self.indices).cycle(chain, region, self.seed, &|| self.stopped.load(Ordering::Relaxed));
            let next = next.map_err(|error| chain_refused(chain, region.bytes, &error.into()))?;
            cycles.insert(region.mapping.address(), next);
        }
        Ok(cycles)
    }

    /// Gives every worker its work and calibrates it.
    fn equip(&mut self, spec: Option<&'static StreamSpec>) -> Result<(), Refusal> {
        self.restore()?;
        let mut line_orders: BTreeMap<usize, LineOrder> = BTreeMap::new();
        // The random kernels of a load walk one array each.
        let random = spec.filter(|spec| spec.info.op.pattern() == Pattern::Random);
        let streams = random.map_or(1, |spec| usize::from(spec.info.op.streams()));
        for region in self.regions.iter().filter(|region| region.layout == Layout::Permuted) {
            let lines = stream_plan(region, streams).span / SPAN_QUANTUM;
            let order = indices(&self.indices).order(lines, self.seed, &|| self.stopped.load(Ordering::Relaxed))?;
            line_orders.insert(region.mapping.address(), order);
        }
        self.all(Arc::new(move |worker: &mut Worker| {
            let order = line_orders.get(&worker.region.mapping.address()).cloned();
            worker.equip(spec, order).map(|()| None)
        }))
    }

    /// Has all workers do a job; the first refusal counts.
    fn all(&self, job: Job<Worker, Answer>) -> Result<(), Refusal> {
        for reply in self.team.run(job) {
            answer(reply)?;
        }
        Ok(())
    }
}

/// The kernel that streams begin with.
fn first_stream<'a>(mut roles: impl Iterator<Item = &'a Role>) -> Option<&'a KernelId> {
    roles.find_map(|role| if let Role::Stream { kernel, .. } = role { Some(kernel) } else { None })
}

/// Whether a setup chases while other threads load the memory.
pub(crate) fn is_loaded(setup: &Setup) -> bool {
    let has = |is: fn(&Role) -> bool| setup.threads.iter().any(|thread| is(&thread.role));
    has(|role| matches!(role, Role::Chase { .. }))
        && has(|role| matches!(role, Role::Load { .. } | Role::Stream { .. }))
}

/// A worker's answer; its panic as a refusal.
fn answer(reply: Reply<Answer>) -> Answer {
    reply.unwrap_or_else(|panic| Err(says::worker_panicked(&panic)))
}

impl Rig for LinuxRig {
    fn owns_memory(&self) -> bool {
        self.regions.iter().any(|region| Arc::ptr_eq(region, region.proven()))
    }

    fn placement(&mut self) -> PlacementProof {
        self.proofs_made += 1;
        self.proofs.of(&self.regions, self.one_node, self.seed.wrapping_add(self.proofs_made))
    }

    fn select(&mut self, kernel: &KernelId) -> Result<(), Fault> {
        let fault = |refusal: Refusal| Fault(refusal.to_string());
        let spec = check::kernel(kernel).map_err(fault)?;
        self.equip(Some(spec)).map_err(fault)
    }

    fn assign(&mut self, roles: &[Role]) -> Result<(), Fault> {
        let fault = |refusal: Refusal| Fault(refusal.to_string());
        let spec = first_stream(roles.iter()).map(check::kernel).transpose().map_err(fault)?;
        let roles = roles.to_vec();
        let take = move |worker: &mut Worker| {
            if let Some(role) = roles.get(worker.index) {
                worker.role = role.clone();
            }
            Ok(None)
        };
        self.all(Arc::new(take)).and_then(|()| self.equip(spec)).map_err(fault)
    }

    fn shot(&mut self, budget: Duration) -> Result<Shot, Fault> {
        self.restore().map_err(|refusal| Fault(refusal.to_string()))?;
        let gate = StartGate::new(self.team.len());
        let budget_ns = budget.as_secs_f64() * 1e9;
        self.shots += 1;
        let number = self.shots;
        let pings = self.pings.clone();
        let replies = self.team.run(Arc::new(move |worker: &mut Worker| {
            let shot = worker.shot(&gate, pings.as_deref(), budget_ns, number);
            shot.map(Some).map_err(|ended| match ended {
                Ended::Followed => says::shot_followed(),
                Ended::Failed(why) => says::shot_failed(&why),
            })
        }));
        // Of several failures the first cause comes first: the others only followed.
        let followed =
            |reply: &Reply<Answer>| matches!(reply, Ok(Err(refusal)) if refusal.code == says::codes::shot_followed);
        let leader = replies.iter().position(|reply| !matches!(reply, Ok(Ok(_))) && !followed(reply));
        if let Some((index, Ok(Err(refusal)))) = leader.and_then(|index| Some((index, replies.get(index)?))) {
            return Err(Fault(format!("worker {index}: {}", refusal.why)));
        }
        let mut shot = Shot { threads: Vec::with_capacity(replies.len()), ..Shot::default() };
        for (index, reply) in replies.into_iter().enumerate() {
            match reply {
                Ok(Ok(Some(WorkerShot { thread, pings: [before, after] }))) => {
                    shot.threads.push(thread);
                    shot.pings[0].extend(before);
                    shot.pings[1].extend(after);
                }
                Ok(Ok(None)) => return Err(Fault(format!("worker {index} measured nothing"))),
                Ok(Err(refusal)) => return Err(Fault(format!("worker {index}: {}", refusal.why))),
                Err(panic) => return Err(Fault(format!("worker {index} failed: {panic}"))),
            }
        }
        Ok(shot)
    }
}

impl Resources {
    /// The state of one worker of a setup.
    fn worker(&self, setup: &Setup, index: usize, regions: &[Arc<Region>]) -> Worker {
        let thread = &setup.threads[index];
        let sharers = |upto: usize| setup.threads[..upto].iter().filter(|t| t.region == thread.region).count();
        let share = Share { index: sharers(index), of: sharers(setup.threads.len()) };
        Worker {
            cpu: thread.cpu,
            clock: self.clock,
            lookout: self.lookout,
            region: Arc::clone(&regions[thread.region]),
            other: thread.reads_first.and_then(|other| regions.get(other)).map(Arc::clone),
            share,
            role: thread.role.clone(),
            index,
            seed: setup.seed,
            many_nodes: self.lab.machine.nodes.len() > 1,
            around: self.surroundings(thread.cpu, setup),
            is_alone: setup.threads.len() == 1,
            is_loaded: is_loaded(setup),
            stopped: Arc::clone(&self.stopped),
            // Of a single node all memory comes anyway, also where a filter forbids to say so.
            nodes: match self.lab.machine.nodes.len() {
                0..2 => IdSet::new(),
                _ => setup.regions[thread.region].nodes.clone(),
            },
            work: None,
            from: share.index as f64 / share.of.max(1) as f64,
            heads: Vec::new(),
            placed: None,
            stamps: Vec::new(),
            checksum: 0,
        }
    }
}
