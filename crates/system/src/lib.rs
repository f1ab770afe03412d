//! System calls and the clock: the room of everything unsafe but the kernels.
//!
//! Everything here has a safe signature that safe code cannot misuse: [`Mapping`] notes who uses which bytes of it.
//! Only one user at a time may write to them, and nobody else then touches them; only a chain that was proven can be
//! followed, and no code can write to it as long as it is; of the calls on the same bytes either one writes or all
//! read, or all use atomic operations only. Code that only the primitives of the operating system need is in [`os`].

mod calls;
mod clock;
mod hsmp;
mod ident;
mod mem;
pub mod os;
mod perf;
mod poison;
mod sched;
mod share;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use calls::{ChaseCall, LineOrder, MixCall, StreamCall, StreamPlan, alu_chain, drain, mul_chain, throughput};
pub use clock::Clock;
pub use hsmp::HsmpDevice;
pub use ident::{live_facts, page_bytes};
pub use mem::{Advice, Cycle, How, Mapping, nameless_file, shared_file};
pub use perf::open_perf_event;
pub use poison::{PoisonWatch, PoisonedPage, poisoned, poisoned_pages, settle_poisoned};
pub use sched::{
    PageRule, Usage, affinity, allowed_nodes, cpu_now, pin, process_cpu_ns, relax, thread_cpu_ns, thread_usage,
    yield_now,
};
pub use share::SharedLines;

use std::io;

/// Turns the return value of a system call into a result.
fn check(value: libc::c_long) -> io::Result<libc::c_long> {
    if value < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}
