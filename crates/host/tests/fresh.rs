//! Earlier allocations are kept for a while, and no more of them than allowed. Alone in its process, because it counts its memory.

#![allow(clippy::unwrap_used)]

mod common;

use common::{SHOT, first_cpu, machine, region, stream};
use tiermark_engine::Host;
use tiermark_host::{LinuxHost, Options};
use tiermark_model::{Layout, MIB, PageKind};

/// Memory this process has in use, bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn what_is_kept_stays_within_its_limit_and_goes_with_the_host() {
    let machine = machine();
    let cpu = first_cpu(&machine);
    let setup = stream(&[cpu], &region(16 * MIB, PageKind::Base, Layout::Data), "read/portable", &[]);
    let before = resident();
    let mut host = LinuxHost::new(machine, Options { keep_bytes: 40 * MIB, ..Options::default() }).unwrap();
    for _ in 0..8 {
        host.prepare(&setup).unwrap().shot(SHOT).unwrap();
    }
    let kept = resident() - before;
    // Two regions of 16 MiB fit under 40 MiB; a few more are the threads' and the allocator's.
    assert!((32 * MIB..40 * MIB).contains(&kept), "{} MiB kept", kept / MIB);
    drop(host);
    assert!(resident() < before + 8 * MIB, "{} MiB stay", (resident() - before) / MIB);
}
