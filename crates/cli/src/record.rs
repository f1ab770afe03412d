//! The machine's own record in a run: numbers are held against it before anything is derived from them, and a whole run may raise it.

use tiermark_engine::{Event, Lab, Probe, Sink, conclude};
use tiermark_history::{MachineKey, MachineRecord, Store};
use tiermark_machine::Root;
use tiermark_model::{Experiment, Machine, Observation, Run};

use crate::args::RunArgs;
use crate::measure::remark;

/// The record that a run is held against; none of a simulated run or with `--no-record`.
#[derive(Default)]
pub(crate) struct OwnRecord(Option<MachineRecord>);

/// The machine's id, as systemd keeps it, else as D-Bus did before.
const MACHINE_IDS: [&str; 2] = ["etc/machine-id", "var/lib/dbus/machine-id"];
const BOOT_ID: &str = "proc/sys/kernel/random/boot_id";

impl OwnRecord {
    /// Reads the record of this machine.
    pub(crate) fn open(args: &RunArgs, store: &Store, machine: &Machine) -> Self {
        if args.result.no_record {
            return Self::default();
        }
        let root = Root::live();
        let id = MACHINE_IDS.iter().find_map(|path| word(&root, path)).unwrap_or_default();
        let (record, notice) = MachineRecord::open(store, MachineKey::of(machine, &id), !args.result.no_save);
        notice.iter().for_each(|refusal| remark(args, refusal));
        Self(Some(record))
    }

    /// The experiment with every number that falls short of the record as a bound, and what follows from that; listeners get those numbers
    /// again.
    pub(crate) fn hold(
        &self,
        probe: &dyn Probe,
        experiment: Experiment,
        lab: Lab<'_>,
        listener: Option<&mut impl Sink>,
    ) -> Experiment {
        let held = self.0.as_ref().and_then(|record| record.hold(&experiment, lab.machine));
        let Some(observations) = held else { return experiment };
        if let Some(listener) = listener {
            let changed = |(now, before): &(&Observation, &Observation)| now.verdict != before.verdict;
            let changed = observations.iter().zip(&experiment.observations).filter(changed);
            changed.for_each(|(observation, _)| listener.event(&Event::Observed { observation }));
        }
        conclude(probe, &experiment.request, experiment.plan, observations, lab)
    }

    /// Raises the record by what a run has shown, unless nothing is to be saved.
    pub(crate) fn keep(self, args: &RunArgs, store: &Store, run: &Run) {
        let Some(mut record) = self.0.filter(|_| !args.result.no_save) else { return };
        let boot = word(&Root::live(), BOOT_ID).unwrap_or_default();
        if let Err(refusal) = record.improve(store, run, &boot) {
            remark(args, &refusal);
        }
    }
}

/// The first word of a file; `None` where there is none.
fn word(root: &Root, path: &str) -> Option<String> {
    let text = root.read(path).ok().flatten()?;
    text.split_ascii_whitespace().next().map(str::to_owned)
}
