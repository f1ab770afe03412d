//! Fills by `dc zva`, which zeroes a whole block without reading it.

use std::arch::asm;

use tiermark_model::kernel::Isa;

use crate::registry::{Fill, KernelRow, StreamArgs, StreamSpec};

/// Zeroes 256 bytes an iteration.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn tiermark_fill_zva(_args: *const StreamArgs) -> u64 {
    core::arch::naked_asm!(
        "ldr x5, [x0, #32]",
        "2:",
        "ldp x1, x2, [x0]",
        "ldp x3, x4, [x0, #16]",
        "subs x4, x4, #256",
        "b.lo 4f",
        ".p2align 6",
        "3:",
        ".rept 4\ndc zva, x1\nadd x1, x1, #64\n.endr",
        "subs x4, x4, #256",
        "b.hs 3b",
        "4:",
        "adds x4, x4, #256",
        "b.eq 6f",
        "5:",
        "dc zva, x1",
        "add x1, x1, #64",
        "subs x4, x4, #64",
        "b.ne 5b",
        "6:",
        "subs x5, x5, #1",
        "b.ne 2b",
        "mov x0, xzr",
        "dmb ishst",
        "ret",
    )
}

/// Whether `dc zva` is allowed and zeroes 64 bytes, as it does on Neoverse and Cortex-A cores
/// (Arm ARM, DCZID_EL0: bit 4 forbids, bits 3:0 are log2 of the block's 4-byte words).
fn available() -> bool {
    let id: u64;
    // SAFETY: reads an identification register that user space may read.
    unsafe { asm!("mrs {}, dczid_el0", out(reg) id, options(nomem, nostack, preserves_flags)) };
    id & 0x1f == 4
}

/// The zeroing kernel of aarch64.
pub(crate) static TABLE: [StreamSpec; 1] = [StreamSpec {
    info: KernelRow {
        id: "fill.rep/zva",
        isa: Isa::Arm64,
        stores: 4,
        unroll_bytes: 256,
        fill: Fill::Zero,
        plain: true,
        doc: "dc zva, 64 bytes at a time; stores zeros",
        symbol: Some("tiermark_fill_zva"),
        ..KernelRow::BLOCK
    },
    run: tiermark_fill_zva,
    available,
}];
