//! The scan of memory for slow regions.

use super::rows::messages;
use crate::units::{Bytes, MIB, Nanoseconds, Rate};
use crate::{CpuId, NodeId, count_of};

/// A size as an argument of an option, rounded up: `1204M`.
fn option_of(size: Bytes) -> String {
    Bytes(size.0.next_multiple_of(MIB)).typed()
}

messages! {
    Note regions_of_node(regions: u64, region: Bytes, node: NodeId, cpu: CpuId, room: Bytes, limit: &str):
        {
            let regions = count_of(regions, "region");
            format!("node {node}: {regions} of {region}, accessed from cpu {cpu}; {room} may be taken ({limit})")
        };

    Note region_follows_caches(region: Bytes, caches: Bytes):
        "regions have {region}, at least four times the {caches} of caches in reach of one cpu";

    Refusal no_room_for_region(node: NodeId, region: Bytes, room: Bytes, limit: &str, least: Bytes) options ["--chunk"]:
        "a scan of node {node}", "{room} ({limit}) does not hold a region of {region}",
        {
            if least < region && least <= room {
                format!("use smaller regions (--chunk {}), or free memory", option_of(least))
            } else {
                "free memory".to_owned()
            }
        };

    Refusal region_within_caches(region: Bytes, caches: Bytes, least: Bytes) options ["--chunk"]:
        "regions of {region}", "caches of {caches} would serve many of the accesses",
        { format!("use regions of at least four times as much: --chunk {}", option_of(least)) };

    Note physical_range(low: u64, high: u64, scattered: bool):
        { format!("{}{low:#x} to {high:#x}", if scattered { "scattered, " } else { "" }) };

    Note physical_unreadable():
        "a region is a piece of the node's memory as the kernel gave it; its physical addresses are readable for root \
         (CAP_SYS_ADMIN) outside of containers and sandboxes";

    Note region_times_compared(regions: u64, low: Nanoseconds, high: Nanoseconds):
        { format!("over {}, {low} to {high}", count_of(regions, "region")) };

    Rates region_rates_compared(regions: u64, low: Rate, high: Rate):
        { format!("over {}, {low} to {high}", count_of(regions, "region")) };

    Note too_few_regions(regions: u64, least: u64):
        "{regions}, too few to find a slow one: compare {least} or more (--chunk, --max-mem, --max-time)";

    Note regions_not_compared(regions: u64):
        { format!("{} in doubt, not compared", count_of(regions, "region")) };

    Note slow_region(times: f64, deviations: Option<f64>):
        {
            let far = deviations.map_or_else(String::new, |far| format!(", {far:.0} deviations (MAD) away"));
            format!("{times:.2} times as slow as the median of the node's regions{far}")
        };

    Note slow_if_bound_is_true(): "other work disturbed every visit to it: run again to confirm";
}
