//! The cells that are visited: sharp steps of other probes, with footprints that suit a long watch.

use tiermark_engine::{Host, Lab, Probe};
use tiermark_model::messages::active as says;
use tiermark_model::{
    Before, Bytes, ChainLayout, CpuId, Cure, Effort, IdSet, KIB, Labels, Layout, MIB, Machine, MemPolicy, Metric,
    PageKind, Refusal, RegionSetup, Request, Role, Scope, Setup, Step, StopRule, ThreadSetup, Tier,
};

use super::held;
use crate::bandwidth::{self, BandwidthParams, ThreadCount};
use crate::found::{Found, FoundTier};
use crate::latency::{self, LatencyParams};
use crate::memory_kinds::quiet_cpu;
use crate::residency::{INNER, inner_bytes, shared_cache};
use crate::steps::{default_page, scope_cpus, setup};
use crate::tiers::{Rung, ladder_of};

/// Memory of a cell of DRAM at most, unless that would lie within the caches.
const DRAM_MOST: u64 = 256 * MIB;
/// Share of the available memory that both cells of DRAM take together: a twentieth, or a tenth where less would lie
/// within the caches.
const SHARE: u64 = 20;
/// Footprint over the caches in reach below which they would answer too often.
const BEYOND_CACHES: u64 = 2;
/// A range that is looked at is this part of the cache, as the footprint of the cell of its latency is, so that hits
/// take as long; half of it where a quarter is no more than the caches closer to the core hold.
const RANGE_PARTS: [u64; 2] = [4, 2];
/// Bytes of the range at most, unless closer caches would hold it: to read it takes a millisecond.
const RANGE_MOST: u64 = 8 * MIB;
/// Part of the time of memory from which on a level is none: its accesses miss.
pub(super) const MEMORY: f64 = 0.8;
/// Accesses of a look at what a cache still holds: 50 µs of hits.
const LOOKS: u32 = 2048;
/// Cpus that are pinged at most: partners at distance 1, 2 and 4 show which of eight lie together.
const PINGED: usize = 8;
/// Memory of each thread that is pinged: it works in its first level.
const PINGED_BYTES: u64 = 16 * KIB;

/// The figure that a cell gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Figure {
    /// Latency of a level, or of memory (`None`).
    Latency(Option<u8>),
    /// Bandwidth of the first level, or of memory.
    Bandwidth(Option<u8>),
    /// What the shared cache still holds.
    Kept,
    /// Round trips between cpus.
    Pings,
}

/// A cell as it is planned.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Planned {
    pub(super) figure: Figure,
    pub(super) step: Step,
    /// The probe whose step it is, and the version of its method, for the record; `None` for steps that only a watch
    /// has.
    pub(super) of: Option<(&'static str, u32)>,
}

/// What a watch visits.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Cells {
    pub(super) cpu: CpuId,
    pub(super) cells: Vec<Planned>,
    /// The cpus that are pinged.
    pub(super) pinged: Vec<CpuId>,
    pub(super) refused: Vec<Refusal>,
}

/// The cells of a machine.
///
/// # Errors
/// A [`Refusal`] where not even the first level can be measured.
pub(super) fn cells(host: &mut dyn Host, seed: u64) -> Result<Cells, Refusal> {
    let lab = &host.lab().clone();
    let machine = &lab.machine;
    let cpus = scope_cpus(&Scope::default(), machine)?;
    let cpu = quiet_cpu(machine, &cpus).ok_or_else(|| tiermark_model::messages::plan::no_cpu("watch --active"))?;
    let only: IdSet = [cpu].into_iter().collect();
    let mut cells = Cells { cpu, ..Cells::default() };
    let scope = Scope { cpus: Some(only.clone()), max_mem: dram_cap(machine, &only, &mut cells), ..Scope::default() };
    let found = held::tiers(host, lab, cpu, seed)?;
    let request = Request {
        probe: "watch --active".to_owned(),
        scope,
        effort: Effort::Quick,
        precision: None,
        seed,
        params: serde_json::Value::Null,
        part: None,
    };
    let mut rungs = ladder_of(machine, &only, &request, &found).rungs;
    let shared = shared_level(&found, machine, cpu);
    if let Shared::Memory(declared) = shared {
        rungs.retain(|rung| rung.tier != Tier::Cache(3));
        cells.refused.push(says::active_level_is_memory("L3", declared));
    }
    let level = |rung: &Rung| match rung.tier.level() {
        None => (rung.tier.is_dram() && request.scope.max_mem.is_some()).then_some(None),
        level => Some(level),
    };
    let rungs: Vec<(Option<u8>, &Rung)> = rungs
        .iter()
        .filter_map(|rung| Some((level(rung)?, rung)))
        .filter(|(level, _)| level.is_none_or(|level| level <= 3))
        .collect();
    let table = Table { lab, scope: &request.scope, seed };
    for (level, tier) in &rungs {
        cells.cells.push(table.latency(*level, tier.bytes)?);
    }
    for (level, tier) in rungs.iter().filter(|(level, _)| matches!(level, None | Some(1))) {
        cells.cells.push(table.bandwidth(*level, tier.stream_bytes)?);
    }
    let holds = if let Shared::Holds(bytes) = shared { Some(bytes) } else { None };
    cells
        .cells
        .extend(holds.and_then(|bytes| kept(machine, cpu, bytes, seed)).filter(|_| request.scope.max_mem.is_some()));
    cells.pinged = machine.cores_first(&cpus).into_iter().take(PINGED).collect();
    cells.pinged.sort_unstable();
    // A host whose cpus stay where they are makes none answer: its first visit is the last.
    if cells.pinged.len() > 1 {
        cells.cells.push(pings(&cells.pinged, seed));
    }
    Ok(cells)
}

/// What a footprint in the third level is, by measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shared {
    /// The cache holds so many bytes at least.
    Holds(u64),
    /// No footprint beyond the second level is faster than memory, whatever size is declared.
    Memory(Bytes),
    /// None is declared.
    Absent,
}

/// The third level as a curve shows it; as it is declared where there is no curve.
fn shared_level(found: &Found, machine: &Machine, cpu: CpuId) -> Shared {
    // A hit takes what the cell of the third level measures.
    let declared = shared_cache(machine, cpu).filter(|cache| cache.level == 3).and_then(|cache| cache.bytes);
    let Some(declared) = declared else { return Shared::Absent };
    if found.tiers.is_empty() {
        return Shared::Holds(declared);
    }
    // Where others evict its lines a cache has no plateau, but is faster than memory beyond what closer caches hold.
    let beyond = INNER * inner_bytes(machine, cpu);
    let is_faster = |ns: f64| found.memory.is_none_or(|(_, memory)| ns < memory / 2.0);
    let is_cache = |tier: &FoundTier| tier.plateau.is_some() || (tier.rung > beyond && is_faster(tier.ns));
    match found.tiers.iter().find(|tier| tier.level == 3 && is_cache(tier)) {
        Some(tier) => Shared::Holds(declared.min(tier.plateau.map_or(tier.rung, |(_, to)| to))),
        None => Shared::Memory(Bytes(declared)),
    }
}

/// Most memory of a cell of DRAM; `None`, with a refusal, if there is too little.
fn dram_cap(machine: &Machine, only: &IdSet, cells: &mut Cells) -> Option<Bytes> {
    let caches = machine.reachable_cache_bytes(only);
    let least = BEYOND_CACHES * caches.max(4 * MIB);
    let most = DRAM_MOST.max(least + least / 4);
    let Some(available) = machine.system.available_bytes else { return Some(Bytes(most)) };
    let largest = available / SHARE;
    // A cache of unknown size may hold a small one.
    let usual = if machine.all_cache_bytes(only).is_some() { largest / 2 } else { largest };
    if largest < least {
        cells.refused.push(says::active_memory_scarce(Bytes(largest), Bytes(caches)));
        return None;
    }
    Some(Bytes(usual.clamp(least, most.max(least))))
}

/// Steps as other probes make them for a table, so that the machine's record has the same.
struct Table<'a> {
    lab: &'a Lab,
    scope: &'a Scope,
    seed: u64,
}

impl Table<'_> {
    fn latency(&self, level: Option<u8>, bytes: u64) -> Result<Planned, Refusal> {
        // Of memory, a line with its translation at hand, as the tier DRAM has it everywhere.
        let layouts = if level.is_none() { vec![ChainLayout::Groups] } else { Vec::new() };
        let params = LatencyParams { sizes: vec![Bytes(bytes)], layouts, ..LatencyParams::default() };
        self.first(&latency::PROBE, serde_json::to_value(params), Figure::Latency(level))
    }

    fn bandwidth(&self, level: Option<u8>, bytes: u64) -> Result<Planned, Refusal> {
        let params = BandwidthParams {
            sizes: vec![Bytes(bytes)],
            ops: vec!["read".to_owned()],
            threads: vec![ThreadCount::One],
            ..BandwidthParams::default()
        };
        self.first(&bandwidth::PROBE, serde_json::to_value(params), Figure::Bandwidth(level))
    }

    fn first(
        &self,
        probe: &Probe,
        params: serde_json::Result<serde_json::Value>,
        figure: Figure,
    ) -> Result<Planned, Refusal> {
        let (id, method) = (probe.id, probe.method);
        let request = Request {
            probe: id.to_owned(),
            scope: self.scope.clone(),
            effort: Effort::Quick,
            precision: None,
            seed: self.seed,
            // Numbers and words only, so that it always is JSON.
            params: params.unwrap_or_default(),
            part: None,
        };
        let step = probe.plan(&request, self.lab)?.steps.into_iter().next();
        let step = step.ok_or_else(|| {
            tiermark_model::messages::plan::nothing_to_measure(id, &Cure::new("watch without --active", &["--active"]))
        })?;
        Ok(Planned { figure, step, of: Some((id, method)) })
    }
}

/// A range of what the shared cache holds that no closer one does, of which each visit sees what is left of it.
fn kept(machine: &Machine, cpu: CpuId, bytes: u64, seed: u64) -> Option<Planned> {
    let inner = INNER * inner_bytes(machine, cpu);
    let largest = RANGE_MOST.max(2 * inner);
    let range = RANGE_PARTS.iter().map(|part| (bytes / part).min(largest)).find(|range| *range > inner)?;
    let role = Role::Revisit { wait_ns: 0, accesses: LOOKS, before: Before::UsedAgain, since_last: true };
    let layout = Layout::Chain(ChainLayout::Random);
    let setup = setup(&[cpu], Bytes(range / KIB * KIB), None, default_page(machine), layout, &role, seed);
    Some(Planned { figure: Figure::Kept, step: own_step("kept", Metric::Latency, setup), of: None })
}

/// One thread on each cpu, which the host makes answer each other before and after its work.
fn pings(cpus: &[CpuId], seed: u64) -> Planned {
    let region = RegionSetup {
        bytes: Bytes(PINGED_BYTES),
        policy: MemPolicy::Bind,
        nodes: IdSet::new(),
        page: PageKind::Base,
        layout: Layout::Chain(ChainLayout::Random),
    };
    let thread = |(index, cpu): (usize, &CpuId)| ThreadSetup::new(*cpu, Role::Chase { chains: 1 }, index);
    let threads = cpus.iter().enumerate().map(thread).collect();
    let setup = Setup { regions: vec![region; cpus.len()], threads, seed };
    Planned { figure: Figure::Pings, step: own_step("pings", Metric::Latency, setup), of: None }
}

fn own_step(name: &str, metric: Metric, setup: Setup) -> Step {
    // A watch never ends a step: the rule is not looked at.
    let stop = StopRule { precision: 0.0, allocations: 1, min_visits: 1, max_visits: 1, shot_seconds: 0.0 };
    Step { id: format!("watch/{name}"), labels: Labels::new(), phase: 0, metric, setup, stop }
}
