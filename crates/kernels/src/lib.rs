//! The timed loops: memory streams, pointer chases and the clock, in assembly, chosen at run time.
//!
//! Every loop is a naked function, so the instructions that run are the instructions written here; a test
//! disassembles them and holds them against what the registry declares. Each operation has a portable twin
//! in Rust that a test uses as its oracle. Readers that keep nothing of what they load are checked by one that adds up.
//!
//! Stream kernels are text files in `kernels/`, which `build.rs` expands; `kernels/README.md` says how to add one.

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!("tiermark's kernels exist for Linux on x86-64 and aarch64; a new architecture needs a module like x86/");

#[macro_use]
mod loops;
#[cfg(target_arch = "aarch64")]
#[macro_use]
mod arm;
pub mod cache;
pub mod clock;
pub mod layout;
pub mod operation;
#[macro_use]
mod portable;
mod registry;
pub mod rng;
mod rows;
pub mod soak;
mod verify;
#[cfg(target_arch = "x86_64")]
#[macro_use]
mod x86;
// After the macros that it calls.
mod files;

pub use registry::{available, byte_chase, chase, chases, stream, streams};
pub use rows::{
    ByteArgs, ByteChaseFn, ChaseArgs, ChaseFn, ChaseRow, Fill, KernelRow, MAX_CHAINS, Op, SPAN_QUANTUM, StreamArgs,
    StreamFn, StreamSpec,
};
pub use verify::verify;
