//! What firmware and the kernel declare of modules, byte order, caches in front of memory, and ways.

use crate::synthetic::*;

/// An SMBIOS table of modules: their slots' names, MiB and MT/s (0 for unknown).
fn smbios(modules: &[(&str, u16, u16)]) -> Vec<u8> {
    let mut table = Vec::new();
    for (index, (locator, mib, speed)) in modules.iter().enumerate() {
        let mut device = [0u8; 0x22];
        device[..4].copy_from_slice(&[17, 0x22, index as u8, 0x11]);
        device[0x0a..0x0c].copy_from_slice(&64u16.to_le_bytes());
        device[0x0c..0x0e].copy_from_slice(&mib.to_le_bytes());
        device[0x10] = 1;
        device[0x18] = 2;
        device[0x20..0x22].copy_from_slice(&speed.to_le_bytes());
        table.extend(device);
        table.extend(format!("{locator}\0SN-{index}-private\0\0").bytes());
    }
    table.extend([127, 4, 0, 0, 0, 0]);
    table
}

#[test]
fn modules_labels_and_their_peak() {
    let with = |modules: &[(&str, u16, u16)]| {
        let text = Synth::default().files().into_iter().map(|(path, text)| (path, text.into_bytes()));
        let mut files: Vec<(String, Vec<u8>)> = text.collect();
        files.push(("sys/firmware/dmi/tables/DMI".into(), smbios(modules)));
        files.push(("sys/devices/system/edac/mc/mc0/dimm0/dimm_label".into(), "CPU0 CPU0_DIMM_B1".into()));
        Root::from_files("test", files)
    };
    let root = with(&[
        ("CPU0_DIMM_A1", 8192, 4800),
        ("CPU0_DIMM_A2", 8192, 4800),
        ("CPU0_DIMM_B1", 8192, 4400),
        ("CPU0_DIMM_B2", 0, 0),
    ]);
    let m = found(&root);
    assert_eq!((m.dimms.len(), m.dimms.iter().filter(|d| d.populated).count()), (4, 3));
    assert_eq!(m.dimms[2].edac_label.as_deref(), Some("CPU0 CPU0_DIMM_B1"));
    let peak = m.theoretical_peak.clone().unwrap();
    assert_eq!(peak.bytes_per_second, (4800e6 + 4400e6) * 8.0);
    assert_eq!(
        peak.how,
        "1 channel x 4400 MT/s x 8 bytes + 1 channel x 4800 MT/s x 8 bytes; 3 modules, channels told by slot names"
    );
    // The same from a capture, in which no serial number is left.
    let mut archive = Vec::new();
    capture(&root, &LiveFacts::default(), &mut archive).unwrap();
    let copy = Root::from_archive("copy", &archive).unwrap();
    assert_eq!(found(&copy).dimms, m.dimms);
    let table = copy.read("sys/firmware/dmi/tables/DMI").unwrap().unwrap();
    assert!(table.contains("CPU0_DIMM_A1") && !table.contains("private"), "{table:?}");

    let virtual_board = found(&with(&[("DIMM 0", 8192, 0)]));
    assert_eq!(virtual_board.theoretical_peak, None);
    unseen(&virtual_board, &codes::peak_unknown);
}

/// A server of 16 GiB of which the kernel uses 8 GiB, and of the rest has 4 blocks of 2 GiB; blocks beyond are of memory
/// that was added while it ran, which firmware does not list.
#[test]
fn offline_blocks_are_memory_that_the_modules_hold() {
    let modules = ["CPU0_DIMM_A1", "CPU0_DIMM_B1"].map(|name| (name, 8192, 4800));
    let with = |state: &str, blocks: u32| {
        let mut files = Synth::default().files();
        files.insert("sys/devices/system/memory/block_size_bytes".into(), "80000000\n".into());
        for block in 4..4 + blocks {
            files.insert(format!("sys/devices/system/memory/memory{block}/state"), format!("{state}\n"));
        }
        let mut files: Vec<(String, Vec<u8>)> = files.into_iter().map(|(path, text)| (path, text.into())).collect();
        files.push(("sys/firmware/dmi/tables/DMI".into(), smbios(&modules)));
        found(&Root::from_files("test", files))
    };
    let disputed = |m: &Machine| m.contradictions.iter().any(|found| found.fact == DisputedFact::Modules);
    let (lost, offline) = (with("online", 4), with("offline", 4));
    assert_eq!((lost.system.memory_bytes, lost.offline_bytes(), disputed(&lost)), (Some(8 << 30), Some(0), true));
    assert_eq!((offline.offline_bytes(), disputed(&offline)), (Some(8 << 30), false));
    let added = with("offline", 64);
    assert_eq!((added.offline_bytes(), disputed(&added)), (Some(128 << 30), false));
}

/// The cpus of the second socket are offline: its channels are counted, and judged, as those of a processor.
#[test]
fn a_socket_without_an_online_cpu_is_a_processor() {
    let mut table = Vec::new();
    for handle in [0x40, 0x41] {
        let mut processor = [0u8; 0x19];
        (processor[0], processor[1], processor[2]) = (4, 0x19, handle);
        (processor[0x05], processor[0x18]) = (3, 0x41);
        table.extend(processor);
        table.extend([0, 0]);
    }
    table.extend(smbios(&["CPU0_DIMM_A1", "CPU1_DIMM_A1"].map(|name| (name, 8192, 4800))));
    let with_files = |files: Vec<(String, String)>| {
        let text = files.into_iter().map(|(path, text)| (path, text.into_bytes()));
        found(&Root::from_files("test", text.chain([("sys/firmware/dmi/tables/DMI".to_owned(), table.clone())])))
    };
    let with_table = |synth: Synth| with_files(synth.files().into_iter().collect());
    let m = with_table(Synth::default());
    assert_eq!((m.sockets().len(), m.processors(), m.filled_sockets), (1, 2, 2));
    // Its node is no memory without cpus, as CXL is.
    let slow = MemoryNode { bytes: 1 << 30, distance: 28, tier: 5, latency_ns: 250, bandwidth_mbs: 26_000 };
    let two = Synth { sockets: 2, memory_nodes: vec![slow], ..Synth::default() };
    let far = two.machine().unwrap().nodes[1].cpus.clone();
    let dark = Synth { offline: far.clone(), ..two };
    // The same where the kernel was told to know no more cpus (nr_cpus=): it lists none of them as offline.
    let is_known = |path: &str| !far.iter().any(|cpu| path.starts_with(&format!("sys/devices/system/cpu/cpu{cpu}/")));
    let near = dark.files().into_iter().find(|(path, _)| path == "sys/devices/system/cpu/online").unwrap().1;
    let mut known: Vec<(String, String)> = dark.files().into_iter().filter(|(path, _)| is_known(path)).collect();
    for list in ["present", "possible"] {
        known.push((format!("sys/devices/system/cpu/{list}"), near.clone()));
    }
    known.push(("sys/devices/system/cpu/offline".to_owned(), "\n".to_owned()));
    for (dark, offline) in [(with_table(dark), far.len()), (with_files(known), 0)] {
        assert_eq!((dark.sockets().len(), dark.processors(), dark.offline_cpus.len()), (1, 2, offline));
        let apart = dark.nodes.iter().map(tiermark_model::Node::is_memory_only);
        assert_eq!(apart.collect::<Vec<_>>(), [false, false, true]);
    }
    let processors: Vec<Option<&str>> = m.dimms.iter().map(|dimm| dimm.processor.as_deref()).collect();
    assert_eq!(processors, [Some("cpu0"), Some("cpu1")]);
}

/// A POWER8 or later runs in either byte order: the tree says which, or nobody does.
#[test]
fn the_byte_order_of_power_is_read_and_not_guessed() {
    for (generation, path, text, arch) in [
        (9, "sys/kernel/cpu_byteorder", "little", Some("ppc64le")),
        (9, "sys/kernel/cpu_byteorder", "big", Some("ppc64")),
        (9, "proc/hwloc-nofile-info", "Architecture: ppc64le", Some("ppc64le")),
        (9, "proc/sys/kernel/arch", "ppc64", Some("ppc64")),
        (9, "sys/unused", "", None),
        (7, "sys/unused", "", Some("ppc64")),
    ] {
        let cpuinfo = format!("processor\t: 0\ncpu\t\t: POWER{generation}, altivec supported\nfirmware\t: OPAL\n");
        let files = [("proc/cpuinfo", cpuinfo), (path, format!("{text}\n"))];
        let root = Root::from_files("power", files.map(|(path, text)| (path.to_owned(), text.into_bytes())));
        assert_eq!(found(&root).cpu_model.arch.as_deref(), arch, "POWER{generation}, {path}: {text}");
    }
}

#[test]
fn caches_in_front_of_memory_are_read() {
    let synth = Synth { side_cache_bytes: 3 << 30, ..Synth::default() };
    let mut files = synth.files();
    let direct = SideCache {
        level: 1,
        bytes: Some(3 << 30),
        line_bytes: Some(64),
        indexing: Some(CacheIndexing::Direct),
        write_policy: Some(WritePolicy::Back),
    };
    assert_eq!(of(files.clone()).nodes[0].side_caches, std::slice::from_ref(&direct));
    // A second one, of which firmware says little.
    let dir = "sys/devices/system/node/node0/memory_side_cache/index2";
    for (name, text) in [("size", "0"), ("line_size", "0"), ("indexing", "2"), ("write_policy", "1")] {
        files.insert(format!("{dir}/{name}"), format!("{text}\n"));
    }
    let (indexing, write_policy) = (Some(CacheIndexing::Other), Some(WritePolicy::Through));
    let other = SideCache { level: 2, indexing, write_policy, ..SideCache::default() };
    let m = of(files);
    assert_eq!(m.nodes[0].side_caches, [direct, other]);
    assert_eq!(m.nodes[0].side_cache_bytes(), 3 << 30);
}

#[test]
fn ways_that_contradict_the_size_are_left_out() {
    let with_ways = |ways: &str| {
        let mut files = Synth::default().files();
        for cpu in 0..8 {
            let dir = format!("sys/devices/system/cpu/cpu{cpu}/cache/index3");
            files.insert(format!("{dir}/ways_of_associativity"), format!("{ways}\n"));
            files.insert(format!("{dir}/number_of_sets"), "16384\n".into());
        }
        of(files)
    };
    let ways = |m: &Machine| m.cache_of(0, 3).unwrap().ways;
    assert_eq!(
        (ways(&with_ways("16")), with_ways("16").unseen.len()),
        (Some(16), of(Synth::default().files()).unseen.len())
    );
    let wrong = with_ways("15");
    assert_eq!(ways(&wrong), None);
    // Kunpeng 920 and others are described so: no other fact is in doubt for it.
    assert_eq!(wrong.contradictions, []);
    let said = wrong.unseen.iter().find(|seen| seen.what == "the ways of L3").unwrap();
    assert!(said.why.starts_with("15 ways x 16384 sets x 64 bytes"), "{}", said.why);
}

/// A last-level cache without a size, beside one of another socket that states it.
#[test]
fn a_last_cache_has_the_size_of_its_sister_where_cpuinfo_says_the_same() {
    let mut files = Synth { sockets: 2, ..Synth::default() }.files();
    let sizes = files.iter_mut().filter(|(path, _)| path.ends_with("cache/index3/size"));
    for (path, text) in sizes {
        let is_first = ["cpu0", "cpu1", "cpu2", "cpu3", "cpu8", "cpu9", "cpu10", "cpu11"]
            .iter()
            .any(|cpu| path.contains(&format!("/{cpu}/")));
        *text = if is_first { "55296K\n" } else { "\n" }.to_owned();
    }
    files.insert("proc/cpuinfo".into(), "processor\t: 0\nvendor_id\t: GenuineIntel\ncache size\t: 55296 KB\n".into());
    let m = of(files);
    assert_eq!(m.all_cache_bytes(&ids("4")), Some(55 * MIB), "{:?}", m.unseen);
}

/// Small cores of some processors have no third level: nothing larger hides behind their second.
#[test]
fn a_core_without_a_third_level_beside_others_has_known_caches() {
    let mut files = Synth::default().files();
    files.retain(|path, _| !path.contains("/cpu3/cache/index3/"));
    let m = of(files);
    assert!(m.all_cache_bytes(&ids("3")).is_some(), "{:?}", m.unseen);
}

/// A machine whose last cache has this size, or none is described (`None`), and what `/proc/cpuinfo` says of a cache.
fn with_last_cache(size: Option<&str>, vendor: &str, cpuinfo: &str) -> Machine {
    let mut files = Synth { sockets: 2, ..Synth::default() }.files();
    match size {
        Some(size) => files
            .iter_mut()
            .filter(|(path, _)| path.ends_with("cache/index3/size"))
            .for_each(|(_, text)| *text = format!("{size}\n")),
        None => files.retain(|path, _| !path.contains("cache/index3/")),
    }
    files.insert("proc/cpuinfo".into(), format!("processor\t: 0\nvendor_id\t: {vendor}\n{cpuinfo}"));
    of(files)
}

#[test]
fn a_last_cache_without_a_size_has_that_of_cpuinfo_or_is_not_known() {
    let said = "cache size\t: 55296 KB\n";
    for size in [Some("0K"), Some("512K"), Some("2000G"), Some("garbage"), None] {
        let m = with_last_cache(size, "GenuineIntel", said);
        let last: Vec<_> = m.data_caches().filter(|cache| cache.level == 3).collect();
        assert_eq!(last.iter().map(|cache| &cache.cpus).collect::<Vec<_>>(), [&ids("0-3,8-11"), &ids("4-7,12-15")]);
        assert!(last.iter().all(|cache| cache.bytes == Some(54 * MIB)), "{size:?}: {last:?}");
        assert_eq!(m.all_cache_bytes(&ids("0")), Some(55 * MIB), "{size:?}");
        // AMD states its L2 there, and others nothing.
        for (vendor, cpuinfo) in [("AuthenticAMD", "cache size\t: 2048 KB\n"), ("GenuineIntel", "")] {
            let m = with_last_cache(size, vendor, cpuinfo);
            assert_eq!(m.all_cache_bytes(&ids("0")), None, "{size:?}, {vendor}");
            assert_eq!(m.reachable_cache_bytes(&ids("0")), MIB, "{size:?}, {vendor}: L2 is known");
            let code = if size.is_some() { &codes::last_cache_size_unknown } else { &codes::last_cache_not_described };
            unseen(&m, code);
        }
    }
    let stated = with_last_cache(Some("16384K"), "GenuineIntel", said);
    assert_eq!(stated.all_cache_bytes(&ids("0")), Some(17 * MIB), "the kernel's word");
    assert!(!stated.unseen.iter().any(|refusal| refusal.code == codes::last_cache_size_unknown), "{:?}", stated.unseen);
}
