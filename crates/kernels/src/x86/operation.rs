//! Chains of dependent operations: `rounds` turns of 64 of them.

use std::arch::asm;

use crate::operation::{DOUBLE, FLOAT, INT32, INT64};

/// A chain of the same instructions in registers of a class; `$with` is the other operand, `$out` what they change beside.
macro_rules! of {
    ($name:ident, $class:ident, $of:ident.$with:ident, $bits:expr, [$($line:literal),+] $(, $($out:tt)+)?) => {
        #[inline(always)]
        pub(crate) fn $name(rounds: u64) -> u64 {
            let mut x = $of.first;
            // SAFETY: only registers; where it divides, no quotient is 0 and none overflows. Register operands:
            // additions of constants are resolved at rename on some cores.
            unsafe {
                asm!(
                    ".p2align 6", "2:", $($line,)+ ".endr", "dec {n}", "jnz 2b",
                    n = inout(reg) rounds => _, x = inout($class) x, y = in($class) $of.$with, $($($out)+,)?
                    options(nomem, nostack)
                );
            }
            u64::from($bits(x))
        }
    };
}

/// A chain of quotients; the dividend is set and extended beside the chain.
macro_rules! of_quotients {
    ($name:ident, $of:ident, $bits:expr, [$($line:literal),+]) => {
        of!($name, reg, $of.dividend, $bits, [".rept 64", $($line),+], out("rax") _, out("rdx") _);
    };
}

/// A chain of quotients of floating-point numbers, by two registers in turn.
macro_rules! of_float_quotients {
    ($name:ident, $of:ident, $bits:expr, $divide:literal, $again:literal) => {
        of!($name, xmm_reg, $of.dividend, $bits,
            [".rept 32", "movaps {t}, {y}", $divide, "movaps {x}, {y}", $again], t = out(xmm_reg) _);
    };
}

of!(int32_add, reg, INT32.operand, i32::cast_unsigned, [".rept 64", "add {x:e}, {y:e}"]);
of!(int32_mul, reg, INT32.operand, i32::cast_unsigned, [".rept 64", "imul {x:e}, {y:e}"]);
of!(int64_add, reg, INT64.operand, i64::cast_unsigned, [".rept 64", "add {x}, {y}"]);
of!(int64_mul, reg, INT64.operand, i64::cast_unsigned, [".rept 64", "imul {x}, {y}"]);
of_quotients!(int32_div, INT32, i32::cast_unsigned, ["mov eax, {y:e}", "cdq", "idiv {x:e}", "mov {x:e}, eax"]);
of_quotients!(int64_div, INT64, i64::cast_unsigned, ["mov rax, {y}", "cqo", "idiv {x}", "mov {x}, rax"]);
of!(float_add, xmm_reg, FLOAT.operand, f32::to_bits, [".rept 64", "addss {x}, {y}"]);
of!(float_mul, xmm_reg, FLOAT.operand, f32::to_bits, [".rept 64", "mulss {x}, {y}"]);
of!(double_add, xmm_reg, DOUBLE.operand, f64::to_bits, [".rept 64", "addsd {x}, {y}"]);
of!(double_mul, xmm_reg, DOUBLE.operand, f64::to_bits, [".rept 64", "mulsd {x}, {y}"]);
of_float_quotients!(float_div, FLOAT, f32::to_bits, "divss {t}, {x}", "divss {x}, {t}");
of_float_quotients!(double_div, DOUBLE, f64::to_bits, "divsd {t}, {x}", "divsd {x}, {t}");
