//! Discovery: from synthetic machines, from captures, and from trees that were damaged on purpose.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may fail, and say what it saw; clippy knows only functions marked as tests"
)]

mod field;
mod field2;
mod field_trees;
mod packed;
mod shared_fixtures;
mod synthetic;
