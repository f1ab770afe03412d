//! What simulated machines do is what was planted: through the engine's door to the machine.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod interrupted;
mod made;
mod memory;
mod shared;
