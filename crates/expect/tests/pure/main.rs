//! What checks and explanations say of made runs.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod common;
mod explain;
mod judged;
mod known;
mod shared;
mod soaked;
