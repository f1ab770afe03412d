//! What the C library adds.

use super::Primitive;

/// The rows of this group.
pub(super) static PRIMITIVES: &[Primitive] = &[];
