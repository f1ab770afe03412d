//! All kernels as Rust: the naked functions by the macros that have the loops, and the rows of the registry.

use crate::declared::{Kernel, Mistake, Set};
use crate::expand::{Code, expand, strings};

/// Instruction sets as `Isa` has them, in the order of the registry, which is that of lists.
const ISAS: [&str; 8] = ["Sse2", "Avx2", "Avx512", "Neon", "Sve", "X86", "Arm64", "Portable"];

/// A kernel of one instruction set.
pub(crate) struct Built<'a> {
    kernel: &'a Kernel,
    set: &'a Set,
    code: Code,
}

/// Every kernel in every set that it names, in the order of the registry.
///
/// # Errors
/// All mistakes; of each kernel's loop the first.
pub(crate) fn build<'a>(kernels: &'a [Kernel], sets: &'a [Set]) -> Result<Vec<Built<'a>>, Vec<Mistake>> {
    let mut mistakes = Vec::new();
    let mut built: Vec<Built<'a>> = Vec::new();
    for set in sets {
        if !ISAS.contains(&set.text("isa")) {
            let what = format!("'{}' is no isa; use {}", set.text("isa"), ISAS.join(", "));
            mistakes.push(Mistake { file: set.file.clone(), line: 0, what });
        }
    }
    for kernel in kernels {
        match in_sets(kernel, sets) {
            Ok(all) => built.extend(all),
            Err(mistake) => mistakes.push(mistake),
        }
        let foreign = |set: &String| !kernel.sets.value.contains(set);
        if let Some(at) = kernel.bytes.iter().find(|at| foreign(&at.value.0)) {
            mistakes.push(kernel.mistake(at.line, format!("'{}' is not among its sets", at.value.0)));
        }
        if !kernel.words.is_empty() && (kernel.sets.value.len() > 1 || kernel.sets.value[0] == "portable") {
            let what = "a kernel with words of its own is for one instruction set";
            mistakes.push(kernel.mistake(kernel.sets.line, what));
        }
    }
    if mistakes.is_empty() {
        mistakes.extend(built.iter().enumerate().filter_map(|(at, one)| one.beside(&built[..at], &built)));
    }
    built.sort_by(|a, b| a.rank().cmp(&b.rank()));
    if mistakes.is_empty() { Ok(built) } else { Err(mistakes) }
}

/// A kernel in every set that it names.
fn in_sets<'a>(kernel: &'a Kernel, sets: &'a [Set]) -> Result<Vec<Built<'a>>, Mistake> {
    let one = |name: &String| {
        let set = sets.iter().find(|set| set.name == *name).ok_or_else(|| {
            let known: Vec<&str> = sets.iter().map(|set| set.name.as_str()).collect();
            let what = format!("there is no instruction set '{name}'; use {}", known.join(", "));
            kernel.mistake(kernel.sets.line, what)
        })?;
        Ok(Built { kernel, set, code: expand(kernel, set)? })
    };
    kernel.sets.value.iter().map(one).collect()
}

impl Built<'_> {
    /// Where it stands in the registry: plain kernels first, readers before writers.
    fn rank(&self) -> (Option<usize>, bool, usize, bool, &str) {
        let isa = ISAS.iter().position(|isa| *isa == self.set.text("isa"));
        let writes = self.code.write_per_line > 0;
        (isa, !self.plain(), self.code.streams.len(), writes, &self.kernel.name.value)
    }

    fn plain(&self) -> bool {
        self.kernel.variant().is_empty()
    }

    /// What its operation does to a line: streams, bytes read and written, the walk where it is random.
    fn meaning(&self) -> (usize, u32, u32, bool) {
        (self.code.streams.len(), self.code.read_per_line, self.code.write_per_line, self.random())
    }

    fn random(&self) -> bool {
        self.kernel.walk.value == "random"
    }

    fn portable(&self) -> bool {
        self.set.text("isa") == "Portable"
    }

    fn id(&self) -> String {
        format!("{}/{}{}", self.kernel.operation(), self.set.name, self.kernel.variant())
    }

    /// What is wrong with it beside the kernels before it and all of them.
    fn beside(&self, before: &[Self], all: &[Self]) -> Option<Mistake> {
        let (kernel, id) = (self.kernel, self.id());
        if let Some(other) = before.iter().find(|other| other.id() == id) {
            return Some(kernel.mistake(kernel.name.line, format!("{id} is in {} already", other.kernel.file)));
        }
        let op = kernel.operation();
        let mut plain = all.iter().filter(|other| other.plain() && other.kernel.operation() == op);
        let Some(twin) = plain.clone().find(|other| other.portable()) else {
            let what = format!("operation '{op}' needs a file with 'kernel {op}' and portable among its sets");
            return Some(kernel.mistake(kernel.name.line, what));
        };
        if !plain.any(|other| other.set.name == self.set.name) {
            let what = format!("a variant stands beside a plain kernel: there is no {op}/{}", self.set.name);
            return Some(kernel.mistake(kernel.sets.line, what));
        }
        if twin.meaning() != self.meaning() {
            let what = format!(
                "(streams, bytes read, bytes written, random) of a line are {:?}, those of {} are {:?}",
                self.meaning(),
                twin.kernel.file,
                twin.meaning()
            );
            return Some(kernel.mistake(kernel.body[0].line, what));
        }
        let checked_by = kernel.checked_by.as_ref()?;
        let other = format!("{}/{}", checked_by.value, self.set.name);
        let there = all.iter().any(|one| one.id() == other && one.kernel.operation() == op);
        (!there).then(|| kernel.mistake(checked_by.line, format!("there is no {other} of this operation")))
    }

    /// The name of its function.
    fn symbol(&self) -> String {
        let name = format!("{}_{}{}", self.kernel.operation(), self.set.name, self.kernel.variant());
        format!("tiermark_{}", name.replace(['.', '-'], "_"))
    }

    /// Its function.
    fn function(&self) -> String {
        let Code { init, body, tail, done, streams, bytes, .. } = &self.code;
        let walk = self.kernel.walk.value.as_str();
        let symbol = self.symbol();
        let frame = self.set.walks.iter().find(|known| known.name == walk).map_or("", |known| &*known.frame);
        if self.portable() {
            let parts = matches!(walk, "lines" | "random");
            let lanes = if parts { format!("::<{}>", self.kernel.visits.value / 8) } else { String::new() };
            // One iteration is a line; the function goes word by word.
            let word = tail[..tail.len() / (self.kernel.visits.value / 8) as usize].join("; ");
            return format!("twin_fn!({symbol}, {frame}{lanes}, |[dst, src, src2], i, value, sum| {{ {word}; }});\n");
        }
        let registers = self.set.list("streams");
        let walked: Vec<_> = streams.iter().filter_map(|stream| registers.get(*stream)).collect();
        let (init, body, tail, done) = (strings(init), strings(body), strings(tail), strings(done));
        match walk {
            "random" => {
                // Where the address of a line is not made of the stream's register, the macro makes it.
                let is_made = !self.set.text("line").contains("<base>");
                let base = walked.first().filter(|_| is_made).map_or(String::new(), |base| format!("base {base:?}, "));
                format!("{frame}!({symbol}, {base}init [{init}], visit [{tail}], done [{done}]);\n")
            }
            _ => {
                let length = match walk {
                    "two-halves" => format!("step {}", bytes / 2),
                    "two-pages" => format!("step {}, walks {walked:?}", bytes / 2),
                    // Scalable: as long as vectors are.
                    _ if !self.set.text("rest").is_empty() => format!("walks {walked:?}"),
                    _ => format!("unroll {bytes}, walks {walked:?}"),
                };
                format!("{frame}!({symbol}, {length}, init [{init}], body [{body}], tail [{tail}], done [{done}]);\n")
            }
        }
    }

    /// Its row.
    fn row(&self) -> String {
        let code = &self.code;
        let store_kind = match (code.write_per_line, code.non_temporal) {
            (0, _) => "None",
            (_, false) => "Cached",
            (_, true) => "NonTemporal",
        };
        let stored = self.kernel.operation().ends_with(".nt");
        let notes = [self.set.text("note"), if stored { self.set.text("note-nt") } else { "" }];
        let doc: Vec<&str> =
            [self.kernel.about.as_str()].into_iter().chain(notes).filter(|text| !text.is_empty()).collect();
        let checked_by = self.kernel.checked_by.as_ref().map(|by| format!("{}/{}", by.value, self.set.name));
        let symbol = (!self.portable()).then(|| self.symbol());
        let (streams, read, write, random) = self.meaning();
        format!(
            "StreamSpec {{ info: KernelRow {{ id: {:?}, op: Op::new({:?}, Pattern::{}, {streams}, {read}, {write}), \
             isa: Isa::{}, loads: {}, stores: {}, unroll_bytes: {}, store_kind: StoreKind::{store_kind}, \
             fill: Fill::Word, plain: {}, checked_by: {checked_by:?}, doc: {:?}, symbol: {symbol:?} }}, \
             run: {}, available: || {} }},\n",
            self.id(),
            self.kernel.operation(),
            if random { "Random" } else { "Sequential" },
            self.set.text("isa"),
            code.loads,
            code.stores,
            code.bytes,
            self.plain(),
            doc.join("; "),
            self.symbol(),
            self.available(),
        )
    }

    /// Whether the cpu has what the set and the kernel need.
    fn available(&self) -> String {
        let macro_name = match self.set.text("arch") {
            "x86_64" => "std::is_x86_feature_detected!",
            _ => "std::arch::is_aarch64_feature_detected!",
        };
        let needs = self.set.list("needs").into_iter().chain(self.kernel.needs.iter().map(String::as_str));
        let all: Vec<String> = needs.map(|feature| format!("{macro_name}({feature:?})")).collect();
        if all.is_empty() { "true".to_owned() } else { all.join(" && ") }
    }
}

/// What the crate includes: the kernels of an architecture and the portable ones, and `TABLE`, their rows.
pub(crate) fn rust(built: &[Built<'_>], arch: &str) -> String {
    let here: Vec<_> = built.iter().filter(|one| [arch, "any"].contains(&one.set.text("arch"))).collect();
    let functions: String = here.iter().map(|one| one.function()).collect();
    let rows: String = here.iter().map(|one| one.row()).collect();
    format!(
        "{functions}\n/// The kernels of `kernels/`.\npub(crate) static TABLE: [StreamSpec; {}] = [\n{rows}];\n",
        here.len()
    )
}
