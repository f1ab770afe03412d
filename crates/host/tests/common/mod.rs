//! What the tests on the real machine share.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::time::Duration;

use tiermark_engine::ThreadShot;
use tiermark_host::{LinuxHost, Options};
use tiermark_machine::{Root, discover};
use tiermark_model::{CpuId, KernelId, Layout, Machine, PageKind, RegionSetup, Role, Setup, ThreadSetup, testing};
use tiermark_system::live_facts;

/// Long enough for a hundred blocks.
pub const SHOT: Duration = Duration::from_millis(2);

pub fn machine() -> Machine {
    discover(&Root::live(), &live_facts()).unwrap()
}

pub fn host() -> LinuxHost {
    LinuxHost::new(machine(), Options::default()).unwrap()
}

pub fn region(bytes: u64, page: PageKind, layout: Layout) -> RegionSetup {
    testing::region(bytes, page, layout)
}

pub fn chase(cpu: CpuId, region: RegionSetup, chains: u8) -> Setup {
    Setup { regions: vec![region], threads: vec![ThreadSetup::new(cpu, Role::Chase { chains }, 0)], seed: 7 }
}

/// One thread and one region a cpu.
pub fn stream(cpus: &[CpuId], region: &RegionSetup, kernel: &str, rivals: &[&str]) -> Setup {
    let role =
        Role::Stream { kernel: KernelId::from(kernel), rivals: rivals.iter().map(|id| KernelId::from(*id)).collect() };
    let thread = |(index, cpu): (usize, &CpuId)| ThreadSetup::new(*cpu, role.clone(), index);
    Setup {
        regions: cpus.iter().map(|_| region.clone()).collect(),
        threads: cpus.iter().enumerate().map(thread).collect(),
        seed: 7,
    }
}

pub fn first_cpu(machine: &Machine) -> CpuId {
    machine.allowed_cpus.first().unwrap()
}

/// What must hold of every shot, however busy the machine is.
pub fn assert_sane(shot: &ThreadShot, cpu: CpuId) {
    assert!(shot.stamps_ns.len() >= 2, "{} stamps", shot.stamps_ns.len());
    assert!(shot.stamps_ns[0] > 0.0, "began {} ns before the gate opened", shot.stamps_ns[0]);
    assert!(shot.stamps_ns.windows(2).all(|w| w[0] < w[1]), "stamps fall");
    assert!(shot.per_block > 0.0);
    let guard = &shot.guard;
    assert_eq!((guard.cpu, guard.seen_on), (cpu, [cpu, cpu]));
    assert!(guard.cpu_ns > 0.0 && guard.wall_ns > 0.0 && guard.cpu_ns <= guard.wall_ns * 1.01, "{guard:?}");
    assert_eq!(guard.major_faults, 0);
}
