//! The machine code of each kernel against what its row declares: the instructions in its main loop, by class and
//! count.

use std::collections::{HashMap, HashSet};
use std::process::Command;

use tiermark_kernels::clock::{alu_chain, mul_chain};
use tiermark_kernels::{KernelRow, StreamSpec, chases, streams};
use tiermark_model::kernel::{Isa, Pattern, StoreKind};

#[cfg(target_arch = "x86_64")]
const OBJDUMP: (&str, &str) = ("objdump", "binutils");
#[cfg(target_arch = "aarch64")]
const OBJDUMP: (&str, &str) = ("aarch64-linux-gnu-objdump", "binutils-aarch64-linux-gnu");

/// One instruction.
#[derive(Debug, Clone)]
struct Instruction {
    address: u64,
    mnemonic: String,
    operands: String,
}

/// The code of this test's own binary, by symbol.
fn disassemble() -> HashMap<String, Vec<Instruction>> {
    let this = std::env::current_exe().unwrap();
    let mut command = Command::new(OBJDUMP.0);
    command.args(["-d", "--no-show-raw-insn"]);
    if cfg!(target_arch = "x86_64") {
        command.args(["-M", "intel"]);
    }
    let output = command
        .arg(&this)
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}: install Debian's package {} (./test does)", OBJDUMP.0, OBJDUMP.1));
    assert!(output.status.success(), "{} failed: {}", OBJDUMP.0, String::from_utf8_lossy(&output.stderr));
    let mut code: HashMap<String, Vec<Instruction>> = HashMap::new();
    let mut symbol = String::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if let Some(name) = line.strip_suffix(">:").and_then(|line| line.split_once('<')) {
            symbol = name.1.to_owned();
        } else if symbol.starts_with("tiermark_")
            && let Some((address, text)) = line.trim_start().split_once(":\t")
            && let Ok(address) = u64::from_str_radix(address, 16)
        {
            let text = text.split('#').next().filter(|_| cfg!(target_arch = "x86_64")).unwrap_or(text).trim();
            let text = text.replace('\t', " ");
            let text = text.strip_prefix("rep ").map_or(text.clone(), |rest| format!("rep-{rest}"));
            let (mnemonic, operands) = text.split_once(' ').unwrap_or((&text, ""));
            let (mnemonic, operands) = (mnemonic.to_owned(), operands.trim().to_owned());
            code.entry(symbol.clone()).or_default().push(Instruction { address, mnemonic, operands });
        }
    }
    assert!(!code.is_empty(), "{} has no symbols: test without --release, which strips them", this.display());
    code
}

impl Instruction {
    /// Where a branch leads.
    fn target(&self) -> Option<u64> {
        let branch = self.mnemonic.starts_with('j') || self.mnemonic.starts_with("b.") || self.mnemonic == "b";
        let address = self.operands.split_whitespace().next()?.trim_start_matches("0x");
        branch.then(|| u64::from_str_radix(address, 16).ok()).flatten()
    }

    /// Its operands, split at commas outside brackets and braces.
    fn parts(&self) -> Vec<&str> {
        let mut depth = 0;
        self.operands
            .split(|c| {
                depth += i32::from("[{".contains(c)) - i32::from("]}".contains(c));
                c == ',' && depth == 0
            })
            .map(str::trim)
            .collect()
    }
}

/// The innermost loop that covers most code: a backward branch around no other.
fn main_loop(code: &[Instruction]) -> Option<&[Instruction]> {
    let loops: Vec<(usize, usize)> = (0..code.len())
        .filter_map(|end| {
            let target = code[end].target()?;
            let start = code[..=end].iter().position(|i| i.address == target)?;
            Some((start, end))
        })
        .collect();
    loops
        .iter()
        .filter(|outer| !loops.iter().any(|inner| inner != *outer && inner.0 >= outer.0 && inner.1 <= outer.1))
        .max_by_key(|(start, end)| code[*end].address - code[*start].address)
        .map(|(start, end)| &code[*start..=*end])
}

/// The memory operands of loads, of stores, and the bytes of one access, among the instructions of a kernel's class.
fn accesses(row: &KernelRow, code: &[Instruction]) -> (Vec<String>, Vec<String>, u32) {
    let (mut loads, mut stores) = (Vec::new(), Vec::new());
    let width = match row.isa {
        Isa::Avx512 => 64,
        Isa::Avx2 | Isa::Neon => 32,
        Isa::Sse2 | Isa::Sve => 16,
        _ if row.id == "fill.rep/clzero" || row.id == "fill.rep/zva" => 64,
        _ if row.id.ends_with("sb") => 1,
        _ => 8,
    };
    for (index, instruction) in code.iter().enumerate() {
        let parts = instruction.parts();
        let (load, store) = match row.store_kind {
            StoreKind::Block => block(row, instruction),
            _ if cfg!(target_arch = "x86_64") => x86(row, instruction, &parts),
            _ => arm(row, instruction, &parts),
        };
        // A zeroing instruction's address is in a register that moves between two of them.
        let moved = if row.store_kind == StoreKind::Block { format!("{index}") } else { String::new() };
        let operand = parts.iter().rfind(|p| p.contains('[')).copied().unwrap_or_default().to_owned() + &moved;
        // Random kernels reuse one register for the line's address: the place in the code tells lines apart.
        let operand = if row.op.pattern() == Pattern::Random { format!("{operand} at {index}") } else { operand };
        if load {
            loads.push(operand.clone());
        }
        if store {
            stores.push(operand);
        }
    }
    (loads, stores, width)
}

/// Whether an x86-64 instruction is a load or a store of the kernel's class.
fn x86(row: &KernelRow, instruction: &Instruction, parts: &[&str]) -> (bool, bool) {
    let size = match row.isa {
        Isa::Avx512 => "ZMMWORD PTR",
        Isa::Avx2 => "YMMWORD PTR",
        Isa::Sse2 => "XMMWORD PTR",
        _ => "QWORD PTR",
    };
    let memory = |part: &&str| part.starts_with(size);
    let store_mnemonics: &[&str] = match (row.store_kind, row.isa) {
        (StoreKind::NonTemporal, Isa::Sse2) => &["movntdq"],
        (StoreKind::NonTemporal, _) => &["vmovntdq"],
        (_, Isa::Sse2) => &["movdqa"],
        (_, Isa::Avx2) => &["vmovdqa"],
        (_, Isa::Avx512) => &["vmovdqa64"],
        _ => &["mov"],
    };
    let store = parts.first().is_some_and(memory);
    if store {
        assert!(store_mnemonics.contains(&&*instruction.mnemonic), "{}: {instruction:?} is another class", row.id);
    }
    (!store && parts.iter().skip(1).any(memory), store)
}

/// Whether an aarch64 instruction is a load or a store of the kernel's class.
fn arm(row: &KernelRow, instruction: &Instruction, parts: &[&str]) -> (bool, bool) {
    let class = parts.first().and_then(|p| p.trim_start_matches('{').chars().next());
    let wanted = match row.isa {
        Isa::Neon => 'q',
        Isa::Sve => 'z',
        _ => 'x',
    };
    let loads: &[&str] = if row.id.ends_with("-nt") { &["ldnp"] } else { &["ldp", "ld1d", "ldr"] };
    let stores: &[&str] = match row.store_kind {
        StoreKind::NonTemporal => &["stnp", "stnt1d"],
        _ => &["stp", "st1d", "str"],
    };
    let ours = class == Some(wanted);
    (ours && loads.contains(&&*instruction.mnemonic), ours && stores.contains(&&*instruction.mnemonic))
}

/// Whether it is the string or zeroing instruction of a block kernel.
fn block(row: &KernelRow, instruction: &Instruction) -> (bool, bool) {
    let text = format!("{} {}", instruction.mnemonic, instruction.operands);
    let wanted = match row.id {
        "fill.rep/stosb" => "rep-stos BYTE PTR es:[rdi],al",
        "fill.rep/stosq" => "rep-stos QWORD PTR es:[rdi],rax",
        "copy.rep/movsb" => "rep-movs BYTE PTR es:[rdi],BYTE PTR ds:[rsi]",
        "copy.rep/movsq" => "rep-movs QWORD PTR es:[rdi],QWORD PTR ds:[rsi]",
        "fill.rep/clzero" => "clzero",
        "fill.rep/zva" => "dc zva, x1",
        other => panic!("say which instruction {other} consists of"),
    };
    let found = text.trim() == wanted;
    (found && row.op.read_per_line() > 0, found)
}

#[test]
fn main_loops_hold_the_instructions_their_rows_declare() {
    let code = disassemble();
    let mut checked = 0;
    for spec in streams() {
        let row = &spec.info;
        let Some(symbol) = row.symbol else { continue };
        let body = code.get(symbol).unwrap_or_else(|| panic!("{}: no symbol {symbol} in this binary", row.id));
        let body = main_loop(body).unwrap_or_else(|| panic!("{}: no loop in {symbol}", row.id));
        let (loads, stores, width) = accesses(row, body);
        assert_eq!(loads.len(), usize::from(row.loads), "{}: loads in {body:#?}", row.id);
        assert_eq!(stores.len(), usize::from(row.stores), "{}: stores in {body:#?}", row.id);
        for operands in [&loads, &stores] {
            let distinct: HashSet<_> = operands.iter().collect();
            assert_eq!(distinct.len(), operands.len(), "{}: an address twice in {body:#?}", row.id);
        }
        // Useful bytes an iteration: what the instructions move is what the row declares.
        let lines = f64::from(row.unroll_bytes) / 64.0;
        assert_eq!(f64::from(row.loads) * f64::from(width), lines * f64::from(row.op.read_per_line()), "{}", row.id);
        assert_eq!(f64::from(row.stores) * f64::from(width), lines * f64::from(row.op.write_per_line()), "{}", row.id);
        checked += 1;
    }
    assert!(checked >= 20, "only {checked} kernels checked");
}

/// Whether an instruction names a vector register.
fn vector(instruction: &Instruction) -> bool {
    if cfg!(target_arch = "x86_64") {
        return ["xmm", "ymm", "zmm"].iter().any(|class| instruction.operands.contains(class));
    }
    // The address that a branch leads to may look like a register: d0388.
    instruction.target().is_none()
        && instruction.parts().iter().any(|part| {
            let name = part.trim_start_matches('{');
            name.starts_with(['q', 'v', 'z', 'd', 's']) && name[1..].starts_with(|c: char| c.is_ascii_digit())
        })
}

/// What a reader does to get at memory, from its first instruction to the last branch back: control, arithmetic on
/// addresses, and the operands of its vector loads, whatever becomes of the data. What happens between vector registers
/// is left out, as is padding; branches lead to the number of an instruction that is left.
fn walk(code: &[Instruction]) -> Vec<String> {
    let back = |i: &Instruction| i.target().is_some_and(|target| target <= i.address);
    let end = code.iter().rposition(back).map_or(0, |last| last + 1);
    let padding = |i: &Instruction| i.operands.contains("nop") || i.mnemonic.contains("nop") || i.mnemonic == "xchg";
    let loads = |i: &Instruction| i.operands.contains('[');
    let left: Vec<_> = code[..end].iter().filter(|i| !padding(i) && (!vector(i) || loads(i))).collect();
    let number = |address: u64| left.iter().position(|i| i.address >= address);
    left.iter()
        .map(|i| match (i.target(), i.parts().last()) {
            (Some(target), _) => format!("{} to {:?}", i.mnemonic, number(target)),
            (None, Some(memory)) if vector(i) => format!("load {memory}"),
            _ => format!("{} {}", i.mnemonic, i.operands),
        })
        .collect()
}

#[test]
fn loads_whose_data_nobody_keeps_are_those_of_the_kernel_that_sums() {
    let code = disassemble();
    let body = |spec: &StreamSpec| code[spec.info.symbol.unwrap()].as_slice();
    let mut checked = 0;
    for spec in streams().iter().filter(|spec| spec.info.checked_by.is_some()) {
        let id = spec.info.id;
        // Nothing but loads touches a vector register: whatever is loaded is overwritten, never used.
        let pure = ["movdqa", "vmovdqa", "vmovdqa64", "ldp", "ld1d"];
        let load = |i: &&Instruction| pure.contains(&&*i.mnemonic) && i.parts().last().is_some_and(|p| p.contains('['));
        for instruction in body(spec).iter().filter(|i| vector(i)) {
            assert!(load(&instruction), "{id}: {instruction:?} is no load");
        }
        let main = main_loop(body(spec)).unwrap();
        assert_eq!(main.iter().filter(load).count(), usize::from(spec.info.loads), "{id}: {main:#?}");
        // Loop control is all there is besides.
        assert!(main.len() <= usize::from(spec.info.loads) + 3, "{id}: {main:#?}");
        // The same way through memory, pass by pass, as that of the kernel whose checksum is compared.
        let (ours, theirs) = (walk(body(spec)), walk(body(spec.summing())));
        assert_eq!(ours, theirs, "{id} beside {}", spec.summing().info.id);
        assert!(ours.iter().filter(|step| step.starts_with("load ")).count() > usize::from(spec.info.loads), "{id}");
        checked += 1;
    }
    assert!(checked >= 2, "only {checked} kernels checked");
}

#[test]
fn chases_consist_of_dependent_loads() {
    let code = disassemble();
    for row in chases() {
        let body = code.get(row.symbol).unwrap_or_else(|| panic!("no symbol {} in this binary", row.symbol));
        let body = main_loop(body).unwrap_or_else(|| panic!("no loop in {}", row.symbol));
        let dependent = |i: &&Instruction| {
            let parts = i.parts();
            parts.len() == 2
                // rbp and r13 cannot be addressed without a displacement.
                && (i.mnemonic == "mov" && parts[1].replace("+0x0", "") == format!("QWORD PTR [{}]", parts[0])
                    || i.mnemonic == "ldr" && parts[1] == format!("[{}]", parts[0]))
        };
        assert_eq!(body.iter().filter(dependent).count(), usize::from(row.loads), "{}: {body:#?}", row.symbol);
    }
}

#[test]
fn each_load_of_a_chase_over_bytes_is_at_an_address_of_the_one_before() {
    let code = disassemble();
    let body = main_loop(&code[tiermark_kernels::byte_chase().1]).unwrap();
    let (loads, rest): (Vec<&Instruction>, Vec<&Instruction>) =
        body.iter().partition(|i| i.mnemonic == "movzx" || i.mnemonic == "ldrb");
    assert_eq!(loads.len(), 8, "{body:#?}");
    for load in loads {
        let text = load.operands.replace(' ', "");
        // The register that is loaded is a part of the address: eax of rax, w4 of x4.
        let (to, whole) = if load.mnemonic == "movzx" { ("eax,", "rax") } else { ("w4,", "x4") };
        assert!(text.starts_with(to) && text[to.len()..].contains(whole), "{load:?}");
    }
    assert!(rest.len() <= 8 + 3 && !rest.iter().any(|i| i.operands.contains('[')), "{body:#?}");
}

/// The chains of the clock probe, out of line so that their code can be looked at.
#[unsafe(no_mangle)]
extern "C" fn tiermark_test_alu_chain(n: u64) -> u64 {
    alu_chain(n)
}

#[unsafe(no_mangle)]
extern "C" fn tiermark_test_mul_chain(n: u64) -> u64 {
    mul_chain(n)
}

#[test]
fn the_clock_probes_are_chains_of_register_operations() {
    type Chain = extern "C" fn(u64) -> u64;
    let multiply = if cfg!(target_arch = "x86_64") { "imul" } else { "mul" };
    let chains: [(Chain, &str, &str); 2] = [
        (tiermark_test_alu_chain, "tiermark_test_alu_chain", "add"),
        (tiermark_test_mul_chain, "tiermark_test_mul_chain", multiply),
    ];
    let code = disassemble();
    for (chain, symbol, mnemonic) in chains {
        assert_eq!(std::hint::black_box(chain)(200), 256);
        let body = main_loop(&code[symbol]).unwrap();
        let links: Vec<_> = body.iter().filter(|i| i.mnemonic == mnemonic).collect();
        assert_eq!(links.len(), 128, "{symbol}");
        assert!(links.iter().all(|i| i.operands == links[0].operands), "{symbol}: one register, changed over and over");
        let parts = links[0].parts();
        // Waits for the one before: the register that is written is also read.
        let written = parts[0];
        assert!(cfg!(target_arch = "x86_64") || parts[1] == written, "{symbol}: {parts:?}");
        // 64 bits wide, and no constant: some cores resolve additions of constants at rename, in no cycle.
        assert!(parts.iter().all(|part| part.starts_with(['r', 'x'])), "{symbol}: {parts:?}");
        assert_eq!(parts.len(), if cfg!(target_arch = "x86_64") { 2 } else { 3 }, "{symbol}: {parts:?}");
        // 128 operations, a decrement and a branch.
        assert_eq!(body.len(), 130, "{body:#?}");
    }
}
