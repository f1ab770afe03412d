//! Rules of plans: choices that the request leaves open, and why.

use super::rows::messages;
use crate::{Bytes, CpuId, IdSet, NodeId, PageKind, count_of};

messages! {
    Note curves_end_at_limit(most: Bytes): "curves end at {most}, the limit of --max-mem";

    Note chase_on(cpu: CpuId, page: PageKind): "chases on cpu {cpu}, {page} pages";

    Note counted_once_more(source: &str, numbers: u64, seconds: f64):
        "{source} counts in intervals of its own: each number of a stream in memory (so far {numbers}) runs once more \
            after the visits, for {seconds:.1} s or more";

    Note one_thread_on(cpu: CpuId): "one thread, on cpu {cpu}";

    Note latency_on(cpu: CpuId):
        "latency on cpu {cpu}: the first thread of a core, not cpu 0 where there is a choice (interrupts land there)";

    Note one_thread_on_small_core(cpus: &IdSet):
        "one thread: cpu {cpus} is no performance core, its figures are not those of the machine's fastest cores";
    Note chains_too_short(layout: &str, sizes: &[Bytes]):
        {
            let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
            format!("{layout}: no chain in {} (it needs two nodes)", sizes.join(", "))
        };

    Note cores_before_siblings(): "bandwidth: physical cores before SMT siblings; every thread has memory of its own";

    Note ramp_of(distance: &str, cpus: &IdSet, cores: usize):
        {
            let cores = count_of(cores as u64, "core");
            format!("{distance} ramp: cpus {cpus}: {cores} first, then their SMT siblings")
        };

    /// Steps that follow from the first results: what they measure, by how many threads, of which tiers as declared.
    Note later_steps(what: &[String], threads: &[u64], tiers: &[String]):
        {
            let threads = match threads {
                [] => String::new(),
                [1] => " by 1 thread".to_owned(),
                several => format!(" by {} threads", listed(several)),
            };
            let place = if tiers.is_empty() { "by size".to_owned() } else { format!("at {}", listed(tiers)) };
            format!("{}{threads} {place}", listed(what))
        };

    /// The steps of `geometry` that are chosen later.
    Note geometry_follows(): "steps that bound the sizes, confirm the ways and test the sharing";

    /// The steps of `tlb` that are chosen later.
    Note tlb_follows(): "page counts near the ends of the buffers";

    /// The steps of `loaded-latency` that are chosen later.
    Note load_follows(points: u64):
        { format!("up to {} of each curve, where it changes most", count_of(points, "point")) };

    Note memory_size(of: &str, size: &str): "{of}: {size}";

    Note packed_on(cpu: CpuId, page: PageKind): "chases on cpu {cpu}; packed chains on {page} pages";

    Note pages_up_to(page: PageKind, most: u64, why: &str): "{page} pages: up to {most} ({why})";

    Note without_own_memory(cpus: &IdSet, measured: &IdSet):
        "cpus {cpus}: the memory of their own node cannot be used (cpuset.mems, an offline node, or one without \
         memory or with less than 128 MiB); DRAM is measured by cpus {measured}";

    Note memory_is_remote(cpu: CpuId, node: NodeId):
        "the memory of cpu {cpu}'s own node cannot be used (cpuset.mems, an offline node or one without memory): its \
         memory is on node {node}, remote";

    Note cpus_without_node(cpus: &IdSet): "cpus {cpus} are in no row: the node they belong to is offline";

    Note far_stands_for(node: NodeId, others: &IdSet):
        "node {node} stands for node {others}, not measured: firmware and kernel describe them alike (distance, \
         memory tier, HMAT figures, memory-side cache); --mem-node measures another";

    Note far_not_allowed(nodes: &IdSet): "node {nodes}: not measured, the cpuset (cpuset.mems) does not allow its \
        memory";

    Note far_too_small(nodes: &IdSet):
        "node {nodes}: not measured, it has less than 128 MiB, and 64 MiB of a node stay free";

    Note matrix_sample(rows: usize, of: usize):
        "a sample (--sample): {rows} of {of} rows, one of each kind; for each the memory of its own node and of one \
            node of each other kind";

    Note matrix_between(groups: &str, nodes: &IdSet): "matrix: from cpus of {groups} to memory of nodes {nodes}";

    Note size_asked(size: Bytes): "{size} for each thread (--sizes)";

    Note worker_huge(each: Bytes, page: PageKind): "{each} for each thread (--worker-memory), on reserved huge pages \
        of {page}";

    Note worker_ordinary(each: Bytes, page: PageKind, wanted: Bytes):
        "{each} for each thread (--worker-memory), on {page} pages: no pool has {wanted} of free huge pages on each \
            node (`tiermark doctor` shows the pools)";

    Note worker_less(fits: Bytes, each: Bytes, wanted: Bytes, room: Bytes, why: &str):
        "{fits} and not {each} for each thread (--worker-memory): that is {wanted}, and there is room for {room} \
            ({why})";

    Note worker_usual(each: Bytes, wanted: Bytes, room: Bytes, why: &str):
        "the usual memory and not {each} for each thread (--worker-memory): that is {wanted}, and there is room for \
            {room} ({why})";

    Note buffer_shared(): "the threads of a cell read one buffer, each from another place on (--buffer shared)";

    Note workers_are_processes():
        "each worker of a cell of several is a process of its own (--workers processes); they start together by \
         shared memory, and states of the machine are not looked for by pings between them";

    Note ends_after(total: Bytes): "each bandwidth ends when {total} are moved (--total), after the fewest visits at \
        the earliest";

    Note memory_of_file(memory: &str): "memory: {memory}; the file system decides where its pages are";

    Note beside_neighbour(cpu: CpuId, other: CpuId, size: &str): "chaser on cpu {cpu}, neighbour on cpu {other}: \
        {size}";

    Note parts_of_cache(level: u8, bytes: Bytes):
        "ranges: an eighth, a quarter and a half of L{level}, which holds {bytes} (declared)";

    Note no_cache_declared(bytes: Bytes): "no cache is declared: {bytes} stands for L1, the curve shows the rest";

    Note pages_say_nothing(page: PageKind): "--pages {page} has no effect: no selected primitive is measured by page \
        size";

    Note left_out_of(primitives: &str, why: &str): "{primitives}: {why}";

    /// Pairs of nodes that memory is moved between: some of all.
    Note pairs_of_nodes(pairs: usize, of: usize, own: NodeId):
        "{pairs} of {of} pairs of nodes, from node {own} to one of every kind (distance, with cpus or without, tier) \
         and back; all of them with --full";

    Note quick_points(kept: usize, all: usize, seconds: f64):
        "--quick measures {kept} of {all} points in {seconds:.1} s, the first point of every primitive before others; \
         for more points leave --quick out, or choose fewer primitives (--only)";

    /// Pairs of cpus that are pinged: all.
    Note all_pairs(pairs: u64, cpus: usize):
        {
            if pairs == 1 { "the only pair of cpus".to_owned() } else { format!("all {pairs} pairs of {}", count_of(cpus as u64, "cpu")) }
        };

    /// Pairs of cpus that are pinged: a sample, with how many of each class.
    Note sampled_pairs(cpus: usize, each: &str, left_out: u64):
        "a sample of the pairs of {cpus} cpus, drawn by the seed: {each}; {left_out} pairs are left out";

    Note operation_left_out(what: &str, why: &str): "{what}: {why}";

    Note home_asked(node: NodeId): "lines have their home on node {node}";

    Note homes_swept(pairs: usize): "lines have their home on the node of the cpu that begins; for {pairs} pairs \
        also elsewhere";

    Note home_only(): "lines have their home on the only node with memory";

    Note curve_under_load(distance: &str, chaser: CpuId, chain: Bytes, injectors: &IdSet, load: Bytes, points: usize):
        "{distance} memory: chaser on cpu {chaser} in {chain}, injectors on cpus {injectors} in {load} each; {points} \
         points a curve, placed where it bends";

    Note groups_under_load(chaser: CpuId, chain: Bytes, groups: &str, injectors: &IdSet):
        "chaser on cpu {chaser} in {chain}; injectors on cpus {injectors}: {groups} (--traffic)";

    Note delays_under_load(distance: &str, chaser: CpuId, chain: Bytes, injectors: &IdSet, load: Bytes, delays: &[u32]):
        {
            let delays = delays.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            format!(
                "{distance} memory: chaser on cpu {chaser} in {chain}, injectors on cpus {injectors} in {load} each; \
                 pauses of {delays} ns (--delays)"
            )
        };
}

/// Things in a row: `a`, `a and b`, `a, b and c`.
fn listed(things: &[impl ToString]) -> String {
    let mut words: Vec<String> = things.iter().map(ToString::to_string).collect();
    match words.pop() {
        Some(last) if words.is_empty() => last,
        Some(last) => format!("{} and {last}", words.join(", ")),
        None => String::new(),
    }
}
