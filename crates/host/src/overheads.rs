//! The cost of measuring: a stamp, the gate, a call without work.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tiermark_model::{CpuId, Isa, Machine, Overheads, Pattern};
use tiermark_system::{Advice, Clock, Mapping, StreamCall, StreamPlan, pin, thread_cpu_ns};

use crate::core_clock::Lookout;
use crate::gate::{BreakOnPanic, StartGate};
use crate::team::{Pool, Team};
use crate::worker::pause;

/// Stamps of one series: their buffer (4 KiB) stays in the first-level cache, as it does in a shot.
const SERIES: usize = 512;
/// Series of each kind; the median counts.
const ROUNDS: usize = 15;

/// Measures everything; takes some milliseconds.
pub(crate) fn measure(machine: &Machine, clock: &Clock, resolution_ns: f64) -> (Overheads, Lookout) {
    let stamp_ns = stamp_ns(clock);
    let lookout = Lookout::learn(clock, resolution_ns, stamp_ns);
    let overheads = Overheads {
        stamp_ns,
        gate_ns: gate_ns(machine, clock),
        loop_ns: loop_ns(machine, clock),
        core_hz: (0..ROUNDS).find_map(|_| lookout.look(clock).hz),
    };
    (overheads, lookout)
}

/// Bytes a second that a thread gets at the first touch of memory: a host that must find the memory first gives a
/// tenth of what others give. `None` where little is free, or the kernel does not know the call (Linux 5.14).
pub(crate) fn first_touch(spare_bytes: u64) -> Option<f64> {
    /// Takes 10 ms where the memory is there already.
    const MOST: usize = 64 << 20;
    /// What is touched at a time, and for how long: by the cpu, which does not count other work but counts what the
    /// host does, and by the wall.
    const PIECE: usize = 2 << 20;
    const LONGEST_NS: f64 = 50e6;
    const LONGEST: Duration = Duration::from_millis(200);
    let most = usize::try_from(spare_bytes / 16).map_or(MOST, |bytes| bytes.min(MOST)) / PIECE * PIECE;
    let mapping = Mapping::reserve(most, PIECE).ok().filter(|_| most > 0)?;
    // Where the kernel has no huge pages, these are the pages that there are.
    let _ = mapping.advise(Advice::HugePage);
    let (began, from) = (Instant::now(), thread_cpu_ns());
    let mut touched = 0;
    while touched < most && thread_cpu_ns() - from < LONGEST_NS && began.elapsed() < LONGEST {
        mapping.populate(touched, PIECE).ok()?;
        touched += PIECE;
    }
    Some(touched as f64 / (thread_cpu_ns() - from) * 1e9).filter(|rate| rate.is_finite())
}

/// One stamp and its store, ns.
fn stamp_ns(clock: &Clock) -> f64 {
    let mut stamps = vec![1u64; SERIES];
    median(|| {
        for slot in &mut stamps {
            *slot = clock.now();
        }
        std::hint::black_box(&mut stamps);
        clock.between(stamps[0], stamps[SERIES - 1]) / (SERIES - 1) as f64
    })
}

/// One call of a kernel for a single line with its stamp, less the stamp, ns. `None` where no kernel can be called.
fn loop_ns(machine: &Machine, clock: &Clock) -> Option<f64> {
    let plain = |spec: &&tiermark_kernels::StreamSpec| {
        spec.info.plain && spec.info.isa != Isa::Portable && spec.info.op.pattern() == Pattern::Sequential
    };
    let spec = tiermark_kernels::available().filter(plain).find(|spec| spec.info.op.streams() == 1)?;
    let page = usize::try_from(machine.page_bytes).ok().filter(|n| n.is_power_of_two())?;
    let mapping = Arc::new(Mapping::reserve(page, page).ok()?);
    let call = StreamCall::new(&mapping, spec, StreamPlan { offsets: [0; 3], span: page, zeros: false }, None).ok()?;
    let mut stamps = vec![1u64; SERIES];
    let with_stamp = median(|| {
        for slot in &mut stamps {
            std::hint::black_box(call.run_least());
            *slot = clock.now();
        }
        std::hint::black_box(&mut stamps);
        clock.between(stamps[0], stamps[SERIES - 1]) / (SERIES - 1) as f64
    });
    Some((with_stamp - stamp_ns(clock)).max(0.0))
}

/// From the gate's opening to the last of two workers' first stamp, ns. `None` where they cannot be started.
fn gate_ns(machine: &Machine, clock: &Clock) -> Option<f64> {
    let cpus: Vec<CpuId> = machine.cores_first(&machine.allowed_cpus).into_iter().take(2).collect();
    let workers = cpus.len();
    let cpus = cpus.into_iter().map(|cpu| (cpu, cpu)).collect();
    let team = Team::<CpuId, Option<f64>>::new(&mut Pool::default(), cpus).ok().filter(|team| team.len() > 0)?;
    let clock = *clock;
    let round = || {
        let gate = StartGate::new(workers);
        let replies = team.run(Arc::new(move |cpu| {
            let _guard = BreakOnPanic(&gate);
            // A cpu that cannot be had makes this an ordinary thread; the cost is much the same.
            let _ = pin(*cpu);
            let opened = gate.arrive(|| clock.now(), pause).ok()?.at;
            Some(clock.between(opened, clock.now()))
        }));
        // One that never passed has no last.
        replies.into_iter().map(|reply| reply.ok().flatten()).try_fold(0.0, |last, ns| Some(f64::max(last, ns?)))
    };
    // A round that failed is not a number, and neither is the median of any such.
    let ns = median(|| round().unwrap_or(f64::NAN));
    ns.is_finite().then_some(ns)
}

/// The median of [`ROUNDS`] series; not a number if one of them is not a number.
fn median(mut series: impl FnMut() -> f64) -> f64 {
    let values: [f64; ROUNDS] = std::array::from_fn(|_| series());
    tiermark_stats::median(&values).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{CpuModel, System};

    #[test]
    fn what_cannot_be_measured_is_absent_and_not_zero() {
        let (clock, _) = Clock::choose(&CpuModel::default(), &System::default());
        // No cpu to run on, no page to call a kernel for.
        let (overheads, _) = measure(&Machine::default(), &clock, 1.0);
        assert_eq!((overheads.gate_ns, overheads.loop_ns), (None, None));
        assert!(overheads.stamp_ns > 0.0);
    }
}
