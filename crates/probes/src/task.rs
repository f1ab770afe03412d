//! What every study keeps of its request, and what follows from that alone.

use serde::de::DeserializeOwned;
use tiermark_engine::Lab;
use tiermark_model::messages::plan as says;
use tiermark_model::{CpuId, Cure, Effort, IdSet, Machine, NodeId, PageKind, Plan, Refusal, Request, StopRule};

use crate::footprints::{MemoryCap, dram_bytes, memory_cap};
use crate::memory_kinds::quiet_cpu;
use crate::steps::{curve_point, default_page, headline, max_seconds, once, scope_cpus};

/// A request on a machine.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) request: Request,
    pub(crate) lab: Lab,
    /// The cpus that it may use.
    pub(crate) cpus: IdSet,
}

impl Task {
    /// The task of a request, with its parameters (the defaults where it has none). Also checks that its memory node
    /// can give memory.
    ///
    /// # Errors
    /// A [`Refusal`] for parameters that the probe does not understand, cpus that are not allowed, or a node that
    /// carrying it out would be refused.
    pub(crate) fn new<T: DeserializeOwned + Default>(request: &Request, lab: &Lab) -> Result<(Self, T), Refusal> {
        let params = match request.params.is_null() {
            true => T::default(),
            false => T::deserialize(&request.params)
                .map_err(|error| says::request_unreadable(&request.probe, &error.to_string()))?,
        };
        if let Some(node) = request.scope.mem_node {
            tiermark_engine::admit::admit_node(node, &lab.machine)?;
        }
        let cpus = scope_cpus(&request.scope, &lab.machine)?;
        Ok((Self { request: request.clone(), lab: lab.clone(), cpus }, params))
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.lab.machine
    }

    pub(crate) fn effort(&self) -> Effort {
        self.request.effort
    }

    /// The node of all memory, where the user named one.
    pub(crate) fn node(&self) -> Option<NodeId> {
        self.request.scope.mem_node
    }

    /// The page size that the user named, or the usual one.
    pub(crate) fn page(&self) -> PageKind {
        self.request.scope.page.unwrap_or_else(|| default_page(self.machine()))
    }

    /// The cpu for steps of one thread.
    ///
    /// # Errors
    /// A [`Refusal`] where there is no cpu.
    pub(crate) fn one_cpu(&self) -> Result<CpuId, Refusal> {
        quiet_cpu(self.machine(), &self.cpus).ok_or_else(|| says::no_cpu(&self.request.probe))
    }

    /// Half-width of intervals that the user wants, or the usual one.
    pub(crate) fn precision(&self, usual: f64) -> f64 {
        self.request.precision.unwrap_or(usual)
    }

    /// When a headline number is good enough.
    pub(crate) fn headline(&self, precision: f64) -> StopRule {
        headline(self.effort(), self.precision(precision))
    }

    /// When a point of a curve is good enough.
    pub(crate) fn curve_point(&self) -> StopRule {
        curve_point(self.effort())
    }

    /// As [`dram_bytes`], in the scope of the request.
    ///
    /// # Errors
    /// As [`dram_bytes`].
    pub(crate) fn dram_bytes(&self, cpus: &[CpuId], node: Option<NodeId>) -> Result<(u64, String), Refusal> {
        dram_bytes(self.machine(), &cpus.iter().copied().collect(), node, &self.request)
    }

    /// As [`memory_cap`], in the scope of the request.
    pub(crate) fn memory_cap(&self, cpus: &[CpuId], node: Option<NodeId>) -> MemoryCap {
        memory_cap(self.machine(), &cpus.iter().copied().collect(), node, &self.request.scope)
    }

    /// Removes repeated steps of a plan and gives it its time: the user's, or what the effort allows.
    pub(crate) fn limit(&self, plan: &mut Plan, effort_seconds: f64) {
        once(&mut plan.steps);
        plan.max_seconds = max_seconds(&self.request, effort_seconds, &plan.steps);
    }

    /// The plan, if it has a step.
    ///
    /// # Errors
    /// The first [`Refusal`] of the plan, or one that says that no step can be measured, with the cure and the options
    /// that it names.
    pub(crate) fn with_steps(&self, plan: Plan, cure: &str, options: &[&str]) -> Result<Plan, Refusal> {
        if plan.steps.is_empty() {
            let first = plan.refused.into_iter().next();
            let nothing = || says::nothing_to_measure(&self.request.probe, &Cure::new(cure, options));
            return Err(first.unwrap_or_else(nothing));
        }
        Ok(plan)
    }
}
