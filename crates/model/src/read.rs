//! Reads documents from JSON. The code that serde generates for a large type is large. If other crates called serde
//! themselves, each would have a copy of this code.

use crate::capacity::Capacity;
use crate::load::LoadRun;
use crate::machine::Machine;
use crate::run::Run;

/// A document that can be read from JSON.
pub trait FromJson: Sized {
    /// Reads the document.
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
