//! The page for a browser of made documents.

mod fleet;
mod fleet_browser;
/// Documents of hosts with planted differences.
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../../../compare/tests/pure/fleet/made.rs"]
mod made;
mod page;
