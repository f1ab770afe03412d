//! What is said of hosts by their peers: of made documents with planted differences.

#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test may fail, and say what it saw; clippy knows only functions marked as tests"
)]

mod made;
mod planted;
mod states;
