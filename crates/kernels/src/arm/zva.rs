//! Fills by `dc zva`, which zeroes a whole block without reading it.

use std::arch::asm;

use tiermark_model::kernel::Isa;

use crate::registry::{Fill, StreamSpec};

stream_fn!(tiermark_fill_zva, unroll 256, walks [], init [],
    body [".rept 4\ndc zva, x1\nadd x1, x1, #64\n.endr"],
    tail ["dc zva, x1\nadd x1, x1, #64"],
    done ["mov x0, xzr", "dmb ishst"]);

/// Whether `dc zva` is allowed and zeroes 64 bytes, as it does on Neoverse and Cortex-A cores
/// (Arm ARM, DCZID_EL0: bit 4 forbids, bits 3:0 are log2 of the block's 4-byte words).
fn available() -> bool {
    let id: u64;
    // SAFETY: reads an identification register that user space may read.
    unsafe { asm!("mrs {}, dczid_el0", out(reg) id, options(nomem, nostack, preserves_flags)) };
    id & 0x1f == 4
}

/// The zeroing kernel of aarch64.
#[rustfmt::skip]
pub(super) fn table() -> Vec<StreamSpec> {
    vec![
        spec!(tiermark_fill_zva, "fill.rep", "zva", FillRep, Isa::Arm64, 0, 4, 256, Block, available, true,
            "dc zva, 64 bytes at a time; stores zeros").filling(Fill::Zero),
    ]
}
