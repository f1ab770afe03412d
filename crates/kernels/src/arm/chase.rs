//! Pointer chases for 1 to 32 chains.

use crate::chase::ChaseRow;

/// Saves what a chase may use and the caller keeps; x18 belongs to the platform and stays alone.
macro_rules! save {
    () => {
        "stp x29, x30, [sp, #-96]!\nstp x27, x28, [sp, #16]\nstp x25, x26, [sp, #32]\nstp x23, x24, [sp, #48]\n\
         stp x21, x22, [sp, #64]\nstp x19, x20, [sp, #80]"
    };
}

/// Undoes [`save`].
macro_rules! restore {
    () => {
        "ldp x19, x20, [sp, #80]\nldp x21, x22, [sp, #64]\nldp x23, x24, [sp, #48]\nldp x25, x26, [sp, #32]\n\
         ldp x27, x28, [sp, #16]\nldp x29, x30, [sp], #96"
    };
}

/// A chase whose heads all live in registers: eight steps an iteration, the rest one by one.
///
/// Each place is a register and the byte offset of its head in the arguments. x1 counts steps down.
macro_rules! in_registers {
    ($name:ident, $(($reg:literal $head:literal)),+) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(_args: *mut $crate::ChaseArgs) {
            core::arch::naked_asm!(
                save!(),
                $(concat!("ldr ", $reg, ", [x0, #", $head, "]"),)+
                "ldr x1, [x0, #256]",
                "subs x1, x1, #8",
                "b.lo 4f",
                ".p2align 6",
                "3:",
                concat!(".rept 8\n", $("ldr ", $reg, ", [", $reg, "]\n",)+ ".endr"),
                "subs x1, x1, #8",
                "b.hs 3b",
                "4:",
                "adds x1, x1, #8",
                "b.eq 6f",
                "5:",
                $(concat!("ldr ", $reg, ", [", $reg, "]"),)+
                "subs x1, x1, #1",
                "b.ne 5b",
                "6:",
                $(concat!("str ", $reg, ", [x0, #", $head, "]"),)+
                restore!(),
                "ret",
            )
        }
    };
}

/// A chase with 26 heads in registers and the others in stack slots: one step an iteration.
///
/// Each place is the byte offset, in the arguments, of a head in a stack slot; slots are on the stack at `sp + slot -
/// 208`. x30 carries each slot's pointer.
macro_rules! with_slots {
    ($name:ident, $(($slot:literal)),+) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(_args: *mut $crate::ChaseArgs) {
            core::arch::naked_asm!(
                save!(),
                // 6 slots at most.
                "sub sp, sp, #48",
                $(concat!("ldr x30, [x0, #", $slot, "]\nstr x30, [sp, #", $slot, " - 208]"),)+
                ".irp n,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17\nldr x\\n, [x0, #(\\n - 2) * 8]\n.endr",
                ".irp n,19,20,21,22,23,24,25,26,27,28\nldr x\\n, [x0, #(\\n - 3) * 8]\n.endr",
                "ldr x1, [x0, #256]",
                ".p2align 6",
                "3:",
                ".irp n,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,19,20,21,22,23,24,25,26,27,28\n\
                 ldr x\\n, [x\\n]\n.endr",
                $(concat!("ldr x30, [sp, #", $slot, " - 208]\nldr x30, [x30]\nstr x30, [sp, #", $slot, " - 208]"),)+
                "subs x1, x1, #1",
                "b.ne 3b",
                ".irp n,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17\nstr x\\n, [x0, #(\\n - 2) * 8]\n.endr",
                ".irp n,19,20,21,22,23,24,25,26,27,28\nstr x\\n, [x0, #(\\n - 3) * 8]\n.endr",
                $(concat!("ldr x30, [sp, #", $slot, " - 208]\nstr x30, [x0, #", $slot, "]"),)+
                "add sp, sp, #48",
                restore!(),
                "ret",
            )
        }
    };
}

/// Defines one chase after the other, each with the place of one more head.
macro_rules! family {
    ($kind:ident, [$($places:tt),*],) => {};
    ($kind:ident, [$($places:tt),*], $name:ident $place:tt, $($rest:tt)*) => {
        $kind!($name, $($places,)* $place);
        family!($kind, [$($places,)* $place], $($rest)*);
    };
}

family!(
    in_registers,
    [],
    tiermark_chase_1 ("x2" "0"),
    tiermark_chase_2 ("x3" "8"),
    tiermark_chase_3 ("x4" "16"),
    tiermark_chase_4 ("x5" "24"),
    tiermark_chase_5 ("x6" "32"),
    tiermark_chase_6 ("x7" "40"),
    tiermark_chase_7 ("x8" "48"),
    tiermark_chase_8 ("x9" "56"),
    tiermark_chase_9 ("x10" "64"),
    tiermark_chase_10 ("x11" "72"),
    tiermark_chase_11 ("x12" "80"),
    tiermark_chase_12 ("x13" "88"),
    tiermark_chase_13 ("x14" "96"),
    tiermark_chase_14 ("x15" "104"),
    tiermark_chase_15 ("x16" "112"),
    tiermark_chase_16 ("x17" "120"),
    tiermark_chase_17 ("x19" "128"),
    tiermark_chase_18 ("x20" "136"),
    tiermark_chase_19 ("x21" "144"),
    tiermark_chase_20 ("x22" "152"),
    tiermark_chase_21 ("x23" "160"),
    tiermark_chase_22 ("x24" "168"),
    tiermark_chase_23 ("x25" "176"),
    tiermark_chase_24 ("x26" "184"),
    tiermark_chase_25 ("x27" "192"),
    tiermark_chase_26 ("x28" "200"),
);
family!(
    with_slots,
    [],
    tiermark_chase_27("208"),
    tiermark_chase_28("216"),
    tiermark_chase_29("224"),
    tiermark_chase_30("232"),
    tiermark_chase_31("240"),
    tiermark_chase_32("248"),
);

/// A chase over bytes: eight steps an iteration, the rest one by one. The address rises by itself; the byte that was
/// loaded is the other half of the next address, so that no load begins before the one before it has ended.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tiermark_chase_bytes(_args: *mut crate::ByteArgs) {
    core::arch::naked_asm!(
        "ldr x2, [x0]",
        "ldr x3, [x0, #8]",
        "ldr x1, [x0, #16]",
        "ldr x4, [x0, #24]",
        "subs x1, x1, #8",
        "b.lo 4f",
        ".p2align 6",
        "3:",
        ".rept 8\nldrb w4, [x2, x4]\nadd x2, x2, x3\n.endr",
        "subs x1, x1, #8",
        "b.hs 3b",
        "4:",
        "adds x1, x1, #8",
        "b.eq 6f",
        "5:",
        "ldrb w4, [x2, x4]",
        "add x2, x2, x3",
        "subs x1, x1, #1",
        "b.ne 5b",
        "6:",
        "str x4, [x0, #24]",
        "ret",
    )
}

/// A row; register chases unroll eight steps.
macro_rules! row {
    ($run:ident, $loads:expr) => {
        ChaseRow { run: $run, symbol: stringify!($run), loads: $loads }
    };
}

/// Every chase, by number of chains from 1.
pub(crate) static TABLE: [ChaseRow; 32] = [
    row!(tiermark_chase_1, 8),
    row!(tiermark_chase_2, 16),
    row!(tiermark_chase_3, 24),
    row!(tiermark_chase_4, 32),
    row!(tiermark_chase_5, 40),
    row!(tiermark_chase_6, 48),
    row!(tiermark_chase_7, 56),
    row!(tiermark_chase_8, 64),
    row!(tiermark_chase_9, 72),
    row!(tiermark_chase_10, 80),
    row!(tiermark_chase_11, 88),
    row!(tiermark_chase_12, 96),
    row!(tiermark_chase_13, 104),
    row!(tiermark_chase_14, 112),
    row!(tiermark_chase_15, 120),
    row!(tiermark_chase_16, 128),
    row!(tiermark_chase_17, 136),
    row!(tiermark_chase_18, 144),
    row!(tiermark_chase_19, 152),
    row!(tiermark_chase_20, 160),
    row!(tiermark_chase_21, 168),
    row!(tiermark_chase_22, 176),
    row!(tiermark_chase_23, 184),
    row!(tiermark_chase_24, 192),
    row!(tiermark_chase_25, 200),
    row!(tiermark_chase_26, 208),
    row!(tiermark_chase_27, 27),
    row!(tiermark_chase_28, 28),
    row!(tiermark_chase_29, 29),
    row!(tiermark_chase_30, 30),
    row!(tiermark_chase_31, 31),
    row!(tiermark_chase_32, 32),
];
