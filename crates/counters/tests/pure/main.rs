//! Sources of counters: from trees of machines, from what other programs print, and simulated ones.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod common;
mod field;
mod monitors;
mod simulated;
mod sources;
mod trees;
