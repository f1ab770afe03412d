//! `selftest --continuous`: whether visits of 2 ms find the latency of a chase that goes on, cut into the same blocks.

use std::sync::Arc;

use tiermark_engine::{Host, nearest_memory_node, random_latency_between_runs, run_experiment};
use tiermark_model::continuous::ContinuousCheck;
use tiermark_model::{
    Bytes, CpuId, Effort, Exit, Experiment, IdSet, Labels, Machine, PageKind, Plan, Quantity, Refusal, Request, Scope,
};
use tiermark_probes::latency::{LatencyParams, PROBE};

use super::chase::Chase;
use crate::args::{SelftestArgs, Simulation};
use crate::measure;
use crate::output::{Failure, print, rendered, style};
use crate::sinks::{Listeners, Progress, Talk};
use crate::{environment, target};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// Seconds of each continuous run.
const SECONDS: f64 = 1.0;
/// Time of all visits together, as a multiple of one continuous run.
const VISITS: f64 = 12.0;
/// A continuous run with its memory and warm-up takes up to this multiple of its time, at the usual one: for progress.
const SETUP: f64 = 2.0;
/// Places in memory of a chase within the caches: which sets of a cache its pages fall into is a matter of chance.
const PLACES: usize = 5;
/// How far a figure per cycle may be from the continuous runs, as a share.
const OF_CORE: f64 = 0.005;
/// How far other figures may be, in standard deviations between runs.
const DEVIATIONS: f64 = 2.0;

/// Runs the command.
///
/// # Errors
/// A [`Failure`] if a size cannot be measured one way.
pub(super) fn run(args: &SelftestArgs) -> Result<Exit, Failure> {
    let seconds = args.seconds.unwrap_or(SECONDS);
    let seed = environment::random() & measure::SEED_MASK;
    let mut host = target::open(&Simulation::default(), seed, args.max_mem, Arc::default())?.host;
    let (page, pages) = pages(host.machine());
    let scope = Scope { page: Some(page), max_seconds: Some(VISITS * seconds), ..Scope::default() };
    let cpu = chosen_cpu(&request(&[Bytes(16 * KIB)], scope.clone(), seed)?, host.as_ref())?;
    let sizes = sizes(host.machine(), cpu, room(host.machine(), cpu, args.max_mem));
    let footprints: Vec<Footprint> = sizes.iter().map(|size| Footprint::of(*size, cpu, host.machine())).collect();
    let request = request(&sizes, Scope { cpus: Some(IdSet::from_iter([cpu])), ..scope }, seed)?;

    let mut listeners = Listeners::default();
    if args.view.verbose > 0 {
        listeners.talk = Some(Talk);
    } else {
        let each = vec![SETUP * seconds; sizes.len()];
        let expected = [&each[..], &[VISITS * seconds], &each[..]].concat();
        listeners.progress = Progress::new(expected, style(&args.view).unicode);
    }
    let before = continuous(&footprints, cpu, seconds, &mut listeners)?;
    let visits = run_experiment(&PROBE, &request, host.as_mut(), &mut listeners).unwrap_or_else(|refusal| {
        let plan = Plan { refused: vec![refusal], ..Plan::default() };
        Experiment::new(request, PROBE.method, plan)
    });
    // Its regions would take the memory of the chase.
    drop(host);
    let after = continuous(&footprints, cpu, seconds, &mut listeners)?;
    drop(listeners);

    let references = before.into_iter().zip(after).map(|(before, after)| [before, after]);
    let rows: Vec<ContinuousCheck> =
        footprints.iter().zip(references).filter_map(|(of, references)| of.row(references, &visits)).collect();
    let setup = format!("cpu {cpu}, {pages}");
    print(&rendered(&args.view, |_| tiermark_report::listings::continuous(&rows, &setup)))?;
    if rows.is_empty() {
        let refused: Vec<&Refusal> = visits.plan.refused.iter().collect();
        crate::output::complain_once(refused);
    }
    Ok(exit(&rows))
}

/// A failure if a trusted figure is wrong; a part if no figure is judged.
fn exit(rows: &[ContinuousCheck]) -> Exit {
    if rows.iter().any(ContinuousCheck::fails) {
        Exit::Failure
    } else if rows.iter().any(ContinuousCheck::is_judged) {
        Exit::Done
    } else {
        Exit::Partial
    }
}

/// The page size of both ways, and why. The chase takes ordinary memory of a program, which has huge pages only where
/// they are for all programs.
fn pages(machine: &Machine) -> (PageKind, String) {
    let enabled = machine.system.thp_mode().unwrap_or("not there");
    if enabled == "always" {
        return (PageKind::Thp, "both ways on transparent huge pages".into());
    }
    let base = Bytes(machine.page_bytes);
    (
        PageKind::Base,
        format!("both ways on base pages ({base}), as transparent huge pages are '{enabled}', not 'always'"),
    )
}

/// The request that `tiermark latency --sizes` makes of these sizes.
fn request(sizes: &[Bytes], scope: Scope, seed: u64) -> Result<Request, Failure> {
    let params = LatencyParams { sizes: sizes.to_vec(), ..LatencyParams::default() };
    let params = serde_json::to_value(params).map_err(Failure::tool)?;
    let (probe, effort) = ("latency".to_owned(), Effort::Standard);
    Ok(Request { probe, scope, effort, precision: None, seed, params, part: None })
}

/// The cpu that `tiermark latency` chooses.
fn chosen_cpu(request: &Request, host: &dyn Host) -> Result<CpuId, Failure> {
    let plan = PROBE.plan(request, host.lab())?;
    let cpus = plan.steps.first().and_then(|step| step.setup.threads.first()).map(|thread| thread.cpu);
    cpus.ok_or_else(|| Failure::tool("the plan of `latency` has no step"))
}

/// Most memory of one chase: a quarter of what is free, so that other programs keep theirs.
fn room(machine: &Machine, cpu: CpuId, max_mem: Option<Bytes>) -> u64 {
    let node = nearest_memory_node(cpu, machine).and_then(|id| machine.node(id)).and_then(|node| node.free_bytes);
    let group = machine.system.cgroup.as_ref();
    let group = group.and_then(tiermark_model::Cgroup::memory_left);
    let free = [node, group, machine.system.available_bytes].into_iter().flatten().min().unwrap_or(0);
    (free / 4).min(max_mem.map_or(u64::MAX, |most| most.0))
}

/// The sizes: two within the caches of the core, three within a shared one, and memory.
fn sizes(machine: &Machine, cpu: CpuId, room: u64) -> Vec<Bytes> {
    let cache = |level| machine.cache_of(cpu, level).and_then(|cache| cache.bytes).unwrap_or(0);
    let (l2, l3) = (cache(2), cache(3));
    let inner = [16 * KIB, if l2 > 0 { (l2 / 2).min(256 * KIB) } else { 256 * KIB }];
    let shared = [MIB, 8 * MIB, 16 * MIB].into_iter().filter(|bytes| *bytes <= l3 / 2);
    let memory = room.min(1 << 30) / MIB * MIB;
    let reach = machine.reachable_cache_bytes(&IdSet::from_iter([cpu]));
    let fits = |bytes: &u64| PLACES as u64 * bytes <= room;
    let mut sizes: Vec<u64> = inner.into_iter().chain(shared).filter(fits).collect();
    sizes.extend((memory > 0 && memory >= 2 * reach).then_some(memory));
    sizes.sort_unstable();
    sizes.dedup();
    sizes.into_iter().map(Bytes).collect()
}

/// One size, and what it is compared by.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Footprint {
    size: Bytes,
    /// Whether it lies within the caches of the core, which have its clock.
    is_of_core: bool,
    places: usize,
    tolerance: f64,
}

impl Footprint {
    fn of(size: Bytes, cpu: CpuId, machine: &Machine) -> Self {
        let cache = |level| machine.cache_of(cpu, level).and_then(|cache| cache.bytes).unwrap_or(0);
        // As in the engine: half of the second level leaves room for all else.
        let (is_of_core, is_cached) = (size.0 <= cache(2) / 2, size.0 <= cache(3).max(cache(2)));
        let tolerance = if is_of_core { OF_CORE } else { DEVIATIONS * random_latency_between_runs(is_cached, machine) };
        Self { size, is_of_core, places: if is_cached { PLACES } else { 1 }, tolerance }
    }

    /// The latency of a continuous run, in each state; empty of one that was disturbed all the time.
    fn chased(&self, cpu: CpuId, seconds: f64) -> Result<Vec<f64>, Failure> {
        let bytes = usize::try_from(self.size.0).map_err(Failure::tool)?;
        let chase = Chase { bytes, places: self.places, is_clocked: self.is_of_core };
        let recording = chase.run(cpu as usize, seconds);
        let failed = |why| Failure::tool(format!("continuous chase over {}: {why}", self.size));
        Ok(recording.map_err(failed)?.latencies())
    }

    /// A row of the table; `None` of a size that the plan left out.
    fn row(&self, references: [Vec<f64>; 2], visits: &Experiment) -> Option<ContinuousCheck> {
        let of_size = |labels: &Labels| labels.size() == Some(self.size);
        let mut latencies = visits.findings.iter().filter(|found| found.quantity == Quantity::Latency);
        let found = latencies.find(|found| of_size(&found.labels))?;
        let seen = visits.observations.iter().find(|seen| of_size(&seen.labels));
        let cycles = seen.and_then(|seen| seen.per_cycle).map(|cycles| cycles.value);
        Some(ContinuousCheck {
            size: self.size,
            is_in_cycles: self.is_of_core,
            references,
            figure: if self.is_of_core { cycles } else { found.value },
            verdict: found.verdict.clone(),
            tolerance: self.tolerance,
        })
    }
}

/// The latency of each size in turn.
fn continuous(of: &[Footprint], cpu: CpuId, seconds: f64, listeners: &mut Listeners) -> Result<Vec<Vec<f64>>, Failure> {
    let chased = |of: &Footprint| {
        listeners.progress.iter_mut().for_each(|bar| bar.begin(&format!("continuous chase, {}", of.size)));
        of.chased(cpu, seconds)
    };
    of.iter().map(chased).collect()
}

#[cfg(test)]
mod tests {
    use tiermark_model::{Grade, Verdict};

    use super::*;

    fn sizes_of(spec: &str, room: u64) -> Vec<String> {
        let machine = target::machine(&target::tree(spec).unwrap()).unwrap();
        sizes(&machine, 0, room).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_level_has_a_size() {
        let big = "synth:cores=2,l1=48K,l2=1M,l3=32M";
        assert_eq!(sizes_of(big, 4 << 30), ["16 KiB", "256 KiB", "1 MiB", "8 MiB", "16 MiB", "1 GiB"]);
        assert_eq!(sizes_of(big, 200 << 20), ["16 KiB", "256 KiB", "1 MiB", "8 MiB", "16 MiB", "200 MiB"]);
        assert_eq!(sizes_of(big, 40 << 20), ["16 KiB", "256 KiB", "1 MiB", "8 MiB"], "no memory beyond the caches");
        assert_eq!(sizes_of(big, 80 << 10), ["16 KiB"]);
        assert_eq!(sizes_of("synth:cores=2,l2=256K,l3=6M", 4 << 30), ["16 KiB", "128 KiB", "1 MiB", "1 GiB"]);
    }

    #[test]
    fn caches_of_the_core_are_held_closely_and_memory_loosely() {
        let mut machine = target::machine(&target::tree("synth:cores=2,l1=48K,l2=1M,l3=32M").unwrap()).unwrap();
        machine.system.hypervisor = Some("kvm".into());
        let of = |size| {
            let of = Footprint::of(Bytes(size), 0, &machine);
            (of.is_of_core, of.places, of.tolerance)
        };
        assert_eq!([of(16 * KIB), of(512 * KIB)], [(true, 5, 0.005); 2]);
        assert_eq!([of(MIB), of(16 * MIB)], [(false, 5, 0.05); 2]);
        assert_eq!(of(1 << 30), (false, 1, 0.08));
    }

    #[test]
    fn base_pages_unless_huge_pages_are_for_all() {
        let of = |word: Option<&str>| {
            let mut machine = target::machine(&target::tree("synth:cores=2").unwrap()).unwrap();
            machine.system.thp = word.map(str::to_owned);
            pages(&machine)
        };
        assert_eq!(of(Some("always")).0, PageKind::Thp);
        let (page, why) = of(Some("madvise"));
        assert_eq!(page, PageKind::Base);
        assert!(why.contains("4 KiB") && why.contains("madvise"), "{why}");
        assert_eq!(of(None).0, PageKind::Base);
    }

    #[test]
    fn only_trusted_figures_fail_and_shared_ones_are_judged() {
        let row = |figure: f64, grade: Grade| {
            let verdict = Verdict { grade, ..Verdict::trusted() };
            let (references, figure) = ([vec![100.0], vec![100.0]], Some(figure));
            ContinuousCheck { size: Bytes(MIB), is_in_cycles: false, references, figure, verdict, tolerance: 0.05 }
        };
        let (fine, wrong) = (row(104.0, Grade::Trusted), row(106.0, Grade::Trusted));
        let (moved, loose) = (row(106.0, Grade::Shared), row(150.0, Grade::Bound));
        assert_eq!(exit(&[fine.clone(), loose.clone()]), Exit::Done);
        assert_eq!(exit(&[fine, wrong, loose.clone()]), Exit::Failure);
        assert_eq!(exit(&[moved]), Exit::Done);
        assert_eq!(exit(&[loose]), Exit::Partial);
    }
}
