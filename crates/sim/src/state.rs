//! What a simulated machine's state does to a visit: caches and translations that are cold, lines that a cache keeps
//! only once they are used again, a core clock that moves, and noise that has one peak.
//!
//! Other steps evict between two visits what a step left in caches. So all of this begins anew with each visit.

use tiermark_model::{Before, ChainLayout, CpuId, Layout, Machine, Role, Setup};
use tiermark_stats::Rng;

use super::interruptions::Interruptions;
use super::memory::{Absent, LeftAlone};
use super::neighbours::{Level, Sibling};
use super::rig::LINE_BYTES;
use super::timeline::Timelines;
use super::{CORE_HZ, SimClock, THROUGHPUT};
use tiermark_engine::host::{ClockLook, Settling};

/// A pass of settling, ns, and the passes at least and the time of all at most, as real hosts have them.
const PASS_NS: f64 = 1e6;
const FEWEST_PASSES: usize = 3;
const MOST_NS: f64 = 15e6;
/// Rate at which other memory is read before a visit that does not settle.
const READ_BYTES_PER_NS: f64 = 10.0;
/// Passes are flat if one is no faster than the one before it by more than this.
const FLAT: f64 = 0.03;
/// Footprints up to this many times the second level find lines in it that an earlier pass in another order left.
const JUST_BEYOND: u64 = 4;
/// Share of the variance of [`SimState::hump`] and [`SimState::shared_hump`] that all windows of a visit have in common: the intraclass correlation
/// of recorded visits.
const BY_VISIT: f64 = 0.88;
/// Stretch of time with a value of its own in that noise, ns: a window.
const STRETCH_NS: f64 = 250_000.0;
/// Relative error of a look at the clock.
const LOOK_ERROR: f64 = 0.001;

/// The state of caches, translations and clock in a visit, and the noise of visits. The default has no effect.
#[derive(Debug, Clone, PartialEq)]
pub struct SimState {
    /// Whether the host settles before it stamps. Otherwise a visit times its own warm-up.
    pub settles: bool,
    /// Caches and translations behind the caches of the core are cold when a visit begins.
    pub warmth: Option<Warmth>,
    /// Uses after which the last-level cache keeps a line: 1 keeps each at once. Lines used fewer times come from
    /// memory.
    pub kept_from_use: u8,
    /// Lines that earlier work left in the second level.
    pub leftovers: Option<Leftovers>,
    /// The clock of the cores, each with its own course.
    pub clock: SimClock,
    /// The power of the clock that the speed of the last-level cache and of memory follows. Caches of the core follow
    /// the clock itself.
    pub beyond_slope: f64,
    /// Standard deviation of the logarithm of noise with one peak, with nothing piled up at its fast end.
    pub hump: f64,
    /// The same in the last-level cache and in memory alone: the planted value is the median of its visits.
    pub shared_hump: f64,
    /// Standard deviation of the logarithm of a factor that each run has for each tier and kind of work.
    pub run_noise: f64,
}

/// A visit that begins slow: its time per work is longer by `excess`, which falls by a factor of e in each
/// `tau_seconds`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Warmth {
    /// Excess at the beginning, as a share of the steady time.
    pub excess: f64,
    /// Time constant, seconds.
    pub tau_seconds: f64,
}

/// A visit that begins too fast, where the footprint is just beyond the second level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Leftovers {
    /// How long, seconds.
    pub seconds: f64,
    /// How many times faster meanwhile.
    pub factor: f64,
}

impl Default for SimState {
    fn default() -> Self {
        Self {
            settles: true,
            warmth: None,
            kept_from_use: 1,
            leftovers: None,
            clock: SimClock::Fixed,
            beyond_slope: 0.0,
            hump: 0.0,
            shared_hump: 0.0,
            run_noise: 0.0,
        }
    }
}

impl SimState {
    /// Whether the last-level cache keeps nothing of lines that were used like this.
    pub(super) fn forgets(&self, before: Before) -> bool {
        let uses = match before {
            Before::UsedAgain => FEWEST_PASSES,
            Before::UsedOnce => 1,
            Before::Flushed => 0,
        };
        uses < usize::from(self.kept_from_use)
    }

    fn uses_before(&self) -> usize {
        if self.settles { FEWEST_PASSES } else { 0 }
    }

    /// How a visit settles.
    fn settling(&self, part: Level) -> Settling {
        let has_states = self.warmth.is_some() || self.kept_from_use > 1 || self.leftovers.is_some();
        if !self.settles || !has_states || part == Level::Private {
            return Settling::default();
        }
        let time = |pass: usize| PASS_NS * (1.0 + self.excess(pass as f64 * PASS_NS / 1e9));
        let (mut ns, mut passes, mut is_settled) = (0.0, 0, false);
        while ns + PASS_NS <= MOST_NS && !(is_settled && passes >= FEWEST_PASSES) {
            is_settled = passes > 0 && time(passes) > time(passes - 1) * (1.0 - FLAT);
            ns += PASS_NS;
            passes += 1;
        }
        Settling { ns, is_settled }
    }

    /// Standard deviation of the logarithm of all noise with one peak in a part of the machine.
    fn scatter(&self, part: Level) -> f64 {
        let shared = if part == Level::Private { 0.0 } else { self.shared_hump };
        self.hump.hypot(shared)
    }

    /// How much longer work takes so many seconds after the caches were cold.
    fn excess(&self, seconds: f64) -> f64 {
        self.warmth.map_or(0.0, |warmth| warmth.excess * (-seconds / warmth.tau_seconds).exp())
    }

    /// The factor of this run on the time of a kind of work in a tier.
    fn run_factor(&self, tier: u64, is_stream: bool, seed: u64) -> f64 {
        if self.run_noise == 0.0 {
            return 1.0;
        }
        let own = (2 * tier + u64::from(is_stream) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (self.run_noise * Rng::new(seed ^ own).normal()).exp()
    }
}

/// How long the blocks of one thread take during one visit, as factors on their time in steady state at the usual
/// clock.
pub(super) struct VisitTiming<'a> {
    state: &'a SimState,
    clocks: &'a Timelines,
    core: u64,
    /// The power of the clock that its speed follows.
    slope: f64,
    /// Factor on the whole visit.
    whole: f64,
    part: Level,
    /// Data cache levels that are too small for its memory.
    outgrown: u64,
    is_stream: bool,
    has_leftovers: bool,
    /// Work of one use of all its lines, and how much longer a line takes that the cache does not hold.
    pass_work: f64,
    unheld: f64,
    /// Whether the clock is looked at between windows.
    is_alone: bool,
    /// Simulated second in which its stamps begin.
    began: f64,
    settling: Settling,
    /// Time since caches and translations were cold when the stamps begin, ns.
    warm_ns: f64,
    rng: Rng,
    stretch: (u64, f64),
    absent: Option<Absent>,
    disturbs: Sibling,
}

/// What a thread does in a visit, for its [`VisitTiming`].
pub(super) struct Visiting<'a> {
    pub(super) truth: &'a Machine,
    pub(super) setup: &'a Setup,
    pub(super) index: usize,
    pub(super) part: Level,
    /// Work of one use of all its lines.
    pub(super) pass_work: f64,
    /// How much longer a line takes that the last-level cache does not hold.
    pub(super) unheld: f64,
    /// Second in which the visit begins.
    pub(super) at: f64,
    /// What the host of the machine has done to its memory, which was not used for so many seconds.
    pub(super) left_alone: Option<(LeftAlone, f64)>,
    pub(super) seed: u64,
    /// Work on the other hardware thread of its core.
    pub(super) disturbs: Sibling,
}

/// Time to touch the memory of a thread before its visit, ns, or the parts of it that are absent when the visit begins.
fn left_alone(visiting: &Visiting<'_>, bytes: f64) -> (f64, Option<Absent>) {
    let Visiting { setup, index, part, left_alone, .. } = *visiting;
    let thread = &setup.threads[index];
    let is_chase = matches!(thread.role, Role::Chase { .. });
    let walks = is_chase || matches!(thread.role, Role::Stream { .. } | Role::Load { .. });
    let Some((host, seconds)) = left_alone.filter(|_| walks && part == Level::Memory) else { return (0.0, None) };
    let sharers = setup.threads.iter().filter(|other| other.region == thread.region).count();
    let own = bytes / sharers as f64;
    if host.touched_first && thread.reads_first.is_none() {
        return (LeftAlone::touching_ns(own, host.absent(seconds)), None);
    }
    let layout = setup.regions.get(thread.region).map(|region| region.layout);
    let is_random = matches!(layout, Some(Layout::Chain(ChainLayout::Random | ChainLayout::Long(_))));
    let pass_work = if is_chase { own / LINE_BYTES } else { own };
    (0.0, Some(Absent::new(own, host.absent(seconds), pass_work, is_random)))
}

impl<'a> VisitTiming<'a> {
    pub(super) fn new(state: &'a SimState, clocks: &'a Timelines, visiting: &Visiting<'_>) -> Self {
        let Visiting { truth, setup, index, part, at, seed, .. } = *visiting;
        let thread = &setup.threads[index];
        let bytes = setup.regions.get(thread.region).map_or(0, |region| region.bytes.0);
        let second = level_bytes(truth, thread.cpu, 2);
        let read = thread.reads_first.and_then(|region| setup.regions.get(region));
        let (settling, warm_ns) = match read {
            Some(read) => (Settling { ns: read.bytes.0 as f64 / READ_BYTES_PER_NS, is_settled: true }, 0.0),
            None => (state.settling(part), state.settling(part).ns),
        };
        let (touching_ns, absent) = left_alone(visiting, bytes as f64);
        let settling = Settling { ns: settling.ns + touching_ns, ..settling };
        let is_of_core = part == Level::Private && !thread.role.shares_lines();
        let is_stream = matches!(thread.role, Role::Stream { .. } | Role::Load { .. });
        let tier = (1..=3).take_while(|level| level_bytes(truth, thread.cpu, *level) < bytes).count() as u64;
        // All threads of a visit see the same moment of the machine's noise.
        let mut rng = Rng::new(seed ^ at.to_bits().wrapping_mul(0xbf58_476d_1ce4_e5b9));
        let scatter = state.scatter(part);
        let hump = (scatter * BY_VISIT.sqrt() * rng.normal()).exp();
        Self {
            state,
            clocks,
            core: truth.cpu(thread.cpu).map_or(u64::from(thread.cpu), |cpu| u64::from(cpu.core)),
            slope: if is_of_core { 1.0 } else { state.beyond_slope },
            whole: state.run_factor(tier, is_stream, seed) * hump,
            part,
            outgrown: tier,
            is_stream,
            has_leftovers: !state.settles && bytes > second && bytes <= JUST_BEYOND * second,
            pass_work: visiting.pass_work,
            unheld: visiting.unheld,
            is_alone: setup.threads.len() == 1,
            began: at + settling.ns / 1e9,
            settling,
            warm_ns,
            rng,
            stretch: (u64::MAX, 1.0),
            absent,
            disturbs: visiting.disturbs,
        }
    }

    pub(super) fn settling(&self) -> Settling {
        self.settling
    }

    /// The moment of the run, ns, so many ns after the first stamp.
    pub(super) fn moment_ns(&self, ns: f64) -> f64 {
        self.began * 1e9 + ns
    }

    /// How much longer the block after an interruption is, ns.
    pub(super) fn refill_ns(&self, plan: Option<&Interruptions>) -> f64 {
        plan.map_or(0.0, |plan| plan.refill_ns(self.outgrown, self.is_stream))
    }

    /// Factor on the time of a block that begins so many ns after the first stamp, when so much work was done.
    pub(super) fn factor(&mut self, ns: f64, work: f64) -> f64 {
        let state = self.state;
        let mut factor = self.whole * self.of_stretch(ns);
        if state.clock != SimClock::Fixed {
            factor *= (CORE_HZ / self.hz(ns)).powf(self.slope);
        }
        if self.part != Level::Private {
            factor *= 1.0 + state.excess((self.warm_ns + ns) / 1e9);
        }
        let uses = state.uses_before() + (work / self.pass_work.max(1.0)) as usize;
        if self.part == Level::Shared && state.kept_from_use > 1 && uses < usize::from(state.kept_from_use) {
            factor *= self.unheld;
        }
        match state.leftovers.filter(|left| self.has_leftovers && ns < left.seconds * 1e9) {
            Some(left) => factor / left.factor,
            None => factor,
        }
    }

    /// Stalls of a block of so much work that begins when so much was done, ns: parts of its memory that the host has let
    /// go of.
    pub(super) fn stalls_ns(&mut self, done: f64, work: f64) -> f64 {
        let Self { absent, rng, .. } = self;
        absent.as_mut().map_or(0.0, |absent| absent.stalls_ns(done, work, rng))
    }

    /// The part of the noise with one peak that is a window's own.
    fn of_stretch(&mut self, ns: f64) -> f64 {
        let stretch = (ns / STRETCH_NS) as u64;
        let scatter = self.state.scatter(self.part);
        if scatter > 0.0 && self.stretch.0 != stretch {
            let own = scatter * (1.0 - BY_VISIT).sqrt();
            self.stretch = (stretch, (own * self.rng.normal()).exp());
        }
        self.stretch.1
    }

    fn hz(&self, ns: f64) -> f64 {
        self.clocks.hz(self.state.clock, self.core, self.began + ns / 1e9)
    }

    /// What a look at the core sees, so many ns after the first stamp, when the clock that stamps shows this time.
    pub(super) fn look(&mut self, ns: f64, at_ns: f64) -> ClockLook {
        let seen = match self.state.clock {
            SimClock::Fixed => CORE_HZ,
            _ => self.hz(ns) * (1.0 + LOOK_ERROR * self.rng.normal()),
        };
        let hz = Some(seen * (1.0 - self.disturbs.chains_slowed));
        ClockLook { at_ns, hz, throughput: Some(THROUGHPUT / self.disturbs.core_slowed) }
    }

    /// Whether the clock is looked at between windows, too.
    pub(super) fn looks_between(&self) -> bool {
        self.is_alone && self.state.clock != SimClock::Fixed
    }

    /// Time passed that is not in the stamps.
    pub(super) fn pause(&mut self, ns: f64) {
        self.began += ns / 1e9;
    }
}

fn level_bytes(machine: &Machine, cpu: CpuId, level: u8) -> u64 {
    let caches = machine.data_caches().filter(|cache| cache.level == level && cache.cpus.contains(cpu));
    caches.filter_map(|cache| cache.bytes).max().unwrap_or(0)
}
