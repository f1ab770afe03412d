//! Samples: the state at a reading, and the rates since the reading before.

use tiermark_machine::files::Counters;
use tiermark_machine::{Stall, Stalls};
use tiermark_model::{
    CountedAs, NodeId, WatchCost, WatchCpu, WatchGroup, WatchGroupKind, WatchGroupUse, WatchMemory, WatchNode,
    WatchPool, WatchPressure, WatchRates, WatchSample, WatchStall, WatchStalls, WatchSwap,
};

use crate::groups::GroupReading;
use crate::reading::{NodeReading, Pressures, Reading};

/// The sample of a reading.
///
/// Rates are over the time since the reading `before`; without one, there are none. A counter that went down (a device
/// or a node that was replaced) or that is missing in either reading has no rate.
pub fn sample(time: String, before: Option<&Reading>, now: &Reading, page_bytes: u64) -> WatchSample {
    let span = Span::between(before, now);
    let group = now.group.as_ref().map(|(path, pressures)| {
        let earlier = before.and_then(|before| before.group.as_ref()).filter(|(other, _)| other == path);
        WatchGroup { path: path.clone(), psi: stalls(pressures, earlier.map(|(_, pressures)| pressures), span) }
    });
    WatchSample {
        time,
        seconds: span.map(|span| span.0),
        simulated: None,
        psi: stalls(&now.psi, before.map(|before| &before.psi), span),
        group,
        cpu: cpu(before, now, span),
        memory: now.memory.map(|memory| WatchMemory {
            total_bytes: memory.total,
            free_bytes: memory.free,
            available_bytes: memory.available,
            dirty_bytes: memory.dirty,
            swap_total_bytes: memory.swap_total,
            swap_free_bytes: memory.swap_free,
        }),
        vm: WatchRates::of(|counted, names| {
            let rate = rate(before.map(|before| &before.vm), &now.vm, names, span)?;
            Some(if counted == CountedAs::Pages { rate * page_bytes as f64 } else { rate })
        }),
        nodes: now
            .nodes
            .iter()
            .map(|(id, node)| self::node(*id, before.and_then(|before| before.nodes.get(id)), node, span))
            .collect(),
        swaps: now
            .swaps
            .iter()
            .map(|area| WatchSwap { path: area.path.clone(), total_bytes: area.bytes, used_bytes: area.used_bytes })
            .collect(),
        zram: now.zram.iter().map(|(name, zram)| pool(name, zram.original, zram.memory)).collect(),
        zswap: now.zswap.map(|zswap| pool("zswap", zswap.original, zswap.memory)),
        traffic: None,
        counters: None,
        active: None,
        groups: groups(before, now, span),
        programs: now.programs.clone(),
        own: WatchCost {
            read_seconds: now.read_seconds,
            cpu_share: before
                .and_then(|before| Some(now.own_seconds? - before.own_seconds?))
                .zip(span)
                .map(|(used, span)| (used / span.0).max(0.0)),
        },
    }
}

/// Seconds between two readings, above 0.
#[derive(Debug, Clone, Copy)]
struct Span(f64);

impl Span {
    fn between(before: Option<&Reading>, now: &Reading) -> Option<Self> {
        Some(now.at - before?.at).filter(|seconds| *seconds > 0.0).map(Self)
    }
}

fn pool(device: &str, stored_bytes: u64, pool_bytes: u64) -> WatchPool {
    WatchPool { device: device.to_owned(), stored_bytes, pool_bytes }
}

fn cpu(before: Option<&Reading>, now: &Reading, span: Option<Span>) -> Option<WatchCpu> {
    let times = now.cpu?;
    let shares = before
        .and_then(|before| before.cpu)
        // The sum over other cpus is another counter.
        .filter(|earlier| earlier.cpus == times.cpus)
        .zip(span)
        .and_then(|(earlier, span)| times.since(&earlier, span.0));
    Some(WatchCpu {
        online: times.cpus,
        busy: shares.map(|shares| shares.busy),
        steal: shares.map(|shares| shares.steal),
    })
}

fn stalls(now: &Pressures, before: Option<&Pressures>, span: Option<Span>) -> WatchPressure {
    let resource_stalls = |which: fn(&Pressures) -> Option<Stalls>| {
        let (now, before) = (which(now)?, before.and_then(which));
        let stall = |now: Stall, before: Option<Stall>| WatchStall {
            now: before.zip(span).and_then(|(before, span)| waited(before.total_us, now.total_us, span)),
            avg10: now.avg10,
            avg60: now.avg60,
            avg300: now.avg300,
        };
        Some(WatchStalls {
            some: stall(now.some, before.map(|before| before.some)),
            full: now.full.map(|full| stall(full, before.and_then(|before| before.full))),
        })
    };
    WatchPressure {
        memory: resource_stalls(|all| all.memory),
        cpu: resource_stalls(|all| all.cpu),
        io: resource_stalls(|all| all.io),
    }
}

/// Percent of the time in which tasks waited. The kernel's time and ours differ by some µs, so that a full stall may
/// exceed the span.
fn waited(before_us: u64, now_us: u64, span: Span) -> Option<f64> {
    let us = now_us.checked_sub(before_us)?;
    Some((us as f64 / 1e6 / span.0 * 100.0).min(100.0))
}

/// The groups that use most: control groups with most memory and longest stalls, and groups of resctrl with most
/// traffic.
fn groups(before: Option<&Reading>, now: &Reading, span: Option<Span>) -> Vec<WatchGroupUse> {
    let one = |(path, group): (&String, &GroupReading)| {
        let earlier = before.and_then(|before| before.groups.get(path));
        let rate = |counter: fn(&GroupReading) -> Option<u64>| {
            let grew = counter(group)?.checked_sub(counter(earlier?)?)?;
            span.map(|span| grew as f64 / span.0)
        };
        let stalled = earlier.and_then(|earlier| earlier.stalled_us).zip(group.stalled_us).zip(span);
        WatchGroupUse {
            path: path.clone(),
            kind: group.kind,
            memory_bytes: group.memory,
            stalled: stalled.and_then(|((before, now), span)| waited(before, now, span)),
            traffic_bytes: rate(|group| group.traffic),
            local_bytes: rate(|group| group.local),
        }
    };
    let all: Vec<WatchGroupUse> = now.groups.iter().map(one).collect();
    let most = now.most_groups;
    let mut shown: Vec<WatchGroupUse> = Vec::new();
    let mut add = |mut from: Vec<&WatchGroupUse>, by: fn(&WatchGroupUse) -> f64| {
        from.sort_by(|a, b| by(b).total_cmp(&by(a)));
        let new = from.into_iter().take(most);
        let new: Vec<WatchGroupUse> =
            new.filter(|group| !shown.iter().any(|own| own.path == group.path)).cloned().collect();
        shown.extend(new);
    };
    let of_kind = |kind| all.iter().filter(|group| group.kind == kind).collect::<Vec<_>>();
    add(of_kind(WatchGroupKind::Resctrl), |group| group.traffic_bytes.unwrap_or(0.0));
    let control = of_kind(WatchGroupKind::Control);
    let stalled: Vec<&WatchGroupUse> = control.iter().copied().filter(|group| group.stalled > Some(0.0)).collect();
    add(control, |group| group.memory_bytes.map_or(0.0, |bytes| bytes as f64));
    // A small group that waits is worth a row more.
    add(stalled, |group| group.stalled.unwrap_or(0.0));
    shown
}

fn node(node: NodeId, before: Option<&NodeReading>, now: &NodeReading, span: Option<Span>) -> WatchNode {
    let numa = |name: &'static str| rate(before.map(|before| &before.numa), &now.numa, &[name], span);
    let vm = |name: &'static str| rate(before.map(|before| &before.vm), &now.vm, &[name], span);
    WatchNode {
        node,
        total_bytes: now.total,
        free_bytes: now.free,
        file_bytes: now.file,
        anon_bytes: now.anon,
        hits: numa("numa_hit"),
        misses: numa("numa_miss"),
        foreign: numa("numa_foreign"),
        local: numa("local_node"),
        other: numa("other_node"),
        promoted: vm("pgpromote_success"),
        demoted: vm("pgdemote_*"),
        refaults: vm("workingset_refault*"),
    }
}

/// The rate of a sum of counters, a second.
fn rate(before: Option<&Counters>, now: &Counters, names: &[&str], span: Option<Span>) -> Option<f64> {
    let (before, span) = before.zip(span)?;
    let grew = sum(now, names)?.checked_sub(sum(before, names)?)?;
    Some(grew as f64 / span.0)
}

/// The sum of counters; `None` if there is none of them.
fn sum(counters: &Counters, names: &[&str]) -> Option<u64> {
    let one = |name: &&str| match name.strip_suffix('*') {
        None => counters.get(*name).copied(),
        Some(prefix) => {
            let all = counters.range(prefix.to_owned()..).take_while(|(name, _)| name.starts_with(prefix));
            all.map(|(_, count)| *count).reduce(u64::saturating_add)
        }
    };
    names.iter().filter_map(one).reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests;
