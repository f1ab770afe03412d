//! Files that are whole whatever happens to their writer: JSON lines, of which each is in the file whole or not at all,
//! and documents, which replace the file before them whole ([`write_whole`]).
//!
//! An [`Appender`] writes and holds the lock of a file, [`Lines`] are what a file holds. A last line without an end is
//! a line in which the writer died: no reader sees it, and the next writer cuts it off. What a damaged line between
//! whole ones means, each reader says ([`Damaged`]).

mod append;
mod read;
mod whole;

pub use append::{Appender, Storage, Survives, lock_soon};
pub use read::{Damaged, DamagedLine, Lines, MOST_BYTES};
pub use whole::{make_directory, temporary_beside, write_whole};
