use super::*;
use crate::body;
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{Uid, set_thread_res_uid};
use tiermark_model::Machine;
use tiermark_model::OsCall;
use tiermark_system::testing::{clock, in_own_process};

fn call(id: &str) -> OsCall {
    OsCall { bytes: Some(MIB), ..OsCall::new(id.into()) }
}

/// The rows that this system can have.
fn rows() -> impl Iterator<Item = &'static Primitive> {
    PRIMITIVES.iter().filter(|row| (row.refuse)(&Machine::default()).is_none())
}

#[test]
fn every_row_does_its_work() {
    for row in rows() {
        let mut body = body(&call(row.id)).unwrap_or_else(|refusal| panic!("{}: {refusal}", row.id));
        for times in [1, 3] {
            body.run(times).unwrap_or_else(|why| panic!("{}: {why}", row.id));
        }
    }
}

#[test]
fn a_child_that_fails_is_no_measurement() {
    let refusal = children("test", || Child::ending(3)).err().unwrap();
    assert!(refusal.why.contains("ended with 3"), "{refusal}");
    let refusal = children("test", || Child::ending(127)).err().unwrap();
    assert!(refusal.why.contains("execve") && refusal.cure.contains("/proc"), "{refusal}");
}

#[test]
fn a_full_limit_on_processes_is_a_refusal_with_its_cure() {
    if !in_own_process("processes::tests::a_full_limit_on_processes_is_a_refusal_with_its_cure") {
        return;
    }
    // Another user, whom the limit binds, and a limit that is reached. Allocations of the library and the kernel at
    // first use are made before.
    let _ = body(&call("thread create+join")).unwrap();
    let nobody = Uid::from_raw(65_534);
    if rustix::process::getuid().is_root() {
        set_thread_res_uid(nobody, nobody, nobody).unwrap();
    }
    setrlimit(Resource::Nproc, Rlimit { current: Some(0), maximum: Some(0) }).unwrap();
    for row in rows().filter(|row| !row.id.ends_with("pair")) {
        let refusal = body(&call(row.id)).err().unwrap_or_else(|| panic!("{} was allowed", row.id));
        assert_eq!(refusal.data["errno"], rustix::io::Errno::AGAIN.raw_os_error(), "{}: {refusal}", row.id);
    }
}

#[test]
fn what_is_written_before_a_fork_does_not_count() {
    let clock = clock();
    let call = OsCall { bytes: Some(16 * MIB), ..call("fork+exit written") };
    let mut body = body(&call).unwrap();
    let start = clock.now();
    let idle = body.run(2).unwrap();
    let whole = clock.now() - start;
    // 8,192 faults that break the sharing, and the forks beside them.
    assert!(idle > clock.ticks(100_000.0) && idle < whole, "{idle} of {whole}");
}

#[test]
fn what_makes_processes_is_measured_over_one_list_of_resident_memory() {
    let mut curves = 0;
    for row in PRIMITIVES {
        let sizes = match (row.sweeps)(&Machine::default()).as_slice() {
            [Sweep::Resident(sizes), Sweep::Pages(pages)] => {
                assert_eq!(*pages, [PageKind::Base, PageKind::Thp], "{}", row.id);
                sizes.clone()
            }
            [Sweep::Bytes(sizes)] => sizes.clone(),
            other => {
                assert!(other.is_empty(), "{}: {other:?}", row.id);
                continue;
            }
        };
        assert!(sizes.into_iter().eq((0..7).map(|power| MIB << (2 * power))), "{}", row.id);
        curves += 1;
    }
    // fork+exit, the same written, fork+exec, vfork, posix_spawn, shell, threads.
    assert_eq!(curves, 7);
}
