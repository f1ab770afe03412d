//! Cores that talk to each other through shared lines: how they do it, and how far apart they are.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::idset::{CpuId, IdSet};
use crate::machine::{CoreKind, Machine};

/// How two threads pass the turn to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PingOp {
    /// Both compare and swap the same word of one line.
    Cas,
    /// Each stores to a line of its own and watches the other's.
    Flag,
    /// The sender stores its clock, the receiver subtracts it from its own: one way only, where both read the same
    /// clock.
    OneWay,
}

impl PingOp {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Cas, Self::Flag, Self::OneWay];
}

impl fmt::Display for PingOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Cas => "cas",
            Self::Flag => "flag",
            Self::OneWay => "one-way",
        })
    }
}

impl FromStr for PingOp {
    type Err = String;

    /// Parses `cas`, `flag` or `one-way`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|op| op.to_string() == text);
        known.ok_or_else(|| format!("operation '{text}': use cas, flag or one-way"))
    }
}

/// In which state lines are when another core fetches them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LineState {
    /// Their owner has only read them.
    Clean,
    /// Their owner has written them.
    Dirty,
}

impl fmt::Display for LineState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(if *self == Self::Clean { "clean" } else { "dirty" })
    }
}

/// The nearest thing that two cpus have in common, as the machine declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// One core: SMT siblings.
    Smt,
    /// One cluster of cores.
    Cluster,
    /// One last-level cache.
    Llc,
    /// One die of several in the socket.
    Die,
    /// Cores of one socket, without anything nearer in common.
    Socket,
    /// The machine.
    Remote,
}

impl Relation {
    /// All of them, the nearest first.
    pub const ALL: [Self; 6] = [Self::Smt, Self::Cluster, Self::Llc, Self::Die, Self::Socket, Self::Remote];
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Smt => "SMT",
            Self::Cluster => "cluster",
            Self::Llc => "LLC",
            Self::Die => "die",
            Self::Socket => "socket",
            Self::Remote => "remote",
        })
    }
}

impl FromStr for Relation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|r| r.to_string() == text).ok_or_else(|| format!("relation '{text}'"))
    }
}

/// The kinds of two cores of a hybrid machine, the larger one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kinds(CoreKind, CoreKind);

/// What they are called in pairs.
const KIND_NAMES: [(CoreKind, &str); 3] =
    [(CoreKind::Performance, "P"), (CoreKind::Efficiency, "E"), (CoreKind::LowPower, "LP")];

impl fmt::Display for Kinds {
    /// `P-E`: a performance core and an efficiency core; `LP` is the smallest of three kinds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |kind| KIND_NAMES.iter().find(|(known, _)| *known == kind).map_or("", |(_, name)| name);
        f.pad(&format!("{}-{}", name(self.0), name(self.1)))
    }
}

impl FromStr for Kinds {
    type Err = String;

    /// Parses `P-E`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let kind = |word: &str| KIND_NAMES.iter().find(|(_, name)| *name == word).map(|(kind, _)| *kind);
        let pair = text.split_once('-').and_then(|(a, b)| Some((kind(a)?, kind(b)?)));
        let (a, b) = pair.ok_or_else(|| format!("kinds '{text}'"))?;
        Ok(Self(a.min(b), a.max(b)))
    }
}

/// Where a cpu sits, and on what kind of core: all that pairs are named by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CpuPosition {
    core: u32,
    cluster: Option<u32>,
    llc: Option<u32>,
    /// `None` where the socket has one die, or the system does not report dies.
    die: Option<u32>,
    socket: u32,
    kind: Option<CoreKind>,
}

impl CpuPosition {
    /// The machine-wide number of its core.
    pub fn core(&self) -> u32 {
        self.core
    }

    /// All but the core: cpus of one site are equally near to any cpu of another core.
    #[must_use]
    pub fn site(&self) -> Self {
        Self { core: 0, ..*self }
    }

    /// The kinds of both cores, on a hybrid machine.
    pub fn kinds(&self, other: &Self) -> Option<Kinds> {
        let (mine, theirs) = (self.kind?, other.kind?);
        Some(Kinds(mine.min(theirs), mine.max(theirs)))
    }

    /// How near another cpu is.
    pub fn relation(&self, other: &Self) -> Relation {
        let both = |mine: Option<u32>, theirs: Option<u32>| mine.is_some() && mine == theirs;
        match other {
            o if o.socket != self.socket => Relation::Remote,
            o if o.core == self.core => Relation::Smt,
            o if both(self.cluster, o.cluster) => Relation::Cluster,
            o if both(self.llc, o.llc) => Relation::Llc,
            o if both(self.die, o.die) => Relation::Die,
            _ => Relation::Socket,
        }
    }
}

impl Machine {
    /// The position of each of the given cpus, in rising order of their ids; cpus that the machine does not have are
    /// omitted.
    pub fn places(&self, cpus: &IdSet) -> Vec<(CpuId, CpuPosition)> {
        let mut dies: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        let mut cores: BTreeMap<(u32, u32), BTreeSet<u32>> = BTreeMap::new();
        for cpu in &self.cpus {
            dies.entry(cpu.socket).or_default().extend(cpu.die);
            cores.entry((cpu.socket, cpu.cluster.unwrap_or(u32::MAX))).or_default().insert(cpu.core);
        }
        // A single die separates no cpus, nor does a cluster that spans the whole socket.
        let several = |socket: u32| dies.get(&socket).is_some_and(|d| d.len() > 1);
        let in_socket = |socket: u32| cores.range((socket, 0)..=(socket, u32::MAX)).count();
        let clusters: BTreeMap<u32, usize> = dies.keys().map(|socket| (*socket, in_socket(*socket))).collect();
        let place = |id: CpuId| {
            let cpu = self.cpu(id)?;
            let clustered = clusters.get(&cpu.socket).is_some_and(|n| *n > 1);
            let place = CpuPosition {
                core: cpu.core,
                cluster: cpu.cluster.filter(|_| clustered),
                llc: cpu.llc,
                die: cpu.die.filter(|_| several(cpu.socket)),
                socket: cpu.socket,
                kind: cpu.kind,
            };
            Some((id, place))
        };
        cpus.iter().filter_map(place).collect()
    }

    /// How near two cpus are to each other; `None` where one of them is not there.
    pub fn relation(&self, a: CpuId, b: CpuId) -> Option<Relation> {
        let places = self.places(&IdSet::from_iter([a, b]));
        let place_of = |id: CpuId| places.iter().find(|(cpu, _)| *cpu == id).map(|(_, place)| place);
        Some(place_of(a)?.relation(place_of(b)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Cpu;

    /// Two sockets of two dies of two last-level caches of two clusters of two cores of two threads.
    fn machine() -> Machine {
        let cpu = |id: u32| Cpu {
            id,
            core: id / 2,
            cluster: Some(id / 4 % 8),
            llc: Some(id / 8),
            die: Some(id / 16 % 2),
            socket: id / 32,
            ..Cpu::default()
        };
        Machine { cpus: (0..64).map(cpu).collect(), ..Machine::default() }
    }

    #[test]
    fn the_nearest_thing_in_common_names_a_pair() {
        let machine = machine();
        let expected = [
            (1, Relation::Smt),
            (3, Relation::Cluster),
            (7, Relation::Llc),
            (15, Relation::Die),
            (31, Relation::Socket),
            (32, Relation::Remote),
        ];
        for (other, relation) in expected {
            assert_eq!(machine.relation(0, other), Some(relation), "cpu {other}");
            assert_eq!(machine.relation(other, 0), Some(relation), "cpu {other}");
        }
        assert_eq!(machine.relation(0, 99), None);
    }

    #[test]
    fn what_is_the_whole_socket_tells_nothing_apart() {
        let mut machine = machine();
        for cpu in &mut machine.cpus {
            (cpu.die, cpu.cluster) = (Some(0), Some(0));
        }
        assert_eq!(machine.relation(0, 3), Some(Relation::Llc));
        assert_eq!(machine.relation(0, 15), Some(Relation::Socket));
        // Without any declaration: cores of one socket.
        for cpu in &mut machine.cpus {
            (cpu.die, cpu.cluster, cpu.llc) = (None, None, None);
        }
        assert_eq!(machine.relation(0, 1), Some(Relation::Smt));
        assert_eq!(machine.relation(0, 3), Some(Relation::Socket));
    }

    #[test]
    fn pairs_of_a_hybrid_are_told_by_their_kinds() {
        let mut machine = machine();
        let kinds = |machine: &Machine, a: usize, b: usize| {
            let places = machine.places(&(0..64).collect());
            places[a].1.kinds(&places[b].1).map(|kinds| kinds.to_string())
        };
        assert_eq!(kinds(&machine, 0, 9), None, "all are alike");
        for cpu in &mut machine.cpus {
            cpu.kind =
                Some([CoreKind::Performance, CoreKind::Efficiency, CoreKind::LowPower][cpu.id.min(20) as usize / 10]);
        }
        let expected =
            [(0, 9, "P-P"), (0, 10, "P-E"), (10, 0, "P-E"), (12, 19, "E-E"), (30, 12, "E-LP"), (20, 5, "P-LP")];
        for (a, b, name) in expected {
            assert_eq!(kinds(&machine, a, b).as_deref(), Some(name), "{a} {b}");
            assert_eq!(name.parse::<Kinds>().unwrap().to_string(), name);
        }
        assert!(["P", "P-X", "-", ""].iter().all(|text| text.parse::<Kinds>().is_err()));
    }

    #[test]
    fn words_read_back() {
        for op in PingOp::ALL {
            assert_eq!(op.to_string().parse(), Ok(op));
            assert_eq!(serde_json::to_value(op).unwrap(), op.to_string());
        }
        assert!("swap".parse::<PingOp>().unwrap_err().contains("one-way"));
        for relation in Relation::ALL {
            assert_eq!(relation.to_string().parse(), Ok(relation));
        }
    }
}
