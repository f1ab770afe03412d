//! The numbers that the blocks of each thread of a step count for.

use std::borrow::Cow;

use tiermark_model::{Labels, Machine, Metric, Role, Step, ThreadSetup, Unit, Visit, Visits};

/// Kind of a thread's blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Accesses that wait for one another: their time counts.
    Accesses,
    /// Accesses to what was touched a while ago: one window holds a whole visit, and the middle of all visits counts,
    /// since a cache that forgets has no undisturbed end.
    Revisits,
    /// Accesses after other memory was read: the first window of a visit counts, and the middle of all visits, since
    /// how much of a state is lost has no undisturbed end.
    FirstAccesses,
    /// Calls of the operating system that one thread makes, counted as accesses.
    Calls,
    /// Operations of the kernel that other threads and processes take part in: their turns come when the scheduler
    /// likes.
    Meetings,
    /// Turns at a line that others want too: the time between a thread's own counts, and every thread as much as any
    /// other, however many turns it got.
    Turns,
    /// Useful bytes: their rate counts.
    Bytes,
    /// Useful bytes of an operation of the kernel that another process takes part in: as bytes, but waits for the other
    /// side are part of the rate.
    Transfers,
    /// None of its own: it serves those that are measured, and stamps nothing.
    Service,
}

/// The number of a part of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gauge {
    /// Their own work, counted as for the value of a step.
    Own(Work),
    /// Time from one turn on the line to the next, by any thread.
    Line,
    /// The turns of the one that got the fewest over those of the one that got the most.
    Evenness,
}

/// The name of the part that says how often the line of contenders is used, by all of them.
pub const LINE: &str = "line";
/// The name of the part that says how evenly they got their turns.
pub const EVENNESS: &str = "evenness";
/// The statistic by which a step uses the middle of its windows, whatever its roles are. It is compared with a number
/// that describes a load, and an edge beside a middle would make the noise of the windows a part of the difference.
pub const MEDIAN: &str = "median";

/// A named part of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartAccounting {
    /// Name of the part, as it is shown.
    pub name: String,
    /// The quantity that its number is.
    pub gauge: Gauge,
    /// Of which threads.
    pub members: Vec<usize>,
}

/// The numbers of a step: its value, and the named parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepAccounting {
    /// Kind of the value.
    pub metric: Metric,
    /// The work of each thread, in setup order.
    pub threads: Vec<Work>,
    /// The named parts.
    pub parts: Vec<PartAccounting>,
    /// Whether each thread uses caches of its own core only: then the blocks that something interrupted show.
    pub is_of_core: bool,
}

impl StepAccounting {
    /// The accounting of a step, from the roles of its setup and the caches of the machine.
    pub fn of(step: &Step, machine: &Machine) -> Self {
        let threads: Vec<Work> = step.setup.threads.iter().map(|thread| work(thread, step.metric)).collect();
        let mut parts: Vec<PartAccounting> = Vec::new();
        for (index, thread) in step.setup.threads.iter().enumerate() {
            if thread.part.is_empty() || threads[index] == Work::Service {
                continue;
            }
            let gauge = Gauge::Own(threads[index]);
            match parts.iter_mut().find(|part| part.name == thread.part && part.gauge == gauge) {
                Some(part) => part.members.push(index),
                None => parts.push(PartAccounting { name: thread.part.clone(), gauge, members: vec![index] }),
            }
        }
        let members: Vec<usize> = (0..threads.len()).filter(|index| threads[*index] == Work::Turns).collect();
        if !members.is_empty() {
            parts.push(PartAccounting { name: LINE.into(), gauge: Gauge::Line, members: members.clone() });
        }
        if members.len() > 1 {
            parts.push(PartAccounting { name: EVENNESS.into(), gauge: Gauge::Evenness, members });
        }
        Self { metric: step.metric, threads, parts, is_of_core: step.is_of_core(machine) }
    }

    /// The accounting of threads that all do what the metric counts.
    pub fn plain(metric: Metric, threads: usize) -> Self {
        let work = match metric {
            Metric::Latency => Work::Accesses,
            Metric::Bandwidth => Work::Bytes,
        };
        Self { metric, threads: vec![work; threads], parts: Vec::new(), is_of_core: false }
    }

    /// Whether the value of a step is the edge of its windows, or their middle: what describes a load, or turns that
    /// others take as well, has no undisturbed end of its own, and what is held against such a value is of its kind.
    pub(crate) fn has_edge(&self, labels: &Labels) -> bool {
        let describes =
            |work: &Work| matches!(work, Work::Turns | Work::Transfers | Work::Revisits | Work::FirstAccesses);
        let loads = self.metric == Metric::Latency && self.threads.contains(&Work::Bytes);
        !loads && !self.threads.iter().any(describes) && labels.statistic() != Some(MEDIAN)
    }

    /// The visits as the value counts them: of accesses after other work their first windows, otherwise all windows.
    pub(crate) fn counted<'a>(&self, visits: &'a Visits) -> Cow<'a, Visits> {
        if !self.counts_first_windows() {
            return Cow::Borrowed(visits);
        }
        let first = |visit: &Visit| Visit { windows: visit.windows.iter().take(1).cloned().collect(), ..visit.clone() };
        Cow::Owned(Visits { list: visits.list.iter().map(first).collect(), ..*visits })
    }

    /// Whether only the first window of each visit counts.
    pub(crate) fn counts_first_windows(&self) -> bool {
        self.threads.contains(&Work::FirstAccesses)
    }

    /// The threads whose work the value counts.
    pub(crate) fn members(&self) -> Vec<usize> {
        (0..self.threads.len()).filter(|index| self.threads[*index].metric() == Some(self.metric)).collect()
    }
}

/// Kind of the blocks of a thread.
fn work(thread: &ThreadSetup, metric: Metric) -> Work {
    match &thread.role {
        Role::Chase { .. } if thread.reads_first.is_some() => Work::FirstAccesses,
        Role::Chase { .. } | Role::Ping { .. } | Role::Take => Work::Accesses,
        Role::Revisit { .. } => Work::Revisits,
        Role::Contend => Work::Turns,
        Role::Echo { .. } | Role::Keep { .. } => Work::Service,
        Role::Stream { .. } | Role::Load { .. } | Role::Soak(_) => Work::Bytes,
        Role::Os(call) => match (metric, call.others.is_empty()) {
            (Metric::Latency, true) => Work::Calls,
            (Metric::Latency, false) => Work::Meetings,
            (Metric::Bandwidth, true) => Work::Bytes,
            (Metric::Bandwidth, false) => Work::Transfers,
        },
    }
}

impl Work {
    /// The metric that counts it.
    fn metric(self) -> Option<Metric> {
        match self {
            Self::Accesses | Self::Revisits | Self::FirstAccesses | Self::Calls | Self::Meetings | Self::Turns => {
                Some(Metric::Latency)
            }
            Self::Bytes | Self::Transfers => Some(Metric::Bandwidth),
            Self::Service => None,
        }
    }
}

impl Gauge {
    /// Unit of its value.
    pub(crate) fn unit(self) -> Unit {
        match self {
            Self::Own(Work::Bytes | Work::Transfers) => Unit::BytesPerSecond,
            Self::Own(_) | Self::Line => Unit::Ns,
            Self::Evenness => Unit::Ratio,
        }
    }
}
