//! Runs of experiments on simulated machines: what is kept, how long it takes, and whether its intervals are true.

#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test may fail, and say what it saw; clippy knows only functions marked as tests"
)]

mod honest;
mod run;
