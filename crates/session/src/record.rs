//! The machine's own record in a run: numbers are compared with it before anything is derived from them, and a whole
//! run may raise it.

use std::sync::Arc;

use tiermark_engine::Record;
use tiermark_history::{MachineKey, MachineRecord, Store};
use tiermark_machine::Root;
use tiermark_model::{CoreKind, Experiment, KernelId, Machine, Refusal, Run, Step};

/// The record that a run is compared with; none for a simulated run or with `--no-record`.
#[derive(Default)]
pub struct OwnRecord(Option<(MachineRecord, Arc<Machine>)>);

/// The machine's id, as systemd keeps it, else as D-Bus did before.
const MACHINE_IDS: [&str; 2] = ["etc/machine-id", "var/lib/dbus/machine-id"];
const HOSTNAME: &str = "proc/sys/kernel/hostname";
const BOOT_ID: &str = "proc/sys/kernel/random/boot_id";

impl OwnRecord {
    /// Reads the record of this machine; `saves` is whether a damaged file may be set aside. With a notice of such a
    /// file.
    pub fn open(store: &Store, machine: &Arc<Machine>, saves: bool) -> (Self, Option<Refusal>) {
        let key = MachineKey::of(machine, &machine_id(&Root::live()));
        let (record, notice) = MachineRecord::open(store, key, saves);
        (Self(Some((record, Arc::clone(machine)))), notice)
    }

    /// The record that a killed run, read from its journal, is compared with: that of its machine. `None` for a run
    /// that was simulated, made with `--no-record`, or made on another machine, by its host name.
    pub fn of_killed(store: &Store, run: &Run, machine: &Arc<Machine>) -> (Self, Option<Refusal>) {
        let root = Root::live();
        let asked = run.simulated.is_none() && !run.command.iter().any(|word| word == "--no-record");
        let (here, there) = (word(&root, HOSTNAME), &run.machine.system.hostname);
        let is_here = here.as_ref().zip(there.as_ref()).is_none_or(|(here, there)| here == there);
        if !asked || !is_here {
            return (Self::default(), None);
        }
        // The next run sets a damaged file aside.
        let (record, notice) = MachineRecord::open(store, MachineKey::of(&run.machine, &machine_id(&root)), false);
        (Self(Some((record, Arc::clone(machine)))), notice)
    }

    /// Raises the record by what a run has shown.
    ///
    /// # Errors
    /// A [`Refusal`] if it cannot be written.
    pub fn keep(self, store: &Store, run: &Run) -> Result<(), Refusal> {
        let Some((mut record, _)) = self.0 else { return Ok(()) };
        let boot = word(&Root::live(), BOOT_ID).unwrap_or_default();
        record.improve(store, run, &boot)
    }
}

impl Record for OwnRecord {
    fn hold(&self, experiment: &mut Experiment) {
        self.0.iter().for_each(|(record, machine)| record.hold(experiment, machine));
    }

    fn kernel(&self, probe: &str, method: u32, step: &Step) -> Option<KernelId> {
        let (record, machine) = self.0.as_ref()?;
        record.kernel(probe, method, step, machine).cloned()
    }

    fn throughput(&self, kind: Option<CoreKind>) -> Option<f64> {
        self.0.as_ref()?.0.throughput(kind)
    }
}

/// The id of this machine, or an empty string if it has none.
pub fn machine_id(root: &Root) -> String {
    MACHINE_IDS.iter().find_map(|path| word(root, path)).unwrap_or_default()
}

/// The first word of a file; `None` if the file cannot be read or is empty.
fn word(root: &Root, path: &str) -> Option<String> {
    let text = root.text(path)?;
    text.split_ascii_whitespace().next().map(str::to_owned)
}
