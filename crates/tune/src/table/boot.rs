//! The kernel command line. It is only looked at: boot loaders are never edited.

use tiermark_model::IdSet;

use crate::advice_input::AdviceInput;
use crate::knob::{Advice, Knob};

/// How parameters get there; the profile's reason comes first.
pub(super) const HOW: &str = "add it to the kernel command line (GRUB_CMDLINE_LINUX and update-grub, or grubby)";

pub(super) const KNOBS: &[Knob] = &[
    Knob::boot("rcu_nocbs=", "rcu_nocbs", "cpus whose RCU callbacks run on other cpus")
        .swap_tier(Advice::By(rcu))
        .latency(Advice::By(rcu)),
    Knob::boot("nohz_full=", "nohz_full", "cpus without a timer tick while one task runs").latency(Advice::Keep(
        "useful for cpus that run one busy thread each; leave out cpus that several threads share",
    )),
    Knob::boot("isolcpus=", "isolcpus", "cpus that the scheduler leaves alone")
        .latency(Advice::Keep("useful for cpus whose threads are all pinned; cpusets do the same without a reboot")),
    Knob::boot("nohz=", "nohz", "whether idle cpus stop their tick").swap_tier(Advice::Keep(
        "nohz=off was advised for guests of 2018, to save VM exits; leave it out, unless a measurement shows a gain",
    )),
    Knob::boot("highres=", "highres", "whether timers are exact").swap_tier(Advice::Keep(
        "highres=off was advised for guests of 2018; it makes every sleep as long as a tick: leave it out",
    )),
    Knob::boot("lapic=", "lapic", "the timer of each cpu").swap_tier(Advice::Keep(
        "lapic=notscdeadline was advised for guests of 2018; leave it out, unless a measurement shows a gain",
    )),
    Knob::boot("mitigations=", "mitigations", "the kernel's protection against vulnerabilities of the processor")
        .swap_tier(Advice::Keep(
            "compare only runs with the same mitigations; do not turn them off for a better number",
        ))
        .latency(Advice::Keep("compare only runs with the same mitigations; do not turn them off for a better number")),
    Knob::fact(
        "pressure stall information",
        "proc/pressure/memory",
        pressure,
        "how long tasks wait for memory, cpu and devices",
    )
    .swap_tier(Advice::By(psi)),
];

fn rcu(input: &AdviceInput<'_>) -> Option<(String, String)> {
    let online = input.machine.online();
    if online.is_empty() {
        return None;
    }
    let why = "no RCU callback, which frees kernel objects, runs on the cpus that serve requests";
    if let Some(now) = input.parameter("rcu_nocbs")
        && (now == "all" || now.parse::<IdSet>().is_ok_and(|ids| online.difference(&ids).is_empty()))
    {
        return Some((now, why.to_owned()));
    }
    match &input.config {
        Some(config) if config.has("RCU_NOCB_CPU_DEFAULT_ALL") || config.has("RCU_NOCB_CPU_ALL") => None,
        Some(config) if !config.has("RCU_NOCB_CPU") => Some((
            online.to_string(),
            format!("{why}; this kernel was built without CONFIG_RCU_NOCB_CPU: use one that has it"),
        )),
        _ => Some((online.to_string(), format!("{why}; {HOW}"))),
    }
}

fn pressure(input: &AdviceInput<'_>) -> Vec<(Option<String>, String)> {
    let there = input.root.read("proc/pressure/memory").is_ok_and(|text| text.is_some());
    // A captured tree may just not have it.
    let known = there || input.root.is_live();
    known.then(|| (None, if there { "on" } else { "off" }.to_owned())).into_iter().collect()
}

fn psi(_: &AdviceInput<'_>) -> Option<(String, String)> {
    Some(("on".to_owned(), format!("it is the earliest sign that a tier is too slow; boot with psi=1: {HOW}")))
}
