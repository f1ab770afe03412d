//! Setups of steps: their threads, memory, kernels and primitives, before and while they are prepared.

use super::rows::messages;
use crate::{Bytes, ChainLayout, CpuId, Cure, IdSet, Isa, NodeId, Note, PageKind, count_of};

const CORRECT: &str = "correct the plan";
const OTHER_SIZE: &str = "try another size or layout: --sizes, --layout";

/// The cure where a filter of system calls forbids something.
pub const FILTERED: &str = "a seccomp filter forbids it or the kernel is too old: try outside of the container";

messages! {
    Refusal memory_file_missing(path: &str) options ["--memory"]:
        "memory of {path}", "there is no such file",
        "make it, such as 1 GiB with `truncate -s 1G {path}`, or let tiermark use a new one without a name: --memory \
            dir:DIRECTORY";

    Refusal memory_file_unmappable(path: &str, why: &str) options ["--memory"]:
        "memory of {path}", "{why}",
        "name a file of a file system in memory (tmpfs, hugetlbfs), of persistent memory, or a DAX device that this \
         user may read: --memory file:PATH";

    Refusal memory_dir_unusable(path: &str, why: &str) options ["--memory"]:
        "memory of a new file in {path}", "{why}",
        "name a directory of tmpfs, hugetlbfs or persistent memory where this user may write and there is room: \
            --memory dir:/dev/shm";

    Refusal memory_file_short(path: &str, holds: Bytes, wanted: Bytes) options ["--sizes"]:
        "memory of {path}", "it holds {holds}, and the threads need {wanted}",
        "use less (--sizes), or a larger file, such as a new one by `truncate -s {wanted} NAME`";

    Refusal memory_file_unread(error: &str):
        "memory of a file", "not all of its pages can be read ({error})",
        "give its file system more room, or name a smaller file; a file must not be cut while it is measured";

    Refusal processes_share_nothing(error: &str) options ["--workers"]:
        "workers as processes", "they cannot map the memory by which they start together ({error})", "use threads: --workers threads";

    Refusal writes_not_forbidden(error: &str) options ["--read-only"]:
        "memory to read only", "the kernel does not change its protection ({error})", "leave out --read-only";

    Refusal memory_file_written(step: &str, path: &str) options ["--op", "--memory"]:
        "{step} in memory of {path}", "it writes, and this memory is mapped to read only",
        "use operations that only read (bandwidth --op read,read.random); chains of pointers are written first, so \
         latency needs --memory dir:DIRECTORY";

    Refusal memory_file_elsewhere(step: &str, path: &str) options ["--memory"]:
        "{step} in memory of {path}", "it measures memory of a place of its own, and a file has its pages where the \
            file system put them",
        "leave out --memory here, or use it with bandwidth, latency, mlp or tlb";

    Refusal setup_without_threads() options ["--cpus"]:
        "a setup", "it has no threads", "give at least one cpu: --cpus";

    Refusal setup_inconsistent(what: &str, why: &str):
        "{what}", "{why}", { CORRECT };

    Refusal streams_differ(kernel: &str):
        "a setup", "its streams begin with different kernels, one of them {kernel}", "use one kernel for all streams";

    Refusal kernels_unavailable(set: &str, kernels: &[&str], needs: &str):
        { format!("{set} kernels ({})", kernels.join(", ")) }, "this cpu or the Linux kernel does not offer {needs}",
        "in a virtual machine: choose a cpu model with these instructions (host-passthrough)";

    Refusal cpu_unusable(cpu: CpuId, why: &str, allowed: &IdSet) options ["--cpus"]:
        "cpu {cpu}", "{why}", "choose among the allowed cpus: --cpus {allowed}";

    Refusal selector_empty(selector: &str, why: &str, allowed: &IdSet):
        "{selector}", "{why}", "choose among the allowed cpus {allowed}; `tiermark machine` shows them";

    Refusal cpus_not_on_nodes(cpus: &IdSet, nodes: &IdSet, of_nodes: &IdSet):
        "--cpus {cpus} with --cpu-node {nodes}", "none of the cpus {cpus} is on node {nodes}, whose cpus are \
            {of_nodes}",
        "leave one of the options out";

    Refusal no_far_node() options ["--mem-node"]:
        "memory of a far node", "this machine has one node with memory", "name a node, or leave --mem-node out";

    Refusal priority_refused(nice: i32, error: &str) options ["--nice"]:
        "--nice {nice}", "{error}", "leave --nice out";

    Refusal memory_not_allowed(what: &str, most: &str, threads: usize) options ["--max-mem", "--sizes"]:
        "{what}", "--max-mem allows {most}",
        {
            let fewer = if threads == 1 { "" } else { " or fewer threads" };
            format!("raise --max-mem, or use smaller --sizes{fewer}")
        };

    Refusal no_cpu_online():
        "measuring on this machine", "no online cpu may be used by this process",
        "check its affinity (taskset -p) and the cpuset of its control group";

    Refusal pin_refused(cpu: CpuId, error: &str):
        "a thread on cpu {cpu}", "the system refused to pin it there: {error}",
        "choose cpus that the process may use (taskset, cpuset of the control group)";

    Refusal threads_refused(wanted: usize, index: usize, error: &str)
        options (if wanted == 1 { vec![] } else { vec!["--threads"] }):
        { if wanted == 1 { "a thread".to_owned() } else { format!("{wanted} threads") } },
        "the system refused thread {index}: {error}",
        {
            // One thread cannot be fewer.
            let fewer = if wanted == 1 { "" } else { "; or use fewer --threads" };
            format!("raise the limit on threads: ulimit -u, pids.max of the cgroup, \
                /proc/sys/kernel/threads-max{fewer}")
        };

    Refusal region_empty(bytes: Bytes) options ["--sizes"]:
        "a region of {bytes}", "it has no bytes to measure", "use a size of at least 4K: --sizes";

    Refusal region_too_large(bytes: Bytes, most: Bytes) options ["--sizes", "--max-mem"]:
        "a region of {bytes}", "no processor maps more than {most}", "use a smaller size: --sizes, --max-mem";

    Refusal region_too_small(bytes: Bytes, streams: usize, least: Bytes) options ["--sizes"]:
        "a region of {bytes}", "{streams} streams need a line of 64 bytes each", "use a size of at least {least}: \
            --sizes";

    Refusal weights_unusable(nodes: &IdSet, why: &str) options ["--weighted-interleave"]:
        "weighted interleave over nodes {nodes}", "{why}", "give each node a weight from 0 to 255: \
            --weighted-interleave 0:3,1:1";

    Refusal node_unusable(node: NodeId, why: &str, usable: &IdSet) options ["--mem-node"]:
        "memory on node {node}", "{why}", "choose among the nodes with memory: {usable} (--mem-node)";

    Refusal free_memory_short(wanted: Bytes, place: &str, of: &str, free: Bytes, kept: Bytes, cure: &Cure) options (cure.options.clone()):
        "{wanted} of memory", "{place} has {free} {of}, of which {kept} must stay free", "{cure}";

    Refusal huge_pages_no_pool(pages: u64, page: Bytes) options ["--pages"]:
        { format!("{} of {page}", count_of(pages, "huge page")) }, "0 are free: the kernel has no pool of this size",
        "use a size that has its nr_hugepages in /sys/kernel/mm/hugepages, or --pages thp";

    /// Huge pages of which too few are free; `size`: what the pool needs in all, with the pages in use; `late`: what
    /// helps where memory is fragmented.
    Refusal huge_pages_short(pages: u64, page: Bytes, free: u64, place: &str, size: u64, file: &str, late: &str)
        options ["--pages"]:
        { format!("{} of {page}", count_of(pages, "huge page")) }, "{free} are free on {place}",
        "reserve them as root: echo {size} > {file}; or use --pages thp{late}";

    /// Huge pages beyond the limit of a control group, of which so many are `left`.
    Refusal huge_pages_limited(pages: u64, page: Bytes, left: u64, file: &str) options ["--pages"]:
        { format!("{} of {page}", count_of(pages, "huge page")) },
        "the limit of the control group leaves {left} ({file}); beyond it, the kernel refuses pages or kills the program",
        "raise {file}, of a container on the host; or use --pages thp";

    Refusal huge_pages_drained(bytes: Bytes, page: PageKind, page_bytes: Bytes, nodes: &IdSet, had: usize, wanted: usize, error: &str):
        "{bytes} of {page} pages on node {nodes}", "{had} of {wanted} pages could be had: {error}",
        {
            let kib = page_bytes.0 >> 10;
            // As control groups write sizes: 64KB, 2MB, 1GB.
            let limit = match kib {
                _ if kib >= 1 << 20 => format!("{}GB", kib >> 20),
                _ if kib >= 1 << 10 => format!("{}MB", kib >> 10),
                _ => format!("{kib}KB"),
            };
            format!(
                "reserve more in /sys/devices/system/node/node*/hugepages/hugepages-{kib}kB/nr_hugepages, or raise \
                 the cgroup's hugetlb.{limit}.max"
            )
        };

    Refusal mapping_refused(bytes: Bytes, page: PageKind, error: &str)
        options (if matches!(page, PageKind::Huge(_)) { vec![] } else { vec!["--sizes", "--max-mem"] }):
        "{bytes} of {page} pages", "mapping it failed: {error}",
        {
            match page {
                PageKind::Huge(page) => format!("reserve pages in \
                    /sys/kernel/mm/hugepages/hugepages-{}kB/nr_hugepages", page >> 10),
                _ => "use less memory (--sizes, --max-mem), or raise the limit on address space (ulimit -v)".to_owned(),
            }
        };

    Refusal kernel_weights_refused(error: &str) options ["--weighted-interleave"]:
        "the kernel's weighted interleave", "the kernel refused it: {error}",
        "use a kernel of 6.9 or later that permits mbind, or weights of your own: --weighted-interleave";

    Refusal node_untouchable(node: NodeId, error: &str):
        "memory on node {node}", "mbind was refused ({error}), and no cpu of the node may be used to touch its pages \
            first",
        "allow mbind: docker run --cap-add SYS_NICE, or a seccomp profile that permits it";

    Refusal memory_policy_refused(node: Option<NodeId>, error: &str):
        { node.map_or_else(|| "pages dealt out over nodes".to_owned(), |node| format!("pages dealt out over nodes, \
            at node {node}")) },
        "the kernel refused the thread's memory policy: {error}",
        "allow it: docker run --cap-add SYS_NICE, or a seccomp profile that permits it";

    Refusal preparation_stopped():
        "preparing memory", "the run was stopped", "start it again";

    Refusal chain_refused(chain: ChainLayout, bytes: Bytes, error: &str) options ["--sizes", "--layout"]:
        "a chain {chain} in {bytes}", "{error}", { OTHER_SIZE };

    Refusal line_order_refused(error: &str) options ["--sizes", "--max-mem"]:
        "an order of lines", "{error}", "use less memory: --sizes, --max-mem";

    Refusal chains_out_of_range(chains: u8):
        "{chains} chains", "a chase follows 1 to 32", "use 1 to 32 chains";

    Refusal kernel_unknown(kernel: &str):
        "kernel {kernel}", "there is no kernel of that name", "`tiermark list kernels` shows all kernels";

    Refusal kernel_unusable(kernel: &str, isa: Option<Isa>):
        "kernel {kernel}",
        {
            let needs = isa.map_or_else(String::new, |isa| format!(" (it needs {isa:?})"));
            format!("this cpu or system cannot run it{needs}")
        },
        "`tiermark list kernels` shows the kernels that this machine can run";

    Refusal work_unsuitable(what: &str, why: &str):
        "{what}", "{why}", "choose another kernel, chain count or size";

    Refusal worker_panicked(error: &str):
        "preparing a worker", "it failed: {error}", "please report this";

    Refusal shot_failed(why: &str):
        "a shot", "{why}", "measure again";

    Refusal shot_followed():
        "a shot", "another worker failed", "measure again";

    Refusal primitive_unknown(primitive: &str):
        "primitive {primitive}", "there is no primitive of that name", "`tiermark list primitives` shows all \
            primitives";

    // Where pages are, and what fell short.

    /// How placement was proven: by a call or a file of the kernel, with a sample of pages, and their sizes; and the
    /// process that holds them, where it is another one.
    Note placement_seen(by: &str, pages: u64, regions: usize, sizes_seen: bool, held: Option<&Note>):
        {
            let sizes = if sizes_seen { "page sizes from smaps" } else { "page sizes not read: smaps does not report \
                them" };
            let held = held.map_or_else(String::new, |held| format!("; {held}"));
            format!("{by}, {pages} pages of {}; {sizes}{held}", count_of(regions as u64, "region"))
        };

    Note placement_lost(error: &str): "the process that holds the pages: {error}";

    Note held_by_own_process(threads: usize, resident: Bytes, anonymous: Bytes, mappings: usize):
        {
            let noun = if threads == 1 { "thread" } else { "threads" };
            format!(
                "held by a separate process with {threads} {noun}, {mappings} mappings and {resident} of other \
                 memory, of which {anonymous} is anonymous"
            )
        };

    Note placement_simulated(): "simulated";

    Note move_pages_refused(error: &str): "move_pages refused: {error}";

    Note thp_refused(error: &str): "transparent huge pages refused: {error}";

    Note thp_off(file: &str): "transparent huge pages are off ({file} is never)";

    Note memory_not_locked(error: &str): "memory could not be locked and may be swapped out: {error} (ulimit -l)";

    Note no_numa(): "no NUMA in this kernel: memory is not bound";

    /// The node of a cpu has no memory (`bare`), or its memory may not be used: the memory comes from the nearest node.
    Note memory_from_nearest(node: NodeId, cpu: CpuId, nearest: &IdSet, bare: bool):
        {
            let why = if bare { "has no memory" } else { "may not be used (cpuset.mems)" };
            format!("node {node} of cpu {cpu} {why}: memory comes from node {nearest}, the nearest")
        };

    Note bind_refused_one_node(error: &str): "mbind refused ({error}): the machine has one node";

    Note bind_refused_first_touch(error: &str, cpus: &IdSet):
        "mbind refused ({error}): first touch by threads pinned to cpus {cpus} instead";

    /// A primitive that lacks something here; `errno`: the error of the refused system call.
    Refusal primitive_unavailable(what: &str, why: &str, cure: &str, errno: Option<i32>):
        "{what}", "{why}", "{cure}";

    Refusal partner_starved(what: &str, seconds: f64) options ["--cpus"]:
        "{what}", "other programs kept its second thread from the cpu for {seconds:.1} s", "stop those programs, or \
            choose other cpus: --cpus";

    Refusal partner_elsewhere(cpu: CpuId):
        "a second thread or process on cpu {cpu}",
        "this process may not run there",
        "check the affinity (taskset -p) and the cpuset of the process";
}
