//! What a comparison of runs says: of made runs, of simulated machines, of histories, and of hosts by their peers.

#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test may fail, and say what it saw; clippy knows only functions marked as tests"
)]

mod cases;
mod fleet;
mod history;
mod noise;
