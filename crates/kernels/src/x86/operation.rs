//! Chains of dependent operations: `rounds` turns of 64 of them.

use std::arch::asm;

use crate::operation::{DOUBLE, FLOAT, INT32, INT64};

/// A chain of one instruction on general registers.
macro_rules! on_integers {
    ($name:ident, $of:ident, $signed:ty, $instruction:literal) => {
        #[inline(always)]
        pub(crate) fn $name(rounds: u64) -> u64 {
            let mut x = $of.first;
            // SAFETY: only registers. Register operands: additions of constants are resolved at rename on some cores.
            unsafe {
                asm!(
                    ".p2align 6", "2:", ".rept 64", $instruction, ".endr", "dec {n}", "jnz 2b",
                    n = inout(reg) rounds => _, x = inout(reg) x, y = in(reg) $of.operand, options(nomem, nostack)
                );
            }
            u64::from(<$signed>::cast_unsigned(x))
        }
    };
}

/// A chain of quotients; the dividend is set and extended beside the chain.
macro_rules! of_quotients {
    ($name:ident, $of:ident, $signed:ty, $set:literal, $extend:literal, $divide:literal, $take:literal) => {
        #[inline(always)]
        pub(crate) fn $name(rounds: u64) -> u64 {
            let mut x = $of.first;
            // SAFETY: only registers; no quotient is 0 and none overflows.
            unsafe {
                asm!(
                    ".p2align 6", "2:", ".rept 64", $set, $extend, $divide, $take, ".endr", "dec {n}", "jnz 2b",
                    n = inout(reg) rounds => _, x = inout(reg) x, s = in(reg) $of.dividend,
                    out("rax") _, out("rdx") _, options(nomem, nostack)
                );
            }
            u64::from(<$signed>::cast_unsigned(x))
        }
    };
}

/// A chain of one instruction on vector registers.
macro_rules! on_floats {
    ($name:ident, $of:ident, $instruction:literal) => {
        #[inline(always)]
        pub(crate) fn $name(rounds: u64) -> u64 {
            let mut x = $of.first;
            // SAFETY: only registers.
            unsafe {
                asm!(
                    ".p2align 6", "2:", ".rept 64", $instruction, ".endr", "dec {n}", "jnz 2b",
                    n = inout(reg) rounds => _, x = inout(xmm_reg) x, y = in(xmm_reg) $of.operand, options(nomem, nostack)
                );
            }
            u64::from(x.to_bits())
        }
    };
}

/// A chain of quotients of floating-point numbers, by two registers in turn.
macro_rules! of_float_quotients {
    ($name:ident, $of:ident, $divide:literal, $again:literal) => {
        #[inline(always)]
        pub(crate) fn $name(rounds: u64) -> u64 {
            let mut x = $of.first;
            // SAFETY: only registers.
            unsafe {
                asm!(
                    ".p2align 6", "2:", ".rept 32", "movaps {t}, {s}", $divide, "movaps {x}, {s}", $again, ".endr",
                    "dec {n}", "jnz 2b",
                    n = inout(reg) rounds => _, x = inout(xmm_reg) x, s = in(xmm_reg) $of.dividend, t = out(xmm_reg) _,
                    options(nomem, nostack)
                );
            }
            u64::from(x.to_bits())
        }
    };
}

on_integers!(int32_add, INT32, i32, "add {x:e}, {y:e}");
on_integers!(int32_mul, INT32, i32, "imul {x:e}, {y:e}");
on_integers!(int64_add, INT64, i64, "add {x}, {y}");
on_integers!(int64_mul, INT64, i64, "imul {x}, {y}");
of_quotients!(int32_div, INT32, i32, "mov eax, {s:e}", "cdq", "idiv {x:e}", "mov {x:e}, eax");
of_quotients!(int64_div, INT64, i64, "mov rax, {s}", "cqo", "idiv {x}", "mov {x}, rax");
on_floats!(float_add, FLOAT, "addss {x}, {y}");
on_floats!(float_mul, FLOAT, "mulss {x}, {y}");
on_floats!(double_add, DOUBLE, "addsd {x}, {y}");
on_floats!(double_mul, DOUBLE, "mulsd {x}, {y}");
of_float_quotients!(float_div, FLOAT, "divss {t}, {x}", "divss {x}, {t}");
of_float_quotients!(double_div, DOUBLE, "divsd {t}, {x}", "divsd {x}, {t}");
