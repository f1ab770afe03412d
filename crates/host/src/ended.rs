//! How a shot of a worker ends that has no result.

use std::fmt;

use tiermark_primitives::Failure;

/// Why a shot of a worker ended without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Since that of another worker failed.
    Followed,
    /// For this reason of its own.
    Failed(String),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Followed => f.write_str("another worker failed"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

impl From<String> for Ended {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure.to_string())
    }
}
