//! The pages of made documents.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod common;
mod survey;
mod views;
