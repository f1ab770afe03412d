//! Prints what every kernel reaches on this machine, for four footprints: useful GB/s, the median and the best of
//! interleaved short runs. For people who write kernels; not a measurement that tiermark would sign.
//!
//! `cargo run --release -p tiermark-kernels --example roofline -- [ROUNDS] [zeros] [START OF A KERNEL ID]...`
#![allow(clippy::print_stdout)]

use std::time::Instant;

use tiermark_kernels::layout::permutation;
use tiermark_kernels::rng::fill_data;
use tiermark_kernels::{StreamArgs, StreamSpec, available};

/// Footprints: the sum over a kernel's streams.
const SIZES: [(&str, usize); 4] =
    [("L1 16K", 16 << 10), ("L2 512K", 512 << 10), ("L3 8M", 8 << 20), ("512M", 512 << 20)];

/// Bytes a run moves in caches: some milliseconds, so that most runs escape interruption.
const RUN_BYTES: usize = 512 << 20;

/// What is stored: a number without a zero byte. Some memory paths carry lines of zeros in half the time (`zeros` shows
/// it), so zeros say nothing about data.
const VALUE: u64 = 0x3ff1_2345_6789_abcd;

/// An anonymous mapping that asked for transparent huge pages.
fn map(bytes: usize) -> &'static mut [u64] {
    let huge = 2 << 20;
    // SAFETY: a fresh private mapping that is never unmapped; the aligned part of it is used as words.
    unsafe {
        let at = libc::mmap(
            std::ptr::null_mut(),
            bytes + huge,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        assert_ne!(at, libc::MAP_FAILED, "mmap: {}", std::io::Error::last_os_error());
        let at = at.wrapping_byte_add(at.align_offset(huge));
        libc::madvise(at, bytes, libc::MADV_HUGEPAGE);
        std::slice::from_raw_parts_mut(at.cast(), bytes / 8)
    }
}

/// One run: useful GB/s.
fn run(spec: &StreamSpec, base: *mut u8, order: &[u32], footprint: usize, value: u64) -> f64 {
    let streams = usize::from(spec.info.op.streams());
    // Whole pages where there are many, whole 512 bytes where there are few: how a host would cut it.
    let quantum = if footprint > 1 << 16 { 8192 } else { 512 };
    let span = footprint / streams / quantum * quantum;
    let passes = (RUN_BYTES / footprint).max(1);
    let args = StreamArgs {
        dst: base,
        src: if streams == 1 { base } else { base.wrapping_add(span) },
        src2: base.wrapping_add(2 * span),
        bytes: span,
        passes,
        value,
        order: order.as_ptr(),
    };
    let start = Instant::now();
    // SAFETY: `base` has `footprint` bytes, `order` names that many lines or more of them, the kernel is available.
    std::hint::black_box(unsafe { (spec.run)(&args) });
    let seconds = start.elapsed().as_secs_f64();
    let useful = f64::from(spec.info.op.read_per_line() + spec.info.op.write_per_line()) / 64.0;
    useful * (span * passes) as f64 / seconds / 1e9
}

fn main() {
    let mut words = std::env::args().skip(1).peekable();
    let rounds = words.next_if(|w| w.parse::<usize>().is_ok()).and_then(|w| w.parse().ok()).unwrap_or(7);
    let zeros = words.next_if(|w| w == "zeros").is_some();
    let parts: Vec<String> = words.collect();
    let value = if zeros { 0 } else { VALUE };
    let wanted = |spec: &&StreamSpec| parts.is_empty() || parts.iter().any(|part| spec.info.id.starts_with(part));
    let specs: Vec<&StreamSpec> = available().filter(wanted).collect();
    let memory = map(512 << 20);
    let prepare = |memory: &mut [u64]| if zeros { memory.fill(0) } else { fill_data(memory, 1) };
    prepare(memory);
    let base = memory.as_mut_ptr().cast();
    let mut table = vec![Vec::new(); specs.len()];
    for (_, footprint) in SIZES {
        let order = permutation(footprint / 64, 1, &|| false).unwrap_or_default();
        let mut runs = vec![Vec::new(); specs.len()];
        for round in 0..=rounds {
            for (spec, runs) in specs.iter().zip(&mut runs) {
                let rate = run(spec, base, &order, footprint, value);
                // The first round warms up.
                if round > 0 {
                    runs.push(rate);
                }
            }
        }
        for (cells, mut runs) in table.iter_mut().zip(runs) {
            runs.sort_by(f64::total_cmp);
            cells.push((runs[runs.len() / 2], runs.last().copied().unwrap_or(f64::NAN)));
        }
        // Updates and fills may have left numbers that slow arithmetic.
        prepare(memory);
    }
    print!("{:24}", "GB/s, median (best)");
    SIZES.iter().for_each(|(name, _)| print!("{name:>17}"));
    println!();
    for (spec, cells) in specs.iter().zip(table) {
        print!("{:24}", spec.info.id);
        cells.iter().for_each(|(median, best)| print!("{median:9.1} ({best:5.1})"));
        println!();
    }
}
