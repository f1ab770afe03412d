//! Archives of real and invented machines beside the repository. Where they are missing, these tests say so and pass.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tiermark_machine::{LiveFacts, Root, capture, discover, dmi};
use tiermark_model::{CoreKind, CpuModel, Dimm, Machine};

/// The folder of shared fixtures, beside the workspace.
fn fixtures(name: &str) -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures").join(name);
    if !dir.is_dir() {
        println!("skipped: {} is not here", dir.display());
        return None;
    }
    Some(dir)
}

fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(ending));
    paths.sort();
    assert!(!paths.is_empty(), "no *{ending} in {}", dir.display());
    paths
}

fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    name.split(".tar").next().unwrap().to_owned()
}

fn machine(path: &Path) -> Machine {
    let root = Root::at(path).unwrap_or_else(|e| panic!("{e}"));
    discover(&root, &LiveFacts::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// What a machine must hold: cpus, cores, sockets, nodes, instances of L3, L2 and L1 data, allowed cpus.
type Counts = [usize; 8];

/// hwloc's archives. The counts are those of the file's name (`2s2ca2c`: 2 sockets, 2 caches each, 2 cores each; `n`
/// nodes, `t` threads, `pa` and `p` packages) and of hwloc's own summary, with forbidden cpus counted.
const HWLOC: &[(&str, Counts)] = &[
    ("128arm-2pa2n8cluster4co", [128, 128, 2, 4, 4, 128, 128, 128]),
    ("16amd64-4n4c-cgroup-distance-merge", [16, 16, 4, 4, 4, 16, 16, 4]),
    ("16amd64-8n2c", [16, 16, 8, 8, 0, 16, 16, 16]),
    ("16em64t-4s2c2t", [16, 8, 4, 1, 4, 8, 8, 16]),
    ("16em64t-4s2c2t-offlines", [12, 7, 4, 1, 4, 7, 7, 12]),
    ("16em64t-4s2ca2c-cpusetreorder", [16, 16, 4, 1, 4, 8, 16, 11]),
    ("16ia64-8n2s", [16, 16, 16, 8, 16, 16, 16, 16]),
    ("20s390-2g6s4c", [20, 20, 8, 1, 0, 0, 0, 20]),
    ("256ia64-64n2s2c", [256, 256, 128, 64, 0, 0, 0, 256]),
    ("2arm-2c", [2, 2, 1, 1, 0, 0, 0, 2]),
    ("2i386-2c-nohugepage", [2, 2, 1, 1, 0, 1, 2, 2]),
    ("2i386-2t-hugepagesizecount", [2, 1, 1, 1, 0, 1, 1, 2]),
    ("2pa-pcidomain32bits", [2, 2, 2, 1, 0, 2, 2, 2]),
    ("2ps3-2t", [2, 1, 1, 1, 0, 0, 0, 2]),
    ("32amd64-4s2n4c-cgroup2", [32, 32, 4, 8, 8, 32, 32, 6]),
    ("32em64t-2n8c+dax+nvme+mic+dimms", [16, 16, 2, 2, 2, 16, 16, 16]),
    ("32intel64-2p8co2t+8ve", [32, 16, 2, 2, 2, 16, 16, 32]),
    ("40intel64-2g2n4c+pcilocality", [40, 40, 4, 4, 4, 40, 40, 40]),
    ("40intel64-4n10c+pci-conflicts", [40, 40, 4, 4, 4, 40, 40, 40]),
    ("48amd64-4pa2n6c-sparse", [48, 48, 4, 8, 8, 48, 48, 48]),
    ("4fake-4gr1nu1pu", [4, 4, 1, 4, 0, 0, 0, 2]),
    ("64fake-4n2s2ca2c2t", [64, 32, 8, 4, 8, 16, 32, 64]),
    ("8em64t-2s2ca2c", [8, 8, 2, 1, 0, 4, 8, 8]),
    // Eight nodes that all claim all cpus at local distance, as with numa=fake: one memory.
    ("8em64t-2s2ca2c-buggynuma", [8, 8, 2, 1, 0, 4, 8, 8]),
    ("8ia64-2n2s2c", [8, 8, 4, 2, 8, 8, 8, 8]),
    ("8ia64-2s2c2t", [8, 4, 2, 1, 4, 4, 4, 8]),
    ("96em64t-4no4pa3ca2co", [96, 96, 16, 4, 16, 48, 96, 96]),
    // 2 packages of 2 dies each pretend to be 4 packages; hwloc's summary counts L1 data caches of half cores.
    ("fakecpuid1f-64intel64-2p4d2n2c2t", [64, 32, 4, 16, 8, 32, 64, 64]),
    ("fakeheterocpunuma", [24, 12, 2, 6, 0, 0, 0, 24]),
    ("fakememinitiators-1np2c+1npp+gi", [8, 8, 2, 11, 0, 0, 0, 8]),
    ("fakepcilocalities", [40, 40, 4, 4, 0, 0, 0, 40]),
    ("nvidiagpunumanodes", [32, 8, 2, 8, 4, 4, 8, 16]),
    ("x86+linux-5intel64-hybrid-lakefield", [5, 5, 1, 1, 1, 2, 5, 5]),
    ("x86+linux-64amd64-4p2n4ca2co", [64, 64, 4, 8, 8, 32, 64, 64]),
];

#[test]
fn hwlocs_archives_have_the_counts_of_their_names() {
    let Some(dir) = fixtures("hwloc") else { return };
    let expected: BTreeMap<&str, Counts> = HWLOC.iter().copied().collect();
    let mut seen = 0;
    for path in files(&dir, ".tar.bz2") {
        let m = machine(&path);
        let caches = |level| m.data_caches().filter(|c| c.level == level).count();
        let counts = [
            m.cpus.len(),
            m.core_count(),
            m.sockets().len(),
            m.nodes.len(),
            caches(3),
            caches(2),
            caches(1),
            m.allowed_cpus.len(),
        ];
        let name = stem(&path);
        assert_eq!(Some(&counts), expected.get(name.as_str()), "{name}: {:?}", m.unseen);
        check_invariants(&name, &m);
        let hybrid = name.contains("hybrid") || name.contains("hetero");
        assert_eq!(m.cpus.iter().any(|cpu| cpu.kind.is_some()), hybrid, "{name}");
        assert_same_from_capture(&name, &path, &m);
        seen += 1;
    }
    assert_eq!(seen, HWLOC.len());
}

/// A capture of a tree describes the machine of the tree, but for the host's name and what could not be inferred.
fn assert_same_from_capture(name: &str, path: &Path, original: &Machine) {
    let mut archive = Vec::new();
    capture(&Root::at(path).unwrap(), &LiveFacts::default(), &mut archive).unwrap();
    let mut copy = discover(&Root::from_archive(name, &archive).unwrap(), &LiveFacts::default()).unwrap();
    copy.system.hostname = original.system.hostname.clone();
    copy.unseen = original.unseen.clone();
    assert_eq!(&copy, original, "{name}");
}

#[test]
fn hwlocs_archives_in_depth() {
    let Some(dir) = fixtures("hwloc") else { return };
    let of = |name: &str| machine(&dir.join(format!("{name}.tar.bz2")));

    let sparse = of("48amd64-4pa2n6c-sparse");
    let gaps = sparse.nodes.windows(2).any(|pair| pair[1].id > pair[0].id + 1);
    assert!(gaps, "{:?}", sparse.nodes.iter().map(|n| n.id).collect::<Vec<_>>());
    let first = &sparse.nodes[0];
    assert_eq!(first.distances.len(), 8);
    assert_eq!(first.distances[&first.id], 10);

    let arm = of("128arm-2pa2n8cluster4co");
    assert!(arm.cpus.iter().all(|cpu| cpu.cluster.is_some()));
    assert_eq!(arm.cpu_model.arch.as_deref(), Some("aarch64"));

    let hmat = of("fakememinitiators-1np2c+1npp+gi");
    let access = &hmat.node(9).unwrap().hmat[0];
    assert_eq!((access.class, access.read_latency_ns), (0, Some(26.0)));
    assert_eq!(access.initiators.to_string(), "3");

    let gpu = of("nvidiagpunumanodes");
    assert_eq!(gpu.cpu_model.arch.as_deref(), Some("ppc64le"), "a POWER9, as the archive states");
    assert_eq!(gpu.page_bytes, 65536);
    assert_eq!(gpu.nodes.iter().filter(|node| node.cpus.is_empty()).count(), 6);

    let hybrid = of("x86+linux-5intel64-hybrid-lakefield");
    let fast = hybrid.cpus.iter().filter(|cpu| cpu.kind == Some(CoreKind::Performance)).count();
    assert_eq!(fast, 1, "one big core, told by its first-level cache");
    let fake = of("fakeheterocpunuma");
    let fast: Vec<u32> = fake.cpus.iter().filter(|c| c.kind == Some(CoreKind::Performance)).map(|c| c.id).collect();
    assert_eq!(fast, (12..24).collect::<Vec<_>>(), "told by capacity");

    let limited = of("16amd64-4n4c-cgroup-distance-merge");
    assert_eq!(limited.allowed_nodes.len(), 2);
}

#[test]
fn captured_processors_have_the_limits_of_their_cores() {
    let core = |folder: &str, file: &str| {
        let limits = machine(&fixtures(folder)?.join(file)).core_limits;
        Some(limits.map_or_else(|| "none".to_owned(), |limits| limits.name))
    };
    for (folder, file, expected) in [
        ("hwloc", "32intel64-2p8co2t+8ve.tar.bz2", "Skylake server"),
        ("hwloc", "fakememinitiators-1np2c+1npp+gi.tar.bz2", "Skylake server"),
        ("hwloc", "2pa-pcidomain32bits.tar.bz2", "none"),
        ("hwloc", "fakecpuid1f-64intel64-2p4d2n2c2t.tar.bz2", "none"),
        ("hwloc", "x86+linux-5intel64-hybrid-lakefield.tar.bz2", "none"),
        ("hwloc", "128arm-2pa2n8cluster4co.tar.bz2", "none"),
        ("field", "01-lxcfs-online.tar.gz", "Sunny Cove"),
        ("field", "07-ec2-dmi-peak.tar.gz", "Golden Cove"),
        ("field", "05-memory-high.tar.gz", "Golden Cove"),
        ("field", "14-epyc-7-of-8.tar.gz", "Zen 3"),
        ("field", "10-qemu-l3-by-node.tar.gz", "Zen 4"),
    ] {
        let Some(found) = core(folder, file) else { return };
        assert_eq!(found, expected, "{file}");
    }
}

/// What holds for every machine, however strange.
fn check_invariants(name: &str, m: &Machine) {
    assert!(m.cpus.windows(2).all(|pair| pair[0].id < pair[1].id), "{name}");
    assert!(!m.allowed_cpus.is_empty() && m.allowed_cpus.is_subset(&m.online()), "{name}");
    for cache in &m.caches {
        assert!(!cache.cpus.is_empty() && cache.cpus.is_subset(&m.online()), "{name}: {cache:?}");
    }
    let in_nodes: usize = m.nodes.iter().map(|node| node.cpus.len()).sum();
    assert!(in_nodes <= m.cpus.len(), "{name}: a cpu has one node");
    let cores: Vec<u32> = m.cpus.iter().map(|cpu| cpu.core).collect();
    assert_eq!(cores.iter().max().map(|c| *c as usize + 1), Some(m.core_count()), "{name}: cores are numbered densely");
    let json = serde_json::to_string(m).unwrap();
    assert_eq!(&serde_json::from_str::<Machine>(&json).unwrap(), m, "{name}");
}

#[test]
fn invented_trees_have_the_sockets_of_their_names() {
    let Some(dir) = fixtures("synthetic") else { return };
    for path in files(&dir, ".tar.gz") {
        let m = machine(&path);
        let name = stem(&path);
        check_invariants(&name, &m);
        let sockets = name.split('-').find_map(|part| part.strip_suffix('s')?.parse::<usize>().ok());
        assert_eq!(m.sockets().len(), sockets.unwrap_or(m.sockets().len()), "{name}");
        assert!(m.nodes.len() >= m.sockets().len(), "{name}");
        assert!(m.system.perf_event_paranoid.is_some(), "{name}");
    }
}

/// `KEY=value` lines beside a dump, by device number.
fn summary(text: &str) -> BTreeMap<usize, BTreeMap<String, String>> {
    let mut devices: BTreeMap<usize, BTreeMap<String, String>> = BTreeMap::new();
    for line in text.lines() {
        let Some((key, value)) = line.split_once('=') else { continue };
        let Some((number, field)) = key.strip_prefix("MEMORY_DEVICE_").and_then(|rest| rest.split_once('_')) else {
            continue;
        };
        devices.entry(number.parse().unwrap()).or_default().insert(field.to_owned(), value.to_owned());
    }
    devices
}

/// The table in a dump file, at the offset that its entry point of 32 or 64 bits names.
fn dumped_table(dump: &[u8]) -> &[u8] {
    let number = |at: usize, n: usize| dump[at..at + n].iter().rev().fold(0, |all, byte| all << 8 | usize::from(*byte));
    let is_64_bit = dump.starts_with(b"_SM3_");
    let (start, length) =
        if is_64_bit { (number(0x10, 8), number(0x0c, 4)) } else { (number(0x18, 4), number(0x16, 2)) };
    &dump[start..][..length.min(dump.len() - start)]
}

#[test]
fn smbios_dumps_say_what_their_summaries_say() {
    let Some(dir) = fixtures("smbios-bin") else { return };
    for path in files(&dir, ".bin") {
        let dmi = dmi::parse_dmi(dumped_table(&std::fs::read(&path).unwrap())).unwrap();
        let expected = summary(&std::fs::read_to_string(format!("{}.txt", path.display())).unwrap());
        assert!(!dmi.truncated, "{}", path.display());
        assert_eq!(dmi.dimms.len() + dmi.other_devices, expected.len(), "{}", path.display());
        for (dimm, fields) in dmi.dimms.iter().zip(expected.values()) {
            let number = |name: &str| fields.get(name).and_then(|value| value.parse::<u64>().ok());
            assert_eq!(dimm.populated, fields.get("PRESENT").is_none_or(|p| p != "0"), "{fields:?}");
            assert_eq!(dimm.locator.as_ref(), fields.get("LOCATOR"), "{fields:?}");
            assert_eq!(dimm.bytes, number("SIZE"), "{fields:?}");
            assert_eq!(dimm.rated_transfers, number("SPEED_MTS").map(|mt| mt as f64 * 1e6), "{fields:?}");
            let configured = number("CONFIGURED_SPEED_MTS").map(|mt| mt as f64 * 1e6);
            assert!(configured.is_none() || dimm.configured_transfers == configured, "{fields:?}");
            assert_eq!(dimm.ranks, number("RANK").map(|r| r as u32), "{fields:?}");
            let debug = format!("{dimm:?}");
            let serial =
                fields.get("SERIAL_NUMBER").filter(|s| s.len() >= 8 && *s != "00000000" && *s != "Not Specified");
            assert!(serial.is_none_or(|serial| !debug.contains(serial.as_str())), "{debug}");
        }
    }
}

/// Slots of a `dmidecode` text dump.
fn dmidecode(text: &str) -> Vec<Dimm> {
    let devices = text.split("\n\n").filter(|block| block.lines().any(|line| line.trim() == "Memory Device"));
    devices
        .map(|block| {
            let field = |name: &str| {
                let value = block.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'))?.trim();
                (!matches!(value, "" | "Unknown" | "Not Specified" | "None")).then(|| value.to_owned())
            };
            let number = |name: &str| field(name)?.split(' ').next()?.parse::<f64>().ok();
            let speed = number("Configured Memory Speed").or_else(|| number("Configured Clock Speed"));
            Dimm {
                locator: field("Locator"),
                bank: field("Bank Locator"),
                populated: field("Size").is_some_and(|size| size != "No Module Installed"),
                kind: field("Type"),
                form: field("Form Factor"),
                rated_transfers: number("Speed").map(|mt| mt * 1e6),
                configured_transfers: speed.map(|mt| mt * 1e6),
                data_width: number("Data Width").map(|bits| bits as u32),
                ..Dimm::default()
            }
        })
        .collect()
}

#[test]
fn theoretical_peaks_of_real_boards() {
    let Some(dir) = fixtures("dmidecode") else { return };
    // Channels × MT/s of what is populated, from the processors' data sheets and the dumps; all channels have 8 bytes.
    let expected: &[(&str, u32, u32, bool)] = &[
        ("altra-1s-16of16", 8, 3200, true),
        ("clx-2s-6226r-12of12", 12, 2934, true),
        ("cpx-4s-6330h-48of48", 24, 2933, true),
        ("icx-2s-6348-32of32", 16, 3200, true),
        // Slots DIMM_P1 and DIMM_P2 are of one channel, and no processor's.
        ("ivb-4s-e5-4640v2-32of48", 16, 1867, true),
        ("spr-2s-6430-16of32", 16, 4400, true),
        ("zen1-2s-7601-16of16", 16, 2400, true),
        ("zen2-2s-7402-16of16-2133", 16, 2133, true),
        ("zen3-2s-7713-16of16", 16, 3200, true),
        ("zen3-2s-7763-32of32-2933", 16, 2933, true),
        ("zen4-2s-9654-24of24", 24, 4800, true),
        ("spr-8s-8468h-8of128", 8, 4800, true),
        // Slots named A1 to A12 or DIMM 5: nothing says which share a channel.
        ("zen4-2s-9534-dell-8of24", 8, 4800, false),
        ("clx-2s-6248-lenovo-8of24", 8, 2933, false),
    ];
    for (name, channels, megatransfers, named) in expected {
        let text = std::fs::read_to_string(dir.join(format!("{name}.txt"))).unwrap();
        let (sockets, most) = channels_of(&text);
        let peak = dmi::theoretical_peak(&dmidecode(&text), 0, sockets, most.as_ref());
        let peak = peak.unwrap_or_else(|| panic!("{name}"));
        let wanted = f64::from(*channels) * f64::from(*megatransfers) * 1e6 * 8.0;
        assert_eq!(peak.bytes_per_second, wanted, "{name}: {}", peak.how);
        assert_eq!(!peak.how.contains("upper bound"), *named, "{name}: {}", peak.how);
    }
    let (mut exact, mut bounds) = (0, 0);
    for path in files(&dir, ".txt").iter().filter(|path| stem(path) != "INDEX.txt") {
        let text = std::fs::read_to_string(path).unwrap();
        let (dimms, (sockets, most)) = (dmidecode(&text), channels_of(&text));
        // An engineering sample has no product's name, and products of its model differ in their channels.
        if stem(path).contains("engsample") {
            assert_eq!(most, None);
            continue;
        }
        let most = most.unwrap_or_else(|| panic!("{}: a family that the table lacks", path.display()));
        let Some(peak) = dmi::theoretical_peak(&dimms, 0, sockets, Some(&most)) else { continue };
        let speeds = dimms.iter().filter_map(|dimm| dimm.configured_transfers.or(dimm.rated_transfers));
        let possible = f64::from(most.count) * speeds.fold(0.0, f64::max) * 8.0;
        assert!(peak.bytes_per_second <= possible, "{}: {} of {most:?}", path.display(), peak.how);
        *(if peak.how.contains("upper bound") { &mut bounds } else { &mut exact }) += 1;
    }
    println!("{exact} peaks are exact, {bounds} upper bounds");
    assert!(exact >= 16 && bounds <= 4, "{exact} peaks are exact, {bounds} upper bounds");
}

/// The processors that a `dmidecode` text dump lists, and the most channels of them.
fn channels_of(text: &str) -> (usize, Option<dmi::Channels>) {
    let mut processors = text.split("\n\n").filter(|b| b.lines().any(|line| line.trim() == "Processor Information"));
    let first = processors.next();
    let sockets = 1 + processors.filter(|block| block.contains("Status: Populated")).count();
    (sockets, first.and_then(|first| channels_of_processors(first, sockets)))
}

fn channels_of_processors(first: &str, sockets: usize) -> Option<dmi::Channels> {
    let field = |name: &str| first.lines().find_map(|line| line.trim().strip_prefix(name)).map(str::trim);
    let signature = field("Signature:")?;
    let number = |name: &str| signature.split(", ").find_map(|part| part.strip_prefix(name)?.trim().parse().ok());
    let vendor = if signature.starts_with("Type") { "GenuineIntel" } else { "AuthenticAMD" };
    let cpu = CpuModel {
        vendor: Some(vendor.into()),
        family: number("Family"),
        model: number("Model"),
        name: field("Version:").map(str::to_owned),
        ..CpuModel::default()
    };
    dmi::Channels::of(&cpu, sockets)
}
