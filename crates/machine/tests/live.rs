//! The machine that the tests run on.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which are no tests themselves")]

use tiermark_machine::{LiveFacts, Root, capture, discover};
use tiermark_model::Machine;
use tiermark_model::messages::machine::codes;

fn here(root: &Root) -> Machine {
    discover(root, &LiveFacts::default()).unwrap()
}

#[test]
fn this_machine_is_understood() {
    let m = here(&Root::live());
    // What the standard library takes from the affinity mask, unless a quota cuts it further.
    let threads = std::thread::available_parallelism().unwrap().get();
    assert!(m.allowed_cpus.len() >= threads, "{} < {threads}", m.allowed_cpus);
    assert_eq!(m.cpu_model.arch.as_deref(), Some(std::env::consts::ARCH));
    assert!(m.system.memory_bytes.unwrap() > 1 << 20);
    assert!(m.system.kernel.is_some());
    let malformed: Vec<_> =
        m.unseen.iter().filter(|r| [&codes::file_malformed, &codes::modules_malformed].contains(&&r.code)).collect();
    assert!(malformed.is_empty(), "a live kernel writes no garbage: {malformed:?}");
}

#[test]
fn a_capture_of_this_machine_is_this_machine() {
    let live = here(&Root::live());
    let mut archive = Vec::new();
    capture(&Root::live(), &LiveFacts::default(), &mut archive).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("here.tar.gz");
    std::fs::write(&path, &archive).unwrap();
    let copy = here(&Root::at(&path).unwrap());
    assert_eq!((copy.cpus, copy.caches, copy.dimms), (live.cpus, live.caches, live.dimms));
    assert_eq!(
        (copy.allowed_cpus, copy.allowed_nodes, copy.page_bytes),
        (live.allowed_cpus, live.allowed_nodes, live.page_bytes)
    );
    let lasting =
        |m: &[tiermark_model::Node]| m.iter().map(|n| (n.id, n.cpus.clone(), n.distances.clone())).collect::<Vec<_>>();
    assert_eq!(lasting(&copy.nodes), lasting(&live.nodes));
    assert_eq!(copy.system.hostname.as_deref(), Some("captured"));
    assert_eq!((copy.system.kernel, copy.system.container), (live.system.kernel, live.system.container));
    // Unpacked by hand, it is the same again.
    tar::Archive::new(flate2::read::GzDecoder::new(archive.as_slice())).unpack(dir.path().join("dir")).unwrap();
    let unpacked = here(&Root::at(dir.path().join("dir")).unwrap());
    assert_eq!(unpacked, here(&Root::at(&path).unwrap()));
}
