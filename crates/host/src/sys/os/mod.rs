//! What primitives need beyond safe wrappers: mappings of their own, shared ones, and calls that take addresses.

mod area;
mod buffer;
mod child;
mod clone;
mod cmem;
mod context;
mod files;
mod migrate;
mod program;
#[cfg(test)]
mod reexec;
mod ring;
mod room;
mod thread;
mod transfer;
mod uffd;
mod words;

pub(crate) use area::{Area, BasePagesOnly, Shows, Tell};
pub(crate) use buffer::Buffer;
pub(crate) use child::Child;
pub(crate) use clone::{SharingClone, vfork_and_end};
pub(crate) use cmem::{Library, give_back_kept, library, library_place};
#[cfg(target_env = "gnu")]
pub(crate) use context::LibcContexts;
pub(crate) use context::OwnContexts;
pub(crate) use files::own_files;
pub(crate) use migrate::{migrate_pages, move_pages};
pub(crate) use program::{Program, TinyProgram};
pub(crate) use ring::{Consumer, Producer, ring};
pub(crate) use room::{GuardedArea, Hole};
pub(crate) use thread::thread_and_join;
pub(crate) use transfer::{PageInlet, read_process};
pub(crate) use uffd::Userfault;
pub(crate) use words::SharedWords;

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
