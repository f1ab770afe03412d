//! Pointer chases for 1 to 32 chains.

use crate::chase::ChaseRow;

/// A chase whose heads all live in registers: eight steps an iteration, the rest one by one.
///
/// `$reg` and `$head` list the registers and the byte offsets of their heads. rdi counts steps down.
macro_rules! in_registers {
    ($name:ident, $($reg:literal $head:literal),+) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(_args: *mut $crate::ChaseArgs) {
            core::arch::naked_asm!(
                ".irp r,rbx,rbp,r12,r13,r14,r15\npush \\r\n.endr",
                "push rdi",
                $(concat!("mov ", $reg, ", [rdi + ", $head, "]"),)+
                "mov rdi, [rdi + 256]",
                "sub rdi, 8",
                "jb 4f",
                ".p2align 6",
                "3:",
                concat!(".rept 8\n", $("mov ", $reg, ", [", $reg, "]\n",)+ ".endr"),
                "sub rdi, 8",
                "jae 3b",
                "4:",
                "add rdi, 8",
                "jz 6f",
                "5:",
                $(concat!("mov ", $reg, ", [", $reg, "]"),)+
                "dec rdi",
                "jnz 5b",
                "6:",
                "pop rdi",
                $(concat!("mov [rdi + ", $head, "], ", $reg),)+
                ".irp r,r15,r14,r13,r12,rbp,rbx\npop \\r\n.endr",
                "ret",
            )
        }
    };
}

/// A chase with thirteen heads in registers and the others in stack slots: one step an iteration.
///
/// `$slot` lists byte offsets in the arguments of the heads that live in slots, which are copied to the stack at
/// `rsp + slot - 104`. rax carries each slot's pointer.
macro_rules! with_slots {
    ($name:ident, $($slot:literal),+) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(_args: *mut $crate::ChaseArgs) {
            core::arch::naked_asm!(
                ".irp r,rbx,rbp,r12,r13,r14,r15\npush \\r\n.endr",
                "push rdi",
                // 19 slots at most.
                "sub rsp, 152",
                $(concat!("mov rax, [rdi + ", $slot, "]\nmov [rsp + ", $slot, " - 104], rax"),)+
                "mov rcx, [rdi]",
                "mov rdx, [rdi + 8]",
                "mov rbx, [rdi + 16]",
                "mov rbp, [rdi + 24]",
                "mov rsi, [rdi + 32]",
                ".irp n,8,9,10,11,12,13,14,15\nmov r\\n, [rdi + 40 + (\\n - 8) * 8]\n.endr",
                "mov rdi, [rdi + 256]",
                ".p2align 6",
                "3:",
                ".irp r,rcx,rdx,rbx,rbp,rsi,r8,r9,r10,r11,r12,r13,r14,r15\nmov \\r, [\\r]\n.endr",
                $(concat!("mov rax, [rsp + ", $slot, " - 104]\nmov rax, [rax]\nmov [rsp + ", $slot, " - 104], rax"),)+
                "dec rdi",
                "jnz 3b",
                "mov rdi, [rsp + 152]",
                "mov [rdi], rcx",
                "mov [rdi + 8], rdx",
                "mov [rdi + 16], rbx",
                "mov [rdi + 24], rbp",
                "mov [rdi + 32], rsi",
                ".irp n,8,9,10,11,12,13,14,15\nmov [rdi + 40 + (\\n - 8) * 8], r\\n\n.endr",
                $(concat!("mov rax, [rsp + ", $slot, " - 104]\nmov [rdi + ", $slot, "], rax"),)+
                "add rsp, 160",
                ".irp r,r15,r14,r13,r12,rbp,rbx\npop \\r\n.endr",
                "ret",
            )
        }
    };
}

in_registers!(tiermark_chase_1, "rax" "0");
in_registers!(tiermark_chase_2, "rax" "0", "rcx" "8");
in_registers!(tiermark_chase_3, "rax" "0", "rcx" "8", "rdx" "16");
in_registers!(tiermark_chase_4, "rax" "0", "rcx" "8", "rdx" "16", "rbx" "24");
in_registers!(tiermark_chase_5, "rax" "0", "rcx" "8", "rdx" "16", "rbx" "24", "rbp" "32");
in_registers!(tiermark_chase_6, "rax" "0", "rcx" "8", "rdx" "16", "rbx" "24", "rbp" "32", "rsi" "40");
in_registers!(tiermark_chase_7, "rax" "0", "rcx" "8", "rdx" "16", "rbx" "24", "rbp" "32", "rsi" "40", "r8" "48");
in_registers!(tiermark_chase_8, "rax" "0", "rcx" "8", "rdx" "16", "rbx" "24", "rbp" "32", "rsi" "40", "r8" "48", "r9" "56");
in_registers!(tiermark_chase_9, "rax" "0", "rcx" "8", "rdx" "16", "rbx" "24", "rbp" "32", "rsi" "40", "r8" "48", "r9" "56", "r10" "64");
in_registers!(tiermark_chase_10, "rax" "0", "rcx" "8", "rdx" "16", "rbx" "24", "rbp" "32", "rsi" "40", "r8" "48", "r9" "56", "r10" "64", "r11" "72");
in_registers!(tiermark_chase_11, "rax" "0", "rcx" "8", "rdx" "16", "rbx" "24", "rbp" "32", "rsi" "40", "r8" "48", "r9" "56", "r10" "64", "r11" "72", "r12" "80");
in_registers!(tiermark_chase_12, "rax" "0", "rcx" "8", "rdx" "16", "rbx" "24", "rbp" "32", "rsi" "40", "r8" "48", "r9" "56", "r10" "64", "r11" "72", "r12" "80", "r13" "88");
in_registers!(tiermark_chase_13, "rax" "0", "rcx" "8", "rdx" "16", "rbx" "24", "rbp" "32", "rsi" "40", "r8" "48", "r9" "56", "r10" "64", "r11" "72", "r12" "80", "r13" "88", "r14" "96");
in_registers!(tiermark_chase_14, "rax" "0", "rcx" "8", "rdx" "16", "rbx" "24", "rbp" "32", "rsi" "40", "r8" "48", "r9" "56", "r10" "64", "r11" "72", "r12" "80", "r13" "88", "r14" "96", "r15" "104");
with_slots!(tiermark_chase_15, "104", "112");
with_slots!(tiermark_chase_16, "104", "112", "120");
with_slots!(tiermark_chase_17, "104", "112", "120", "128");
with_slots!(tiermark_chase_18, "104", "112", "120", "128", "136");
with_slots!(tiermark_chase_19, "104", "112", "120", "128", "136", "144");
with_slots!(tiermark_chase_20, "104", "112", "120", "128", "136", "144", "152");
with_slots!(tiermark_chase_21, "104", "112", "120", "128", "136", "144", "152", "160");
with_slots!(tiermark_chase_22, "104", "112", "120", "128", "136", "144", "152", "160", "168");
with_slots!(tiermark_chase_23, "104", "112", "120", "128", "136", "144", "152", "160", "168", "176");
with_slots!(tiermark_chase_24, "104", "112", "120", "128", "136", "144", "152", "160", "168", "176", "184");
with_slots!(tiermark_chase_25, "104", "112", "120", "128", "136", "144", "152", "160", "168", "176", "184", "192");
with_slots!(
    tiermark_chase_26,
    "104",
    "112",
    "120",
    "128",
    "136",
    "144",
    "152",
    "160",
    "168",
    "176",
    "184",
    "192",
    "200"
);
with_slots!(
    tiermark_chase_27,
    "104",
    "112",
    "120",
    "128",
    "136",
    "144",
    "152",
    "160",
    "168",
    "176",
    "184",
    "192",
    "200",
    "208"
);
with_slots!(
    tiermark_chase_28,
    "104",
    "112",
    "120",
    "128",
    "136",
    "144",
    "152",
    "160",
    "168",
    "176",
    "184",
    "192",
    "200",
    "208",
    "216"
);
with_slots!(
    tiermark_chase_29,
    "104",
    "112",
    "120",
    "128",
    "136",
    "144",
    "152",
    "160",
    "168",
    "176",
    "184",
    "192",
    "200",
    "208",
    "216",
    "224"
);
with_slots!(
    tiermark_chase_30,
    "104",
    "112",
    "120",
    "128",
    "136",
    "144",
    "152",
    "160",
    "168",
    "176",
    "184",
    "192",
    "200",
    "208",
    "216",
    "224",
    "232"
);
with_slots!(
    tiermark_chase_31,
    "104",
    "112",
    "120",
    "128",
    "136",
    "144",
    "152",
    "160",
    "168",
    "176",
    "184",
    "192",
    "200",
    "208",
    "216",
    "224",
    "232",
    "240"
);
with_slots!(
    tiermark_chase_32,
    "104",
    "112",
    "120",
    "128",
    "136",
    "144",
    "152",
    "160",
    "168",
    "176",
    "184",
    "192",
    "200",
    "208",
    "216",
    "224",
    "232",
    "240",
    "248"
);

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
    row!(tiermark_chase_15, 15),
    row!(tiermark_chase_16, 16),
    row!(tiermark_chase_17, 17),
    row!(tiermark_chase_18, 18),
    row!(tiermark_chase_19, 19),
    row!(tiermark_chase_20, 20),
    row!(tiermark_chase_21, 21),
    row!(tiermark_chase_22, 22),
    row!(tiermark_chase_23, 23),
    row!(tiermark_chase_24, 24),
    row!(tiermark_chase_25, 25),
    row!(tiermark_chase_26, 26),
    row!(tiermark_chase_27, 27),
    row!(tiermark_chase_28, 28),
    row!(tiermark_chase_29, 29),
    row!(tiermark_chase_30, 30),
    row!(tiermark_chase_31, 31),
    row!(tiermark_chase_32, 32),
];
