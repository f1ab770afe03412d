//! How the simulated memory and links are shared, and how long an access waits there.
//!
//! The demand of each thread is what its core can have under way; node memories and one-way links between sockets are
//! shared max-min fairly (Bertsekas & Gallager 1992, Data Networks, §6.5.2: progressive filling).

use std::collections::BTreeMap;

use tiermark_model::{Machine, NodeId, Setup};

use tiermark_engine::admit::region_nodes;

/// Bytes per ns of one node's memory where neither firmware nor the options say: eight channels of DDR5-4800 at 80 %.
const NODE_RATE: f64 = 245.0;
/// Share of a memory's read rate that it loses when half of its traffic is writes: the channels turn around (two-socket
/// servers of 2021: 292 of 352 GB/s).
const MIX_LOSS: f64 = 0.2;
/// Waiting time of an access, in parts of its idle latency: up to this much more in proportion to utilisation, …
const RISE: f64 = 0.15;
/// … this much more between the knee and full use, …
const STEEP: f64 = 1.5;
/// … and up to this much more, the further demand exceeds capacity.
const PRESSED: f64 = 0.5;

/// The known ceilings of a simulated machine's memory: what probes must find again.
#[derive(Debug, Clone, PartialEq)]
pub struct Ceilings {
    /// Bytes per second of each node's memory when only read; `None` takes firmware's figure, or a usual one.
    pub node: Option<f64>,
    /// Bytes per second that one socket sends to another, one way.
    pub link: f64,
    /// Utilisation of a memory or link from which waiting grows steeply, below 1.
    pub knee: f64,
    /// Share of its rate that a memory or link loses when demand far exceeds its capacity.
    pub overload: f64,
}

impl Default for Ceilings {
    /// Three links of 11.2 GT/s at the 83 % that two-socket servers of 2021 reach, and a knee at four fifths.
    fn default() -> Self {
        Self { node: None, link: 56e9, knee: 0.8, overload: 0.0 }
    }
}

/// The demand of a thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Demand {
    /// Useful bytes per ns, without other traffic.
    pub(super) rate: f64,
    /// Bytes read from memory for each useful byte, and bytes written to it.
    pub(super) traffic: (f64, f64),
}

impl Demand {
    /// Of a thread that leaves memory alone.
    pub(super) const NONE: Self = Self { rate: 0.0, traffic: (0.0, 0.0) };
}

/// Rates of the threads.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Carried {
    /// Useful bytes per ns of each thread.
    pub(super) rates: Vec<f64>,
    /// Waiting time of an access to memory, in parts of its idle latency, by thread.
    pub(super) waits: Vec<f64>,
}

/// A memory or a one-way link.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Road {
    /// Bytes per ns.
    pub(super) capacity: f64,
    /// Whether mixed traffic costs it: a memory, not a link.
    pub(super) turns: bool,
}

/// A thread's use of a road: the shares of its reads and writes that cross it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Leg {
    pub(super) road: usize,
    pub(super) reads: f64,
    pub(super) writes: f64,
}

/// All roads of a machine that a setup uses.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Roads {
    pub(super) roads: Vec<Road>,
    /// What they are, in the same order.
    pub(super) names: Vec<Name>,
    /// By thread.
    pub(super) routes: Vec<Vec<Leg>>,
    knee: f64,
    overload: f64,
}

/// A memory, or a link between two sockets in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Name {
    Memory(NodeId),
    Link { from: u32, to: u32 },
}

impl Roads {
    pub(super) fn new(machine: &Machine, setup: &Setup, ceilings: &Ceilings) -> Self {
        let (mut roads, mut in_order) = (Vec::<Road>::new(), Vec::new());
        let mut names: BTreeMap<Name, usize> = BTreeMap::new();
        let mut road = |name: Name| {
            *names.entry(name).or_insert_with(|| {
                in_order.push(name);
                roads.push(match name {
                    Name::Memory(node) => Road { capacity: memory_rate(machine, node, ceilings), turns: true },
                    Name::Link { .. } => Road { capacity: ceilings.link / 1e9, turns: false },
                });
                roads.len() - 1
            })
        };
        let mut routes = Vec::new();
        for thread in &setup.threads {
            let mut legs = Vec::new();
            let home = machine.cpu(thread.cpu).map(|c| c.socket);
            for (node, share) in node_shares(setup, thread.region, machine) {
                legs.push(Leg { road: road(Name::Memory(node)), reads: share, writes: share });
                if let (Some(home), Some(away)) = (home, socket_of(machine, node))
                    && home != away
                {
                    legs.push(Leg { road: road(Name::Link { from: away, to: home }), reads: share, writes: 0.0 });
                    legs.push(Leg { road: road(Name::Link { from: home, to: away }), reads: 0.0, writes: share });
                }
            }
            routes.push(legs);
        }
        Self { roads, names: in_order, routes, knee: ceilings.knee.clamp(0.0, 0.999), overload: ceilings.overload }
    }

    /// Shares the roads among the threads, one demand each.
    pub(super) fn carry(&self, demands: &[Demand]) -> Carried {
        let (mut reads, mut writes) = (vec![0.0; self.roads.len()], vec![0.0; self.roads.len()]);
        for (legs, demand) in self.routes.iter().zip(demands) {
            for leg in legs {
                reads[leg.road] += leg.reads * demand.traffic.0 * demand.rate;
                writes[leg.road] += leg.writes * demand.traffic.1 * demand.rate;
            }
        }
        let asked: Vec<f64> = reads.iter().zip(&writes).map(|(r, w)| r + w).collect();
        let plain: Vec<f64> = (0..self.roads.len()).map(|k| self.roads[k].with_mix(asked[k], writes[k])).collect();
        let pressure: Vec<f64> = asked.iter().zip(&plain).map(|(asked, capacity)| asked / capacity).collect();
        let capacities: Vec<f64> =
            plain.iter().zip(&pressure).map(|(c, p)| c * (1.0 - self.overload * (1.0 - 1.0 / p.max(1.0)))).collect();
        let rates = self.fill(demands, &capacities);
        let mut used = vec![0.0; self.roads.len()];
        for ((legs, demand), rate) in self.routes.iter().zip(demands).zip(&rates) {
            legs.iter().for_each(|leg| used[leg.road] += leg.weight(demand) * rate);
        }
        let wait = |leg: &Leg| {
            // A chase waits for its reads.
            let use_share = (used[leg.road] / capacities[leg.road]).min(1.0);
            let beyond = ((use_share - self.knee) / (1.0 - self.knee)).max(0.0);
            leg.reads * (RISE * use_share + STEEP * beyond + PRESSED * (1.0 - 1.0 / pressure[leg.road].max(1.0)))
        };
        let waits = self.routes.iter().map(|legs| legs.iter().map(wait).sum()).collect();
        Carried { rates, waits }
    }

    /// Raises all rates alike; a rate that has reached its demand, or a full memory or link, no longer rises.
    fn fill(&self, demands: &[Demand], capacities: &[f64]) -> Vec<f64> {
        let mut rates: Vec<f64> = demands.iter().map(|d| d.rate).collect();
        let mut left = capacities.to_vec();
        let (mut slope, mut users) = (vec![0.0; left.len()], vec![0usize; left.len()]);
        let mut open: Vec<usize> = (0..demands.len().min(self.routes.len())).collect();
        open.sort_by(|a, b| demands[*b].rate.total_cmp(&demands[*a].rate));
        for &index in &open {
            for (road, weight) in self.crossed(index, &demands[index]) {
                slope[road] += weight;
                users[road] += 1;
            }
        }
        let mut level = 0.0;
        while let Some(&next) = open.last() {
            let full = (0..left.len())
                .filter(|k| users[*k] > 0)
                .map(|k| (left[k].max(0.0) / slope[k], k))
                .min_by(|a, b| a.0.total_cmp(&b.0));
            let wanted = demands[next].rate - level;
            let (step, stuck) = match full {
                Some((room, road)) if room < wanted => (room, Some(road)),
                _ => (wanted, None),
            };
            level += step;
            left.iter_mut().zip(&slope).for_each(|(left, slope)| *left -= slope * step);
            let crosses = |index: usize, road: usize| self.crossed(index, &demands[index]).any(|(k, _)| k == road);
            let (done, rest): (Vec<usize>, Vec<usize>) = match stuck {
                Some(road) => open.iter().copied().partition(|index| crosses(*index, road)),
                None => open.iter().copied().partition(|index| *index == next || demands[*index].rate <= level),
            };
            for &index in &done {
                rates[index] = level.min(demands[index].rate);
                for (road, weight) in self.crossed(index, &demands[index]) {
                    slope[road] -= weight;
                    users[road] -= 1;
                }
            }
            open = rest;
        }
        rates
    }

    /// The roads that a thread's traffic loads, with the bytes on each for every useful byte.
    fn crossed(&self, thread: usize, demand: &Demand) -> impl Iterator<Item = (usize, f64)> {
        self.routes[thread].iter().map(|leg| (leg.road, leg.weight(demand))).filter(|(_, weight)| *weight > 0.0)
    }
}

impl Road {
    /// Its rate when this share of the traffic is writes.
    fn with_mix(&self, asked: f64, writes: f64) -> f64 {
        if !self.turns || asked <= 0.0 {
            return self.capacity;
        }
        self.capacity * (1.0 - MIX_LOSS * (2.0 * writes / asked).min(1.0))
    }
}

impl Leg {
    /// Bytes on the road for each useful byte.
    fn weight(&self, demand: &Demand) -> f64 {
        self.reads * demand.traffic.0 + self.writes * demand.traffic.1
    }
}

/// The nodes of a region's pages with the share of each.
pub(super) fn node_shares(setup: &Setup, region: usize, machine: &Machine) -> Vec<(NodeId, f64)> {
    let nodes = region_nodes(setup, region, machine);
    let dealt = setup.regions.get(region).map(|r| r.policy.shares(nodes.len())).unwrap_or_default();
    let total: f64 = dealt.iter().map(|s| f64::from(*s)).sum();
    if total <= 0.0 {
        return nodes.first().map(|node| (node, 1.0)).into_iter().collect();
    }
    nodes.iter().zip(dealt).filter(|(_, s)| *s > 0).map(|(node, s)| (node, f64::from(s) / total)).collect()
}

/// The socket a node's memory hangs on; `None` for nodes without cpus, whose own rate is all that is known.
pub(super) fn socket_of(machine: &Machine, node: NodeId) -> Option<u32> {
    machine.node(node).and_then(|n| n.cpus.first()).and_then(|cpu| machine.cpu(cpu)).map(|c| c.socket)
}

pub(super) fn memory_rate(machine: &Machine, node: NodeId, ceilings: &Ceilings) -> f64 {
    let stated = machine.node(node).and_then(|n| n.hmat.iter().find_map(|h| h.read_bandwidth));
    stated.or(ceilings.node).map_or(NODE_RATE, |bytes| bytes / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::*;

    /// Two sockets of two cores.
    fn machine() -> Machine {
        let cpus =
            (0..4).map(|id| Cpu { id, core: id, socket: id / 2, node: Some(id / 2), ..Cpu::default() }).collect();
        let node = |id: u32| Node {
            id,
            cpus: [2 * id, 2 * id + 1].into_iter().collect(),
            memory_bytes: Some(GIB),
            distances: [(id, 10), (1 - id, 21)].into(),
            ..Node::default()
        };
        Machine { cpus, nodes: vec![node(0), node(1)], ..Machine::default() }
    }

    fn roads(targets: &[(u32, u32)]) -> Roads {
        let region = |node: u32| RegionSetup {
            nodes: [node].into_iter().collect(),
            ..testing::region(GIB, PageKind::Thp, Layout::Data)
        };
        let setup = Setup {
            regions: targets.iter().map(|(_, node)| region(*node)).collect(),
            threads: targets
                .iter()
                .enumerate()
                .map(|(region, (cpu, _))| ThreadSetup::new(*cpu, Role::Chase { chains: 1 }, region))
                .collect(),
            seed: 1,
        };
        let ceilings = Ceilings { node: Some(100e9), link: 30e9, knee: 0.8, overload: 0.0 };
        Roads::new(&machine(), &setup, &ceilings)
    }

    const READ: (f64, f64) = (1.0, 0.0);

    #[test]
    fn what_is_asked_is_had_while_there_is_room() {
        let carried = roads(&[(0, 0), (1, 0)]).carry(&[Demand { rate: 20.0, traffic: READ }; 2]);
        assert_eq!(carried.rates, [20.0, 20.0]);
        assert!((carried.waits[0] - RISE * 0.4).abs() < 1e-9);
    }

    #[test]
    fn small_demands_are_met_and_the_rest_is_shared_alike() {
        let demands = [10.0, 80.0, 70.0].map(|rate| Demand { rate, traffic: READ });
        let carried = roads(&[(0, 0), (1, 0), (0, 0)]).carry(&demands);
        assert_eq!(carried.rates, [10.0, 45.0, 45.0]);
    }

    #[test]
    fn links_limit_one_way_and_leave_local_threads_alone() {
        let demands = [Demand { rate: 40.0, traffic: READ }; 3];
        let carried = roads(&[(0, 0), (0, 1), (1, 1)]).carry(&demands);
        assert_eq!(carried.rates, [40.0, 15.0, 15.0]);
        assert!(carried.waits[1] > carried.waits[0]);
        // Writes cross the other way, and what they read first comes back.
        let carried = roads(&[(0, 1), (2, 0)]).carry(&[Demand { rate: 40.0, traffic: (1.0, 1.0) }; 2]);
        assert_eq!(carried.rates, [15.0, 15.0], "each way carries the reads of one and the writes of the other");
    }

    #[test]
    fn mixed_traffic_costs_a_memory_its_turns() {
        let carried = roads(&[(0, 0), (1, 0)]).carry(&[Demand { rate: 60.0, traffic: (1.0, 1.0) }; 2]);
        assert!((carried.rates[0] - 20.0).abs() < 1e-9, "80 of 100 bytes, half of them useful, for two threads");
    }

    #[test]
    fn beyond_the_knee_waiting_is_steep_and_overload_costs_rate() {
        let mut roads = roads(&[(0, 0)]);
        let at = |roads: &Roads, rate: f64| roads.carry(&[Demand { rate, traffic: READ }]);
        let (before, after) = (at(&roads, 79.0).waits[0], at(&roads, 90.0).waits[0]);
        assert!(before < RISE && (after - RISE * 0.9 - STEEP * 0.5).abs() < 1e-9);
        assert_eq!(at(&roads, 200.0).rates, [100.0]);
        roads.overload = 0.1;
        assert!((at(&roads, 200.0).rates[0] - 95.0).abs() < 1e-9);
        assert_eq!(at(&roads, 90.0).rates, [90.0]);
    }
}
