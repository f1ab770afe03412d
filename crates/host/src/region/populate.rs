//! Large memory, backed by several threads at once.
//!
//! A host that gives a guest memory only when it is touched takes long for it: 2.9 s for 1 GiB by one thread and 1.7 s
//! by two, on a KVM guest whose host has pages of 4 KiB.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::{Region, Touch};

/// Memory from this size on: starting threads takes as long as backing some MiB.
const LEAST: usize = 32 << 20;
/// A thread takes so much at a time, so that a request to stop is heard and all end together.
const PIECE: usize = 8 << 20;
/// Threads at most: beyond, the kernel's own locks hold them up.
const THREADS: usize = 8;

/// Backs the memory of bound regions, so that any thread may touch it: the kernel takes each page from its node. Pages
/// that cannot be backed this way (kernels before 5.14) are touched by the worker that fills them.
pub(crate) fn populate(regions: &[Arc<Region>], cpus: usize, stopped: &AtomicBool) {
    let may = |region: &&Arc<Region>| {
        let is_told = !matches!(region.touch, Touch::Dealt(_)) && region.target.len() < 2;
        is_told && region.mapping.bytes() >= LEAST
    };
    // Two threads in one huge page would each clear one.
    let piece = |region: &Region| PIECE.max(region.page_bytes);
    let pieces: Vec<(&Region, usize)> = regions
        .iter()
        .filter(may)
        .flat_map(|region| (0..region.mapping.bytes()).step_by(piece(region)).map(|from| (region.as_ref(), from)))
        .collect();
    let threads = cpus.min(THREADS).min(pieces.len());
    if threads < 2 {
        return;
    }
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((region, from)) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
            let bytes = piece(region).min(region.mapping.bytes() - from);
            if stopped.load(Ordering::Relaxed) || region.mapping.populate(*from, bytes).is_err() {
                return;
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            // Fewer threads take longer, and no thread leaves it to the worker.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
    });
}
