//! Every system call of the program that leaves something fails once, or is the last one: what is left is whole, and
//! can be taken back.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says why")]

#[path = "../common/mod.rs"]
mod common;
mod documents;
mod full_disk;
mod tenants;
mod trace;
mod tuning;

/// What a disk that is full, broken, or has just been mounted read-only answers.
const ERRORS: [&str; 3] = ["ENOSPC", "EIO", "EROFS"];
