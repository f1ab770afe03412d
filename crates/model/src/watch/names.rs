//! Names of the numbers that a sample can have, before there is one.

use super::figures::{ACTIVE, NOW};
use super::{
    WatchActive, WatchCpu, WatchFigure, WatchGroup, WatchMemory, WatchNode, WatchPool, WatchPressure, WatchSample,
    WatchStall, WatchStalls, WatchSwap,
};
use crate::traffic::{BoxKind, BoxPlace, BoxTraffic, LinkTraffic, Traffic};

/// The items of the lists in [`watch_names`]: a name has any in their place.
const ITEM: &str = "NAME";

/// Every number that a sample can have. Nodes and sockets have the item `0`, swap areas and zram devices `NAME`.
pub fn watch_names() -> Vec<WatchFigure> {
    whole().figures()
}

/// The number of that name or short name, whatever the item of its list; `None` if no sample has it.
pub fn watch_name(name: &str) -> Option<WatchFigure> {
    // A pair of cpus may have any name, so that of `active.pings.0-1.record.now` would be `0-1.record`.
    let of_items = [name.to_owned(), format!("{ACTIVE}.{name}"), format!("{ACTIVE}.{name}.{NOW}")];
    let names = watch_names();
    let plain =
        names.iter().find(|known| known.item.is_none() && [known.name(), known.short_name()].contains(&of_items[0]));
    plain.cloned().or_else(|| of_items.iter().find_map(|name| names.iter().find_map(|known| of_item(known, name))))
}

/// The number of a list that has this name, with its item.
fn of_item(known: &WatchFigure, name: &str) -> Option<WatchFigure> {
    let (key, _) = known.item.as_ref()?;
    let (list, rest) = known.around_item()?;
    let item = name.strip_prefix(&list)?.strip_prefix('.')?;
    let item = item.strip_suffix(&rest)?.strip_suffix('.')?;
    let fits =
        !item.is_empty() && (!matches!(*key, "node" | "socket") || item.bytes().all(|byte| byte.is_ascii_digit()));
    fits.then(|| WatchFigure { item: Some((key, item.to_owned())), ..known.clone() })
}

/// A sample that has a value of every kind.
fn whole() -> WatchSample {
    let stalls = || Some(WatchStalls { some: WatchStall::default(), full: Some(WatchStall::default()) });
    let psi = || WatchPressure { memory: stalls(), cpu: stalls(), io: stalls() };
    let pool = |device: &str| WatchPool { device: device.to_owned(), ..WatchPool::default() };
    WatchSample {
        psi: psi(),
        group: Some(WatchGroup { path: String::new(), psi: psi() }),
        cpu: Some(WatchCpu::default()),
        memory: Some(WatchMemory::default()),
        nodes: vec![WatchNode::default()],
        swaps: vec![WatchSwap { path: ITEM.to_owned(), ..WatchSwap::default() }],
        zram: vec![pool(ITEM)],
        zswap: Some(pool("zswap")),
        active: Some(WatchActive::whole(ITEM)),
        traffic: Some(traffic()),
        ..WatchSample::default()
    }
}

/// Traffic of which everything is counted: reads, writes, a clock and a link.
fn traffic() -> Traffic {
    let place = |kind| BoxPlace { socket: Some(0), node: Some(0), kind, unit: String::new() };
    let (none, channel) = (Some(0.0), place(BoxKind::Channel));
    Traffic {
        boxes: vec![BoxTraffic { place: channel, read: none, write: none, total: 0.0, local: none, transfers: none }],
        links: vec![LinkTraffic { place: place(BoxKind::Link), sent: none, received: none, most: none }],
        ..Traffic::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::FigureName;

    #[test]
    fn names_are_known_before_there_is_a_sample() {
        for name in [
            "psi.memory.some.avg10",
            "group.psi.cpu.full.now",
            "cpu.steal",
            "memory.available_bytes",
            "vm.swap_in_bytes",
            "nodes.17.free_bytes",
            "swaps./dev/dm-1.used_bytes",
            "zram.zram0.pool_bytes",
            "zswap.stored_bytes",
            "own.cpu_share",
            "active.dram.latency.now",
            "active.l3.lasts.record",
            "active.pings.0-1.capability",
            "traffic.total_bytes",
            "traffic.read_bytes",
            "traffic.busiest_channel",
            "traffic_sockets.0.read_bytes",
            "traffic_sockets.1.sent_bytes",
            "traffic_nodes.12.write_bytes",
        ] {
            assert_eq!(watch_name(name).map(|figure| figure.name()).as_deref(), Some(name));
        }
        for wrong in [
            "",
            "nodes.x.free_bytes",
            "nodes..free_bytes",
            "nodes.free_bytes",
            "time",
            "swaps.used_bytes",
            "traffic",
            "traffic_sockets.x.read_bytes",
            "traffic_sockets.read_bytes",
        ] {
            assert_eq!(watch_name(wrong), None, "{wrong}");
        }
        for (short, name) in [
            ("latency.dram", "active.dram.latency.now"),
            ("latency.l1.record", "active.l1.latency.record"),
            ("read.dram.one", "active.dram.bandwidth.now"),
            ("kept.l3", "active.l3.kept.now"),
            ("clock", "active.clock.now"),
            ("pings.0-1", "active.pings.0-1.now"),
            ("cpu.steal", "cpu.steal"),
        ] {
            let figure = watch_name(short).unwrap_or_else(|| panic!("{short}"));
            assert_eq!((figure.name().as_str(), figure.short_name().as_str()), (name, short));
        }
        let of_runs = |figure: &WatchFigure| FigureName::parse(&figure.short_name(), 1).unwrap();
        let both = watch_names().iter().filter_map(of_runs).count();
        assert_eq!(both, 6, "four latencies and two rates have the names of saved runs");
        let names: std::collections::BTreeSet<String> = watch_names().iter().map(WatchFigure::name).collect();
        assert_eq!(names.len(), watch_names().len());
    }
}
