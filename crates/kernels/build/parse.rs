//! Reads `kernels/*.kernel` and `kernels/sets/*.set`: a key and its value a line, `#` before a comment.

use std::collections::BTreeMap;

use crate::declared::{At, Class, Kernel, Mistake, SET_KEYS, STREAMS, Set, Statement, WALKS, Walk, Word, instructions};

/// The words of a text.
fn list(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A file being read.
struct Reader<'a> {
    file: &'a str,
    /// The line that is looked at, from 1.
    line: usize,
}

impl Reader<'_> {
    fn mistake<T>(&self, what: impl Into<String>) -> Result<T, Mistake> {
        Err(Mistake { file: self.file.to_owned(), line: self.line, what: what.into() })
    }

    fn at<T>(&self, value: T) -> At<T> {
        At { line: self.line, value }
    }

    /// The value where a key may stand once.
    fn once<T>(&self, slot: &mut Option<At<T>>, key: &str, value: T) -> Result<(), Mistake> {
        if let Some(before) = slot {
            return self.mistake(format!("'{key}' stands in line {} already", before.line));
        }
        *slot = Some(self.at(value));
        Ok(())
    }

    fn number(&self, text: &str) -> Result<u32, Mistake> {
        text.parse().or_else(|_| self.mistake(format!("'{text}' is not a number of bytes")))
    }

    fn one_of<'n>(&self, what: &str, text: &'n str, known: &[&str]) -> Result<&'n str, Mistake> {
        if known.contains(&text) {
            return Ok(text);
        }
        self.mistake(format!("'{text}' is no {what}; use {}", known.join(", ")))
    }

    /// Adds a word to those known: its name, then its instructions.
    fn add(&self, words: &mut Vec<Word>, class: Class, rest: &str) -> Result<(), Mistake> {
        let (name, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let all = instructions(text);
        if all.is_empty() {
            return self.mistake("write the word's name, then its instructions, separated by ';'");
        }
        if all.iter().filter(|one| one.contains("<m>")).count() != 1 {
            return self.mistake(format!("exactly one instruction of '{name}' has the memory operand, <m>"));
        }
        if words.iter().any(|known| known.name == name) {
            return self.mistake(format!("there is a word '{name}' already"));
        }
        words.push(Word { class, name: name.to_owned(), instructions: self.at(all) });
        Ok(())
    }

    /// A line of a loop: `WORD STREAM [BYTES AHEAD]`.
    fn statement(&self, text: &str) -> Result<Statement, Mistake> {
        let parts: Vec<&str> = text.split_whitespace().collect();
        let (word, stream, ahead) = match parts[..] {
            [word, stream] => (word, stream, 0),
            [word, stream, ahead] => (word, stream, self.number(ahead)?),
            _ => {
                return self.mistake("a line of the loop is a word and a stream (load src), for hints bytes ahead too");
            }
        };
        let stream = self.one_of("stream", stream, &STREAMS)?;
        let stream = STREAMS.iter().position(|name| *name == stream).unwrap_or_default();
        Ok(Statement { line: self.line, word: word.to_owned(), stream, ahead })
    }
}

/// The lines that say something, by number: whether they are indented, their key and the rest.
fn lines(text: &str) -> impl Iterator<Item = (usize, bool, &str, &str)> {
    text.lines().enumerate().filter_map(|(index, line)| {
        let words = line.trim();
        let (key, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        (!words.is_empty() && !words.starts_with('#'))
            .then(|| (index + 1, line.starts_with(char::is_whitespace), key, rest.trim()))
    })
}

/// The file's name without folders and extension.
fn stem(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Reads an instruction set's file.
///
/// # Errors
/// The first mistake.
pub(crate) fn set(file: &str, text: &str) -> Result<Set, Mistake> {
    let mut reader = Reader { file, line: 0 };
    let (mut walks, mut words, mut rows) = (Vec::new(), Vec::new(), BTreeMap::new());
    for (line, _, key, rest) in lines(text) {
        reader.line = line;
        if let Some(class) = Class::named(key) {
            reader.add(&mut words, class, rest)?;
        } else if key == "walk" {
            let [name, frame, bytes] = rest.split_whitespace().collect::<Vec<_>>()[..] else {
                return reader.mistake("a walk has a name, the macro of its loops, and bytes an iteration");
            };
            let name = reader.one_of("walk", name, &WALKS)?.to_owned();
            walks.push(Walk { name, frame: frame.to_owned(), bytes: reader.number(bytes)? });
        } else if SET_KEYS.concat().contains(&key) {
            let mut slot = rows.remove(key);
            reader.once(&mut slot, key, rest.to_owned())?;
            rows.extend(slot.map(|row| (key.to_owned(), row)));
        } else {
            return reader.mistake(format!("unknown key '{key}'; use {}", SET_KEYS.concat().join(", ")));
        }
    }
    reader.line = 0;
    if let Some(missing) = SET_KEYS[0].iter().find(|key| !rows.contains_key(**key)) {
        return reader.mistake(format!("there is no '{missing}'"));
    }
    let set = Set { file: file.to_owned(), name: stem(file).to_owned(), walks, words, rows };
    for (key, good) in [("order", &["vector", "word"][..]), ("width", &["8", "16", "32", "64"]), ("access", &["", "2"])]
    {
        if !good.contains(&set.text(key)) {
            reader.line = set.rows.get(key).map_or(0, |row| row.line);
            return reader.mistake(format!("'{}' is no {key}; use {}", set.text(key), good.join(", ")));
        }
    }
    Ok(set)
}

/// What a kernel's file says, as far as it has been read.
#[derive(Default)]
struct Header {
    name: Option<At<String>>,
    about: Option<At<String>>,
    sets: Option<At<Vec<String>>>,
    walk: Option<At<String>>,
    needs: Option<At<Vec<String>>>,
    checked_by: Option<At<String>>,
    visits: Option<At<u32>>,
    bytes: Vec<At<(String, u32)>>,
    words: Vec<Word>,
}

impl Header {
    /// Takes one line above the loop.
    fn take(&mut self, reader: &Reader<'_>, key: &str, rest: &str) -> Result<(), Mistake> {
        if rest.is_empty() {
            return reader.mistake(format!("'{key}' has no value"));
        }
        if let Some(class) = Class::named(key) {
            return reader.add(&mut self.words, class, rest);
        }
        match key {
            "kernel" => reader.once(&mut self.name, key, reader.kernel_name(rest)?),
            "about" => reader.once(&mut self.about, key, rest.to_owned()),
            "sets" => reader.once(&mut self.sets, key, list(rest)),
            "walk" => reader.once(&mut self.walk, key, reader.one_of("walk", rest, &WALKS)?.to_owned()),
            "needs" => reader.once(&mut self.needs, key, list(rest)),
            "checked-by" => reader.once(&mut self.checked_by, key, rest.to_owned()),
            "visits" => match reader.number(rest)? {
                bytes @ (8 | 64) => reader.once(&mut self.visits, key, bytes),
                _ => reader.mistake("a kernel visits 8 or 64 bytes of each line"),
            },
            "bytes" => {
                let Some((set, bytes)) = rest.split_once(char::is_whitespace) else {
                    return reader.mistake("write the instruction set, then bytes an iteration (bytes neon 128)");
                };
                self.bytes.push(reader.at((set.to_owned(), reader.number(bytes.trim())?)));
                Ok(())
            }
            _ => reader.mistake(format!(
                "unknown key '{key}'; use kernel, about, sets, walk, needs, checked-by, visits, bytes, loop, or for \
                 a word of your own reads, combines, writes, writes-nt, hints"
            )),
        }
    }
}

impl Reader<'_> {
    /// A kernel's name: it becomes an id, a symbol and a word of the command line.
    fn kernel_name(&self, text: &str) -> Result<String, Mistake> {
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-".contains(c);
        if text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(good) && !text.ends_with(['.', '-']) {
            return Ok(text.to_owned());
        }
        self.mistake(format!("'{text}' is no name: use OPERATION or OPERATION-VARIANT of a-z, 0-9 and '.'"))
    }
}

/// Reads a kernel's file.
///
/// # Errors
/// The first mistake.
pub(crate) fn kernel(file: &str, text: &str) -> Result<Kernel, Mistake> {
    let mut reader = Reader { file, line: 0 };
    let (mut header, mut body, mut in_loop) = (Header::default(), Vec::new(), false);
    for (line, indented, key, rest) in lines(text) {
        reader.line = line;
        match (in_loop, indented) {
            (false, false) if key == "loop" => in_loop = true,
            (false, false) => header.take(&reader, key, rest)?,
            (true, true) => body.push(reader.statement(&format!("{key} {rest}"))?),
            (false, true) => return reader.mistake("only lines of the loop, which come after 'loop', are indented"),
            (true, false) => return reader.mistake("lines of the loop are indented, and nothing follows them"),
        }
    }
    reader.line = 0;
    let missing = |key: &str| reader.mistake(format!("there is no '{key}'"));
    let Some(name) = header.name else { return missing("kernel") };
    let Some(about) = header.about else { return missing("about") };
    let Some(sets) = header.sets else { return missing("sets") };
    if body.is_empty() {
        return missing("loop");
    }
    let name_line = name.line;
    Ok(Kernel {
        file: file.to_owned(),
        about: about.value,
        walk: header.walk.unwrap_or_else(|| At { line: name_line, value: WALKS[0].to_owned() }),
        name,
        sets,
        needs: header.needs.map_or_else(Vec::new, |at| at.value),
        checked_by: header.checked_by,
        visits: header.visits.unwrap_or(At { line: name_line, value: 64 }),
        bytes: header.bytes,
        words: header.words,
        body,
    })
}
