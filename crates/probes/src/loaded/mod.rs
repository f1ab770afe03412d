//! `loaded-latency`: what an access takes while others load the memory.

mod curve;
mod curve_spec;
mod neighbour;
pub(crate) mod pauses;
mod study;

use clap::Args;
use serde::{Deserialize, Serialize};
use tiermark_engine::{Probe, Study, Subject};
use tiermark_model::{CpuId, Effort, Finding, Observation, Plan, Purpose, Refusal, Step};

use crate::mix::Mix;
use crate::task::Task;
use crate::traffic::ThreadGroup;
use neighbour::NeighbourStudy;
use study::LoadedStudy;

/// Parameters of the loaded-latency probe.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, Args)]
#[serde(default, deny_unknown_fields)]
pub struct LoadedParams {
    /// Mixes of reads and writes, READS:WRITES, a curve each
    ///
    /// Default: read,2:1,1:1,write,write.nt; with --quick read.
    #[arg(long = "mix", value_name = "LIST", value_delimiter = ',')]
    pub mixes: Vec<Mix>,
    /// Find the bandwidth up to which latency stays below NS
    #[arg(long, value_name = "NS", value_parser = nanoseconds)]
    pub target_ns: Option<f64>,
    /// Pauses of the injectors in ns, a point each, as in 0,200,1000
    ///
    /// After each piece of 2 KiB; 0 is without a pause. Default: pauses that the program places where the curve bends.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = pause)]
    pub delays: Vec<u32>,
    /// A group of threads, 'cpus=0-3 mix=2:1', or a file with a group a line
    ///
    /// KEY=VALUE: cpus; mix (read); size of each thread; node of its memory; delay in ns. Repeat it for more groups.
    /// They run at the same time, as injectors.
    #[arg(long = "traffic", value_name = "GROUP|FILE", value_parser = ThreadGroup::list, conflicts_with = "mixes",
          hide_short_help = true)]
    #[serde(skip)]
    pub groups: Vec<Vec<ThreadGroup>>,
    /// All groups of all files.
    #[arg(skip)]
    pub traffic: Vec<ThreadGroup>,
    /// The cpu whose accesses are timed; it need not be among --cpus
    ///
    /// Default: the first thread of a core of the node, not cpu 0 where there is a choice.
    #[arg(long, value_name = "CPU")]
    pub chaser_cpu: Option<CpuId>,
    /// Time accesses to each tier beside one busy neighbour, instead of curves
    ///
    /// The neighbour reads or writes memory, in order or at random.
    #[arg(long, conflicts_with_all = ["mixes", "target_ns", "delays", "groups", "chaser_cpu"])]
    pub neighbour: bool,
}

/// A time in ns above zero.
fn nanoseconds(text: &str) -> Result<f64, &'static str> {
    let number = text.trim().trim_end_matches("ns").trim().parse::<f64>().ok();
    number.filter(|n| n.is_finite() && *n > 0.0).ok_or("use a time in ns above 0, such as 150")
}

/// A pause of injectors in whole ns, as in 200 or 200ns.
fn pause(text: &str) -> Result<u32, String> {
    /// A visit of 4 ms then still has a dozen pieces of a mix of three kernels.
    const MOST: u32 = 100_000;
    let number = text.trim().trim_end_matches("ns").trim_end().parse::<u32>().ok();
    number.filter(|ns| *ns <= MOST).ok_or_else(|| format!("use a pause in whole ns, 0 to {MOST}, such as 200"))
}

/// The probe of `tiermark loaded-latency`; `docs/methods/loaded-latency.md` describes the method.
pub static PROBE: Probe = Probe {
    id: "loaded-latency",
    method: 4,
    subject: Subject::Memory,
    summary: "Latency while other cores read or write at a rising rate",
    page: include_str!("../../../../docs/methods/loaded-latency.md"),
    aids: &[Purpose::Curve],
    study: |request, lab| {
        let (task, params): (_, LoadedParams) = Task::new(request, lab)?;
        Ok(if params.neighbour {
            Box::new(NeighbourStudy::new(task)?)
        } else {
            Box::new(LoadedStudy::new(task, params)?)
        })
    },
};

impl Study for LoadedStudy {
    fn plan(&self) -> Result<Plan, Refusal> {
        let mut plan = Plan::default();
        self.fill(&mut plan);
        // Points that are added later take their time as well.
        let least: f64 = self.task.effort().choose([25.0, 60.0, 300.0]);
        let is_quick = self.task.effort() == Effort::Quick;
        let room = if is_quick { least } else { least.max(1.5 * plan.later_seconds) };
        self.task.limit(&mut plan, room);
        if self.task.request.scope.max_seconds.is_none() && !is_quick {
            plan.max_seconds += plan.later_seconds;
        }
        self.task.with_steps(plan, "name a mix: --mix read", &["--mix"])
    }

    fn refine(&self, observations: &[Observation]) -> Vec<Step> {
        self.denser(observations)
    }

    fn derive(&self, observations: &[Observation]) -> Vec<Finding> {
        let (page, target) = (self.task.page(), self.params.target_ns);
        self.families.iter().flat_map(|family| curve::findings(family, page, target, observations)).collect()
    }
}
