//! Sequential kernels with vector registers: one set of loop bodies, spelt for three instruction sets.

/// The eight plain kernels of one instruction set, and their rows. What the words mean is said at `spelling`.
macro_rules! plain_kernels {
    (isa $isa:expr, [$plain:literal, $pf:literal, $nta:literal, $halves:literal, $pages:literal, $bare:literal],
     $available:path, width $w:literal, unroll $unroll:literal, step $step:literal, per $per:literal,
     tail $tail:literal, offs [$($off:literal),+], lines $lines:literal, second $second:literal,
     splat [$($splat:literal),+], zero $zero:literal, sum $sum:literal, load $load:literal, store $store:literal,
     nt $nt:literal, update ($upd_pre:literal, $upd_post:literal), scale ($scale_pre:literal, $scale_post:literal),
     plus $plus:literal, own $own:literal, value $value:literal, fold [$($fold:literal),+], leave [$($leave:literal),*],
     names [$read:ident, $write:ident, $write_nt:ident, $copy:ident, $copy_nt:ident, $update:ident, $triad:ident,
            $triad_nt:ident]) => {
        stream_fn!($read, unroll $unroll, walks ["r9"],
            init [concat!(".irp r,0,1,2,3,4,5,6,7\n", $zero, "\n.endr")],
            body [$(each!("0,1,2,3,4,5,6,7", $off, $w, ($sum, "r9", ""))),+],
            tail [each!($tail, "0", $w, ($sum, "r9", ""))],
            done [$($fold,)+ $($leave,)*]);
        stream_fn!($write, unroll $unroll, walks ["r8"], init [$($splat),+],
            body [$(each!("0,1,2,3,4,5,6,7", $off, $w, ($store, "r8", $value))),+],
            tail [each!($tail, "0", $w, ($store, "r8", $value))],
            done [$($leave,)* "xor eax, eax"]);
        stream_fn!($write_nt, unroll $unroll, walks ["r8"], init [$($splat),+],
            body [$(each!("0,1,2,3,4,5,6,7", $off, $w, ($nt, "r8", $value))),+],
            tail [each!($tail, "0", $w, ($nt, "r8", $value))],
            done [$($leave,)* "xor eax, eax", "sfence"]);
        stream_fn!($copy, unroll $unroll, walks ["r8", "r9"], init [],
            body [$(each!("0,1,2,3,4,5,6,7", $off, $w, ($load, "r9", ""), ($store, "r8", $own))),+],
            tail [each!($tail, "0", $w, ($load, "r9", ""), ($store, "r8", $own))],
            done [$($leave,)* "xor eax, eax"]);
        stream_fn!($copy_nt, unroll $unroll, walks ["r8", "r9"], init [],
            body [$(each!("0,1,2,3,4,5,6,7", $off, $w, ($load, "r9", ""), ($nt, "r8", $own))),+],
            tail [each!($tail, "0", $w, ($load, "r9", ""), ($nt, "r8", $own))],
            done [$($leave,)* "xor eax, eax", "sfence"]);
        stream_fn!($update, unroll $unroll, walks ["r8"], init [$($splat),+],
            body [$(each!("0,1,2,3,4,5,6,7", $off, $w, ($upd_pre, "r8", $upd_post), ($store, "r8", $own))),+],
            tail [each!($tail, "0", $w, ($upd_pre, "r8", $upd_post), ($store, "r8", $own))],
            done [$($leave,)* "xor eax, eax"]);
        stream_fn!($triad, unroll $unroll, walks ["r8", "r9", "r10"], init [$($splat),+],
            body [$(each!("0,1,2,3,4,5,6,7", $off, $w, ($scale_pre, "r10", $scale_post), ($plus, "r9", ""),
                           ($store, "r8", $own))),+],
            tail [each!($tail, "0", $w, ($scale_pre, "r10", $scale_post), ($plus, "r9", ""), ($store, "r8", $own))],
            done [$($leave,)* "xor eax, eax"]);
        stream_fn!($triad_nt, unroll $unroll, walks ["r8", "r9", "r10"], init [$($splat),+],
            body [$(each!("0,1,2,3,4,5,6,7", $off, $w, ($scale_pre, "r10", $scale_post), ($plus, "r9", ""),
                           ($nt, "r8", $own))),+],
            tail [each!($tail, "0", $w, ($scale_pre, "r10", $scale_post), ($plus, "r9", ""), ($nt, "r8", $own))],
            done [$($leave,)* "xor eax, eax", "sfence"]);

        /// The plain kernels of this instruction set.
        fn plain() -> Vec<StreamSpec> {
            vec![
                spec!($read, "read", $plain, Read, $isa, $per, 0, $unroll, None, $available, true, "one stream"),
                spec!($write, "write", $plain, Write, $isa, 0, $per, $unroll, Cached, $available, true, "one stream"),
                spec!($write_nt, "write.nt", $plain, WriteNt, $isa, 0, $per, $unroll, NonTemporal, $available, true,
                    "one stream"),
                spec!($copy, "copy", $plain, Copy, $isa, $per, $per, $unroll, Cached, $available, true, "two streams"),
                spec!($copy_nt, "copy.nt", $plain, CopyNt, $isa, $per, $per, $unroll, NonTemporal, $available, true,
                    "two streams, ordinary loads"),
                spec!($update, "update", $plain, Update, $isa, $per, $per, $unroll, Cached, $available, true,
                    "adds to every word in place"),
                spec!($triad, "triad", $plain, Triad, $isa, 2 * $per, $per, $unroll, Cached, $available, true,
                    "multiply, then add"),
                spec!($triad_nt, "triad.nt", $plain, TriadNt, $isa, 2 * $per, $per, $unroll, NonTemporal, $available,
                    true, "multiply, then add, ordinary loads"),
            ]
        }
    };
}

/// 128-bit vectors.
///
/// Each module's `spelling` gives the words that the loop bodies are made of. Where there are two, one stands before a
/// memory operand and one behind; `\r` is a register number from 0 to 7. Register 15 holds the value (or the scale
/// factor); `own` and `value` name the two after a store. `width` is a vector's bytes, `step` those of four, `unroll`
/// those of one iteration of the plain loops; `per` counts its vectors, `offs` says where its groups of eight start,
/// `lines` numbers its lines. `tail` numbers the vectors of one line. `second` leads from where the fifth vector of an
/// iteration would be to the second page.
pub(super) mod sse2 {
    use super::super::sse2 as available;
    use crate::registry::StreamSpec;
    use tiermark_model::kernel::Isa;

    macro_rules! spelling {
        ($kernels:ident $($names:ident),+) => {
            $kernels!(isa Isa::Sse2, ["sse2", "sse2-pf", "sse2-nta", "sse2-2s", "sse2-2p", "sse2-load"],
                available, width "16", unroll 256, step 64, per 16, tail "0,1,2,3", offs ["0", "128"], lines "0,1,2,3",
                second "4032", splat ["movq xmm15, [rdi + 40]", "punpcklqdq xmm15, xmm15"],
                zero "pxor xmm\\r, xmm\\r", sum "paddq xmm\\r, ", load "movdqa xmm\\r, ", store "movdqa ",
                nt "movntdq ",
                update ("movdqa xmm\\r, ", "\npaddq xmm\\r, xmm15"), scale ("movapd xmm\\r, ", "\nmulpd xmm\\r, xmm15"),
                plus "addpd xmm\\r, ", own ", xmm\\r", value ", xmm15",
                fold [".irp r,1,2,3,4,5,6,7\npaddq xmm0, xmm\\r\n.endr",
                      "movdqu [rsp - 64], xmm0", "mov rax, [rsp - 64]",
                      "add rax, [rsp - 56]"],
                leave [], names [$($names),+]);
        };
    }

    spelling!(plain_kernels tiermark_read_sse2, tiermark_write_sse2, tiermark_write_nt_sse2, tiermark_copy_sse2,
        tiermark_copy_nt_sse2, tiermark_update_sse2, tiermark_triad_sse2, tiermark_triad_nt_sse2);
    spelling!(variant_kernels tiermark_read_sse2_pf, tiermark_read_sse2_nta, tiermark_read_sse2_2s,
        tiermark_read_sse2_load, tiermark_copy_sse2_pf, tiermark_write_nt_sse2_2p, tiermark_copy_nt_sse2_2p);

    /// All kernels of this instruction set.
    pub(crate) fn table() -> Vec<StreamSpec> {
        let mut rows = plain();
        rows.extend(variants());
        rows
    }
}

/// 256-bit vectors.
pub(super) mod avx2 {
    use super::super::avx2 as available;
    use crate::registry::StreamSpec;
    use tiermark_model::kernel::Isa;

    macro_rules! spelling {
        ($kernels:ident $($names:ident),+) => {
            $kernels!(isa Isa::Avx2, ["avx2", "avx2-pf", "avx2-nta", "avx2-2s", "avx2-2p", "avx2-load"],
                available, width "32", unroll 512, step 128, per 16, tail "0,1", offs ["0", "256"],
                lines "0,1,2,3,4,5,6,7", second "3968", splat ["vpbroadcastq ymm15, [rdi + 40]"],
                zero "vpxor ymm\\r, ymm\\r, ymm\\r", sum "vpaddq ymm\\r, ymm\\r, ", load "vmovdqa ymm\\r, ",
                store "vmovdqa ", nt "vmovntdq ",
                update ("vpaddq ymm\\r, ymm15, ", ""), scale ("vmulpd ymm\\r, ymm15, ", ""),
                plus "vaddpd ymm\\r, ymm\\r, ", own ", ymm\\r", value ", ymm15",
                fold [".irp r,1,2,3,4,5,6,7\nvpaddq ymm0, ymm0, ymm\\r\n.endr", "vmovdqu [rsp - 64], ymm0",
                      "mov rax, [rsp - 64]", ".irp o,56,48,40\nadd rax, [rsp - \\o]\n.endr"],
                leave ["vzeroupper"], names [$($names),+]);
        };
    }

    spelling!(plain_kernels tiermark_read_avx2, tiermark_write_avx2, tiermark_write_nt_avx2, tiermark_copy_avx2,
        tiermark_copy_nt_avx2, tiermark_update_avx2, tiermark_triad_avx2, tiermark_triad_nt_avx2);
    spelling!(variant_kernels tiermark_read_avx2_pf, tiermark_read_avx2_nta, tiermark_read_avx2_2s,
        tiermark_read_avx2_load, tiermark_copy_avx2_pf, tiermark_write_nt_avx2_2p, tiermark_copy_nt_avx2_2p);

    /// All kernels of this instruction set.
    pub(crate) fn table() -> Vec<StreamSpec> {
        let mut rows = plain();
        rows.extend(variants());
        rows
    }
}

/// 512-bit vectors.
pub(super) mod avx512 {
    use super::super::avx512 as available;
    use crate::registry::StreamSpec;
    use tiermark_model::kernel::Isa;

    macro_rules! spelling {
        ($kernels:ident $($names:ident),+) => {
            $kernels!(isa Isa::Avx512, ["avx512", "avx512-pf", "avx512-nta", "avx512-2s", "avx512-2p", "avx512-load"],
                available, width "64", unroll 512, step 256, per 8, tail "0", offs ["0"], lines "0,1,2,3,4,5,6,7",
                second "3840", splat ["vpbroadcastq zmm15, [rdi + 40]"],
                zero "vpxord zmm\\r, zmm\\r, zmm\\r", sum "vpaddq zmm\\r, zmm\\r, ", load "vmovdqa64 zmm\\r, ",
                store "vmovdqa64 ", nt "vmovntdq ",
                update ("vpaddq zmm\\r, zmm15, ", ""), scale ("vmulpd zmm\\r, zmm15, ", ""),
                plus "vaddpd zmm\\r, zmm\\r, ", own ", zmm\\r", value ", zmm15",
                fold [".irp r,1,2,3,4,5,6,7\nvpaddq zmm0, zmm0, zmm\\r\n.endr", "vmovdqu64 [rsp - 64], zmm0",
                      "mov rax, [rsp - 64]", ".irp o,56,48,40,32,24,16,8\nadd rax, [rsp - \\o]\n.endr"],
                leave ["vzeroupper"], names [$($names),+]);
        };
    }

    spelling!(plain_kernels tiermark_read_avx512, tiermark_write_avx512, tiermark_write_nt_avx512, tiermark_copy_avx512,
        tiermark_copy_nt_avx512, tiermark_update_avx512, tiermark_triad_avx512, tiermark_triad_nt_avx512);
    spelling!(variant_kernels tiermark_read_avx512_pf, tiermark_read_avx512_nta, tiermark_read_avx512_2s,
        tiermark_read_avx512_load, tiermark_copy_avx512_pf, tiermark_write_nt_avx512_2p, tiermark_copy_nt_avx512_2p);

    /// All kernels of this instruction set.
    pub(crate) fn table() -> Vec<StreamSpec> {
        let mut rows = plain();
        rows.extend(variants());
        rows
    }
}
