//! Variants of the plain kernels that are faster somewhere: prefetch ahead in software, two halves of the span at once,
//! two pages at once, loads alone. Which one wins where differs by machine; a run compares them in pairs.
//!
//! Loads alone are faster where an addition for each takes vector ports that the loads of a nearby cache would keep busy
//! otherwise. Each is the plain reader of its instruction set with loads in place of additions: the same addresses in
//! the same order, into registers that the next loads overwrite.

/// The variants of one instruction set. What the words mean is said at `spelling`.
macro_rules! variant_kernels {
    (isa $isa:expr, [$plain:literal, $pf:literal, $nta:literal, $halves:literal, $pages:literal, $bare:literal],
     $available:path, width $w:literal, unroll $unroll:literal, step $step:literal, per $per:literal,
     tail $tail:literal, offs [$($off:literal),+], lines $lines:literal, second $second:literal,
     splat [$($splat:literal),+], zero $zero:literal, sum $sum:literal, load $load:literal, store $store:literal,
     nt $nt:literal, update ($upd_pre:literal, $upd_post:literal), scale ($scale_pre:literal, $scale_post:literal),
     plus $plus:literal, own $own:literal, value $value:literal, fold [$($fold:literal),+], leave [$($leave:literal),*],
     names [$read_pf:ident, $read_nta:ident, $read_halves:ident, $read_bare:ident, $copy_pf:ident,
            $write_nt_pages:ident, $copy_nt_pages:ident]) => {
        stream_fn!($read_pf, unroll $unroll, walks ["r9"],
            init [concat!(".irp r,0,1,2,3,4,5,6,7\n", $zero, "\n.endr")],
            body [each!($lines, "2048", "64", ("prefetcht0 ", "r9", "")),
                  $(each!("0,1,2,3,4,5,6,7", $off, $w, ($sum, "r9", ""))),+],
            tail [each!($tail, "0", $w, ($sum, "r9", ""))],
            done [$($fold,)+ $($leave,)*]);
        stream_fn!($read_nta, unroll $unroll, walks ["r9"],
            init [concat!(".irp r,0,1,2,3,4,5,6,7\n", $zero, "\n.endr")],
            body [each!($lines, "4096", "64", ("prefetchnta ", "r9", "")),
                  $(each!("0,1,2,3,4,5,6,7", $off, $w, ($sum, "r9", ""))),+],
            tail [each!($tail, "0", $w, ($sum, "r9", ""))],
            done [$($fold,)+ $($leave,)*]);
        two_halves_fn!($read_halves, step $step, init [concat!(".irp r,0,1,2,3,4,5,6,7\n", $zero, "\n.endr")],
            body [each!("0,1,2,3", "0", $w, ($sum, "r9", "")),
                  each!("4,5,6,7", concat!("-", $step), $w, ($sum, "r10", ""))],
            tail [each!($tail, "0", $w, ($sum, "r9", ""))],
            done [$($fold,)+ $($leave,)*]);
        stream_fn!($read_bare, unroll $unroll, walks ["r9"], init [],
            body [$(each!("0,1,2,3,4,5,6,7", $off, $w, ($load, "r9", ""))),+],
            tail [each!($tail, "0", $w, ($load, "r9", ""))],
            done [$($leave,)* "xor eax, eax"]);
        stream_fn!($copy_pf, unroll $unroll, walks ["r8", "r9"], init [],
            body [each!($lines, "2048", "64", ("prefetcht0 ", "r9", "")),
                  $(each!("0,1,2,3,4,5,6,7", $off, $w, ($load, "r9", ""), ($store, "r8", $own))),+],
            tail [each!($tail, "0", $w, ($load, "r9", ""), ($store, "r8", $own))],
            done [$($leave,)* "xor eax, eax"]);
        two_pages_fn!($write_nt_pages, step $step, walks ["r8"], init [$($splat),+],
            body [each!("0,1,2,3", "0", $w, ($nt, "r8", $value)),
                  each!("4,5,6,7", $second, $w, ($nt, "r8", $value))],
            tail [each!($tail, "0", $w, ($nt, "r8", $value))],
            done [$($leave,)* "xor eax, eax", "sfence"]);
        two_pages_fn!($copy_nt_pages, step $step, walks ["r8", "r9"], init [],
            body [each!("0,1,2,3", "0", $w, ($load, "r9", ""), ($nt, "r8", $own)),
                  each!("4,5,6,7", $second, $w, ($load, "r9", ""), ($nt, "r8", $own))],
            tail [each!($tail, "0", $w, ($load, "r9", ""), ($nt, "r8", $own))],
            done [$($leave,)* "xor eax, eax", "sfence"]);

        /// The variants of this instruction set.
        fn variants() -> Vec<StreamSpec> {
            vec![
                spec!($read_pf, "read", $pf, Read, $isa, $per, 0, $unroll, None, $available, false,
                    "software prefetch 2 KiB ahead"),
                spec!($read_nta, "read", $nta, Read, $isa, $per, 0, $unroll, None, $available, false,
                    "software non-temporal prefetch 4 KiB ahead"),
                spec!($read_halves, "read", $halves, Read, $isa, 8, 0, 2 * $step, None, $available, false,
                    "both halves of the span at once"),
                spec!($read_bare, "read", $bare, Read, $isa, $per, 0, $unroll, None, $available, false,
                    "loads alone: nothing is added up").checked_by(concat!("read/", $plain)),
                spec!($copy_pf, "copy", $pf, Copy, $isa, $per, $per, $unroll, Cached, $available, false,
                    "software prefetch 2 KiB ahead"),
                spec!($write_nt_pages, "write.nt", $pages, WriteNt, $isa, 0, 8, 2 * $step, NonTemporal, $available,
                    false, "two pages at once"),
                spec!($copy_nt_pages, "copy.nt", $pages, CopyNt, $isa, 8, 8, 2 * $step, NonTemporal, $available, false,
                    "two pages at once"),
            ]
        }
    };
}
