//! Bytes from one process or thread to another.

use super::Primitive;

/// The rows of this group.
pub(super) static PRIMITIVES: &[Primitive] = &[];
