//! `bandwidth`: useful bytes a second, by footprint, operation, kernel and number of threads.

use serde::{Deserialize, Serialize};
use tiermark_engine::{About, Lab, Probe};
use tiermark_model::{
    Bytes, CpuId, Effort, Finding, Grade, IdSet, KernelId, KernelInfo, Label, Labels, Layout, Metric, NodeId,
    Observation, PageKind, Pattern, Plan, Refusal, Request, Step, StopRule, StoreKind, Unit, format_gbs,
};

use crate::ladder::{derived, finding, overhead_note, points, with_purpose};
use crate::sizes::{SMALLEST, between, grid};
use crate::steps::{check_size, curve_point, default_page, headline, scope_cpus, setup, stream_role};
use crate::tiers::{dram_bytes, ladder, quiet_cpu};

/// Wanted half-width of the interval of a headline bandwidth.
const PRECISION: f64 = 0.02;

/// What can be asked of the bandwidth probe.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BandwidthParams {
    /// Footprints of each thread, as a table; none means the ladder, the curve and the scaling.
    pub sizes: Vec<Bytes>,
    /// Jobs (`read`, `write`, `copy`: the best kernel of each), operations (`write.nt`) or kernels (`read/avx2`); none means the three jobs.
    pub ops: Vec<String>,
    /// Numbers of threads; none means one and one per core.
    pub threads: Vec<ThreadCount>,
}

/// How many threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadCount {
    /// One.
    One,
    /// One on every physical core in scope.
    Cores,
    /// One on every cpu in scope.
    Cpus,
    /// This many; physical cores before their siblings.
    #[serde(untagged)]
    Exactly(u32),
}

/// Jobs a user has in mind, and the operations whose kernels do them: the fastest is the answer.
const JOBS: [(&str, &[&str]); 4] = [
    ("read", &["read"]),
    ("write", &["write", "write.nt", "fill.rep"]),
    ("copy", &["copy", "copy.nt", "copy.rep"]),
    ("triad", &["triad", "triad.nt"]),
];

/// The probe.
pub struct Bandwidth;

static ABOUT: About = About {
    id: "bandwidth",
    method: 1,
    summary: "useful bytes a second, by footprint, operation, kernel and number of threads",
    text: "Threads, each pinned to a core and working on memory of its own, run hand-written loops and stamp the clock after every \
small block (64 KiB or whole passes of a smaller footprint). Bandwidth is the bytes that all threads moved inside windows in which \
every one of them ran without a gap, over the length of those windows; the value is the median over windows, shots and at least \
three fresh allocations. For a job (read, write, copy, triad) every kernel this core can run holds a short tournament, the winner \
is measured and named, and the others' rates are kept beside it: the fastest store differs from the plainest by a factor of two \
and more. The footprint is the sum over the arrays a kernel walks.",
    not: "Bytes are useful bytes, what the program asked for: read counts what it read, write what it wrote, copy both, triad three \
arrays. What the memory channels carried beside that (lines read for ownership, prefetches never used) is not in it.",
    citations: &[
        "McCalpin 1995, Memory bandwidth and machine balance in current high performance computers (counting copy and triad)",
        "Hofmann, Fey, Riedmann, Eitzinger, Hager, Wellein 2017, Performance analysis of the Kahan-enhanced scalar product (kernels by cache level)",
    ],
};

impl Probe for Bandwidth {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn plan(&self, request: &Request, lab: Lab<'_>) -> Result<Plan, Refusal> {
        let planner = Planner::new(request, lab)?;
        let mut plan = Plan { max_seconds: max_seconds(request), ..Plan::default() };
        plan.rules.push("bandwidth: physical cores before SMT siblings; every thread has memory of its own".into());
        if planner.params.sizes.is_empty() {
            planner.ladder(&mut plan);
            planner.curve(&mut plan);
            planner.scaling(&mut plan);
        } else {
            planner.table(&mut plan)?;
        }
        if plan.steps.is_empty() {
            return Err(plan
                .refused
                .into_iter()
                .next()
                .unwrap_or_else(|| Refusal::new("bandwidth", "nothing is left to measure", "ask for sizes")));
        }
        Ok(plan)
    }

    fn refine(&self, request: &Request, lab: Lab<'_>, observations: &[Observation]) -> Vec<Step> {
        match Planner::new(request, lab) {
            Ok(planner) if request.effort > Effort::Quick => planner.denser(observations),
            _ => Vec::new(),
        }
    }

    fn derive(&self, _request: &Request, lab: Lab<'_>, observations: &[Observation]) -> Vec<Finding> {
        let mut findings: Vec<Finding> = Vec::new();
        for purpose in ["ladder", "table"] {
            findings.extend(with_purpose(observations, purpose).map(|o| finding(o, note(o, lab))));
        }
        findings.extend(
            with_purpose(observations, "scaling")
                .map(|o| Finding { metric: "bandwidth.scaling".into(), ..finding(o, overhead_note(o)) }),
        );
        findings.extend(peak_shares(observations, lab));
        findings
    }
}

fn max_seconds(request: &Request) -> f64 {
    request.scope.max_seconds.unwrap_or(match request.effort {
        Effort::Quick => 8.0,
        Effort::Standard => 32.0,
        Effort::Full => 300.0,
    })
}

/// Who runs a step: the cpus, and what to call their number.
#[derive(Debug, Clone, PartialEq)]
struct Crew {
    cpus: Vec<CpuId>,
    span: &'static str,
}

struct Planner<'a> {
    request: &'a Request,
    params: BandwidthParams,
    lab: Lab<'a>,
    cpus: IdSet,
}

impl<'a> Planner<'a> {
    fn new(request: &'a Request, lab: Lab<'a>) -> Result<Self, Refusal> {
        let params: BandwidthParams = if request.params.is_null() {
            BandwidthParams::default()
        } else {
            let wrong = |e: serde_json::Error| {
                Refusal::new("the bandwidth request", e.to_string(), "see `tiermark help bandwidth`")
            };
            serde_json::from_value(request.params.clone()).map_err(wrong)?
        };
        let cpus = scope_cpus(&request.scope, lab.machine)?;
        let planner = Self { request, params, lab, cpus };
        for op in &planner.params.ops {
            if planner.kernels(op).is_empty() {
                let ops: std::collections::BTreeSet<&str> = lab.bench.kernels.iter().map(|k| k.id.op()).collect();
                let known = ops.into_iter().collect::<Vec<_>>().join(", ");
                let why = "this machine has no such kernel";
                return Err(Refusal::new(
                    format!("kernel '{op}'"),
                    why,
                    format!("`tiermark list kernels` shows them; operations: {known}"),
                ));
            }
        }
        Ok(planner)
    }

    fn page(&self) -> PageKind {
        self.request.scope.page.unwrap_or_else(|| default_page(self.lab.machine))
    }

    /// Kernels that answer to a name: a job, an operation, or one kernel. Fastest instruction sets first, the oracles never.
    fn kernels(&self, name: &str) -> Vec<KernelId> {
        if let Some(exact) = self.lab.bench.kernels.iter().find(|k| k.id.0 == name) {
            return vec![exact.id.clone()];
        }
        let own = [name];
        let ops: &[&str] = JOBS.iter().find(|(job, _)| *job == name).map_or(&own, |(_, ops)| ops);
        let mut found: Vec<&KernelInfo> = self
            .lab
            .bench
            .kernels
            .iter()
            .filter(|k| ops.contains(&k.id.op()) && k.isa != tiermark_model::Isa::Portable)
            .collect();
        found.sort_by(|a, b| {
            (b.isa, a.id.op() != name, !a.plain, &a.id).cmp(&(a.isa, b.id.op() != name, !b.plain, &b.id))
        });
        found.into_iter().map(|k| k.id.clone()).collect()
    }

    /// For curves: the job's kernels on the widest vectors, and its string instructions.
    fn curve_kernels(&self, name: &str) -> Vec<KernelId> {
        let all = self.kernels(name);
        let info = |id: &KernelId| self.lab.bench.kernels.iter().find(|k| k.id == *id);
        let widest = all.iter().filter_map(info).map(|k| k.isa).max();
        all.iter()
            .filter(|id| info(id).is_some_and(|k| Some(k.isa) == widest || k.store_kind == StoreKind::Block))
            .cloned()
            .collect()
    }

    fn ops(&self) -> Vec<String> {
        if self.params.ops.is_empty() {
            vec!["read".into(), "write".into(), "copy".into()]
        } else {
            self.params.ops.clone()
        }
    }

    fn cores_first(&self) -> Vec<CpuId> {
        self.lab.machine.cores_first(&self.cpus)
    }

    fn one(&self) -> Crew {
        Crew { cpus: quiet_cpu(self.lab.machine, &self.cpus).into_iter().collect(), span: "one" }
    }

    fn cores(&self) -> Crew {
        let cores = self.lab.machine.one_per_core(&self.cpus);
        Crew { cpus: self.cores_first().into_iter().filter(|c| cores.contains(*c)).collect(), span: "all" }
    }

    /// The crews asked for, or one thread and one a core (once, if that is the same).
    fn crews(&self) -> Result<Vec<Crew>, Refusal> {
        if self.params.threads.is_empty() {
            let (one, cores) = (self.one(), self.cores());
            return Ok(if cores.cpus.len() > 1 { vec![one, cores] } else { vec![one] });
        }
        self.params.threads.iter().map(|count| self.crew(*count)).collect()
    }

    fn crew(&self, count: ThreadCount) -> Result<Crew, Refusal> {
        match count {
            ThreadCount::One | ThreadCount::Exactly(1) => Ok(self.one()),
            ThreadCount::Cores => Ok(self.cores()),
            ThreadCount::Cpus => Ok(Crew { cpus: self.cores_first(), span: "all" }),
            ThreadCount::Exactly(n) if n >= 1 && n as usize <= self.cpus.len() => {
                Ok(Crew { cpus: self.cores_first().into_iter().take(n as usize).collect(), span: "some" })
            }
            ThreadCount::Exactly(n) => Err(Refusal::new(
                format!("{n} threads"),
                format!("{} cpus are in scope ({})", self.cpus.len(), self.cpus),
                "ask for 1 up to that many",
            )),
        }
    }

    /// One step for each tier, job and crew; the ladder of a crew has footprints of its own.
    fn ladder(&self, plan: &mut Plan) {
        let stop = headline(self.request.effort, self.request.precision.unwrap_or(PRECISION));
        let crews = match self.crews() {
            Ok(crews) => crews,
            Err(refusal) => return plan.refused.push(refusal),
        };
        for crew in crews {
            let rungs = ladder(self.lab.machine, &crew.cpus.iter().copied().collect(), &self.request.scope);
            for tier in &rungs.tiers {
                for op in self.ops() {
                    let labels = Labels::new().text(Labels::PURPOSE, "ladder").text(Labels::TIER, &tier.name);
                    plan.steps.extend(self.step(
                        labels,
                        &op,
                        &self.kernels(&op),
                        &crew,
                        Bytes(tier.bytes),
                        tier.node,
                        stop,
                    ));
                }
            }
            plan.rules.extend(rungs.rules);
            plan.refused.extend(rungs.refused);
        }
    }

    /// The sweep over footprints, one thread.
    fn curve(&self, plan: &mut Plan) {
        let per_octave = match self.request.effort {
            // The ladder has the points that matter.
            Effort::Quick => return,
            Effort::Standard => 1,
            Effort::Full => 3,
        };
        let crew = self.one();
        let only: IdSet = crew.cpus.iter().copied().collect();
        let Ok((largest, _)) = dram_bytes(self.lab.machine, &only, self.request.scope.mem_node, &self.request.scope)
        else {
            return;
        };
        for size in grid(SMALLEST, largest, per_octave) {
            for op in self.ops() {
                let labels = Labels::new().text(Labels::PURPOSE, "curve");
                plan.steps.extend(self.step(
                    labels,
                    &op,
                    &self.curve_kernels(&op),
                    &crew,
                    size,
                    self.request.scope.mem_node,
                    curve_point(self.request.effort),
                ));
            }
        }
    }

    /// DRAM read by 1, 2, 4 … threads, cores before siblings.
    fn scaling(&self, plan: &mut Plan) {
        let order = self.cores_first();
        if self.request.effort == Effort::Quick || order.len() < 2 || !self.params.threads.is_empty() {
            return;
        }
        let mut counts: Vec<usize> = (0..).map(|i| 1 << i).take_while(|n| *n < order.len()).collect();
        counts.push(self.cores().cpus.len());
        counts.push(order.len());
        counts.sort_unstable();
        counts.dedup();
        for count in counts {
            let crew = Crew { cpus: order[..count].to_vec(), span: "some" };
            let Ok((bytes, _)) = dram_bytes(
                self.lab.machine,
                &order.iter().copied().collect(),
                self.request.scope.mem_node,
                &self.request.scope,
            ) else {
                return;
            };
            // Every count gets a whole DRAM footprint in sum: few threads on a small share would be served by caches.
            let each = Bytes((bytes * order.len() as u64 / count as u64).max(2 << 20));
            let labels = Labels::new().text(Labels::PURPOSE, "scaling").text(Labels::TIER, "DRAM");
            plan.steps.extend(self.step(
                labels,
                "read",
                &self.curve_kernels("read"),
                &crew,
                each,
                self.request.scope.mem_node,
                curve_point(self.request.effort),
            ));
        }
    }

    /// Exactly the footprints, kernels and thread counts asked for.
    fn table(&self, plan: &mut Plan) -> Result<(), Refusal> {
        let stop = headline(self.request.effort, self.request.precision.unwrap_or(PRECISION));
        for size in &self.params.sizes {
            check_size(*size)?;
            for op in self.ops() {
                for crew in self.crews()? {
                    let labels = Labels::new().text(Labels::PURPOSE, "table");
                    plan.steps.extend(self.step(
                        labels,
                        &op,
                        &self.kernels(&op),
                        &crew,
                        *size,
                        self.request.scope.mem_node,
                        stop,
                    ));
                }
            }
        }
        Ok(())
    }

    /// Points between neighbours of every curve that differ.
    fn denser(&self, observations: &[Observation]) -> Vec<Step> {
        let crew = self.one();
        let mut steps = Vec::new();
        for op in self.ops() {
            let curve = points(with_purpose(observations, "curve").filter(|o| o.labels.is(Labels::OP, &op)));
            for size in between(&curve) {
                let labels = Labels::new().text(Labels::PURPOSE, "curve");
                steps.extend(self.step(
                    labels,
                    &op,
                    &self.curve_kernels(&op),
                    &crew,
                    size,
                    self.request.scope.mem_node,
                    curve_point(self.request.effort),
                ));
            }
        }
        steps
    }

    #[expect(clippy::too_many_arguments, reason = "one call a kind of step; each argument is a dimension of the sweep")]
    fn step(
        &self,
        labels: Labels,
        op: &str,
        kernels: &[KernelId],
        crew: &Crew,
        size: Bytes,
        node: Option<NodeId>,
        stop: StopRule,
    ) -> Option<Step> {
        let role = stream_role(kernels)?;
        let random = self.lab.bench.kernels.iter().any(|k| k.id == kernels[0] && k.pattern == Pattern::Random);
        let layout = if random { Layout::Permuted } else { Layout::Data };
        let page = self.page();
        let cpus: IdSet = crew.cpus.iter().copied().collect();
        let mut labels = labels
            .text(Labels::OP, op)
            .whole(Labels::SIZE, size.0)
            .text(Labels::PAGE, page)
            .whole(Labels::THREADS, crew.cpus.len() as u64)
            .text(Labels::SPAN, crew.span)
            .text(Labels::CPUS, &cpus);
        if let Some(node) = node {
            labels = labels.whole(Labels::NODE, u64::from(node));
        }
        let place = node.map_or_else(String::new, |n| format!("/node{n}"));
        let purpose = labels.get(Labels::PURPOSE).unwrap_or_default();
        let id = format!("bandwidth/{purpose}/{op}/{}x{}{place}/{}", crew.span, crew.cpus.len(), size.0);
        let setup = setup(&crew.cpus, size, node, page, layout, &role, self.request.seed);
        Some(Step { id, labels, metric: Metric::Bandwidth, setup, stop })
    }
}

/// The plain kernel's rate beside the winner's, where they differ.
fn note(observation: &Observation, lab: Lab<'_>) -> Option<String> {
    let winner = observation.labels.get(Labels::KERNEL)?;
    let op = observation.labels.get(Labels::OP)?;
    let plain = observation
        .rivals
        .iter()
        .filter(|r| r.kernel.op() == op && lab.bench.kernels.iter().any(|k| k.id == r.kernel && k.plain))
        .max_by(|a, b| f64::total_cmp(&a.value.unwrap_or(0.0), &b.value.unwrap_or(0.0)));
    let mut notes: Vec<String> = Vec::new();
    if let Some(plain) = plain.filter(|p| p.kernel.0 != winner)
        && let Some(value) = plain.value
    {
        notes.push(format!("plain {}: {} GB/s", plain.kernel, format_gbs(value)));
    }
    notes.extend(overhead_note(observation));
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// DRAM bandwidth with all cores as a share of the theoretical peak, where that is known.
fn peak_shares(observations: &[Observation], lab: Lab<'_>) -> Vec<Finding> {
    let Some(peak) = &lab.machine.theoretical_peak else { return Vec::new() };
    with_purpose(observations, "ladder")
        .filter(|o| o.labels.is(Labels::TIER, "DRAM") && o.verdict.grade != Grade::Invalid)
        .filter_map(|o| {
            let share = o.value? / peak.bytes_per_second;
            let mut labels = o.labels.clone();
            labels.0.insert(Labels::STATISTIC.into(), Label::Text("share of theoretical peak".into()));
            let mut found = derived(o, "peak.share", labels, share, Unit::Ratio);
            found.note = Some(peak.how.clone());
            Some(found)
        })
        .collect()
}
