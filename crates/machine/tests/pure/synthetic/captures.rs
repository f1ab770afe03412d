//! Captured trees: the same machine, the same bytes, and nothing that identifies it.

use std::io::Read;

use crate::synthetic::*;

#[test]
fn a_capture_yields_the_same_machine_and_the_same_bytes() {
    let memory = MemoryNode { bytes: 1 << 38, distance: 30, tier: 22, latency_ns: 255, bandwidth_mbs: 30000 };
    let synth = Synth {
        sockets: 2,
        nodes_per_socket: 2,
        node_stride: 2,
        offline: ids("3"),
        memory_nodes: vec![memory],
        ..Synth::default()
    };
    let mut files = synth.files();
    files.insert("proc/self/cgroup".into(), "0::/job\n".into());
    files.insert(
        "proc/self/mountinfo".into(),
        "9 0 8:1 / /home/secret rw - ext4 /dev/sda rw\n1 0 0:1 / /cg rw - cgroup2 cgroup2 rw\n".into(),
    );
    files.insert("cg/job/cpuset.cpus.effective".into(), "0-2\n".into());
    files.insert("proc/self/status".into(), "Name:\tsecret\nCpus_allowed_list:\t0-9\nMems_allowed_list:\t0\n".into());
    let identity = files["proc/cpuinfo"].clone();
    files.insert("proc/cpuinfo".into(), format!("{identity}Serial\t\t: secret\n"));
    let root = Root::from_files("test", files);
    let live = LiveFacts {
        uname: Some(Uname { release: "6.1".into(), machine: "x86_64".into(), nodename: "secret".into() }),
        page_bytes: Some(4096),
        hypervisor: Some("KVMKVMKVM".into()),
        ..LiveFacts::default()
    };
    for live in [live, LiveFacts::default()] {
        let mut archive = Vec::new();
        let summary = capture(&root, &live, &mut archive).unwrap();
        assert!(summary.files > 100 && summary.bytes > 1000 && !summary.redacted.is_empty());
        let copy = Root::from_archive("copy", &archive).unwrap();
        let mut expected = discover(&root, &live).unwrap();
        expected.system.hostname = Some("captured".into());
        assert_eq!(found(&copy), expected);
        let mut again = Vec::new();
        capture(&copy, &LiveFacts::default(), &mut again).unwrap();
        let mut third = Vec::new();
        capture(&Root::from_archive("copy", &again).unwrap(), &LiveFacts::default(), &mut third).unwrap();
        assert!(again == third, "the same tree gives the same bytes");
        let mut plain = String::new();
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(archive.as_slice()).read_to_end(&mut bytes).unwrap();
        plain.push_str(&String::from_utf8_lossy(&bytes));
        assert!(!plain.contains("secret"), "nothing that identifies the machine leaves it");
    }
}

#[test]
fn a_capture_of_a_real_guest() {
    let m = found(&Root::from_archive("vm.tar.gz", include_bytes!("../../trees/vm.tar.gz")).unwrap());
    assert_eq!((m.cpus.len(), m.core_count(), m.sockets().len(), m.nodes.len()), (2, 2, 1, 1));
    assert_eq!((m.cpu_model.name.as_deref(), m.cpu_model.family), (Some("AMD EPYC"), Some(26)));
    assert_eq!(m.core_limits.as_ref().map(|limits| limits.name.as_str()), Some("Zen 5"));
    assert_eq!(
        m.caches.iter().map(|c| c.bytes.unwrap() >> 10).collect::<Vec<_>>(),
        [48, 48, 32, 32, 1024, 1024, 32768]
    );
    assert_eq!(m.llc_groups()[0].cpus, ids("0-1"));
    assert_eq!((m.page_bytes, m.system.thp_bytes), (4096, Some(2 * MIB)));
    assert_eq!(m.system.mthp.len(), 8);
    assert_eq!((m.system.hypervisor.as_deref(), m.system.container.as_deref()), (Some("KVM"), Some("Docker")));
    assert_eq!((m.system.kernel.as_deref(), m.system.hostname.as_deref()), (Some("6.18.44"), Some("captured")));
    let cgroup = m.system.cgroup.as_ref().unwrap();
    assert_eq!((cgroup.version, cgroup.path.as_str(), cgroup.memory_limit), (1, "/jobs/1", None));
    assert_eq!(m.nodes[0].memory_tier, Some(4));
    assert_eq!(m.nodes[0].huge_pages.iter().map(|p| p.page_bytes).collect::<Vec<_>>(), [2 * MIB, 1 << 30]);
    assert_eq!(m.cpus[0].cluster, None, "65535 is no cluster");
    unseen(&m, &codes::modules_not_described);
    // Memory was added to this guest while it ran, and its node does not count it.
    assert!(
        m.contradictions.iter().any(|found| found.fact == tiermark_model::DisputedFact::Memory),
        "{:?}",
        m.contradictions
    );
}
