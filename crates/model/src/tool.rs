//! The program that wrote a document.

use serde::{Deserialize, Serialize};

/// The program that wrote a document.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tool {
    /// Version, as in Cargo.toml.
    pub version: String,
    /// Git revision it was built from, where known.
    pub git: Option<String>,
    /// Target triple.
    pub target: String,
    /// Compiler version.
    pub rustc: Option<String>,
    /// C library it is linked with.
    pub libc: String,
}
