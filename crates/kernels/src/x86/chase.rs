//! Pointer chases for 1 to 32 chains.

use crate::rows::ChaseRow;

/// A chase whose heads all live in registers: eight steps an iteration, the rest one by one.
///
/// Each place is a register and the number of its head in the arguments. rdi counts steps down.
macro_rules! in_registers {
    ($name:ident, $(($reg:literal $head:literal))+) => {
        naked_fn!($name(*mut $crate::ChaseArgs), [
            ".irp r,rbx,rbp,r12,r13,r14,r15\npush \\r\n.endr",
            "push rdi",
            $(concat!("mov ", $reg, ", [rdi + 8*", $head, "]"),)+
            "mov rdi, [rdi + 256]",
            counted!("rdi" by 8, [concat!(".rept 8\n", $("mov ", $reg, ", [", $reg, "]\n",)+ ".endr")],
                     "dec rdi", [$(concat!("mov ", $reg, ", [", $reg, "]")),+]),
            "pop rdi",
            $(concat!("mov [rdi + 8*", $head, "], ", $reg),)+
            ".irp r,r15,r14,r13,r12,rbp,rbx\npop \\r\n.endr",
            "ret",
        ]);
    };
}

/// A chase with thirteen heads in registers and the others in stack slots: one step an iteration.
///
/// Each slot is the number of a head whose pointer is on the stack, at `rsp + 8 * slot - 104`. rax carries each slot's pointer.
macro_rules! with_slots {
    ($name:ident, $($slot:literal)+) => {
        naked_fn!($name(*mut $crate::ChaseArgs), [
            ".irp r,rbx,rbp,r12,r13,r14,r15\npush \\r\n.endr",
            "push rdi",
            // 19 slots at most.
            "sub rsp, 152",
            $(concat!("mov rax, [rdi + 8*", $slot, "]\nmov [rsp + 8*", $slot, " - 104], rax"),)+
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
            $(concat!("mov rax, [rsp + 8*", $slot, " - 104]\nmov rax, [rax]\nmov [rsp + 8*", $slot, " - 104], rax"),)+
            "dec rdi",
            "jnz 3b",
            "mov rdi, [rsp + 152]",
            "mov [rdi], rcx",
            "mov [rdi + 8], rdx",
            "mov [rdi + 16], rbx",
            "mov [rdi + 24], rbp",
            "mov [rdi + 32], rsi",
            ".irp n,8,9,10,11,12,13,14,15\nmov [rdi + 40 + (\\n - 8) * 8], r\\n\n.endr",
            $(concat!("mov rax, [rsp + 8*", $slot, " - 104]\nmov [rdi + 8*", $slot, "], rax"),)+
            "add rsp, 160",
            ".irp r,r15,r14,r13,r12,rbp,rbx\npop \\r\n.endr",
            "ret",
        ]);
    };
}

chases!(
    ["rax" "rcx" "rdx" "rbx" "rbp" "rsi" "r8" "r9" "r10" "r11" "r12" "r13" "r14" "r15"],
    slots [13]
);

// A chase over bytes: eight steps an iteration, the rest one by one. The address rises by itself; the byte that was
// loaded is the other half of the next address, so that no load begins before the one before it has ended.
naked_fn!(
    tiermark_chase_bytes(*mut crate::ByteArgs),
    [
        "mov rcx, [rdi]",
        "mov rdx, [rdi + 8]",
        "mov rsi, [rdi + 16]",
        "mov rax, [rdi + 24]",
        counted!("rsi" by 8, [".rept 8\nmovzx eax, byte ptr [rcx + rax]\nadd rcx, rdx\n.endr"],
             "dec rsi", ["movzx eax, byte ptr [rcx + rax]", "add rcx, rdx"]),
        "mov [rdi + 24], rax",
        "ret",
    ]
);
