//! The host system management port of EPYC processors: rates that the firmware keeps, added up over time.

use std::io::{self, ErrorKind};
use std::time::Duration;

use tiermark_model::messages::counters as says;
use tiermark_model::{BoxKind, BoxPlace, CounterSight, CounterSourceId, Machine, Note, Refusal};

use crate::family::Of;
use crate::select::only_node;
use crate::snapshot::{Reading, Snapshot};
use crate::source::{CounterSource, Doubt, Opened, Place, Reads, SourceKind, System, SystemCounters, Tried, tried};

/// The clocks of the fabric and of the memory, in MHz (`HSMP_GET_FCLK_MCLK` of the kernel's `asm/amd_hsmp.h`).
const CLOCKS: u32 = 0x0f;
/// The traffic of the memory (`HSMP_GET_DDR_BANDWIDTH`): the most in bits 20 to 31, the present in bits 8 to 19.
const TRAFFIC: u32 = 0x14;
/// Bytes of a unit of traffic. AMD's library (E-SMI) says GB/s, the kernel's comment Gbps: see [`MOST_CHANNELS`].
const GB: f64 = 1e9;
/// Channels of a socket at most. A peak above what they carry at the memory's clock is in another unit.
const MOST_CHANNELS: f64 = 16.0;
/// Bytes that a channel carries in each tick of its clock: two transfers of 64 bits.
const TICK_BYTES: f64 = 16.0;
/// Bytes of a transfer.
const TRANSFER_BYTES: f64 = 8.0;

/// What it sees.
const SEES: [CounterSight; 2] = [CounterSight::Total, CounterSight::Utilisation];

pub(super) static KIND: SourceKind = SourceKind {
    id: CounterSourceId::Hsmp,
    reads: Reads::System(SystemCounters {
        shots: Tried::Never,
        samples: Tried::Always,
        open,
        examine: |place| {
            let opened = place.system.map(|system| open(place, system));
            tried(opened, CounterSourceId::Hsmp, &SEES, "the management port of the processor (hsmp)")
        },
    }),
};

fn open(place: Place<'_>, system: &dyn System) -> Opened {
    let mailbox = system.hsmp().map_err(|error| hsmp_refusal(&error))?;
    Ok(Box::new(Hsmp::open(place.machine, mailbox)?))
}

/// Sends messages to the firmware of a socket: tests have a stand-in.
pub trait Mailbox {
    /// Sends a message without arguments, and returns so many words of the answer.
    ///
    /// # Errors
    /// The driver's answer.
    fn ask(&mut self, socket: u16, message: u32, words: u16) -> io::Result<[u32; 8]>;

    /// Time since any fixed moment.
    fn now(&self) -> Duration;
}

/// What the firmware says of the memory of a socket, in bytes a second.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rate {
    most: f64,
    used: f64,
}

impl Rate {
    fn of(word: u32) -> Self {
        Self { most: f64::from(word >> 20) * GB, used: f64::from(word >> 8 & 0xfff) * GB }
    }
}

/// A socket.
struct Socket {
    index: u16,
    place: BoxPlace,
    bytes: f64,
    transfers: f64,
}

/// The rates of all sockets, added up: each stands for the time since the reading before.
pub struct Hsmp {
    mailbox: Box<dyn Mailbox>,
    sockets: Vec<Socket>,
    last: Duration,
}

impl Hsmp {
    /// Asks each socket once.
    ///
    /// # Errors
    /// A [`Refusal`] if a socket does not answer, or its peak cannot be.
    pub fn open(machine: &Machine, mut mailbox: Box<dyn Mailbox>) -> Result<Self, Refusal> {
        let mut numbers: Vec<u32> = machine.cpus.iter().map(|cpu| cpu.socket).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut sockets = Vec::new();
        // The driver numbers sockets from 0, in the order of the kernel.
        for (index, number) in (0u16..).zip(numbers) {
            let clock = f64::from(mailbox.ask(index, CLOCKS, 2).map_err(|error| hsmp_refusal(&error))?[1]) * 1e6;
            let rate = Rate::of(mailbox.ask(index, TRAFFIC, 1).map_err(|error| hsmp_refusal(&error))?[0]);
            if rate.most <= 0.0 || rate.used > rate.most || rate.most > MOST_CHANNELS * clock * TICK_BYTES {
                return Err(says::hsmp_implausible(number, rate.most / GB, clock / 1e6));
            }
            let node = only_node(machine, number);
            let place = BoxPlace { socket: Some(number), node, kind: BoxKind::Memory, unit: "HSMP".to_owned() };
            sockets.push(Socket { index, place, bytes: 0.0, transfers: 0.0 });
        }
        let last = mailbox.now();
        Ok(Self { mailbox, sockets, last })
    }
}

/// Why the port cannot be used.
fn hsmp_refusal(error: &io::Error) -> Refusal {
    match error.kind() {
        ErrorKind::NotFound => says::hsmp_absent(),
        _ => says::hsmp_refused(&error.to_string()),
    }
}

impl CounterSource for Hsmp {
    fn id(&self) -> CounterSourceId {
        CounterSourceId::Hsmp
    }

    fn sees(&self) -> Vec<CounterSight> {
        SEES.to_vec()
    }

    fn doubts(&self) -> Vec<(Doubt, Note)> {
        vec![(Doubt::Source, says::rates_are_sampled())]
    }

    fn is_immediate(&self) -> bool {
        false
    }

    fn read(&mut self) -> io::Result<Snapshot> {
        let at = self.mailbox.now();
        let passed = at.saturating_sub(self.last).as_secs_f64();
        let mut readings = Vec::with_capacity(2 * self.sockets.len());
        // All are asked before any is added: if one does not answer, the time goes on for all.
        let mut rates = Vec::with_capacity(self.sockets.len());
        for socket in &self.sockets {
            rates.push(Rate::of(self.mailbox.ask(socket.index, TRAFFIC, 1)?[0]));
        }
        for (socket, rate) in self.sockets.iter_mut().zip(rates) {
            // The firmware's rate is of the time before the reading.
            socket.bytes += rate.used * passed;
            socket.transfers += rate.most / TRANSFER_BYTES * passed;
            let id = 2 * usize::from(socket.index);
            readings.push(Reading::of(id, socket.place.clone(), Of::Both, socket.bytes as u64));
            readings.push(Reading::of(id + 1, socket.place.clone(), Of::Clock, socket.transfers as u64));
        }
        self.last = at;
        Ok(Snapshot { at, readings, ..Snapshot::default() })
    }
}
