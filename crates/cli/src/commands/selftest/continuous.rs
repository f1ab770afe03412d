//! `selftest --continuous`: whether visits of 2 ms find the latency of a chase that nothing interrupts.

use std::sync::Arc;

use tiermark_engine::{Host, nearest_memory_node, run_experiment};
use tiermark_listings::{ContinuousRow, Level};
use tiermark_model::{
    Bytes, CpuId, Effort, Exit, Experiment, IdSet, Machine, PageKind, Plan, Quantity, Refusal, Request, Scope,
};
use tiermark_probes::latency::{LatencyParams, PROBE};

use super::chase;
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
const SETUP: f64 = 1.5;

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
    let request = request(&sizes, Scope { cpus: Some(IdSet::from_iter([cpu])), ..scope }, seed)?;

    let mut listeners = Listeners::default();
    if args.view.verbose > 0 {
        listeners.talk = Some(Talk);
    } else {
        let each = vec![SETUP * seconds; sizes.len()];
        let expected = [&each[..], &[VISITS * seconds], &each[..]].concat();
        listeners.progress = Progress::new(expected, style(&args.view).unicode);
    }
    let before = continuous(&sizes, cpu, seconds, &mut listeners)?;
    let visits = run_experiment(&PROBE, &request, host.as_mut(), &mut listeners).unwrap_or_else(|refusal| {
        let plan = Plan { refused: vec![refusal], ..Plan::default() };
        Experiment::new(request, PROBE.method, plan)
    });
    // Its regions would take the memory of the chase.
    drop(host);
    let after = continuous(&sizes, cpu, seconds, &mut listeners)?;
    drop(listeners);

    let levels = before.into_iter().zip(after).map(|(before, after)| [before, after]);
    let rows: Vec<ContinuousRow> =
        sizes.iter().zip(levels).filter_map(|(size, levels)| row(*size, levels, &visits)).collect();
    let setup = format!("cpu {cpu}, {pages}");
    print(&rendered(&args.view, |_| tiermark_listings::continuous(&rows, &setup)))?;
    if rows.is_empty() {
        let refused: Vec<&Refusal> = visits.plan.refused.iter().collect();
        crate::output::complain_once(refused);
    }
    Ok(exit(&rows))
}

/// A failure if a trusted figure is wrong; a part if no figure is trusted, because then nothing was compared.
fn exit(rows: &[ContinuousRow]) -> Exit {
    if rows.iter().any(ContinuousRow::is_wrong) {
        Exit::Failure
    } else if rows.iter().any(ContinuousRow::is_trusted) {
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

/// Most memory of one size: a quarter of what is free, so that other programs keep theirs.
fn room(machine: &Machine, cpu: CpuId, max_mem: Option<Bytes>) -> u64 {
    let node = nearest_memory_node(cpu, machine).and_then(|id| machine.node(id)).and_then(|node| node.free_bytes);
    let group = machine.system.cgroup.as_ref();
    let group = group.and_then(tiermark_model::Cgroup::memory_left);
    let free = [node, group, machine.system.available_bytes].into_iter().flatten().min().unwrap_or(0);
    (free / 4).min(max_mem.map_or(u64::MAX, |most| most.0))
}

/// The sizes: in the middle of each level of the caches, where a few lines more or less change nothing, and memory.
fn sizes(machine: &Machine, cpu: CpuId, room: u64) -> Vec<Bytes> {
    let cache = |level| machine.cache_of(cpu, level).and_then(|cache| cache.bytes).unwrap_or(0);
    let (l2, l3) = (cache(2), cache(3));
    let inner = [16 * KIB, if l2 > 0 { l2 / 2 } else { 256 * KIB }];
    // Just beyond the second level the visits before it matter most; at twice its size the chance of placement does.
    let shared = [4 * l2, if l3 >= 16 * MIB { 8 * MIB } else { l3 / 2 }];
    let shared = shared.into_iter().filter(|bytes| *bytes >= 2 * l2 && *bytes <= l3 / 2);
    let memory = room.min(1 << 30) / MIB * MIB;
    let reach = machine.reachable_cache_bytes(&IdSet::from_iter([cpu]));
    let mut sizes: Vec<u64> = inner.into_iter().chain(shared).filter(|bytes| *bytes > 0 && *bytes <= room).collect();
    sizes.extend((memory > 0 && memory >= 2 * reach).then_some(memory));
    sizes.sort_unstable();
    sizes.dedup();
    sizes.into_iter().map(Bytes).collect()
}

fn continuous(sizes: &[Bytes], cpu: CpuId, seconds: f64, listeners: &mut Listeners) -> Result<Vec<Level>, Failure> {
    let level = |size: &Bytes| {
        listeners.progress.iter_mut().for_each(|bar| bar.begin(&format!("continuous chase, {size}")));
        let bytes = usize::try_from(size.0).map_err(Failure::tool)?;
        let level = chase::run(bytes, cpu as usize, seconds);
        let level = level.map_err(|why| Failure::tool(format!("continuous chase over {size}: {why}")))?;
        Ok(Level { low: level.low, median: level.median })
    };
    sizes.iter().map(level).collect()
}

/// A row of the table; `None` of a size that the plan left out.
fn row(size: Bytes, levels: [Level; 2], visits: &Experiment) -> Option<ContinuousRow> {
    let of_size =
        |finding: &&tiermark_model::Finding| finding.metric == Quantity::Latency && finding.labels.size() == Some(size);
    let found = visits.findings.iter().find(of_size)?;
    let now = visits.observations.iter().find(|seen| seen.labels.size() == Some(size)).and_then(|seen| seen.typical);
    let (value, verdict) = (found.value, found.verdict.clone());
    Some(ContinuousRow { size, levels, value, now: now.map(|now| now.median), verdict })
}

#[cfg(test)]
mod tests {
    use tiermark_model::{Reason, Verdict};

    use super::*;

    fn sizes_of(spec: &str, room: u64) -> Vec<String> {
        let machine = target::machine(&target::tree(spec).unwrap()).unwrap();
        sizes(&machine, 0, room).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_level_has_a_size_in_its_middle() {
        let big = "synth:cores=2,l1=48K,l2=1M,l3=32M";
        assert_eq!(sizes_of(big, 4 << 30), ["16 KiB", "512 KiB", "4 MiB", "8 MiB", "1 GiB"]);
        assert_eq!(sizes_of(big, 200 << 20), ["16 KiB", "512 KiB", "4 MiB", "8 MiB", "200 MiB"]);
        assert_eq!(sizes_of(big, 40 << 20), ["16 KiB", "512 KiB", "4 MiB", "8 MiB"], "memory no larger than caches");
        assert_eq!(sizes_of(big, 64 << 10), ["16 KiB"]);
        assert_eq!(sizes_of("synth:cores=2,l2=2M,l3=300M", 4 << 30), ["16 KiB", "1 MiB", "8 MiB", "1 GiB"]);
        assert_eq!(sizes_of("synth:cores=2,l2=256K,l3=6M", 4 << 30), ["16 KiB", "128 KiB", "1 MiB", "3 MiB", "1 GiB"]);
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
    fn only_trusted_figures_decide_the_exit_code() {
        let bound = || {
            let mut verdict = Verdict::trusted();
            verdict.bound(Reason::NotSharp { share: 0.02 });
            verdict
        };
        let row = |value: f64, verdict: Verdict| {
            let level = Level { low: 100.0, median: 120.0 };
            ContinuousRow { size: Bytes(MIB), levels: [level; 2], value: Some(value), now: None, verdict }
        };
        let (fine, wrong, loose) =
            (row(110.0, Verdict::trusted()), row(150.0, Verdict::trusted()), row(150.0, bound()));
        assert_eq!(exit(&[fine.clone(), loose.clone()]), Exit::Done);
        assert_eq!(exit(&[fine, wrong, loose.clone()]), Exit::Failure);
        assert_eq!(exit(&[loose]), Exit::Partial);
    }
}
