//! `granularity`: what small and random accesses waste, by page size: 8 bytes of a line, whole lines, and in order.

use serde::{Deserialize, Serialize};
use tiermark_engine::{About, Lab, Probe, Subject};
use tiermark_model::messages::memory;
use tiermark_model::messages::rules;
use tiermark_model::{
    Bytes, Effort, Finding, Labels, Layout, Metric, Observation, PageKind, Plan, Purpose, Quantity, Refusal, Request,
    Role, Step, Unit,
};

use crate::chasing::{pages_to_be_had, plain_kernel, resting_on};
use crate::footprints::dram_bytes;
use crate::ladder::{derived, quotient, with_purpose, with_range};
use crate::steps::{asked, headline, max_seconds, once, one_cpu, setup};

/// The operations, each in its three sizes.
const OPERATIONS: [(&str, [&str; 3]); 2] =
    [("read", ["read.random8", "read.random", "read"]), ("write", ["write.random8", "write.random", "write"])];
/// Names of the three.
const SIZES: [&str; 3] = ["8 B random", "64 B random", "sequential"];
/// Wanted half-width of the interval.
const PRECISION: f64 = 0.02;

/// Parameters of the granularity probe.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GranularityParams {
    /// Page sizes; none means all available ones.
    pub pages: Vec<PageKind>,
}

/// The probe of `tiermark granularity`; `docs/methods/granularity.md` describes the method.
pub struct Granularity;

static ABOUT: About = About {
    id: "granularity",
    method: 4,
    subject: Subject::Memory,
    summary: "Bandwidth that small and random accesses waste",
    page: include_str!("../../../docs/methods/granularity.md"),
    shapes: &[],
};

impl Probe for Granularity {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn plan(&self, request: &Request, lab: Lab<'_>) -> Result<Plan, Refusal> {
        let (params, cpus): (GranularityParams, _) = asked(request, lab)?;
        let cpu = one_cpu(lab.machine, &cpus, "granularity")?;
        let (bytes, rule) =
            dram_bytes(lab.machine, &[cpu].into_iter().collect(), request.scope.mem_node, &request.scope)?;
        let mut plan =
            Plan { rules: vec![rules::memory_size("memory", &rule), rules::one_thread_on(cpu)], ..Plan::default() };
        for page in pages(&params, request, lab) {
            for (operation, ops) in OPERATIONS {
                for (name, op) in SIZES.iter().zip(ops) {
                    let Some((kernel, random)) = plain_kernel(lab, op) else { continue };
                    let layout = if random { Layout::Permuted } else { Layout::Data };
                    let labels = Labels::new()
                        .purpose(Purpose::Granularity)
                        .text(Labels::OP, operation)
                        .text(Labels::PAGE, page)
                        .text(Labels::LAYOUT, name)
                        .whole(Labels::SIZE, bytes)
                        .text(Labels::CPUS, cpu)
                        .text(Labels::KERNEL, &kernel);
                    let role = Role::Stream { kernel, rivals: Vec::new() };
                    let setup = setup(&[cpu], Bytes(bytes), request.scope.mem_node, page, layout, &role, request.seed);
                    let stop = headline(request.effort, request.precision.unwrap_or(PRECISION));
                    let id = format!("granularity/{page}/{op}");
                    plan.steps.push(Step { id, labels, phase: 0, metric: Metric::Bandwidth, setup, stop });
                }
            }
        }
        once(&mut plan.steps);
        let effort = if request.effort == Effort::Full { 120.0 } else { 30.0 };
        plan.max_seconds = max_seconds(request, effort, &plan.steps);
        Ok(plan)
    }

    fn derive(&self, _request: &Request, _lab: Lab<'_>, observations: &[Observation]) -> Vec<Finding> {
        let mut findings = Vec::new();
        for observation in with_purpose(observations, Purpose::Granularity) {
            let mut found =
                derived(observation, Quantity::GranularityRate, observation.labels.clone(), 0.0, Unit::BytesPerSecond);
            (found.value, found.interval) = (observation.value, observation.interval);
            findings.push(found);
        }
        findings.extend(with_purpose(observations, Purpose::Granularity).filter_map(|o| wasted(observations, o)));
        findings
    }
}

/// The rate of 8 bytes a line over that of whole lines in the same order.
fn wasted(observations: &[Observation], small: &Observation) -> Option<Finding> {
    let same = |o: &&Observation| {
        o.labels.is(Labels::LAYOUT, SIZES[1])
            && [Labels::OP, Labels::PAGE].iter().all(|key| o.labels.get(key) == small.labels.get(key))
    };
    let whole = with_purpose(observations, Purpose::Granularity).find(same)?;
    let (small_rate, whole_rate) = (small.value.filter(|_| small.labels.is(Labels::LAYOUT, SIZES[0]))?, whole.value?);
    let mut labels = small.labels.clone();
    labels.0.retain(|key, _| key == Labels::OP || key == Labels::PAGE);
    let share = small_rate / whole_rate;
    let mut found = resting_on(&[small, whole], Quantity::GranularityUseful, labels, Some(share), Unit::Ratio);
    found.notes.push(memory::lines_wasted((small_rate * 8.0).into(), small_rate.into()));
    Some(with_range(found, quotient(small, whole), 0.0))
}

/// The page sizes: the requested ones, or all available ones.
fn pages(params: &GranularityParams, request: &Request, lab: Lab<'_>) -> Vec<PageKind> {
    match request.scope.page {
        Some(page) => vec![page],
        None if params.pages.is_empty() => pages_to_be_had(lab.machine, 0),
        None => params.pages.clone(),
    }
}
