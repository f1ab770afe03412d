//! A machine of two cpus, and visits to it.

use std::time::Duration;

use tiermark_engine::host::{Host, Shot, ThreadShot};
use tiermark_model::*;
use tiermark_sim::{SimHost, SimOptions};

/// A visit.
pub(crate) const VISIT: Duration = Duration::from_millis(2);

/// A machine without noise.
pub(crate) fn quiet() -> SimOptions {
    SimOptions { noise: 0.0, ..SimOptions::default() }
}

pub(crate) fn host(options: SimOptions) -> SimHost {
    let kernels = ["read/plain", "write/plain", "write.nt/plain"].map(testing::kernel);
    SimHost::new(testing::small_machine(2), kernels.to_vec(), options)
}

/// A chase over so many bytes by each of so many threads.
pub(crate) fn chase(bytes: u64, threads: u32) -> Setup {
    setup(bytes, threads, &Role::Chase { chains: 1 }, Layout::Chain(ChainLayout::Random))
}

/// A stream over so many bytes by each of so many threads.
pub(crate) fn stream(kernel: &str, bytes: u64, threads: u32) -> Setup {
    setup(bytes, threads, &Role::Stream { kernel: kernel.into(), rivals: Vec::new() }, Layout::Data)
}

fn setup(bytes: u64, threads: u32, role: &Role, layout: Layout) -> Setup {
    Setup {
        regions: vec![testing::region(bytes, PageKind::Thp, layout); threads as usize],
        threads: (0..threads).map(|cpu| ThreadSetup::new(cpu, role.clone(), cpu as usize)).collect(),
        seed: 7,
    }
}

/// Visits to one setup.
pub(crate) fn visits(host: &mut SimHost, setup: &Setup, number: usize) -> Vec<Shot> {
    let mut rig = host.prepare(setup).unwrap();
    (0..number).map(|_| rig.shot(VISIT).unwrap()).collect()
}

/// Lengths of the blocks, ns.
pub(crate) fn blocks(thread: &ThreadShot) -> Vec<f64> {
    thread.stamps_ns.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Time of the work of some visits over the work, ns, stamps not counted.
pub(crate) fn pace<'a>(visits: impl Iterator<Item = &'a ThreadShot>) -> f64 {
    const STAMP_NS: f64 = 10.0;
    let (mut time, mut work) = (0.0, 0.0);
    for thread in visits {
        let blocks = blocks(thread);
        time += blocks.iter().map(|block| block - STAMP_NS).sum::<f64>();
        work += thread.per_block * blocks.len() as f64;
    }
    time / work
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
