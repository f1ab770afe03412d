//! Moving memory between nodes.

use super::Primitive;

/// The rows of this group.
pub(super) static PRIMITIVES: &[Primitive] = &[];
