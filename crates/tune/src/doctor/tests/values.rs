//! What rows of the check-up say, and the cures they name.

use super::*;

#[test]
fn errors_of_memory_are_named_with_all_places_of_each_kind() {
    let files = [
        ("sys/devices/system/edac/mc/mc0/ce_count", "12345"),
        ("sys/devices/system/edac/mc/mc0/ue_count", "0"),
        ("sys/devices/system/edac/mc/mc0/dimm3/dimm_ce_count", "12345"),
        ("sys/devices/system/edac/mc/mc0/dimm3/dimm_label", "A4"),
        ("sys/devices/system/edac/mc/mc1/ue_count", "1"),
    ];
    let check = examined(&files, None)["memory errors"].clone();
    assert_eq!(check.value, "12345 corrected (mc0/dimm3 (A4)), 1 not corrected (mc1)");
    let cure = check.cure.unwrap();
    assert!(
        cure.starts_with("replace the module at mc1 (")
            && cure.contains("reseat or replace the module at mc0/dimm3 (A4)"),
        "{cure}"
    );
}

#[test]
fn memory_in_reserved_huge_pages_is_given_back_by_their_number() {
    let of = |free: &str, meminfo: &str| {
        let meminfo = format!("MemTotal: 16777216 kB\nMemAvailable: 1000000 kB\n{meminfo}");
        let pool = "sys/devices/system/node/node0/hugepages/hugepages-2048kB";
        let (nr, unused) = (format!("{pool}/nr_hugepages"), format!("{pool}/free_hugepages"));
        let files = [("proc/meminfo", meminfo.as_str()), (nr.as_str(), "7000"), (unused.as_str(), free)];
        let check = examined(&files, None)["available memory"].clone();
        assert_eq!(check.health, Health::Problem);
        (check.value, check.cure.unwrap())
    };
    let (value, cure) = of("6900", "Hugepagesize: 2048 kB");
    assert!(value.ends_with(", 13.48 GiB more in reserved huge pages that nothing uses"), "{value}");
    assert!(cure.contains("sysctl vm.nr_hugepages=100;"), "{cure}");
    let (_, cure) = of("6900", "Hugepagesize: 1048576 kB");
    assert!(cure.contains("echo 100 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"), "{cure}");
    let (value, cure) = of("0", "Hugepagesize: 2048 kB");
    assert!(value.ends_with("; 13.67 GiB are in reserved huge pages that programs use or were promised"), "{value}");
    assert!(cure.starts_with("reserve fewer huge pages"), "{cure}");
}

#[test]
fn a_governor_that_the_kernel_lacks_is_no_cure() {
    let cure = |available: &str| {
        let dir = "sys/devices/system/cpu/cpufreq/policy0";
        let (governor, names) = (format!("{dir}/scaling_governor"), format!("{dir}/scaling_available_governors"));
        let files = [(governor.as_str(), "schedutil"), (names.as_str(), available)];
        examined(&files, None)["governor"].cure.clone().unwrap()
    };
    assert!(cure("performance schedutil").starts_with("tiermark tune"));
    assert!(cure("schedutil userspace").starts_with("the kernel has schedutil userspace only: modprobe"));
}

#[test]
fn zram_is_named_where_it_is_swap() {
    let swaps = ("proc/swaps", "F T S U P\n/dev/zram0 partition 2097152 1024 100\n/dev/sda2 partition 2097152 512 -2");
    let checks = examined(&[swaps, ("sys/module/zswap/parameters/enabled", "Y")], None);
    assert_eq!(checks["swap"].value, "1.5 MiB of 4 GiB used; 1 MiB of it on /dev/zram0 (zram)");
    assert_eq!(checks["zram"].value, "in use as swap: /dev/zram0 (2 GiB)");
    assert_eq!(checks["zswap"].value, "on, in front of zram: pages are compressed twice");
}

#[test]
fn a_part_of_a_mitigation_is_none_that_is_missing() {
    let of = |name: &str| format!("sys/devices/system/cpu/vulnerabilities/{name}");
    let paths = [of("spec_rstack_overflow"), of("spec_store_bypass"), of("spectre_v1"), of("meltdown")];
    let states = ["Vulnerable: Safe RET, no microcode", "Vulnerable", "Mitigation: usercopy", "Not affected"];
    let files: Vec<(&str, &str)> = paths.iter().map(String::as_str).zip(states).collect();
    let said =
        "1 active; in part against spec_rstack_overflow (Safe RET, no microcode); none against spec_store_bypass";
    assert_eq!(examined(&files, None)["mitigations"].value, said);
    // What stands behind other signs than a colon is the state of what the kernel does not use: booted with
    // `mitigations=off`.
    let off = [
        "Vulnerable; SMT vulnerable",
        "Vulnerable, IBPB: disabled, STIBP: disabled",
        "KVM: Vulnerable",
        "Not affected",
    ];
    let files: Vec<(&str, &str)> = paths.iter().map(String::as_str).zip(off).collect();
    let said = &examined(&files, None)["mitigations"].value;
    assert!(said.contains("none against") && !said.contains("in part"), "{said}");
}

#[test]
fn a_full_group_leaves_nothing_to_measure() {
    let of = |used: &str| {
        let files = [
            ("proc/self/mountinfo", "30 20 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"),
            ("proc/self/cgroup", "0::/box"),
            ("sys/fs/cgroup/box/memory.max", "1073741824"),
            ("sys/fs/cgroup/box/memory.current", used),
            ("sys/fs/cgroup/box/memory.events", "low 0\nhigh 0\nmax 9\noom 3\noom_kill 3"),
        ];
        examined(&files, None)["memory limit"].clone()
    };
    // The 17 MiB of L2 and L3 need 34 MiB, which are half of what must be left.
    let (full, nearly) = (of("1073741824"), of("1002438657"));
    assert_eq!([full.health, nearly.health, of("1002438656").health], [Health::Problem, Health::Problem, Health::Note]);
    assert!(full.value.contains("3 kills for lack of memory so far: too little is left"), "{full:?}");
    assert!(full.cure.unwrap().contains("echo max > /sys/fs/cgroup/box/memory.max"));
}

/// Boards whose slot names (A1 to A8) do not tell the channels: fewer modules than channels leave some empty.
#[test]
fn counting_proves_channels_empty_where_names_do_not_tell() {
    let said = |slots: usize, modules: usize| {
        let check = with_board(&vec![(3200.0, 32); modules], |machine| {
            machine.dimms.resize(slots, tiermark_model::Dimm::default());
            for (n, dimm) in machine.dimms.iter_mut().enumerate() {
                dimm.locator = Some(format!("A{}", n + 1));
            }
        })["memory channels"]
            .clone();
        (check.health, check.value)
    };
    assert_eq!(said(16, 4), (Health::Note, "at most 4 of 8 channels filled".to_owned()));
    let uneven = "at most 7 of 8 channels filled: accesses are not interleaved over all; reads may lose a third of \
        their bandwidth";
    assert_eq!(said(8, 7), (Health::Problem, uneven.to_owned()));
    assert_eq!(said(16, 8).0, Health::NotHere, "two modules may share a channel");
    assert_eq!(said(7, 7).0, Health::NotHere, "every slot is filled");
}

#[test]
fn what_firmware_states_of_some_modules_only_is_not_judged() {
    let said = |name: &str, change: fn(&mut Machine)| {
        let check = with_board(&[(3200.0, 32); 8], change)[name].clone();
        (check.health, check.value)
    };
    let (health, value) = said("module sizes", |machine| machine.dimms[3].bytes = None);
    assert_eq!((health, value.as_str()), (Health::NotHere, "not judged: 7 of 8 sizes are stated"));
    // The kernel has more memory than the modules of the table hold.
    let unlisted = |machine: &mut Machine| {
        let view = |says: &str| tiermark_model::View { source: "x".to_owned(), says: says.to_owned() };
        let fact = tiermark_model::DisputedFact::Modules;
        machine.system.memory_bytes = Some(280 << 30);
        machine.contradictions =
            vec![tiermark_model::Contradiction { fact, used: view("280"), set_aside: view("256") }];
    };
    for name in ["memory channels", "module sizes", "module speed"] {
        let (health, value) = said(name, unlisted);
        assert!(
            health == Health::NotHere && value.contains("more memory than the modules that SMBIOS lists"),
            "{name}: {value}"
        );
    }
}

#[test]
fn modules_that_run_above_their_rated_speed_are_named() {
    let check = with_modules(&[(6000.0, 32); 8])["module speed"].clone();
    let said = "8 of 8 modules at 6000 MT/s, above the rated 3200";
    assert_eq!((check.health, check.value.as_str()), (Health::Note, said));
}

/// Boards with two slots a channel.
#[test]
fn a_missing_module_is_named_by_the_slot_that_other_channels_fill_and_by_the_size_of_its_channel() {
    let with = |filled: fn(usize, usize) -> bool| {
        with_board(&[(3200.0, 1); 8], move |machine| {
            let slot = machine.dimms[0].clone();
            let of = |(channel, number): (usize, usize)| {
                let locator = format!("DIMM_{}{number}", char::from(b'A' + channel as u8));
                let (populated, bytes) = (filled(channel, number), Some(32 << 30).filter(|_| filled(channel, number)));
                tiermark_model::Dimm { locator: Some(locator), populated, bytes, ..slot.clone() }
            };
            machine.dimms = (0..8).flat_map(|channel| [(channel, 1), (channel, 2)]).map(of).collect();
        })
    };
    // The second slot of each channel is filled first.
    let second = with(|channel, number| number == 2 && channel != 6);
    assert!(second["memory channels"].cure.as_ref().unwrap().ends_with(": DIMM_G2"), "{second:?}");
    let lacking = &with(|channel, number| (channel, number) != (4, 2))["module sizes"];
    assert_eq!(lacking.health, Health::Note);
    assert_eq!(lacking.value, "32 GiB each, but channels of 32 GiB, 64 GiB");
    assert_eq!(lacking.cure.as_deref(), Some("fill all channels alike: DIMM_E2"));
    assert_eq!(with(|_, _| true)["module sizes"].health, Health::Ok);
}

/// Version 1 has another word for no limit, and a limit above what is mounted has no file here to write to.
#[test]
fn the_cure_of_a_full_group_of_version_1_can_be_done() {
    let cure = |limit: &str, stat: &str| {
        let files = [
            ("proc/self/mountinfo", "30 20 0:1 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"),
            ("proc/self/cgroup", "4:memory:/"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", limit),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "1073741824"),
            ("sys/fs/cgroup/memory/memory.stat", stat),
        ];
        examined(&files, None)["memory limit"].cure.clone().unwrap()
    };
    assert!(cure("1073741824", "cache 0").contains("echo -1 > /sys/fs/cgroup/memory/memory.limit_in_bytes"));
    let above = cure("9223372036854771712", "hierarchical_memory_limit 1073741824");
    assert!(above.contains("the group above") && !above.contains("echo"), "{above}");
}

#[test]
fn channels_that_nobody_can_fill_have_no_module_to_buy() {
    let said = |modules: usize, change: fn(&mut Machine)| {
        let check = with_board(&vec![(3200.0, 1); modules], change)["memory channels"].clone();
        (check.health, check.value, check.cure.unwrap_or_default())
    };
    let persistent = |machine: &mut Machine| {
        for dimm in machine.dimms.iter_mut().skip(1).step_by(2) {
            dimm.kind = Some("Logical non-volatile device".to_owned());
            dimm.bytes = Some(16 << 30);
        }
    };
    let (health, value, cure) = said(8, persistent);
    assert_eq!(health, Health::Note);
    assert_eq!(value, "4 of 8 channels filled with DRAM; persistent memory has the other slots");
    assert!(!cure.contains("put a module"), "{cure}");
    // A board that has half of the processor's channels.
    let half = |machine: &mut Machine| machine.dimms.truncate(4);
    assert_eq!(said(4, half), (Health::Ok, "4 of 4 channels filled".to_owned(), String::new()));
    let (_, value, cure) = said(3, half);
    assert_eq!(value, "3 of 4 channels filled");
    assert!(cure.ends_with(": DIMM_D1"), "{cure}");
    let disputed = |machine: &mut Machine| {
        let view = |says: &str| tiermark_model::View { source: "x".to_owned(), says: says.to_owned() };
        let fact = tiermark_model::DisputedFact::Package { cpu: 1 };
        machine.contradictions = vec![tiermark_model::Contradiction { fact, used: view("1"), set_aside: view("2") }];
    };
    assert_eq!(said(7, disputed).0, Health::NotHere);
    // The kernel manages more than the DRAM: it is the persistent memory, in front of which DRAM is a cache.
    let row = |change: fn(&mut Machine)| with_board(&[(3200.0, 1); 8], change)["memory modules"].clone();
    assert_eq!(row(persistent).health, Health::Note);
    let app_direct = row(|machine| {
        machine.dimms[0].bytes = Some(8 << 30);
        machine.dimms[7].kind = Some("Logical non-volatile device".to_owned());
    });
    assert_eq!((app_direct.health, app_direct.value.as_str()), (Health::Ok, "8 of 8 slots filled"));
    let cards = |machine: &mut Machine| machine.cxl_modules = vec![machine.dimms[0].clone(); 2];
    assert_eq!(row(cards).value, "8 of 8 slots filled, 2 modules on CXL cards");
}

/// Boards of 8 channels with two slots each, for processors whose channels nobody knows.
#[test]
fn channels_without_a_module_are_named_by_the_names_of_slots_alone() {
    type Naming = fn(usize, char, usize) -> (String, String);
    let namings: [(Naming, &str); 7] = [
        (|_, letter, slot| (format!("DIMM_P0_{letter}{slot}"), String::new()), "DIMM_P0_H0"),
        (|_, letter, slot| (format!("DIMM_P0_{letter}{slot}"), format!("P0 {letter}")), "DIMM_P0_H0"),
        (|n, _, slot| (format!("P0_NODE0_CHANNEL{n}_DIMM{slot}"), String::new()), "P0_NODE0_CHANNEL7_DIMM0"),
        (|n, _, slot| (format!("SOCKET 0 CHANNEL {n} DIMM {slot}"), String::new()), "SOCKET 0 CHANNEL 7 DIMM 0"),
        (|_, letter, slot| (format!("DIMM_{letter}{}", slot + 1), String::new()), "DIMM_H1"),
        (|_, letter, slot| (format!("CPU0_DIMM_{letter}{}", slot + 1), String::new()), "CPU0_DIMM_H1"),
        (|n, _, slot| (format!("DIMM0{n}{slot} J{n}{slot}"), String::new()), "DIMM070 J70"),
    ];
    let board = |naming: Naming, filled: usize| -> Vec<tiermark_model::Dimm> {
        let module = |n: usize| {
            let (channel, slot) = (n / 2, n % 2);
            let (locator, bank) = naming(channel, char::from(b'A' + channel as u8), slot);
            let populated = slot == 0 && channel < filled;
            tiermark_model::Dimm {
                locator: Some(locator),
                // Firmware may leave out the bank of an empty slot.
                bank: Some(bank).filter(|bank| populated && !bank.is_empty()),
                populated,
                configured_transfers: populated.then_some(3200e6),
                ..tiermark_model::Dimm::default()
            }
        };
        (0..16).map(module).collect()
    };
    let said = |dimms: Vec<tiermark_model::Dimm>| {
        let root = Root::from_files("test", Synth::default().files());
        let mut machine = Synth::default().machine().unwrap();
        machine.theoretical_peak = tiermark_machine::dmi::theoretical_peak(&dimms, 0, 1, None);
        machine.dimms = dimms;
        let checks =
            checkup(&CheckInput { root: &root, machine: &machine, busy: None, interrupted: None, held: &[] }).checks;
        let row = checks.into_iter().find(|row| row.name == "memory channels").unwrap();
        (row.health, row.value, row.cure.unwrap_or_default())
    };
    for (naming, empty) in namings {
        let (health, value, cure) = said(board(naming, 7));
        assert_eq!((health, value.split(':').next()), (Health::Problem, Some("7 of 8 channels filled")), "{empty}");
        assert!(cure.ends_with(&format!("each empty channel: {empty}")), "{cure}");
        assert_eq!(said(board(naming, 8)), (Health::Ok, "8 of 8 channels filled".to_owned(), String::new()));
    }
    // A board for two processors, and one of them: the slots of the other socket wait for it.
    let of_two = |filled: usize| {
        let mut dimms = board(namings[0].0, filled);
        let others = board(|_, letter, slot| (format!("DIMM_P1_{letter}{slot}"), String::new()), 0);
        dimms.extend(others);
        said(dimms)
    };
    assert_eq!(of_two(8).1, "8 of 8 channels filled");
    assert!(of_two(7).2.ends_with("each empty channel: DIMM_P0_H0"), "{:?}", of_two(7));
}

#[test]
fn free_huge_pages_that_are_promised_are_named() {
    let pool = "sys/devices/system/node/node0/hugepages/hugepages-2048kB";
    let (nr, free) = (format!("{pool}/nr_hugepages"), format!("{pool}/free_hugepages"));
    let row = |promised: &str| {
        let resv = ("sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", promised);
        let memory = ("proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 20500 kB");
        examined(&[(nr.as_str(), "8"), (free.as_str(), "7"), resv, memory], None)["huge pages, reserved"].clone()
    };
    let some = row("6");
    assert_eq!(
        (some.health, some.value.as_str()),
        (Health::Ok, "7 of 8 free of 2 MiB, 6 of them promised to programs")
    );
    for all in ["7", "9"] {
        let row = row(all);
        let value = "7 of 8 free of 2 MiB, all of them promised to programs that have not touched them yet; for a run \
            on these pages raise /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages from 8 by the pages that the \
            run needs, at most 10 in the available memory, or use --pages thp";
        assert_eq!((row.health, row.value.as_str(), row.cure), (Health::Ok, value, None), "a database's pool");
    }
}

#[test]
fn every_quota_that_limits_is_named_in_the_value_and_in_the_cure() {
    let quota = |above: &str| {
        let files = [
            ("proc/self/mountinfo", "30 20 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"),
            ("proc/self/cgroup", "0::/a/b"),
            ("sys/fs/cgroup/a/b/cpu.max", "200000 100000"),
            ("sys/fs/cgroup/a/b/cpu.stat", "nr_throttled 3"),
            ("sys/fs/cgroup/a/cpu.max", "12800000 100000"),
            ("sys/fs/cgroup/a/cpu.stat", above),
        ];
        let row = examined(&files, None)["cpu quota"].clone();
        (row.health, row.value, row.cure.unwrap_or_default())
    };
    let (own, above) = ("/sys/fs/cgroup/a/b/cpu.max", "/sys/fs/cgroup/a/cpu.max");
    let of_own = format!("2.00 cpus by {own}; stopped 3 times so far");
    assert_eq!(quota("nr_throttled 0"), (Health::Problem, of_own.clone(), format!("for the run: echo max > {own}")));
    let (health, value, cure) = quota("nr_throttled 8");
    assert_eq!((health, value), (Health::Problem, format!("{of_own}; 128.00 cpus by {above}; stopped 8 times so far")));
    assert_eq!(cure, format!("for the run: echo max > {own}; echo max > {above}"));
}

#[test]
fn memory_that_is_offline_is_named_with_the_command_that_brings_it_back() {
    let block = |id: u32| format!("sys/devices/system/memory/memory{id}/state");
    let link = |id: u32| format!("sys/devices/system/node/node1/memory{id}/state");
    let (one, two, link_one, link_two) = (block(32), block(33), link(32), link(33));
    let files = |state| {
        [
            ("sys/devices/system/memory/block_size_bytes", "80000000"),
            (one.as_str(), state),
            (two.as_str(), state),
            (link_one.as_str(), ""),
            (link_two.as_str(), ""),
        ]
    };
    let row = examined(&files("offline"), None)["memory offline"].clone();
    assert_eq!((row.health, row.value.as_str()), (Health::Note, "4 GiB of node 1"));
    assert_eq!(
        row.cure.as_deref(),
        Some(
            "look at the blocks with `lsmem`, then bring them online: sudo chmem -e 4096M, unless they were taken \
                offline because of memory errors"
        )
    );
    assert_eq!(examined(&files("online"), None)["memory offline"].value, "none");
    assert_eq!(examined(&[], None)["memory offline"].health, Health::NotHere);
}

#[test]
fn threads_of_a_core_are_seen_whatever_the_switch_says() {
    let row = examined(&[("sys/devices/system/cpu/smt/control", "notsupported")], None)["SMT"].clone();
    assert_eq!(row.health, Health::Note);
    assert_eq!(row.value, "2 threads a core, although the kernel's switch says 'notsupported'");
}

#[test]
fn sizes_of_two_kinds_of_modules_are_told_apart() {
    let mixed = |machine: &mut Machine| machine.dimms[0].kind = Some("DDR3".to_owned());
    let sizes = with_board(&[(3200.0, 32); 8], mixed)["module sizes"].value.clone();
    assert_eq!(sizes, "32 GiB each (DDR3), 32 GiB each (DDR4)");
}
