//! How much a number differs between runs of an unchanged machine, before enough runs are stored to know it.

use tiermark_model::{ChainLayout, KernelId, Layout, Machine, Metric, Step, Tier};

/// Standard deviations between runs, as shares of the number: from runs of 4 to 15 s on an Intel guest whose hypervisor
/// interrupts 17,000 times a second, on other cpus, memory and beside other load.
const CORE: f64 = 0.001;
const CACHE_RATE: f64 = 0.01;
const CACHE_LATENCY: f64 = 0.025;
const MEMORY: f64 = 0.015;
/// Of stores around the caches, which have levels for minutes, and of accesses at random with their page walks.
const LEVELS: f64 = 0.04;
/// On bare metal, by so much less.
const BARE_METAL: f64 = 0.5;

/// The standard deviation of a step's number between runs, as a share of it; 0 for points of curves, which are compared
/// with others of their run.
pub(crate) fn between_runs(step: &Step, kernel: Option<&KernelId>, is_of_core: bool, machine: &Machine) -> f64 {
    if step.labels.tier_name().is_none() {
        return 0.0;
    }
    if is_of_core {
        return CORE;
    }
    let is_random = |layout: &Layout| matches!(layout, Layout::Chain(ChainLayout::Random));
    let goes_around = kernel.is_some_and(|kernel| kernel.op().contains('.'));
    let scatter = match (step.labels.tier().and_then(Tier::level).is_some(), step.metric) {
        (true, Metric::Latency) => CACHE_LATENCY,
        (true, Metric::Bandwidth) => CACHE_RATE,
        (false, Metric::Latency) if step.setup.regions.iter().any(|region| is_random(&region.layout)) => LEVELS,
        (false, Metric::Bandwidth) if goes_around => LEVELS,
        (false, _) => MEMORY,
    };
    on(machine, scatter)
}

/// The standard deviation between runs of the latency of random accesses to a shared cache or to memory, as a share.
pub fn random_latency_between_runs(in_cache: bool, machine: &Machine) -> f64 {
    on(machine, if in_cache { CACHE_LATENCY } else { LEVELS })
}

fn on(machine: &Machine, scatter: f64) -> f64 {
    if machine.system.hypervisor.is_some() { scatter } else { BARE_METAL * scatter }
}
