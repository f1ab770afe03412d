//! Facts of machine and program that differ between two runs.

use std::collections::BTreeSet;

use tiermark_model::{Bytes, Dimm, Fact, FactDifference, FactValue, Idle, Machine, Run, System, Tool};

/// The facts of which two runs report different things.
pub(crate) fn differences(first: &[FactValue], other: &[FactValue]) -> Vec<FactDifference> {
    let pairs = first.iter().zip(other);
    pairs
        .filter(|((fact, a), (same, b))| fact == same && a != b)
        .map(|((fact, first), (_, other))| match fact {
            Fact::Mitigations => {
                FactDifference { fact: *fact, first: without(first, other), other: without(other, first) }
            }
            _ => FactDifference { fact: *fact, first: first.clone(), other: other.clone() },
        })
        .collect()
}

/// The items of a list that another list has not: most mitigations of two systems are the same.
fn without(list: &Option<String>, other: &Option<String>) -> Option<String> {
    let known: Vec<&str> = other.iter().flat_map(|other| other.split("; ")).collect();
    let own: Vec<&str> = list.as_ref()?.split("; ").filter(|item| !known.contains(item)).collect();
    Some(if own.is_empty() { "the others alone".to_owned() } else { own.join("; ") })
}

/// Every fact, in the same order for every run.
pub(crate) fn facts(run: &Run) -> Vec<FactValue> {
    let Run { machine, tool, simulated, .. } = run;
    let system = &machine.system;
    let count = |n: Option<u32>| n.map(|n| n.to_string());
    let bytes = |n: Option<u64>| n.map(|n| Bytes(n).to_string());
    let quota = system.cgroup.as_ref().and_then(|group| group.cpu_quota).map(|cpus| format!("{cpus:.2} cpus"));
    vec![
        (Fact::Simulated, simulated.clone()),
        (Fact::Tiermark, Some(version(tool))),
        (Fact::Build, Some(build(tool))),
        (Fact::CpuModel, processor(machine)),
        (Fact::Microcode, machine.cpu_model.microcode.clone()),
        (Fact::Cpus, Some(machine.allowed_cpus.to_string())),
        (Fact::Smt, system.smt_control.clone()),
        (Fact::Caches, caches(machine)),
        (Fact::Memory, bytes(rounded(system.memory_bytes))),
        (Fact::Dimms, modules(machine.dimms.iter().chain(&machine.cxl_modules))),
        (Fact::Channels, machine.filled_channels().map(|(filled, most)| format!("{filled} of {most}"))),
        (Fact::Nodes, Some(machine.allowed_nodes.to_string())),
        (Fact::Firmware, system.bios.clone()),
        (Fact::Hypervisor, system.hypervisor.clone()),
        (Fact::Container, system.container.clone()),
        (Fact::CpuQuota, quota),
        (Fact::Distribution, system.distribution.clone()),
        (Fact::Kernel, system.kernel.clone()),
        (Fact::Mitigations, mitigations(system)),
        (Fact::Governor, system.governor.clone()),
        (Fact::Idle, system.idle.as_ref().map(idle)),
        (Fact::Tick, tick(run)),
        (Fact::Thp, system.thp_mode().map(str::to_owned)),
        (Fact::ThpDefrag, system.thp_defrag.clone()),
        (Fact::NumaBalancing, count(system.numa_balancing)),
        (Fact::Ksm, count(system.ksm)),
        (Fact::Clocksource, system.clocksource.clone()),
    ]
}

/// How often the kernel's timer interrupts cpus.
fn tick(run: &Run) -> Option<String> {
    let rate = format!("{:.0} a second", run.bench.clock.tick_hz?);
    let tickless = &run.machine.system.tickless_cpus;
    Some(if tickless.is_empty() { rate } else { format!("{rate}, none on cpus {tickless}") })
}

fn version(tool: &Tool) -> String {
    let git = tool.git.as_ref().map_or_else(String::new, |git| format!(" ({git})"));
    format!("{}{git}", tool.version)
}

fn build(tool: &Tool) -> String {
    let rustc = tool.rustc.as_ref().map_or_else(String::new, |rustc| format!(", {rustc}"));
    format!("{}{rustc}", tool.target)
}

fn processor(machine: &Machine) -> Option<String> {
    let model = &machine.cpu_model;
    let name = model.name.clone().or_else(|| model.vendor.clone())?;
    let numbers: Vec<String> =
        [model.family, model.model, model.stepping].into_iter().flatten().map(|n| n.to_string()).collect();
    Some(if numbers.is_empty() { name } else { format!("{name} ({})", numbers.join("/")) })
}

/// Memory without what firmware and kernel reserve, which changes from boot to boot.
fn rounded(bytes: Option<u64>) -> Option<u64> {
    const STEP: u64 = 64 << 20;
    bytes.map(|bytes| bytes.saturating_add(STEP / 2) / STEP * STEP)
}

/// Sizes of the caches of data, level by level.
fn caches(machine: &Machine) -> Option<String> {
    let sized = machine.data_caches().filter_map(|cache| Some((cache.level, cache.bytes?)));
    let sizes: BTreeSet<(u8, u64)> = sized.collect();
    let all: Vec<String> = sizes.iter().map(|(level, bytes)| format!("L{level} {}", Bytes(*bytes))).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// The populated slots: modules that are alike are counted.
fn modules<'a>(dimms: impl Iterator<Item = &'a Dimm>) -> Option<String> {
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for dimm in dimms.filter(|dimm| dimm.populated) {
        let speed = dimm.configured_transfers.or(dimm.rated_transfers);
        let parts = [
            dimm.bytes.map(|bytes| Bytes(bytes).to_string()),
            dimm.kind.clone(),
            speed.map(|transfers| format!("{:.0} MT/s", transfers / 1e6)),
            dimm.part.clone(),
        ];
        let text = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
        match kinds.iter_mut().find(|(kind, _)| *kind == text) {
            Some((_, count)) => *count += 1,
            None => kinds.push((text, 1)),
        }
    }
    let counted = kinds.iter().map(|(kind, count)| format!("{count} x {kind}"));
    (!kinds.is_empty()).then(|| counted.collect::<Vec<_>>().join(", "))
}

fn mitigations(system: &System) -> Option<String> {
    let one = |(name, state): (&String, &String)| format!("{name}: {state}");
    (!system.mitigations.is_empty()).then(|| system.mitigations.iter().map(one).collect::<Vec<_>>().join("; "))
}

fn idle(idle: &Idle) -> String {
    let on = idle.states.iter().filter(|state| !state.disabled).map(|state| state.name.clone());
    let words = [idle.driver.clone(), idle.governor.clone()].into_iter().flatten().chain(on);
    words.collect::<Vec<_>>().join(" ")
}
