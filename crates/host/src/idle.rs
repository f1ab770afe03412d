//! Threads that read the clock and do nothing else: what then takes longer is an interruption.

use std::thread;

use tiermark_engine::{Guard, IdleWatch, Interruptions, Shot, ThreadShot};
use tiermark_model::{CpuId, Interrupted, Machine};
use tiermark_system::Clock;

/// Time for which a worker watches the clock after its work, ns: a tenth of a visit.
pub(crate) const OF_A_VISIT_NS: f64 = 200_000.0;
/// Time for which each cpu is watched by itself, ns: at a thousand ticks of the kernel a second, 50 of them.
const OF_A_CPU_NS: f64 = 50e6;
/// Cpus that are watched by themselves, one after the other: a second in all.
const CPUS: usize = 20;
/// A time between two readings of the clock from which something else had the cpu, ns: readings take 10 to 40.
const GAP_NS: f64 = 500.0;

/// Reads the clock for so many ns.
pub(crate) fn watch(clock: &Clock, ns: f64) -> IdleWatch {
    let (start, least) = (clock.now(), clock.ticks(GAP_NS));
    let until = start + clock.ticks(ns);
    let (mut last, mut gaps_ns) = (start, Vec::new());
    while last < until {
        let now = clock.now();
        if now.saturating_sub(last) > least {
            gaps_ns.push(clock.between(last, now) as f32);
        }
        last = now;
    }
    IdleWatch { ns: clock.between(start, last), gaps_ns }
}

/// What interrupts the cpus that the program may use: each is watched for 50 ms, 20 of them at most, which are spread
/// over all. Empty where threads cannot be pinned.
pub fn interruptions(machine: &Machine) -> Vec<Interrupted> {
    let (clock, _) = Clock::choose(&machine.cpu_model, &machine.system);
    let cpus: Vec<CpuId> = machine.allowed_cpus.iter().collect();
    let mut seen = Interruptions::default();
    for at in 0..cpus.len().min(CPUS) {
        let cpu = cpus[at * cpus.len() / cpus.len().min(CPUS)];
        let pinned = || {
            tiermark_system::pin(cpu).ok()?;
            Some(watch(&clock, OF_A_CPU_NS))
        };
        let watched = thread::scope(|scope| scope.spawn(pinned).join());
        let Some(idle) = watched.ok().flatten() else { continue };
        let guard = Guard { cpu, ..Guard::default() };
        let thread = ThreadShot { idle, guard, ..ThreadShot::default() };
        seen.add(at as f64, &Shot { threads: vec![thread], ..Shot::default() });
    }
    seen.of_cpus()
}

#[cfg(test)]
mod tests {
    use tiermark_model::{CpuModel, System};

    use super::*;

    #[test]
    fn each_cpu_is_watched() {
        let allowed = tiermark_system::affinity().unwrap();
        let machine = Machine { allowed_cpus: allowed.clone(), ..Machine::default() };
        let found = interruptions(&machine);
        assert_eq!(found.len(), allowed.len().min(CPUS));
        for of in found {
            let is_sane = of.watched_seconds >= 0.05 && of.long <= of.count && of.long_share <= of.share;
            assert!(
                is_sane && (0.0..1.0).contains(&of.share) && of.cpu.is_some_and(|cpu| allowed.contains(cpu)),
                "{of:?}"
            );
        }
    }

    #[test]
    fn a_watch_sees_who_takes_its_cpu() {
        let (clock, _) = Clock::choose(&CpuModel::default(), &System::default());
        let cpu = tiermark_system::affinity().unwrap().iter().next().unwrap();
        // Two threads of one cpu have half of it each.
        let both = thread::scope(|scope| {
            let one = || {
                tiermark_system::pin(cpu).unwrap();
                watch(&clock, 200e6)
            };
            [scope.spawn(one), scope.spawn(one)].map(|thread| thread.join().unwrap())
        });
        for seen in both {
            let taken: f64 = seen.gaps_ns.iter().map(|gap| f64::from(*gap)).sum();
            assert!(taken > 0.2 * seen.ns, "{taken} of {}", seen.ns);
        }
    }
}
