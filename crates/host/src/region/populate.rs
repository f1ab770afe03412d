//! Backing and filling memory with all cpus at once.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use tiermark_kernels::rng::fill_data;
use tiermark_model::{CpuId, PageKind};
use tiermark_system::pin;

use super::Region;

/// A thread takes so much at a time, so that a request to stop is heard and all end together.
const PIECE: usize = 8 << 20;

/// Gives all memory of a region pages and incompressible data: a thread on each of these cpus, each a part in whole
/// pages. Returns whether all of it was done: there was no stop, and no page was missing.
pub(crate) fn populate(region: &Region, seed: u64, cpus: &[CpuId], stopped: &AtomicBool) -> bool {
    // Two threads in one huge page would each clear one.
    let piece = PIECE.max(region.page_bytes);
    let pieces: Vec<usize> = (0..region.mapping.bytes()).step_by(piece).collect();
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = |cpu: Option<CpuId>| {
        // One that may not be pinned takes longer.
        cpu.map(pin);
        while let Some(from) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
            let bytes = piece.min(region.mapping.bytes() - from);
            if stopped.load(Ordering::Relaxed) || !filled(region, *from, bytes, seed) {
                return;
            }
            done.fetch_add(1, Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        for cpu in cpus.iter().take(pieces.len()) {
            // Fewer threads take longer.
            let _ = thread::Builder::new().spawn_scoped(scope, || work(Some(*cpu)));
        }
    });
    if !stopped.load(Ordering::Relaxed) {
        work(None);
    }
    done.into_inner() == pieces.len()
}

/// Fills a piece of a region.
fn filled(region: &Region, from: usize, bytes: usize, seed: u64) -> bool {
    let populated = region.mapping.populate(from, bytes);
    // Kernels before 5.14 do not know it: the first word written to each page brings it.
    if populated.is_err_and(|error| error.kind() != std::io::ErrorKind::InvalidInput) {
        return false;
    }
    region.mapping.fill(from, bytes, |words| fill_data(words, seed.wrapping_add(from as u64)));
    if region.page == PageKind::Thp && region.has_transparent {
        // What the kernel cannot give, the proof of the placement says.
        let _ = region.mapping.collapse(from, bytes);
    }
    true
}
