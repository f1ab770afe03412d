//! `bandwidth`: useful bytes a second, by footprint, operation, kernel and number of threads.

mod choice;
mod job;
mod study;

use std::str::FromStr;

use clap::Args;
use serde::{Deserialize, Serialize};
use tiermark_engine::{Lab, Probe, Study, Subject};
use tiermark_model::messages::memory;
use tiermark_model::messages::plan as says;
use tiermark_model::messages::rules;
use tiermark_model::{
    Bytes, CpuId, Effort, Finding, Grade, IdSet, Machine, Observation, PlacementProof, Plan, Purpose, Quantity,
    Refusal, Step, StoreKind, Tier, Unit, parse_footprint, parse_within,
};

use crate::ceilings::{share_of_ceiling, traffic_for_each_byte};
use crate::ladder::{derived, finding, overhead_note, with_purpose};
use crate::memory_kinds::quiet_cpu;
use crate::mix::Mix;
use crate::steps::denser_seconds;
use crate::traffic::ThreadGroup;
use crate::written::word;
pub(crate) use job::mix;
use study::BandwidthStudy;

/// Wanted half-width of the interval of a headline bandwidth.
const PRECISION: f64 = 0.02;

/// Parameters of the bandwidth probe.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, Args)]
#[serde(default, deny_unknown_fields)]
pub struct BandwidthParams {
    /// Footprints of each thread, as in 32K,2M,256M
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_footprint)]
    pub sizes: Vec<Bytes>,
    /// Elements of 8 bytes in each array, all threads together, as STREAM counts them
    ///
    /// The footprint of a thread is N x 8 x the arrays of the operation (copy and scale 2, add and triad 3), divided by
    /// the threads.
    #[arg(long, value_name = "N", value_parser = parse_within::<u64>(1..=u64::MAX),
          conflicts_with_all = ["sizes", "mix"], hide_short_help = true)]
    pub array_elements: Option<u64>,
    /// Operations, such as triad,write.nt [default: read,write,copy]
    ///
    /// Jobs (read, write, copy, scale, add, triad), operations (write.nt) or kernels (read/avx2); `tiermark list
    /// kernels` shows all.
    // In a request mixes (`2:1`) are among them.
    #[arg(long = "op", value_name = "LIST", value_delimiter = ',')]
    pub ops: Vec<String>,
    /// Mixes of reads and writes, READS:WRITES, as in 2:1,1:1
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[serde(skip)]
    pub mix: Vec<Mix>,
    /// Threads: one, cores, cpus or numbers [default: one,cores]
    ///
    /// cores is one thread on each physical core, cpus one on each hardware thread.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub threads: Vec<ThreadCount>,
    /// A group of threads, 'cpus=0-3 mix=2:1', or a file with a group a line
    ///
    /// KEY=VALUE: cpus; mix (read); size of each thread; node of its memory; delay in ns. Repeat it for more groups.
    /// They run at the same time, and nothing else is measured.
    #[arg(long = "traffic", value_name = "GROUP|FILE", value_parser = ThreadGroup::list,
          conflicts_with_all = ["sizes", "array_elements", "ops", "mix", "threads", "data"], hide_short_help = true)]
    #[serde(skip)]
    pub groups: Vec<Vec<ThreadGroup>>,
    /// All groups of all files.
    #[arg(skip)]
    pub traffic: Vec<ThreadGroup>,
    /// Contents of the memory: random or zeros [default: random]
    ///
    /// Stores write the same data. Some memory systems store zeros faster.
    #[arg(long, value_name = "KIND", value_parser = word::<DataKind>("use random or zeros"))]
    pub data: Option<DataKind>,
}

/// Operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataKind {
    /// Incompressible data; stores write a pattern that is not zero.
    Random,
    /// Zeros: what clearing pages costs, and what tools that never fill their buffers measure.
    Zeros,
}

/// How many threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadCount {
    /// One thread.
    One,
    /// One on every physical core in scope.
    Cores,
    /// One on every cpu in scope.
    Cpus,
    /// This many; physical cores before their siblings.
    #[serde(untagged)]
    Exactly(u32),
}

impl FromStr for ThreadCount {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "one" => Ok(Self::One),
            "cores" => Ok(Self::Cores),
            "cpus" => Ok(Self::Cpus),
            _ => {
                let number = text.parse().ok().filter(|n| *n > 0).map(Self::Exactly);
                number.ok_or("use one, cores (physical cores), cpus (hardware threads) or a number above 0")
            }
        }
    }
}

impl ThreadCount {
    /// The cpus of so many threads, of these; `place` names them in a refusal.
    ///
    /// # Errors
    /// A [`Refusal`] if there are fewer cpus.
    pub(crate) fn cpus(self, machine: &Machine, cpus: &IdSet, place: &str) -> Result<Vec<CpuId>, Refusal> {
        let order = machine.cores_first(cpus);
        match self {
            Self::One | Self::Exactly(1) => Ok(quiet_cpu(machine, cpus).into_iter().collect()),
            Self::Cores => {
                let cores = machine.one_per_core(cpus);
                Ok(order.into_iter().filter(|cpu| cores.contains(*cpu)).collect())
            }
            Self::Cpus => Ok(order),
            Self::Exactly(n) if n >= 1 && n as usize <= order.len() => Ok(order[..n as usize].to_vec()),
            Self::Exactly(n) => Err(says::too_many_threads(n, place, cpus)),
        }
    }
}

/// Jobs a user has in mind, and the operations whose kernels do them: the fastest is the answer.
pub(crate) const JOBS: [(&str, &[&str]); 6] = [
    ("read", &["read"]),
    ("write", &["write", "write.nt", "fill.rep"]),
    ("copy", &["copy", "copy.nt", "copy.rep"]),
    ("scale", &["scale", "scale.nt"]),
    ("add", &["add", "add.nt"]),
    ("triad", &["triad", "triad.nt"]),
];

/// Ends the label of a job done on zeros.
const OF_ZEROS: &str = " of zeros";

/// The probe of `tiermark bandwidth`; `docs/methods/bandwidth.md` describes the method.
pub static PROBE: Probe = Probe {
    id: "bandwidth",
    method: 5,
    subject: Subject::Memory,
    summary: "Bytes a second, by size, operation, kernel, threads",
    page: include_str!("../../../../docs/methods/bandwidth.md"),
    aids: &[Purpose::Curve],
    study: |request, lab| Ok(Box::new(BandwidthStudy::new(request, lab)?)),
};

impl Study for BandwidthStudy {
    fn plan(&self) -> Result<Plan, Refusal> {
        let mut plan = Plan { rules: vec![rules::cores_before_siblings()], ..Plan::default() };
        self.fill(&mut plan)?;
        self.task.limit(&mut plan, self.task.effort().choose([5.5, 20.0, 300.0]));
        if self.task.effort() == Effort::Full {
            plan.later_seconds += denser_seconds(self.task.effort(), &plan.steps);
        }
        self.task.with_steps(plan, "name sizes: --sizes", &["--sizes"])
    }

    fn refine(&self, observations: &[Observation]) -> Vec<Step> {
        self.next(observations)
    }

    fn derive(&self, observations: &[Observation]) -> Vec<Finding> {
        let mut findings: Vec<Finding> = Vec::new();
        for purpose in [Purpose::Ladder, Purpose::Table] {
            findings.extend(with_purpose(observations, purpose).map(|o| finding(o, overhead_note(o))));
        }
        findings.extend(
            with_purpose(observations, Purpose::Scaling)
                .map(|o| Finding { quantity: Quantity::BandwidthScaling, ..finding(o, overhead_note(o)) }),
        );
        findings.extend(buffers(observations, &self.task.lab));
        findings.extend(with_purpose(observations, Purpose::Table).flat_map(parts));
        findings.extend(peak_shares(observations, &self.task.lab));
        findings
    }
}

/// Ways to write a buffer that are faster than what the row of its cache is of: those that bypass the caches.
fn buffers(observations: &[Observation], lab: &Lab) -> Vec<Finding> {
    let is_around = |o: &&Observation| {
        let kernel = o.labels.kernel().and_then(|id| lab.bench.kernel(id));
        kernel.is_some_and(|kernel| kernel.store_kind != StoreKind::Cached)
    };
    with_purpose(observations, Purpose::Buffer).filter(is_around).map(|o| finding(o, overhead_note(o))).collect()
}

/// The rate of each group of threads.
fn parts(seen: &Observation) -> Vec<Finding> {
    let part_rate = |part: &tiermark_model::PartResult| {
        let labels = seen.labels.clone().with_part(&part.name);
        Some(derived(seen, Quantity::BandwidthPart, labels, part.value?, part.unit))
    };
    seen.parts.iter().filter_map(part_rate).collect()
}

/// DRAM bandwidth, with all that memory reads and writes for it, as a share of the theoretical peak of the nodes that
/// have the pages, where that is known.
fn peak_shares(observations: &[Observation], lab: &Lab) -> Vec<Finding> {
    let Some(peak) = lab.machine.real_peak() else { return Vec::new() };
    with_purpose(observations, Purpose::Ladder)
        .filter(|o| o.labels.tier() == Some(Tier::Dram) && o.verdict.grade != Grade::Invalid)
        .filter_map(|o| {
            let kernel = o.labels.kernel().and_then(|id| lab.bench.kernel(id));
            let moved = o.value? * kernel.and_then(|kernel| traffic_for_each_byte(&[kernel])).unwrap_or(1.0);
            let share = moved / peak_of(o, peak.bytes_per_second, &lab.machine)?;
            let labels = o.labels.clone().with_statistic("share of theoretical peak");
            let found = derived(o, Quantity::PeakShare, labels, share, Unit::Ratio);
            Some(share_of_ceiling(found).with_notes([memory::theoretical_peak(&peak.how)]))
        })
        .collect()
}

/// The theoretical peak of the nodes that have the pages of an observation; `whole` where that was not seen. `None`
/// where theirs is not known apart from that of other nodes.
fn peak_of(o: &Observation, whole: f64, machine: &Machine) -> Option<f64> {
    let nodes = o.placement.as_ref().map(PlacementProof::nodes).unwrap_or_default();
    if nodes.is_empty() { Some(whole) } else { machine.own_memory_peak(&nodes) }
}

#[cfg(test)]
mod tests {
    use tiermark_model::{Bench, KernelInfo, Labels, Machine, Metric, TheoreticalPeak};

    use super::*;

    /// A hypervisor makes the table of memory modules up: no share of its peak is a fact.
    #[test]
    fn the_modules_of_a_guest_give_no_share_of_a_peak() {
        let peak = TheoreticalPeak { bytes_per_second: 100e9, ..TheoreticalPeak::default() };
        let bare = Machine { theoretical_peak: Some(peak), ..Machine::default() };
        let mut guest = bare.clone();
        guest.system.hypervisor = Some("KVM".into());
        let labels = Labels::new().with_purpose(Purpose::Ladder).with_tier(Tier::Dram);
        let seen = Observation { value: Some(80e9), ..Observation::new("dram", labels, Metric::Bandwidth) };
        let bench = Bench { kernels: Vec::<KernelInfo>::new(), ..Bench::default() };
        let shares = |machine: &Machine| -> Vec<f64> {
            let found = peak_shares(std::slice::from_ref(&seen), &Lab::new(machine.clone(), bench.clone()));
            found.into_iter().filter_map(|found| found.value).collect()
        };
        assert_eq!(shares(&bare), [0.8]);
        assert_eq!(shares(&guest), [] as [f64; 0]);
    }
}
