//! Pointer chases for 1 to 32 chains.

use crate::rows::ChaseRow;

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
/// Each place is a register and the number of its head in the arguments. x1 counts steps down.
macro_rules! in_registers {
    ($name:ident, $(($reg:literal $head:literal))+) => {
        naked_fn!($name(*mut $crate::ChaseArgs), [
            save!(),
            $(concat!("ldr ", $reg, ", [x0, #8*", $head, "]"),)+
            "ldr x1, [x0, #256]",
            counted!("x1" by "#8", [concat!(".rept 8\n", $("ldr ", $reg, ", [", $reg, "]\n",)+ ".endr")], rest [
                "5:",
                $(concat!("ldr ", $reg, ", [", $reg, "]"),)+
                "subs x1, x1, #1",
                "b.ne 5b"
            ]),
            $(concat!("str ", $reg, ", [x0, #8*", $head, "]"),)+
            restore!(),
            "ret",
        ]);
    };
}

/// A chase with 26 heads in registers and the others in stack slots: one step an iteration.
///
/// Each slot is the number of a head whose pointer is on the stack, at `sp + 8 * slot - 208`. x30 carries each slot's pointer.
macro_rules! with_slots {
    ($name:ident, $($slot:literal)+) => {
        naked_fn!($name(*mut $crate::ChaseArgs), [
            save!(),
            // 6 slots at most.
            "sub sp, sp, #48",
            $(concat!("ldr x30, [x0, #8*", $slot, "]\nstr x30, [sp, #8*", $slot, " - 208]"),)+
            ".irp n,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17\nldr x\\n, [x0, #(\\n - 2) * 8]\n.endr",
            ".irp n,19,20,21,22,23,24,25,26,27,28\nldr x\\n, [x0, #(\\n - 3) * 8]\n.endr",
            "ldr x1, [x0, #256]",
            ".p2align 6",
            "3:",
            ".irp n,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,19,20,21,22,23,24,25,26,27,28\n\
             ldr x\\n, [x\\n]\n.endr",
            $(concat!("ldr x30, [sp, #8*", $slot, " - 208]\nldr x30, [x30]\nstr x30, [sp, #8*", $slot, " - 208]"),)+
            "subs x1, x1, #1",
            "b.ne 3b",
            ".irp n,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17\nstr x\\n, [x0, #(\\n - 2) * 8]\n.endr",
            ".irp n,19,20,21,22,23,24,25,26,27,28\nstr x\\n, [x0, #(\\n - 3) * 8]\n.endr",
            $(concat!("ldr x30, [sp, #8*", $slot, " - 208]\nstr x30, [x0, #8*", $slot, "]"),)+
            "add sp, sp, #48",
            restore!(),
            "ret",
        ]);
    };
}

chases!(
    ["x2" "x3" "x4" "x5" "x6" "x7" "x8" "x9" "x10" "x11" "x12" "x13" "x14" "x15" "x16" "x17" "x19" "x20" "x21" "x22"
     "x23" "x24" "x25" "x26" "x27" "x28"],
    slots []
);

// A chase over bytes: eight steps an iteration, the rest one by one. The address rises by itself; the byte that was
// loaded is the other half of the next address, so that no load begins before the one before it has ended.
naked_fn!(
    tiermark_chase_bytes(*mut crate::ByteArgs),
    [
        "ldr x2, [x0]",
        "ldr x3, [x0, #8]",
        "ldr x1, [x0, #16]",
        "ldr x4, [x0, #24]",
        counted!("x1" by "#8", [".rept 8\nldrb w4, [x2, x4]\nadd x2, x2, x3\n.endr"],
             rest ["5:", "ldrb w4, [x2, x4]", "add x2, x2, x3", "subs x1, x1, #1", "b.ne 5b"]),
        "str x4, [x0, #24]",
        "ret",
    ]
);
