//! Other work on a simulated machine: states that come and go, a neighbour that never leaves, a slow drift.

use tiermark_model::Setup;

use tiermark_engine::host::ping_pairs;
use tiermark_stats::Rng;

/// Round trips between cpus of one last-level cache and of two, ns.
const PINGS: (f64, f64) = (58.0, 330.0);
/// Rate of all threads together over one link, as a share of that over two.
const ONE_LINK: f64 = 0.5;
/// Largest slow-down of a core by work on its other hardware thread, and of memory by others.
const SIBLING: f64 = 0.4;
const SHARED: f64 = 0.6;
/// Of the slow-down by a busy sibling, what chains of dependent operations feel: they leave most of the core unused.
const CHAINS: f64 = 0.005;

/// A state that comes and goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ComesAndGoes {
    /// Share of the time.
    pub share: f64,
    /// Mean seconds that it lasts.
    pub lasts: f64,
}

/// Other work on the simulated machine.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Neighbours {
    /// The hypervisor puts the cpus on cores with different last-level caches: then two links to memory serve them, and
    /// not one.
    pub apart: Option<ComesAndGoes>,
    /// Work on the other hardware threads of the cores.
    pub sibling: Option<ComesAndGoes>,
    /// Traffic on the shared caches and the memory.
    pub traffic: Option<ComesAndGoes>,
    /// Time constant, in seconds, after which other programs have evicted all but 1/e of a thread's lines from the
    /// last-level cache. `None`: no eviction.
    pub evicts_after_seconds: Option<f64>,
    /// A neighbour that never leaves slows everything down by this share.
    pub always: f64,
    /// Work that never ends on the other hardware threads of the cores makes what stays in the caches of a core take
    /// longer by this share. The clock of the core as chains of operations see it hardly changes.
    pub busy_sibling: f64,
    /// The machine slows down by this share a second.
    pub drift: f64,
    /// Everything is slower by `.1` from second `.0` on: a lower clock.
    pub step: Option<(f64, f64)>,
    /// A neighbour that comes once.
    pub visitor: Option<Visitor>,
}

/// A neighbour that is there from one second to another: memory answers more slowly, the shared cache is evicted, and
/// the hypervisor moves the cpus to different last-level caches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Visitor {
    /// The second in which it comes.
    pub from: f64,
    /// The second in which it leaves.
    pub until: f64,
    /// How many times longer memory takes meanwhile.
    pub slows: f64,
}

/// Time constant of the eviction by a [`Visitor`], seconds: half of the lines after 2 ms, as on a shared Zen 4 guest.
const EVICTS_AFTER: f64 = 2e-3 / std::f64::consts::LN_2;

impl Visitor {
    fn is_here(&self, at: f64) -> bool {
        (self.from..self.until).contains(&at)
    }
}

/// What work on the other hardware thread of a core does to looks at it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sibling {
    /// Share by which chains of operations run slower than the clock.
    pub(super) chains_slowed: f64,
    /// Factor by which the throughput of the core falls.
    pub(super) core_slowed: f64,
}

/// Which part of the machine answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Private,
    Shared,
    Memory,
}

impl Neighbours {
    /// Share of the lines that the last-level cache held when they were touched, and holds still after so many ns, at
    /// this moment.
    pub(super) fn kept(&self, after_ns: f64, at: f64) -> f64 {
        let visited = self.visitor.is_some_and(|visitor| visitor.is_here(at)).then_some(EVICTS_AFTER);
        visited.or(self.evicts_after_seconds).map_or(1.0, |seconds| (-after_ns / 1e9 / seconds).exp())
    }

    /// How many times longer an access to memory takes at this moment because of a visitor.
    pub(super) fn memory_slowed(&self, at: f64) -> f64 {
        self.visitor.filter(|visitor| visitor.is_here(at)).map_or(1.0, |visitor| visitor.slows)
    }

    /// How much longer everything takes for threads that start at this moment, as a factor.
    pub(super) fn slowdown(&self, part: Level, threads: usize, at: f64, seed: u64, rng: &mut Rng) -> f64 {
        let mut factor = (1.0 + self.always) * (1.0 + self.drift * at);
        if let Some((from, by)) = self.step.filter(|(from, _)| at >= *from) {
            assert!(from <= at);
            factor *= 1.0 + by;
        }
        if part == Level::Private {
            factor *= 1.0 + self.busy_sibling;
        }
        if self.sibling.is_some_and(|state| state.is_on(at, seed ^ 1)) {
            factor *= 1.0 + SIBLING * (0.2 + 0.8 * rng.unit());
        }
        if part != Level::Private && self.traffic.is_some_and(|state| state.is_on(at, seed ^ 2)) {
            factor *= 1.0 + SHARED * rng.unit();
        }
        if part == Level::Memory {
            factor *= self.memory_slowed(at);
        }
        if part == Level::Memory && threads > 1 && self.apart.is_some_and(|state| !state.is_on(at, seed ^ 3)) {
            factor /= ONE_LINK;
        }
        factor
    }

    /// What looks at a core feel of its sibling at this moment.
    pub(super) fn beside(&self, at: f64, seed: u64) -> Sibling {
        let comes = self.sibling.is_some_and(|state| state.is_on(at, seed ^ 1));
        let core_slowed = (1.0 + self.busy_sibling) * if comes { 1.0 + SIBLING } else { 1.0 };
        Sibling { chains_slowed: self.busy_sibling * CHAINS, core_slowed }
    }

    /// Round trips between the cpus of a setup at this moment; none where they always stay.
    pub(super) fn pings(&self, setup: &Setup, at: f64, seed: u64, rng: &mut Rng) -> Vec<f64> {
        let threads = setup.threads.len();
        if let Some(visitor) = self.visitor.filter(|_| threads > 1) {
            let ping = if visitor.is_here(at) { PINGS.1 } else { PINGS.0 };
            return ping_pairs(threads).iter().map(|_| ping * (1.0 + 0.02 * rng.normal())).collect();
        }
        let Some(apart) = self.apart.filter(|_| threads > 1) else { return Vec::new() };
        let ping = if apart.is_on(at, seed ^ 3) { PINGS.1 } else { PINGS.0 };
        (0..setup.threads.len() / 2).map(|_| ping * (1.0 + 0.05 * rng.normal())).collect()
    }
}

impl ComesAndGoes {
    /// Whether it is active at this second.
    fn is_on(&self, at: f64, seed: u64) -> bool {
        let mut on = false;
        self.stretches(seed, |until, state| {
            on = state;
            at >= until
        });
        on
    }

    /// The share of the first so many seconds in which it was on.
    pub fn seen(&self, seconds: f64, seed: u64) -> f64 {
        let (mut from, mut on) = (0.0, 0.0);
        self.stretches(seed, |until, state| {
            if state {
                on += until.min(seconds) - from;
            }
            from = until;
            until < seconds
        });
        on / seconds
    }

    /// Goes through stretches of both kinds, their lengths drawn from exponential distributions, as long as `next`
    /// wants more: it gets the end of each and whether the state is on in it.
    fn stretches(&self, seed: u64, mut next: impl FnMut(f64, bool) -> bool) {
        let mut rng = Rng::new(seed);
        let off = self.lasts * (1.0 - self.share) / self.share.max(f64::MIN_POSITIVE);
        let mut on = rng.unit() < self.share;
        let mut until = 0.0;
        loop {
            until -= (1.0 - rng.unit()).ln() * if on { self.lasts } else { off };
            if !next(until, on) {
                return;
            }
            on = !on;
        }
    }
}
