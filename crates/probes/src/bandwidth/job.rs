//! What a step does: a job, and the kernels that compete for it.

use tiermark_engine::Lab;
use tiermark_model::{Effort, Isa, KernelId, KernelInfo, StoreKind};

use super::choice::Choice;
use super::{JOBS, OF_ZEROS};
use crate::mix::Mix;
use crate::task::Task;

/// How the names of kernels end that load and add nothing up.
const LOADS_ALONE: &str = "-load";

/// The work of a step: the kernels that compete for it, and the data.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Job {
    pub(super) label: String,
    /// Rivals, or of a mix its kernels in turn.
    pub(super) kernels: Vec<KernelId>,
    pub(super) mixed: bool,
    pub(super) zeros: bool,
}

/// The mix that a name stands for: `1:1`, while `read` and `copy` are jobs, done by the fastest kernel.
pub(crate) fn mix(name: &str) -> Option<Mix> {
    name.parse().ok().filter(|_| name.contains(':'))
}

/// What a request's jobs follow from.
pub(super) struct Jobs {
    lab: Lab,
    effort: Effort,
}

impl Jobs {
    pub(super) fn new(task: &Task) -> Self {
        Self { lab: task.lab.clone(), effort: task.effort() }
    }

    /// Kernels that answer to a name: a job, an operation, one kernel, or a mix, whose kernels take turns. The
    /// preferred one first; never the oracles, and on data none that can only store zeros.
    pub(super) fn kernels(&self, name: &str, zeros: bool) -> Vec<KernelId> {
        if let Some(mix) = mix(name) {
            return mix.kernels(&self.lab.bench).unwrap_or_default();
        }
        let usable = |k: &&KernelInfo| zeros || !k.zeros_only;
        if let Some(exact) = self.lab.bench.kernels.iter().filter(usable).find(|k| *k.id.0 == *name) {
            return vec![exact.id.clone()];
        }
        let own = [name];
        let ops: &[&str] = JOBS.iter().find(|(job, _)| *job == name).map_or(&own, |(_, ops)| ops);
        let is_rival = |k: &&KernelInfo| ops.contains(&k.id.op()) && k.isa != Isa::Portable;
        let kernels = self.lab.bench.kernels.iter();
        let mut found: Vec<&KernelInfo> = kernels.filter(usable).filter(is_rival).collect();
        // The first is what stays unless another is better. The other usual choices come next, then the other plain
        // loops: they win most often, and the time may not suffice for all.
        let widest = found.iter().map(|k| k.isa).max();
        let is = |k: &KernelInfo, choice: Choice| match choice {
            Choice::Widest => k.plain && Some(k.isa) == widest,
            Choice::LoadsAlone => k.id.0.ends_with(LOADS_ALONE) && Some(k.isa) == widest,
            Choice::Avx2 => k.plain && k.isa == Isa::Avx2,
        };
        let first = Choice::of(&self.lab.machine.cpu_model, name);
        let rank = |k: &KernelInfo| match k {
            k if is(k, first) => 0,
            k if is(k, Choice::Widest) || is(k, Choice::LoadsAlone) => 1,
            k if k.plain => 2,
            _ => 3,
        };
        found.sort_by(|a, b| {
            (rank(a), b.isa, a.id.op() != name, &a.id).cmp(&(rank(b), a.isa, b.id.op() != name, &b.id))
        });
        found.into_iter().map(|k| k.id.clone()).collect()
    }

    /// A job and the kernels to compare for it: those on the widest vectors, plain loops on others (a Zen 4 reads L1
    /// faster with half as wide ones) and string instructions; all there are with `--full`.
    pub(super) fn of(&self, name: &str, zeros: bool) -> Job {
        let label = if zeros { format!("{name}{OF_ZEROS}") } else { name.to_owned() };
        let mut job = Job { label, kernels: self.kernels(name, zeros), mixed: mix(name).is_some(), zeros };
        if job.mixed {
            return job;
        }
        let info = |id: &KernelId| self.lab.bench.kernel(&id.0);
        let widest = job.kernels.iter().filter_map(info).map(|k| k.isa).max();
        let full = self.effort == Effort::Full;
        let narrower = |k: &KernelInfo| k.plain && k.id.op() == name;
        let kept = |k: &KernelInfo| full || Some(k.isa) == widest || narrower(k) || k.store_kind == StoreKind::Block;
        job.kernels.retain(|id| info(id).is_some_and(kept));
        job
    }

    /// A job with stores that the caches take, where it has such: others bypass the cache that a row is of.
    pub(super) fn cached(&self, job: Job) -> Job {
        let writes_around = |id: &KernelId| {
            let info = self.lab.bench.kernel(&id.0);
            info.is_some_and(|k| matches!(k.store_kind, StoreKind::NonTemporal | StoreKind::Block))
        };
        let kernels: Vec<KernelId> = job.kernels.iter().filter(|id| !writes_around(id)).cloned().collect();
        if job.mixed || kernels.is_empty() { job } else { Job { kernels, ..job } }
    }

    /// Arrays of a job's kernels.
    pub(super) fn arrays(&self, job: &Job) -> u64 {
        let of_job = self.lab.bench.kernels.iter().filter(|k| job.kernels.contains(&k.id));
        of_job.map(|k| u64::from(k.streams)).max().unwrap_or(1)
    }
}
