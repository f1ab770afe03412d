//! The program on this machine: what it measures, what it changes and takes back, what it leaves when it is killed.

#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test may fail, and say what it saw; clippy knows only functions marked as tests"
)]

mod capacity;
mod capacity_tiers;
#[path = "../common/mod.rs"]
mod common;
mod counted;
mod elsewhere;
mod faults;
mod load;
mod measured;
mod os;
mod record;
mod shown;
mod soak;
mod tune;
