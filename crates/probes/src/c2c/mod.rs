//! `c2c`: how long a line takes from core to core.

mod findings;
mod pairs;
mod planner;
mod remark;

use serde::{Deserialize, Serialize};
use tiermark_engine::{About, Lab, Probe};
use tiermark_model::{Finding, Observation, PingOp, Plan, Refusal, Request};

use planner::Planner;

/// What can be asked of the c2c probe.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct C2cParams {
    /// How turns are passed, for every pair; none means compare-and-swap, and the others for one pair of each relation.
    pub ops: Vec<PingOp>,
    /// Which pairs; `None` means all that there is time for.
    pub sample: Option<Sample>,
}

/// Which pairs are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sample {
    /// All of them, however long it takes.
    All,
    /// So many of each relation.
    Each(u32),
}

/// The probe.
pub struct C2c;

static ABOUT: About = About {
    id: "c2c",
    method: 2,
    summary: "round trip of a line between two cores, fetching lines from another core, contention",
    text: "Two threads, each pinned to a cpu, pass a turn to and fro through shared lines; a block is 128 round trips, stamped by the one \
who began; the value is the edge (2nd percentile) of windows of 0.25 ms in the best state of the machine. `cas`: both compare and swap one word. `flag`: each stores to a line of its own and watches \
the other's. `one-way`: the sender stores its clock and the receiver subtracts it from its own, where the processor's counter is one clock \
for all cpus. Every allocation is fresh memory, every shot goes round 16 lines drawn by the seed, 128 bytes apart: where a line's home in the \
caches lies changes its latency. Memory is on the node of the cpu that begins; for one pair of each relation it is also measured on the \
other's node and on a third, proven by move_pages.

Pairs are named by the nearest thing that both cpus have in common: SMT (one core), cluster, LLC, die, socket, remote; on hybrid machines \
also by the kinds of their cores (P performance, E efficiency, LP low-power). Where there is not \
time for all pairs, some of each such class are drawn by the seed, and the plan says how many are left out.

Transfers: one thread reads (clean) or writes (dirty) 128 lines, the other then chases through them; only the chase is timed. Contention: \
1, 2, 4 up to all cpus add to one word; each cpu's time over its additions, and of these the median over the cpus, each counting once; the \
additions of all together; and the fewest additions of any cpu over the most, window by window.",
    not: "A round trip is two messages: tools that print one-way figures divide it by two. It is not the latency of the cache that holds the \
line, and not what a lock costs that nobody else wants. In a guest, the topology that names the pairs is what the hypervisor declares.",
    citations: &[
        "Vitter 1985, Random sampling with a reservoir, ACM TOMS 11(1) (the sample of pairs)",
        "David, Guerraoui & Trigonakis 2013, Everything you always wanted to know about synchronization but were afraid to ask, SOSP (line transfers by state and distance)",
    ],
};

impl Probe for C2c {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn plan(&self, request: &Request, lab: Lab<'_>) -> Result<Plan, Refusal> {
        Planner::new(request, lab)?.plan()
    }

    fn derive(&self, request: &Request, lab: Lab<'_>, observations: &[Observation]) -> Vec<Finding> {
        findings::derive(request, lab, observations)
    }
}

/// Reads a request's parameters.
fn params(request: &Request) -> Result<C2cParams, Refusal> {
    if request.params.is_null() {
        return Ok(C2cParams::default());
    }
    serde_json::from_value(request.params.clone())
        .map_err(|e| Refusal::new("the c2c request", e.to_string(), "see `tiermark help c2c`"))
}
