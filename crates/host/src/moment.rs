//! What the kernel counts of a thread, at the two ends of a shot.

use std::fs;

use tiermark_engine::Guard;
use tiermark_model::CpuId;
use tiermark_system::{Clock, Usage};

/// The worker's own counters at one end of a shot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    cpu: Option<CpuId>,
    pub(crate) usage: Usage,
    run_delay_ns: Option<f64>,
    cpu_ns: f64,
    wall: u64,
}

impl Moment {
    /// Reads the wall clock before the cpu time, so that cpu time never exceeds wall time.
    pub(crate) fn start(clock: &Clock) -> Self {
        let (cpu, usage, run_delay_ns) = (tiermark_system::cpu_now(), tiermark_system::thread_usage(), run_delay_ns());
        Self { cpu, usage, run_delay_ns, wall: clock.now(), cpu_ns: tiermark_system::thread_cpu_ns() }
    }

    /// Reads the cpu time before the wall clock, for the same reason.
    pub(crate) fn end(clock: &Clock) -> Self {
        let (cpu_ns, wall) = (tiermark_system::thread_cpu_ns(), clock.now());
        Self {
            cpu_ns,
            wall,
            cpu: tiermark_system::cpu_now(),
            usage: tiermark_system::thread_usage(),
            run_delay_ns: run_delay_ns(),
        }
    }
}

/// The guard between two moments.
pub(crate) fn guarded(cpu: CpuId, before: &Moment, after: &Moment, clock: &Clock) -> Guard {
    Guard {
        cpu,
        // If the kernel does not report the cpu, the pinned cpu is assumed.
        seen_on: [before.cpu.unwrap_or(cpu), after.cpu.unwrap_or(cpu)],
        cpu_ns: after.cpu_ns - before.cpu_ns,
        wall_ns: clock.between(before.wall, after.wall),
        involuntary_switches: after.usage.involuntary_switches.saturating_sub(before.usage.involuntary_switches),
        minor_faults: after.usage.minor_faults.saturating_sub(before.usage.minor_faults),
        major_faults: after.usage.major_faults.saturating_sub(before.usage.major_faults),
        run_delay_ns: after.run_delay_ns.zip(before.run_delay_ns).map(|(after, before)| (after - before).max(0.0)),
    }
}

/// Time the thread was runnable but waited, ns: the second number of its schedstat.
fn run_delay_ns() -> Option<f64> {
    // Opened each time: 2,048 workers that kept it open would use up the limit on open files.
    fs::read_to_string("/proc/thread-self/schedstat").ok()?.split_whitespace().nth(1)?.parse().ok()
}
