//! What primitives need beyond safe wrappers: mappings of their own.

mod area;
mod child;
mod cmem;
mod migrate;
mod room;
mod uffd;

pub(crate) use area::{Area, BasePagesOnly, Shows, Tell};
pub(crate) use child::Child;
pub(crate) use cmem::{library, malloc_free, memcpy, memset};
pub(crate) use migrate::{migrate_pages, move_pages};
pub(crate) use room::Room;
pub(crate) use uffd::Userfault;

use io_uring::{IoUring, opcode};

/// Queues a no-op.
///
/// # Errors
/// When the queue is full.
pub(crate) fn queue_nop(ring: &mut IoUring) -> Result<(), String> {
    // SAFETY: a no-op refers to no memory that could go away.
    unsafe { ring.submission().push(&opcode::Nop::new().build()) }
        .map_err(|_| "the submission queue is full".to_owned())
}
