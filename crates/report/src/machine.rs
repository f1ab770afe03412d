//! The machine on one screen: processor, nodes, caches, modules, settings, and what could not be seen.

mod modules;
mod nodes;
mod settings;
mod topology;

use tiermark_model::{Bytes, Contradiction, Grade, Machine};

pub(crate) use modules::kinds_of_modules;
pub(crate) use topology::many;

use crate::refusals::trouble;
use crate::style::{Ink, Style};
use crate::text::{bullet, hanging, heading, items, labelled};

/// Renders a machine. Alike things are counted instead of listed, so that large machines fit one screen too.
pub fn machine(machine: &Machine, style: &Style) -> String {
    let mut out = head(machine, style);
    out.push('\n');
    out.push_str(&topology::processors(machine, style));
    out.push_str(&topology::caches(machine, style));
    out.push_str(&topology::groups(machine, style));
    out.push('\n');
    out.push_str(&nodes::nodes(machine, style));
    out.push('\n');
    out.push_str(&modules::modules(machine, style));
    out.push_str(&settings::settings(machine, style));
    out.push_str(&contradictions(&machine.contradictions, style));
    out.push_str(&trouble("Not seen", &machine.unseen.iter().collect::<Vec<_>>(), style));
    out
}

/// Facts of which two views exclude each other, in every report that draws on them.
pub(crate) fn contradictions(found: &[Contradiction], style: &Style) -> String {
    if found.is_empty() {
        return String::new();
    }
    let one = |found: &Contradiction| bullet(style.mark(Grade::Suspect), Ink::Warn, &found.to_string(), None, style);
    heading("Facts that contradict each other", style) + &found.iter().map(one).collect::<String>()
}

/// Name and kernel of the machine, and the limits of this process on it.
fn head(machine: &Machine, style: &Style) -> String {
    let (cpu, system) = (&machine.cpu_model, &machine.system);
    let name = cpu.name.clone().unwrap_or_else(|| "Unknown processor".to_owned());
    let mut out = hanging("", &name, Ink::Head, style);
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
        out.push_str(&hanging("", &items(&identity, style), Ink::Dim, style));
    }
    let place: Vec<String> = [
        system.hostname.clone(),
        system.product.clone(),
        system.bios.as_ref().map(|b| format!("BIOS {b}")),
        system.distribution.clone(),
        system.kernel.as_ref().map(|k| format!("Linux {k}")),
        system.hypervisor.as_ref().map(|h| format!("{h} guest")),
        system.container.as_ref().map(|c| format!("in a {c} container")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !place.is_empty() {
        out.push_str(&hanging("", &items(&place, style), Ink::Plain, style));
    }
    out + &limits(machine, style)
}

/// What the control group allows.
fn limits(machine: &Machine, style: &Style) -> String {
    let Some(group) = &machine.system.cgroup else { return String::new() };
    let mut parts = Vec::new();
    let set_by = |file: &Option<String>| file.as_ref().map_or_else(String::new, |file| format!(" ({file})"));
    if let Some(limit) = group.memory_limit {
        let used = group.memory_used.map_or(String::new(), |used| format!("{} of ", Bytes(used)));
        let throttles = if group.limit_throttles { ", above which it is throttled" } else { "" };
        parts.push(format!("memory {used}{}{throttles}{}", Bytes(limit), set_by(&group.files.memory)));
    }
    parts.extend(group.cpu_quota.map(|quota| format!("{quota:.2} cpus of time{}", set_by(&group.files.quota))));
    if parts.is_empty() {
        return String::new();
    }
    labelled("limits", &format!("cgroup v{}: {}", group.version, parts.join(", ")), style)
}
