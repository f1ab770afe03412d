//! Traffic by groups of threads, each with its own mix, memory and pause: a line of a traffic file, or a key of a plan.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tiermark_engine::Lab;
use tiermark_engine::admit::admit_node;
use tiermark_model::messages::plan as says;
use tiermark_model::{
    Bytes, IdSet, KernelId, Labels, MemPolicy, Metric, NodeId, Purpose, Refusal, RegionSetup, Role, Scope, Setup, Step,
    StopRule, ThreadSetup, parse_size,
};

use crate::footprints::dram_bytes;
use crate::mix::Mix;
use crate::steps::{check_size, scope_cpus};
use crate::task::Task;

/// Groups of a file at most: more than the largest server has cpus.
const MOST: usize = 16_384;

/// Threads that do the same, one on each cpu.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThreadGroup {
    /// The cpus.
    pub cpus: IdSet,
    /// Reads and writes, in order or at random.
    pub mix: Mix,
    /// Footprint of each thread; `None` means the usual one of DRAM.
    #[serde(default)]
    pub size: Option<Bytes>,
    /// The node of the memory; `None` means that of each thread.
    #[serde(default)]
    pub node: Option<NodeId>,
    /// Pause after each piece of 2 KiB, ns; `None` means that of the point that is measured, or none.
    #[serde(default)]
    pub delay: Option<u32>,
}

impl ThreadGroup {
    /// The groups of a file: one a line, without empty lines and those that begin with `#`.
    ///
    /// # Errors
    /// The number of a line and what is wrong with it, or that the file has no group.
    pub fn list(text: &str) -> Result<Vec<Self>, String> {
        let lines = text.lines().map(str::trim).zip(1..).filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
        let group = |(line, number): (&str, u32)| line.parse().map_err(|why| format!("line {number}: {why}"));
        let groups: Vec<Self> = lines.take(MOST + 1).map(group).collect::<Result<_, _>>()?;
        match groups.len() {
            0 => Err("it has no group of threads; write a line such as cpus=0-3 mix=2:1".to_owned()),
            1..=MOST => Ok(groups),
            _ => Err(format!("it has more than {MOST} groups of threads")),
        }
    }

    /// What it does, without the numbers of its cpus: the same on another machine.
    fn work(&self) -> String {
        let mut words = format!("{} x {}", self.cpus.len(), self.mix);
        let size = self.size.map(|size| format!(" {size}"));
        let node = self.node.map(|node| format!(" node {node}"));
        let delay = self.delay.map(|ns| format!(" pause {ns}"));
        [size, node, delay].into_iter().flatten().for_each(|word| words.push_str(&word));
        words
    }

    /// Its name among the groups of a step.
    pub(crate) fn name(&self) -> String {
        format!("{} on {}", self.mix, self.cpus)
    }

    /// Whether it can be had: cpus that are allowed, a node with memory, a footprint that makes sense, kernels.
    fn check(&self, lab: &Lab) -> Result<Vec<KernelId>, Refusal> {
        let scope = Scope { cpus: Some(self.cpus.clone()), ..Scope::default() };
        scope_cpus(&scope, &lab.machine)?;
        self.node.map_or(Ok(()), |node| admit_node(node, &lab.machine))?;
        self.size.map_or(Ok(()), check_size)?;
        self.mix.kernels(&lab.bench).map_err(|op| says::no_kernel_for_mix(&self.mix.to_string(), op))
    }
}

impl fmt::Display for ThreadGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cpus={} mix={}", self.cpus, self.mix)?;
        self.size.map_or(Ok(()), |size| write!(f, " size={}", size.0))?;
        self.node.map_or(Ok(()), |node| write!(f, " node={node}"))?;
        self.delay.map_or(Ok(()), |delay| write!(f, " delay={delay}"))
    }
}

impl FromStr for ThreadGroup {
    type Err = String;

    /// Parses `cpus=LIST mix=MIX [size=SIZE] [node=N] [delay=NS]`, in any order.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut words: BTreeMap<&str, &str> = BTreeMap::new();
        for word in text.split_whitespace() {
            let (key, value) =
                word.split_once('=').ok_or_else(|| format!("'{word}': write KEY=VALUE, as in mix=2:1"))?;
            if !["cpus", "mix", "size", "node", "delay"].contains(&key) {
                return Err(format!("unknown key '{key}'; use cpus, mix, size, node and delay"));
            }
            if words.insert(key, value).is_some() {
                return Err(format!("'{key}' is given twice"));
            }
        }
        let cpus = words.get("cpus").ok_or("no cpus; write cpus=0-3")?;
        let cpus: IdSet = cpus.parse().map_err(|error: tiermark_model::ListError| format!("cpus: {error}"))?;
        if cpus.is_empty() {
            return Err("no cpus; write cpus=0-3".to_owned());
        }
        let size = |text: &&str| parse_size(text).map_err(|error| format!("size: {}", error.why));
        let number = |key: &str| {
            let whole = |text: &&str| text.parse::<u32>().map_err(|_| format!("{key}: '{text}' is no whole number"));
            words.get(key).map(whole).transpose()
        };
        Ok(Self {
            cpus,
            mix: words.get("mix").map_or(Ok(Mix::READ), |text| text.parse())?,
            size: words.get("size").map(size).transpose()?,
            node: number("node")?,
            delay: number("delay")?,
        })
    }
}

/// What groups do together.
pub(crate) fn work(groups: &[ThreadGroup]) -> String {
    groups.iter().map(ThreadGroup::work).collect::<Vec<_>>().join(" + ")
}

/// The cpus of all groups.
///
/// # Errors
/// A [`Refusal`] where two of them want the same.
pub(crate) fn cpus(groups: &[ThreadGroup]) -> Result<IdSet, Refusal> {
    groups.iter().try_fold(IdSet::new(), |all, group| {
        let both = all.intersection(&group.cpus);
        if both.is_empty() { Ok(all.union(&group.cpus)) } else { Err(says::cpus_in_two_groups(&both)) }
    })
}

/// Memory and threads of groups, each thread with memory of its own.
///
/// # Errors
/// A [`Refusal`] of a group that cannot be had here.
pub(crate) fn load(
    groups: &[ThreadGroup],
    task: &Task,
    pause_ns: u32,
) -> Result<(Vec<RegionSetup>, Vec<ThreadSetup>), Refusal> {
    cpus(groups)?;
    let (mut regions, mut threads) = (Vec::new(), Vec::new());
    for group in groups {
        let kernels = group.check(&task.lab)?;
        let (node, page) = (group.node.or(task.node()), task.page());
        let usual = || dram_bytes(task.machine(), &group.cpus, node, &task.request).map(|(bytes, _)| Bytes(bytes));
        let bytes = group.size.map_or_else(usual, Ok)?;
        let role = Role::Load { kernels, pause_ns: group.delay.unwrap_or(pause_ns) };
        for cpu in group.cpus.iter() {
            threads.push(ThreadSetup { part: group.name(), ..ThreadSetup::new(cpu, role.clone(), regions.len()) });
            let nodes = node.into_iter().collect();
            regions.push(RegionSetup { bytes, policy: MemPolicy::Bind, nodes, page, layout: group.mix.layout() });
        }
    }
    Ok((regions, threads))
}

/// The bandwidth of all groups at once.
///
/// # Errors
/// A [`Refusal`] of a group that cannot be had here.
pub(crate) fn step(groups: &[ThreadGroup], task: &Task, stop: StopRule) -> Result<Step, Refusal> {
    if let Some(scope) = &task.request.scope.cpus {
        let beyond = cpus(groups)?.difference(scope);
        if !beyond.is_empty() {
            return Err(says::groups_beyond_cpus(&beyond, scope));
        }
    }
    let (regions, threads) = load(groups, task, 0)?;
    let labels = Labels::new()
        .with_purpose(Purpose::Table)
        .with_op(work(groups))
        .with_page(task.page())
        .with_threads(threads.len() as u64)
        .with_cpus(cpus(groups)?);
    let setup = Setup { regions, threads, seed: task.request.seed };
    Ok(Step { id: "bandwidth/groups".into(), labels, phase: 0, metric: Metric::Bandwidth, setup, stop })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(text: &str) -> Result<ThreadGroup, String> {
        text.parse()
    }

    #[test]
    fn a_line_is_a_group_and_reads_back_what_it_prints() {
        let all = group("delay=200 node=1 cpus=4-5,7 size=256M mix=2:1.random").unwrap();
        assert_eq!((all.cpus.to_string().as_str(), all.node, all.delay), ("4-5,7", Some(1), Some(200)));
        assert_eq!((all.size, all.mix.to_string().as_str()), (Some(Bytes(256 << 20)), "2:1.random"));
        let least = group("cpus=3").unwrap();
        assert_eq!((least.mix, least.size, least.node, least.delay), (Mix::READ, None, None, None));
        for group in [all, least] {
            assert_eq!(group.to_string().parse(), Ok(group.clone()));
            let json = serde_json::to_string(&group).unwrap();
            assert_eq!(serde_json::from_str::<ThreadGroup>(&json).unwrap(), group);
        }
    }

    #[test]
    fn mistakes_say_what_to_write() {
        for (text, word) in [
            ("mix=read", "cpus=0-3"),
            ("cpus= mix=read", "cpus"),
            ("cpus=0 mix=9:1", "2:1"),
            ("cpus=0 kernel=read", "unknown key 'kernel'"),
            ("cpus=0 cpus=1", "twice"),
            ("cpus=0 read", "KEY=VALUE"),
            ("cpus=0 size=1.3", "size"),
            ("cpus=0 node=x", "node"),
            ("cpus=0 delay=-1", "delay"),
        ] {
            assert!(group(text).unwrap_err().contains(word), "{text}: {:?}", group(text));
        }
    }

    #[test]
    fn a_file_has_a_group_a_line() {
        let groups = ThreadGroup::list("# two groups\n\ncpus=0-1 mix=read\n  cpus=2 mix=write size=64M\n").unwrap();
        assert_eq!(groups.len(), 2);
        assert_eq!(work(&groups), "2 x read + 1 x write 64 MiB");
        assert_eq!(cpus(&groups).unwrap().to_string(), "0-2");
        assert!(ThreadGroup::list("cpus=0\nmix=read\n").unwrap_err().starts_with("line 2: "));
        assert!(ThreadGroup::list("# nothing\n").unwrap_err().contains("cpus=0-3 mix=2:1"));
        let twice = ThreadGroup::list("cpus=0-1\ncpus=1-2\n").unwrap();
        assert_eq!(cpus(&twice).unwrap_err().code, says::codes::cpus_in_two_groups);
    }
}
