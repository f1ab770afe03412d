//! A kernel's loop in the instructions of one set.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::declared::{Class, Kernel, Mistake, STREAMS, Set, Statement, Walk, Word};

/// Vectors of a group: a set names eight registers for each purpose.
const GROUP: u32 = 8;
/// Bytes of a line.
const LINE: u32 = 64;
/// From one page to the next, for loops over two pages at once.
const PAGE: u32 = 4096;

/// A kernel in one instruction set: the arguments of the macro that has the loops, and what the loop does to memory.
#[derive(Debug, Default)]
pub(crate) struct Code {
    /// Before the loops.
    pub(crate) init: Vec<String>,
    /// One iteration.
    pub(crate) body: Vec<String>,
    /// One line of what iterations leave (scalable: one vector); random walks: one visit.
    pub(crate) tail: Vec<String>,
    /// After the loops.
    pub(crate) done: Vec<String>,
    /// Which of dst, src and src2 it uses.
    pub(crate) streams: BTreeSet<usize>,
    /// Bytes of each stream in one iteration.
    pub(crate) bytes: u32,
    /// Load instructions in one iteration.
    pub(crate) loads: usize,
    /// Store instructions in one iteration.
    pub(crate) stores: usize,
    /// Useful bytes read for every line.
    pub(crate) read_per_line: u32,
    /// Useful bytes written for every line.
    pub(crate) write_per_line: u32,
    /// Whether its stores are non-temporal.
    pub(crate) non_temporal: bool,
}

/// One line of the loop, its instructions looked up and its registers chosen.
struct Step<'a> {
    statement: &'a Statement,
    word: &'a Word,
    /// The file that the word stands in.
    file: &'a str,
    /// First register of the result so far, 0 where the set has none.
    x: u32,
    /// First register of the next result.
    new: u32,
}

/// Where an instruction is used.
#[derive(Clone, Copy)]
enum Use {
    /// On that vector of an iteration.
    Body(u32),
    /// On that vector of a line; scalable: on what is left of one.
    Tail(u32),
    /// On that line of an iteration.
    Hint(u32),
}

/// A kernel being expanded.
struct Expander<'a> {
    kernel: &'a Kernel,
    set: &'a Set,
    walk: &'a Walk,
    width: u32,
    bytes: u32,
    steps: Vec<Step<'a>>,
}

/// A kernel's loop in the instructions of a set.
///
/// # Errors
/// An unknown word, a meaningless combination, or an unknown placeholder.
pub(crate) fn expand(kernel: &Kernel, set: &Set) -> Result<Code, Mistake> {
    let walk = set.walks.iter().find(|walk| walk.name == kernel.walk.value).ok_or_else(|| {
        let known: Vec<&str> = set.walks.iter().map(|walk| walk.name.as_str()).collect();
        let what = format!("{} has no walk '{}'; it has {}", set.name, kernel.walk.value, known.join(", "));
        kernel.mistake(kernel.walk.line, what)
    })?;
    let bytes = kernel.bytes.iter().find(|at| at.value.0 == set.name).map_or(walk.bytes, |at| at.value.1);
    let width = set.number("width", LINE);
    let steps = steps(kernel, set)?;
    let expander = Expander { kernel, set, walk, width, bytes, steps };
    expander.check()?;
    expander.code()
}

/// Finds the word of each line of the loop and follows the registers of its results.
fn steps<'a>(kernel: &'a Kernel, set: &'a Set) -> Result<Vec<Step<'a>>, Mistake> {
    let banks = set.numbers("x");
    let mut current = 0;
    let mut steps: Vec<Step<'_>> = Vec::new();
    for statement in &kernel.body {
        let own = kernel.words.iter().find(|word| word.name == statement.word).map(|word| (word, &*kernel.file));
        let found = own.or_else(|| set.words.iter().find(|w| w.name == statement.word).map(|w| (w, &*set.file)));
        let Some((word, file)) = found else {
            let known: Vec<&str> = kernel.words.iter().chain(&set.words).map(|word| word.name.as_str()).collect();
            let what = format!("{} has no word '{}'; it has {}", set.name, statement.word, known.join(", "));
            return Err(kernel.mistake(statement.line, what));
        };
        let uses_result = word.class == Class::Combines || word.class.is_write() && mentions(word, "<x");
        if uses_result && !steps.iter().any(|step| step.word.class.is_read()) {
            let what = format!("nothing was loaded that '{}' could take", word.name);
            return Err(kernel.mistake(statement.line, what));
        }
        if statement.ahead > 0 && word.class != Class::Hints {
            return Err(kernel.mistake(statement.line, format!("'{}' is no hint: nothing can be ahead", word.name)));
        }
        if statement.ahead == 0 && word.class == Class::Hints {
            let what = format!("write how many bytes ahead: {} {} 512", word.name, STREAMS[statement.stream]);
            return Err(kernel.mistake(statement.line, what));
        }
        let repeats = |of: fn(Class) -> bool| {
            let before = |step: &Step<'_>| of(step.word.class) && step.statement.stream == statement.stream;
            of(word.class) && steps.iter().any(before)
        };
        if repeats(Class::is_read) || repeats(Class::is_write) {
            let what =
                format!("a loop loads each stream once and stores it once: '{}' again", STREAMS[statement.stream]);
            return Err(kernel.mistake(statement.line, what));
        }
        let bank = |index: usize| banks.get(index % banks.len().max(1)).copied().unwrap_or_default();
        steps.push(Step { statement, word, file, x: bank(current), new: bank(current + 1) });
        // What the last instruction writes is the result: a new register becomes that of the words that follow.
        let last = word.instructions.value.last().map_or("", |one| one.split(',').next().unwrap_or_default());
        current += usize::from(word.class.is_read() && last.contains("<new"));
    }
    Ok(steps)
}

/// Whether a word's instructions have a placeholder that begins so.
fn mentions(word: &Word, placeholder: &str) -> bool {
    word.instructions.value.iter().any(|one| one.contains(placeholder))
}

impl Expander<'_> {
    /// Whether the loop as a whole has a meaning.
    fn check(&self) -> Result<(), Mistake> {
        self.check_walk()?;
        self.check_bytes()?;
        if self.set.text("arch") == "any" && !self.kernel.needs.is_empty() {
            let what = format!("{} has no cpu features: a file with 'needs' is for other sets", self.set.name);
            return Err(self.kernel.mistake(self.kernel.name.line, what));
        }
        let (kernel, line) = (self.kernel, self.kernel.body[0].line);
        let writes = self.memory().any(|step| step.word.class.is_write());
        if self.sums() && writes {
            return Err(kernel.mistake(line, "a kernel that stores returns no sum"));
        }
        if !self.sums() && !writes && kernel.checked_by.is_none() {
            let what = "it keeps nothing of what it loads: name the kernel that adds it up (checked-by read)";
            return Err(kernel.mistake(line, what));
        }
        let sum = self.set.numbers("sum");
        let clash = |step: &&Step<'_>| {
            mentions(step.word, "<x") && sum.contains(&step.x) || mentions(step.word, "<new") && sum.contains(&step.new)
        };
        self.steps.iter().find(clash).filter(|_| self.sums()).map_or(Ok(()), |step| {
            let what = format!("in {} the sums are in the registers of '{}'", self.set.name, step.word.name);
            Err(kernel.mistake(step.statement.line, what))
        })
    }

    /// Whether streams and hints go with the walk.
    fn check_walk(&self) -> Result<(), Mistake> {
        let line = self.kernel.body[0].line;
        let streams: BTreeSet<usize> = self.memory().map(|step| step.statement.stream).collect();
        let wrong = match &*self.walk.name {
            _ if streams.is_empty() => Some("it neither loads nor stores"),
            "random" if streams.len() > 1 => Some("a random walk visits one stream"),
            "two-halves" if streams != BTreeSet::from([1]) => Some("a walk of two halves reads src alone"),
            _ if streams.len() == 2 && !streams.contains(&1) => Some("a kernel of two streams walks src and one other"),
            _ => None,
        };
        if let Some(what) = wrong {
            return Err(self.kernel.mistake(line, what));
        }
        for hint in self.steps.iter().filter(|step| step.word.class == Class::Hints) {
            let name = STREAMS[hint.statement.stream];
            if self.walk.name != "sequential" {
                return Err(self.kernel.mistake(hint.statement.line, "hints go with the sequential walk"));
            }
            if !streams.contains(&hint.statement.stream) {
                return Err(self.kernel.mistake(hint.statement.line, format!("nothing loads or stores {name}")));
            }
        }
        Ok(())
    }

    /// Whether the bytes of an iteration and of a visit go with the set.
    fn check_bytes(&self) -> Result<(), Mistake> {
        let (kernel, set) = (self.kernel, &self.set.name);
        let visits = &kernel.visits;
        if visits.value != LINE && !self.random() && !self.lines() {
            return Err(kernel.mistake(visits.line, "only walks of lines and random walks visit a part of a line"));
        }
        if visits.value < self.width {
            let what = format!("{set} loads {} bytes at once and cannot visit {}", self.width, visits.value);
            return Err(kernel.mistake(visits.line, what));
        }
        let group = GROUP * self.width;
        for at in kernel.bytes.iter().filter(|at| at.value.0 == *set) {
            if self.walk.name != "sequential" || !self.set.text("rest").is_empty() {
                return Err(kernel.mistake(at.line, format!("bytes of an iteration are fixed for this walk in {set}")));
            }
            if self.bytes == 0 || !self.bytes.is_multiple_of(group) {
                let what = format!("{} bytes are no multiple of {group}, eight vectors of {set}", self.bytes);
                return Err(kernel.mistake(at.line, what));
            }
        }
        Ok(())
    }

    fn random(&self) -> bool {
        self.walk.name == "random"
    }

    /// Whether it goes from line to line in order and visits so much of each.
    fn lines(&self) -> bool {
        self.walk.name == "lines"
    }

    /// The lines of the loop that load or store.
    fn memory(&self) -> impl Iterator<Item = &Step<'_>> {
        self.steps.iter().filter(|step| step.word.class != Class::Hints)
    }

    fn sums(&self) -> bool {
        self.steps.iter().any(|step| mentions(step.word, "<sum>"))
    }

    fn code(&self) -> Result<Code, Mistake> {
        let per_line = self.kernel.visits.value / self.width;
        let tail = if self.set.text("rest").is_empty() { per_line } else { 1 };
        let vectors = if self.lines() { per_line * (self.bytes / LINE) } else { self.bytes / self.width };
        let mut code = Code { bytes: self.bytes, ..Code::default() };
        code.tail = self.vectors(0..tail, Use::Tail)?;
        if !self.random() {
            code.body = self.hints()?;
            for group in (0..vectors).step_by(GROUP as usize) {
                code.body.extend(self.vectors(group..group + GROUP, Use::Body)?);
            }
        }
        // A set with one register for the sum names it; the others number theirs.
        let sums = match self.set.numbers("sum").is_empty() {
            true => 1,
            false if self.random() => per_line,
            false => GROUP,
        };
        self.frame(&mut code, sums)?;
        // A random walk makes a visit for each line of an iteration.
        let vectors = if self.random() { per_line * (self.bytes / LINE) } else { vectors };
        for step in self.memory() {
            code.streams.insert(step.statement.stream);
            let class = step.word.class;
            code.non_temporal |= class == Class::WritesNt;
            let (count, per_line) = match class.is_read() {
                true => (&mut code.loads, &mut code.read_per_line),
                false => (&mut code.stores, &mut code.write_per_line),
            };
            *count += (vectors / self.set.number("access", 1)) as usize;
            *per_line += self.kernel.visits.value;
        }
        Ok(code)
    }

    /// What stands before and behind the loops, for so many registers of sums.
    fn frame(&self, code: &mut Code, sums: u32) -> Result<(), Mistake> {
        if self.sums() {
            code.init.extend(self.around("zero", 0..sums)?);
            code.done.extend(self.around("merge", 1..sums)?);
            code.done.extend(self.around("result", 0..1)?);
        }
        if self.steps.iter().any(|step| mentions(step.word, "<value>")) {
            code.init.extend(self.around("spread", 0..1)?);
        }
        code.done.extend(self.around("leave", 0..1)?);
        if !self.sums() {
            code.done.extend(self.around("nothing", 0..1)?);
        }
        Ok(())
    }

    /// The instructions of a set's key for each of those registers of sums.
    fn around(&self, key: &str, registers: Range<u32>) -> Result<Vec<String>, Mistake> {
        let all = self.set.instructions(key);
        let each = |number| {
            let all = &all;
            all.value.iter().map(move |text| {
                let known = [("sum", self.register("sum", number)), ("value", self.set.text("value").to_owned())];
                filled(text, &known).map_err(|what| Mistake { file: self.set.file.clone(), line: all.line, what })
            })
        };
        registers.flat_map(each).collect()
    }

    /// A hint for each line of an iteration.
    fn hints(&self) -> Result<Vec<String>, Mistake> {
        let hints = self.steps.iter().filter(|step| step.word.class == Class::Hints);
        let lines = |step| (0..self.bytes / LINE).map(move |line| (step, line));
        hints
            .flat_map(lines)
            .flat_map(|(step, line)| step.word.instructions.value.iter().map(move |text| (step, text, line)))
            .map(|(step, text, line)| self.instruction(step, text, Use::Hint(line)))
            .collect()
    }

    /// The words of the loop for those vectors.
    ///
    /// `order vector`: all instructions of one vector come before those of the next. Loads and stores that alternate
    /// were up to a third faster than eight loads and then eight stores (non-temporal copies on Zen 5), and never
    /// slower. `order word`: each instruction for all vectors before the next one, as pairs of vectors need.
    fn vectors(&self, vectors: Range<u32>, place: fn(u32) -> Use) -> Result<Vec<String>, Mistake> {
        let by_vector = self.set.text("order") == "vector";
        let all = self.memory().flat_map(|step| step.word.instructions.value.iter().map(move |text| (step, text)));
        let mut uses = Vec::new();
        if by_vector {
            let all: Vec<_> = all.collect();
            uses.extend(vectors.flat_map(|vector| all.iter().map(move |(step, text)| (*step, *text, vector))));
        } else {
            for (step, text) in all {
                let stride = if text.contains("<m>") { self.set.number("access", 1) } else { 1 };
                uses.extend(vectors.clone().step_by(stride as usize).map(|vector| (step, text, vector)));
            }
        }
        uses.into_iter().map(|(step, text, vector)| self.instruction(step, text, place(vector))).collect()
    }

    /// One instruction of a word.
    fn instruction(&self, step: &Step<'_>, text: &str, place: Use) -> Result<String, Mistake> {
        let number = match place {
            Use::Body(vector) | Use::Tail(vector) => vector % GROUP,
            Use::Hint(_) => 0,
        };
        let scalable = matches!(place, Use::Tail(_)) && !self.set.text("rest").is_empty();
        let known = [
            ("m", self.address(step.statement, place)?),
            ("x", (step.x + number).to_string()),
            ("x+1", (step.x + number + 1).to_string()),
            ("new", (step.new + number).to_string()),
            ("new+1", (step.new + number + 1).to_string()),
            ("sum", self.register("sum", number)),
            ("value", self.set.text("value").to_owned()),
            ("lanes", self.set.text(if scalable { "rest-lanes" } else { "lanes" }).to_owned()),
        ];
        let mistake = |what| Mistake { file: step.file.to_owned(), line: step.word.instructions.line, what };
        filled(text, &known).map_err(mistake)
    }

    /// A register by its number from the key's on; the key's text where that is no number.
    fn register(&self, key: &str, number: u32) -> String {
        let text = self.set.text(key);
        text.parse::<u32>().map_or_else(|_| text.to_owned(), |first| (first + number).to_string())
    }

    /// The memory operand.
    fn address(&self, statement: &Statement, place: Use) -> Result<String, Mistake> {
        let registers = self.set.list("streams");
        let register = |stream: usize| registers.get(stream).copied().unwrap_or(STREAMS[stream]).to_owned();
        let half = self.bytes / self.width / 2;
        let mut template = self.set.text("address");
        let mut base = register(statement.stream);
        let offset = match (place, &*self.walk.name) {
            (Use::Hint(line), _) => statement.ahead + line * LINE,
            (Use::Body(vector), "two-pages") if vector >= half => (vector - half) * self.width + PAGE,
            (Use::Body(vector), "two-halves") if vector >= half => {
                // The second half of the span is walked by the register of src2.
                base = register(2);
                (vector - half) * self.width
            }
            (Use::Body(vector), "lines") => {
                let per_line = self.kernel.visits.value / self.width;
                vector / per_line * LINE + vector % per_line * self.width
            }
            (Use::Body(vector) | Use::Tail(vector), _) => vector * self.width,
        };
        if self.random() {
            base = self.fill_address(self.set.text("line"), &base, 0)?;
        } else if matches!(place, Use::Tail(_)) && !self.set.text("rest").is_empty() {
            template = self.set.text("rest");
        }
        self.fill_address(template, &base, offset)
    }

    fn fill_address(&self, template: &str, base: &str, offset: u32) -> Result<String, Mistake> {
        let number = (offset / self.width) % GROUP;
        let known = [("base", base.to_owned()), ("offset", offset.to_string()), ("number", number.to_string())];
        filled(template, &known).map_err(|what| Mistake { file: self.set.file.clone(), line: 0, what })
    }
}

/// A text with its placeholders filled in.
///
/// # Errors
/// The unknown placeholder.
fn filled(text: &str, known: &[(&str, String)]) -> Result<String, String> {
    let mut out = String::new();
    let mut left = text;
    while let Some((before, behind)) = left.split_once('<') {
        let (name, rest) = behind.split_once('>').ok_or_else(|| format!("'<' without '>' in '{text}'"))?;
        let value = known.iter().find(|(known, _)| *known == name).ok_or_else(|| {
            let names: Vec<String> = known.iter().map(|(name, _)| format!("<{name}>")).collect();
            format!("there is no <{name}>; use {}", names.join(", "))
        })?;
        out.extend([before, &value.1]);
        left = rest;
    }
    Ok(out + left)
}

/// Instructions as string literals of an assembly template, in which braces stand twice.
pub(crate) fn strings(all: &[String]) -> String {
    all.iter().map(|one| format!("{:?}", one.replace('{', "{{").replace('}', "}}"))).collect::<Vec<_>>().join(", ")
}
