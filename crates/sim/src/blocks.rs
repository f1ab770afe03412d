//! The blocks of one simulated thread: how long each takes, and what falls into it.

use tiermark_model::{Role, ThreadSetup};
use tiermark_stats::Rng;

use super::SimOptions;
use super::interruptions::Interrupter;
use super::neighbours::Level;
use super::state::VisitTiming;
use tiermark_engine::host::{Guard, IdleWatch, ThreadShot};

/// Length of a block, ns: of chases, of all that stays in the caches of the core, and of threads that meet; of other
/// streams; of calls of the operating system.
const CORE_NS: f64 = 4_000.0;
const STREAM_NS: f64 = 8_000.0;
const CALL_NS: f64 = 16_000.0;
/// Accesses of a block of a chase that revisits.
const REVISIT_BLOCK: f64 = 128.0;
/// Blocks of all threads of a shot together, and of each at least: keeps 2,048 threads cheap. A shot of 2 ms has blocks
/// of full resolution with up to 32 threads.
const BLOCKS: f64 = 16_384.0;
const LEAST_BLOCKS: f64 = 64.0;
/// A block is so many steps of the clock at least, where a shot has time for it.
const RESOLVED_BY: f64 = 200.0;
/// A lost time slice, ns: a scheduler's usual base slice.
const SLICE_NS: f64 = 3.0e6;
/// Time between two looks at the clock of a core whose thread is alone, and of a look, ns.
const BETWEEN_LOOKS_NS: f64 = 250_000.0;
const LOOK_NS: f64 = 20_000.0;
/// Time for which a worker watches the clock after a shot, ns.
pub(super) const WATCH_NS: f64 = 200_000.0;

/// The blocks of a thread.
pub(super) struct Timing {
    cpu: u32,
    per_block: f64,
    /// A block in steady state without disturbance, ns.
    clean_ns: f64,
    /// Whether the same work can be done without borders.
    has_borders: bool,
    ends: Ends,
}

/// When the last block of a thread is begun at the latest.
#[derive(Clone, Copy)]
enum Ends {
    After { ns: f64 },
    With { blocks: usize },
}

/// What decides the length of the blocks of a visit.
pub(super) struct Lengths {
    pub(super) part: Level,
    pub(super) threads: usize,
    pub(super) budget_ns: f64,
    /// Whether it comes after other work. Then blocks have full resolution, whatever the time.
    pub(super) is_cold: bool,
    pub(super) clock_step_ns: f64,
}

impl Lengths {
    /// The blocks of a thread that does so much work per ns, this time slower by a factor.
    pub(super) fn timing(&self, thread: &ThreadSetup, pace: f64, slow: f64) -> Timing {
        let (per_block, ends) = match thread.role {
            // One chase of equal blocks; the wait before it is part of the budget.
            Role::Revisit { accesses, .. } => {
                let per_block = REVISIT_BLOCK.min(f64::from(accesses));
                (per_block, Ends::With { blocks: (f64::from(accesses) / per_block).round() as usize })
            }
            _ => ((pace * self.of(&thread.role)).round().max(1.0), Ends::After { ns: self.budget_ns }),
        };
        let has_borders = matches!(thread.role, Role::Chase { .. } | Role::Stream { .. });
        Timing { cpu: thread.cpu, per_block, clean_ns: per_block / pace * slow, has_borders, ends }
    }

    /// Length of a block of a role, ns.
    fn of(&self, role: &Role) -> f64 {
        let usual = match role {
            Role::Stream { .. } | Role::Load { .. } if self.part != Level::Private => STREAM_NS,
            Role::Os(_) => CALL_NS,
            _ => CORE_NS,
        };
        if self.is_cold {
            return usual;
        }
        let most = (BLOCKS / self.threads.max(1) as f64).max(LEAST_BLOCKS);
        let resolved = (RESOLVED_BY * self.clock_step_ns).min(self.budget_ns / LEAST_BLOCKS);
        usual.max(self.budget_ns / most).max(resolved)
    }
}

/// A thread that serves others: present, and nothing more.
pub(super) fn serve(cpu: u32, budget_ns: f64) -> ThreadShot {
    let guard = Guard { cpu, seen_on: [cpu, cpu], cpu_ns: budget_ns, wall_ns: budget_ns, ..Guard::default() };
    ThreadShot { per_block: 1.0, unstamped: Some(0.0), guard, ..ThreadShot::default() }
}

pub(super) fn simulate_thread(
    rng: &mut Rng,
    options: &SimOptions,
    timing: &Timing,
    visit: &mut VisitTiming<'_>,
) -> ThreadShot {
    let Timing { cpu, per_block, clean_ns, has_borders, ends } = *timing;
    let goes_on = |at: f64, blocks: usize| match ends {
        Ends::After { ns } => at < ns,
        Ends::With { blocks: all } => blocks < all,
    };
    let read = |at: f64| {
        if options.clock_step_ns > 0.0 { (at / options.clock_step_ns).floor() * options.clock_step_ns } else { at }
    };
    let mut at = rng.unit() * 200.0;
    let mut stamps_ns = vec![read(at)];
    let mut looks = vec![visit.look(at, read(at))];
    let (mut switches, mut lost, mut next_look) = (0, 0.0, at + BETWEEN_LOOKS_NS);
    let plan = options.interruptions.as_ref();
    let mut interrupter = plan.map(|plan| Interrupter::new(plan, cpu, options.seed, visit.moment_ns(at)));
    let mut refill = 0.0;
    while goes_on(at, stamps_ns.len() - 1) {
        let work = per_block * (stamps_ns.len() - 1) as f64;
        let steady_ns = clean_ns * visit.factor(at, work);
        let mut block = steady_ns * (1.0 + 2.0 * options.noise * rng.normal()) + options.border_ns + refill;
        block += visit.stalls_ns(work, per_block);
        let taken = interrupter.as_mut().map_or(0.0, |own| own.taken(visit.moment_ns(at), block));
        refill = if taken > 0.0 { visit.refill_ns(plan) } else { 0.0 };
        if let Some(slice) = slice(rng, options, block) {
            block += slice;
            lost += slice;
            switches += 1;
        }
        at += (block + taken).max(1.0);
        stamps_ns.push(read(at));
        if visit.looks_between() && at >= next_look && goes_on(at, stamps_ns.len() - 1) {
            looks.push(visit.look(at, read(at)));
            visit.pause(LOOK_NS);
            next_look = at + BETWEEN_LOOKS_NS;
        }
    }
    looks.push(visit.look(at, read(at)));
    let guard = Guard {
        cpu,
        seen_on: [cpu, cpu],
        cpu_ns: at - lost,
        wall_ns: at,
        involuntary_switches: switches,
        run_delay_ns: Some(lost),
        ..Guard::default()
    };
    let mut idle = IdleWatch { ns: WATCH_NS, gaps_ns: Vec::new() };
    if let Some(interrupter) = &mut interrupter {
        idle = interrupter.watch(visit.moment_ns(at), WATCH_NS);
    }
    if let Some(slice) = slice(rng, options, WATCH_NS) {
        idle.gaps_ns.push(slice as f32);
        idle.ns += slice;
    }
    // Numbers of its own: those of the blocks stay as they are.
    let mut of_border = Rng::new(options.seed ^ at.to_bits());
    let border_ns = options.border_ns + options.border_noise_ns * of_border.normal();
    let border_ns = has_borders.then_some(border_ns);
    ThreadShot { per_block, stamps_ns, looks, unstamped: Some(0.0), guard, settling: visit.settling(), border_ns, idle }
}

/// The time slice that other work takes of a thread within so many ns, if it takes one.
fn slice(rng: &mut Rng, options: &SimOptions, within_ns: f64) -> Option<f64> {
    let takes = rng.unit() < options.preemptions_per_second * within_ns / 1e9;
    takes.then(|| SLICE_NS * (0.75 + 0.5 * rng.unit()))
}
