//! TOML files that people write: every mistake with its line, its key and a suggestion, all at once.
//!
//! [`parse`] reads a file whose keys the caller walks, as those of plans, which are options of commands. [`read`] reads a file
//! that is a type, as scenarios and prices are.

#![forbid(unsafe_code)]

mod mistakes;
mod typed;

pub use mistakes::{Mistake, Mistakes, parse};
pub use typed::{Problem, read};
