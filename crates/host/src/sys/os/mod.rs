//! What primitives need beyond safe wrappers: mappings of their own, shared ones, and calls that take addresses.

mod buffer;
mod child;
mod ring;
mod room;
mod transfer;

pub(crate) use buffer::Buffer;
pub(crate) use child::Child;
pub(crate) use ring::{Consumer, Producer, ring};
pub(crate) use room::Room;
pub(crate) use transfer::{PageInlet, read_process};

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
