//! Triads that multiply and add in one instruction: one operation less for each vector, which is one rounding less too.

use tiermark_model::kernel::Isa;

use super::{avx512, fma as avx2_fma};
use crate::registry::StreamSpec;

stream_fn!(tiermark_triad_avx2_fma, unroll 512, walks ["r8", "r9", "r10"], init ["vpbroadcastq ymm15, [rdi + 40]"],
    body [each!("0,1,2,3,4,5,6,7", "0", "32", ("vmovdqa ymm\\r, ", "r10", ""), ("vfmadd213pd ymm\\r, ymm15, ", "r9", ""),
                ("vmovdqa ", "r8", ", ymm\\r")),
          each!("0,1,2,3,4,5,6,7", "256", "32", ("vmovdqa ymm\\r, ", "r10", ""),
                ("vfmadd213pd ymm\\r, ymm15, ", "r9", ""), ("vmovdqa ", "r8", ", ymm\\r"))],
    tail [each!("0,1", "0", "32", ("vmovdqa ymm\\r, ", "r10", ""), ("vfmadd213pd ymm\\r, ymm15, ", "r9", ""),
                ("vmovdqa ", "r8", ", ymm\\r"))],
    done ["vzeroupper", "xor eax, eax"]);
stream_fn!(tiermark_triad_avx512_fma, unroll 512, walks ["r8", "r9", "r10"], init ["vpbroadcastq zmm15, [rdi + 40]"],
    body [each!("0,1,2,3,4,5,6,7", "0", "64", ("vmovdqa64 zmm\\r, ", "r10", ""), ("vfmadd213pd zmm\\r, zmm15, ", "r9", ""),
                ("vmovdqa64 ", "r8", ", zmm\\r"))],
    tail [each!("0", "0", "64", ("vmovdqa64 zmm\\r, ", "r10", ""), ("vfmadd213pd zmm\\r, zmm15, ", "r9", ""),
                ("vmovdqa64 ", "r8", ", zmm\\r"))],
    done ["vzeroupper", "xor eax, eax"]);

/// The fused triads.
pub(super) fn table() -> Vec<StreamSpec> {
    vec![
        spec!(
            tiermark_triad_avx2_fma,
            "triad",
            "avx2-fma",
            Triad,
            Isa::Avx2,
            32,
            16,
            512,
            Cached,
            avx2_fma,
            false,
            "multiply and add in one"
        ),
        spec!(
            tiermark_triad_avx512_fma,
            "triad",
            "avx512-fma",
            Triad,
            Isa::Avx512,
            16,
            8,
            512,
            Cached,
            avx512,
            false,
            "multiply and add in one"
        ),
    ]
}
