//! Frequency and interruptions.

use crate::knob::{Advice, Knob};
use tiermark_undo::Syntax::{Number, Word};

pub(super) const KNOBS: &[Knob] = &[
    Knob::file(
        "scaling_governor",
        "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        Word,
        "what chooses the frequency of each cpu",
    )
    .swap_tier(Advice::To(&["performance"], "no request waits for the frequency to rise"))
    .latency(Advice::To(&["performance"], "no request waits for the frequency to rise")),
    Knob::file(
        "intel_pstate/no_turbo",
        "sys/devices/system/cpu/intel_pstate/no_turbo",
        Number,
        "whether Intel cpus stay at their rated frequency: 1 yes",
    )
    .latency(Advice::Keep(
        "turbo makes requests faster on average, but their time then depends on how many cores are busy",
    )),
    Knob::file(
        "cpufreq/boost",
        "sys/devices/system/cpu/cpufreq/boost",
        Number,
        "whether cpus may exceed their rated frequency: 1 yes",
    )
    .latency(Advice::Keep(
        "boost makes requests faster on average, but their time then depends on how many cores are busy",
    )),
    Knob::file(
        "kernel.nmi_watchdog",
        "proc/sys/kernel/nmi_watchdog",
        Number,
        "detection of cpus that hang, by a periodic interrupt on each cpu",
    )
    .latency(Advice::To(&["0"], "it interrupts every cpu, and takes a performance counter")),
    Knob::file(
        "kernel.task_delayacct",
        "proc/sys/kernel/task_delayacct",
        Number,
        "counting how long each task waits for swap and devices",
    )
    .swap_tier(Advice::Keep(
        "1 shows how long each tenant waits for its pages, and makes each task switch a little slower",
    ))
    .default(&["0"]),
];
