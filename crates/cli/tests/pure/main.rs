//! Tests of the program and its output, on simulated machines only.

#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test may fail, and say what it saw; clippy knows only functions marked as tests"
)]

mod advice;
mod analyse;
mod arrows;
mod articles;
mod asked;
mod bad_input;
mod browser;
mod check;
mod check_run;
#[path = "../common/mod.rs"]
mod common;
mod compare;
mod counted;
mod each_node;
mod explain;
mod field;
mod field2;
mod fleet;
mod history;
mod hostile;
mod inventory;
mod labels;
mod matrix;
mod missing;
mod mlc;
mod other_tools;
mod others;
mod pages;
mod plans;
mod record;
mod rerun;
mod shown;
mod simulated;
mod soak;
mod sources;
mod stream;
mod texts;
mod tune;
mod watch;
mod watch_active;
mod watch_curve;
