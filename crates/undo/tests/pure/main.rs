//! What is taken back, of a system that is a fake.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

#[path = "../common/mod.rs"]
mod common;
mod restore;
