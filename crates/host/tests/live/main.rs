//! What the host does on this machine.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod arena;
#[path = "../common/mod.rs"]
mod common;
mod file_memory;
mod foreign;
mod memory;
mod share;
mod shots;
mod soak;
