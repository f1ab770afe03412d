//! Fills by `dc zva`, which zeroes a whole block without reading it.

use std::arch::asm;

use tiermark_model::kernel::Isa;

use crate::rows::{Fill, KernelRow, StreamSpec};

// Zeroes 256 bytes an iteration.
passes_fn!(tiermark_fill_zva, init ["ldr x5, [x0, #32]"], pass [
    "ldp x1, x2, [x0]",
    "ldp x3, x4, [x0, #16]",
    counted!("x4" by "#256", [".rept 4\ndc zva, x1\nadd x1, x1, #64\n.endr"], ["dc zva, x1", "add x1, x1, #64"]),
], done ["mov x0, xzr"]);

/// Whether `dc zva` is allowed and zeroes 64 bytes, as it does on Neoverse and Cortex-A cores
/// (Arm ARM, DCZID_EL0: bit 4 forbids, bits 3:0 are log2 of the block's 4-byte words).
fn available() -> bool {
    let id: u64;
    // SAFETY: reads an identification register that user space may read.
    unsafe { asm!("mrs {}, dczid_el0", out(reg) id, options(nomem, nostack, preserves_flags)) };
    id & 0x1f == 4
}

/// The zeroing kernel of aarch64.
pub(crate) static TABLE: [StreamSpec; 1] = [spec!(tiermark_fill_zva, available, KernelRow::BLOCK, {
    id: "fill.rep/zva",
    isa: Isa::Arm64,
    stores: 4,
    unroll_bytes: 256,
    fill: Fill::Zero,
    plain: true,
    doc: "dc zva, 64 bytes at a time; stores zeros",
})];
