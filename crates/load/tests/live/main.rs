//! The generator against servers on this machine.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may fail, and say what it saw; clippy knows only functions marked as tests"
)]

mod common;
mod generator;
mod redis;
