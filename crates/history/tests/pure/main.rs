//! Stores of documents: what is kept, found again, and read when it is damaged or old.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod baselines;
mod common;
mod documents;
mod index;
mod lines;
mod store;
