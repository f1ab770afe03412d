//! Tenants of a capacity run in guests: control groups of version 2, memory on another node, swap on a device.

use serde_json::Value;

use crate::checks::guest_with;
use crate::common::fullest;

/// A search of small tenants, for processors that are emulated: times mean nothing, counts do. Two of some 14 MiB fit.
const SMALL: &str = "capacity --force --scenario mini --records 4000 --rps 50 --measure 2s --iterations 1 --warmup 0 \
                     --most-tenants 4 --dram-budget 36M --tier-size 96M --memory-floor 64M --level 'rate > 50%' --seed 1 -q";

fn case<'a>(document: &'a Value, tier: &str) -> &'a Value {
    let cases = document["cases"].as_array().unwrap();
    cases.iter().find(|case| case["tier"] == tier).unwrap_or_else(|| panic!("no {tier} in {document}"))
}

#[test]
#[ignore = "boots a guest: ./test"]
fn tenants_in_groups_of_version_2_on_every_tier() {
    let left = guest_with(
        "2node",
        &[
            "--share", "redis-server", "--share", "/usr/sbin/mkswap", "--share", "/usr/sbin/swapon", "--module", "lzo-rle", "--module", "zram",
            "--swap", "128",
        ],
        &format!(
            "swapoff -a; dd if=/dev/zero of=/dev/vda bs=1M count=1 2>/dev/null
             echo +memory > /sys/fs/cgroup/cgroup.subtree_control
             export TIERMARK_HOME=/tmp/home
             run capacity tiermark {SMALL} --tiers dram,zram,swap:/dev/vda,node:1 --json=capacity.json
             (find /sys/fs/cgroup -name '*tiermark*'; tail -n +2 /proc/swaps; ls /sys/block; pidof redis-server) > after.txt
             tiermark {SMALL} --tiers zram 2>/dev/null >/dev/null & killed=$!
             for i in $(seq 300); do grep -q zram1 /proc/swaps && break; sleep 0.1; done
             kill -9 $killed
             (cat /proc/swaps; pidof redis-server) > killed.txt
             run restore tiermark tune --restore
             (find /sys/fs/cgroup -name '*tiermark*'; tail -n +2 /proc/swaps; ls /sys/block; pidof redis-server) > restored.txt
             run demotion tiermark {SMALL} --tiers demotion:1
             printf x | dd of=/dev/vda bs=1 seek=1080 conv=notrunc 2>/dev/null
             run foreign tiermark {SMALL} --tiers swap:/dev/vda"
        ),
    );
    // 5: that all had room was seen, and some trials were not clear, because the host was busy.
    assert!([0, 5].contains(&left.code("capacity")), "{}", left.text("capacity.txt"));
    assert_tiers(&left.json("capacity.json"));
    // The guest's own device stays, and nothing else.
    for file in ["after.txt", "restored.txt"] {
        let text = left.text(file);
        assert!(!text.contains("tiermark") && !text.contains("/dev/") && !text.contains("zram1"), "{file}: {text}");
        assert!(!text.lines().any(|line| line.parse::<u32>().is_ok()), "{file}: {text}");
    }
    let killed = left.text("killed.txt");
    assert!(killed.contains("zram1"), "the kill came too late or too early: {killed}");
    assert_eq!(left.code("restore"), 0, "{}", left.text("restore.txt"));
    // The guest's kernel takes both nodes for equally fast.
    assert_eq!(left.code("demotion"), 4);
    assert!(left.text("demotion.txt").contains("demotes nothing to it"), "{}", left.text("demotion.txt"));
    assert_eq!(left.code("foreign"), 4);
    assert!(left.text("foreign.txt").contains("the device holds data"), "{}", left.text("foreign.txt"));
}

/// DRAM alone kills the third, or one beside it; with each tier behind it more fit, up to the four that may be tried.
fn assert_tiers(document: &Value) {
    let dram = case(document, "dram");
    let held = fullest(dram)["tenants"].as_u64().unwrap();
    assert!((1..=3).contains(&held), "{dram}");
    assert!(dram["ended_by"]["why"]["code"] == "processes_killed", "{dram}");
    for tier in ["zram", "swap:/dev/vda", "node:1"] {
        let case = case(document, tier);
        // That all had room is counted; whether each trial was clear depends on how busy the host is.
        assert!((held.max(2) + 1..=4).contains(&fullest(case)["tenants"].as_u64().unwrap()), "{tier}: {case}");
        let evidence = &fullest(case)["evidence"];
        let number = |name: &str| evidence[name].as_f64().unwrap_or_else(|| panic!("{name} in {evidence}"));
        assert_eq!(evidence["oom_kills"], 0, "{tier}");
        if tier == "node:1" {
            assert_eq!(number("resident_share"), 1.0);
        } else {
            assert!(number("resident_share") < 0.95 && number("faults_per_request") > 0.05, "{tier}: {evidence}");
        }
    }
}

#[test]
#[ignore = "boots a guest: ./test"]
fn pages_are_demoted_to_slower_memory_when_dram_is_full() {
    // Reserved huge pages leave little of the near nodes: that is DRAM then. The budget is between what is free there
    // less the floor of these nodes (63 MiB) and nine tenths of it less the whole floor; some 35 MiB are free or taken
    // by what boots.
    let left = guest_with(
        "cxlhot",
        &["--share", "redis-server"],
        "echo +memory > /sys/fs/cgroup/cgroup.subtree_control
         export TIERMARK_HOME=/tmp/home
         cd /sys/devices/system/node
         for node in node0 node1; do
             free=$(awk '/MemFree/ { print $4 }' $node/meminfo)
             echo $(( (free - 130 * 1024) / 2048 )) > $node/hugepages/hugepages-2048kB/nr_hugepages
         done
         free=$(cat node0/meminfo node1/meminfo | awk '/MemFree|ctive\\(file\\)/ { sum += $4 } END { print sum }')
         cd /out
         cat /sys/kernel/mm/numa/demotion_enabled > before.txt
         run demotion tiermark capacity --force --scenario mini --records 3750 --value-size 8K --rps 50 --measure 2s --iterations 1 --warmup 0 --most-tenants 8 \\
             --dram-budget $(( free - 110 * 1024 ))K --memory-floor 96M --level 'rate > 50%' --seed 1 -q --tiers demotion:2 --json=demotion.json
         cat /sys/kernel/mm/numa/demotion_enabled > after.txt
         awk '/^pgdemote_/ { sum += $2 } END { print sum }' /proc/vmstat > demoted.txt",
    );
    // 5: that all had room was seen, and some trials were not clear, because the host was busy.
    assert!([0, 5].contains(&left.code("demotion")), "{}", left.text("demotion.txt"));
    let document = left.json("demotion.json");
    let case = case(&document, "demotion:2");
    // That all had room is counted; whether each trial was clear depends on how busy the host is.
    assert!((7..=8).contains(&fullest(case)["tenants"].as_u64().unwrap()), "{case}");
    // Most pages are demoted while tenants fill, before any time in which evidence is taken: the kernel's count says
    // that some were.
    let by_kernel: u64 = left.text("demoted.txt").trim().parse().unwrap();
    // A trial that a guard ended, because the host was busy, has no evidence.
    let trials = case["probes"].as_array().unwrap().iter().filter(|probe| probe["evidence"].is_object());
    let demoted = |probe: &Value| probe["evidence"]["demoted"].as_u64().unwrap_or_else(|| panic!("{probe}"));
    let seen: u64 = trials.map(demoted).sum();
    assert_eq!(fullest(case)["evidence"]["oom_kills"], 0, "{case}");
    assert!(by_kernel > 0 && seen <= by_kernel, "{seen} of {by_kernel}: {case}");
    assert_eq!(left.text("before.txt"), left.text("after.txt"), "the kernel's knob is as it was");
}
