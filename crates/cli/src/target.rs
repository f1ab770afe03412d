//! The machine to run on: this one, or a simulated one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tiermark_engine::Host;
use tiermark_host::LinuxHost;
use tiermark_machine::synth::Synth;
use tiermark_machine::{DiscoverError, LiveFacts, Root, discover};
use tiermark_model::{Bytes, KernelInfo, Machine};
use tiermark_sim::{
    Ceilings, LeftAlone, Neighbours, SimCache, SimClock, SimCore, SimCounters, SimHost, SimOptions, SimState, Visitor,
    Warmth,
};
use tiermark_system::live_facts;

use crate::args::Simulation;
use crate::output::Failure;

/// Bytes a second that each node of a simulated machine reads while nothing is measured.
const SIMULATED_IDLE: f64 = 1e8;

/// Discovers this machine.
///
/// # Errors
/// A [`Failure`] when `/sys` and `/proc` do not even say which cpus there are.
pub(crate) fn this_machine() -> Result<Machine, Failure> {
    discover(&Root::live(), &live_facts()).map_err(Failure::tool)
}

/// Opens a captured tree, or builds a synthetic one from `synth:SPEC`.
///
/// # Errors
/// A [`Failure`] that names the path, or the part of the specification that makes no sense.
pub(crate) fn tree(text: &str) -> Result<Root, Failure> {
    match text.strip_prefix("synth:") {
        Some(spec) => Ok(spec.parse::<Synth>().map_err(Failure::usage)?.root()),
        None => Root::at(PathBuf::from(text)).map_err(|error| match error {
            // Says itself what a tree is.
            DiscoverError::NotATree { .. } => Failure::usage(error),
            _ => Failure::usage(format!("{error}; give a directory with sys and proc, or a tar archive of one")),
        }),
    }
}

/// Where a machine is described: in a captured tree, by the simulation, or here.
///
/// # Errors
/// As for [`tree`].
pub(crate) fn root(captured: Option<&Path>, simulation: &Simulation) -> Result<Root, Failure> {
    let named = captured.map(|path| path.display().to_string()).or_else(|| simulation.simulate.clone());
    named.map_or_else(|| Ok(Root::live()), |name| tree(&name))
}

/// Discovers this machine, or the machine of a captured tree, which has no facts about this process.
///
/// # Errors
/// A [`Failure`] when it does not say which cpus there are.
pub(crate) fn machine(root: &Root) -> Result<Machine, Failure> {
    if root.is_live() { this_machine() } else { discover(root, &LiveFacts::default()).map_err(Failure::usage) }
}

/// A machine with the place that describes it: a captured tree, the simulation, or this machine.
///
/// # Errors
/// As for [`root`] and [`machine`].
pub(crate) fn described(captured: Option<&Path>, simulation: &Simulation) -> Result<(Root, Machine), Failure> {
    let root = root(captured, simulation)?;
    let machine = machine(&root)?;
    Ok((root, machine))
}

/// The machine of a run.
pub(crate) struct Target {
    /// What measures on it. Hosts are moved behind one pointer: nothing of theirs is called inside a timed loop.
    pub(crate) host: Box<dyn Host>,
    /// Where its files are read.
    pub(crate) root: Root,
}

/// Makes the host of a run.
///
/// # Errors
/// A [`Failure`] when the machine cannot be read or this process may use none of its cpus.
pub(crate) fn open(
    simulation: &Simulation,
    seed: u64,
    max_mem: Option<Bytes>,
    stopped: Arc<AtomicBool>,
) -> Result<Target, Failure> {
    let Some(name) = &simulation.simulate else {
        let options = tiermark_host::Options {
            stopped,
            keep_bytes: max_mem.map_or(u64::MAX, |bytes| bytes.0),
            ..tiermark_host::Options::default()
        };
        return Ok(Target { host: Box::new(LinuxHost::new(this_machine()?, options)?), root: Root::live() });
    };
    let root = tree(name)?;
    let machine = machine(&root)?;
    let defaults = SimOptions::default();
    let options = SimOptions {
        seed,
        noise: simulation.sim_noise.unwrap_or(defaults.noise),
        preemptions_per_second: simulation.sim_busy.unwrap_or(defaults.preemptions_per_second),
        stop_after: simulation.sim_stop,
        ceilings: ceilings(simulation)?,
        core: core(simulation),
        neighbours: neighbours(simulation)?,
        keep_bytes: max_mem.map_or(defaults.keep_bytes, |bytes| bytes.0),
        state: state(simulation),
        interruptions: simulation.sim_interruptions,
        left_alone: simulation
            .sim_left_alone
            .map(|seconds| LeftAlone { forgets_after_seconds: seconds, ..LeftAlone::default() }),
        first_touch: simulation.sim_first_touch.map(|gbs| gbs * 1e9),
        stores: simulation.sim_stores,
        memory: tiermark_sim::SimMemory {
            faults: simulation.sim_fault.clone(),
            hot: simulation.sim_hot,
            ..tiermark_sim::SimMemory::default()
        },
        counters: simulation.sim_counters.map(|remote_writes| SimCounters { remote_writes, idle: SIMULATED_IDLE }),
        ..defaults
    };
    // A captured tree does not show which primitives its kernel has: the primitives are those of this program.
    let primitives = tiermark_primitives::primitives(&machine);
    let host = Box::new(SimHost::new(machine, simulated_kernels(), options).with_primitives(primitives));
    Ok(Target { host, root })
}

/// Rates of a simulated machine's memories and links.
fn ceilings(simulation: &Simulation) -> Result<Ceilings, Failure> {
    let usual = Ceilings::default();
    let rate = |asked: Option<f64>| match asked {
        Some(rate) if !(rate > 0.0 && rate.is_finite()) => Err(Failure::usage(format!("{rate} GB/s is not a rate"))),
        asked => Ok(asked.map(|gbs| gbs * 1e9)),
    };
    let share = |asked: Option<f64>, usual: f64| match asked {
        Some(share) if !(0.0..1.0).contains(&share) => {
            Err(Failure::usage(format!("{share} is not a share from 0 to 1")))
        }
        asked => Ok(asked.unwrap_or(usual)),
    };
    Ok(Ceilings {
        node: rate(simulation.sim_memory)?,
        link: rate(simulation.sim_link)?.unwrap_or(usual.link),
        knee: share(simulation.sim_knee, usual.knee)?,
        overload: share(simulation.sim_overload, usual.overload)?,
    })
}

/// Other work on the simulated machine.
fn neighbours(simulation: &Simulation) -> Result<Neighbours, Failure> {
    let evicts_after_seconds = match simulation.sim_half_life {
        Some(ms) if !(ms > 0.0 && ms.is_finite()) => return Err(Failure::usage(format!("{ms} ms is not a half-life"))),
        half => half.map(|ms| ms / 1e3 / std::f64::consts::LN_2),
    };
    let visitor = simulation.sim_visitor.map(|(from, until, slows)| Visitor { from, until, slows });
    let busy_sibling = simulation.sim_sibling.unwrap_or(0.0);
    Ok(Neighbours { evicts_after_seconds, visitor, busy_sibling, ..Neighbours::default() })
}

/// What caches and clocks of a simulated machine do during a visit.
fn state(simulation: &Simulation) -> SimState {
    /// Mean time at a step of the clock.
    const DWELL_SECONDS: f64 = 0.01;
    let ghz = |(low, high, step): (f64, f64, f64)| SimClock::Steps {
        low: low * 1e9,
        high: high * 1e9,
        step: step * 1e9,
        mean_dwell_seconds: DWELL_SECONDS,
    };
    SimState {
        warmth: simulation.sim_warmth.map(|(excess, ms)| Warmth { excess, tau_seconds: ms / 1e3 }),
        clock: simulation.sim_clock.map_or(SimClock::Fixed, ghz),
        kept_from_use: simulation.sim_kept_from_use.unwrap_or(1),
        hump: simulation.sim_hump.unwrap_or(0.0),
        shared_hump: simulation.sim_shared_hump.unwrap_or(0.0),
        run_noise: simulation.sim_run_noise.unwrap_or(0.0),
        ..SimState::default()
    }
}

/// The cores of a simulated machine, where they differ from the declaration.
fn core(simulation: &Simulation) -> SimCore {
    let caches = simulation.sim_caches.iter().zip(1..);
    let defaults = SimCore::default();
    SimCore {
        caches: caches.map(|((Bytes(bytes), ways), level)| SimCache { level, bytes: *bytes, ways: *ways }).collect(),
        pair_bytes: simulation.sim_pair.unwrap_or(defaults.pair_bytes),
        ..defaults
    }
}

/// The kernels of simulated machines: all that were built, whatever this cpu can run, so that results do not depend on
/// it.
fn simulated_kernels() -> Vec<KernelInfo> {
    tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_what_the_text_says() {
        let machine = |spec: &str| machine(&tree(&format!("synth:{spec}")).unwrap()).unwrap();
        let small = machine("sockets=2,cores=4,smt=2,mem=4G,cxl=8G");
        assert_eq!((small.cpus.len(), small.sockets().len(), small.nodes.len()), (16, 2, 3));
        assert_eq!(machine("largest").cpus.len(), 2048);
        assert_eq!(machine("sidecache=1G").nodes[0].side_cache_bytes(), 1 << 30);
    }

    #[test]
    fn refuses_with_the_part_that_is_wrong() {
        for spec in ["cores", "cores=0", "cores=x", "wings=2", "mem=lots", "sockets=4096,cores=4096"] {
            let Err(Failure::Exit(_, text)) = tree(&format!("synth:{spec}")) else { panic!("{spec}") };
            assert!(text.contains(spec.split(',').next().unwrap()) || text.contains('\''), "{text}");
        }
    }
}
