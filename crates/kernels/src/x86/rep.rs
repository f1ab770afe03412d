//! Fills and copies by string and zeroing instructions: the core chooses how lines travel.

use tiermark_model::kernel::Isa;

use super::{clzero, sse2 as always};
use crate::registry::{Fill, StreamSpec};

/// A naked function around one `rep` instruction; the prefix is its loop.
macro_rules! rep_fn {
    ($name:ident, $instruction:literal, shift $shift:literal) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(_args: *const $crate::registry::StreamArgs) -> u64 {
            core::arch::naked_asm!(
                "mov r11, rdi",
                "mov rdx, [r11 + 32]",
                "mov rax, [r11 + 40]",
                "2:",
                "mov rdi, [r11]",
                "mov rsi, [r11 + 8]",
                "mov rcx, [r11 + 24]",
                concat!("shr rcx, ", $shift),
                $instruction,
                "dec rdx",
                "jnz 2b",
                "sfence",
                "xor eax, eax",
                "ret",
            )
        }
    };
}

rep_fn!(tiermark_fill_stosb, "rep stosb", shift "0");
rep_fn!(tiermark_fill_stosq, "rep stosq", shift "3");
rep_fn!(tiermark_copy_movsb, "rep movsb", shift "0");
rep_fn!(tiermark_copy_movsq, "rep movsq", shift "3");

/// Zeroes eight lines an iteration. `clzero` takes its address in rax and knows no other.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn tiermark_fill_clzero(_args: *const crate::registry::StreamArgs) -> u64 {
    core::arch::naked_asm!(
        "mov rcx, [rdi + 32]",
        "2:",
        "mov rax, [rdi]",
        "mov rdx, [rdi + 24]",
        "sub rdx, 512",
        "jb 4f",
        ".p2align 6",
        "3:",
        ".rept 8\nclzero\nadd rax, 64\n.endr",
        "sub rdx, 512",
        "jae 3b",
        "4:",
        "add rdx, 512",
        "jz 6f",
        "5:",
        "clzero",
        "add rax, 64",
        "sub rdx, 64",
        "jnz 5b",
        "6:",
        "dec rcx",
        "jnz 2b",
        "sfence",
        "xor eax, eax",
        "ret",
    )
}

/// The string kernels of x86-64.
#[rustfmt::skip]
pub(super) fn table() -> Vec<StreamSpec> {
    vec![
        spec!(tiermark_fill_stosb, "fill.rep", "stosb", FillRep, Isa::X86, 0, 1, 1, Block, always, true,
            "rep stosb; stores the value's low byte").filling(Fill::LowByte),
        spec!(tiermark_fill_stosq, "fill.rep", "stosq", FillRep, Isa::X86, 0, 1, 8, Block, always, false, "rep stosq"),
        spec!(tiermark_fill_clzero, "fill.rep", "clzero", FillRep, Isa::X86, 0, 8, 512, Block, clzero, false,
            "clzero, a line at a time; stores zeros").filling(Fill::Zero),
        spec!(tiermark_copy_movsb, "copy.rep", "movsb", CopyRep, Isa::X86, 1, 1, 1, Block, always, true, "rep movsb"),
        spec!(tiermark_copy_movsq, "copy.rep", "movsq", CopyRep, Isa::X86, 1, 1, 8, Block, always, false, "rep movsq"),
    ]
}
