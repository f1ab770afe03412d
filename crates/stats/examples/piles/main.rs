//! Compares rules of trust: `cargo run --release -p tiermark-stats --example piles -- [FILE…]`.
//!
//! Without a file: 1,000 simulated runs of each kind, whose true level is known, 2 minutes on two cores. With files:
//! run documents of one machine (`benches/windows`), of which the steps with 40 visits and more count.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "printing is what it is for")]

mod read;
mod recorded;
mod rules;
mod sim;
mod simulated;

use std::env;

fn main() {
    let files: Vec<String> = env::args().skip(1).collect();
    if files.is_empty() {
        simulated::print(1000);
    } else {
        recorded::print(&files);
    }
}
