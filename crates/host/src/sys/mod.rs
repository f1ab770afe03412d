//! The only unsafe code of the crate: system calls and calls into the kernels, a few lines each.
//!
//! Everything here has a safe signature that safe code cannot misuse: [`Mapping`] knows what its memory holds. It is lent for
//! writing to one at a time and to nobody while a call may touch it; only a chain that was proven can be followed, and
//! nothing can write to it afterwards; of the calls on one mapping either one writes or all read, or all use atomic operations only.

mod calls;
mod ident;
mod mem;
pub(crate) mod os;
mod sched;
#[cfg(test)]
mod seccomp;
mod share;

pub(crate) use calls::{ChaseCall, LineOrder, MixCall, StreamCall, StreamPlan, alu_chain};
pub(crate) use ident::{declared_counter_hz, hypervisor, page_bytes, uname};
pub(crate) use mem::{Advice, Keeper, Mapping};
pub(crate) use sched::{
    PageRule, Usage, affinity, allowed_nodes, cpu_now, pin, raw_clock_ns, relax, thread_cpu_ns, thread_usage, yield_now,
};
#[cfg(test)]
pub(crate) use seccomp::{refuse, refuse_as};
pub(crate) use share::SharedLines;

use std::io;

/// Turns the return value of a system call into a result.
fn check(value: libc::c_long) -> io::Result<libc::c_long> {
    if value < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}
