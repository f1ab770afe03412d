//! Garbage in any file of a tree, and damaged archives: always an answer, never a panic.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use tiermark_machine::synth::{MemoryNode, Synth};
use tiermark_machine::{DiscoverError, LiveFacts, Root, capture, discover};
use tiermark_model::Machine;

/// A machine with a bit of everything, so that every reader has a file to stumble over.
fn rich() -> BTreeMap<String, Vec<u8>> {
    let memory = MemoryNode { bytes: 1 << 38, distance: 30, tier: 22, latency_ns: 255, bandwidth_mbs: 30000 };
    let synth = Synth { sockets: 2, offline: "3".parse().unwrap(), memory_nodes: vec![memory], ..Synth::default() };
    let hybrid = Synth { first_efficiency_core: Some(2), ..synth };
    let mut files = hybrid.files();
    for (path, text) in [
        ("proc/self/cgroup", "4:memory:/a\n2:cpuset:/a\n0::/a/b\n"),
        ("proc/self/mountinfo", "1 0 0:1 / /cg rw - cgroup2 cgroup2 rw\n2 0 0:2 /a /m rw - cgroup cgroup rw,memory\n"),
        ("proc/self/status", "Cpus_allowed_list:\t0-9\nMems_allowed_list:\t0\n"),
        ("cg/a/b/cpu.max", "150000 100000\n"),
        ("cg/a/b/cpuset.cpus.effective", "0-3\n"),
        ("m/memory.limit_in_bytes", "1073741824\n"),
        ("m/memory.usage_in_bytes", "4096\n"),
        ("proc/loadavg", "1.25 0.9 0.8 1/100 1234\n"),
        ("proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 2048 1024 -2\n"),
        ("proc/sys/kernel/numa_balancing", "1\n"),
        ("etc/os-release", "PRETTY_NAME=\"x\"\n"),
        ("tiermark-facts", "page_bytes 4096\nhypervisor KVMKVMKVM\n"),
        ("sys/module/zswap/parameters/enabled", "Y\n"),
        ("sys/kernel/mm/damon/admin/kdamonds/0/state", "on\n"),
        ("sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled", "always [inherit] madvise never\n"),
        ("sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "3\n"),
        ("sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages", "3\n"),
        ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n"),
        ("sys/devices/system/cpu/cpu0/cpu_capacity", "1024\n"),
        ("sys/devices/system/edac/mc/mc0/dimm0/dimm_label", "A1\n"),
        ("sys/devices/system/edac/mc/mc0/dimm0/size", "16384\n"),
        ("sys/class/dmi/id/sys_vendor", "Maker\n"),
        ("sys/hypervisor/type", "xen\n"),
        ("run/.containerenv", "engine=\"podman\"\n"),
        ("sys/firmware/dmi/tables/DMI", "\x11\x08\x01\0\0\0\0\0a\0\0"),
    ] {
        files.insert(path.into(), text.into());
    }
    files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect()
}

/// What sysfs never holds: bytes, and text that is nearly right.
fn garbage() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..80),
        "[0-9a-f,:/ \n-]{0,60}".prop_map(String::into_bytes),
        "(-?[0-9]{1,25}[KMG]?\n?){0,3}".prop_map(String::into_bytes),
        Just(b"0-1048575\n".to_vec()),
        Just(b"18446744073709551615\n".to_vec()),
        Just(b"18446744073709551615 kB\n".to_vec()),
        Just(b"NaN\n".to_vec()),
        "(processor|MemTotal|0:memory|physical id)[ \t]*:[ \t]*[0-9]{0,24}( kB)?\n".prop_map(String::into_bytes),
    ]
}

/// Whatever comes out is consistent enough for the rest of the program.
fn check(result: Result<Machine, DiscoverError>) -> Result<(), TestCaseError> {
    let machine = match result {
        Ok(machine) => machine,
        Err(DiscoverError::NoCpus { .. } | DiscoverError::NotATree { .. }) => return Ok(()),
        Err(error) => return Err(TestCaseError::fail(format!("only a tree without cpus is refused: {error}"))),
    };
    let online = machine.online();
    prop_assert!(!machine.allowed_cpus.is_empty() && machine.allowed_cpus.is_subset(&online));
    prop_assert!(machine.cpus.windows(2).all(|pair| pair[0].id < pair[1].id));
    prop_assert!(machine.caches.iter().all(|cache| !cache.cpus.is_empty() && cache.cpus.is_subset(&online)));
    prop_assert!(!machine.nodes.is_empty());
    prop_assert!(machine.unseen.len() < 50);
    prop_assert!(machine.page_bytes.is_power_of_two());
    // These add things up.
    let _ = (machine.reachable_cache_bytes(&online), machine.llc_groups(), machine.cores_first(&online));
    prop_assert!(machine.nodes.iter().filter_map(|n| n.memory_bytes).try_fold(0u64, u64::checked_add).is_some());
    let json = serde_json::to_string(&machine).unwrap();
    prop_assert_eq!(serde_json::from_str::<Machine>(&json).unwrap(), machine);
    Ok(())
}

/// An archive that is not compressed.
fn archive() -> Vec<u8> {
    let mut plain = Vec::new();
    GzDecoder::new(&include_bytes!("../trees/vm.tar.gz")[..]).read_to_end(&mut plain).unwrap();
    plain
}

/// The same compressed, with the checksum of what it is now.
fn packed(archive: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(archive).unwrap();
    packed.finish().unwrap()
}

#[test]
fn an_archive_that_was_packed_again_is_the_same_machine() {
    let machine = |bytes: &[u8]| discover(&Root::from_archive("x", bytes).unwrap(), &LiveFacts::default()).unwrap();
    assert_eq!(machine(&packed(&archive())), machine(include_bytes!("../trees/vm.tar.gz")));
    // A header with another name fails the archive's own sum, and is seen.
    let mut damaged = archive();
    damaged[0] ^= 1;
    assert!(Root::from_archive("x", &packed(&damaged)).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn garbage_in_some_files(changes in proptest::collection::vec((any::<prop::sample::Index>(), garbage()), 1..12)) {
        let mut files = rich();
        for (index, bytes) in changes {
            let path = files.keys().nth(index.index(files.len())).unwrap().clone();
            files.insert(path, bytes);
        }
        check(discover(&Root::from_files("fuzz", files), &LiveFacts::default()))?;
    }

    #[test]
    fn garbage_in_all_files_of_a_name(name in any::<prop::sample::Index>(), bytes in garbage()) {
        let mut files = rich();
        let names: Vec<String> = files.keys().filter_map(|path| path.rsplit('/').next()).map(str::to_owned).collect();
        let name = name.get(&names);
        files.iter_mut().filter(|(path, _)| path.ends_with(name.as_str())).for_each(|(_, text)| *text = bytes.clone());
        let root = Root::from_files("fuzz", files);
        check(discover(&root, &LiveFacts::default()))?;
        let mut out = Vec::new();
        if capture(&root, &LiveFacts::default(), &mut out).is_ok() {
            check(discover(&Root::from_archive("copy", &out).unwrap(), &LiveFacts::default()))?;
        }
    }

    #[test]
    fn missing_files(keep in proptest::collection::vec(any::<bool>(), 600)) {
        let files = rich().into_iter().zip(keep).filter(|(_, keep)| *keep).map(|(file, _)| file);
        check(discover(&Root::from_files("fuzz", files), &LiveFacts::default()))?;
    }

    /// The archive is damaged before it is compressed: behind a checksum that fits, the reader of archives sees the
    /// damage.
    #[test]
    fn damaged_archives_with_a_good_checksum(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let plain = archive();
        // Headers, which say names and sizes, are one block in a few: each 512 bytes begin one.
        let block = at.index(plain.len() / 512) * 512;
        let mut bytes = plain.clone();
        bytes[block + usize::from(byte) % 512] ^= 1 << (byte % 8);
        for damaged in [&bytes[..], &plain[..cut.index(plain.len())]] {
            if let Ok(root) = Root::from_archive("damaged", &packed(damaged)) {
                check(discover(&root, &LiveFacts::default()))?;
            }
        }
    }

    #[test]
    fn damaged_archives(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>(), gz: bool) {
        let plain: &[u8] = if gz { include_bytes!("../trees/vm.tar.gz") } else { include_bytes!("../trees/tiny.tar.bz2") };
        let mut bytes = plain.to_vec();
        bytes[at.index(plain.len())] = byte;
        for damaged in [&bytes[..], &plain[..cut.index(plain.len())]] {
            if let Ok(root) = Root::from_archive("damaged", damaged) {
                check(discover(&root, &LiveFacts::default()))?;
            }
        }
    }
}
