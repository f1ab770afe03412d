//! Prints the core's clock, the cost of a time stamp, how long layouts take to build and prove, and the time of a step
//! of chases over several footprints. For people who write kernels; not a measurement that tiermark would sign.
//!
//! `cargo run --release -p tiermark-kernels --example chase`
#![allow(clippy::print_stdout)]

use std::time::Instant;

use tiermark_kernels::clock::{alu_chain, stamp};
use tiermark_kernels::layout::{prove, write_chain};
use tiermark_kernels::{ChaseArgs, chase};
use tiermark_model::setup::ChainLayout;

/// The least of some runs: the one least disturbed.
fn least(runs: usize, mut run: impl FnMut() -> f64) -> f64 {
    (0..runs).map(|_| run()).fold(f64::INFINITY, f64::min)
}

/// Nanoseconds a step of `chains` chains through a buffer of `bytes`.
fn step_ns(words: &mut [u64], layout: ChainLayout, chains: u8, runs: usize) -> Option<(f64, f64, f64)> {
    let base = words.as_ptr() as u64;
    let start = Instant::now();
    write_chain(words, base, layout, 4096, 1, &|| false).ok()?;
    let built = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let proof = prove(words, base, layout, &|| false).ok()?;
    let proven = start.elapsed().as_secs_f64();
    let run = chase(chains)?;
    let mut args =
        ChaseArgs { steps: (proof.nodes as usize / usize::from(chains)).clamp(1 << 14, 1 << 20), ..ChaseArgs::EMPTY };
    for (head, at) in args.heads.iter_mut().zip(proof.starts(words, base, chains)) {
        *head = at as *const u8;
    }
    let step = || {
        let start = Instant::now();
        // SAFETY: the heads are nodes of a chain proven to be one cycle.
        unsafe { run(&mut args) };
        start.elapsed().as_secs_f64() * 1e9 / args.steps as f64
    };
    Some((built, proven, least(runs, step)))
}

fn main() {
    let cycle = least(50, || {
        let start = Instant::now();
        let ran = alu_chain(1 << 20);
        start.elapsed().as_secs_f64() * 1e9 / ran as f64
    });
    println!("core clock {:.3} GHz", 1.0 / cycle);
    let stamps = least(50, || {
        let start = Instant::now();
        for _ in 0..1000 {
            std::hint::black_box(stamp());
        }
        start.elapsed().as_secs_f64() * 1e9 / 1000.0
    });
    println!("time stamp {stamps:.1} ns, {:.0} cycles", stamps / cycle);
    let mut memory = vec![0u64; (256 << 20) / 8 + 8];
    let align = memory.as_ptr().align_offset(64);
    let memory = &mut memory[align..];
    for layout in [ChainLayout::Random, ChainLayout::PageRandom, ChainLayout::Long(4), ChainLayout::Stride(64)] {
        for bytes in [16 << 10, 512 << 10, 8 << 20, 256 << 20] {
            for chains in [1u8, 4, 14, 32] {
                if let Some((built, proven, step)) = step_ns(&mut memory[..bytes / 8], layout, chains, 9) {
                    println!(
                        "{layout} over {:7} KiB, {chains:2} chains: {step:8.3} ns = {:7.2} cycles a step; \
                         built in {:.3} s, proven in {:.3} s",
                        bytes >> 10,
                        step / cycle,
                        built,
                        proven
                    );
                }
            }
        }
    }
}
