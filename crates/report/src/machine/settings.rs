//! The system's settings that decide what a measurement means.

use tiermark_model::{Bytes, ClockLimit, Machine, Share, System};
use tiermark_page::{Page, items, labelled, short_size};

/// The settings section.
pub(super) fn settings(machine: &Machine) -> Page {
    let system = &machine.system;
    let mut known: Vec<String> = Vec::new();
    let mut unknown: Vec<&str> = Vec::new();
    let mut add = |name: &'static str, value: Option<String>| match value {
        Some(value) => known.push(format!("{name} {value}")),
        None => unknown.push(name),
    };
    add("THP", thp(system));
    add("NUMA balancing", system.numa_balancing.map(|n| word(n, &["off", "on", "tiering"])));
    add("KSM", system.ksm.map(|n| word(n, &["off", "running", "unmerging"])));
    add("DAMON", system.damon_running.map(on_off));
    add("swap", swap(system));
    add("zswap", system.zswap.map(on_off));
    let limit = |limit: &ClockLimit| format!(", at most {} of the highest clock", Share(limit.share));
    let limit = system.clock_limit.as_ref().map_or_else(String::new, limit);
    add("governor", system.governor.as_ref().map(|governor| format!("{governor}{limit}")));
    add("SMT", system.smt_control.as_deref().map(smt));
    add("clocksource", system.clocksource.clone());
    add("load", system.load1.map(|l| format!("{l:.2}")));
    add("perf_event_paranoid", system.perf_event_paranoid.map(|p| p.to_string()));
    add("available", system.available_bytes.map(|b| Bytes(b).to_string()));
    let mut out = labelled("settings", items(&known));
    if !unknown.is_empty() {
        out += labelled("", format!("not reported by this system: {}", unknown.join(", ")));
    }
    out
}

fn word(n: u32, words: &[&str]) -> String {
    words.get(n as usize).map_or_else(|| n.to_string(), |w| (*w).to_owned())
}

/// The kernel's word for the state of SMT as people say it.
fn smt(control: &str) -> String {
    match control {
        "forceoff" => "off for good",
        "notsupported" => "not supported",
        "notimplemented" => "not known to this kernel",
        other => other,
    }
    .to_owned()
}

fn on_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

/// Mode, page size, the mode of all sizes where it is another, and the sizes of multi-size THP that are not off.
fn thp(system: &System) -> Option<String> {
    let mode = system.thp_mode()?;
    let bytes = system.thp_bytes.map_or(String::new(), |b| format!(" ({})", Bytes(b)));
    let mut sizes: Vec<(&String, Vec<String>)> = Vec::new();
    let others = system.thp.as_deref().filter(|all| *all != mode);
    let others = others.map_or_else(String::new, |all| format!(", {all} for sizes that inherit"));
    for (bytes, mode) in system.mthp.iter().filter(|(_, mode)| *mode != "never") {
        match sizes.iter_mut().find(|(known, _)| *known == mode) {
            Some((_, list)) => list.push(short_size(*bytes as f64)),
            None => sizes.push((mode, vec![short_size(*bytes as f64)])),
        }
    }
    let sizes: Vec<String> = sizes.iter().map(|(mode, list)| format!("{mode} for {}", list.join(" "))).collect();
    let sizes = if sizes.is_empty() { String::new() } else { format!(" [{}]", sizes.join(", ")) };
    Some(format!("{mode}{bytes}{others}{sizes}"))
}

/// All swap, what is used of it, and what of it zram compresses in memory.
fn swap(system: &System) -> Option<String> {
    let (all, used) = system.swap_sums()?;
    if all == 0 {
        return Some("none".to_owned());
    }
    let zram = tiermark_model::total(system.swaps.iter().filter(|area| area.zram().is_some()).map(|area| area.bytes));
    let zram = if zram > 0 { format!(", {} of it zram", Bytes(zram)) } else { String::new() };
    Some(format!("{}, {} used{zram}", Bytes(all), Bytes(used)))
}
