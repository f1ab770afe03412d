//! Documents read from JSON, in this crate alone: the code that reads a large type is large itself, and each crate that
//! called serde for it would have a copy.

use crate::capacity::Capacity;
use crate::load::LoadRun;
use crate::machine::Machine;
use crate::run::Run;

/// What is read from JSON.
pub trait FromJson: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// The text is not JSON, or its fields are not those of the type.
    fn from_json(bytes: &[u8]) -> serde_json::Result<Self>;
}

macro_rules! from_json {
    ($($type:ty),+) => { $(impl FromJson for $type {
        fn from_json(bytes: &[u8]) -> serde_json::Result<Self> {
            serde_json::from_slice(bytes)
        }
    })+ };
}
from_json!(Capacity, LoadRun, Machine, Run);
