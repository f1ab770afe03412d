//! Kernels that visit lines in a given order. The order is read from an array of 4-byte line numbers, four lines an
//! iteration; nothing is drawn inside the timed loop.

use tiermark_model::kernel::Isa;

use super::{avx2, avx512, sse2};
use crate::registry::StreamSpec;

/// A naked function that visits lines. For each, rax holds the byte offset; r8 and r9 hold `dst` and `src`.
/// `visit4` takes four line numbers from r11, `visit1` one.
macro_rules! random_fn {
    ($name:ident, init [$($init:expr),*], visit [$($visit:literal),+], done [$($done:expr),*]) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(_args: *const $crate::registry::StreamArgs) -> u64 {
            core::arch::naked_asm!(
                $($init,)*
                "mov r8, [rdi]",
                "mov r9, [rdi + 8]",
                "mov r10, [rdi + 40]",
                "xor esi, esi",
                "mov rcx, [rdi + 32]",
                "2:",
                "mov r11, [rdi + 48]",
                "mov rdx, [rdi + 24]",
                "sub rdx, 256",
                "jb 4f",
                ".p2align 6",
                "3:",
                concat!(".irp n,0,4,8,12\nmov eax, dword ptr [r11 + \\n]\nshl rax, 6\n", $($visit, "\n",)+ ".endr"),
                "add r11, 16",
                "sub rdx, 256",
                "jae 3b",
                "4:",
                "add rdx, 256",
                "jz 6f",
                "5:",
                "mov eax, dword ptr [r11]",
                "shl rax, 6",
                $($visit,)+
                "add r11, 4",
                "sub rdx, 64",
                "jnz 5b",
                "6:",
                "dec rcx",
                "jnz 2b",
                $($done,)*
                "ret",
            )
        }
    };
}

random_fn!(tiermark_read_random_sse2,
    init [".irp r,0,1,2,3\npxor xmm\\r, xmm\\r\n.endr"],
    visit ["paddq xmm0, [r9 + rax]", "paddq xmm1, [r9 + rax + 16]", "paddq xmm2, [r9 + rax + 32]",
           "paddq xmm3, [r9 + rax + 48]"],
    done [".irp r,1,2,3\npaddq xmm0, xmm\\r\n.endr", "movdqu [rsp - 64], xmm0", "mov rax, [rsp - 64]",
          "add rax, [rsp - 56]"]);
random_fn!(tiermark_read_random_avx2,
    init [".irp r,0,1\nvpxor ymm\\r, ymm\\r, ymm\\r\n.endr"],
    visit ["vpaddq ymm0, ymm0, [r9 + rax]", "vpaddq ymm1, ymm1, [r9 + rax + 32]"],
    done ["vpaddq ymm0, ymm0, ymm1", "vmovdqu [rsp - 64], ymm0", "mov rax, [rsp - 64]",
          ".irp o,56,48,40\nadd rax, [rsp - \\o]\n.endr", "vzeroupper"]);
random_fn!(tiermark_read_random_avx512,
    init ["vpxord zmm0, zmm0, zmm0"],
    visit ["vpaddq zmm0, zmm0, [r9 + rax]"],
    done ["vmovdqu64 [rsp - 64], zmm0", "mov rax, [rsp - 64]",
          ".irp o,56,48,40,32,24,16,8\nadd rax, [rsp - \\o]\n.endr", "vzeroupper"]);
random_fn!(tiermark_write_random_sse2,
    init ["movq xmm15, [rdi + 40]", "punpcklqdq xmm15, xmm15"],
    visit ["movdqa [r8 + rax], xmm15", "movdqa [r8 + rax + 16], xmm15", "movdqa [r8 + rax + 32], xmm15",
           "movdqa [r8 + rax + 48], xmm15"],
    done ["xor eax, eax"]);
random_fn!(tiermark_write_random_avx2,
    init ["vpbroadcastq ymm15, [rdi + 40]"],
    visit ["vmovdqa [r8 + rax], ymm15", "vmovdqa [r8 + rax + 32], ymm15"],
    done ["vzeroupper", "xor eax, eax"]);
random_fn!(tiermark_write_random_avx512,
    init ["vpbroadcastq zmm15, [rdi + 40]"],
    visit ["vmovdqa64 [r8 + rax], zmm15"],
    done ["vzeroupper", "xor eax, eax"]);
random_fn!(tiermark_read_random8_x86, init [], visit ["add rsi, [r9 + rax]"], done ["mov rax, rsi"]);
random_fn!(tiermark_write_random8_x86, init [], visit ["mov [r8 + rax], r10"], done ["xor eax, eax"]);

/// The random kernels of x86-64.
#[rustfmt::skip]
pub(super) fn table() -> Vec<StreamSpec> {
    use Isa::{Avx2, Avx512, Sse2, X86};
    vec![
        spec!(tiermark_read_random_sse2, "read.random", "sse2", ReadRandom, Sse2, 16, 0, 256, None, sse2, true,
            "whole lines"),
        spec!(tiermark_read_random_avx2, "read.random", "avx2", ReadRandom, Avx2, 8, 0, 256, None, avx2, true,
            "whole lines"),
        spec!(tiermark_read_random_avx512, "read.random", "avx512", ReadRandom, Avx512, 4, 0, 256, None, avx512, true,
            "whole lines"),
        spec!(tiermark_write_random_sse2, "write.random", "sse2", WriteRandom, Sse2, 0, 16, 256, Cached, sse2, true,
            "whole lines"),
        spec!(tiermark_write_random_avx2, "write.random", "avx2", WriteRandom, Avx2, 0, 8, 256, Cached, avx2, true,
            "whole lines"),
        spec!(tiermark_write_random_avx512, "write.random", "avx512", WriteRandom, Avx512, 0, 4, 256, Cached, avx512,
            true, "whole lines"),
        spec!(tiermark_read_random8_x86, "read.random8", "x86", ReadRandom8, X86, 4, 0, 256, None, sse2, true,
            "8 bytes of each line"),
        spec!(tiermark_write_random8_x86, "write.random8", "x86", WriteRandom8, X86, 0, 4, 256, Cached, sse2, true,
            "8 bytes of each line"),
    ]
}
