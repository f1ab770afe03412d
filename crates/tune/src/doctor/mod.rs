//! A check-up: what of this machine keeps measurements from being trusted, or from being compared. It reads, and
//! changes nothing.

mod cpus;
mod environment;
mod kernel;
mod memory;
mod modules;
mod turbo;
mod work;

use std::io::ErrorKind;

use tiermark_machine::{DiscoverError, Root};
use tiermark_model::{Affected, CheckRow, Checkup, Health, HeldChanges, Interrupted, Machine};

pub use crate::cpu_use::{Busy, CpuSnapshot, watch};
pub use work::{BUSY_NOTE, BUSY_PROBLEM, STEAL_NOTE, STEAL_PROBLEM};

/// Data that the checks read.
#[derive(Debug)]
pub struct CheckInput<'a> {
    /// The tree that is read.
    pub root: &'a Root,
    /// The machine found there.
    pub machine: &'a Machine,
    /// Use of the cpus; `None` for a captured machine.
    pub busy: Option<Busy>,
    /// What interrupted the cpus; `None` for a captured machine.
    pub interrupted: Option<Interrupted>,
    /// Changes of this program that were not taken back yet, by runs at work too.
    pub held: &'a [HeldChanges],
}

impl CheckInput<'_> {
    /// The result if a file has no value: this user may not read it, or the kernel has none; a captured tree may just
    /// lack it.
    fn none(&self, path: &str) -> CheckResult {
        match self.root.read(path) {
            Err(DiscoverError::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
                CheckResult::not_here(format!("not readable by this user: /{path}; run as root"))
            }
            _ if self.root.is_live() => CheckResult::not_here("this kernel has none"),
            _ => CheckResult::not_reported(),
        }
    }

    /// The result of a check that depends on the number in a file. A row has the number (`None` for any), its word, and
    /// the cure; an empty cure means that nothing is wrong. The first row that fits counts. Without one, the result
    /// shows the number.
    fn by_number(&self, path: &str, rows: &[(Option<i64>, &str, &str)]) -> CheckResult {
        let Some(number) = self.root.value::<i64>(path) else { return self.none(path) };
        match rows.iter().find(|(of, ..)| of.is_none_or(|of| of == number)) {
            Some((_, word, "")) => CheckResult::ok(*word),
            Some((_, word, cure)) => CheckResult::note(*word, *cure),
            None => CheckResult::ok(number.to_string()),
        }
    }
}

/// Result of a check.
struct CheckResult {
    health: Health,
    value: String,
    affects: Option<Affected>,
    cure: Option<String>,
    is_setting: bool,
}

impl CheckResult {
    fn ok(value: impl Into<String>) -> Self {
        Self { health: Health::Ok, value: value.into(), affects: None, cure: None, is_setting: false }
    }

    fn note(value: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { health: Health::Note, cure: Some(cure.into()).filter(|c| !c.is_empty()), ..Self::ok(value) }
    }

    fn problem(affects: Affected, value: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { health: Health::Problem, affects: Some(affects), ..Self::note(value, cure) }
    }

    /// Of a setting of the kernel, which says nothing of the machine.
    fn of_setting(self) -> Self {
        Self { is_setting: true, ..self }
    }

    /// Nothing to check: the system lacks it.
    fn not_here(value: impl Into<String>) -> Self {
        Self { health: Health::NotHere, ..Self::ok(value) }
    }

    /// A text that the system reports, or not.
    fn reported(text: &Option<String>) -> Self {
        text.as_ref().map_or_else(Self::not_reported, Self::ok)
    }

    /// What keeps a program from seeing the machine itself, if it was seen.
    fn seen(name: Option<String>) -> Self {
        name.map_or_else(|| Self::ok("none seen"), |name| Self::note(name, ""))
    }

    /// Nothing to check: the system does not say, or a captured tree lacks the file.
    fn not_reported() -> Self {
        Self::not_here("not reported")
    }
}

/// One row of the table of checks.
struct Check {
    name: &'static str,
    /// Why it matters, whatever was found.
    why: &'static str,
    /// Whether the cure changes the whole machine, which a container cannot do.
    on_host: bool,
    examine: fn(&CheckInput<'_>) -> CheckResult,
}

impl Check {
    const fn new(name: &'static str, examine: fn(&CheckInput<'_>) -> CheckResult, why: &'static str) -> Self {
        Self { name, why, on_host: false, examine }
    }

    const fn of_host(name: &'static str, examine: fn(&CheckInput<'_>) -> CheckResult, why: &'static str) -> Self {
        Self { on_host: true, ..Self::new(name, examine, why) }
    }
}

/// Every check, in groups.
const GROUPS: [(&str, &[Check]); 6] = [
    ("Other work", work::CHECKS),
    ("Cpus", cpus::CHECKS),
    ("Memory", memory::CHECKS),
    ("Modules and nodes", modules::CHECKS),
    ("Kernel", kernel::CHECKS),
    ("Place", environment::CHECKS),
];

/// Examines a machine.
pub fn checkup(input: &CheckInput<'_>) -> Checkup {
    let in_container = input.machine.system.container.is_some();
    let row = |group: &str, check: &Check| {
        let found = (check.examine)(input);
        CheckRow {
            name: check.name.to_owned(),
            group: group.to_owned(),
            value: found.value,
            health: found.health,
            affects: found.affects,
            why: check.why.to_owned(),
            cure: found
                .cure
                .map(|cure| if check.on_host && in_container { format!("on the host: {cure}") } else { cure }),
            is_setting: found.is_setting,
        }
    };
    let checks = GROUPS.iter().flat_map(|(group, checks)| checks.iter().map(move |check| row(group, check))).collect();
    Checkup { machine: named(input.machine), checks }
}

/// What a run finds when it begins, and its numbers then rest on. Other work and steal are not among it: a run watches
/// both from its beginning to its end.
pub fn problems(root: &Root, machine: &Machine) -> Vec<CheckRow> {
    let checks = checkup(&CheckInput { root, machine, busy: None, interrupted: None, held: &[] }).checks;
    checks.into_iter().filter(|check| check.health == Health::Problem).collect()
}

/// The machine in a line.
fn named(machine: &Machine) -> String {
    let name = machine.cpu_model.name.clone().unwrap_or_else(|| "unknown processor".to_owned());
    let kernel = machine.system.kernel.as_ref().map_or_else(String::new, |kernel| format!(" · Linux {kernel}"));
    let cpus = machine.cpus.len();
    format!("{name} · {cpus} cpu{}{kernel}", if cpus == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests;
