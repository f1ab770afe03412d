//! The scan of memory for slow regions.

use super::rows::messages;
use crate::units::{Bytes, MIB, format_gbs, format_ns};
use crate::{CpuId, NodeId, count_of};

/// A size as an argument of an option, rounded up: `1204M`.
fn option_of(size: Bytes) -> String {
    Bytes(size.0.next_multiple_of(MIB)).typed()
}

messages! {
    /// The regions of a node, and from where they are measured.
    Note regions_of_node(regions: u64, region: Bytes, node: NodeId, cpu: CpuId, room: Bytes, limit: &str):
        {
            let regions = count_of(regions, "region");
            format!("node {node}: {regions} of {region}, accessed from cpu {cpu}; {room} may be taken ({limit})")
        };

    /// Regions that are larger than the default, as caches are large.
    Note region_follows_caches(region: Bytes, caches: Bytes):
        "regions have {region}, at least four times the {caches} of caches in reach of one cpu";

    /// Memory that is too small for one region.
    Refusal no_room_for_region(node: NodeId, region: Bytes, room: Bytes, limit: &str, least: Bytes):
        "a scan of node {node}", "{room} ({limit}) does not hold a region of {region}",
        {
            if least < region && least <= room {
                format!("use smaller regions (--chunk {}), or free memory", option_of(least))
            } else {
                "free memory".to_owned()
            }
        };

    /// A region that caches would answer for.
    Refusal region_within_caches(region: Bytes, caches: Bytes, least: Bytes):
        "regions of {region}", "caches of {caches} would serve many of the accesses",
        { format!("use regions of at least four times as much: --chunk {}", option_of(least)) };

    /// Where a region lies in physical memory, and whether other memory lies between its pages.
    Note physical_range(low: u64, high: u64, scattered: bool):
        { format!("{}{low:#x} to {high:#x}", if scattered { "scattered, " } else { "" }) };

    /// Regions whose physical addresses cannot be read.
    Note physical_unreadable():
        "a region is a piece of the node's memory as the kernel gave it; its physical addresses are readable for root \
         (CAP_SYS_ADMIN) outside of containers and sandboxes";

    /// The regions that are compared with one another.
    Note regions_compared(regions: u64, low: f64, high: f64, unit: &str):
        {
            let shown = |value: f64| if unit == "ns" { format_ns(value) } else { format_gbs(value) };
            format!("over {}, {} to {} {unit}", count_of(regions, "region"), shown(low), shown(high))
        };

    /// Too few regions to say that one is unlike the others.
    Note too_few_regions(regions: u64, least: u64):
        { format!("{regions} are too few to find a slow one: compare {least} or more (--chunk, --max-mem)") };

    /// Regions that are in doubt, and so not compared.
    Note regions_not_compared(regions: u64):
        { format!("{} in doubt, not compared", count_of(regions, "region")) };

    /// A region that is slower than its node's others.
    Note slow_region(times: f64, deviations: Option<f64>):
        {
            let far = deviations.map_or_else(String::new, |far| format!(", {far:.0} deviations (MAD) away"));
            format!("{times:.2} times as slow as the median of the node's regions{far}")
        };

    /// A slow region whose number is a bound.
    Note slow_if_bound_is_true(): "other work disturbed every visit to it: run again to confirm";
}
