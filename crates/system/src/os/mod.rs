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
mod uffd;
mod words;

pub use area::{Area, BasePagesOnly, Shows, Tell};
pub use buffer::Buffer;
pub use child::Child;
pub use clone::{thread_and_join, vfork_and_end};
pub use cmem::{Library, give_back_kept, library, library_place};
#[cfg(target_env = "gnu")]
pub use context::LibcContexts;
pub use context::has_shadow_stack;
pub use files::own_files;
pub use mappings::{GuardedArea, Hole};
pub use migrate::{migrate_pages, move_pages};
pub use program::{Program, TinyProgram};
pub use ring::{Consumer, Producer, ring};
pub use select::Selected;
pub use signal::{CaughtSignal, block_signals};
pub use uffd::Userfault;
pub use words::SharedWords;
