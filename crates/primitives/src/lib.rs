//! Operations of the operating system: each primitive is a row with a body, in the file of its group.
//!
//! A body does its operation so many times between two stamps. It makes everything that it needs (files, children,
//! mappings) when it is prepared, and removes it when it is dropped; every wait has a limit.

// Nothing is unsafe here but to fork a process of several threads; each of those forks says why its child may do what
// it does.
#![deny(unsafe_code)]

mod arithmetic;
mod body;
mod bound_memory;
mod channels;
mod failure;
mod faults;
mod files;
mod libc;
mod locks;
mod mapped;
mod numa;
mod numa_exec;
mod processes;
mod readiness;
mod reexec;
mod relay;
mod signals;
mod switches;
mod syscalls;
mod table;
mod watch;
mod work;

pub use body::Order;
pub use bound_memory::BoundMemory;
pub use failure::{FILTERED, Failure, no_more, unavailable};
pub use numa_exec::PLACE;
pub use reexec::{able, reexec};
pub use table::{present_primitives, primitive_names, primitives, wants_subprocess};
pub use work::OsWork;

#[cfg(test)]
tiermark_system::before_main!(crate::reexec);

/// The body of a call on the first cpu that may be used, for tests.
#[cfg(test)]
fn body(call: &tiermark_model::OsCall) -> body::Prepared {
    use tiermark_system::testing::{clock, first_cpu};

    (table::find(call)?.make)(&Order { call, cpu: first_cpu(), clock: &clock() })
}
