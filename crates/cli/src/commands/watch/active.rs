//! `watch --active`: the cells, and the clock of a simulated machine.

use jiff::Timestamp;
use tiermark_engine::Host;
use tiermark_history::{MachineKey, MachineRecord};
use tiermark_machine::Root;
use tiermark_model::{Machine, Step, Unit, WatchActive};
use tiermark_probes::active::{Active, Options};
use tiermark_session::machine_id;
use tiermark_watch::Reading;

use crate::args::Simulation;
use crate::args::watch::WatchArgs;
use crate::output::{Failure, tell};
use crate::signals::Stop;
use crate::{environment, target};

/// Seed of chains and data: a watch draws nothing that another should not.
const SEED: u64 = 1;

/// The cells with the machine that they run on.
pub(super) struct Cells {
    host: Box<dyn Host>,
    active: Active,
    interval: f64,
    simulated: bool,
    /// Whether lines on standard error would spoil the screen.
    on_screen: bool,
}

impl Cells {
    /// Prepares memory and threads: some tenths of a second.
    pub(super) fn open(
        args: &WatchArgs,
        simulation: &Simulation,
        stop: &Stop,
        on_screen: bool,
    ) -> Result<Self, Failure> {
        let simulated = simulation.simulate.is_some();
        let target::Target { mut host, .. } = target::open(simulation, SEED, None, stop.flag())?;
        // A simulated machine has no record.
        let record = (!simulated).then(|| {
            let key = MachineKey::of(host.machine(), &machine_id(&Root::live()));
            MachineRecord::open(&environment::store(), key, false).0
        });
        let best = |probe: &str, method: u32, step: &Step, unit: Unit, machine: &Machine| {
            Some(record.as_ref()?.best_of_step(probe, method, step, unit, machine)?.value)
        };
        let options = Options { budget: args.budget / 100.0, interval: args.interval, seed: SEED };
        let active = Active::prepare(host.as_mut(), options, &best)?;
        let mut cells = Self { host, active, interval: args.interval, simulated, on_screen };
        cells.tell_notices(false);
        if !on_screen {
            let notes = cells.active.notes(!simulated);
            notes.iter().for_each(|note| tell(format_args!("tiermark: note: {note}")));
        }
        Ok(cells)
    }

    /// Visits the cells whose turn it is.
    pub(super) fn round(&mut self) -> WatchActive {
        let began = self.host.now();
        let found = self.active.round(self.host.as_mut());
        self.tell_notices(self.on_screen);
        if self.simulated {
            self.host.rest(self.interval - (self.host.now() - began));
        }
        found
    }

    fn tell_notices(&mut self, hidden: bool) {
        for notice in self.active.notices().iter().filter(|_| !hidden) {
            tell(format_args!("tiermark: warning: {notice}"));
        }
    }

    /// Whether time only passes where the program lets it.
    pub(super) fn is_simulated(&self) -> bool {
        self.simulated
    }

    /// On a simulated machine: sets the clock of a reading, and returns its time.
    pub(super) fn simulated_time(&self, reading: &mut Reading) -> Option<Timestamp> {
        if !self.simulated {
            return None;
        }
        reading.at = self.host.now();
        Timestamp::from_millisecond((reading.at * 1e3).round() as i64).ok()
    }
}
