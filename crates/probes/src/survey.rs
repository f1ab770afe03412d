//! `survey`: the requests that make up the whole picture, and what the machine's state does to it.

use tiermark_model::{Effort, Machine, Request, Scope, Warning};

/// The requests of a survey, in order.
pub fn requests(effort: Effort, scope: &Scope, precision: Option<f64>, seed: u64) -> Vec<Request> {
    ["latency", "bandwidth"]
        .map(|probe| Request {
            probe: probe.into(),
            scope: scope.clone(),
            effort,
            precision,
            seed,
            params: serde_json::Value::Null,
            part: None,
        })
        .to_vec()
}

/// What of the machine's state a reader of any number should know, with cures. Nothing is changed by the program.
pub fn warnings(machine: &Machine) -> Vec<Warning> {
    let system = &machine.system;
    let mut warnings = Vec::new();
    let mut warn = |code: &str, text: String, cure: &str| {
        warnings.push(Warning { code: code.into(), text, cure: (!cure.is_empty()).then(|| cure.to_owned()) });
    };
    if let Some(quota) = system.cgroup.as_ref().and_then(|c| c.cpu_quota) {
        warn(
            "cpu_quota",
            format!("this cgroup may use {quota} cpus: threads are stopped when the quota is spent"),
            "lift cpu.max for the run",
        );
    }
    if system.numa_balancing.is_some_and(|m| m != 0) && machine.nodes.len() > 1 {
        warn(
            "numa_balancing",
            "automatic NUMA balancing may move pages during the run".into(),
            "as root: sysctl kernel.numa_balancing=0",
        );
    }
    if system.ksm == Some(1) {
        warn("ksm", "KSM is merging pages".into(), "as root: echo 0 > /sys/kernel/mm/ksm/run");
    }
    if system.damon_running == Some(true) {
        warn(
            "damon",
            "DAMON is sampling page accesses: it clears accessed bits, which costs page walks".into(),
            "stop it for the run, if it is yours",
        );
    }
    if system.thp.as_deref() == Some("never") {
        warn(
            "thp_never",
            "transparent huge pages are off: DRAM figures hold page walks".into(),
            "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        );
    }
    if let Some(governor) = system.governor.as_deref().filter(|g| *g != "performance") {
        warn(
            "governor",
            format!("the cpu frequency governor is {governor}: cores may speed up during the run"),
            "as root: cpupower frequency-set -g performance",
        );
    }
    if let Some(source) = system
        .clocksource
        .as_deref()
        .filter(|s| !["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"].contains(s))
    {
        warn("clocksource", format!("the system clock is {source}: reading it is slow"), "");
    }
    let cpus = machine.allowed_cpus.len() as f64;
    // The share of cpus that may be busy before a quiet machine is no longer assumed.
    const BUSY: f64 = 0.1;
    if let Some(load) = system.load1.filter(|l| *l > BUSY * cpus) {
        warn(
            "busy",
            format!("load average {load:.2} on {cpus} cpus: other work is running"),
            "measure on a quiet machine, or trust the verdicts",
        );
    }
    warnings
}
