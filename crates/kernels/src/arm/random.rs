//! Kernels that visit lines in a given order. The order is read from an array of 4-byte line numbers, four lines an
//! iteration; nothing is drawn inside the timed loop.

use tiermark_model::kernel::Isa;

use super::neon as available;
use crate::registry::StreamSpec;

/// A naked function that visits lines. For each, x9 holds its address; `$base` is the register of the array visited.
macro_rules! random_fn {
    ($name:ident, base $base:literal, init [$($init:expr),*], visit [$($visit:literal),+], done [$($done:expr),*]) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(_args: *const $crate::registry::StreamArgs) -> u64 {
            core::arch::naked_asm!(
                $($init,)*
                "ldp x1, x2, [x0]",
                "ldp x5, x6, [x0, #32]",
                "mov x10, xzr",
                "2:",
                "ldr x4, [x0, #24]",
                "ldr x7, [x0, #48]",
                "subs x4, x4, #256",
                "b.lo 4f",
                ".p2align 6",
                "3:",
                concat!(".irp n,0,4,8,12\nldr w8, [x7, #\\n]\nadd x9, ", $base, ", x8, lsl #6\n", $($visit, "\n",)+
                        ".endr"),
                "add x7, x7, #16",
                "subs x4, x4, #256",
                "b.hs 3b",
                "4:",
                "adds x4, x4, #256",
                "b.eq 6f",
                "5:",
                "ldr w8, [x7], #4",
                concat!("add x9, ", $base, ", x8, lsl #6"),
                $($visit,)+
                "subs x4, x4, #64",
                "b.ne 5b",
                "6:",
                "subs x5, x5, #1",
                "b.ne 2b",
                $($done,)*
                "ret",
            )
        }
    };
}

random_fn!(tiermark_read_random_neon, base "x2",
    init [".irp r,0,1,2,3\nmovi v\\r\\().2d, #0\n.endr"],
    visit ["ldp q20, q21, [x9]", "ldp q22, q23, [x9, #32]", "add v0.2d, v0.2d, v20.2d", "add v1.2d, v1.2d, v21.2d",
           "add v2.2d, v2.2d, v22.2d", "add v3.2d, v3.2d, v23.2d"],
    done [".irp r,1,2,3\nadd v0.2d, v0.2d, v\\r\\().2d\n.endr", "addp d0, v0.2d", "fmov x0, d0"]);
random_fn!(tiermark_write_random_neon, base "x1",
    init ["ldr x6, [x0, #40]", "dup v28.2d, x6"],
    visit ["stp q28, q28, [x9]", "stp q28, q28, [x9, #32]"],
    done ["mov x0, xzr"]);
random_fn!(tiermark_read_random8_arm64, base "x2", init [],
    visit ["ldr x11, [x9]", "add x10, x10, x11"],
    done ["mov x0, x10"]);
random_fn!(tiermark_write_random8_arm64, base "x1", init [], visit ["str x6, [x9]"], done ["mov x0, xzr"]);

/// The random kernels of aarch64.
#[rustfmt::skip]
pub(super) fn table() -> Vec<StreamSpec> {
    use Isa::{Arm64, Neon};
    vec![
        spec!(tiermark_read_random_neon, "read.random", "neon", ReadRandom, Neon, 8, 0, 256, None, available, true,
            "whole lines"),
        spec!(tiermark_write_random_neon, "write.random", "neon", WriteRandom, Neon, 0, 8, 256, Cached, available, true,
            "whole lines"),
        spec!(tiermark_read_random8_arm64, "read.random8", "arm64", ReadRandom8, Arm64, 4, 0, 256, None, available,
            true, "8 bytes of each line"),
        spec!(tiermark_write_random8_arm64, "write.random8", "arm64", WriteRandom8, Arm64, 0, 4, 256, Cached, available,
            true, "8 bytes of each line"),
    ]
}
