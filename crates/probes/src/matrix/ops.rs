//! The work of a cell: a chase, a job with the fastest kernel for it, or a mix of reads and writes.

use tiermark_model::{Bench, Isa, KernelId, KernelInfo, Layout, Pattern, Role, StoreKind};

use crate::bandwidth::{JOBS, mix};
use crate::steps::stream_role;

/// The word for the idle latency among the operations.
pub const LATENCY: &str = "latency";
/// Jobs that are done by ordinary stores only, whatever is faster.
const ORDINARY: [(&str, &str); 2] = [("write.cached", "write"), ("copy.cached", "copy")];

/// The work of the threads of a bandwidth cell, and their memory.
pub(super) struct Work {
    pub(super) role: Role,
    pub(super) layout: Layout,
}

/// The work of a name: a mix, a job, an operation or one kernel. `None` where this machine has no kernel for it.
pub(super) fn work(name: &str, bench: &Bench) -> Option<Work> {
    if let Some(mix) = mix(name) {
        let role = Role::Load { kernels: mix.kernels(bench).ok()?, pause_ns: 0 };
        return Some(Work { role, layout: mix.layout() });
    }
    let kernels = rivals(name, bench);
    let random = kernels.first().is_some_and(|k| k.pattern == Pattern::Random);
    let ids: Vec<KernelId> = kernels.into_iter().map(|k| k.id.clone()).collect();
    let layout = if random { Layout::Permuted } else { Layout::Data };
    Some(Work { role: stream_role(&ids)?, layout })
}

/// Kernels that do a job, on the widest vectors and by string instructions; the plainest first.
fn rivals<'a>(name: &str, bench: &'a Bench) -> Vec<&'a KernelInfo> {
    if let Some(exact) = bench.kernel(name).filter(|kernel| !kernel.zeros_only) {
        return vec![exact];
    }
    let own = [ORDINARY.iter().find(|(job, _)| *job == name).map_or(name, |(_, op)| op)];
    let ops: &[&str] = JOBS.iter().find(|(job, _)| *job == name).map_or(&own, |(_, ops)| ops);
    let known = |k: &&KernelInfo| ops.contains(&k.id.op()) && k.isa != Isa::Portable && !k.zeros_only;
    let mut found: Vec<&KernelInfo> = bench.kernels.iter().filter(known).collect();
    let widest = found.iter().map(|k| k.isa).max();
    found.retain(|k| Some(k.isa) == widest || k.store_kind == StoreKind::Block);
    found.sort_by_key(|k| (k.id.op() != own[0], !k.plain, &k.id));
    found
}

/// Whether a word names an operation that only a matrix has.
pub fn is_own(name: &str) -> bool {
    name == LATENCY || ORDINARY.iter().any(|(job, _)| *job == name) || mix(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench() -> Bench {
        Bench { kernels: tiermark_kernels::streams().iter().map(|s| s.kernel_info()).collect(), ..Bench::default() }
    }

    fn round(name: &str) -> Vec<String> {
        let Role::Load { kernels, .. } = work(name, &bench()).unwrap().role else { panic!("{name}") };
        kernels.iter().map(|k| k.op().to_owned()).collect()
    }

    #[test]
    fn mixes_are_rounds_and_jobs_are_not() {
        assert_eq!(round("2:1"), ["read", "copy"]);
        assert_eq!(round("1:1"), ["copy"]);
        assert_eq!(round("1:2.nt"), ["write.nt", "copy.nt"]);
        assert_eq!(round("0:1"), ["write"]);
        assert_eq!(round("1:1.random"), ["read.random", "write.random"]);
        assert_eq!(work("1:1.random", &bench()).unwrap().layout, Layout::Permuted);
        assert!(["9:1", "75", "triadnt"].iter().all(|name| work(name, &bench()).is_none()));
        assert!(
            ["read", "copy", "triad"]
                .iter()
                .all(|name| matches!(work(name, &bench()).unwrap().role, Role::Stream { .. }))
        );
    }

    #[test]
    fn jobs_compete_and_ordinary_stores_do_not() {
        let ops = |name: &str| {
            let work = work(name, &bench()).unwrap();
            let mut ops: Vec<String> = work.role.kernels().map(|k| k.op().to_owned()).collect();
            ops.dedup();
            ops
        };
        assert!(ops("write").contains(&"write.nt".to_owned()) || cfg!(not(target_arch = "x86_64")));
        assert_eq!(ops("write.cached"), ["write"]);
        assert_eq!(work("read.random", &bench()).unwrap().layout, Layout::Permuted);
        assert!(work("fly", &bench()).is_none());
    }
}
