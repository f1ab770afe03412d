//! Fills and copies by string and zeroing instructions: the core chooses how lines travel.

use tiermark_model::kernel::Pattern;

use crate::rows::{Fill, KernelRow, Op, StreamSpec};

/// A naked function around one `rep` instruction; the prefix is its loop.
macro_rules! rep_fn {
    ($name:ident, $instruction:literal, shift $shift:literal) => {
        naked_fn!(
            $name(*const $crate::StreamArgs) -> u64,
            [
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
                "xor eax, eax",
                "ret",
            ]
        );
    };
}

rep_fn!(tiermark_fill_stosb, "rep stosb", shift "0");
rep_fn!(tiermark_fill_stosq, "rep stosq", shift "3");
rep_fn!(tiermark_copy_movsb, "rep movsb", shift "0");
rep_fn!(tiermark_copy_movsq, "rep movsq", shift "3");

// Zeroes eight lines an iteration. `clzero` takes its address in rax and knows no other.
passes_fn!(tiermark_fill_clzero, init [], pass [
    "mov rax, [rdi]",
    "mov rdx, [rdi + 24]",
    counted!("rdx" by 512, [".rept 8\nclzero\nadd rax, 64\n.endr"], "sub rdx, 64", ["clzero", "add rax, 64"]),
], done ["xor eax, eax"]);

/// `clzero` (AMD APM volume 3: CPUID 8000_0008 EBX bit 0).
fn clzero() -> bool {
    use std::arch::x86_64::__cpuid;
    __cpuid(0x8000_0000).eax >= 0x8000_0008 && __cpuid(0x8000_0008).ebx & 1 == 1
}

/// Copies by a string instruction.
const COPY: KernelRow =
    KernelRow { op: Op::new("copy.rep", Pattern::Sequential, 2, 64, 64), loads: 1, ..KernelRow::BLOCK };

/// The string kernels of x86-64.
pub(crate) static TABLE: [StreamSpec; 5] = [
    spec!(tiermark_fill_stosb, || true, KernelRow::BLOCK, {
        id: "fill.rep/stosb",
        fill: Fill::LowByte,
        plain: true,
        doc: "rep stosb; stores the value's low byte",
    }),
    spec!(tiermark_fill_stosq, || true, KernelRow::BLOCK, {
        id: "fill.rep/stosq",
        unroll_bytes: 8,
        doc: "rep stosq",
    }),
    spec!(tiermark_fill_clzero, clzero, KernelRow::BLOCK, {
        id: "fill.rep/clzero",
        stores: 8,
        unroll_bytes: 512,
        fill: Fill::Zero,
        doc: "clzero, a line at a time; stores zeros",
    }),
    spec!(tiermark_copy_movsb, || true, COPY, { id: "copy.rep/movsb", plain: true, doc: "rep movsb" }),
    spec!(tiermark_copy_movsq, || true, COPY, { id: "copy.rep/movsq", unroll_bytes: 8, doc: "rep movsq" }),
];
