//! `granularity`: what small and random accesses waste, by page size: 8 bytes of a line, whole lines, and in order.

use clap::Args;
use serde::{Deserialize, Serialize};
use tiermark_engine::{Lab, Probe, Study, Subject};
use tiermark_model::messages::memory;
use tiermark_model::messages::rules;
use tiermark_model::{
    Bytes, CpuId, Finding, LabelSet, Labels, Layout, Metric, Observation, PageKind, Pattern, Plan, Purpose, Quantity,
    Refusal, Request, Role, Step, Unit,
};

use crate::chasing::{pages_to_be_had, resting_on};
use crate::ground::{Says, grounded};
use crate::ladder::{measured, quotient, with_purpose, with_range};
use crate::mix::plain_kernel;
use crate::steps::setup;
use crate::task::Task;

/// The operations, each in its three sizes.
const OPERATIONS: [(&str, [&str; 3]); 2] =
    [("read", ["read.random8", "read.random", "read"]), ("write", ["write.random8", "write.random", "write"])];
/// Names of the three.
const SIZES: [&str; 3] = ["8 B random", "64 B random", "sequential"];
/// Wanted half-width of the interval.
const PRECISION: f64 = 0.02;

/// Parameters of the granularity probe.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, Args)]
#[serde(default, deny_unknown_fields)]
pub struct GranularityParams {
    /// Page sizes; none means all available ones.
    #[arg(skip)]
    pub pages: Vec<PageKind>,
}

/// The probe of `tiermark granularity`; `docs/methods/granularity.md` describes the method.
pub static PROBE: Probe = Probe {
    id: "granularity",
    method: 4,
    subject: Subject::Memory,
    summary: "Bandwidth that small and random accesses waste",
    page: include_str!("../../../docs/methods/granularity.md"),
    aids: &[],
    study: |request, lab| Ok(Box::new(GranularityStudy::new(request, lab)?)),
};

impl Study for GranularityStudy {
    fn plan(&self) -> Result<Plan, Refusal> {
        let Self { task, cpu, .. } = self;
        let (bytes, rule) = task.dram_bytes(&[*cpu], task.node())?;
        let mut plan =
            Plan { rules: vec![rules::memory_size("memory", &rule), rules::one_thread_on(*cpu)], ..Plan::default() };
        for page in &self.pages {
            for (operation, ops) in OPERATIONS {
                for (name, op) in SIZES.iter().zip(ops) {
                    let Some(kernel) = plain_kernel(&task.lab.bench, op) else { continue };
                    let layout = if kernel.pattern == Pattern::Random { Layout::Permuted } else { Layout::Data };
                    let labels = Labels::new()
                        .with_purpose(Purpose::Granularity)
                        .with_op(operation)
                        .with_page(page)
                        .with_layout(name)
                        .with_size(bytes)
                        .with_cpus(cpu)
                        .with_kernel(&kernel.id);
                    let role = Role::Stream { kernel: kernel.id.clone(), rivals: Vec::new() };
                    let setup = setup(&[*cpu], Bytes(bytes), task.node(), *page, layout, &role, task.request.seed);
                    let stop = task.headline(PRECISION);
                    let id = format!("granularity/{page}/{op}");
                    plan.steps.push(Step { id, labels, phase: 0, metric: Metric::Bandwidth, setup, stop });
                }
            }
        }
        task.limit(&mut plan, task.effort().choose([30.0, 30.0, 120.0]));
        Ok(plan)
    }

    fn derive(&self, observations: &[Observation]) -> Vec<Finding> {
        let seen = || with_purpose(observations, Purpose::Granularity);
        let rates = seen().map(|o| measured(o, Quantity::GranularityRate));
        rates.chain(seen().filter_map(|o| wasted(observations, o))).collect()
    }
}

struct GranularityStudy {
    task: Task,
    cpu: CpuId,
    /// The requested page sizes, or all available ones.
    pages: Vec<PageKind>,
}

impl GranularityStudy {
    fn new(request: &Request, lab: &Lab) -> Result<Self, Refusal> {
        let (task, params): (_, GranularityParams) = Task::new(request, lab)?;
        let pages = match request.scope.page {
            Some(page) => vec![page],
            None if params.pages.is_empty() => pages_to_be_had(&lab.machine, 0),
            None => params.pages,
        };
        Ok(Self { cpu: task.one_cpu()?, task, pages })
    }
}

/// The rate of 8 bytes a line over that of whole lines in the same order.
fn wasted(observations: &[Observation], small: &Observation) -> Option<Finding> {
    let same = |o: &&Observation| {
        o.labels.layout() == Some(SIZES[1]) && o.labels.are_alike(&small.labels, |of| (of.op(), of.page()))
    };
    let whole = with_purpose(observations, Purpose::Granularity).find(same)?;
    let (small_rate, whole_rate) = (small.value.filter(|_| small.labels.layout() == Some(SIZES[0]))?, whole.value?);
    let labels = small.labels.clone().only(LabelSet::NONE.op().page());
    let share = small_rate / whole_rate;
    let mut found = resting_on(&[small, whole], Quantity::GranularityUseful, labels, Some(share), Unit::Ratio);
    found.notes.push(memory::lines_wasted((small_rate * 8.0).into(), small_rate.into()));
    Some(grounded(with_range(found, quotient(small, whole), 0.0), &[small, whole], 2, Says::Share))
}
