//! System calls of the primitives: as thin as they can be, so that it is the kernel that is timed.

mod calls;

pub(crate) use calls::*;
