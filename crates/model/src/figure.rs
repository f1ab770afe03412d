//! Names of figures, the same in expectations, comparisons and exports. A name determines the unit of
//! its figure, and whether less or more is better.

use std::fmt;
use std::str::FromStr;

use crate::check::MemoryFigure;
use crate::idset::IdSet;
use crate::labels::Labels;
use crate::machine::Machine;
use crate::messages::check as says;
use crate::observation::Finding;
use crate::plan::Scope;
use crate::purpose::Purpose;
use crate::quantity::Quantity;
use crate::refusal::Note;
use crate::span::Span;
use crate::tier::Tier;
use crate::units::Unit;

/// The name of a figure, `latency.dram` or `read.l2.one`. Its text is written by [`fmt::Display`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FigureName {
    /// A figure of a tier.
    Tier(TierName),
    /// A figure of L1 or L2 in cycles per access, or in bytes per cycle of each core.
    PerCycle(TierName),
    /// A figure of a curve of latency over load.
    Loaded(LoadedPoint, Distance),
}

/// A figure of a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TierName {
    /// [`LATENCY`], or one of [`OPERATIONS`].
    pub op: &'static str,
    /// One of [`TIERS`].
    pub tier: &'static str,
    /// Where the memory is.
    pub distance: Distance,
    /// Cores of a bandwidth; `None` for a latency.
    pub span: Option<Span>,
}

/// Where memory lies, seen from the cpus. Names of figures have the first three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Distance {
    /// On their node.
    #[default]
    Local,
    /// On a node with other cpus.
    Remote,
    /// On a node without cpus: CXL, HBM, persistent memory.
    Far,
    /// Of the threads of all nodes, each on its own node's.
    System,
    /// Local for some threads, not for the others.
    Mixed,
}

/// A point of a curve of latency over load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoadedPoint {
    /// Its latency without load.
    Unloaded,
    /// Its latency at the highest load.
    Saturated,
    /// The rate from which latency rises steeply.
    Knee,
    /// Its highest rate.
    Most,
}

/// Operations of bandwidths that have a name.
pub const OPERATIONS: [&str; 9] = ["read", "write", "write.nt", "copy", "copy.nt", "scale", "add", "triad", "update"];
/// The operation of a latency.
pub const LATENCY: &str = "latency";
/// The tier of memory.
pub const DRAM: &str = "dram";
/// Memory accessed at random, with page walks: only its latency has a name.
const RANDOM: &str = "dram.random";
/// Every tier.
pub const TIERS: [&str; 6] = ["l1", "l2", "l3", "l4", DRAM, RANDOM];
/// Tiers that the core clocks: their figures have a name per cycle.
pub const CLOCKED: [&str; 2] = ["l1", "l2"];

/// The suffixes of names per cycle: for a latency (cycles per access), for a bandwidth (bytes per cycle of each core).
const PER_CYCLE: [&str; 2] = [".cycles", ".bytes_per_cycle"];
const LOADED: [(&str, LoadedPoint); 4] = [
    ("loaded.unloaded", LoadedPoint::Unloaded),
    ("loaded.saturated", LoadedPoint::Saturated),
    ("loaded.knee", LoadedPoint::Knee),
    ("loaded.most", LoadedPoint::Most),
];
const DISTANCES: [Distance; 3] = [Distance::Local, Distance::Remote, Distance::Far];

impl FigureName {
    /// The figure that a word names; `None` if no figure has this name. `at`: the character of the text at which the
    /// word begins, for the error.
    ///
    /// # Errors
    /// The name is that of a bandwidth, but without `.one` or `.all`.
    pub fn parse(word: &str, at: usize) -> Result<Option<Self>, Note> {
        let (base, distance) = with_distance(word);
        if let Some((_, point)) = LOADED.iter().find(|(name, _)| *name == base) {
            return Ok(Some(Self::Loaded(*point, distance)));
        }
        for suffix in PER_CYCLE {
            let Some(base) = word.strip_suffix(suffix) else { continue };
            if let Some(name) = TierName::parse(base, at)?
                && CLOCKED.contains(&name.tier)
                && name.per_cycle() == suffix
            {
                return Ok(Some(Self::PerCycle(name)));
            }
        }
        Ok(TierName::parse(word, at)?.map(Self::Tier))
    }

    /// Every name.
    pub fn all() -> Vec<Self> {
        let mut names = Vec::new();
        for tier in TIERS {
            for distance in DISTANCES {
                if distance == Distance::Local || tier == DRAM {
                    names.extend(TierName::all(tier, distance).map(Self::Tier));
                }
            }
        }
        names.extend(CLOCKED.into_iter().flat_map(|tier| TierName::all(tier, Distance::Local)).map(Self::PerCycle));
        for (_, point) in LOADED {
            names.extend(DISTANCES.map(|distance| Self::Loaded(point, distance)));
        }
        names
    }

    /// The name of a finding of an experiment with this scope; `None` if it has none.
    pub fn of(finding: &Finding, scope: &Scope, machine: &Machine) -> Option<Self> {
        let labels = &finding.labels;
        let loaded = match finding.quantity {
            Quantity::LoadedUnloaded => LoadedPoint::Unloaded,
            Quantity::LoadedSaturated => LoadedPoint::Saturated,
            Quantity::LoadedKnee => LoadedPoint::Knee,
            Quantity::LoadedMost => LoadedPoint::Most,
            Quantity::Latency | Quantity::Bandwidth => {
                return TierName::of(finding, scope, machine).map(Self::Tier);
            }
            _ => return None,
        };
        let distance = labels.place().filter(|_| labels.mix() == Some("read"))?;
        DISTANCES.contains(&distance).then_some(Self::Loaded(loaded, distance))
    }

    /// Its unit.
    pub fn unit(self) -> Unit {
        match self {
            Self::Tier(name) if name.op == LATENCY => Unit::Ns,
            Self::Loaded(LoadedPoint::Unloaded | LoadedPoint::Saturated, _) => Unit::Ns,
            Self::Tier(_) | Self::Loaded(..) => Unit::BytesPerSecond,
            Self::PerCycle(name) if name.op == LATENCY => Unit::Cycles,
            Self::PerCycle(_) => Unit::BytesPerCycle,
        }
    }

    /// Its name as a figure of a tier, without the suffix per cycle; `None` for a figure of a curve.
    pub fn tier(self) -> Option<TierName> {
        match self {
            Self::Tier(name) | Self::PerCycle(name) => Some(name),
            Self::Loaded(..) => None,
        }
    }

    /// What it says of memory; `None` of a cache.
    #[must_use]
    pub fn memory(self) -> Option<MemoryFigure> {
        match self {
            Self::Tier(name) | Self::PerCycle(name) if !name.is_memory() => None,
            Self::Tier(name) | Self::PerCycle(name) if name.op != LATENCY => Some(MemoryFigure::Bandwidth),
            _ => Some(MemoryFigure::Latency),
        }
    }

    /// Where its memory lies.
    pub fn distance(self) -> Distance {
        match self {
            Self::Tier(name) | Self::PerCycle(name) => name.distance,
            Self::Loaded(_, distance) => distance,
        }
    }
}

impl TierName {
    /// Every name of a tier.
    fn all(tier: &'static str, distance: Distance) -> impl Iterator<Item = Self> {
        let tier_name = move |op, span| Self { op, tier, distance, span };
        let rates = OPERATIONS.into_iter().filter(move |_| tier != RANDOM);
        let rates = rates.flat_map(move |op| [Span::One, Span::All].map(|span| tier_name(op, Some(span))));
        [tier_name(LATENCY, None)].into_iter().chain(rates)
    }

    /// The figure that a word names; `None` if it is no such name.
    fn parse(word: &str, at: usize) -> Result<Option<Self>, Note> {
        let (base, span) = match word.rsplit_once('.') {
            Some((base, "one")) => (base, Some(Span::One)),
            Some((base, "all")) => (base, Some(Span::All)),
            _ => (word, None),
        };
        let (base, distance) = with_distance(base);
        let of_tier = |tier| Some((operation(base.strip_suffix(tier)?.strip_suffix('.')?)?, tier));
        let Some((op, tier)) = TIERS.into_iter().find_map(of_tier) else { return Ok(None) };
        let is_latency = op == LATENCY;
        let has_no_such = if is_latency { span.is_some() } else { tier == RANDOM };
        if has_no_such || (distance != Distance::Local && tier != DRAM) {
            return Ok(None);
        }
        if !is_latency && span.is_none() {
            return Err(says::span_missing(at, word));
        }
        Ok(Some(Self { op, tier, distance, span }))
    }

    /// The name of a latency or a bandwidth.
    fn of(finding: &Finding, scope: &Scope, machine: &Machine) -> Option<Self> {
        let labels = &finding.labels;
        let is_plain = labels.is_of_plain_accesses()
            && labels.policy().is_none()
            && labels.buffer().is_none()
            && labels.has_usual_layout()
            && labels.chains().is_none_or(|chains| chains == 1);
        let (tier, distance) = tier(labels, scope, machine).filter(|_| is_plain)?;
        if finding.quantity == Quantity::Latency {
            return Some(Self { op: LATENCY, tier, distance, span: None });
        }
        let op = labels.op().and_then(operation).filter(|op| *op != LATENCY && tier != RANDOM)?;
        let span = match labels.span()? {
            Span::One => Span::One,
            Span::All | Span::Cores => Span::All,
            _ => return None,
        };
        Some(Self { op, tier, distance, span: Some(span) })
    }

    /// Whether it is of memory, and of no cache.
    pub fn is_memory(self) -> bool {
        [DRAM, RANDOM].contains(&self.tier)
    }

    /// What follows its name where it is per cycle.
    fn per_cycle(self) -> &'static str {
        PER_CYCLE[usize::from(self.op != LATENCY)]
    }
}

impl fmt::Display for FigureName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tier(name) => write!(f, "{name}"),
            Self::PerCycle(name) => write!(f, "{name}{}", name.per_cycle()),
            Self::Loaded(point, distance) => {
                let name = LOADED.iter().find(|(_, other)| other == point).map_or("", |(name, _)| name);
                write!(f, "{name}{}", distance.suffix())
            }
        }
    }
}

impl fmt::Display for TierName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let span = self.span.map_or("", |span| if span == Span::One { ".one" } else { ".all" });
        write!(f, "{}.{}{}{span}", self.op, self.tier, self.distance.suffix())
    }
}

impl Distance {
    /// Its word in labels and names.
    pub fn word(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Remote => "remote",
            Self::Far => "far",
            Self::System => "system",
            Self::Mixed => "mixed",
        }
    }

    /// What follows a name: nothing for local memory.
    pub fn suffix(self) -> String {
        if self == Self::Local { String::new() } else { format!(".{self}") }
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Distance {
    type Err = ();

    /// # Errors
    /// The word names no distance.
    fn from_str(word: &str) -> Result<Self, ()> {
        let all = DISTANCES.into_iter().chain([Self::System, Self::Mixed]);
        all.into_iter().find(|distance| distance.word() == word).ok_or(())
    }
}

/// The name of an operation, as this module has it.
fn operation(name: &str) -> Option<&'static str> {
    OPERATIONS.into_iter().chain([LATENCY]).find(|known| *known == name)
}

/// A name without its last word, where that is a distance.
fn with_distance(word: &str) -> (&str, Distance) {
    let found = word.rsplit_once('.').and_then(|(base, last)| {
        DISTANCES.into_iter().find(|distance| distance.word() == last).map(|distance| (base, distance))
    });
    found.unwrap_or((word, Distance::Local))
}

/// The distance from the cpus to the memory node that the labels, or the scope of the experiment, name. `None` if
/// neither names a node, or the machine does not have it.
pub fn distance(labels: &Labels, scope: &Scope, machine: &Machine) -> Option<Distance> {
    let node = machine.node(labels.node().or(scope.mem_node)?)?;
    let own = labels.cpus().and_then(|cpus| IdSet::from_plain_list(cpus).ok());
    let is_own = own.as_ref().or(scope.cpus.as_ref()).is_some_and(|cpus| !cpus.intersection(&node.cpus).is_empty());
    Some(match is_own {
        _ if node.is_memory_only() => Distance::Far,
        true => Distance::Local,
        false => Distance::Remote,
    })
}

/// The tier of a figure of a ladder, or of a cell of a matrix.
fn tier(labels: &Labels, scope: &Scope, machine: &Machine) -> Option<(&'static str, Distance)> {
    if labels.is_for(Purpose::Matrix) {
        return distance(labels, scope, machine).map(|distance| (DRAM, distance));
    }
    let tier = labels.tier().filter(|_| labels.is_for(Purpose::Ladder))?;
    Some(match tier {
        Tier::OtherNode(_) => (DRAM, Distance::Remote),
        _ if tier.is_without_cpus() => (DRAM, Distance::Far),
        _ => (tier_word(tier)?, Distance::Local),
    })
}

/// The word of a tier in names; `None` of memory of other nodes, whose names have its distance, and of what has no name:
/// caches in front of memory, page walks, cold lines.
pub fn tier_word(tier: Tier) -> Option<&'static str> {
    match tier {
        Tier::Cache(level) => TIERS[..4].get(usize::from(level).checked_sub(1)?).copied(),
        Tier::Dram => Some(DRAM),
        Tier::DramRandom => Some(RANDOM),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_as_it_is_written() {
        let all = FigureName::all();
        for name in &all {
            assert_eq!(FigureName::parse(&name.to_string(), 1), Ok(Some(*name)), "{name}");
            assert!(name.unit().less_is_better().is_some(), "{name}");
        }
        assert_eq!(FigureName::parse("latency.dram.local", 1), FigureName::parse("latency.dram", 1));
        let per_cycle = ["latency.l3.cycles", "latency.l1.bytes_per_cycle", "read.l1.one.cycles"];
        for wrong in per_cycle.into_iter().chain(["read.l3.remote.one", "read.dram.random.one", "dram.random"]) {
            assert_eq!(FigureName::parse(wrong, 1), Ok(None), "{wrong}");
        }
        assert_eq!(FigureName::parse("read.l2.bytes_per_cycle", 4).unwrap_err().code, says::codes::span_missing);
    }

    #[test]
    fn times_are_better_where_they_are_less() {
        let of = |text: &str| FigureName::parse(text, 1).unwrap().unwrap();
        for (text, unit, less) in [
            ("latency.dram.far", Unit::Ns, true),
            ("latency.l1.cycles", Unit::Cycles, true),
            ("read.l2.all.bytes_per_cycle", Unit::BytesPerCycle, false),
            ("loaded.knee.remote", Unit::BytesPerSecond, false),
            ("loaded.saturated", Unit::Ns, true),
        ] {
            assert_eq!((of(text).unit(), of(text).unit().less_is_better()), (unit, Some(less)), "{text}");
        }
    }
}
