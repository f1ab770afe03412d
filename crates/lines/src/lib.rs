//! Files of JSON lines: a line is in them whole or not at all, and outlives its writer.
//!
//! An [`Appender`] writes and holds the lock of a file, [`Lines`] are what a file holds. A last line without an end is a line in which the
//! writer died: no reader sees it, and the next writer cuts it off. What a damaged line between whole ones means is up to the caller.

#![forbid(unsafe_code)]

mod append;
mod read;

pub use append::{Appender, Storage, Survives, lock_soon};
pub use read::{Lines, MOST_BYTES};
