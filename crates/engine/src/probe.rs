//! The interface of a probe.

use std::sync::Arc;

use tiermark_model::{
    Bench, CoreKind, Experiment, Finding, KernelId, Machine, Observation, Plan, Purpose, Refusal, Request, Step,
};

/// Facts about the host that a probe may use: data only, shared by all experiments of a run.
#[derive(Debug, Clone, Default)]
pub struct Lab {
    /// The machine that is measured.
    pub machine: Arc<Machine>,
    /// Kernels, clock, overheads.
    pub bench: Arc<Bench>,
}

impl Lab {
    /// The facts about a machine and its instruments.
    pub fn new(machine: Machine, bench: Bench) -> Self {
        Self { machine: Arc::new(machine), bench: Arc::new(bench) }
    }
}

/// What a probe measures: the heading of the help that its command is under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Caches, memory and the ways to them.
    Memory,
    /// The operating system.
    System,
}

/// Opens a request on a machine.
pub type OpenStudy = fn(&Request, &Lab) -> Result<Box<dyn Study>, Refusal>;

/// A probe: a question, and how it is opened for a request.
#[derive(Debug)]
pub struct Probe {
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
    /// Purposes whose steps only help to find its answer, as a curve by size shows where the tiers are: without one of
    /// them no part of the answer is missing.
    pub aids: &'static [Purpose],
    /// What [`Probe::open`] calls.
    pub study: OpenStudy,
}

impl Probe {
    /// Reads a request's parameters and chooses what it leaves open (cpus, page size, kernels).
    ///
    /// # Errors
    /// A [`Refusal`] when the request makes no sense, or this machine lacks what all of it needs.
    pub fn open(&self, request: &Request, lab: &Lab) -> Result<Box<dyn Study>, Refusal> {
        (self.study)(request, lab)
    }

    /// The plan of a request that is only planned.
    ///
    /// # Errors
    /// As [`Probe::open`] and [`Study::plan`].
    pub fn plan(&self, request: &Request, lab: &Lab) -> Result<Plan, Refusal> {
        self.open(request, lab)?.plan()
    }
}

/// A probe opened for one request on one machine: plans steps, and derives findings from observations. Pure.
pub trait Study {
    /// The first steps that answer the request.
    ///
    /// # Errors
    /// A [`Refusal`] when nothing of it can be measured here.
    fn plan(&self) -> Result<Plan, Refusal>;

    /// Further steps, now that these observations are known (denser points where a curve moves). Called until it has
    /// none.
    fn refine(&self, _observations: &[Observation]) -> Vec<Step> {
        Vec::new()
    }

    /// Findings from the observations.
    fn derive(&self, observations: &[Observation]) -> Vec<Finding>;
}

/// What the numbers of an experiment are compared with before findings rest on them: the best of earlier runs.
pub trait Record {
    /// Makes a bound of each observation that falls short of its record.
    fn hold(&self, experiment: &mut Experiment);

    /// The kernel that the last run with enough comparisons chose for a step of a probe, by its method.
    fn kernel(&self, _probe: &str, _method: u32, _step: &Step) -> Option<KernelId> {
        None
    }

    /// Operations in a cycle that cores of a kind reached in earlier runs.
    fn throughput(&self, _kind: Option<CoreKind>) -> Option<f64> {
        None
    }
}

/// No record.
impl Record for () {
    fn hold(&self, _: &mut Experiment) {}
}
