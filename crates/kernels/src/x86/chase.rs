//! Pointer chases for 1 to 32 chains.

use crate::chase::ChaseRow;

/// A chase whose heads all live in registers: eight steps an iteration, the rest one by one.
///
/// Each place is a register and the byte offset of its head in the arguments. rdi counts steps down.
macro_rules! in_registers {
    ($name:ident, $(($reg:literal $head:literal)),+) => {
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
/// Each place is the byte offset, in the arguments, of a head in a stack slot; slots are on the stack at `rsp + slot -
/// 104`. rax carries each slot's pointer.
macro_rules! with_slots {
    ($name:ident, $(($slot:literal)),+) => {
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
    tiermark_chase_1 ("rax" "0"),
    tiermark_chase_2 ("rcx" "8"),
    tiermark_chase_3 ("rdx" "16"),
    tiermark_chase_4 ("rbx" "24"),
    tiermark_chase_5 ("rbp" "32"),
    tiermark_chase_6 ("rsi" "40"),
    tiermark_chase_7 ("r8" "48"),
    tiermark_chase_8 ("r9" "56"),
    tiermark_chase_9 ("r10" "64"),
    tiermark_chase_10 ("r11" "72"),
    tiermark_chase_11 ("r12" "80"),
    tiermark_chase_12 ("r13" "88"),
    tiermark_chase_13 ("r14" "96"),
    tiermark_chase_14 ("r15" "104"),
);
family!(
    with_slots,
    [("104")],
    tiermark_chase_15("112"),
    tiermark_chase_16("120"),
    tiermark_chase_17("128"),
    tiermark_chase_18("136"),
    tiermark_chase_19("144"),
    tiermark_chase_20("152"),
    tiermark_chase_21("160"),
    tiermark_chase_22("168"),
    tiermark_chase_23("176"),
    tiermark_chase_24("184"),
    tiermark_chase_25("192"),
    tiermark_chase_26("200"),
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
        "mov rcx, [rdi]",
        "mov rdx, [rdi + 8]",
        "mov rsi, [rdi + 16]",
        "mov rax, [rdi + 24]",
        "sub rsi, 8",
        "jb 4f",
        ".p2align 6",
        "3:",
        ".rept 8\nmovzx eax, byte ptr [rcx + rax]\nadd rcx, rdx\n.endr",
        "sub rsi, 8",
        "jae 3b",
        "4:",
        "add rsi, 8",
        "jz 6f",
        "5:",
        "movzx eax, byte ptr [rcx + rax]",
        "add rcx, rdx",
        "dec rsi",
        "jnz 5b",
        "6:",
        "mov [rdi + 24], rax",
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
