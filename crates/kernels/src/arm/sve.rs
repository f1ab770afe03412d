//! Sequential kernels with scalable vectors: the same code for every vector length.

use tiermark_model::kernel::Isa;

use super::sve as available;
use crate::registry::StreamSpec;

/// Spreads the value over z28.
macro_rules! splat {
    () => {
        "ldr x9, [x0, #40]\nmov z28.d, x9"
    };
}

/// Loads eight vectors into z20 to z27.
macro_rules! load8 {
    ($ptr:literal) => {
        each!("0,1,2,3,4,5,6,7", concat!("ld1d {{z2\\r\\().d}}, p0/z, [", $ptr, ", #\\r, mul vl]"))
    };
}

/// Stores z20 to z27 by the instruction given.
macro_rules! store8 {
    ($op:literal) => {
        each!("0,1,2,3,4,5,6,7", concat!($op, " {{z2\\r\\().d}}, p0, [x1, #\\r, mul vl]"))
    };
}

/// Loads what is left of one vector into z20.
macro_rules! load_rest {
    ($ptr:literal) => {
        concat!("ld1d {{z20.d}}, p1/z, [", $ptr, ", x8, lsl #3]")
    };
}

/// Stores what is left of one vector.
macro_rules! store_rest {
    ($op:literal, $reg:literal) => {
        concat!($op, " {{", $reg, ".d}}, p1, [x1, x8, lsl #3]")
    };
}

/// The storing kernels, with one store instruction and what ends the function.
macro_rules! storers {
    ($store:literal, [$($end:literal),*], $write:ident, $copy:ident, $triad:ident) => {
        scalable_fn!($write, walks ["x1"], init [splat!()],
            body [each!("0,1,2,3,4,5,6,7", concat!($store, " {{z28.d}}, p0, [x1, #\\r, mul vl]"))],
            tail [store_rest!($store, "z28")],
            done ["mov x0, xzr" $(, $end)*]);
        scalable_fn!($copy, walks ["x1", "x2"], init [],
            body [load8!("x2"), store8!($store)],
            tail [load_rest!("x2"), store_rest!($store, "z20")],
            done ["mov x0, xzr" $(, $end)*]);
        scalable_fn!($triad, walks ["x1", "x2", "x3"], init [splat!()],
            body [load8!("x3"), each!("0,1,2,3,4,5,6,7", "fmul z\\r\\().d, z2\\r\\().d, z28.d"), load8!("x2"),
                  each!("0,1,2,3,4,5,6,7", "fadd z2\\r\\().d, z2\\r\\().d, z\\r\\().d"), store8!($store)],
            tail [load_rest!("x3"), "fmul z0.d, z20.d, z28.d", load_rest!("x2"), "fadd z20.d, z20.d, z0.d",
                  store_rest!($store, "z20")],
            done ["mov x0, xzr" $(, $end)*]);
    };
}

scalable_fn!(tiermark_read_sve, walks ["x2"],
    init [each!("0,1,2,3,4,5,6,7", "mov z\\r\\().d, #0")],
    body [load8!("x2"), each!("0,1,2,3,4,5,6,7", "add z\\r\\().d, z\\r\\().d, z2\\r\\().d")],
    tail [load_rest!("x2"), "add z0.d, z0.d, z20.d"],
    done [each!("1,2,3,4,5,6,7", "add z0.d, z0.d, z\\r\\().d"), "uaddv d0, p0, z0.d", "fmov x0, d0"]);
// The plain reader without its additions: registers that the next loads overwrite.
scalable_fn!(tiermark_read_sve_load, walks ["x2"], init [], body [load8!("x2")], tail [load_rest!("x2")],
    done ["mov x0, xzr"]);
storers!("st1d", [], tiermark_write_sve, tiermark_copy_sve, tiermark_triad_sve);
storers!("stnt1d", ["dmb ishst"], tiermark_write_nt_sve, tiermark_copy_nt_sve, tiermark_triad_nt_sve);
scalable_fn!(tiermark_update_sve, walks ["x1"], init [splat!()],
    body [load8!("x1"), each!("0,1,2,3,4,5,6,7", "add z2\\r\\().d, z2\\r\\().d, z28.d"), store8!("st1d")],
    tail [load_rest!("x1"), "add z20.d, z20.d, z28.d", store_rest!("st1d", "z20")],
    done ["mov x0, xzr"]);

/// The kernels of this instruction set. Bytes are those of 128-bit vectors, the shortest there are; counts of
/// instructions hold for every length.
#[rustfmt::skip]
pub(super) fn table() -> Vec<StreamSpec> {
    use Isa::Sve;
    vec![
        spec!(tiermark_read_sve, "read", "sve", Read, Sve, 8, 0, 128, None, available, true, "any vector length"),
        spec!(tiermark_read_sve_load, "read", "sve-load", Read, Sve, 8, 0, 128, None, available, false,
            "loads alone: nothing is added up, any vector length").checked_by("read/sve"),
        spec!(tiermark_write_sve, "write", "sve", Write, Sve, 0, 8, 128, Cached, available, true, "any vector length"),
        spec!(tiermark_write_nt_sve, "write.nt", "sve", WriteNt, Sve, 0, 8, 128, NonTemporal, available, true,
            "stnt1d, any vector length"),
        spec!(tiermark_copy_sve, "copy", "sve", Copy, Sve, 8, 8, 128, Cached, available, true, "any vector length"),
        spec!(tiermark_copy_nt_sve, "copy.nt", "sve", CopyNt, Sve, 8, 8, 128, NonTemporal, available, true,
            "stnt1d, ordinary loads, any vector length"),
        spec!(tiermark_update_sve, "update", "sve", Update, Sve, 8, 8, 128, Cached, available, true,
            "adds to every word in place, any vector length"),
        spec!(tiermark_triad_sve, "triad", "sve", Triad, Sve, 16, 8, 128, Cached, available, true,
            "multiply, then add, any vector length"),
        spec!(tiermark_triad_nt_sve, "triad.nt", "sve", TriadNt, Sve, 16, 8, 128, NonTemporal, available, true,
            "multiply, then add; stnt1d, ordinary loads"),
    ]
}
