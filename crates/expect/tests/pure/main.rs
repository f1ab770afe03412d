//! What checks say of made runs.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod common;
mod judged;
mod known;
