//! Chains of dependent operations: `rounds` turns of 64 of them.

use std::arch::asm;

use crate::operation::{DOUBLE, FLOAT, INT32, INT64};

/// A chain of one instruction; `$with` is the other operand.
macro_rules! of {
    ($name:ident, $class:ident, $of:ident, $with:ident, $instruction:literal, $bits:expr) => {
        #[inline(always)]
        pub(crate) fn $name(rounds: u64) -> u64 {
            let mut x = $of.first;
            // SAFETY: only registers.
            unsafe {
                asm!(
                    ".p2align 6", "2:", ".rept 64", $instruction, ".endr", "subs {n}, {n}, #1", "b.ne 2b",
                    n = inout(reg) rounds => _, x = inout($class) x, y = in($class) $of.$with, options(nomem, nostack)
                );
            }
            u64::from($bits(x))
        }
    };
}

of!(int32_add, reg, INT32, operand, "add {x:w}, {x:w}, {y:w}", i32::cast_unsigned);
of!(int32_mul, reg, INT32, operand, "mul {x:w}, {x:w}, {y:w}", i32::cast_unsigned);
of!(int32_div, reg, INT32, dividend, "sdiv {x:w}, {y:w}, {x:w}", i32::cast_unsigned);
of!(int64_add, reg, INT64, operand, "add {x}, {x}, {y}", i64::cast_unsigned);
of!(int64_mul, reg, INT64, operand, "mul {x}, {x}, {y}", i64::cast_unsigned);
of!(int64_div, reg, INT64, dividend, "sdiv {x}, {y}, {x}", i64::cast_unsigned);
of!(float_add, vreg, FLOAT, operand, "fadd {x:s}, {x:s}, {y:s}", f32::to_bits);
of!(float_mul, vreg, FLOAT, operand, "fmul {x:s}, {x:s}, {y:s}", f32::to_bits);
of!(float_div, vreg, FLOAT, dividend, "fdiv {x:s}, {y:s}, {x:s}", f32::to_bits);
of!(double_add, vreg, DOUBLE, operand, "fadd {x:d}, {x:d}, {y:d}", f64::to_bits);
of!(double_mul, vreg, DOUBLE, operand, "fmul {x:d}, {x:d}, {y:d}", f64::to_bits);
of!(double_div, vreg, DOUBLE, dividend, "fdiv {x:d}, {y:d}, {x:d}", f64::to_bits);
