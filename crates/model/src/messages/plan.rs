//! Planning: requests that a probe cannot meet, and parts of them that it leaves out.

use super::rows::messages;
use crate::idset::IdSet;
use crate::units::Bytes;
use crate::written::count_of;
use crate::{CpuId, Cure, NodeId};

messages! {
    Refusal shared_buffer_written(op: &str) options ["--op", "--buffer"]:
        "{op} with --buffer shared",
        "threads that store to the lines of others would measure how lines pass between cores, and not memory",
        "name operations that only read (--op read,read.random), or leave out --buffer shared; `tiermark c2c` \
            measures shared lines";

    Refusal shared_buffer_of_processes():
        "--buffer shared with --workers processes", "each process has memory of its own", "leave out one of the two";

    Refusal shared_buffer_mixed() options ["--buffer"]:
        "policy mixed with --buffer shared",
        "mixed gives local memory to some threads and remote memory to others, and a shared buffer is one memory",
        "leave out mixed, or --buffer shared";

    /// Parameters that the probe does not understand: a plan or a document that was changed by hand, or is of another
    /// version.
    Refusal request_unreadable(probe: &str, error: &str):
        "the {probe} request", "{error}", "see `tiermark help {probe}`";

    Refusal nothing_to_measure(probe: &str, cure: &Cure) options (cure.options.clone()):
        "{probe}", "the request has no step that can be measured", "{cure}";

    Refusal no_cpu(what: &str) options ["--cpus"]:
        "{what}", "no cpu is allowed", "allow some with --cpus";

    Refusal cpus_not_allowed(cpus: &IdSet, forbidden: &IdSet, allowed: &IdSet) options ["--cpus"]:
        "cpus {cpus}", "cpu {forbidden} is not allowed to this process", "choose among the allowed cpus: --cpus \
            {allowed}";

    Refusal no_neighbour(cpu: CpuId) options ["--cpus"]:
        "a neighbour on another core", "cpu {cpu} is the only core in scope", "allow another core with --cpus";

    Refusal size_too_small(size: Bytes, least: Bytes) options ["--sizes"]:
        "size {size}", "it is too small to measure", { format!("use a size of at least {}K: --sizes", least.0 >> 10) };

    Refusal no_kernel(op: &str, known: &[&str]) options ["--mix"]:
        "operation '{op}'", "this machine has no kernel for it",
        { format!("`tiermark list kernels` shows the kernels of this machine; operations: {}; a mix is written as \
            2:1 (--mix)", known.join(", ")) };

    Refusal no_kernel_for_mix(mix: &str, op: &str) options ["--mix"]:
        "mix {mix}", "no kernel here does {op}", "choose another mix with --mix; `tiermark list kernels` shows the \
            kernels of this machine";

    Refusal too_many_threads(threads: u32, of: &str, cpus: &IdSet) options ["--threads"]:
        { format!("{}{of}", count_of(u64::from(threads), "thread")) },
        { format!("{} in scope ({cpus})", match cpus.len() { 1 => "1 cpu is".to_owned(), n => format!("{n} cpus are") }) },
        "use no more threads than cpus in scope: --threads";

    Refusal chain_too_short(layout: &str, size: Bytes, places: u64, pitch: Bytes, chains: u64):
        "{layout} at {size}",
        { format!("it holds {places} places {pitch} apart, and {} need two each", count_of(chains, "chain")) },
        "use a larger size, a smaller stride or fewer chains";

    Refusal chain_of_bytes(layout: &str) options ["--chains"]:
        "{layout} with several chains",
        "pointers of 8 bytes do not fit such a stride, and a chase over bytes follows one chain",
        "leave out --chains, or use a stride that is a multiple of 8";

    /// A cache that is too small for all threads at once: a row of the ladder.
    Refusal cache_too_small_for_threads(tier: &str, threads: u64, cache: Bytes, above: Bytes) options ["--cpus"]:
        { format!("{tier} with {}", count_of(threads, "thread")) },
        {
            let by = if threads == 1 { "1 thread uses".to_owned() } else { format!("{threads} threads share") };
            format!("{by} {cache}, which does not hold twice the {above} of inner cache for each of them")
        },
        "measure it with fewer threads: --cpus";

    Refusal memory_within_caches(tier: &str, threads: u64, room: Bytes, limit: &str, caches: Bytes, cure: &Cure) options (cure.options.clone()):
        { format!("{tier} with {}", count_of(threads, "thread")) },
        "{room} ({limit}) is less than twice the caches in reach ({caches})",
        "{cure}";

    Cure allow_more_memory() options ["--max-mem"]: "allow more with --max-mem, or free memory";

    Cure free_more_memory(): "free memory: no value of --max-mem is enough";

    Cure raise_group_limit(file: Option<&str>):
        {
            let file = file.unwrap_or("the memory limit of the control group");
            format!("raise {file} (of a container: docker run --memory): no value of --max-mem is enough")
        };

    Cure allow_more_time() options ["--max-time"]: "allow more with --max-time";

    Refusal too_few_pages(page: &str, most: u64, limit: &str, cure: &Cure) options (cure.options.clone()):
        "tlb entries of {page} pages", "{most} pages at most: {limit}", "{cure}";

    Refusal policy_needs_nodes(policy: &str, nodes: &IdSet) options ["--policy", "--to"]:
        "policy {policy}", "it needs memory of two nodes and cpus that may use it; in scope: node {nodes}",
        "leave --policy out, or name more nodes: --to; mixed needs two threads";

    Refusal policy_without_nodes(policy: &str):
        "{policy}", "the policy names no node", "name its nodes, as in 0,1";

    Refusal kernel_without_weights(release: &str, since: &str) options ["--policy"]:
        "the kernel's own weighted interleave", "this kernel is {release}; weighted interleave came with {since}",
        "boot a newer kernel; `--policy weighted`, where tiermark places the pages itself, works on any kernel";

    Refusal sharing_unknown(cpus: &IdSet) options ["--from"]:
        "rows of cpus {cpus}", "the system does not report which node or last-level cache these cpus belong to", "choose rows of another kind: --from";

    Refusal no_cpus_on_node(node: NodeId, why: &str, with_cpus: &IdSet) options ["--cpu-node"]:
        "cpus of node {node}", "{why}", "choose among {with_cpus}: --cpu-node";

    Refusal cpus_in_two_groups(cpus: &IdSet) options ["--traffic"]:
        "groups of threads", "cpus {cpus} are in two groups", "give each cpu to one group: --traffic";

    Refusal groups_beyond_cpus(cpus: &IdSet, scope: &IdSet) options ["--cpus", "--cpu-node", "--traffic"]:
        "groups of threads", "--traffic names cpus {cpus}, but the run may use only cpus {scope}",
        "leave --cpus and --cpu-node out, and give each group its node: --traffic 'cpus=0-3 node=1'";

    Refusal groups_have_delays() options ["--delays"]:
        "groups of threads", "every group has its own delay, so --delays would measure the same load several times",
        "leave out --delays, or the delay of a group";

    Refusal no_cpu_beside_groups(cpus: &IdSet) options ["--traffic", "--chaser-cpu"]:
        "loaded latency", "the groups of threads use every cpu in scope ({cpus}), and none is left for the chaser",
        "leave a cpu out of the groups (--traffic), or name one with --chaser-cpu";

    Refusal no_core_for_load(what: &str, cpus: &IdSet) options ["--cpus"]:
        "{what}", "cpus {cpus} are one core, and the load needs a second core", "allow more cores with --cpus";

    Refusal no_room_for_load(what: &str, room: Bytes, limit: &str, cure: &Cure) options (cure.options.clone()):
        "{what}",
        "a chain and buffers of twice the caches do not fit into {room} ({limit})",
        "{cure}";

    Refusal one_cpu_only(cpus: &IdSet) options ["--cpus"]:
        "core to core", "it needs two cpus, and only {cpus} is in scope", "allow more with --cpus, or give the guest \
            another cpu";

    Refusal no_pairs() options ["--sample"]:
        "a sample of 0 pairs", "a sample needs a pair to measure", "use 1 or more: --sample";

    Refusal no_common_clock() options ["--op"]:
        "one-way messages",
        "the processor's counter is not one clock for all cpus here, and reading the system's takes longer than a \
            message",
        "use cas or flag: --op";

    Refusal no_shared_cache() options ["--sizes"]:
        "a shared cache", "the system declares no shared cache", "name ranges that it can hold: --sizes 4M,8M,16M";

    Refusal range_within_inner_cache(range: Bytes, factor: u64, inner: Bytes) options ["--sizes"]:
        "a range of {range}", "the range is at most {factor} x the {inner} of cache closer to the core, which would \
            serve the accesses",
        "use larger ranges: --sizes";

    /// `--pages` where no chosen primitive is measured by page size.
    Refusal page_size_unused(page: &str, rule: &str) options ["--pages"]:
        "--pages {page}", "{rule}", "leave --pages out";

    Refusal unknown_primitive(name: &str, groups: &[&str]):
        "--only {name}", "there is no group or primitive of that name",
        { format!("name a group ({}) or a primitive (`tiermark list primitives`)", groups.join(", ")) };

    Refusal primitive_too_large(primitive: &str, room: Bytes, limit: &str, cure: &Cure) options (cure.options.clone()):
        "{primitive}", "it needs more memory than {room} ({limit})",
        "{cure}";

    Refusal saved_place_missing(what: &str, why: &str, command: &str):
        "{what}", "{why}",
        "rerun keeps the cpus and nodes of the document; to measure elsewhere, give the command with other options: \
            `{command}`";

    /// A request that the saved document does not hold: it was refused on the machine of that run.
    Refusal request_not_saved(part: &str, plan: &str):
        "{part}", "it was refused on the machine of the saved run, so the document does not hold its cpus and nodes",
        "run the plan itself: `tiermark run {plan}`";

    Refusal probe_unknown(probe: &str):
        "{probe}", "this version has no such probe", "`tiermark list probes` shows the probes of this version; the \
            field `tool` of the document names the version that saved the run";
}
