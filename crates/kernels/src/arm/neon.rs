//! Sequential kernels with 128-bit vectors, loaded and stored by pairs.

use tiermark_model::kernel::Isa;

use super::neon as available;
use crate::registry::StreamSpec;

/// Zeroes the eight sums.
macro_rules! zero_sums {
    () => {
        each!("0,1,2,3,4,5,6,7", "movi v\\r\\().2d, #0")
    };
}

/// Adds what was loaded to the sums.
macro_rules! add_sums {
    ($regs:literal) => {
        each!($regs, "add v\\r\\().2d, v\\r\\().2d, v2\\r\\().2d")
    };
}

/// Folds the sums into x0.
macro_rules! fold_sums {
    () => {
        ".irp r,1,2,3,4,5,6,7\nadd v0.2d, v0.2d, v\\r\\().2d\n.endr\naddp d0, v0.2d\nfmov x0, d0"
    };
}

/// Spreads the value over v28.
macro_rules! splat {
    () => {
        "ldr x6, [x0, #40]\ndup v28.2d, x6"
    };
}

/// Stores v28 to 128 bytes from x1 on.
macro_rules! store_value {
    ($op:literal, $offs:literal) => {
        concat!(".irp o,", $offs, "\n", $op, " q28, q28, [x1, #\\o]\n.endr")
    };
}

/// A reader: its load instruction and what stands before a body.
macro_rules! reader {
    ($name:ident, $load:literal, $($ahead:literal),*) => {
        stream_fn!($name, unroll 256, walks ["x2"], init [zero_sums!()],
            body [$($ahead,)* pairs!($load, "x2", "0"), add_sums!("0,1,2,3,4,5,6,7"), pairs!($load, "x2", "128"),
                  add_sums!("0,1,2,3,4,5,6,7")],
            tail [concat!($load, " q20, q21, [x2]\n", $load, " q22, q23, [x2, #32]"), add_sums!("0,1,2,3")],
            done [fold_sums!()]);
    };
}

/// The storing kernels, with one store instruction and what ends the function.
macro_rules! storers {
    ($store:literal, [$($end:literal),*], $write:ident, $copy:ident, $triad:ident) => {
        stream_fn!($write, unroll 256, walks ["x1"], init [splat!()],
            body [store_value!($store, "0,32,64,96,128,160,192,224")], tail [store_value!($store, "0,32")],
            done ["mov x0, xzr" $(, $end)*]);
        stream_fn!($copy, unroll 256, walks ["x1", "x2"], init [],
            body [pairs!("ldp", "x2", "0"), pairs!($store, "x1", "0"), pairs!("ldp", "x2", "128"),
                  pairs!($store, "x1", "128")],
            tail ["ldp q20, q21, [x2]\nldp q22, q23, [x2, #32]",
                  concat!($store, " q20, q21, [x1]\n", $store, " q22, q23, [x1, #32]")],
            done ["mov x0, xzr" $(, $end)*]);
        stream_fn!($triad, unroll 128, walks ["x1", "x2", "x3"], init [splat!()],
            body [pairs!("ldp", "x3", "0"), each!("0,1,2,3,4,5,6,7", "fmul v\\r\\().2d, v2\\r\\().2d, v28.2d"),
                  pairs!("ldp", "x2", "0"), each!("0,1,2,3,4,5,6,7", "fadd v2\\r\\().2d, v2\\r\\().2d, v\\r\\().2d"),
                  pairs!($store, "x1", "0")],
            tail ["ldp q20, q21, [x3]\nldp q22, q23, [x3, #32]",
                  each!("0,1,2,3", "fmul v\\r\\().2d, v2\\r\\().2d, v28.2d"),
                  "ldp q20, q21, [x2]\nldp q22, q23, [x2, #32]",
                  each!("0,1,2,3", "fadd v2\\r\\().2d, v2\\r\\().2d, v\\r\\().2d"),
                  concat!($store, " q20, q21, [x1]\n", $store, " q22, q23, [x1, #32]")],
            done ["mov x0, xzr" $(, $end)*]);
    };
}

reader!(tiermark_read_neon, "ldp",);
reader!(tiermark_read_neon_nt, "ldnp",);
reader!(tiermark_read_neon_pf, "ldp", ".irp o,1024,1088,1152,1216\nprfm pldl1keep, [x2, #\\o]\n.endr");
// The plain reader without its additions: registers that the next loads overwrite.
stream_fn!(tiermark_read_neon_load, unroll 256, walks ["x2"], init [],
    body [pairs!("ldp", "x2", "0"), pairs!("ldp", "x2", "128")],
    tail ["ldp q20, q21, [x2]\nldp q22, q23, [x2, #32]"],
    done ["mov x0, xzr"]);
storers!("stp", [], tiermark_write_neon, tiermark_copy_neon, tiermark_triad_neon);
storers!("stnp", ["dmb ishst"], tiermark_write_nt_neon, tiermark_copy_nt_neon, tiermark_triad_nt_neon);

stream_fn!(tiermark_update_neon, unroll 256, walks ["x1"], init [splat!()],
    body [pairs!("ldp", "x1", "0"), each!("0,1,2,3,4,5,6,7", "add v2\\r\\().2d, v2\\r\\().2d, v28.2d"),
          pairs!("stp", "x1", "0"), pairs!("ldp", "x1", "128"),
          each!("0,1,2,3,4,5,6,7", "add v2\\r\\().2d, v2\\r\\().2d, v28.2d"), pairs!("stp", "x1", "128")],
    tail ["ldp q20, q21, [x1]\nldp q22, q23, [x1, #32]", each!("0,1,2,3", "add v2\\r\\().2d, v2\\r\\().2d, v28.2d"),
          "stp q20, q21, [x1]\nstp q22, q23, [x1, #32]"],
    done ["mov x0, xzr"]);

/// The kernels of this instruction set. A load or store of a pair counts as one instruction.
#[rustfmt::skip]
pub(super) fn table() -> Vec<StreamSpec> {
    use Isa::Neon;
    vec![
        spec!(tiermark_read_neon, "read", "neon", Read, Neon, 8, 0, 256, None, available, true, "one stream, by pairs"),
        spec!(tiermark_read_neon_nt, "read", "neon-nt", Read, Neon, 8, 0, 256, None, available, false,
            "non-temporal loads"),
        spec!(tiermark_read_neon_pf, "read", "neon-pf", Read, Neon, 8, 0, 256, None, available, false,
            "software prefetch 1 KiB ahead"),
        spec!(tiermark_read_neon_load, "read", "neon-load", Read, Neon, 8, 0, 256, None, available, false,
            "loads alone: nothing is added up").checked_by("read/neon"),
        spec!(tiermark_write_neon, "write", "neon", Write, Neon, 0, 8, 256, Cached, available, true, "by pairs"),
        spec!(tiermark_write_nt_neon, "write.nt", "neon", WriteNt, Neon, 0, 8, 256, NonTemporal, available, true,
            "stnp: a hint that cores may ignore"),
        spec!(tiermark_copy_neon, "copy", "neon", Copy, Neon, 8, 8, 256, Cached, available, true, "by pairs"),
        spec!(tiermark_copy_nt_neon, "copy.nt", "neon", CopyNt, Neon, 8, 8, 256, NonTemporal, available, true,
            "stnp, ordinary loads"),
        spec!(tiermark_update_neon, "update", "neon", Update, Neon, 8, 8, 256, Cached, available, true,
            "adds to every word in place"),
        spec!(tiermark_triad_neon, "triad", "neon", Triad, Neon, 8, 4, 128, Cached, available, true,
            "multiply, then add"),
        spec!(tiermark_triad_nt_neon, "triad.nt", "neon", TriadNt, Neon, 8, 4, 128, NonTemporal, available, true,
            "multiply, then add; stnp, ordinary loads"),
    ]
}
