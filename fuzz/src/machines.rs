//! What describes a machine: its own files, firmware's tables, captures of others.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::LazyLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use tiermark_capacity::evidence::{GroupCounters, GroupPaths, Host, Vitals, parse};
use tiermark_machine::synth::{MemoryNode, Synth};
use tiermark_machine::{LiveFacts, Root, discover, dmi, files};
use tiermark_model::{IdSet, Machine, parse_size};
use tiermark_page::{Detail, Style, terminal};

use super::input::Input;

/// Lists and masks of cpus, sizes, and the kernel's other short formats.
pub(crate) fn lists(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(set) = text.parse::<IdSet>() {
        assert_eq!(set.to_string().parse(), Ok(set.clone()), "a list is read back as another one");
        let _ = (set.len(), set.first(), set.union(&set), set.difference(&set));
    }
    if let Ok(set) = IdSet::from_hex_mask(&text) {
        let _ = set.len();
    }
    let _ = (parse_size(&text), files::number(&text), files::number_or_max(&text), files::counters(&text));
    let _ = (files::kilobytes(&text, "MemTotal"), files::pids(&text).count());
}

/// A machine with a bit of everything.
static RICH: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let memory = MemoryNode { bytes: 1 << 34, distance: 20, tier: 22, latency_ns: 300, bandwidth_mbs: 30_000 };
    let synth = Synth {
        sockets: 2,
        cores_per_node: 2,
        memory_nodes: vec![memory],
        first_efficiency_core: Some(3),
        ..Synth::default()
    };
    let mut files = synth.files();
    for (path, text) in [
        (
            "proc/self/mountinfo",
            "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n31 24 0:27 / / rw - overlay overlay rw\n",
        ),
        ("proc/self/cgroup", "0::/a/b\n"),
        ("sys/fs/cgroup/a/b/cpuset.cpus.effective", "0-3\n"),
        ("sys/fs/cgroup/a/b/memory.max", "8589934592\n"),
        ("sys/fs/cgroup/a/b/cpu.max", "150000 100000\n"),
        ("proc/swaps", "Filename Type Size Used Priority\n/dev/zram0 partition 524284 4096 100\n"),
        (
            "proc/meminfo",
            "MemTotal: 16384000 kB\nMemFree: 8000000 kB\nMemAvailable: 12000000 kB\nHugePages_Total: \
                0\nHugepagesize: 2048 kB\n",
        ),
        ("proc/cmdline", "quiet isolcpus=2-3 nohz_full=2-3 mitigations=off\n"),
        ("proc/version", "Linux version 6.12.0 (x) #1 SMP\n"),
        ("proc/stat", "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "16\n"),
        ("sys/devices/virtual/dmi/id/sys_vendor", "Amazon EC2\n"),
        ("sys/class/dmi/id/product_name", "m7i.large\n"),
        ("sys/hypervisor/type", "xen\n"),
    ] {
        files.entry(path.to_owned()).or_insert_with(|| text.to_owned());
    }
    files
});

/// A synthetic machine with files changed, removed and added; then everything that is shown of it.
pub(crate) fn tree(bytes: &[u8]) {
    let mut files: BTreeMap<String, Vec<u8>> =
        RICH.iter().map(|(path, text)| (path.clone(), text.clone().into_bytes())).collect();
    let paths: Vec<&String> = RICH.keys().collect();
    let mut input = Input(bytes);
    while !input.is_empty() {
        let at = input.below(paths.len() + 8);
        match paths.get(at) {
            Some(path) => match input.until_zero() {
                [] => drop(files.remove(*path)),
                text => drop(files.insert((*path).clone(), text.to_vec())),
            },
            None => drop(files.insert(input.text(), input.until_zero().to_vec())),
        }
    }
    shown(&Root::from_files("a fuzzed machine", files));
}

/// Discovers a machine and shows it, as `machine` does; a doctor's visit too.
fn shown(root: &Root) {
    let Ok(machine) = discover(root, &LiveFacts::default()) else { return };
    consistent(&machine);
    let _ = terminal(&tiermark_report::machine(&machine, Detail::All), &Style::default());
    let input = tiermark_tune::AdviceInput::new(root, &machine, Vec::new());
    let _ = tiermark_tune::knob_rows(&input, tiermark_tune::Profile::Latency, tiermark_tune::knobs());
    let check = tiermark_tune::doctor::CheckInput { root, machine: &machine, busy: None, held: &[], interrupted: None };
    let found = tiermark_tune::doctor::checkup(&check);
    assert!(found.checks.iter().all(|row| !row.value.is_empty()), "a check that says nothing");
    let _ = terminal(&tiermark_report::listings::doctor(&found, Detail::All), &Style::default());
}

/// What the rest of the program relies on.
fn consistent(machine: &Machine) {
    let online = machine.online();
    assert!(!machine.allowed_cpus.is_empty() && machine.allowed_cpus.is_subset(&online));
    assert!(machine.cpus.windows(2).all(|pair| pair[0].id < pair[1].id));
    assert!(machine.caches.iter().all(|cache| !cache.cpus.is_empty() && cache.cpus.is_subset(&online)));
    assert!(!machine.nodes.is_empty() && machine.page_bytes.is_power_of_two());
    // These add things up.
    let _ = (machine.reachable_cache_bytes(&online), machine.llc_groups(), machine.cores_first(&online));
    assert!(machine.nodes.iter().filter_map(|node| node.memory_bytes).try_fold(0u64, u64::checked_add).is_some());
    let json = serde_json::to_string(machine).expect("a machine can always be written");
    assert_eq!(serde_json::from_str::<Machine>(&json).expect("and read"), *machine);
}

/// Firmware's table, what is shown of it, and its redaction.
pub(crate) fn smbios(bytes: &[u8]) {
    if let Ok(parsed) = dmi::parse_dmi(bytes) {
        let most = dmi::Channels { count: 8, whose: String::new() };
        let _ = dmi::theoretical_peak(&parsed.dimms, parsed.unlisted_slots, 1, Some(&most));
    }
    let clean = dmi::redact(bytes);
    let _ = dmi::parse_dmi(&clean);
}

/// An archive whose headers and checksums are right, and whose entries are whatever they are.
pub(crate) fn capture(bytes: &[u8]) {
    let mut input = Input(bytes);
    let packed = input.byte() % 2 == 0;
    let mut archive = tar::Builder::new(Vec::new());
    for _ in 0..256 {
        if input.is_empty() {
            break;
        }
        let kind = match input.byte() % 12 {
            0..=5 => tar::EntryType::Regular,
            6 => tar::EntryType::Directory,
            7 => tar::EntryType::Symlink,
            8 => tar::EntryType::Link,
            9 => tar::EntryType::GNULongName,
            10 => tar::EntryType::XHeader,
            _ => tar::EntryType::GNULongLink,
        };
        let (name, content) = (input.until_zero(), input.until_zero());
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        let short = &name[..name.len().min(100)];
        header.as_old_mut().name[..short.len()].copy_from_slice(short);
        let link = &content[..content.len().min(100)];
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link);
        // Now and then a size that the content does not have.
        let wrong = input.byte();
        header.set_size(if wrong == 255 { u64::from(input.byte()) << 24 } else { content.len() as u64 });
        header.set_cksum();
        let _ = archive.append(&header, content);
    }
    let bytes = archive.into_inner().expect("memory takes every write");
    let bytes = if packed {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(&bytes).and_then(|()| packer.finish()).expect("memory takes every write")
    } else {
        bytes
    };
    archive_of(&bytes);
}

/// Bytes that are called an archive.
pub(crate) fn archive(bytes: &[u8]) {
    archive_of(bytes);
}

fn archive_of(bytes: &[u8]) {
    if let Ok(root) = Root::from_archive("a fuzzed archive", bytes) {
        shown(&root);
    }
}

/// The kernel's configuration, packed as the kernel packs it or as the bytes have it.
pub(crate) fn kconfig(bytes: &[u8]) {
    let mut input = Input(bytes);
    let raw = input.byte() % 4 == 0;
    let packed = if raw {
        input.0.to_vec()
    } else {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(input.0).and_then(|()| packer.finish()).expect("memory takes every write")
    };
    let root = Root::from_files("a fuzzed machine", [("proc/config.gz", packed), ("proc/cpuinfo", Vec::new())]);
    if let Some(config) = tiermark_tune::KernelConfig::read(&root, None) {
        let _ = config.has("CONFIG_ZRAM");
    }
}

/// Two readings of a system that `watch` makes a sample of.
pub(crate) fn samples(bytes: &[u8]) {
    const PATHS: [&str; 11] = [
        "proc/pressure/memory",
        "proc/pressure/cpu",
        "proc/self/cgroup",
        "proc/self/mountinfo",
        "proc/stat",
        "proc/meminfo",
        "proc/vmstat",
        "proc/swaps",
        "sys/block/zram0/mm_stat",
        "sys/devices/system/node/node0/meminfo",
        "sys/devices/system/node/node0/numastat",
    ];
    let mut input = Input(bytes);
    let mut read = |at: f64| {
        let files: Vec<(&str, Vec<u8>)> = PATHS.map(|path| (path, input.until_zero().to_vec())).into();
        let root = Root::from_files("a fuzzed system", files);
        tiermark_watch::Reading { at, ..tiermark_watch::Source::new(&root).read() }
    };
    let (before, now) = (read(1.0), read(1.5));
    let sample = tiermark_watch::sample("t".to_owned(), Some(&before), &now, 4096);
    for figure in sample.figures() {
        assert!(figure.value.is_none_or(|value| value.is_finite() && value >= 0.0), "{figure:?}");
    }
    super::watched::show(&[sample]);
}

/// What is read of the system and of control groups before and after a trial.
pub(crate) fn evidence(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = (parse::pressure(&text), parse::disks(&text), parse::zram(&text));
    let _ = (parse::zswap(&text), parse::swaps(&text), parse::cpu_ticks(&text));
    const PATHS: [&str; 12] = [
        "proc/meminfo",
        "proc/vmstat",
        "proc/stat",
        "proc/pressure/io",
        "proc/swaps",
        "proc/diskstats",
        "sys/block/zram0/mm_stat",
        "sys/kernel/debug/zswap/pool_total_size",
        "sys/fs/cgroup/t/memory.stat",
        "sys/fs/cgroup/t/memory.current",
        "sys/fs/cgroup/t/memory.swap.current",
        "sys/fs/cgroup/t/cpu.stat",
    ];
    let mut input = Input(bytes);
    let mut files = BTreeMap::new();
    while !input.is_empty() {
        let path = PATHS[input.below(PATHS.len())];
        files.insert(path, input.until_zero().to_vec());
    }
    let root = Root::from_files("a fuzzed machine", files);
    let _ = (Host::read(&root, &["zram0".to_owned()]), Vitals::read(&root));
    let _ = GroupCounters::read(&root, &GroupPaths::V2("sys/fs/cgroup/t".to_owned()));
}
