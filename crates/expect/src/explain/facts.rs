//! The numbers that rules can name, and the scenes that have them.

use std::collections::BTreeMap;

use serde::Deserialize;
use tiermark_model::messages::check as says;
use tiermark_model::messages::explain;
use tiermark_model::{CheckUnit, Confidence, ExplainedNumber, ExplainedUnit, Note};

use crate::Named;

/// Steps that a number names at most.
const MOST_STEPS: usize = 4;

macro_rules! facts {
    ($($fact:ident = $name:literal, $unit:ident, $words:literal;)+) => {
        /// A number of a scene.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Fact {
            $(#[doc = $words] $fact,)+
        }

        impl Fact {
            /// All, with the name in rules, the unit, and what it is.
            const ALL: &[(Self, &str, ExplainedUnit, &str)] = &[$((Self::$fact, $name, ExplainedUnit::$unit, $words)),+];
        }
    };
}

facts! {
    Used = "used", BytesPerSecond, "used";
    UsedShare = "used.share", Share, "used of all bytes on the channels";
    LinesShare = "lines.share", Share, "used of all bytes of the touched lines";
    LinesMoved = "lines.moved", BytesPerSecond, "lines touched";
    Moved = "moved", BytesPerSecond, "on the channels";
    ReadRatio = "read.ratio", Number, "bytes read from memory for each byte used";
    WriteRatio = "write.ratio", Number, "bytes written to memory for each byte used";
    Amplification = "amplification", Number, "bytes on the channels for each byte used";
    WritesPerRead = "writes.per.read", Number, "bytes written to memory for each byte read";
    ChannelShare = "channel.share", Share, "of the channels' peak";
    LinkShare = "link.share", Share, "of the link's peak";
    Peak = "peak", BytesPerSecond, "theoretical peak";
    Latency = "latency", Ns, "idle latency";
    LocalLatency = "local.latency", Ns, "in local memory";
    Times = "times", Number, "times the latency of local memory";
    InFlight = "in.flight", Number, "lines in flight a thread";
    Threads = "threads", Number, "threads";
    Cores = "cores", Number, "cores";
    Gain = "gain", Number, "times the rate";
    Rate = "rate", BytesPerSecond, "rate";
    Median = "median", BytesPerSecond, "median of the others";
    NodesPerSocket = "nodes.per.socket", Number, "nodes a socket";
    Share = "share", Share, "of the time";
    Backed = "backed", Share, "on pages of the requested size";
    Kept = "kept", Share, "of the best rate was there during the run";
    Spread = "spread", Share, "spread of the core clock";
    RecordLoss = "record.loss", Share, "worse than this machine's record";
    Steps = "steps", Number, "steps";
    Change = "change", Share, "change";
    Slower = "slower", Number, "times the median latency or time";
    KneeShare = "knee.share", Share, "of its highest rate from which latency rises steeply";
    HalfLatency = "half.latency", Ns, "latency at about half of the highest rate";
    LightLatency = "light.latency", Ns, "latency at the lightest load";
    ShareOfMemory = "share.of.memory", Share, "of the memory's size is swapped out";
    Marks = "marks", Number, "faults";
    Kills = "kills", Number, "processes killed because memory ran out";
    FaultsPerRequest = "faults.per.request", Number, "major page faults a request";
    SwapPerRequest = "swap.per.request", Number, "bytes swapped a request";
    Resident = "resident", Share, "of the tenants' memory was resident";
    MemoryWait = "memory.wait", Share, "of the time tenants waited for memory";
    DeviceWait = "device.wait", Share, "of the time tenants waited for the tier's device";
    CpuWait = "cpu.wait", Share, "of the time tenants waited for a cpu";
    CpusBusy = "cpus.busy", Share, "of the cpus' time was used";
    TenantsCpu = "tenants.cpu", Share, "of the cpus' time by tenants";
    ClientShare = "client.share", Share, "of the cpus' time by the client";
    OthersCpu = "others.cpu", Share, "of the cpus' time by other programs";
    LinkUsed = "link.used", Share, "of the network link was used";
    LateSends = "late.sends", Share, "of the requests were sent late";
    LateAnswers = "late.answers", Share, "of the answers were read late";
    ClientBusy = "client.busy", Share, "of the time the busiest thread of the client ran";
    Requests = "requests", Number, "answers";
    SlowServer = "server.slow", Number, "times the P99 of the other servers (from send to answer)";
    Lost = "lost", Number, "servers were given up";
    Achieved = "achieved", Share, "of the requests due were answered in time";
    Held = "held", Share, "of the requests were delayed by the server";
    Hits = "hits", Share, "of the GETs found their key";
    Quota = "quota", Number, "cpus allowed by the control group";
    Throttled = "throttled", Number, "times that the kernel stopped the control group for its cpu quota";
    Misses = "misses", Share, "of the GETs found no key";
    Errors = "errors", Share, "of the requests were refused or never answered";
}

/// Whose number it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Whose {
    /// Of the place that a rule is about.
    Own,
    /// Of the place that it is compared with.
    Other,
}

/// A number as a rule names it: `used`, `other.used`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FactName(pub(crate) Whose, pub(crate) Fact);

/// The word of a scene for whether its threads are on every core that they may use.
pub(crate) const CORES: &str = "cores";
pub(crate) const ALL_CORES: &str = "all";
/// The word for what limits a scene, as a probe found it or rules did: a result, and not what was measured.
pub(crate) const LIMIT: &str = "limit";
/// The word of a figure for a problem of the machine that the check-up found when the run began: the name of a check
/// of `tiermark doctor`.
pub(crate) const PROBLEM: &str = "problem";
/// A bandwidth whose limiter no rule named yet, and one whose limiter a rule named.
pub(crate) const OPEN: &str = "open";
pub(crate) const NAMED: &str = "named";
/// Options that state what channels and links carry at most.
pub(crate) const PEAK_OPTION: &str = "--peak";
pub(crate) const LINK_OPTION: &str = "--link-rate";
/// What stands before a number of the other place.
const OTHER: &str = "other.";

impl FactName {
    fn row(self) -> Option<&'static (Fact, &'static str, ExplainedUnit, &'static str)> {
        Fact::ALL.iter().find(|(fact, ..)| *fact == self.1)
    }

    /// As rules write it.
    pub(crate) fn text(self) -> String {
        let name = self.row().map_or("", |(_, name, ..)| name);
        if self.0 == Whose::Other { format!("{OTHER}{name}") } else { name.to_owned() }
    }

    /// Why no scene has it; `command` is the one whose run would have it.
    pub(crate) fn unknown(self, command: Option<&str>) -> Note {
        match (self.1, command) {
            (Fact::ChannelShare | Fact::Peak, Some(command)) if command.contains(PEAK_OPTION) => {
                explain::limit_not_known("memory channels", command)
            }
            (Fact::LinkShare, Some(command)) if command.contains(LINK_OPTION) => {
                explain::limit_not_known("links between sockets", command)
            }
            _ => {
                let what = self.row().map_or("", |(.., words)| words);
                explain::number_not_known(&self.text(), what, command.unwrap_or_default())
            }
        }
    }

    /// The option that states the limit that it is a share of.
    pub(crate) fn stated_by(self) -> Option<&'static str> {
        match self.1 {
            Fact::ChannelShare | Fact::Peak => Some(PEAK_OPTION),
            Fact::LinkShare => Some(LINK_OPTION),
            _ => None,
        }
    }

    /// Whether only counters know it, in scenes of a kind.
    pub(crate) fn is_counted_in(self, kind: SceneKind) -> bool {
        // Of threads with local and remote memory, no rate is that of the link.
        let is_mixed = kind == SceneKind::Mixed && self == Self(Whose::Own, Fact::LinkShare);
        is_mixed
            || matches!(
                self.1,
                Fact::ReadRatio
                    | Fact::WriteRatio
                    | Fact::Amplification
                    | Fact::UsedShare
                    | Fact::WritesPerRead
                    | Fact::Moved
                    | Fact::Median
            )
    }

    fn unit_shown(self) -> ExplainedUnit {
        self.row().map_or(ExplainedUnit::Number, |(_, _, unit, _)| *unit)
    }
}

impl Named for FactName {
    fn read(text: &str, at: usize) -> Result<Self, Note> {
        let (whose, name) = text.strip_prefix(OTHER).map_or((Whose::Own, text), |name| (Whose::Other, name));
        let found = Fact::ALL.iter().find(|(_, known, ..)| *known == name);
        let known = || Fact::ALL.iter().map(|(_, name, ..)| *name).collect::<Vec<_>>();
        found.map(|(fact, ..)| Self(whose, *fact)).ok_or_else(|| says::name_unknown(at, text, &known()))
    }

    fn unit(&self) -> CheckUnit {
        match self.unit_shown() {
            ExplainedUnit::Ns => CheckUnit::Ns,
            ExplainedUnit::BytesPerSecond => CheckUnit::BytesPerSecond,
            ExplainedUnit::TransfersPerSecond => CheckUnit::TransfersPerSecond,
            ExplainedUnit::Share | ExplainedUnit::Number => CheckUnit::Number,
        }
    }
}

/// A number with what it rests on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    pub(crate) value: f64,
    pub(crate) rests_on: Confidence,
    /// Ids of the steps.
    pub(crate) steps: Vec<String>,
}

/// What a rule can be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SceneKind {
    /// A bandwidth of memory.
    Rate,
    /// A bandwidth or an idle latency of memory, with the problems of its machine.
    Figure,
    /// Random accesses beside sequential ones of the same place.
    Random,
    /// Memory of another node beside that of the own.
    Remote,
    /// Memory of two nodes beside that of the own.
    Mixed,
    /// Ordinary stores beside non-temporal ones.
    Stores,
    /// Ordinary stores beside reads.
    StoresAndReads,
    /// Sequential reads beside what wastes next least.
    Least,
    /// All threads beside one.
    Threads,
    /// Base pages beside huge pages.
    Pages,
    /// A ramp of threads, as its probe judged it.
    Ramp,
    /// The slowest memory channel of a socket beside the others.
    Channel,
    /// The least busy link of a socket beside the others.
    Link,
    /// A slow piece of memory.
    Region,
    /// A curve of latency over bandwidth.
    Loaded,
    /// Latency of far memory beside local memory, by the same cpus and footprint.
    Distance,
    /// A state of the machine during the run.
    State,
    /// A setting of the system, with its effect.
    Setting,
    /// The counters themselves.
    Counters,
    /// The end of a search for tenants.
    Tenants,
    /// A load on servers.
    Load,
}

/// The document that has a scene.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// A run of probes.
    Probes,
    /// A run of `capacity`.
    Capacity,
    /// A run of `load`.
    Load,
}

impl SceneKind {
    /// What it is of.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Rate => "a bandwidth of memory",
            Self::Figure => "a bandwidth or a latency of memory",
            Self::Random => "random accesses beside sequential ones",
            Self::Remote => "memory of another node beside local memory",
            Self::Mixed => "memory of two nodes at once beside local memory",
            Self::Stores => "ordinary stores beside non-temporal ones",
            Self::StoresAndReads => "ordinary stores beside reads",
            Self::Least => "sequential reads beside other accesses",
            Self::Threads => "all threads beside one",
            Self::Pages => "memory on base pages beside huge pages",
            Self::Ramp => "a ramp of threads",
            Self::Channel => "a memory channel beside the others of its socket",
            Self::Link => "a link beside the others of its socket",
            Self::Region => "a piece of memory beside the rest",
            Self::Loaded => "latency of memory under load",
            Self::Distance => "latency of far memory beside local memory",
            Self::State => "a state of the machine during the run",
            Self::Setting => "a setting of the system, with its effect",
            Self::Counters => "the counters beside a stream of known bytes",
            Self::Tenants => "the end of a search for tenants",
            Self::Load => "a load on servers",
        }
    }

    /// The document that has it.
    pub(crate) fn source(self) -> Source {
        match self {
            Self::Tenants => Source::Capacity,
            Self::Load => Source::Load,
            _ => Source::Probes,
        }
    }

    /// What a run without it has.
    pub(crate) fn absent(self) -> &'static str {
        match self {
            Self::Rate => "no bandwidth of memory of these accesses",
            Self::Figure => "no bandwidth and no latency of memory",
            Self::Random => "no random beside sequential accesses",
            Self::Remote => "no memory of another node beside local memory",
            Self::Mixed => "no memory of two nodes at once",
            Self::Stores | Self::StoresAndReads => "no stores to memory beside other accesses",
            Self::Least => "no sequential reads beside other accesses",
            Self::Threads => "no bandwidth of memory by all threads and by one",
            Self::Pages => "no memory on base pages beside huge pages",
            Self::Ramp => "no ramp of threads to its end",
            Self::Channel | Self::Link => "no traffic of several channels or links of a socket",
            Self::Region => "no scan of memory",
            Self::Loaded => "no latency of memory under load",
            Self::Distance => "no latency of memory at two distances",
            Self::State => "no such state of the machine",
            Self::Setting => "no such setting",
            Self::Counters => "no comparison of the counters with a known stream",
            Self::Tenants => "no such end of a search",
            Self::Load => "no such load",
        }
    }

    /// Whether only counters know it.
    pub(crate) fn is_counted(self) -> bool {
        matches!(self, Self::Least | Self::Channel | Self::Link | Self::Counters)
    }
}

/// A place with its numbers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scene {
    pub(crate) kind: SceneKind,
    /// Words that rules choose scenes by.
    pub(crate) words: Vec<(&'static str, String)>,
    /// The place in words; `None` for the whole machine.
    pub(crate) place: Option<String>,
    /// What the other place is.
    other: &'static str,
    numbers: BTreeMap<FactName, Found>,
}

impl Scene {
    pub(crate) fn new(kind: SceneKind, place: Option<String>) -> Self {
        Self { kind, words: Vec::new(), place, other: "", numbers: BTreeMap::new() }
    }

    /// The same numbers for another kind of rule.
    pub(crate) fn again_as(&self, kind: SceneKind) -> Self {
        Self { kind, ..self.clone() }
    }

    /// Adds a word.
    #[must_use]
    pub(crate) fn word(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.words.push((key, value.into()));
        self
    }

    /// Sets a word.
    pub(crate) fn set_word(&mut self, key: &'static str, value: &str) {
        self.words.retain(|(own, _)| *own != key);
        self.words.push((key, value.to_owned()));
    }

    /// Adds the numbers of another place.
    #[must_use]
    pub(crate) fn beside(mut self, other: &'static str, of: &Self) -> Self {
        self.other = other;
        let own = of.numbers.iter().filter(|(name, _)| name.0 == Whose::Own);
        self.numbers.extend(own.map(|(name, found)| (FactName(Whose::Other, name.1), found.clone())));
        self
    }

    /// Adds a number, unless it is not finite, or a share of a theoretical rate that shows that this rate is wrong.
    pub(crate) fn set(&mut self, name: FactName, found: Found) {
        use tiermark_model::MOST_THEORETICAL_SHARE as MOST_SHARE;
        let is_of_theory = matches!(name.1, Fact::ChannelShare | Fact::LinkShare);
        if found.value.is_finite() && !(is_of_theory && found.value > MOST_SHARE) {
            self.numbers.insert(name, found);
        }
    }

    /// The same with a number of its own.
    #[must_use]
    pub(crate) fn with(mut self, fact: Fact, value: f64, rests_on: Confidence, steps: &[&str]) -> Self {
        let steps = steps.iter().map(|step| (*step).to_owned()).collect();
        self.set(FactName(Whose::Own, fact), Found { value, rests_on, steps });
        self
    }

    /// The steps whose rates are its own, or those of the place beside it.
    pub(crate) fn steps_of(&self, whose: Whose) -> impl Iterator<Item = &str> {
        self.get(FactName(whose, Fact::Used)).into_iter().flat_map(|found| &found.steps).map(String::as_str)
    }

    pub(crate) fn get(&self, name: FactName) -> Option<&Found> {
        self.numbers.get(&name)
    }

    /// Whether its word under a key is one of these.
    pub(crate) fn is_one_of(&self, key: &str, words: &[String]) -> bool {
        self.words.iter().any(|(own, word)| *own == key && words.contains(word))
    }

    /// Its word under a key.
    pub(crate) fn word_of(&self, key: &str) -> Option<&str> {
        self.words.iter().find(|(own, _)| *own == key).map(|(_, word)| word.as_str())
    }

    /// Numbers for a document: those of these names that it has.
    pub(crate) fn numbers(&self, names: &[FactName]) -> Vec<ExplainedNumber> {
        let number = |name: &FactName| {
            let found = self.get(*name)?;
            let words = name.row().map_or("", |(.., words)| words);
            let what =
                if name.0 == Whose::Other { format!("{words} (compared: {})", self.other) } else { words.to_owned() };
            Some(ExplainedNumber {
                name: name.text(),
                what,
                value: found.value,
                unit: name.unit_shown(),
                steps: found.steps.iter().take(MOST_STEPS).cloned().collect(),
            })
        };
        names.iter().filter_map(number).collect()
    }
}
