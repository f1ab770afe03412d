//! `/proc/cpuinfo`: the processor's name, and a cpu list where sysfs has none.

use std::collections::BTreeMap;

use tiermark_model::messages::machine as messages;
use tiermark_model::{CpuId, CpuModel, DisputedFact, IdSet, KIB};

use crate::arm;
use crate::reader::{CPU_DIR, Reader};

/// The parts of `/proc/cpuinfo` that discovery uses.
#[derive(Debug, Default)]
pub(crate) struct CpuInfo {
    /// The `processor` numbers.
    pub(crate) processors: IdSet,
    /// `physical id` of each processor that has one.
    pub(crate) sockets: BTreeMap<CpuId, u32>,
    /// `core id` of each processor that has one.
    pub(crate) cores: BTreeMap<CpuId, u32>,
    /// `cache size` of the first processor: on Intel's that of its last level, on AMD's that of L2.
    pub(crate) cache_bytes: Option<u64>,
    /// The processors of each revision of the microcode.
    microcodes: BTreeMap<String, IdSet>,
    /// The first processor's identity.
    pub(crate) model: CpuModel,
    /// The core of each processor on Arm.
    pub(crate) cores_on_arm: BTreeMap<CpuId, ArmCore>,
}

impl CpuInfo {
    /// Leaves out what is said of each processor if their numbers are not those of the online cpus: a container's file
    /// counts the container's own (lxcfs), and which cpus these are it does not say.
    pub(crate) fn keep_if_of(&mut self, reader: &Reader<'_>, online: &IdSet) {
        let says_nothing = self.sockets.is_empty() && self.cores.is_empty() && self.cores_on_arm.is_empty();
        if says_nothing || self.processors == *online {
            self.name_microcodes();
            return;
        }
        let (files, info) = (("the files of each cpu", online as _), ("/proc/cpuinfo", &self.processors as _));
        reader.contradict(DisputedFact::OnlineCpus, files, info);
        self.sockets.clear();
        self.cores.clear();
        self.cores_on_arm.clear();
    }

    /// Names each revision of the microcode with its cpus, where there are several: after a late or a failed update of
    /// some cpus.
    fn name_microcodes(&mut self) {
        if self.microcodes.len() < 2 {
            return;
        }
        let named = self.microcodes.iter().map(|(revision, cpus)| format!("{revision} (cpus {cpus})"));
        self.model.microcode = Some(named.collect::<Vec<_>>().join(", "));
        self.model.microcodes = std::mem::take(&mut self.microcodes);
    }

    /// The name of each cpu's core, where cores of several names are there: by the identification register, which the
    /// kernel shows of each cpu, else by `/proc/cpuinfo`. The processor's name is then that of all kinds.
    pub(crate) fn core_names(&mut self, reader: &Reader<'_>, online: &IdSet) -> BTreeMap<CpuId, String> {
        let name = |cpu: CpuId| {
            let register = reader.word(&format!("{CPU_DIR}/cpu{cpu}/regs/identification/midr_el1"));
            let core = register.and_then(|text| ArmCore::of_register(&text));
            Some((cpu, core.as_ref().or_else(|| self.cores_on_arm.get(&cpu))?.name()?))
        };
        let names: BTreeMap<CpuId, String> = online.iter().filter_map(name).collect();
        let mut distinct: Vec<&str> = Vec::new();
        for name in names.values().filter(|_| names.len() == online.len()) {
            if !distinct.contains(&name.as_str()) && distinct.len() < MOST_KINDS {
                distinct.push(name);
            }
        }
        if distinct.len() < 2 {
            self.name_by_register(reader, online);
            return BTreeMap::new();
        }
        self.model.name = Some(distinct.join(" + "));
        names
    }
}

impl CpuInfo {
    /// Takes the identity of an Arm processor that `/proc/cpuinfo` does not describe from the register of its first
    /// cpu.
    fn name_by_register(&mut self, reader: &Reader<'_>, online: &IdSet) {
        let Some(first) = online.first().filter(|_| self.model.model.is_none() && self.model.name.is_none()) else {
            return;
        };
        let register = reader.word(&format!("{CPU_DIR}/cpu{first}/regs/identification/midr_el1"));
        if let Some(core) = register.and_then(|text| ArmCore::of_register(&text)) {
            self.model.vendor = core.implementer.map(arm_vendor);
            self.model.model = core.part;
            self.model.name = core.name();
            // Only 64-bit kernels show the register.
            self.model.arch = Some("aarch64".to_owned());
        }
    }
}

/// The implementer of an Arm core by name.
fn arm_vendor(implementer: u32) -> String {
    let known = arm::IMPLEMENTERS.iter().find(|(id, ..)| *id == implementer);
    known.map_or_else(|| format!("implementer 0x{implementer:02x}"), |(_, name, _)| (*name).to_owned())
}

/// IBM's names of its machines by the numbers that s390 prints.
const S390: &[(&str, &[&str])] = &[
    ("z13", &["2964", "2965"]),
    ("z14", &["3906", "3907"]),
    ("z15", &["8561", "8562"]),
    ("z16", &["3931", "3932"]),
    ("z17", &["9175"]),
];

/// The name of an s390 machine, of `version = FF,  identification = 0133E8,  machine = 8561`.
fn s390_name(fields: &BTreeMap<&str, &str>) -> Option<String> {
    let mut processors = fields.iter().filter(|(key, _)| key.starts_with("processor ")).map(|(_, value)| value);
    let number = processors.find_map(|value| value.rsplit_once("machine =")).map(|(_, number)| number.trim())?;
    let name = S390.iter().find(|(_, numbers)| numbers.contains(&number));
    Some(name.map_or_else(|| format!("IBM machine {number}"), |(name, _)| format!("IBM {name} (machine {number})")))
}

/// Revisions of the microcode at most: one for each socket of a large machine.
const MOST_REVISIONS: usize = 64;
/// Different lines of one processor, and features of it, at most: x86 has 28 and some two hundred.
const MOST_FIELDS: usize = 1024;

/// Reads `/proc/cpuinfo`; all fields are empty if the file does not exist.
pub(crate) fn read(reader: &Reader<'_>) -> CpuInfo {
    let text = reader.lines("proc/cpuinfo").unwrap_or_default();
    if !text.contains(':') {
        reader.refuse(messages::file_without("/proc/cpuinfo", "processor"));
    }
    parse(&text)
}

fn parse(text: &str) -> CpuInfo {
    let mut info = CpuInfo::default();
    let mut fields: BTreeMap<&str, &str> = BTreeMap::new();
    let mut cores: BTreeMap<CpuId, ArmCore> = BTreeMap::new();
    let mut current = None;
    for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
        let (key, value) = (key.trim(), value.trim());
        // Old Arm kernels name the model in a line "Processor" without a number; s390 writes "processor 0: …".
        let number = if key == "processor" { value } else { key.strip_prefix("processor ").unwrap_or_default() };
        if let Ok(id) = number.parse() {
            info.processors.insert(id);
            current = Some(id);
        } else if let Some(cpu) = current {
            match (key, value.parse()) {
                ("physical id", Ok(socket)) => drop(info.sockets.insert(cpu, socket)),
                ("core id", Ok(core)) => drop(info.cores.insert(cpu, core)),
                ("microcode", _) if info.microcodes.contains_key(value) || info.microcodes.len() < MOST_REVISIONS => {
                    info.microcodes.entry(value.to_owned()).or_default().insert(cpu);
                }
                ("CPU implementer", _) => cores.entry(cpu).or_default().implementer = hex(value),
                ("CPU part", _) => cores.entry(cpu).or_default().part = hex(value),
                _ => {}
            }
        }
        if fields.len() < MOST_FIELDS {
            fields.entry(key).or_insert(value);
        }
    }
    info.cache_bytes = fields
        .get("cache size")
        .and_then(|size| size.strip_suffix("KB")?.trim_end().parse::<u64>().ok()?.checked_mul(KIB));
    info.model = model(&fields);
    info.cores_on_arm = cores;
    info
}

/// Names of cores that one machine's name is made of: three kinds are known.
const MOST_KINDS: usize = 4;

/// The core of one processor on Arm, which names it by numbers.
#[derive(Debug, Default)]
pub(crate) struct ArmCore {
    implementer: Option<u32>,
    part: Option<u32>,
}

impl ArmCore {
    /// By the main identification register: implementer in bits 24 to 31, part in bits 4 to 15 (Arm ARM, MIDR_EL1).
    fn of_register(text: &str) -> Option<Self> {
        let register = u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()?;
        let bits = |from: u32, count: u32| u32::try_from(register >> from & ((1 << count) - 1)).ok();
        Some(Self { implementer: bits(24, 8), part: bits(4, 12) })
    }

    fn name(&self) -> Option<String> {
        let (implementer, part) = self.implementer.zip(self.part)?;
        let known = arm::IMPLEMENTERS.iter().find(|(id, ..)| *id == implementer);
        let name = known.and_then(|(_, _, parts)| parts.iter().find(|(id, _)| *id == part));
        Some(name.map_or_else(|| format!("part 0x{part:03x}"), |(_, name)| (*name).to_owned()))
    }
}

fn hex(value: &str) -> Option<u32> {
    u32::from_str_radix(value.strip_prefix("0x").unwrap_or(value), 16).ok()
}

fn model(fields: &BTreeMap<&str, &str>) -> CpuModel {
    let get = |name: &str| fields.get(name).copied().filter(|value| !value.is_empty());
    let decimal = |name: &str| get(name).and_then(|value| value.parse().ok());
    let hex = |name: &str| get(name).and_then(hex);
    let owned = |name: &str| get(name).map(str::to_owned);
    let flags =
        get("flags").or(get("Features")).or(get("features")).unwrap_or_default().split_whitespace().map(str::to_owned);
    let flags = flags.take(MOST_FIELDS);
    let mut model = CpuModel {
        vendor: owned("vendor_id").or(owned("vendor")),
        // RISC-V names its core in "uarch".
        name: owned("model name")
            .or(owned("cpu"))
            .or(owned("Hardware"))
            .or(owned("uarch"))
            .or_else(|| s390_name(fields)),
        family: decimal("cpu family"),
        model: decimal("model"),
        stepping: decimal("stepping"),
        microcode: owned("microcode"),
        microcodes: BTreeMap::new(),
        flags: flags.collect(),
        arch: None,
    };
    if let Some(implementer) = hex("CPU implementer") {
        let known = arm::IMPLEMENTERS.iter().find(|(id, ..)| *id == implementer);
        model.vendor = Some(arm_vendor(implementer));
        model.model = hex("CPU part");
        model.stepping = hex("CPU variant")
            .zip(decimal("CPU revision"))
            .and_then(|(variant, revision): (u32, u32)| variant.checked_mul(16)?.checked_add(revision));
        let part = known.zip(model.model).and_then(|((_, _, parts), part)| parts.iter().find(|(id, _)| *id == part));
        let number = || Some(format!("{} part 0x{:03x}", model.vendor.as_deref()?, model.model?));
        model.name = part.map(|(_, name)| (*name).to_owned()).or(model.name).or_else(number);
    }
    model.arch = arch(&model, get("CPU architecture"), get("arch"));
    model
}

/// The architecture as far as `/proc/cpuinfo` gives it away.
fn arch(model: &CpuModel, arm: Option<&str>, ia64: Option<&str>) -> Option<String> {
    let has = |flag: &str| model.flags.iter().any(|f| f == flag);
    let vendor = model.vendor.as_deref().unwrap_or_default();
    let name = model.name.as_deref().unwrap_or_default();
    let arch = match arm.map(str::parse::<u32>) {
        Some(Ok(version)) if version >= 8 => "aarch64",
        Some(_) => "arm",
        None if ia64.is_some_and(|arch| arch.starts_with("IA-64")) => "ia64",
        None if vendor.starts_with("IBM/S390") => "s390x",
        // Linux runs little-endian from POWER8 on, and no line here says which way a later one runs.
        None if power(name).is_some_and(|generation| generation < 8) => "ppc64",
        None if has("lm") && has("fpu") => "x86_64",
        None if has("fpu") => "i686",
        None => return None,
    };
    Some(arch.to_owned())
}

/// The generation of a POWER processor, of `POWER9, altivec supported` or `POWER7 (architected)`.
pub(crate) fn power(name: &str) -> Option<u32> {
    let digits: String = name.strip_prefix("POWER")?.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_x86_server() {
        let info = parse(
            "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC\n\
             stepping\t: 1\nmicrocode\t: 0x1000065\nphysical id\t: 0\ncore id\t: 3\nflags\t\t: fpu lm hypervisor\n\n\
             processor\t: 7\nphysical id\t: 1\nmodel name\t: other\n",
        );
        assert_eq!(info.processors.to_string(), "0,7");
        assert_eq!((info.sockets[&7], info.cores[&0]), (1, 3));
        let model = info.model;
        assert_eq!(model.arch.as_deref(), Some("x86_64"));
        assert_eq!((model.family, model.model, model.stepping), (Some(26), Some(2), Some(1)));
        assert_eq!((model.name.as_deref(), model.microcode.as_deref()), (Some("AMD EPYC"), Some("0x1000065")));
    }

    #[test]
    fn an_arm_server_is_named_by_its_part() {
        let info = parse(
            "processor\t: 0\nFeatures\t: fp asimd sve\nCPU implementer\t: 0x41\nCPU architecture: 8\n\
             CPU variant\t: 0x1\nCPU part\t: 0xd40\nCPU revision\t: 1\n",
        );
        assert_eq!(info.model.name.as_deref(), Some("Neoverse-V1"));
        assert_eq!(info.model.vendor.as_deref(), Some("Arm"));
        assert_eq!(info.model.stepping, Some(17));
        assert_eq!(info.model.arch.as_deref(), Some("aarch64"));
    }

    #[test]
    fn current_arm_cores_are_in_the_table() {
        for (implementer, part, name) in [
            (0x41, 0xd84, "Neoverse-V3"),
            (0x41, 0xd85, "Cortex-X925"),
            (0x41, 0xd87, "Cortex-A725"),
            (0x48, 0xd06, "HIP12"),
            (0x4e, 0x010, "Olympus"),
            (0x70, 0x663, "FTC663"),
        ] {
            let line = format!("processor\t: 0\nCPU implementer\t: {implementer:#04x}\nCPU part\t: {part:#05x}\n");
            assert_eq!(parse(&line).model.name.as_deref(), Some(name), "{implementer:#x} {part:#x}");
        }
        for (_, vendor, parts) in arm::IMPLEMENTERS {
            assert!(parts.windows(2).all(|pair| pair[0].0 < pair[1].0), "{vendor}: parts rise, each once");
        }
    }

    #[test]
    fn other_architectures() {
        let s390 = parse("vendor_id       : IBM/S390\nprocessor 0: version = FF\nprocessor 1: version = FF\n");
        assert_eq!((s390.processors.to_string().as_str(), s390.model.arch.as_deref()), ("0-1", Some("s390x")));
        let named = |text: &str| parse(text).model.name;
        let z = |number: &str| {
            named(&format!("processor 0: version = FF,  identification = 0133E8,  machine = {number}\n"))
        };
        assert_eq!(z("8561").as_deref(), Some("IBM z15 (machine 8561)"));
        assert_eq!(z("1").as_deref(), Some("IBM machine 1"));
        assert_eq!(named("processor\t: 0\nuarch\t\t: sifive,u74-mc\n").as_deref(), Some("sifive,u74-mc"));
        let power = |generation| parse(&format!("processor\t: 8\ncpu\t\t: POWER{generation}, altivec supported\n"));
        assert_eq!(power(7).model.arch.as_deref(), Some("ppc64"));
        let either = power(9);
        assert_eq!((either.processors.to_string().as_str(), either.model.arch), ("8", None), "either byte order");
        assert_eq!(parse("").model, CpuModel::default());
    }
}
