//! The names that expectations can use.

use tiermark_model::messages::check as says;
use tiermark_model::{CheckUnit, Note};

use crate::named::Named;
use crate::system_name::{SYSTEM, SystemName};

/// A figure or a fact of a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name {
    /// A figure of a tier.
    Tier(TierName),
    /// The same of L1 or L2, in cycles of the core.
    PerCycle(TierName),
    /// A figure of a curve of latency over load.
    Loaded(LoadedPoint, Distance),
    /// A fact of the system, or a number of the run as a whole.
    System(SystemName),
    /// A text between quotes.
    Text(String),
}

/// A figure of a tier.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TierName {
    /// `latency`, or the operation of a bandwidth.
    pub(crate) op: String,
    /// `l1`, `dram`.
    pub(crate) tier: String,
    pub(crate) distance: Distance,
    /// Cores of a bandwidth.
    pub(crate) span: Option<Span>,
}

/// Where memory lies, seen from the cpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Distance {
    Local,
    /// On a node with other cpus.
    Remote,
    /// On a node without cpus.
    Far,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Span {
    One,
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LoadedPoint {
    Unloaded,
    Saturated,
    Knee,
    Most,
}

/// Operations of bandwidths that have a name.
pub(crate) const OPERATIONS: [&str; 9] =
    ["read", "write", "write.nt", "copy", "copy.nt", "scale", "add", "triad", "update"];
/// The operation of a latency.
pub(crate) const LATENCY: &str = "latency";
/// The tier of memory.
pub(crate) const DRAM: &str = "dram";
/// Every tier.
pub(crate) const TIERS: [&str; 5] = ["l1", "l2", "l3", "l4", DRAM];

/// Tiers that the core clocks: their figures have a name per cycle.
pub(crate) const CLOCKED: [&str; 2] = ["l1", "l2"];
/// What follows the name of a latency in cycles of an access, and that of a bandwidth in bytes a cycle of each core.
const PER_CYCLE: [&str; 2] = [".cycles", ".bytes_per_cycle"];

const LOADED: [(&str, LoadedPoint); 4] = [
    ("loaded.unloaded", LoadedPoint::Unloaded),
    ("loaded.saturated", LoadedPoint::Saturated),
    ("loaded.knee", LoadedPoint::Knee),
    ("loaded.most", LoadedPoint::Most),
];

impl Named for Name {
    fn read(text: &str, at: usize) -> Result<Self, Note> {
        Self::parse(text, at)
    }

    fn unit(&self) -> CheckUnit {
        self.unit()
    }

    fn is_literal(&self) -> bool {
        matches!(self, Self::Text(_))
    }
}

impl Name {
    /// The name in a text.
    ///
    /// # Errors
    /// What is wrong with it, with the nearest name.
    pub(crate) fn parse(text: &str, at: usize) -> Result<Self, Note> {
        if let Some(quoted) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            return Ok(Self::Text(quoted.to_owned()));
        }
        let word = text.to_ascii_lowercase();
        if let Some((_, name)) = SYSTEM.iter().find(|(name, _)| *name == word) {
            return Ok(Self::System(*name));
        }
        let (base, distance) = with_distance(&word);
        if let Some((_, point)) = LOADED.iter().find(|(name, _)| *name == base) {
            return Ok(Self::Loaded(*point, distance));
        }
        if let Some(name) = per_cycle(&word, at)? {
            return Ok(name);
        }
        tier(&word, at).transpose().unwrap_or_else(|| Err(unknown(text, at)))
    }

    /// Its unit.
    pub(crate) fn unit(&self) -> CheckUnit {
        match self {
            Self::Tier(name) if name.op == LATENCY => CheckUnit::Ns,
            Self::Loaded(LoadedPoint::Unloaded | LoadedPoint::Saturated, _) => CheckUnit::Ns,
            Self::Tier(_) | Self::Loaded(..) => CheckUnit::BytesPerSecond,
            Self::System(name) => name.unit(),
            Self::PerCycle(_) => CheckUnit::Number,
            Self::Text(_) => CheckUnit::Text,
        }
    }

    /// Whether a run measures it: what the machine can do, and not what it consists of or how it is set.
    pub(crate) fn is_measured(&self) -> bool {
        match self {
            Self::Tier(_) | Self::PerCycle(_) | Self::Loaded(..) => true,
            Self::System(name) => name.is_measured(),
            Self::Text(_) => false,
        }
    }

    /// As it is written.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Tier(name) => name.text(),
            Self::PerCycle(name) => format!("{}{}", name.text(), PER_CYCLE[usize::from(name.op != LATENCY)]),
            Self::Loaded(point, distance) => {
                let name = LOADED.iter().find(|(_, other)| other == point).map_or("", |(name, _)| name);
                format!("{name}{}", distance.suffix())
            }
            Self::System(name) => name.text().to_owned(),
            Self::Text(text) => format!("\"{text}\""),
        }
    }
}

impl TierName {
    fn text(&self) -> String {
        let span = self.span.map_or("", |span| if span == Span::One { ".one" } else { ".all" });
        format!("{}.{}{}{span}", self.op, self.tier, self.distance.suffix())
    }
}

impl Distance {
    fn suffix(self) -> &'static str {
        match self {
            Self::Local => "",
            Self::Remote => ".remote",
            Self::Far => ".far",
        }
    }
}

/// A name without its last word, where that is a distance.
fn with_distance(word: &str) -> (&str, Distance) {
    let all = [(".local", Distance::Local), (".remote", Distance::Remote), (".far", Distance::Far)];
    let found = all.into_iter().find_map(|(suffix, distance)| Some((word.strip_suffix(suffix)?, distance)));
    found.unwrap_or((word, Distance::Local))
}

/// What is wrong with a text that is no name.
fn unknown(text: &str, at: usize) -> Note {
    let known = all();
    says::name_unknown(at, text, &known.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The figure per cycle that a text names; `None` if the text is no such name.
fn per_cycle(word: &str, at: usize) -> Result<Option<Name>, Note> {
    for suffix in PER_CYCLE {
        let base = word.strip_suffix(suffix).map(|base| tier(base, at)).transpose()?.flatten();
        let Some(Name::Tier(name)) = base else { continue };
        let is_own = suffix == PER_CYCLE[usize::from(name.op != LATENCY)];
        if is_own && CLOCKED.contains(&name.tier.as_str()) {
            return Ok(Some(Name::PerCycle(name)));
        }
    }
    Ok(None)
}

/// The figure of a tier that a text names; `None` if the text is no such name.
fn tier(word: &str, at: usize) -> Result<Option<Name>, Note> {
    let (base, span) = match word.rsplit_once('.') {
        Some((base, "one")) => (base, Some(Span::One)),
        Some((base, "all")) => (base, Some(Span::All)),
        _ => (word, None),
    };
    let (base, distance) = with_distance(base);
    let Some((op, tier)) = base.rsplit_once('.') else { return Ok(None) };
    let is_latency = op == LATENCY;
    let is_known = TIERS.contains(&tier) && (is_latency || OPERATIONS.contains(&op));
    if !is_known || (distance != Distance::Local && tier != DRAM) || (is_latency && span.is_some()) {
        return Ok(None);
    }
    if !is_latency && span.is_none() {
        return Err(says::span_missing(at, word));
    }
    Ok(Some(Name::Tier(TierName { op: op.to_owned(), tier: tier.to_owned(), distance, span })))
}

/// Every name.
pub(crate) fn all() -> Vec<String> {
    let mut names: Vec<String> = SYSTEM.iter().map(|(name, _)| (*name).to_owned()).collect();
    let distances = [Distance::Local, Distance::Remote, Distance::Far];
    for tier in TIERS {
        for distance in distances.into_iter().filter(|distance| *distance == Distance::Local || tier == DRAM) {
            let place = distance.suffix();
            names.push(format!("{LATENCY}.{tier}{place}"));
            for op in OPERATIONS {
                names.extend(["one", "all"].map(|span| format!("{op}.{tier}{place}.{span}")));
            }
        }
    }
    for tier in CLOCKED {
        let [of_latency, of_rate] = PER_CYCLE;
        names.push(format!("{LATENCY}.{tier}{of_latency}"));
        for op in OPERATIONS {
            names.extend(["one", "all"].map(|span| format!("{op}.{tier}.{span}{of_rate}")));
        }
    }
    for (name, _) in LOADED {
        names.extend(distances.map(|distance| format!("{name}{}", distance.suffix())));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_and_written_alike() {
        for text in all() {
            let name = Name::parse(&text, 1).unwrap_or_else(|note| panic!("{text}: {note}"));
            let shown = if text == "rated" { "dimms.rated" } else { &text };
            assert_eq!(name.text(), shown);
        }
        assert_eq!(Name::parse("Latency.DRAM.local", 1), Name::parse("latency.dram", 1));
        assert_eq!(Name::parse("\"Kernel\"", 1), Ok(Name::Text("Kernel".to_owned())), "a text keeps its case");
    }

    #[test]
    fn mistakes_have_a_suggestion() {
        let said = |text: &str| Name::parse(text, 1).unwrap_err().to_string();
        assert!(said("read.drm.all").contains("did you mean 'read.dram.all'?"));
        assert!(said("edac.corected").contains("did you mean 'edac.corrected'?"));
        assert!(said("read.dram").contains("read.dram.one (one core) or read.dram.all"));
        assert!(said("dram.latncy").contains("unknown name"));
        assert!(said("latency.l2.cycle").contains("did you mean 'latency.l2.cycles'?"));
        assert!(said("read.l2.bytes_per_cycle").contains("read.l2.one (one core)"));
        for wrong in ["latency.l3.cycles", "latency.l1.bytes_per_cycle", "read.l1.one.cycles"] {
            assert_eq!(Name::parse(wrong, 4).unwrap_err().code, says::codes::name_unknown, "{wrong}");
        }
        for wrong in ["latency.dram.all", "latency.l3.remote", "read.l9.one", "dram", "peaks.of.everest", "a", "."] {
            assert_eq!(Name::parse(wrong, 4).unwrap_err().code, says::codes::name_unknown, "{wrong}");
        }
    }
}
