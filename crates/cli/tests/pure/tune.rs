//! `tiermark tune` and `tiermark doctor`: views of trees of files.

use std::fs;

use crate::common::User;
use tiermark_machine::synth::{MemoryNode, Synth};

/// A directory tree of a synthetic machine, with some files more.
fn tree(user: &User, synth: &Synth, files: &[(&str, &str)]) -> String {
    let dir = user.path("tree");
    let all = synth.files().into_iter().chain(files.iter().map(|(p, t)| ((*p).to_owned(), format!("{t}\n"))));
    for (path, text) in all {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir.display().to_string()
}

fn server(user: &User) -> String {
    let slow = MemoryNode { bytes: 1 << 37, distance: 28, tier: 5, latency_ns: 250, bandwidth_mbs: 26_000 };
    let synth = Synth { sockets: 2, cores_per_node: 16, memory_nodes: vec![slow], ..Synth::default() };
    let mut files = vec![
        ("proc/sys/vm/page-cluster", "3"),
        ("proc/sys/vm/watermark_scale_factor", "10"),
        ("proc/sys/vm/swappiness", "60"),
        ("proc/sys/kernel/numa_balancing", "1"),
        ("sys/kernel/mm/numa/demotion_enabled", "false"),
        ("sys/kernel/mm/ksm/run", "1"),
        ("sys/kernel/mm/transparent_hugepage/defrag", "always defer defer+madvise [madvise] never"),
        ("sys/module/zswap/parameters/enabled", "Y"),
        ("sys/module/nvme/parameters/io_queue_depth", "1024"),
        ("sys/block/nvme0n1/queue/scheduler", "[none] mq-deadline kyber"),
        ("sys/block/nvme0n1/queue/nr_requests", "1023"),
        ("sys/block/nvme0n1/device/device/numa_node", "1"),
        ("proc/swaps", "Filename Type Size Used Priority\n/dev/nvme0n1 partition 8388608 4096 -2"),
        ("proc/cmdline", "quiet isolcpus=3"),
        ("boot/config-6.12.0-synthetic", "CONFIG_RCU_NOCB_CPU=y"),
        ("proc/loadavg", "0.10 0.10 0.10 1/1 1"),
        ("sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI"),
    ];
    let governors: Vec<String> =
        (0..64).map(|cpu| format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor")).collect();
    files.extend(governors.iter().map(|path| (path.as_str(), "powersave")));
    tree(user, &synth, &files)
}

#[test]
fn views_of_a_server() {
    let user = User::new();
    let tree = server(&user);
    let ran = user.run(&["tune", "--root", &tree]).expect(0);
    insta::assert_snapshot!("tune_server", ran.out);
    let ran = user.run(&["tune", "--root", &tree, "--profile=latency", "--device=nvme0n1", "-v", "--ascii"]).expect(0);
    insta::assert_snapshot!("tune_server_latency_verbose_ascii", ran.out);
    assert!(ran.out.is_ascii());
    let ran = user.run(&["doctor", "--root", &tree]).expect(3);
    insta::assert_snapshot!("doctor_server", ran.out);
    for arguments in [&["tune", "--root", &tree][..], &["doctor", "--root", &tree]] {
        let ran = user.run(arguments);
        assert!(ran.out.lines().all(|line| line.chars().count() <= 80), "{}", ran.out);
    }
}

#[test]
fn documents_of_a_server() {
    let user = User::new();
    let tree = server(&user);
    let tuning = user.run(&["tune", "--root", &tree, "--device=nvme0n1", "--json"]).expect(0).json();
    assert_eq!(tuning["schema"], "tiermark/tune/1");
    let knobs = tuning["knobs"].as_array().unwrap();
    let knob = |name: &str| knobs.iter().find(|k| k["name"] == name).unwrap();
    assert_eq!(knob("scaling_governor")["files"].as_array().unwrap().len(), 64);
    assert_eq!(
        (knob("queue/nr_requests")["reach"].as_str(), knob("queue/nr_requests")["advice"].as_str()),
        (Some("live"), Some("64"))
    );
    assert_eq!(knob("kernel.numa_balancing")["advice"], "2", "memory below another tier");
    let checkup = user.run(&["doctor", "--root", &tree, "--json"]).expect(3).json();
    assert_eq!(checkup["schema"], "tiermark/doctor/1");
    assert_eq!(user.run(&["machine", "--root", &tree, "--json"]).expect(0).json()["schema"], "tiermark/machine/1");
    let checks = checkup["checks"].as_array().unwrap();
    let problem = checks.iter().find(|check| check["health"] == "problem").unwrap();
    assert!(problem["cure"].is_string() && problem["why"].is_string(), "{problem}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let user = User::new();
    let tree = server(&user);
    let told = user.run(&["tune", "--only=swapiness"]).expect(2).err;
    assert!(told.contains("swapiness") && told.contains("vm.swappiness"), "{told}");
    let told = user.run(&["tune", "--root", &tree, "--device=sdz"]).expect(4).err;
    assert!(told.contains("sdz") && told.contains("nvme0n1"), "{told}");
    for arguments in [
        &["tune", "--apply", "--restore"][..],
        &["tune", "--diff", "--apply"],
        &["tune", "--restore", "--profile=latency"],
        &["tune", "--force"],
        &["tune", "--root", &tree, "--apply"],
        &["tune", "--simulate", "synth:cores=2", "--apply"],
        &["tune", "--simulate", "synth:cores=2", "--restore"],
    ] {
        user.run(arguments).expect(2);
    }
}
