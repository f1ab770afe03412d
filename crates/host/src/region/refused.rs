//! Why memory could not be had, in words with a cure.

use tiermark_kernels::layout::{LayoutError, ProofError};
use tiermark_model::{Bytes, ChainLayout, CpuId, NodeId, PageKind, Refusal, RegionSetup};

use super::Region;

/// What a preparation that was interrupted says.
pub(crate) fn stop_refusal() -> Refusal {
    Refusal::new("preparing memory", "the run was stopped", "start it again")
}

/// Why a chain cannot be had.
pub(crate) fn chain_refused(chain: ChainLayout, bytes: usize, error: &ProofError) -> Refusal {
    if *error == ProofError::Layout(LayoutError::Stopped) {
        return stop_refusal();
    }
    let what = format!("a chain {chain} in {}", Bytes(bytes as u64));
    Refusal::new(what, error.to_string(), "try another size or layout: --sizes, --layout")
}

/// Why a thread could not choose the node of its pages.
pub(super) fn take_refused(node: NodeId, error: &std::io::Error) -> Refusal {
    Refusal::new(
        format!("pages dealt out over nodes, at node {node}"),
        format!("set_mempolicy was refused: {error}"),
        "allow it: docker run --cap-add SYS_NICE, or a seccomp profile that permits it",
    )
}

/// Why a thread could not be pinned.
pub(crate) fn pin_refused(cpu: CpuId, error: &std::io::Error) -> Refusal {
    Refusal::new(
        format!("a thread on cpu {cpu}"),
        format!("the system refused to pin it there: {error}"),
        "choose cpus that the process may use (taskset, cpuset of the control group)",
    )
}

/// Why memory could not be mapped.
pub(super) fn map_refused(setup: &RegionSetup, error: &std::io::Error) -> Refusal {
    let cure = match setup.page {
        PageKind::Huge(page) => {
            format!("reserve pages in /sys/kernel/mm/hugepages/hugepages-{}kB/nr_hugepages", page >> 10)
        }
        _ => "ask for less memory, or raise the limit on address space (ulimit -v)".to_owned(),
    };
    Refusal::new(format!("{} of {} pages", setup.bytes, setup.page), format!("mapping it failed: {error}"), cure)
}

/// Why a reserved page could not be had: from the pool, or of what a cgroup may take from it.
pub(super) fn pool_drained(region: &Region, offset: usize, error: &std::io::Error) -> Refusal {
    let had = offset / region.page_bytes;
    let kib = region.page_bytes >> 10;
    // As cgroups write sizes: 64KB, 2MB, 1GB.
    let size = match kib {
        _ if kib >= 1 << 20 => format!("{}GB", kib >> 20),
        _ if kib >= 1 << 10 => format!("{}MB", kib >> 10),
        _ => format!("{kib}KB"),
    };
    Refusal::new(
        format!("{} of {} pages on node {}", Bytes(region.bytes as u64), region.page, region.target),
        format!("{had} of {} pages could be had: {error}", region.mapping.len() / region.page_bytes),
        format!(
            "reserve more in /sys/devices/system/node/node*/hugepages/hugepages-{kib}kB/nr_hugepages, or raise the cgroup's \
             hugetlb.{size}.max"
        ),
    )
}
