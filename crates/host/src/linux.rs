//! The real machine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use tiermark_engine::admit::{admit, admit_places};
use tiermark_engine::soak::SoakRig;
use tiermark_engine::{Filled, Host, Lab, Rig};
use tiermark_machine::Root;
use tiermark_model::messages::setup as says;
use tiermark_model::{Bench, Machine, Refusal, Role, Setup};
use tiermark_system::Clock;

use crate::arena::Arena;
use crate::indices::Indices;
use crate::region::Region;
use crate::resources::Resources;
use crate::rig::LinuxRig;
use crate::soak::LinuxSoak;
use crate::subprocess::{ProcessesRig, SubprocessRig, runs_in_processes, runs_in_subprocess};
use crate::team::Pool;
use crate::{check, free_memory, overheads};

/// How a host is made.
#[derive(Debug, Clone)]
pub struct Options {
    /// Set by a signal handler when the user wants to stop.
    pub stopped: Arc<AtomicBool>,
    /// Most bytes of the memory of a run, and of memory of their own that rigs may hold together between visits; three
    /// quarters and half of the free memory if that is less.
    pub keep_bytes: u64,
    /// Where free memory and huge pages are read: the running system, but in tests.
    pub root: Root,
}

impl Default for Options {
    fn default() -> Self {
        Self { stopped: Arc::new(AtomicBool::new(false)), keep_bytes: u64::MAX, root: Root::live() }
    }
}

/// The machine this process runs on.
#[derive(Debug)]
pub struct LinuxHost {
    pub(crate) resources: Resources,
    keep_bytes: u64,
    /// Most bytes of the memory of a run.
    most_bytes: u64,
    root: Root,
    born: Instant,
}

impl LinuxHost {
    /// Calibrates the clock and measures what measuring costs: some 100 ms.
    ///
    /// # Errors
    /// A [`Refusal`] when this process may not run on any cpu of the machine described, so that it is not this one.
    pub fn new(mut machine: Machine, options: Options) -> Result<Self, Refusal> {
        let born = Instant::now();
        if machine.allowed_cpus.is_empty() {
            return Err(says::no_cpu_online());
        }
        let (clock, clock_info) = Clock::choose(&machine.cpu_model, &machine.system);
        let (overheads, lookout) = overheads::measure(&machine, &clock, clock_info.resolution_ns);
        let bench = Bench {
            kernels: tiermark_kernels::available().map(|spec| spec.kernel_info()).collect(),
            clock: clock_info,
            overheads,
            idle_traffic: None,
            idle_watts: None,
            primitives: tiermark_primitives::present_primitives(&machine),
        };
        // The rest is for other programs.
        let spare = free_memory::spare(&options.root).unwrap_or_default();
        let least_free = machine.nodes.iter().filter_map(|node| node.free_bytes).min();
        machine.system.first_touch = overheads::first_touch(least_free.map_or(spare, |free| free.min(spare)));
        let [most_bytes, keep_bytes] = [spare / 4 * 3, spare / 2].map(|bytes| bytes.min(options.keep_bytes));
        let resources = Resources {
            lab: Lab::new(machine, bench),
            clock,
            lookout,
            indices: Arc::default(),
            pool: Pool::default(),
            stopped: options.stopped,
            arena: Arena::default(),
            proofs: Arc::default(),
            prepared: 0,
        };
        Ok(Self { resources, keep_bytes, most_bytes, root: options.root, born })
    }
}

impl Host for LinuxHost {
    fn lab(&self) -> &Lab {
        &self.resources.lab
    }

    fn prepare(&mut self, setup: &Setup) -> Result<Box<dyn Rig>, Refusal> {
        let machine = Arc::clone(&self.resources.lab.machine);
        admit_places(setup, &machine)?;
        // What the system does to a process depends on what it holds, which must not be what was measured before; a
        // partner's fork copies tables of all of it.
        if setup.threads.iter().any(|thread| matches!(thread.role, Role::Os(_))) {
            self.resources.pool.clear();
            *self.resources.indices.lock().unwrap_or_else(PoisonError::into_inner) = Indices::default();
            tiermark_system::os::give_back_kept();
        }
        let orders = check::setup(setup, &machine)?;
        if let Some(regions) = self.resources.arena.regions(setup, &orders, &machine) {
            return Ok(Box::new(LinuxRig::prepare(&mut self.resources, setup, regions)?));
        }
        admit(setup, &machine, &free_memory::fresh(&self.root, &machine))?;
        if let ([order], true) = (orders.as_slice(), runs_in_subprocess(setup)) {
            return Ok(Box::new(SubprocessRig::prepare(&mut self.resources, setup, order)?));
        }
        if runs_in_processes(setup) {
            return Ok(Box::new(ProcessesRig::prepare(&mut self.resources, setup, &orders)?));
        }
        let regions =
            orders.iter().map(|order| Region::map(order, &machine).map(Arc::new)).collect::<Result<_, _>>()?;
        Ok(Box::new(LinuxRig::prepare(&mut self.resources, setup, regions)?))
    }

    fn soak(&mut self, setup: &Setup) -> Result<Box<dyn SoakRig>, Refusal> {
        // What other experiments of a run hold is memory too.
        self.resources.arena = Arena::default();
        Ok(Box::new(LinuxSoak::prepare(&mut self.resources, setup, &self.root, self.born)?))
    }

    fn furnish(&mut self, setups: &[&Setup]) -> Filled {
        let Resources { arena, lab, proofs, stopped, .. } = &mut self.resources;
        proofs.clear();
        let fresh = || free_memory::fresh(&self.root, &lab.machine);
        arena.furnish(setups, &lab.machine, self.most_bytes, fresh, stopped)
    }

    fn keep_bytes(&self) -> u64 {
        self.keep_bytes
    }

    fn now(&self) -> f64 {
        self.born.elapsed().as_secs_f64()
    }

    fn rest(&mut self, seconds: f64) {
        std::thread::sleep(Duration::try_from_secs_f64(seconds).unwrap_or_default());
    }

    fn cpu_seconds(&self) -> Option<f64> {
        Some(tiermark_system::process_cpu_ns() / 1e9)
    }

    fn stopped(&self) -> bool {
        self.resources.stopped.load(Ordering::Relaxed)
    }
}
