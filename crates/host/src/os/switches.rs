//! Giving the cpu to another, and being woken.

use super::Primitive;

/// The rows of this group.
pub(super) static PRIMITIVES: &[Primitive] = &[];
