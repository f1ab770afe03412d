//! Macros that the loops of both instruction sets share.

/// A naked function of the lines of its code, under its own name as symbol.
macro_rules! naked_fn {
    ($name:ident($arguments:ty) $(-> $result:ty)?, [$($line:expr),+ $(,)?]) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(_args: $arguments) $(-> $result)? {
            core::arch::naked_asm!($($line,)+)
        }
    };
}

/// A kernel that is not in `kernels/`: its function, whether the cpu has it, and what its declaration says beside
/// that of another row.
macro_rules! spec {
    ($run:ident, $available:expr, $other:expr, { $($field:ident: $value:expr),* $(,)? }) => {
        StreamSpec {
            info: KernelRow { symbol: Some(stringify!($run)), $($field: $value,)* ..$other },
            run: $run,
            available: $available,
        }
    };
}

/// Every chase and their table. One whose heads all have a register of their own is made by the macro `in_registers`
/// and unrolls eight steps; one with more heads by `with_slots`, which keeps `$slot` and all further ones in slots.
macro_rules! chases {
    ([$($register:literal)+], slots [$($slot:literal)*]) => {
        chases!(
            @each [] [$($register)+] [$($slot)*] []
            tiermark_chase_1 0, tiermark_chase_2 1, tiermark_chase_3 2, tiermark_chase_4 3,
            tiermark_chase_5 4, tiermark_chase_6 5, tiermark_chase_7 6, tiermark_chase_8 7,
            tiermark_chase_9 8, tiermark_chase_10 9, tiermark_chase_11 10, tiermark_chase_12 11,
            tiermark_chase_13 12, tiermark_chase_14 13, tiermark_chase_15 14, tiermark_chase_16 15,
            tiermark_chase_17 16, tiermark_chase_18 17, tiermark_chase_19 18, tiermark_chase_20 19,
            tiermark_chase_21 20, tiermark_chase_22 21, tiermark_chase_23 22, tiermark_chase_24 23,
            tiermark_chase_25 24, tiermark_chase_26 25, tiermark_chase_27 26, tiermark_chase_28 27,
            tiermark_chase_29 28, tiermark_chase_30 29, tiermark_chase_31 30, tiermark_chase_32 31,
        );
    };
    (@each [$($place:tt)*] [$register:literal $($left:literal)*] $slots:tt [$($row:expr,)*]
     $name:ident $head:literal, $($rest:tt)*) => {
        in_registers!($name, $($place)* ($register $head));
        chases!(
            @each [$($place)* ($register $head)] [$($left)*] $slots
            [$($row,)* ChaseRow { run: $name, symbol: stringify!($name), loads: 8 * ($head + 1) },] $($rest)*
        );
    };
    (@each $places:tt [] [$($slot:literal)*] [$($row:expr,)*] $name:ident $head:literal, $($rest:tt)*) => {
        with_slots!($name, $($slot)* $head);
        chases!(
            @each $places [] [$($slot)* $head]
            [$($row,)* ChaseRow { run: $name, symbol: stringify!($name), loads: $head + 1 },] $($rest)*
        );
    };
    (@each $places:tt [] $slots:tt [$($row:expr,)*]) => {
        /// Every chase, by number of chains from 1.
        pub(crate) static TABLE: [ChaseRow; 32] = [$($row,)*];
    };
}

/// The chains whose speed is the clock of the core, and the loop that counts turns down.
macro_rules! core_clock {
    (alu: $alu:literal, mul: $mul:literal, down: $down:tt) => {
        core_clock!(@chain alu_chain, $alu, $down);
        core_clock!(@chain mul_chain, $mul, $down);
        core_clock!(@spin $down);
    };
    (@chain $name:ident, $instruction:literal, [$($down:literal),+]) => {
        /// A chain of at least `n` of an instruction, which depend on each other. Returns how many it ran.
        #[inline(always)]
        pub(crate) fn $name(n: u64) -> u64 {
            let blocks = n.div_ceil(128).max(1);
            // SAFETY: only registers. Register operands: additions of constants are resolved at rename on some cores
            // (Golden Cove and later) and would take no cycle.
            unsafe {
                core::arch::asm!(
                    ".p2align 6", "2:", ".rept 128", $instruction, ".endr", $($down,)+
                    n = inout(reg) blocks => _, x = inout(reg) 1u64 => _, y = in(reg) crate::operation::FACTOR,
                    options(nomem, nostack)
                );
            }
            blocks * 128
        }
    };
    (@spin [$($down:literal),+]) => {
        /// Counts `n` turns down.
        #[inline(always)]
        pub(crate) fn spin(n: u64) {
            // SAFETY: only a register.
            unsafe { core::arch::asm!("2:", $($down,)+ n = inout(reg) n.max(1) => _, options(nomem, nostack)) };
        }
    };
}

/// The loop that fills the core, by the instructions of half a round.
macro_rules! core_throughput {
    ([$($line:literal),+ $(,)?], down: [$($down:literal),+]) => {
        /// Runs `rounds` rounds of eight chains of additions, which do not depend on each other, and of four loads
        /// from these lines, twice.
        #[inline(always)]
        pub(crate) fn throughput(rounds: u64, lines: &$crate::clock::Lines) {
            // SAFETY: registers, and loads within the 512 bytes of `lines`.
            unsafe {
                core::arch::asm!(
                    ".p2align 6", "2:", ".rept 2", $($line,)+ ".endr", $($down,)+
                    n = inout(reg) rounds.max(1) => _,
                    a = inout(reg) 1u64 => _, b = inout(reg) 2u64 => _, c = inout(reg) 3u64 => _,
                    d = inout(reg) 4u64 => _, e = inout(reg) 5u64 => _, f = inout(reg) 6u64 => _,
                    g = inout(reg) 7u64 => _, h = inout(reg) 8u64 => _,
                    y = in(reg) $crate::operation::FACTOR, p = in(reg) lines, t = out(reg) _,
                    options(readonly, nostack)
                );
            }
        }
    };
}
