//! The page for a browser of made documents.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../../report/tests/pure/common/mod.rs"]
mod common;
mod fleet;
mod fleet_browser;
mod html;
/// Documents of hosts with planted differences.
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../../compare/tests/pure/fleet/made.rs"]
mod made;
