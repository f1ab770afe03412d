//! The real machine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use tiermark_engine::{Host, Lab, Rig, admit};
use tiermark_machine::Root;
use tiermark_model::messages::setup as says;
use tiermark_model::{Bench, Machine, Refusal, Role, Setup};
use tiermark_system::Clock;

use crate::indices::Indices;
use crate::region::Stock;
use crate::resources::Resources;
use crate::rig::LinuxRig;
use crate::subprocess::{ProcessesRig, SubprocessRig, runs_in_processes, runs_in_subprocess};
use crate::team::Pool;
use crate::{check, free_memory, overheads};

/// How a host is made.
#[derive(Debug, Clone)]
pub struct Options {
    /// Set by a signal handler when the user wants to stop.
    pub stopped: Arc<AtomicBool>,
    /// Most bytes that rigs may hold together between visits; half of the free memory if that is less.
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
    root: Root,
    born: Instant,
}

impl LinuxHost {
    /// Calibrates the clock and measures what measuring costs: some 50 ms.
    ///
    /// # Errors
    /// A [`Refusal`] when this process may not run on any cpu of the machine described, so that it is not this one.
    pub fn new(machine: Machine, options: Options) -> Result<Self, Refusal> {
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
        // Half of the free memory: the rest is for other programs.
        let keep_bytes = options.keep_bytes.min(free_memory::spare(&options.root).map_or(0, |bytes| bytes / 2));
        let resources = Resources {
            lab: Lab::new(machine, bench),
            clock,
            lookout,
            indices: Arc::default(),
            pool: Pool::default(),
            stopped: options.stopped,
            stock: Stock::new(keep_bytes),
            prepared: 0,
        };
        Ok(Self { resources, keep_bytes, root: options.root, born })
    }
}

impl Host for LinuxHost {
    fn lab(&self) -> &Lab {
        &self.resources.lab
    }

    fn prepare(&mut self, setup: &Setup) -> Result<Box<dyn Rig>, Refusal> {
        let mut fresh = free_memory::fresh(&self.root, &self.resources.lab.machine);
        self.resources.stock.add_to(&mut fresh);
        admit(setup, &self.resources.lab.machine, &fresh)?;
        // What the system does to a process depends on what it holds, which must not be what was measured before; a
        // partner's fork copies tables of all of it.
        if setup.threads.iter().any(|thread| matches!(thread.role, Role::Os(_))) {
            self.resources.pool.clear();
            self.resources.stock.clear();
            *self.resources.indices.lock().unwrap_or_else(PoisonError::into_inner) = Indices::default();
            tiermark_system::os::give_back_kept();
        }
        let orders = check::setup(setup, &self.resources.lab.machine)?;
        if let ([order], true) = (orders.as_slice(), runs_in_subprocess(setup)) {
            return Ok(Box::new(SubprocessRig::prepare(&mut self.resources, setup, order)?));
        }
        if runs_in_processes(setup) {
            return Ok(Box::new(ProcessesRig::prepare(&mut self.resources, setup, &orders)?));
        }
        Ok(Box::new(LinuxRig::prepare(&mut self.resources, setup, &orders)?))
    }

    fn keep_bytes(&self) -> u64 {
        self.keep_bytes
    }

    fn reused_bytes(&self) -> u64 {
        self.resources.stock.reused_bytes()
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
