//! The machine on one screen: processor, nodes, caches, modules, settings, and what could not be seen.

mod modules;
mod nodes;
mod settings;
mod topology;

use tiermark_model::{Bytes, Contradiction, Grade, Machine};
use tiermark_page::{Detail, Ink, Page, bullet, grade_mark, heading, items, labelled, paragraph, space};

pub use modules::kinds_of_modules;

use crate::refusals::trouble;

/// Renders a machine. Alike things are counted instead of listed, so that large machines fit one screen too.
pub fn machine(machine: &Machine, detail: Detail) -> Page {
    let mut out = head(machine);
    out += space();
    out += topology::processors(machine, detail);
    out += topology::caches(machine);
    out += topology::groups(machine);
    out += space();
    out += nodes::nodes(machine);
    out += space();
    out += modules::modules(machine, detail);
    out += settings::settings(machine);
    out += contradictions(&machine.contradictions);
    out += trouble("Not seen", &machine.unseen.iter().collect::<Vec<_>>(), detail);
    out
}

/// Facts of which two views exclude each other, in every report that draws on them.
pub fn contradictions(found: &[Contradiction]) -> Page {
    if found.is_empty() {
        return Page::new();
    }
    let one = |found: &Contradiction| bullet(grade_mark(Grade::Suspect), Ink::Warn, found.to_string(), None);
    heading("Facts that contradict each other") + found.iter().map(one).collect::<Page>()
}

/// Name and kernel of the machine, and the limits of this process on it.
fn head(machine: &Machine) -> Page {
    let (cpu, system) = (&machine.cpu_model, &machine.system);
    let name = cpu.name.clone().unwrap_or_else(|| "Unknown processor".to_owned());
    let mut out = paragraph("", &name, Ink::Head);
    let number = |name: &str, n: Option<u32>| n.map(|n| format!("{name} {n}"));
    let identity: Vec<String> = [
        cpu.arch.clone(),
        cpu.vendor.clone(),
        number("family", cpu.family),
        number("model", cpu.model),
        number("stepping", cpu.stepping),
        cpu.microcode.as_ref().map(|m| format!("microcode {m}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !identity.is_empty() {
        out += paragraph("", items(&identity), Ink::Dim);
    }
    let place: Vec<String> = [
        system.hostname.clone(),
        system.product.clone(),
        system.bios.as_ref().map(|b| format!("BIOS {b}")),
        system.distribution.clone(),
        system.kernel.as_ref().map(|k| format!("Linux {k}")),
        system.guest(),
        system.container.as_ref().map(|c| format!("in a {c} container")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !place.is_empty() {
        out += paragraph("", items(&place), Ink::Plain);
    }
    out + limits(machine)
}

/// What the control group allows.
fn limits(machine: &Machine) -> Page {
    let Some(group) = &machine.system.cgroup else { return Page::new() };
    let mut parts = Vec::new();
    let set_by = |file: &Option<String>| file.as_ref().map_or_else(String::new, |file| format!(" ({file})"));
    if let Some(limit) = group.memory_limit {
        let used = group.memory_used.map_or(String::new(), |used| format!("{} of ", Bytes(used)));
        let throttles = if group.limit_throttles { ", above which it is throttled" } else { "" };
        let by = |shown: &str| format!(" (the container's, by {shown})");
        let file = group.files.of_container().map_or_else(|| set_by(&group.files.memory), by);
        parts.push(format!("memory {used}{}{throttles}{file}", Bytes(limit)));
    }
    parts.extend(group.cpu_quota.map(|quota| format!("{quota:.2} cpus of time{}", set_by(&group.files.quota))));
    parts.extend(group.huge_limits.iter().map(|limit| {
        let (used, most) = (Bytes(limit.used_bytes), Bytes(limit.bytes));
        format!("pages of {} {used} of {most} ({})", Bytes(limit.page_bytes), limit.file)
    }));
    if parts.is_empty() {
        return Page::new();
    }
    labelled("limits", format!("cgroup v{}: {}", group.version, parts.join(", ")))
}
