//! What primitives need beyond safe wrappers: mappings of their own, shared ones, and calls that take addresses.

mod area;
mod buffer;
mod child;
mod clone;
mod cmem;
mod context;
mod files;
mod mapped;
mod mappings;
mod migrate;
mod program;
mod ring;
mod select;
mod signal;
mod stack;
mod thread;
mod transfer;
mod uffd;
mod words;

pub use area::{Area, BasePagesOnly, Shows, Tell};
pub use buffer::Buffer;
pub use child::Child;
pub use clone::{SharingClone, vfork_and_end};
pub use cmem::{Library, give_back_kept, library, library_place};
#[cfg(target_env = "gnu")]
pub use context::LibcContexts;
pub use context::OwnContexts;
pub use files::own_files;
pub use mappings::{GuardedArea, Hole};
pub use migrate::{migrate_pages, move_pages};
pub use program::{Program, TinyProgram};
pub use ring::{Consumer, Producer, ring};
pub use select::Selected;
pub use signal::CaughtSignal;
pub use stack::{block_signals, has_shadow_stack};
pub use thread::thread_and_join;
pub use transfer::{PageInlet, read_process};
pub use uffd::Userfault;
pub use words::SharedWords;

use io_uring::{IoUring, opcode};

/// Queues a no-op.
///
/// # Errors
/// When the queue is full.
#[inline]
pub fn queue_nop(ring: &mut IoUring) -> Result<(), String> {
    // SAFETY: a no-op refers to no memory that could go away.
    unsafe { ring.submission().push(&opcode::Nop::new().build()) }
        .map_err(|_| "the submission queue is full".to_owned())
}
