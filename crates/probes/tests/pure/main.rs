//! The probes on simulated machines: what they plan, and what they find.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod active;
mod c2c;
mod cold;
mod common;
mod counted;
mod first_rows;
mod injectors;
mod loads;
mod matrix;
mod matrix_memory;
mod one_estimate;
mod os_memory;
mod published;
mod reach;
mod residency;
mod scan;
mod shapes;
mod slow;
mod soak;
mod tier_sizes;
