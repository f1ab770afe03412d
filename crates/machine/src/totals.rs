//! The memory of the machine where its views differ: the kernel's totals, the nodes', and the modules'.

use tiermark_model::{Bytes, Cgroup, Dimm, DisputedFact, Node, System};

use crate::dmi;
use crate::reader::{Reader, Says};

/// Settles the memory of the machine where its views differ: a container's `/proc/meminfo` shows the container's limit,
/// and the node of a guest may not count memory that was added while it ran. Memory can be hidden, but not invented:
/// the larger sum holds, unless the memory modules are for the smaller one. Returns what `/proc/meminfo` states where it
/// is less than the machine's.
pub(crate) fn settle_memory(
    reader: &Reader<'_>,
    nodes: &[Node],
    modules: Option<Modules>,
    system: &mut System,
) -> Option<OwnMemory> {
    let mut own = None;
    let is_real = system.hypervisor.is_none() && nodes.iter().all(|node| !node.is_memory_only());
    let modules = modules.filter(|_| is_real);
    let sum = |field: fn(&Node) -> Option<u64>| nodes.iter().map(field).sum::<Option<u64>>();
    if let Some((by_node, total)) = sum(|node| node.memory_bytes).zip(system.memory_bytes)
        // Rounding and memory that belongs to no node stay far below a tenth.
        && by_node.abs_diff(total) > total / 10
    {
        const MEMINFO: &str = "/proc/meminfo";
        let (by_nodes, by_machine) = (Bytes(by_node), Bytes(total));
        let (node, whole): (Says<'_>, Says<'_>) = (("the nodes' meminfo", &by_nodes), (MEMINFO, &by_machine));
        let backs = |bytes: u64| modules.as_ref().is_some_and(|modules| modules.back(bytes));
        let nodes_hold = by_node > total && (backs(by_node) || !backs(total)) || backs(by_node) && !backs(total);
        let (used, set_aside) = if nodes_hold { (node, whole) } else { (whole, node) };
        reader.contradict(DisputedFact::Memory, used, set_aside);
        if nodes_hold {
            own = Some(OwnMemory { total, available: system.available_bytes }).filter(|own| own.total < by_node);
            system.memory_bytes = Some(by_node);
            system.available_bytes = sum(|node| node.free_bytes);
        }
    }
    if let Some((total, available)) = system.memory_bytes.zip(system.available_bytes).filter(|(all, some)| some > all) {
        let (total_is, available_is) = (Bytes(total), Bytes(available));
        reader.contradict(DisputedFact::AvailableMemory, ("MemTotal", &total_is), ("MemAvailable", &available_is));
        system.available_bytes = Some(total);
    }
    if let Some((modules, total)) = modules.zip(system.memory_bytes).filter(|(modules, total)| !modules.back(*total)) {
        let installed = Bytes(modules.dram);
        reader.contradict(DisputedFact::Modules, ("the kernel", &Bytes(total)), ("SMBIOS", &installed));
    }
    own
}

/// Memory of a container by its own `/proc/meminfo`, which lxcfs makes from the limits of control groups.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnMemory {
    total: u64,
    available: Option<u64>,
}

impl OwnMemory {
    /// Whether that file is a container's: mounted over the kernel's, or seen in a container.
    pub(crate) fn is_of_container(reader: &Reader<'_>, system: &System) -> bool {
        let mounts = reader.lines("proc/self/mountinfo").unwrap_or_default();
        system.container.is_some() || mounts.lines().any(|line| line.split(' ').nth(4) == Some("/proc/meminfo"))
    }

    /// Makes it the limit of a group of which no smaller one is visible.
    pub(crate) fn limit(self, group: &mut Cgroup) {
        if group.memory_limit.is_none_or(|limit| limit > self.total) {
            group.memory_limit = Some(self.total);
            group.memory_used = self.available.map(|available| self.total.saturating_sub(available));
            group.files.memory = Some("/proc/meminfo".to_owned());
            (group.limit_throttles, group.memory_kills, group.memory_unseen_above) = (false, None, false);
        }
    }

    /// Bounds the available memory, where no control group is visible.
    pub(crate) fn bound(self, system: &mut System) {
        let least = |available: u64| self.available.map_or(available, |own| own.min(available));
        system.available_bytes = system.available_bytes.map(least);
    }
}

/// Bytes of the machine's memory modules.
pub(crate) struct Modules {
    dram: u64,
    /// With those that are not DRAM: in a processor's memory mode they are the memory, and DRAM is their cache. With
    /// those on CXL cards: firmware may interleave them with the DRAM of a node.
    all: u64,
    /// The smallest module of DRAM, where there are several. Chips that are soldered to the board (LPDDR) are no
    /// modules that are lost alone.
    smallest: Option<u64>,
    /// What of it the kernel may leave uncounted: firmware keeps it for enclaves (SGX), or its blocks are offline.
    /// Offline blocks need not be of these modules: CXL and persistent memory may be added at run time.
    uncounted: u64,
}

/// Share of the modules that the kernel keeps for its own descriptions of pages, with room to spare: 1.6 % at 4 KiB.
const OWN_SHARE: u64 = 50;

impl Modules {
    pub(crate) fn of(dimms: &[Dimm], cxl: &[Dimm]) -> Option<Self> {
        let populated: Vec<u64> = dimms.iter().filter(|dimm| dimm.populated).filter_map(|dimm| dimm.bytes).collect();
        let is_soldered = dimms.iter().filter_map(|dimm| dimm.kind.as_deref()).any(|kind| kind.starts_with("LPDDR"));
        let smallest = populated.iter().min().copied().filter(|_| populated.len() > 1 && !is_soldered);
        let all =
            dmi::bytes_of_all(dimms)?.saturating_add(tiermark_model::total(cxl.iter().filter_map(|dimm| dimm.bytes)));
        Some(Self { dram: dmi::bytes_of_dram(dimms)?, all, smallest, uncounted: 0 })
    }

    /// The same where the kernel may leave so many bytes of it uncounted.
    pub(crate) fn without(self, uncounted: u64) -> Self {
        Self { uncounted, ..self }
    }

    /// Whether so much is missing that it is a module: firmware maps a faulty one out, and `mem=` leaves memory unused.
    /// What firmware and graphics keep is less than most of a module.
    fn lack_one(&self, total: u64) -> bool {
        let missing = self.dram.saturating_sub(total).saturating_sub(self.dram / OWN_SHARE);
        self.all == self.dram && self.smallest.is_some_and(|bytes| missing >= bytes / 4 * 3)
    }

    /// Whether a total that the kernel manages can be of these modules: it is no more than they hold, and firmware and
    /// the kernel itself keep less than a third. What is not counted explains memory that is missing, and no more.
    fn back(&self, total: u64) -> bool {
        let held = total.saturating_add(self.uncounted);
        total <= self.all && self.dram / 3 * 2 <= held && !self.lack_one(held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_back_a_total_that_they_can_hold() {
        let dimm = |gib: u64, kind: &str| Dimm {
            populated: true,
            bytes: Some(gib << 30),
            kind: Some(kind.to_owned()),
            ..Dimm::default()
        };
        let back = |dimms: &[Dimm], gib: u64| Modules::of(dimms, &[]).is_some_and(|modules| modules.back(gib << 30));
        let ddr = vec![dimm(32, "DDR4"); 8];
        assert!(back(&ddr, 251) && !back(&ddr, 858) && !back(&ddr, 125), "256 GiB");
        assert!(!back(&ddr, 220), "a module of 32 GiB is mapped out");
        // Firmware, graphics and a crash kernel keep less than a module.
        assert!(back(&vec![dimm(8, "DDR4"); 2], 12) && back(&[dimm(16, "DDR5")], 11) && back(&ddr, 230));
        let soldered = vec![dimm(2, "LPDDR5"); 8];
        assert!(
            back(&soldered, 12) && !back(&soldered, 10),
            "graphics keep some of what is soldered to a laptop's board"
        );
        let enclaves = Modules::of(&ddr, &[]).map(|modules| modules.without(64 << 30));
        assert!(enclaves.is_some_and(|modules| modules.back(188 << 30) && !modules.back(160 << 30)));
        // Two modules of 32 GiB whose blocks are offline.
        let offline = Modules::of(&ddr, &[]).map(|modules| modules.without(64 << 30));
        assert!(!back(&ddr, 187) && offline.is_some_and(|modules| modules.back(187 << 30)));
        // 128 GiB of CXL or persistent memory, which firmware does not list as modules.
        let added = Modules::of(&ddr, &[]).map(|modules| modules.without(128 << 30));
        assert!(added.is_some_and(|modules| modules.back(252 << 30) && !modules.back(300 << 30)));
        let memory_mode = [vec![dimm(32, "DDR4"); 6], vec![dimm(128, "Logical non-volatile device"); 4]].concat();
        assert!(back(&memory_mode, 504), "the non-volatile modules are the memory, DRAM is their cache");
        let with_card = Modules::of(&ddr, &[dimm(128, "DDR5")]);
        assert!(
            with_card.is_some_and(|modules| modules.back(380 << 30) && modules.back(251 << 30)),
            "a card of 128 GiB"
        );
    }

    #[test]
    fn modules_decide_between_two_totals() {
        let settled = |nodes: u64, meminfo: u64, modules: u64| {
            let root = crate::Root::from_files("test", Vec::<(String, String)>::new());
            let node = Node { memory_bytes: Some(nodes << 30), cpus: (0..4).collect(), ..Node::default() };
            let dimm =
                Dimm { populated: true, bytes: Some(modules << 30), kind: Some("DDR5".into()), ..Dimm::default() };
            let mut system = System { memory_bytes: Some(meminfo << 30), ..System::default() };
            let reader = Reader::new(&root);
            settle_memory(&reader, &[node], Modules::of(&[dimm], &[]), &mut system);
            let misleads = reader.contradictions().iter().any(|found| found.fact.misleads());
            (system.memory_bytes.map(|bytes| bytes >> 30), misleads)
        };
        assert_eq!(settled(220, 858, 224), (Some(220), false), "two of three agree");
        assert_eq!(settled(220, 251, 256), (Some(251), false));
        assert_eq!(settled(251, 4, 256), (Some(251), false), "a container's limit");
        assert_eq!(settled(220, 858, 0), (Some(858), false), "nothing else decides");
        assert_eq!(settled(120, 120, 256), (Some(120), true), "half of the modules' memory is missing");
    }
}
