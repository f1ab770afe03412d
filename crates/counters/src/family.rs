//! The events of processor families, as data: one file a family in `data/events`.
//!
//! # To add a family
//!
//! * `data/events/NAME.toml` (`intel-spr.toml` is an example, docs/COUNTERS.md has the keys), and its row in `FILES`.
//!   A family without `[[cpu]]` is found by the names of its event sources, so no other family may have these names: of
//!   several families that fit, the first in `FILES` is taken.
//! * `sources/perf.rs`, `MEMORY_PMUS`: how the names of its event sources of memory begin. A processor without a family
//!   that has such an event source is then reported as one whose events are not known.
//! * `tests/fixtures/synthetic/gen.py`: a function that makes `sysfs-NAME.tar.gz`, and its call at the end;
//!   `tests/pure/trees.rs`: a test that opens this tree and compares the exact events.
//! * docs/COUNTERS.md, "Platforms".

use std::collections::BTreeMap;

use serde::Deserialize;
use tiermark_history::config::{Mistake, Problem};
use tiermark_model::messages::counters as says;
use tiermark_model::{BoxKind, CpuModel};

/// A family of processors, and the events that count its traffic.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// What people call it.
    pub name: String,
    /// Where the events are from.
    pub source: String,
    /// Its processors; empty if the names of its event sources belong to no other family.
    #[serde(default)]
    pub cpu: Vec<Cpus>,
    /// Its boxes with counters.
    pub unit: Vec<Unit>,
}

/// Processors by CPUID.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpus {
    /// The kernel's name of the vendor.
    pub vendor: String,
    /// CPUID family.
    pub family: u32,
    /// CPUID models, first and last of each range.
    pub models: Vec<(u32, u32)>,
}

/// One kind of box.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unit {
    /// Name of its event sources; `*` is a hexadecimal number.
    pub pmu: String,
    /// Their name under kernels that are older than the processor.
    pub older: Option<String>,
    /// What the box is.
    pub is: BoxKind,
    /// Whether it is a fallback: it counts the same traffic as other units of the family, and is opened only if they
    /// cannot be.
    #[serde(default)]
    pub fallback: bool,
    /// Channels or links that one event source counts, each with its own events.
    #[serde(default = "one")]
    pub copies: u64,
    /// What the number of the event grows by from one of them to the next.
    #[serde(default)]
    pub step: u64,
    /// Formats that its event sources have, where others of the same name take other events.
    #[serde(default)]
    pub format: BTreeMap<String, String>,
    /// Whether a box belongs to the node of the cpu that it is opened on, where a socket has several nodes.
    #[serde(default)]
    pub own_node: bool,
    /// Bits of its counters.
    #[serde(default = "bits")]
    pub bits: u32,
    /// What is counted.
    pub count: Vec<Count>,
}

/// Copies of a unit, where the file does not say.
fn one() -> u64 {
    1
}

/// Bits of a count, where the file does not say: the kernel extends the counters of the hardware to 64.
fn bits() -> u32 {
    64
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Of {
    /// Bytes read from memory.
    Read,
    /// Bytes written to memory.
    Write,
    /// Bytes read and written: the box does not separate them.
    Both,
    /// Those of `Both` that belong to the memory of the same node.
    Local,
    /// Ticks of the memory's clock, of which each carries two transfers; ticks of a link's clock, which each carry
    /// `bytes` transfers.
    Clock,
    /// Payload bytes that the socket sent.
    Sent,
    /// Payload bytes that the socket received.
    Received,
    /// Bytes that the socket sent with the protocol's overhead. No event source has them alone.
    #[serde(skip)]
    SentAll,
    /// Seconds that these take at the peak of the link, by a share that a program states.
    #[serde(skip)]
    SentAllSeconds,
    /// The same of `Received`.
    #[serde(skip)]
    ReceivedSeconds,
}

impl Of {
    /// Whether it is a time, by a share that a program states: such a count may be missing while others are there.
    pub(crate) fn is_stated(self) -> bool {
        matches!(self, Self::SentAllSeconds | Self::ReceivedSeconds)
    }
}

/// One event.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// What it counts. Several events that count the same are added.
    pub of: Of,
    /// The terms, by name.
    pub event: BTreeMap<String, u64>,
    /// Bytes of `per` counts; of clocks: transfers.
    pub bytes: f64,
    /// See `bytes`.
    #[serde(default = "one")]
    pub per: u64,
    /// The kernel's name of the same event, which is compared where the kernel has one.
    pub alias: Option<String>,
    /// A name under which some kernels count only a part: it is reported if the kernel has it without `alias`.
    pub partial_alias: Option<String>,
}

impl Count {
    /// Bytes of one count.
    pub fn each(&self) -> f64 {
        self.bytes / self.per as f64
    }
}

impl Family {
    /// Reads a file.
    ///
    /// # Errors
    /// Every mistake in the file.
    pub fn read(text: &str) -> Result<Self, Vec<Mistake>> {
        tiermark_history::config::read(text, FILES[0].1, problems)
    }

    /// Whether a processor belongs to it. Families without processors hold none: the names of event sources decide.
    fn holds(&self, cpu: &CpuModel) -> bool {
        self.cpu.iter().any(|cpus| {
            cpu.vendor.as_deref() == Some(cpus.vendor.as_str())
                && cpu.family == Some(cpus.family)
                && cpu.model.is_some_and(|model| cpus.models.iter().any(|(low, high)| (*low..=*high).contains(&model)))
        })
    }
}

impl Unit {
    /// Whether an event source of this name, or of this other name, is such a box.
    pub fn is_named(&self, name: &str, alias: Option<&str>) -> bool {
        let patterns = [Some(self.pmu.as_str()), self.older.as_deref()];
        let names = [Some(name), alias];
        let fits = |pattern: &str| names.iter().flatten().any(|name| matches(pattern, name));
        patterns.into_iter().flatten().any(fits)
    }
}

/// Whether a name fits a pattern, in which each `*` is a hexadecimal number.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return pattern == name };
    let Some(rest) = name.strip_prefix(before) else { return false };
    let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
    digits > 0 && matches(after, &rest[digits..])
}

/// Values that cannot be.
fn problems(family: &Family) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut fault = |key: &str, why: &str| found.push(Problem::new(key, says::event_file_value(why)));
    if family.unit.is_empty() {
        fault("unit", "a family has at least one unit");
    }
    for unit in &family.unit {
        if unit.copies == 0 || unit.copies > MOST_COPIES {
            fault("unit.copies", "write a number from 1 to 64");
        }
        if unit.copies > 1 && unit.step == 0 {
            fault("unit.step", "copies need a step between their events");
        }
        if unit.pmu.matches('*').count() > MOST_STARS {
            fault("unit.pmu", "write at most 4 asterisks");
        }
        if !(1..=u64::BITS).contains(&unit.bits) {
            fault("unit.bits", "write a number from 1 to 64");
        }
        for count in &unit.count {
            if !(count.bytes.is_finite() && count.bytes > 0.0) || count.per == 0 {
                fault("unit.count.bytes", "write a number above 0");
            }
        }
    }
    found
}

/// Numbers in the name of an event source.
const MOST_STARS: usize = 4;
/// Channels or links of one event source: the largest processors have 12 channels.
const MOST_COPIES: u64 = 64;

/// The files, by name. The first is also the model that mistakes in a file of the user are compared with.
const FILES: &[(&str, &str)] = &[
    ("intel-skx", include_str!("../data/events/intel-skx.toml")),
    ("intel-snbep", include_str!("../data/events/intel-snbep.toml")),
    ("intel-hsx", include_str!("../data/events/intel-hsx.toml")),
    ("intel-icx", include_str!("../data/events/intel-icx.toml")),
    ("intel-spr", include_str!("../data/events/intel-spr.toml")),
    ("intel-gnr", include_str!("../data/events/intel-gnr.toml")),
    ("intel-client", include_str!("../data/events/intel-client.toml")),
    ("intel-client-tgl", include_str!("../data/events/intel-client-tgl.toml")),
    ("amd-zen1-3", include_str!("../data/events/amd-zen1-3.toml")),
    ("amd-zen4", include_str!("../data/events/amd-zen4.toml")),
    ("amd-zen5", include_str!("../data/events/amd-zen5.toml")),
    ("arm", include_str!("../data/events/arm.toml")),
    ("ampereone", include_str!("../data/events/ampereone.toml")),
    ("grace", include_str!("../data/events/grace.toml")),
    ("hisilicon", include_str!("../data/events/hisilicon.toml")),
];

/// All families that the program knows.
pub fn families() -> Vec<Family> {
    // A test reads each file.
    FILES.iter().filter_map(|(_, text)| Family::read(text).ok()).collect()
}

/// The first family of a machine: by its processor, or by the names of its event sources, given with their other names.
pub fn family_of<'a>(families: &'a [Family], cpu: &CpuModel, names: &[(&str, Option<&str>)]) -> Option<&'a Family> {
    let has = |family: &&Family| {
        let is_unit = |unit: &Unit| names.iter().any(|(name, alias)| unit.is_named(name, *alias));
        family.cpu.is_empty() && family.unit.iter().any(is_unit)
    };
    families.iter().find(|family| family.holds(cpu) || has(family))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_read() {
        for (name, text) in FILES {
            let family = Family::read(text).unwrap_or_else(|mistakes| panic!("{name}: {mistakes:?}"));
            assert!(!family.source.is_empty(), "{name}");
            assert!(family.unit.iter().all(|unit| !unit.count.is_empty()), "{name}");
            // A processor belongs to one family.
            for cpus in &family.cpu {
                for (low, _) in &cpus.models {
                    let vendor = Some(cpus.vendor.clone());
                    let model =
                        CpuModel { vendor, family: Some(cpus.family), model: Some(*low), ..CpuModel::default() };
                    let owners: Vec<String> =
                        families().iter().filter(|f| f.holds(&model)).map(|f| f.name.clone()).collect();
                    assert_eq!(owners, [family.name.as_str()], "model {low:#x}");
                }
            }
        }
        assert_eq!(families().len(), FILES.len());
        let mut on_disk: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/data/events"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let mut listed: Vec<String> = FILES.iter().map(|(name, _)| format!("{name}.toml")).collect();
        on_disk.sort();
        listed.sort();
        assert_eq!(on_disk, listed);
    }

    #[test]
    fn names_with_numbers() {
        assert!(matches("uncore_imc_*", "uncore_imc_11") && matches("arm_dmc620_*", "arm_dmc620_10008c000"));
        assert!(!matches("uncore_imc_*", "uncore_imc_free_running_0") && !matches("uncore_imc_*", "uncore_imc_"));
        assert!(matches("amd_df", "amd_df") && !matches("amd_df", "amd_df_0"));
        assert!(matches("hisi_sccl*_ddrc*", "hisi_sccl3_ddrc0") && !matches("hisi_sccl*_ddrc*", "hisi_sccl3_ddrc0_1"));
        assert!(matches("hisi_sccl*_ddrc*_*", "hisi_sccl3_ddrc0_1"));
        assert!(!matches("hisi_sccl*_ddrc*", "hisi_sccl_ddrc0") && !matches("hisi_sccl*_ddrc*", "hisi_sccl3_hha0"));
    }

    #[test]
    fn the_first_family_that_fits_is_taken() {
        let mine = "name = \"mine\"\nsource = \"a manual\"\n[[unit]]\npmu = \"uncore_imc_*\"\nis = \"channel\"\n\
            count = [{ of = \"both\", event = { event = 5 }, bytes = 64 }]\n";
        let mine = Family::read(mine).unwrap();
        let vendor = Some("GenuineIntel".to_owned());
        let skylake = CpuModel { vendor, family: Some(6), model: Some(0x55), ..CpuModel::default() };
        let names = [("uncore_imc_0", None)];
        let name = |all: &[Family]| family_of(all, &skylake, &names).unwrap().name.clone();
        let all: Vec<Family> = std::iter::once(mine).chain(families()).collect();
        // A user's file stands first, with processors or without.
        assert_eq!(name(&all), "mine");
        assert_eq!(name(&all[1..]), all[1].name);
    }

    /// Users have no other description of the format.
    #[test]
    fn the_example_of_the_documentation_is_read() {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/COUNTERS.md")).unwrap();
        let (_, rest) = page.split_once("    name = \"My server\"").unwrap();
        let (rest, _) = rest.split_once("\n\n`of` is").unwrap();
        let family = Family::read(&format!("name = \"My server\"{rest}")).unwrap();
        assert_eq!((family.cpu.len(), family.unit.len(), family.unit[0].count.len()), (1, 1, 3));
    }

    #[test]
    fn mistakes_have_a_line() {
        let text = FILES[0].1.replace("bytes = 64", "bytes = -64");
        let mistakes = Family::read(&text).unwrap_err();
        assert!(mistakes.iter().any(|mistake| mistake.to_string().contains("above 0")), "{mistakes:?}");
        // In lists, line and key are those of the value.
        let line = 1 + text.lines().position(|line| line.starts_with("is = ")).unwrap();
        let mistakes = Family::read(&FILES[0].1.replacen("is = \"channel\"", "is = \"chan\"", 1)).unwrap_err();
        let said = mistakes[0].to_string();
        assert!(said.starts_with(&format!("line {line}: unit.is: ")) && said.contains("channel"), "{said}");
        assert!(Family::read("name = 3").is_err() && Family::read("").is_err());
    }
}
