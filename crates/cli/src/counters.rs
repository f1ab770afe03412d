//! The counters of memory traffic that options ask for.

use std::io;
use std::time::{Duration, Instant};

use tiermark_counters::{
    Backend, Beside, Chosen, Family, KernelCounters, Mailbox, PerfEvent, Place, System, families_with, open_source,
};
use tiermark_machine::Root;
use tiermark_model::Machine;
use tiermark_system::HsmpDevice;

use crate::args::{CounterArgs, CounterUse, CountingArgs};
use crate::output::Failure;

/// Opens the source that options name, else the first that opens.
///
/// # Errors
/// A [`Failure`] if the file of events has mistakes.
pub(crate) fn open_counters(
    root: &Root,
    machine: &Machine,
    args: &CountingArgs,
    beside: Beside,
) -> Result<Chosen, Failure> {
    let families = events(&args.source)?;
    let place = place(root, machine, &families);
    Ok(open_source(args.source.counters_from.as_ref(), args.when == CounterUse::Require, beside, place))
}

/// Where sources are opened. A captured machine has no system to open them on.
pub(crate) fn place<'a>(root: &'a Root, machine: &'a Machine, families: &'a [Family]) -> Place<'a> {
    Place { root, machine, families, system: if root.is_live() { Some(&ThisSystem) } else { None } }
}

/// The events of processor families, those of the user first.
///
/// # Errors
/// A [`Failure`] that names the mistakes of the user's file.
pub(crate) fn events(args: &CounterArgs) -> Result<Vec<Family>, Failure> {
    families_with(args.events.as_deref()).map_err(Failure::Mistakes)
}

/// Refuses `--counters-from` beside `--counters off`.
///
/// # Errors
/// A [`Failure`] of usage that names both options.
pub(crate) fn refuse_contradiction(args: &CountingArgs) -> Result<(), Failure> {
    if args.when == CounterUse::Off && args.source.counters_from.is_some() {
        return Err(Failure::usage(
            "--counters off reads no counters, and --counters-from names some: leave one of them out",
        ));
    }
    Ok(())
}

/// This system.
struct ThisSystem;

impl System for ThisSystem {
    fn perf(&self) -> Box<dyn Backend> {
        Box::new(KernelCounters::new(|event, leader| {
            let PerfEvent { kind, words, cpu, read_format, flags } = *event;
            tiermark_system::open_perf_event(kind, words, read_format, cpu, leader, flags)
        }))
    }

    fn hsmp(&self) -> io::Result<Box<dyn Mailbox>> {
        Ok(Box::new(FirmwarePort { device: HsmpDevice::open()?, opened: Instant::now() }))
    }
}

/// The management port of an EPYC processor.
struct FirmwarePort {
    device: HsmpDevice,
    opened: Instant,
}

impl Mailbox for FirmwarePort {
    fn ask(&mut self, socket: u16, message: u32, words: u16) -> io::Result<[u32; 8]> {
        self.device.ask(socket, message, words)
    }

    fn now(&self) -> Duration {
        self.opened.elapsed()
    }
}
