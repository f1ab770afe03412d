//! `tiermark selftest`: the instruments checked on this machine.

mod chase;
mod continuous;
mod cut;

use tiermark_engine::Host;
use tiermark_kernels::layout::{permutation, prove, prove_permutation, write_chain};
use tiermark_model::{ChainLayout, Exit};
use tiermark_report::listings::Check;
use tiermark_stats::{Rng, ks_uniform};

use crate::args::{SelftestArgs, Simulation};
use crate::output::{Failure, print, rendered};
use crate::target;

/// Draws of a Kolmogorov-Smirnov test: enough to see a bias of a few percent.
const DRAWS: usize = 20_000;
/// Seeds are fixed, so a sound generator always passes; one in ten thousand sound generators would fail at this level.
const P_LEAST: f64 = 1e-4;
/// Footprint of the chases that are proven: larger than a second-level cache, quick to walk.
const CHAIN_BYTES: usize = 4 << 20;
/// A huge page, for page-random chains.
const PAGE_BYTES: usize = 2 << 20;
/// A clock coarser than this could not resolve one block of the shortest chase to a percent.
const RESOLUTION_MOST_NS: f64 = 100.0;
/// A stamp that costs more cannot be kept below a percent of a block.
const STAMP_MOST_NS: f64 = 1_000.0;
/// A gate that opens later than this after the first worker would waste most of a short shot.
const GATE_MOST_NS: f64 = 1e6;

/// Runs the command.
pub(crate) fn run(args: &SelftestArgs) -> Result<Exit, Failure> {
    if args.continuous {
        return continuous::run(args);
    }
    let host = target::open(&Simulation::default(), 1, None, std::sync::Arc::default())?.host;
    let mut checks = kernels();
    checks.extend(generator());
    checks.extend(chains());
    checks.extend(instruments(host.as_ref()));
    let failed = checks.iter().any(|c| !c.pass);
    print(&rendered(&args.view, |_| tiermark_report::listings::selftest(&checks)))?;
    Ok(if failed { Exit::Failure } else { Exit::Done })
}

fn check(name: impl Into<String>, value: impl Into<String>, pass: bool, detail: impl Into<String>) -> Check {
    Check { name: name.into(), value: value.into(), pass, detail: detail.into() }
}

/// Every kernel that can run here against its portable twin: one line an instruction set, and one for each that fails.
fn kernels() -> Vec<Check> {
    let mut all: Vec<_> = tiermark_kernels::available().collect();
    all.sort_by_key(|spec| spec.info.isa);
    let mut checks = Vec::new();
    for group in all.chunk_by(|a, b| a.info.isa == b.info.isa) {
        let isa = format!("{:?}", group[0].info.isa).to_lowercase();
        let wrong: Vec<Check> = group
            .iter()
            .filter_map(|spec| {
                let why = tiermark_kernels::verify(spec).err()?;
                Some(check(format!("kernel {}", spec.info.id), "differs", false, why))
            })
            .collect();
        let value = format!("{} of {}", group.len() - wrong.len(), group.len());
        let detail = "same data and checksums as the portable twins";
        checks.push(check(format!("kernels, {isa}"), value, wrong.is_empty(), detail));
        checks.extend(wrong);
    }
    checks
}

/// The random generator, by the Kolmogorov-Smirnov test: its numbers, and whole numbers below a bound.
fn generator() -> Vec<Check> {
    const BOUND: usize = 1_000_003;
    let (mut units, mut whole) = (Rng::new(1), Rng::new(2));
    let numbers: Vec<f64> = (0..DRAWS).map(|_| units.unit()).collect();
    let bounded: Vec<f64> = (0..DRAWS).map(|_| (whole.below(BOUND) as f64 + 0.5) / BOUND as f64).collect();
    [("numbers", numbers), ("whole numbers", bounded)]
        .map(|(name, values)| {
            let p = ks_uniform(&values, 0.0, 1.0).map(|ks| ks.p_value);
            let value = p.map_or_else(|| "none".to_owned(), |p| format!("p = {p:.3}"));
            let detail = format!("Kolmogorov-Smirnov against uniform, {DRAWS} draws, p above {P_LEAST}");
            check(format!("random generator, {name}"), value, p.is_some_and(|p| p > P_LEAST), detail)
        })
        .to_vec()
}

/// Chains and line orders are single cycles and permutations, and the proof notices one that is not.
fn chains() -> Vec<Check> {
    let layouts = [
        ChainLayout::Random,
        ChainLayout::PageRandom,
        ChainLayout::Groups,
        ChainLayout::Stride(128),
        ChainLayout::Long(4),
    ];
    let mut words = vec![0u64; CHAIN_BYTES / 8];
    // Pointers are numbers to the proof: any base will do.
    const BASE: u64 = 0x10_0000;
    let mut checks: Vec<Check> = layouts
        .iter()
        .map(|layout| {
            let proof = write_chain(&mut words, BASE, *layout, PAGE_BYTES, 1, &|| false)
                .map_err(|e| e.to_string())
                .and_then(|()| prove(&mut words, BASE, *layout, &|| false).map_err(|e| e.to_string()));
            match proof {
                Ok(proof) => {
                    check(format!("chain {layout}"), format!("{} nodes", proof.nodes), true, "one cycle, walked once")
                }
                Err(why) => check(format!("chain {layout}"), "no cycle", false, why),
            }
        })
        .collect();
    let broken = write_chain(&mut words, BASE, ChainLayout::Random, PAGE_BYTES, 1, &|| false).is_ok() && {
        // The first node leads to itself: the cycle closes early.
        words[0] = BASE;
        prove(&mut words, BASE, ChainLayout::Random, &|| false).is_err()
    };
    let value = if broken { "noticed" } else { "missed" };
    checks.push(check("chain cut short", value, broken, "the proof refuses a chain that does not visit every line"));
    let lines = CHAIN_BYTES / 64;
    let order = permutation(lines, 1, &|| false).map_err(|e| e.to_string());
    let proven = order.and_then(|order| prove_permutation(&order, lines, &|| false).map_err(|e| e.to_string()));
    let detail = proven.as_ref().err().cloned().unwrap_or_else(|| "every line once".to_owned());
    checks.push(check("line order", format!("{lines} lines"), proven.is_ok(), detail));
    checks
}

/// The clock and what measuring costs.
fn instruments(host: &dyn Host) -> Vec<Check> {
    let (clock, cost) = (&host.bench().clock, &host.bench().overheads);
    let at_most = |name: &str, ns: f64, most: f64, what: &str| {
        let detail = format!("{what}; at most {most} ns");
        check(name, format!("{ns:.1} ns"), ns.is_finite() && ns >= 0.0 && ns <= most, detail)
    };
    let mut checks = vec![
        check(
            format!("clock {}", clock.source),
            format!("{:.6} GHz", clock.hz / 1e9),
            clock.hz.is_finite() && clock.hz > 0.0,
            clock.how.clone(),
        ),
        at_most("clock resolution", clock.resolution_ns, RESOLUTION_MOST_NS, "smallest step between two stamps"),
        at_most("stamp", cost.stamp_ns, STAMP_MOST_NS, "one stamp and its store; subtracted from every block"),
    ];
    let gate = "from the first worker's start to the last's; outside every window";
    checks.extend(cost.gate_ns.map(|ns| at_most("gate", ns, GATE_MOST_NS, gate)));
    checks.extend(cost.loop_ns.map(|ns| at_most("loop", ns, STAMP_MOST_NS, "calling a kernel for one block")));
    if let Some(hz) = cost.core_hz {
        let plausible = (1e8..1e10).contains(&hz);
        checks.push(check(
            "core clock",
            format!("{:.3} GHz", hz / 1e9),
            plausible,
            "by a chain of dependent additions",
        ));
    }
    checks
}
