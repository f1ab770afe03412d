//! The interface of a probe.

use tiermark_model::{Bench, Finding, Machine, Observation, Plan, Purpose, Refusal, Request, Step};

/// Facts about the host that a probe may use when it plans: data only.
#[derive(Debug, Clone, Copy)]
pub struct Lab<'a> {
    /// The machine that is measured.
    pub machine: &'a Machine,
    /// Kernels, clock, overheads.
    pub bench: &'a Bench,
}

/// What a probe measures: the heading of the help that its command is under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Caches, memory and the ways to them.
    Memory,
    /// The operating system.
    System,
}

/// What a probe says of itself.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Id, also the subcommand.
    pub id: &'static str,
    /// Version of the method: raised whenever the same request would give numbers that are not comparable.
    pub method: u32,
    /// What it measures.
    pub subject: Subject,
    /// One line.
    pub summary: &'static str,
    /// The page of its method, in Markdown: its first line is a heading with the id.
    pub page: &'static str,
    /// Purposes whose steps only draw a shape beside its answer: without one the shape is less dense, and no part is
    /// missing.
    pub shapes: &'static [Purpose],
}

/// A probe: plans steps, and derives findings from observations. Pure.
pub trait Probe: Sync {
    /// Its id, method and texts.
    fn about(&self) -> &'static About;

    /// The first steps that answer a request.
    ///
    /// # Errors
    /// A [`Refusal`] when nothing of it can be measured here, or the request makes no sense.
    fn plan(&self, request: &Request, lab: Lab<'_>) -> Result<Plan, Refusal>;

    /// Further steps, now that these observations are known (denser points where a curve moves). Called until it has
    /// none.
    fn refine(&self, _request: &Request, _lab: Lab<'_>, _observations: &[Observation]) -> Vec<Step> {
        Vec::new()
    }

    /// Findings from the observations.
    fn derive(&self, request: &Request, lab: Lab<'_>, observations: &[Observation]) -> Vec<Finding>;
}
