//! A virtual machine for each tenant, with server and client inside, in a control group of its own as a server process
//! would be.

mod acceleration;
mod archive;
mod call;
mod image;
mod kernel;
mod machine;

use std::cell::Cell;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tiermark_load::{Outcome, Phase};
use tiermark_machine::Root;
use tiermark_model::messages::tenants as messages;
use tiermark_model::{Bytes, Note, Refusal};

use super::tenancy::{Tenancy, TenantMemory};
use super::{Backend, Counted, LoadSpec, Pulse};
use crate::cgroup::{Layout, TenantGroup};
use crate::guest::protocol::Reply;
use crate::scenario::GuestShape;
use crate::system::System;
use crate::system::program;
use acceleration::{Acceleration, khz};
use call::Call;
pub use image::GuestFiles;
use image::{Image, Ingredients};
use machine::{Boot, Machine};

const EMULATOR: &str = "qemu-system-x86_64";
/// A guest boots in two seconds where KVM works. Where it only seems to, it hangs, or ends with an error of the
/// emulator.
const KVM_BOOTS: Duration = Duration::from_secs(20);
/// An emulated guest boots in 5 s, on a busy machine in many times that; rarely one hangs, and is started once more.
const BOOTS: Duration = Duration::from_secs(90);
/// The signal of a process that the kernel kills: an emulator that gives up ends with another.
const KILL: i32 = 9;
const POLL: Duration = Duration::from_millis(20);
const PULSE: Duration = Duration::from_secs(1);

/// Files and settings that all machines of a run share.
#[derive(Debug)]
pub struct Hypervisor {
    emulator: String,
    image: Image,
    shape: GuestShape,
    /// The host's time stamp counter, where it is known.
    khz: Option<u64>,
    /// KVM once it is proven.
    acceleration: Cell<Acceleration>,
}

impl Hypervisor {
    /// Parts that guests with this server lack here: the emulator, a kernel, this program, the server.
    pub fn check(files: &GuestFiles, server: &str) -> Vec<Refusal> {
        emulator().err().into_iter().chain(Ingredients::find(files, server).missing()).collect()
    }

    /// Finds the emulator, and puts together what guests boot: with this shape each, and this server in them.
    ///
    /// # Errors
    /// A [`Refusal`] that names the missing part.
    pub fn prepare(files: &GuestFiles, server: &str, shape: GuestShape) -> Result<Self, Refusal> {
        let emulator = emulator()?;
        let image = Image::make(Ingredients::find(files, server))?;
        let cpuinfo = Root::live().text("proc/cpuinfo").unwrap_or_default();
        let emulator = emulator.display().to_string();
        Ok(Self { emulator, image, shape, khz: khz(&cpuinfo), acceleration: Cell::new(Acceleration::Tcg) })
    }

    /// Whether there is KVM that could be tried.
    pub fn may_have_kvm() -> bool {
        Path::new("/dev/kvm").exists()
    }

    /// Takes note that KVM was tried, and works.
    pub fn use_kvm(&self) {
        self.acceleration.set(Acceleration::Kvm);
    }
}

/// Finds the emulator.
fn emulator() -> Result<PathBuf, Refusal> {
    if cfg!(not(target_arch = "x86_64")) {
        return Err(messages::guests_need_x86());
    }
    program(EMULATOR).ok_or_else(|| messages::emulator_missing(EMULATOR))
}

/// How a boot ended.
enum Booted {
    Ready,
    /// The run was stopped.
    Stopped,
    /// The kernel killed it, as it does where memory is short: a tenant that does not fit, and no reason to give up.
    Killed,
    /// The guest does not become ready, for this reason.
    Failed(Note),
}

/// Tenants as virtual machines of this machine, each in a control group.
#[derive(Debug)]
pub struct Qemu {
    hypervisor: Rc<Hypervisor>,
    tenancy: Tenancy,
    machines: Vec<Machine>,
    groups: Vec<TenantGroup>,
}

impl Qemu {
    /// No tenants yet, and nothing made. `placer` stands before a node's number and a program.
    pub fn new(layout: Layout, hypervisor: Rc<Hypervisor>, room: TenantMemory, placer: Vec<String>) -> Self {
        Self { hypervisor, tenancy: Tenancy::new(layout, room, placer), machines: Vec::new(), groups: Vec::new() }
    }

    /// Boots one machine with KVM, and ends it. `None` where it became ready; else why it did not.
    ///
    /// # Errors
    /// A [`Refusal`] where not even a process can be started.
    pub fn try_kvm(&mut self, stop: &AtomicBool, system: &mut System) -> Result<Option<String>, Refusal> {
        let limit = Instant::now() + KVM_BOOTS;
        self.start(0, Acceleration::Kvm, system)?;
        let booted = self.booted(0, limit, stop, &mut |_| true);
        let console = self.machines[0].console_tail();
        self.machines.clear();
        Ok(match booted {
            Booted::Ready => None,
            Booted::Stopped | Booted::Killed => Some(messages::attempt_stopped().text),
            Booted::Failed(why) if console.is_empty() => Some(why.text),
            Booted::Failed(why) => Some(format!("{why}: {console}")),
        })
    }

    /// Starts the machine of a tenant, in its group; a second attempt is made in the same one.
    fn start(&mut self, number: u32, acceleration: Acceleration, system: &mut System) -> Result<(), Refusal> {
        let at = number as usize;
        if self.groups.len() <= at {
            let group = self.tenancy.group(&format!("tenant-{}", number + 1), system)?;
            self.groups.push(group);
        }
        let boot = Boot {
            hypervisor: &self.hypervisor,
            program: &[self.tenancy.before(number), vec![self.hypervisor.emulator.clone()]].concat(),
            groups: self.groups[at].directories(),
            acceleration,
        };
        self.machines.truncate(at);
        self.machines.push(Machine::start(&boot)?);
        Ok(())
    }

    /// Waits until a machine is ready, and reports progress each second.
    fn booted(
        &mut self,
        number: u32,
        limit: Instant,
        stop: &AtomicBool,
        report: &mut dyn FnMut(&mut Self) -> bool,
    ) -> Booted {
        let at = number as usize;
        let mut next = Instant::now() + PULSE;
        loop {
            match self.machines[at].hear() {
                Ok(Some(Reply::Ready)) => return Booted::Ready,
                Ok(Some(Reply::Refused(refusal))) => {
                    return Booted::Failed(messages::guest_refuses(&refusal.to_string()));
                }
                Ok(Some(other)) => return Booted::Failed(messages::guest_not_ready(&format!("{other:?}"))),
                Ok(None) if Instant::now() >= limit => {
                    return Booted::Failed(messages::guest_boots_too_long());
                }
                Ok(None) => {}
                Err(why) => {
                    let killed = self.machines[at].exited().is_some_and(|status| status.signal() == Some(KILL));
                    return if killed { Booted::Killed } else { Booted::Failed(why) };
                }
            }
            if stop.load(Ordering::Relaxed) {
                return Booted::Stopped;
            }
            if Instant::now() >= next {
                next += PULSE;
                if !report(self) {
                    return Booted::Stopped;
                }
            }
            thread::sleep(POLL);
        }
    }

    /// Boots the machine of a tenant, at the second attempt where the first hangs. `false` where no more are to be
    /// booted.
    fn boot(&mut self, number: u32, spec: &mut LoadSpec<'_>, system: &mut System) -> Result<bool, Refusal> {
        let (watcher, stop) = (&mut *spec.watcher, spec.stop);
        let mut report = |own: &mut Self| {
            let counted = own.counted();
            watcher(&Pulse { load: None, ended: own.ended(), counted: counted.as_ref() })
        };
        let mut attempts = 0;
        loop {
            attempts += 1;
            self.start(number, self.hypervisor.acceleration.get(), system)?;
            match self.booted(number, Instant::now() + BOOTS, stop, &mut report) {
                Booted::Ready => return Ok(report(self)),
                Booted::Stopped | Booted::Killed => return Ok(false),
                Booted::Failed(_) if attempts == 1 && self.machines[number as usize].exited().is_none() => {}
                Booted::Failed(why) => {
                    let console = self.machines[number as usize].console_tail();
                    let memory = Bytes(self.hypervisor.shape.memory);
                    return Err(messages::guest_failed(number + 1, &why.text, &console, memory));
                }
            }
        }
    }

    fn remove(&mut self) -> Result<(), Refusal> {
        self.machines.clear();
        self.groups.clear();
        self.tenancy.remove()
    }

    fn call(&mut self, from: usize, spec: &mut LoadSpec<'_>, phase: Option<Phase>) -> Result<Outcome, Refusal> {
        let counted = self.counted();
        let before = ended(&mut self.machines[..from]);
        let call = Call::begin(&mut self.machines[from..], from as u32, spec, phase);
        let watcher = &mut *spec.watcher;
        call.finish(spec.stop, &mut |load, ended| {
            watcher(&Pulse { load, ended: before + ended, counted: counted.as_ref() })
        })
    }
}

fn ended(machines: &mut [Machine]) -> u32 {
    machines.iter_mut().filter_map(Machine::exited).count() as u32
}

impl Backend for Qemu {
    fn count(&self) -> u32 {
        self.machines.len() as u32
    }

    fn grow(&mut self, count: u32, spec: &mut LoadSpec<'_>, system: &mut System) -> Result<Option<Outcome>, Refusal> {
        let from = self.machines.len();
        for number in self.count()..count {
            if !self.boot(number, spec, system)? {
                return Ok(None);
            }
        }
        if self.machines.len() == from { Ok(None) } else { self.call(from, spec, None).map(Some) }
    }

    fn load(&mut self, spec: &mut LoadSpec<'_>, phase: Phase) -> Result<Outcome, Refusal> {
        self.call(0, spec, Some(phase))
    }

    fn clear(&mut self, _system: &mut System) -> Result<(), Refusal> {
        self.remove()
    }

    fn ended(&mut self) -> u32 {
        ended(&mut self.machines)
    }

    fn counted(&self) -> Option<Counted> {
        self.tenancy.counted(self.groups.iter())
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        // A removal that fails is still in the journal.
        let _ = self.remove();
    }
}
