//! What the blocks of each thread of a step count for.

use tiermark_model::{Metric, Role, Step, Unit};

/// What a thread's blocks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Accesses that wait for one another: their time counts.
    Accesses,
    /// Useful bytes: their rate counts.
    Bytes,
    /// None of its own: it serves those that are measured, and stamps nothing.
    Service,
}

/// What is counted of a step: the value asked for, and the named parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roll {
    /// What the value is.
    pub metric: Metric,
    /// The work of each thread, in setup order.
    pub threads: Vec<Work>,
    /// The named parts: name, what is counted, the threads that belong to it.
    pub parts: Vec<(String, Work, Vec<usize>)>,
}

impl Roll {
    /// That of a step.
    pub fn of(step: &Step) -> Self {
        let work = |role: &Role| match role {
            Role::Chase { .. } | Role::Ping { .. } | Role::Contend | Role::Take => Work::Accesses,
            Role::Echo { .. } | Role::Keep { .. } => Work::Service,
            Role::Stream { .. } | Role::Load { .. } => Work::Bytes,
        };
        let mut parts: Vec<(String, Work, Vec<usize>)> = Vec::new();
        for (index, thread) in
            step.setup.threads.iter().enumerate().filter(|(_, t)| !t.part.is_empty() && work(&t.role) != Work::Service)
        {
            let work = work(&thread.role);
            match parts.iter_mut().find(|(name, counted, _)| *name == thread.part && *counted == work) {
                Some((_, _, members)) => members.push(index),
                None => parts.push((thread.part.clone(), work, vec![index])),
            }
        }
        Self { metric: step.metric, threads: step.setup.threads.iter().map(|t| work(&t.role)).collect(), parts }
    }

    /// The roll of threads that all do what the metric counts.
    pub fn plain(metric: Metric, threads: usize) -> Self {
        Self { metric, threads: vec![counted(metric); threads], parts: Vec::new() }
    }

    /// The threads whose work the value counts.
    pub(crate) fn members(&self) -> Vec<usize> {
        let counted = counted(self.metric);
        (0..self.threads.len()).filter(|index| self.threads[*index] == counted).collect()
    }
}

/// The work that a metric counts.
fn counted(metric: Metric) -> Work {
    match metric {
        Metric::Latency => Work::Accesses,
        Metric::Bandwidth => Work::Bytes,
    }
}

impl Work {
    /// The unit of its value.
    pub(crate) fn unit(self) -> Unit {
        match self {
            Self::Accesses | Self::Service => Unit::Ns,
            Self::Bytes => Unit::BytesPerSecond,
        }
    }
}
