//! A triad that multiplies and adds in one instruction. With 512-bit vectors that was no faster than two instructions
//! (512 KiB and 8 MiB, Zen 5, A B A B), with 256-bit ones by a tenth.

use tiermark_model::kernel::Isa;

use super::fma;
use crate::registry::StreamSpec;

stream_fn!(tiermark_triad_avx2_fma, unroll 512, walks ["r8", "r9", "r10"], init ["vpbroadcastq ymm15, [rdi + 40]"],
    body [each!("0,1,2,3,4,5,6,7", "0", "32", ("vmovdqa ymm\\r, ", "r10", ""), ("vfmadd213pd ymm\\r, ymm15, ", "r9", ""),
                ("vmovdqa ", "r8", ", ymm\\r")),
          each!("0,1,2,3,4,5,6,7", "256", "32", ("vmovdqa ymm\\r, ", "r10", ""),
                ("vfmadd213pd ymm\\r, ymm15, ", "r9", ""), ("vmovdqa ", "r8", ", ymm\\r"))],
    tail [each!("0,1", "0", "32", ("vmovdqa ymm\\r, ", "r10", ""), ("vfmadd213pd ymm\\r, ymm15, ", "r9", ""),
                ("vmovdqa ", "r8", ", ymm\\r"))],
    done ["vzeroupper", "xor eax, eax"]);

/// The fused triad.
pub(super) fn table() -> Vec<StreamSpec> {
    vec![spec!(
        tiermark_triad_avx2_fma,
        "triad",
        "avx2-fma",
        Triad,
        Isa::Avx2,
        32,
        16,
        512,
        Cached,
        fma,
        false,
        "multiply and add in one"
    )]
}
