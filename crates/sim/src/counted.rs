//! Counters of a simulated machine: what its memories and links carry, as counters of the hardware would see it.

use std::time::Duration;

use tiermark_model::{
    BoxKind, BoxPlace, BoxTraffic, CHANNEL_BYTES, LinkStated, LinkTraffic, Machine, NodeId, Role, StepTraffic,
    ThreadSetup, Traffic,
};

use super::model::WORD;
use super::traffic::{Ceilings, Demand, Name, Roads, memory_rate, socket_of};
use super::{SimRig, World};
use tiermark_engine::host::{Shot, ThreadShot};

/// Channels of each simulated node.
const CHANNELS: u32 = 2;
/// Share of the peak that a simulated memory or link reaches when only read.
const REACHED: f64 = 0.8;

/// Counters of a simulated machine: they count what its roads carry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimCounters {
    /// Bytes written to memory for each byte that another socket writes: 2 where a directory is kept in memory.
    pub remote_writes: f64,
    /// Bytes a second that each node reads while nothing is measured, and half as many that it writes.
    pub idle: f64,
}

impl SimCounters {
    /// The channels of a node, which share its traffic evenly.
    fn channels(
        self,
        (node, socket): (NodeId, Option<u32>),
        capacity: f64,
        bytes: (f64, f64),
        seconds: f64,
    ) -> Vec<BoxTraffic> {
        let part = f64::from(CHANNELS);
        let (read, write) = ((bytes.0 + self.idle * seconds) / part, (bytes.1 + self.idle / 2.0 * seconds) / part);
        let channel = |number: u32| BoxTraffic {
            place: BoxPlace {
                socket,
                node: Some(node),
                kind: BoxKind::Channel,
                unit: format!("node {node} channel {number}"),
            },
            read: Some(read),
            write: Some(write),
            total: read + write,
            local: None,
            transfers: Some(capacity * 1e9 * seconds / REACHED / part / CHANNEL_BYTES),
        };
        (0..CHANNELS).map(channel).collect()
    }

    /// What the nodes of a machine carry while nothing is measured.
    pub fn at_rest(self, machine: &Machine, ceilings: &Ceilings, seconds: f64) -> Traffic {
        let boxes = machine.nodes.iter().filter(|node| node.memory_bytes.is_some_and(|bytes| bytes > 0));
        let boxes = boxes.flat_map(|node| {
            self.channels(
                (node.id, socket_of(machine, node.id)),
                memory_rate(machine, node.id, ceilings),
                (0.0, 0.0),
                seconds,
            )
        });
        Traffic { seconds, boxes: boxes.collect(), ..Traffic::default() }
    }
}

impl Roads {
    /// The bytes on every road while each thread used so many.
    pub(super) fn counted(
        &self,
        demands: &[Demand],
        useful: &[f64],
        seconds: f64,
        (counters, machine): (&SimCounters, &Machine),
    ) -> Traffic {
        let mut carried = vec![(0.0, 0.0); self.roads.len()];
        for ((legs, demand), useful) in self.routes.iter().zip(demands).zip(useful) {
            let is_remote = legs.iter().any(|leg| !self.roads[leg.road].turns);
            for leg in legs {
                let factor = if is_remote && self.roads[leg.road].turns { counters.remote_writes } else { 1.0 };
                carried[leg.road].0 += leg.reads * demand.traffic.0 * useful;
                carried[leg.road].1 += leg.writes * demand.traffic.1 * useful * factor;
            }
        }
        let mut counted = Traffic { seconds, ..Traffic::default() };
        for ((name, road), bytes) in self.names.iter().zip(&self.roads).zip(carried) {
            match *name {
                Name::Memory(node) => counted.boxes.extend(counters.channels(
                    (node, socket_of(machine, node)),
                    road.capacity,
                    bytes,
                    seconds,
                )),
                Name::Link { from, to } => {
                    let most = road.capacity * 1e9 * seconds / REACHED;
                    let add = |sum: &mut Option<f64>| *sum = sum.map(|sum| sum + bytes.0 + bytes.1);
                    add(&mut end(&mut counted.links, (from, to), most).sent);
                    add(&mut end(&mut counted.links, (to, from), most).received);
                }
            }
        }
        counted
    }
}

impl SimRig {
    /// What the simulated counters saw of a shot; `None` if the machine has no counters.
    pub(super) fn counted(&self, shot: &Shot, demands: &[Demand], budget: Duration) -> Option<StepTraffic> {
        let World { lab, options, .. } = &*self.world;
        let machine = &*lab.machine;
        let counters = options.counters.as_ref()?;
        // Accesses of a chase use a word each, as its demand says.
        let word = |thread: &ThreadSetup| if matches!(thread.role, Role::Chase { .. }) { WORD } else { 1.0 };
        let done = |thread: &ThreadShot| thread.per_block * thread.stamps_ns.len().saturating_sub(1) as f64;
        let useful: Vec<f64> =
            shot.threads.iter().zip(&self.setup.threads).map(|(own, setup)| done(own) * word(setup)).collect();
        let seconds = budget.as_secs_f64();
        let mut counted = self.speeds.roads().counted(demands, &useful, seconds, (counters, machine));
        let rest = counters.at_rest(machine, &options.ceilings, seconds).boxes;
        let is_counted = |idle: &BoxTraffic| counted.boxes.iter().any(|own| own.place == idle.place);
        let idle: Vec<BoxTraffic> = rest.into_iter().filter(|idle| !is_counted(idle)).collect();
        counted.boxes.extend(idle);
        Some(StepTraffic { counted, ..StepTraffic::default() })
    }
}

/// The end of a link at a socket; a new one if it carried nothing yet.
fn end(links: &mut Vec<LinkTraffic>, (socket, other): (u32, u32), most: f64) -> &mut LinkTraffic {
    let place = BoxPlace { socket: Some(socket), node: None, kind: BoxKind::Link, unit: format!("link to {other}") };
    let at = links.iter().position(|link| link.place == place).unwrap_or(links.len());
    if at == links.len() {
        let stated = LinkStated::default();
        links.push(LinkTraffic { place, sent: Some(0.0), received: Some(0.0), most: Some(most), stated });
    }
    &mut links[at]
}
