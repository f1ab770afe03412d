//! Processors, kinds of cores, caches, last-level-cache groups.

use std::collections::{BTreeMap, BTreeSet};

use tiermark_model::{Bytes, Cache, CacheKind, CoreKind, IdSet, Machine, count_of};
use tiermark_page::{Detail, GUTTER, Page, Table, beside, items, labelled};

/// Longer id lists are cut: on sparse machines they fill screens. JSON has them whole.
const LIST_COLUMNS: usize = 40;

/// An id list that fits a line.
pub(super) fn short_list(set: &IdSet) -> String {
    let text = set.to_string();
    if text.len() <= LIST_COLUMNS {
        return text;
    }
    let cut = text[..LIST_COLUMNS].rfind(',').unwrap_or(LIST_COLUMNS);
    format!("{},.. ({} ids)", &text[..cut], set.len())
}

/// Sockets × cores × threads, and which cpus may be used.
pub(super) fn processors(machine: &Machine, detail: Detail) -> Page {
    let online = machine.online();
    let (sockets, cores, cpus) = (machine.sockets().len(), machine.core_count(), online.len());
    // The product is only written where it is exact: offline cpus, hybrids, sockets that differ make machines uneven.
    let mut own: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for cpu in &machine.cpus {
        own.entry(cpu.socket).or_default().insert(cpu.core);
    }
    let is_alike = own.values().all(|cores| cores.len() * sockets == machine.core_count());
    let text = if sockets > 0 && cores > 0 && is_alike && cpus.is_multiple_of(cores) {
        let (per_socket, threads) =
            (count_of((cores / sockets) as u64, "core"), count_of((cpus / cores) as u64, "thread"));
        format!("{} × {per_socket} × {threads} = {}", count_of(sockets as u64, "socket"), count_of(cpus as u64, "cpu"))
    } else {
        format!(
            "{}, {}, {}",
            count_of(sockets as u64, "socket"),
            count_of(cores as u64, "core"),
            count_of(cpus as u64, "cpu")
        )
    };
    let text = if online.is_empty() { text } else { format!("{text} ({})", short_list(&online)) };
    let mut out = labelled("processors", &text);
    let dies = machine.cpus.iter().filter_map(|c| Some((c.socket, c.die?))).collect::<BTreeSet<_>>();
    if dies.len() > sockets {
        out += labelled("", count_of(dies.len() as u64, "die"));
    }
    if machine.allowed_cpus != online {
        let text = format!("{} allowed: {}", machine.allowed_cpus.len(), short_list(&machine.allowed_cpus));
        out += labelled("", &text);
    }
    if !machine.offline_cpus.is_empty() {
        let mut text = format!("{} offline: {}", machine.offline_cpus.len(), short_list(&machine.offline_cpus));
        // What is below, as modules and their peak, is of all of them.
        if machine.processors() > sockets {
            let dark = machine.processors() - sockets;
            text.push_str(&format!(
                "; {} of {} without an online cpu",
                count_of(dark as u64, "socket"),
                machine.processors()
            ));
        }
        out += labelled("", &text);
    }
    out += kinds(machine);
    if detail.is_all() {
        out += core_limits(machine);
    }
    out
}

/// What a core can do at most by design, and who says so.
fn core_limits(machine: &Machine) -> Page {
    let Some(limits) = &machine.core_limits else { return Page::new() };
    let cycles = |level: &str, cycles: Option<f64>| cycles.map(|cycles| format!("{level} in {cycles} cycles"));
    let bytes = |what: &str, bytes: Option<f64>| bytes.map(|bytes| format!("{bytes} B {what} a cycle"));
    let parts: Vec<String> = [
        cycles("L1", limits.latency_l1_cycles),
        bytes("of loads", limits.load_bytes_per_cycle),
        bytes("of stores", limits.store_bytes_per_cycle),
        cycles("L2", limits.latency_l2_cycles),
        bytes("from L2", limits.l2_bytes_per_cycle),
    ]
    .into_iter()
    .flatten()
    .collect();
    let text = format!("{} at best: {}", limits.name, parts.join(", "));
    labelled("core", &text) + labelled("", format!("source: {}", limits.source))
}

/// The kinds of cores of a hybrid, with their names where these differ.
fn kinds(machine: &Machine) -> Page {
    type Kind<'a> = (Option<CoreKind>, Option<&'a str>);
    let mut kinds: BTreeMap<Kind<'_>, (IdSet, IdSet)> = BTreeMap::new();
    for cpu in machine.cpus.iter().filter(|cpu| cpu.kind.is_some() || cpu.core_name.is_some()) {
        let (cpus, cores) = kinds.entry((cpu.kind, cpu.core_name.as_deref())).or_default();
        cpus.insert(cpu.id);
        cores.insert(cpu.core);
    }
    let mut out = Page::new();
    for (i, ((kind, name), (cpus, cores))) in kinds.iter().enumerate() {
        let kind = kind.map(|kind| match kind {
            CoreKind::Performance => "performance",
            CoreKind::Efficiency => "efficiency",
            CoreKind::LowPower => "low-power",
        });
        let called: Vec<&str> = [kind, *name].into_iter().flatten().collect();
        let text = format!("{} {}: cpus {}", count_of(cores.len() as u64, "core"), called.join(", "), short_list(cpus));
        out += labelled(if i == 0 { "kinds" } else { "" }, &text);
    }
    out
}

/// Caches that are alike.
struct Alike<'a> {
    cache: &'a Cache,
    instances: usize,
    total: Option<u64>,
}

/// One row a level and kind: instances × size, ways, the cpus that share one.
pub(super) fn caches(machine: &Machine) -> Page {
    let mut groups: Vec<Alike<'_>> = Vec::new();
    for cache in &machine.caches {
        let like = |g: &&mut Alike<'_>| {
            let c = g.cache;
            (c.level, c.kind, c.bytes, c.ways, c.cpus.len())
                == (cache.level, cache.kind, cache.bytes, cache.ways, cache.cpus.len())
        };
        match groups.iter_mut().find(like) {
            Some(group) => {
                group.instances += 1;
                group.total = group.total.zip(cache.bytes).map(|(a, b)| a.saturating_add(b));
            }
            None => groups.push(Alike { cache, instances: 1, total: cache.bytes }),
        }
    }
    if groups.is_empty() {
        return labelled("caches", "not reported by this system");
    }
    let level = |cache: &Cache| {
        let kind = match cache.kind {
            CacheKind::Data => "d",
            CacheKind::Instruction => "i",
            CacheKind::Unified => "",
        };
        format!("L{}{kind}", cache.level)
    };
    let size = |cache: &Cache| cache.bytes.map_or_else(|| "size unknown".to_owned(), |b| Bytes(b).to_string());
    let total = |of: &Alike<'_>| {
        of.total.filter(|_| of.instances > 1).map_or_else(String::new, |total| format!("= {}", Bytes(total)))
    };
    let table = Table::of(&groups).texts("", |of| level(of.cache));
    let table = table.numbers("", |of| format!("{} × {}", of.instances, size(of.cache))).numbers("", total);
    let table = table.numbers("", |of| of.cache.ways.map_or_else(String::new, |ways| format!("{ways}-way")));
    let table = table.texts("", |of| sharers(machine, of.cache, of.instances)).table().indent(GUTTER);
    // The gutter's label stands on the first line of the table.
    let lines: BTreeSet<u32> = machine.caches.iter().filter_map(|c| c.line_bytes).collect();
    let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
    let lines = if lines.is_empty() { "unknown size".to_owned() } else { format!("{} bytes", lines.join(" and ")) };
    beside("caches", GUTTER, table.into()) + labelled("", format!("lines of {lines}"))
}

/// The cpus that share one instance.
fn sharers(machine: &Machine, cache: &Cache, instances: usize) -> String {
    let cores: IdSet = cache.cpus.iter().filter_map(|id| machine.cpu(id)).map(|cpu| cpu.core).collect();
    let cpus = cache.cpus.len();
    match (instances, cores.len()) {
        (_, 0 | 1) => "one a core".to_owned(),
        (1, _) if cpus == machine.cpus.len() => "shared by all".to_owned(),
        (_, cores) if cores == cpus => format!("by {cores} cores"),
        (_, cores) => format!("by {cores} cores, {cpus} cpus"),
    }
}

/// Last-level-cache groups, listed when they are few.
pub(super) fn groups(machine: &Machine) -> Page {
    const LISTED: usize = 4;
    let groups = machine.llc_groups();
    if groups.len() < 2 {
        return Page::new();
    }
    if groups.len() <= LISTED {
        let one = |g: &tiermark_model::LlcGroup| format!("{}: cpus {}", g.index, short_list(&g.cpus));
        let mut out = Page::new();
        for (i, group) in groups.iter().enumerate() {
            out += labelled(if i == 0 { "LLC groups" } else { "" }, one(group));
        }
        return out;
    }
    let mut kinds: BTreeMap<(usize, Option<u64>), usize> = BTreeMap::new();
    for group in &groups {
        *kinds.entry((group.cpus.len(), group.bytes)).or_default() += 1;
    }
    let parts: Vec<String> = kinds
        .iter()
        .map(|((cpus, bytes), n)| {
            let bytes = bytes.map_or(String::new(), |b| format!(", {}", Bytes(b)));
            format!("{} of {}{bytes} each", count_of(*n as u64, "group"), count_of(*cpus as u64, "cpu"))
        })
        .collect();
    labelled("LLC groups", items(&parts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::Cpu;
    use tiermark_page::Style;

    #[test]
    fn sockets_without_an_online_cpu_are_counted_beside_the_others() {
        let offline_cpus = "1-2".parse().unwrap_or_default();
        let machine = Machine { cpus: vec![Cpu::default()], offline_cpus, filled_sockets: 2, ..Machine::default() };
        let shown = tiermark_page::terminal(&processors(&machine, Detail::Usual), &Style::default());
        assert!(shown.contains("2 offline: 1-2; 1 socket of 2 without an online cpu"), "{shown}");
    }
}
