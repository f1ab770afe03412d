//! Whether the other hardware thread of a core is busy: then the core does fewer operations in a cycle.
//!
//! The chains that show the clock leave most of the core unused, so that work on its other hardware thread hardly
//! disturbs them. Independent operations (additions and loads from L1) need all of it. Zen 4 guest, 2026-11-29, 40 s
//! of looks 4 ms apart: 5.3 to 5.5 operations in a cycle, or 2.8 to 5.0, and few in between. Reads from L1 and L2
//! moved with them (medians of 62 and 31.9 bytes a cycle, or 47 to 50 and 29 to 30). The chains agreed in 87 and 94 %
//! of the looks on the two cpus; 44 and 60 % were those of a core alone.

use std::collections::BTreeMap;
use std::time::Duration;

use tiermark_model::{CoreKind, CoreThroughput, CpuId, KernelId, Machine, PlacementProof, Role};

use crate::host::{ClockLook, Fault, Rig, Shot, ThreadShot};

/// Share by which a look may fall short of what the core does alone: undisturbed ones differ by 2 %. Disturbed ones
/// mostly fall short by 8 % and more, but beside light work by any share.
const SHORT: f64 = 0.03;
/// Visits whose looks make a level that the core is taken to reach, and their share of all visits at least: a clock
/// that was read too low makes a throughput too high.
const FEWEST: u32 = 8;
const LEAST_SHARE: f64 = 0.02;
/// Width of a step of throughput, on logarithms. Visits of three steps are of one level.
const STEP: f64 = 0.005;

/// What the cores of a run do in a cycle when nothing else works on them, by kind of core.
#[derive(Debug, Clone, Default)]
pub struct Throughputs {
    /// The kinds of cores of a hybrid machine.
    kinds: BTreeMap<CpuId, CoreKind>,
    /// The core of each cpu.
    cores: BTreeMap<CpuId, u32>,
    by_kind: BTreeMap<Option<CoreKind>, Seen>,
}

/// What was seen on cores of one kind.
#[derive(Debug, Clone, Default)]
struct Seen {
    /// What earlier runs of the machine reached.
    record: Option<f64>,
    /// Visits by steps of their throughput.
    steps: BTreeMap<i32, u32>,
    visits: u32,
    looks: u64,
    /// Looks that fell short.
    beside: u64,
}

/// By kind of core, the throughput below which other work was on the core. A kind is missing until its level is known.
pub(crate) struct Limits(BTreeMap<Option<CoreKind>, f64>);

impl Limits {
    /// Whether any of these falls short.
    pub(crate) fn fall_short(&self, lowest: &[(Option<CoreKind>, f64)]) -> bool {
        lowest.iter().any(|(kind, throughput)| self.0.get(kind).is_some_and(|limit| throughput < limit))
    }
}

impl Throughputs {
    /// Nothing seen yet; `record` has what earlier runs of the machine reached on cores of a kind.
    pub fn new(machine: &Machine, record: impl Fn(Option<CoreKind>) -> Option<f64>) -> Self {
        let kinds = machine.cpus.iter().filter_map(|cpu| Some((cpu.id, cpu.kind?))).collect();
        let seen = |kind| (kind, Seen { record: record(kind), ..Seen::default() });
        let by_kind = machine.cpus.iter().map(|cpu| cpu.kind).collect::<std::collections::BTreeSet<_>>();
        let cores = machine.cpus.iter().map(|cpu| (cpu.id, cpu.core)).collect();
        Self { kinds, cores, by_kind: by_kind.into_iter().map(seen).collect() }
    }

    /// Takes in the looks of a shot, then takes the clock from those that fall short: the other hardware thread was
    /// busy, as where the chains of the clock do not agree.
    pub fn judge(&mut self, shot: &mut Shot) {
        // Threads of one core take its room from each other.
        let cores: Vec<Option<u32>> =
            shot.threads.iter().map(|thread| self.cores.get(&thread.guard.cpu).copied()).collect();
        let is_alone = |core: &Option<u32>| core.is_none() || cores.iter().filter(|other| *other == core).count() == 1;
        let alone: Vec<bool> = cores.iter().map(is_alone).collect();
        for (thread, _) in shot.threads.iter().zip(&alone).filter(|(_, alone)| **alone) {
            let kind = self.kind(thread);
            self.by_kind.entry(kind).or_default().add(thread);
        }
        let limits = self.limits();
        for (thread, _) in shot.threads.iter_mut().zip(&alone).filter(|(_, alone)| **alone) {
            let kind = self.kind(thread);
            let Some(limit) = limits.0.get(&kind).copied() else { continue };
            let is_short = |look: &&mut ClockLook| look.throughput.is_some_and(|throughput| throughput < limit);
            let mut short = 0;
            for look in thread.looks.iter_mut().filter(is_short) {
                (look.hz, short) = (None, short + 1);
            }
            self.by_kind.entry(kind).or_default().beside += short;
        }
    }

    /// The lowest throughput of each kind of core in a shot, of looks that have a clock: for a judgement once more is
    /// known of the level.
    pub(crate) fn lowest(&self, shot: &Shot) -> Vec<(Option<CoreKind>, f64)> {
        let mut lowest: BTreeMap<Option<CoreKind>, f64> = BTreeMap::new();
        for thread in &shot.threads {
            let own = thread.looks.iter().filter(|look| look.hz.is_some()).filter_map(|look| look.throughput);
            let least = lowest.entry(self.kind(thread)).or_insert(f64::INFINITY);
            *least = own.fold(*least, f64::min);
        }
        lowest.into_iter().collect()
    }

    /// The limits by what was seen so far.
    pub(crate) fn limits(&self) -> Limits {
        Limits(self.by_kind.iter().filter_map(|(kind, seen)| Some((*kind, seen.limit()?))).collect())
    }

    /// What was seen on each kind of core.
    pub fn of_kinds(&self) -> Vec<CoreThroughput> {
        let core_throughput = |(kind, seen): (&Option<CoreKind>, &Seen)| {
            let per_cycle = seen.level()?;
            let beside = seen.beside as f64 / seen.looks as f64;
            Some(CoreThroughput { kind: *kind, per_cycle, record: seen.record, beside })
        };
        self.by_kind.iter().filter_map(core_throughput).collect()
    }

    fn kind(&self, thread: &ThreadShot) -> Option<CoreKind> {
        self.kinds.get(&thread.guard.cpu).copied()
    }
}

impl Seen {
    /// Takes in a visit of a thread. Its looks are of one moment, so that they count once.
    fn add(&mut self, thread: &ThreadShot) {
        let all: Vec<f64> = thread.looks.iter().filter_map(|look| look.throughput).collect();
        let Some(middle) = tiermark_stats::median(&all) else { return };
        // Looks without a clock were beside other work, or interrupted.
        self.looks += thread.looks.len() as u64;
        self.beside += (thread.looks.len() - all.len()) as u64;
        self.visits += 1;
        *self.steps.entry((middle.ln() / STEP).round() as i32).or_default() += 1;
    }

    /// The level that visits reached: of what lies within the tolerance of the fastest that is no chance, what is most
    /// frequent. `None` before enough visits reached it.
    fn level(&self) -> Option<f64> {
        let near = |step: i32| self.steps.range(step - 1..=step + 1).map(|(_, visits)| *visits).sum::<u32>();
        let enough = FEWEST.max((LEAST_SHARE * f64::from(self.visits)).ceil() as u32);
        let fastest = *self.steps.keys().rev().find(|step| near(**step) >= enough)?;
        let tolerance = (SHORT / STEP).round() as i32;
        let (level, _) = self.steps.range(fastest - tolerance..=fastest).max_by_key(|(step, _)| near(**step))?;
        Some((f64::from(*level) * STEP).exp())
    }

    /// The least that is no shortfall; `None` if no level is known.
    fn limit(&self) -> Option<f64> {
        let known = self.level().into_iter().chain(self.record).reduce(f64::max)?;
        Some(known * (1.0 - SHORT))
    }
}

/// A rig whose shots have a clock only where the core was alone.
pub(crate) struct Judged<'a> {
    pub(crate) rig: &'a mut dyn Rig,
    pub(crate) throughputs: &'a mut Throughputs,
}

impl Rig for Judged<'_> {
    fn placement(&mut self) -> PlacementProof {
        self.rig.placement()
    }

    fn select(&mut self, kernel: &KernelId) -> Result<(), Fault> {
        self.rig.select(kernel)
    }

    fn assign(&mut self, roles: &[Role]) -> Result<(), Fault> {
        self.rig.assign(roles)
    }

    fn owns_memory(&self) -> bool {
        self.rig.owns_memory()
    }

    fn shot(&mut self, budget: Duration) -> Result<Shot, Fault> {
        let mut shot = self.rig.shot(budget)?;
        self.throughputs.judge(&mut shot);
        Ok(shot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Guard;

    fn shot(cpu: CpuId, throughputs: &[f64]) -> Shot {
        let look = |throughput: &f64| ClockLook { at_ns: 0.0, hz: Some(3e9), throughput: Some(*throughput) };
        let looks = throughputs.iter().map(look).collect();
        let guard = Guard { cpu, seen_on: [cpu; 2], ..Guard::default() };
        Shot { threads: vec![ThreadShot { looks, guard, ..ThreadShot::default() }], ..Shot::default() }
    }

    /// Which looks of a shot keep their clock.
    fn judged(seen: &mut Throughputs, cpu: CpuId, throughputs: &[f64]) -> Vec<bool> {
        let mut shot = shot(cpu, throughputs);
        seen.judge(&mut shot);
        shot.threads[0].looks.iter().map(|look| look.hz.is_some()).collect()
    }

    fn known(record: Option<f64>) -> Throughputs {
        Throughputs::new(&tiermark_model::testing::small_machine(2), |_| record)
    }

    #[test]
    fn looks_fall_short_of_what_several_visits_reached() {
        let mut seen = known(None);
        // A core that is always shared looks like a narrow one.
        (0..100).for_each(|_| assert_eq!(judged(&mut seen, 0, &[3.0, 3.05]), [true; 2]));
        // One fast look is a clock that was read too low.
        assert_eq!(judged(&mut seen, 1, &[5.8]), [true]);
        assert_eq!(judged(&mut seen, 0, &[3.0]), [true]);
        (0..FEWEST).for_each(|_| drop(judged(&mut seen, 1, &[5.4, 5.42])));
        assert_eq!(judged(&mut seen, 0, &[3.0, 5.0, 5.3, 5.45]), [false, false, true, true]);
        let [of] = seen.of_kinds().try_into().unwrap();
        assert!((of.per_cycle / 5.41 - 1.0).abs() < 0.01 && of.record.is_none(), "{of:?}");
        assert!((of.beside - 2.0 / 222.0).abs() < 1e-9, "{of:?}");
    }

    #[test]
    fn the_level_is_the_usual_one_and_not_the_highest() {
        let mut seen = known(None);
        for index in 0..1_000 {
            // Undisturbed looks scatter by a percent; one in a hundred is too high by two.
            let scatter = 0.01 * (f64::from(index % 10) / 4.5 - 1.0) + if index % 100 == 0 { 0.025 } else { 0.0 };
            judged(&mut seen, 0, &[5.4 * (1.0 + scatter)]);
        }
        let of = seen.of_kinds()[0];
        assert!((of.per_cycle / 5.4 - 1.0).abs() < 0.011 && of.beside == 0.0, "{of:?}");
    }

    #[test]
    fn a_record_counts_from_the_first_look_on() {
        let mut seen = known(Some(5.4));
        assert_eq!(judged(&mut seen, 0, &[3.0, 5.4]), [false, true]);
        assert_eq!(judged(&mut known(Some(3.0)), 0, &[3.0, 5.4]), [true; 2]);
    }
}
