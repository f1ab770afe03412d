//! `scale`: how the bandwidth of one node's memory grows with threads, and what ends the growth.

mod limits;
mod ramp;

use clap::Args;
use serde::{Deserialize, Serialize};
use tiermark_engine::{Lab, Probe, Study, Subject};
use tiermark_model::messages::{memory, rules};
use tiermark_model::{
    Bytes, ChainLayout, CpuId, Distance, Effort, Finding, IdSet, KernelId, KernelInfo, Labels, Layout, MemPolicy,
    Metric, NodeId, Note, Observation, Plan, Purpose, Quantity, Refusal, Request, Role, Setup, Span, Step, StopRule,
    Tier, parse_whole,
};

use crate::ceilings::{Stated, touched_node, traffic_for_each_byte};
use crate::ladder::{finding, overhead_note, with_purpose};
use crate::memory_kinds::{far_nodes, far_unmeasured, quiet_cpu};
use crate::mix::plain_kernel;
use crate::places::{Placement, home};
use crate::steps::{VISIT_SECONDS, no_kernel, one_cpu, setup, stream_role};
use crate::task::Task;
use crate::written::rate;

/// Wanted half-width of the interval of each point, and of the latency beside it.
const PRECISION: f64 = 0.02;
/// Up to this many threads every count is measured; beyond, each power of two and the one half-way.
const EVERY: usize = 8;

/// Parameters of the scale probe.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, Args)]
#[serde(default, deny_unknown_fields)]
pub struct ScaleParams {
    /// Operations: read, write.nt, copy, triad … [default: read]
    ///
    /// Each operation runs with its plain kernel (`tiermark list kernels`).
    #[arg(long = "op", value_name = "LIST", value_delimiter = ',')]
    pub ops: Vec<String>,
    /// Touch all memory first from this cpu, instead of binding it to a node
    ///
    /// The kernel takes the pages from the node of this cpu, as it does for a program whose threads run there.
    #[arg(long, value_name = "CPU", value_parser = parse_whole::<CpuId>, conflicts_with = "mem_node")]
    pub touch_cpu: Option<CpuId>,
    /// Theoretical peak of one node's memory, as in 8.53GB/s
    ///
    /// Default: from the memory modules (SMBIOS, readable by root).
    #[arg(hide_short_help = true, long, value_name = "RATE", value_parser = rate)]
    pub peak: Option<f64>,
    /// Rate of the link between two sockets in one direction, as in 9.6GB/s
    ///
    /// Default: the highest rate of the processor's family.
    #[arg(hide_short_help = true, long, value_name = "RATE", value_parser = rate)]
    pub link_rate: Option<f64>,
}

/// The probe of `tiermark scale`; `docs/methods/scale.md` describes the method.
pub static PROBE: Probe = Probe {
    id: "scale",
    method: 4,
    subject: Subject::Memory,
    summary: "Bandwidth of a node as threads are added, and its limit",
    page: include_str!("../../../../docs/methods/scale.md"),
    aids: &[],
    study: |request, lab| Ok(Box::new(ScaleStudy::new(request, lab)?)),
};

impl Study for ScaleStudy {
    fn plan(&self) -> Result<Plan, Refusal> {
        let mut plan = Plan::default();
        self.fill(&mut plan);
        self.task.limit(&mut plan, self.task.effort().choose([15.0, 60.0, 240.0]));
        self.task.with_steps(plan, "allow cpus and memory: --cpus, --max-mem", &["--cpus", "--max-mem"])
    }

    fn derive(&self, observations: &[Observation]) -> Vec<Finding> {
        let mut findings: Vec<Finding> = with_purpose(observations, Purpose::Scaling)
            .map(|o| {
                let notes = overhead_note(o).into_iter().chain(self.passes(o));
                Finding { quantity: Quantity::BandwidthScaling, ..finding(o, notes) }
            })
            .collect();
        findings.extend(
            with_purpose(observations, Purpose::Unloaded)
                .map(|o| Finding { quantity: Quantity::ScaleLatency, ..finding(o, None) }),
        );
        for op in self.ops() {
            let planned: Vec<ramp::Planned> = self.ramps().iter().map(|p| self.planned(p, &op)).collect();
            findings.extend(limits::findings(&op, &planned, observations));
        }
        findings
    }
}

struct ScaleStudy {
    task: Task,
    params: ScaleParams,
}

impl ScaleStudy {
    fn new(request: &Request, lab: &Lab) -> Result<Self, Refusal> {
        let (task, params): (_, ScaleParams) = Task::new(request, lab)?;
        if let Some(cpu) = params.touch_cpu {
            tiermark_engine::admit::admit_cpu(cpu, &lab.machine)?;
        }
        let study = Self { task, params };
        for op in study.ops() {
            if study.kernel(&op).is_none() {
                return Err(no_kernel(&op, &lab.bench));
            }
        }
        Ok(study)
    }

    fn ops(&self) -> Vec<String> {
        if self.params.ops.is_empty() { vec!["read".to_owned()] } else { self.params.ops.clone() }
    }

    fn kernel(&self, op: &str) -> Option<KernelId> {
        plain_kernel(&self.task.lab.bench, op).map(|kernel| kernel.id.clone())
    }

    /// The ramps: readers beside the node, readers of the nearest other node with cpus on another socket (or of another
    /// node of the same one), and the home node's cpus on memory without cpus.
    fn ramps(&self) -> Vec<Placement> {
        let machine = self.task.machine();
        let own = home(machine, &self.task.cpus);
        let home_node = quiet_cpu(machine, &own).and_then(|cpu| tiermark_engine::nearest_memory_node(cpu, machine));
        let chosen = touched_node(self.params.touch_cpu, machine).or(self.task.node());
        let Some(target) = chosen.or(home_node) else {
            // No node is known at all: every thread's own memory.
            return vec![Placement { distance: Distance::Local, cpus: own, node: None }];
        };
        let of_node = |id: NodeId| machine.node(id).map(|n| self.task.cpus.intersection(&n.cpus)).unwrap_or_default();
        let place = |cpus: IdSet, node: NodeId| {
            (!cpus.is_empty()).then(|| Placement {
                distance: Placement::distance(machine, &cpus, node),
                cpus,
                node: Some(node),
            })
        };
        let beside = of_node(target);
        let mut ramps: Vec<Placement> = Vec::new();
        if beside.is_empty() {
            // Memory without cpus in scope: any cpu may use it.
            ramps.extend(place(own, target));
            return ramps;
        }
        ramps.extend(place(beside.clone(), target));
        ramps.extend(self.readers_elsewhere(target, &beside).and_then(|cpus| place(cpus, target)));
        if chosen.is_none() {
            let far = beside.first().map_or_else(Vec::new, |cpu| far_nodes(machine, cpu)).into_iter();
            let far = far.filter(|id| machine.node(*id).is_some_and(tiermark_model::Node::is_memory_only));
            ramps.extend(far.filter_map(|id| place(beside.clone(), id)));
        }
        ramps
    }

    /// The cpus of one other node: the nearest on another socket, or the nearest at all.
    fn readers_elsewhere(&self, target: NodeId, beside: &IdSet) -> Option<IdSet> {
        let machine = self.task.machine();
        let socket = beside.first().and_then(|cpu| machine.cpu(cpu)).map(|c| c.socket);
        let others = machine.nodes.iter().filter(|n| n.id != target).filter_map(|n| {
            let cpus = self.task.cpus.intersection(&n.cpus);
            let first = machine.cpu(cpus.first()?)?;
            let distance = n.distances.get(&target).copied().unwrap_or(u32::MAX);
            Some(((Some(first.socket) == socket, distance, n.id), cpus))
        });
        others.min_by_key(|(key, _)| *key).map(|(_, cpus)| cpus)
    }

    fn fill(&self, plan: &mut Plan) {
        if self.task.node().is_none() {
            let cpu = quiet_cpu(self.task.machine(), &self.task.cpus);
            plan.rules.extend(cpu.into_iter().flat_map(|cpu| far_unmeasured(self.task.machine(), cpu)));
        }
        for place in self.ramps() {
            let order = self.task.machine().cores_first(&place.cpus);
            let cores = self.task.machine().one_per_core(&place.cpus).len();
            let cpus = &place.cpus;
            plan.rules.push(rules::ramp_of(&place.distance.to_string(), cpus, cores));
            match self.latency(&place) {
                Ok(step) => plan.steps.push(step),
                Err(refusal) => plan.refused.push(refusal),
            }
            for op in self.ops() {
                for count in counts(cores, order.len(), self.task.effort()) {
                    match self.point(&place, &op, &order[..count], count <= cores) {
                        Ok(step) => plan.steps.extend(step),
                        Err(refusal) if plan.refused.contains(&refusal) => {}
                        Err(refusal) => plan.refused.push(refusal),
                    }
                }
            }
        }
    }

    /// How far the ramp of a place is to go.
    fn planned(&self, place: &Placement, op: &str) -> ramp::Planned {
        let machine = self.task.machine();
        let stated = Stated { peak: self.params.peak, link: self.params.link_rate };
        // What is written crosses the link in both directions: read first, and sent back.
        let link = stated.link(machine, &place.cpus, place.node).filter(|_| op.starts_with("read"));
        ramp::Planned {
            place: place.distance,
            node: place.node,
            cores: machine.one_per_core(&place.cpus).len(),
            lines: self.lines(op),
            traffic: self.kernel_info(op).and_then(|kernel| traffic_for_each_byte(&[kernel])).unwrap_or(1.0),
            peak: stated.peak(machine, place.node),
            link,
        }
    }

    /// Bytes of whole lines for each byte that an operation uses.
    fn lines(&self, op: &str) -> f64 {
        self.kernel_info(op).map_or(1.0, KernelInfo::lines_for_each_byte)
    }

    /// The kernel of an operation.
    fn kernel_info(&self, op: &str) -> Option<&KernelInfo> {
        plain_kernel(&self.task.lab.bench, op)
    }

    /// How often the memory of a step was gone through while it was measured, and in what time.
    fn passes(&self, seen: &Observation) -> Option<Note> {
        let footprint = seen.labels.bytes()? * seen.labels.threads()?;
        let seconds = seen.visits.len() as f64 * VISIT_SECONDS;
        let bytes = seen.value? * self.lines(seen.labels.op()?) * seconds;
        Some(memory::passes_made(bytes / footprint as f64, Bytes(footprint), seconds))
    }

    /// Has the memory of a setup touched first by the cpu chosen for it.
    fn touched(&self, mut setup: Setup) -> Setup {
        if let Some(cpu) = self.params.touch_cpu {
            setup.regions.iter_mut().for_each(|region| region.policy = MemPolicy::TouchedBy(cpu));
        }
        setup
    }

    fn stop(&self) -> StopRule {
        self.task.headline(PRECISION)
    }

    fn labels(&self, place: &Placement, purpose: Purpose) -> Labels {
        let labels = Labels::new().with_purpose(purpose).with_place(place.distance);
        let mut labels = labels.with_page(self.task.page());
        if let Some(cpu) = self.params.touch_cpu {
            labels = labels.with_policy(format!("touched by cpu {cpu}"));
        }
        labels.with_node_if(place.node)
    }

    /// The chase from the ramp's quietest core.
    fn latency(&self, place: &Placement) -> Result<Step, Refusal> {
        let machine = self.task.machine();
        let cpu: CpuId = one_cpu(machine, &place.cpus, "scale")?;
        let (bytes, _) = self.task.dram_bytes(&[cpu], place.node)?;
        let labels = self.labels(place, Purpose::Unloaded).with_size(bytes).with_cpus(cpu);
        let (role, layout) = (Role::Chase { chains: 1 }, Layout::Chain(ChainLayout::Groups));
        let setup = setup(&[cpu], Bytes(bytes), place.node, self.task.page(), layout, &role, self.task.request.seed);
        let id = format!("scale/{}{}/latency", place.distance, at(place));
        Ok(Step { id, labels, phase: 0, metric: Metric::Latency, setup: self.touched(setup), stop: self.stop() })
    }

    /// So many threads of a ramp.
    fn point(&self, place: &Placement, op: &str, cpus: &[CpuId], cores_only: bool) -> Result<Option<Step>, Refusal> {
        let crew: IdSet = cpus.iter().copied().collect();
        let (bytes, _) = self.task.dram_bytes(cpus, place.node)?;
        let Some(kernel) = self.kernel(op) else { return Ok(None) };
        let mut labels = self
            .labels(place, Purpose::Scaling)
            .with_op(op)
            .with_kernel(&kernel)
            .with_size(bytes)
            .with_threads(cpus.len() as u64)
            .with_span(if cores_only { Span::Cores } else { Span::Siblings })
            .with_cpus(&crew);
        if place.distance == Distance::Local {
            labels = labels.with_tier(Tier::Dram);
        }
        let Some(role) = stream_role(&[kernel]) else { return Ok(None) };
        let setup =
            setup(cpus, Bytes(bytes), place.node, self.task.page(), Layout::Data, &role, self.task.request.seed);
        let id = format!("scale/{}{}/{op}/x{}", place.distance, at(place), cpus.len());
        let setup = self.touched(setup);
        Ok(Some(Step { id, labels, phase: 0, metric: Metric::Bandwidth, setup, stop: self.stop() }))
    }
}

fn at(place: &Placement) -> String {
    place.node.map_or_else(String::new, |n| format!("/node{n}"))
}

/// Numbers of threads: each one at first, then by factors of 4/3 and 3/2; always one a core, and all.
fn counts(cores: usize, all: usize, effort: Effort) -> Vec<usize> {
    let every = effort.choose([4, EVERY, 2 * EVERY]);
    let mut counts: Vec<usize> = (1..=every.min(all)).collect();
    let powers = (0..usize::BITS - 1).map(|bit| 1usize << bit).take_while(|n| *n <= all);
    counts.extend(powers.flat_map(|n| [n, n + n / 2]).filter(|n| *n <= all));
    counts.extend([cores, all]);
    counts.sort_unstable();
    counts.dedup();
    counts.retain(|n| *n >= 1 && *n <= all);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_hold_the_first_the_cores_and_all() {
        assert_eq!(counts(2, 2, Effort::Standard), [1, 2]);
        assert_eq!(counts(1, 2, Effort::Standard), [1, 2]);
        assert_eq!(counts(20, 40, Effort::Standard), [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 40]);
        assert!(counts(128, 256, Effort::Full).len() < 32, "steps grow with the logarithm of the threads");
    }
}
