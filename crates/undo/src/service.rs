//! Services of systemd that are stopped for a time.

use tiermark_machine::Root;
use tiermark_model::messages::undo as messages;
use tiermark_model::{ChangeOutcome, ChangeRow, Refusal};

use crate::journal::{Change, Journal};
use crate::writer::SystemWriter;

/// Where systemd keeps the control groups of services: cgroup version 2, version 1, both.
const GROUPS: [&str; 3] =
    ["sys/fs/cgroup/system.slice", "sys/fs/cgroup/systemd/system.slice", "sys/fs/cgroup/unified/system.slice"];
/// Where files of services are.
const UNITS: [&str; 4] = ["etc/systemd/system", "run/systemd/system", "usr/lib/systemd/system", "lib/systemd/system"];

/// Whether a service of systemd (`ksmtuned.service`) has processes; `None` if the system has no such service.
pub fn service_runs(root: &Root, name: &str) -> Option<bool> {
    let processes = |dir: &&str| root.text(&format!("{dir}/{name}/cgroup.procs"));
    if GROUPS.iter().filter_map(processes).any(|text| !text.trim().is_empty()) {
        return Some(true);
    }
    UNITS.iter().any(|dir| root.text(&format!("{dir}/{name}")).is_some()).then_some(false)
}

/// Stops a service, noted before; taking changes back starts it again.
///
/// # Errors
/// A [`Refusal`]: the journal cannot be written, or the service does not stop, which stays noted.
pub fn stop_service(name: &str, writer: &mut dyn SystemWriter, journal: &mut Journal) -> Result<ChangeRow, Refusal> {
    let change = Change::Service { name: name.to_owned() };
    journal.note(vec![change.clone()])?;
    writer.run(&format!("systemctl stop {name}")).map_err(|why| messages::service_not_stopped(name, &why))?;
    let (from, to) = (Some("running".to_owned()), Some("stopped".to_owned()));
    Ok(ChangeRow { what: change.to_string(), from, to, outcome: ChangeOutcome::Done, why: None })
}
