//! A program that uses this crate and never calls `reexec`: alone in its file, since other tests call it.

use crate::common::{first_cpu, host, region};
use tiermark_engine::Host;
use tiermark_model::{Layout, OsCall, PageKind, Refusal, Role, Setup, ThreadSetup};

#[test]
fn a_program_that_does_not_ask_is_not_started_again() {
    let mut host = host();
    let cpu = first_cpu(host.machine());
    // One whose memory and caller are in a process of their own, and one that would start the program from here.
    let setup = |id: &str, threads: usize| Setup {
        regions: vec![region(4096, PageKind::Base, Layout::Data); 1],
        threads: vec![ThreadSetup::new(cpu, Role::Os(OsCall::new(id.into())), 0); threads],
        seed: 7,
    };
    let mut refusal = |id: &str, threads| -> Refusal { host.prepare(&setup(id, threads)).err().unwrap() };
    for (id, threads) in [("fork+exit", 1), ("fork+exec", 1), ("fork+exec", 2), ("posix_spawn", 2)] {
        let refusal = refusal(id, threads);
        assert!(
            refusal.why.contains("never called reexec") && refusal.cure.contains("tiermark_host::reexec"),
            "{refusal}"
        );
    }
    // One that asked, and does not do what it was told to: it ends, as this one does with an argument that names no
    // test.
    assert_eq!(tiermark_host::reexec([]), None);
    let refusal = refusal("fork+exit", 1);
    assert_eq!(refusal.code, tiermark_model::messages::subprocess::codes::subprocess_ended, "{refusal}");
}
