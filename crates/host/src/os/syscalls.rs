//! Entering the kernel and leaving it.

use tiermark_model::{Metric, OsGroup, Refusal};

use super::{Body, Order, Primitive, Repeat};
use crate::sys::os as sys;

/// The rows of this group.
pub(super) static PRIMITIVES: &[Primitive] = &[Primitive {
    id: "getppid",
    group: OsGroup::Syscalls,
    metric: Metric::Latency,
    text: "the system call itself, never a value that the C library remembers: what entering and leaving the kernel costs",
    sweeps: |_| Vec::new(),
    refuse: |_| None,
    make: getppid,
}];

fn getppid(_: &Order<'_>) -> Result<Box<dyn Body>, Refusal> {
    Ok(Box::new(Repeat(|| {
        sys::getppid();
        Ok(())
    })))
}
