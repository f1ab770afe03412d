//! The state of the system as a run finds it.

use super::rows::messages;
use crate::{Bytes, IdSet};

messages! {
    /// A control group with a quota of cpu time.
    Warning cpu_quota(cpus: f64):
        "this cgroup may use {cpus} cpus", "threads are stopped when the quota is spent", "lift cpu.max for the run";

    /// Caches in front of the memory of some nodes.
    Warning memory_side_cache(nodes: &IdSet, bytes: Bytes):
        "a cache of {bytes} lies in front of the memory of node {nodes}",
        "a working set within it measures the cache, not the memory",
        "allow more time and memory to measure the memory behind the cache: `tiermark survey --max-time 15m --max-mem SIZE`";

    /// Automatic NUMA balancing on a machine with several nodes.
    Warning numa_balancing():
        "automatic NUMA balancing may move pages during the run", "", "as root: sysctl kernel.numa_balancing=0";

    /// Kernel samepage merging.
    Warning ksm():
        "KSM is merging pages", "", "as root: echo 0 > /sys/kernel/mm/ksm/run";

    /// Facts of the machine with several views; `found` are the facts.
    Warning facts_contradict(found: &[String]):
        { format!("this system contradicts itself: {}", found.join("; ")) }, "figures rest on the view that is used",
        "`tiermark machine` lists both views of each fact";

    /// A running kdamond.
    Warning damon():
        "DAMON is sampling page accesses", "it clears accessed bits, which costs page walks",
        "stop DAMON for the run, if you started it";

    /// Transparent huge pages that are off.
    Warning thp_never():
        "transparent huge pages are off", "DRAM figures include page walks",
        "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled";

    /// A frequency governor other than `performance`.
    Warning governor(governor: &str):
        "the cpu frequency governor is {governor}", "cores may speed up during the run",
        "as root: cpupower frequency-set -g performance";

    /// A system clock that takes a system call or a slow device to read.
    Warning clocksource(clocksource: &str):
        "the system clock is {clocksource}", "reading it is slow", "";

    /// A load average that says that others are at work.
    Warning load_average(load: f64, cpus: usize):
        "load average {load:.2} on {cpus} cpus", "other work is running",
        "measure on a quiet machine: `tiermark doctor` shows what is running";
}
