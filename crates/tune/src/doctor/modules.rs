//! Memory modules: channels without one, speeds, and what the nodes get of them.

use std::collections::{BTreeMap, BTreeSet};

use tiermark_machine::dmi;
use tiermark_model::{
    Affected, Bytes, Dimm, DisputedFact, IdSet, Machine, MemoryChannels, Node, SlowestModules, count_of,
};

use super::{Check, CheckInput, CheckResult};

/// Speeds this near are one: firmware rounds.
const SAME_SPEED: f64 = 0.99;
/// Nodes whose sizes are this near hold as many of the same modules: the kernel keeps a few percent of each.
const SAME_SIZE: f64 = 0.9;

pub(super) const CHECKS: &[Check] = &[
    Check::of_host(
        "memory modules",
        modules,
        "they decide the theoretical peak, which channels are empty, and what a footprint of DRAM is made of",
    ),
    Check {
        name: "memory channels",
        on_host: true,
        why: "a channel without a module adds no bandwidth, and accesses are interleaved evenly over an even number \
            only",
        examine: channels,
    },
    Check::of_host("module speed", speed, "the configured speed of the modules sets the bandwidth of memory"),
    Check::of_host(
        "module sizes",
        sizes,
        "with modules of different sizes, some regions are interleaved over fewer channels",
    ),
    Check::new("node sizes", nodes, "memory that is spread over nodes of different sizes fills the smallest first"),
    Check::new(
        "memory of own node",
        own_memory,
        "memory of another node is slower, and its link carries less than the memory channels",
    ),
    Check::of_host(
        "emulated nodes",
        emulated,
        "with numa=fake the kernel splits one memory into nodes that differ in name only",
    ),
];

fn modules(input: &CheckInput<'_>) -> CheckResult {
    let populated = input.machine.dimms.iter().filter(|dimm| dimm.populated).count();
    if populated > 0 {
        let invented = if is_guest(input) { ", by the hypervisor's word" } else { "" };
        let cards = match input.machine.cxl_modules.len() {
            0 => String::new(),
            modules => format!(", {} on CXL cards", count_of(modules as u64, "module")),
        };
        let filled = format!("{populated} of {} slots filled{cards}{invented}", input.machine.slots());
        if dmi::is_memory_mode(input.machine) {
            return CheckResult::note(
                format!("{filled}, with persistent memory in Memory Mode: DRAM is its cache"),
                "to measure the persistent memory, use a footprint larger than all DRAM modules together: --sizes, \
                    --max-mem",
            );
        }
        return CheckResult::ok(filled);
    }
    // The table is there for root only, and in many guests not at all.
    match input.root.read_bytes("sys/firmware/dmi/tables/DMI") {
        Err(_) => CheckResult::note("not readable", "sudo tiermark machine shows them"),
        Ok(_) => CheckResult::not_reported(),
    }
}

fn is_guest(input: &CheckInput<'_>) -> bool {
    input.machine.system.board_maker().is_some()
}

/// The modules; `Err` for a guest, whose hypervisor makes them up, and where none or not all are reported.
fn real<'a>(input: &'a CheckInput<'_>) -> Result<Vec<&'a Dimm>, CheckResult> {
    if is_guest(input) {
        return Err(CheckResult::not_here("not visible to a guest"));
    }
    if input.machine.has_unlisted_modules() {
        return Err(CheckResult::not_here(
            "not judged: the kernel has more memory than the modules that SMBIOS lists (see 'facts of the machine')",
        ));
    }
    let populated: Vec<&Dimm> = input.machine.dimms.iter().filter(|dimm| dimm.populated).collect();
    if populated.is_empty() { Err(CheckResult::not_reported()) } else { Ok(populated) }
}

fn channels(input: &CheckInput<'_>) -> CheckResult {
    if let Err(none) = real(input) {
        return none;
    }
    if input.machine.disputes_packages() {
        return CheckResult::not_here(
            "not judged: channels are counted per package, and the package of a cpu is disputed (see 'facts of the \
                machine')",
        );
    }
    let channels = input.machine.memory_channels();
    let Some(channels @ MemoryChannels { populated, most: Some(most), at_most }) = channels else {
        return CheckResult::not_here(
            "not judged: neither the slot names nor the processor model shows which channels are filled",
        );
    };
    let bound = if at_most { "at most " } else { "" };
    let filled = format!("{bound}{populated} of {most} channels filled");
    if populated >= most {
        return CheckResult::ok(filled);
    }
    let (taken, cure) = to_fill(input.machine, most - populated);
    let filled = format!("{filled}{taken}");
    if channels.is_uneven(input.machine.processors()) {
        return CheckResult::problem(
            Affected::MemoryRates,
            format!("{filled}: accesses are not interleaved over all; reads may lose a third of their bandwidth"),
            cure,
        );
    }
    CheckResult::note(filled, cure)
}

/// What takes the place of so many missing modules, and how to fill the channels that have none.
fn to_fill(machine: &Machine, missing: u32) -> (&'static str, String) {
    let dimms = &machine.dimms;
    let named = dmi::empty_channels(dimms, machine.processors());
    let has_persistent = dimms.iter().any(|dimm| dimm.populated && dmi::is_non_volatile(dimm));
    let put = "put a module of the same kind into each empty channel";
    match named {
        // A board may have slots of more channels than the processor has.
        Some(slots) if !slots.is_empty() && slots.len() <= missing as usize => {
            ("", format!("{put}: {}", slots.join(", ")))
        }
        Some(slots) if slots.is_empty() && has_persistent => (
            " with DRAM; persistent memory has the other slots",
            "for more bandwidth, replace persistent memory by DRAM modules".to_owned(),
        ),
        _ => ("", format!("{put}: the board's manual says which slots these are")),
    }
}

fn speed(input: &CheckInput<'_>) -> CheckResult {
    let modules = match real(input) {
        Ok(modules) => modules,
        Err(none) => return none,
    };
    let speeds: Vec<(f64, f64)> =
        modules.iter().filter_map(|dimm| dimm.configured_transfers.zip(dimm.rated_transfers)).collect();
    let mega = |transfers: f64| (transfers / 1e6).round();
    let fast: Vec<&(f64, f64)> = speeds.iter().filter(|(runs, rated)| *rated < runs * SAME_SPEED).collect();
    let slow: Vec<&(f64, f64)> = speeds.iter().filter(|(runs, rated)| *runs < rated * SAME_SPEED).collect();
    // All modules run as fast as the slowest of them may.
    let held_back =
        |slowest: &SlowestModules| modules.iter().filter(|dimm| slowest.holds_back(dimm)).count() == slow.len();
    let slowest = input.machine.slowest_modules().filter(held_back);
    match (slow.first(), speeds.first()) {
        (Some((runs, rated)), _) if let Some(slowest) = slowest => {
            let value =
                format!("{} of {} modules at {} of {} MT/s", slow.len(), speeds.len(), mega(*runs), mega(*rated));
            let (least, named) = (mega(slowest.rated_transfers), slowest.named());
            CheckResult::note(value, format!("use modules of one rated speed; rated at only {least} MT/s: {named}"))
        }
        (None, _) if speeds.len() < modules.len() => CheckResult::not_reported(),
        (_, None) => CheckResult::not_reported(),
        (Some((runs, rated)), _) if (2.0 * runs - rated).abs() <= 1e6 => CheckResult::note(
            format!("{} of {} modules at {} of {} MT/s", slow.len(), speeds.len(), mega(*runs), mega(*rated)),
            "the memory speed in the firmware's setup; or the firmware states a clock in MHz, half of the MT/s: then \
             `tiermark bandwidth` exceeds the theoretical peak",
        ),
        (Some((runs, rated)), _) => CheckResult::note(
            format!("{} of {} modules at {} of {} MT/s", slow.len(), speeds.len(), mega(*runs), mega(*rated)),
            "the memory speed in the firmware's setup; the processor, and two modules on a channel, may allow no more",
        ),
        (None, Some(_)) if let Some((runs, rated)) = fast.first() => CheckResult::note(
            format!(
                "{} of {} modules at {} MT/s, above the rated {}",
                fast.len(),
                speeds.len(),
                mega(*runs),
                mega(*rated)
            ),
            "if memory has errors, set the rated speed in the firmware's setup",
        ),
        (None, Some((runs, _))) => {
            let clock = modules.iter().any(|dimm| dimm.states_clock);
            let clock = if clock { "; firmware states the clock in MHz, half of it" } else { "" };
            CheckResult::ok(format!("{} MT/s, as rated{clock}", mega(*runs)))
        }
    }
}

fn sizes(input: &CheckInput<'_>) -> CheckResult {
    let modules = match real(input) {
        Ok(modules) => modules,
        Err(none) => return none,
    };
    match modules.iter().filter(|dimm| dimm.bytes.is_some()).count() {
        0 => return CheckResult::not_reported(),
        stated if stated < modules.len() => {
            return CheckResult::not_here(format!("not judged: {stated} of {} sizes are stated", modules.len()));
        }
        _ => {}
    }
    // Persistent memory differs from the DRAM beside it by design, and accesses are interleaved over the channels of
    // one processor.
    let mut groups: BTreeMap<(Option<&str>, Option<&str>), BTreeSet<u64>> = BTreeMap::new();
    for dimm in &modules {
        let Some(bytes) = dimm.bytes else { continue };
        groups.entry((dimm.kind.as_deref(), dimm.processor.as_deref())).or_default().insert(bytes);
    }
    if let Some(sizes) = groups.values().find(|sizes| sizes.len() > 1) {
        return CheckResult::note(listed(sizes), "use modules of one size in all channels");
    }
    let each = each_size(&groups);
    // Two modules a channel, and one missing: no channel is empty.
    let of_one_kind = groups.keys().map(|(kind, _)| kind).collect::<BTreeSet<_>>().len() == 1;
    let processors: BTreeSet<Option<&str>> = groups.into_keys().map(|(_, processor)| processor).collect();
    let uneven = processors.into_iter().filter(|_| of_one_kind).find_map(|processor| {
        let own: Vec<Dimm> =
            input.machine.dimms.iter().filter(|dimm| dimm.processor.as_deref() == processor).cloned().collect();
        dmi::sizes_of_channels(&own).filter(|(sizes, _)| sizes.len() > 1)
    });
    match uneven {
        Some((sizes, empty)) => {
            let slots = if empty.is_empty() { String::new() } else { format!(": {}", empty.join(", ")) };
            let value = format!("{each}, but channels of {}", listed(&sizes));
            CheckResult::note(value, format!("fill all channels alike{slots}"))
        }
        None => CheckResult::ok(each),
    }
}

fn listed(sizes: &BTreeSet<u64>) -> String {
    sizes.iter().map(|bytes| Bytes(*bytes).to_string()).collect::<Vec<_>>().join(", ")
}

/// A processor, where slot names say which, and the sizes of its modules.
type SizesOf<'a> = (Option<&'a str>, &'a BTreeSet<u64>);

/// The size of the modules of each kind and processor, with the kind where there are several, and the processor where
/// sizes differ between processors.
fn each_size(groups: &BTreeMap<(Option<&str>, Option<&str>), BTreeSet<u64>>) -> String {
    let mut kinds: BTreeMap<Option<&str>, Vec<SizesOf<'_>>> = BTreeMap::new();
    for ((kind, processor), sizes) in groups {
        kinds.entry(*kind).or_default().push((*processor, sizes));
    }
    let has_kinds = kinds.len() > 1;
    let of_kind = |(kind, all): (Option<&str>, Vec<SizesOf<'_>>)| -> Vec<String> {
        let is_one = all.iter().all(|(_, sizes)| Some(sizes) == all.first().map(|(_, sizes)| sizes));
        let shown = if is_one { 1 } else { all.len() };
        let each = |(processor, sizes): &SizesOf<'_>| {
            let words: Vec<&str> =
                [kind.filter(|_| has_kinds), processor.filter(|_| !is_one)].into_iter().flatten().collect();
            let words = if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) };
            format!("{} each{words}", listed(sizes))
        };
        all.iter().take(shown).map(each).collect()
    };
    kinds.into_iter().flat_map(of_kind).collect::<Vec<_>>().join(", ")
}

fn nodes(input: &CheckInput<'_>) -> CheckResult {
    // A node without memory is no small one: `memory of own node` names it.
    let own = input.machine.nodes.iter().filter(|node| !node.is_memory_only() && node.installed_bytes() != Some(0));
    let sizes: Option<Vec<(u32, u64)>> = own.map(|node| Some((node.id, node.installed_bytes()?))).collect();
    let sizes = sizes.unwrap_or_default();
    let Some((_, least)) = sizes.iter().min_by_key(|(_, bytes)| *bytes) else { return CheckResult::not_reported() };
    let most = sizes.iter().map(|(_, bytes)| *bytes).max().unwrap_or_default();
    if *least as f64 >= most as f64 * SAME_SIZE {
        let each = if sizes.len() > 1 { " each" } else { "" };
        let (least, most) = (Bytes(*least).to_string(), Bytes(most).to_string());
        let sizes = if least == most { most } else { format!("{least} to {most}") };
        let offline = input.machine.offline_memory().join(", ");
        let offline = if offline.is_empty() { offline } else { format!(", offline {offline}") };
        return CheckResult::ok(format!("{sizes}{each}{offline}"));
    }
    let node_size = |wanted: u64| {
        let id = sizes.iter().find(|(_, bytes)| *bytes == wanted).map_or(0, |(id, _)| *id);
        format!("node {id} {}", Bytes(wanted))
    };
    let cure = "--mem-node keeps a footprint on one node; modules spread evenly over the sockets make the nodes alike";
    CheckResult::note(format!("{}, {}", node_size(*least), node_size(most)), cure)
}

fn own_memory(input: &CheckInput<'_>) -> CheckResult {
    let machine = input.machine;
    let away = machine.cpus_without_own_memory();
    let memory = machine.memory_nodes();
    if away.is_empty() || memory.is_empty() {
        if let Some(shared) = shared_node(input) {
            return shared;
        }
        return CheckResult::ok(if machine.nodes.len() > 1 { "of every cpu that may be used" } else { "one node" });
    }
    let homes: IdSet = away.iter().filter_map(|cpu| machine.node_of(cpu)).collect();
    if away != machine.allowed_cpus {
        let reasons: Vec<String> =
            homes.iter().filter_map(|id| machine.node(id)).map(|node| lacks(machine, node)).collect();
        let value = format!("cpus {away} have none: {}", reasons.join(", "));
        return CheckResult::note(value, "runs use the other cpus, unless --cpus names these");
    }
    let value = format!("none: all memory that may be used is of node {memory}, all cpus of node {homes}");
    CheckResult::problem(Affected::Memory, value, nearer(input, &homes, &memory))
}

/// A node with cpus of several sockets: the memory of each socket is then not seen as its own. The sockets of a guest
/// are made up.
fn shared_node(input: &CheckInput<'_>) -> Option<CheckResult> {
    let machine = input.machine;
    let sockets_of = |node: &Node| -> usize {
        let own = machine.cpus.iter().filter(|cpu| node.cpus.contains(cpu.id));
        own.map(|cpu| cpu.socket).collect::<IdSet>().len()
    };
    let node = machine
        .nodes
        .iter()
        .find(|node| sockets_of(node) > 1)
        .filter(|_| input.machine.system.hypervisor.is_none() && !is_board_of_one(input))?;
    let sockets = sockets_of(node);
    let command_line = input.root.text("proc/cmdline").unwrap_or_default();
    let is_cut = machine.contradictions.iter().any(|found| matches!(found.fact, DisputedFact::NodeAndSocket { .. }));
    let cure = match command_line.split_whitespace().any(|word| word == "numa=off") {
        true => "boot without numa=off on the kernel command line",
        false if is_cut => {
            "update the firmware: its table of nodes (SRAT) contradicts the sockets (see 'facts of the machine')"
        }
        false => "turn off node interleaving in the firmware's setup (AMD: NPS1), or boot a kernel with NUMA support",
    };
    let value = format!("{sockets} sockets share node {}: figures of DRAM mix near and far memory", node.id);
    Some(CheckResult::note(value, cure))
}

/// Whether the firmware describes clusters of cores as sockets: Arm boards with a device tree, under kernels before
/// 6.0, have one chip.
fn is_board_of_one(input: &CheckInput<'_>) -> bool {
    input.machine.cpu_model.arch.as_deref() == Some("aarch64")
        && input.root.read_bytes("proc/device-tree/compatible").is_ok()
}

/// Why a node's memory is not used.
fn lacks(machine: &Machine, node: &Node) -> String {
    let id = node.id;
    match node.memory_bytes {
        Some(0) => format!("node {id} has no memory"),
        Some(bytes) if machine.is_too_small(node) => format!("node {id} has {}", Bytes(bytes)),
        _ => format!("the cpuset allows no memory of node {id}"),
    }
}

/// How all cpus get memory of their own node.
fn nearer(input: &CheckInput<'_>, homes: &IdSet, memory: &IdSet) -> String {
    let machine = input.machine;
    let set_by = machine.system.cgroup.as_ref().and_then(|group| group.files.nodes.as_deref());
    let cpus = IdSet::union_of(machine.nodes.iter().filter(|node| memory.contains(node.id)).map(|node| &node.cpus));
    let has_some =
        |node: &&Node| homes.contains(node.id) && node.memory_bytes != Some(0) && !machine.is_too_small(node);
    let some: IdSet = machine.nodes.iter().filter(has_some).map(|node| node.id).collect();
    let mut cures = Vec::new();
    match set_by {
        _ if some.is_empty() => {}
        _ if machine.system.container.is_some() => {
            cures.push(format!(
                "ask whoever runs the container for memory of node {some} (docker run --cpuset-mems {some})"
            ));
        }
        Some(file) => cures.push(format!("for the run: echo {some} > {file}")),
        None => cures.push(format!("allow memory of node {some} in the cpuset (cpuset.mems)")),
    }
    if !cpus.is_empty() {
        cures.push(format!("run on cpus of node {memory}: taskset -c {cpus}, where the cpuset allows them"));
    }
    if some.is_empty() {
        cures.push(format!("put modules into the channels of node {homes}"));
    }
    cures.join("; or ")
}

fn emulated(input: &CheckInput<'_>) -> CheckResult {
    let parts: usize = input.machine.nodes.iter().map(|node| node.emulated.len()).sum();
    match parts {
        0 => CheckResult::ok("none"),
        _ => CheckResult::note(
            format!(
                "{parts} nodes of {} memor{}",
                input.machine.nodes.len(),
                if input.machine.nodes.len() == 1 { "y" } else { "ies" }
            ),
            "boot without numa=fake; until then tiermark measures them as one",
        ),
    }
}
