//! Fills and copies by string and zeroing instructions: the core chooses how lines travel.

use tiermark_model::kernel::Pattern;

use crate::registry::{Fill, KernelRow, Op, StreamSpec};

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

/// `clzero` (AMD APM volume 3: CPUID 8000_0008 EBX bit 0).
fn clzero() -> bool {
    use std::arch::x86_64::__cpuid;
    __cpuid(0x8000_0000).eax >= 0x8000_0008 && __cpuid(0x8000_0008).ebx & 1 == 1
}

/// Fills by a string instruction.
const FILL: KernelRow = KernelRow::BLOCK;

/// Copies by a string instruction.
const COPY: KernelRow =
    KernelRow { op: Op::new("copy.rep", Pattern::Sequential, 2, 64, 64), loads: 1, ..KernelRow::BLOCK };

/// The string kernels of x86-64.
pub(crate) static TABLE: [StreamSpec; 5] = [
    StreamSpec {
        info: KernelRow {
            id: "fill.rep/stosb",
            fill: Fill::LowByte,
            plain: true,
            doc: "rep stosb; stores the value's low byte",
            symbol: Some("tiermark_fill_stosb"),
            ..FILL
        },
        run: tiermark_fill_stosb,
        available: || true,
    },
    StreamSpec {
        info: KernelRow {
            id: "fill.rep/stosq",
            unroll_bytes: 8,
            doc: "rep stosq",
            symbol: Some("tiermark_fill_stosq"),
            ..FILL
        },
        run: tiermark_fill_stosq,
        available: || true,
    },
    StreamSpec {
        info: KernelRow {
            id: "fill.rep/clzero",
            stores: 8,
            unroll_bytes: 512,
            fill: Fill::Zero,
            doc: "clzero, a line at a time; stores zeros",
            symbol: Some("tiermark_fill_clzero"),
            ..FILL
        },
        run: tiermark_fill_clzero,
        available: clzero,
    },
    StreamSpec {
        info: KernelRow {
            id: "copy.rep/movsb",
            plain: true,
            doc: "rep movsb",
            symbol: Some("tiermark_copy_movsb"),
            ..COPY
        },
        run: tiermark_copy_movsb,
        available: || true,
    },
    StreamSpec {
        info: KernelRow {
            id: "copy.rep/movsq",
            unroll_bytes: 8,
            doc: "rep movsq",
            symbol: Some("tiermark_copy_movsq"),
            ..COPY
        },
        run: tiermark_copy_movsq,
        available: || true,
    },
];
