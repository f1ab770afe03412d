//! What primitives need beyond safe wrappers: mappings of their own.

mod child;
mod room;

pub(crate) use child::Child;
pub(crate) use room::Room;

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
