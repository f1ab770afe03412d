//! Files of procfs, sysfs and control groups in the forms that the kernel writes, read from a [`Root`].

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::Root;
use crate::error::excerpt;

/// Counters by name.
pub type Counters = BTreeMap<String, u64>;

/// Text that is not what the kernel writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// Path of the file, below the root; empty where only text was given.
    pub path: String,
    /// The start of the text that makes no sense.
    pub text: String,
}

impl Malformed {
    /// The error of a line, or of a whole text.
    pub fn line(text: &str) -> Self {
        Self { path: String::new(), text: excerpt(text) }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: '{}' makes no sense", self.path, self.text)
    }
}

impl std::error::Error for Malformed {}

/// For callers that treat a file that cannot be read like a missing one.
impl Root {
    /// The text of a file; `None` where it is not there or cannot be read.
    pub fn text(&self, path: &str) -> Option<String> {
        self.read(path).ok().flatten()
    }

    /// The trimmed text of a file; `None` where it is not there, cannot be read, or is empty.
    pub fn word(&self, path: &str) -> Option<String> {
        let text = self.text(path)?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// The value that fills a whole file; `None` where it is not there, cannot be read, or holds something else.
    pub fn value<T: FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.trim().parse().ok()
    }

    /// A file of a form; `None` where it is not there or cannot be read: the kernel refuses some files of a control
    /// group that is going away.
    ///
    /// # Errors
    /// [`Malformed`] with the path where the text is of another form.
    pub fn parsed<T>(
        &self,
        path: &str,
        parse: impl FnOnce(&str) -> Result<T, Malformed>,
    ) -> Result<Option<T>, Malformed> {
        let parsed = self.text(path).map(|text| parse(&text)).transpose();
        parsed.map_err(|error| Malformed { path: path.to_owned(), ..error })
    }
}

/// A number that fills a file.
///
/// # Errors
/// [`Malformed`] where the text is anything else.
pub fn number(text: &str) -> Result<u64, Malformed> {
    text.trim().parse().map_err(|_| Malformed::line(text))
}

/// A limit of control groups of version 2: a number, or `max`, which is `None`.
///
/// # Errors
/// [`Malformed`] where the text is neither.
pub fn number_or_max(text: &str) -> Result<Option<u64>, Malformed> {
    if text.trim() == "max" { Ok(None) } else { number(text).map(Some) }
}

/// Process numbers, one a line, as in `cgroup.procs`; other lines are skipped.
pub fn pids(text: &str) -> impl Iterator<Item = u32> {
    text.lines().filter_map(|line| line.trim().parse().ok())
}

/// Lines of a name and a number: `/proc/vmstat`, and `memory.stat`, `memory.events`, `cpu.stat`, `memory.oom_control`
/// of control groups.
///
/// # Errors
/// [`Malformed`] with the first line of another form.
pub fn counters(text: &str) -> Result<Counters, Malformed> {
    let line = |line: &str| {
        let (name, count) = line.split_once(char::is_whitespace).ok_or_else(|| Malformed::line(line))?;
        Ok((name.to_owned(), number(count).map_err(|_| Malformed::line(line))?))
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(line).collect()
}

/// The bytes of a line `MemFree:  12 kB`, or of a node's `Node 0 MemFree:  12 kB`; `None` without a line of that name.
///
/// # Errors
/// [`Malformed`] with the line where it holds no number of kB.
pub fn kilobytes(text: &str, name: &str) -> Result<Option<u64>, Malformed> {
    let named = |line: &&str| line.split_once(':').is_some_and(|(key, _)| key.split_whitespace().last() == Some(name));
    let Some(line) = text.lines().find(named) else { return Ok(None) };
    let mut words = line.split_once(':').map_or("", |(_, rest)| rest).split_whitespace();
    let kib = words.next().and_then(|word| word.parse::<u64>().ok()).filter(|_| words.next() == Some("kB"));
    kib.and_then(|kib| kib.checked_mul(1024)).map(Some).ok_or_else(|| Malformed::line(line))
}

/// Bytes of a node that are available without swapping: free pages and clean file cache. `bytes` reads a line of the
/// node's `meminfo`. On a long-running server, cache that the kernel gives up at once fills the free memory.
pub fn node_free(bytes: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    let field_bytes = |name| bytes(name).unwrap_or_default();
    let cache =
        field_bytes("Active(file)").saturating_add(field_bytes("Inactive(file)")).saturating_sub(field_bytes("Dirty"));
    let most = bytes("MemTotal").unwrap_or(u64::MAX);
    bytes("MemFree").map(|free| free.saturating_add(cache).min(most))
}

/// The fields of `/proc/PID/stat` behind the name, which stands in parentheses and may hold anything, parentheses too.
#[derive(Debug, Clone)]
pub struct ProcessStat<'a> {
    /// Process number.
    pub pid: u32,
    /// The name, as the kernel keeps it.
    pub name: &'a str,
    fields: Vec<&'a str>,
}

impl<'a> ProcessStat<'a> {
    /// Splits the text; `None` where it has no name in parentheses behind a number.
    pub fn parse(text: &'a str) -> Option<Self> {
        let (head, rest) = text.rsplit_once(')')?;
        let (pid, name) = head.split_once('(')?;
        Some(Self { pid: pid.trim().parse().ok()?, name, fields: rest.split_ascii_whitespace().collect() })
    }

    /// The state: `R`, `S`, `Z`, …
    pub fn state(&self) -> Option<char> {
        self.fields.first()?.chars().next()
    }

    /// A field by its number in proc(5), from 4 on; `None` where it is missing, or not a number.
    pub fn number(&self, field: usize) -> Option<u64> {
        self.fields.get(field.checked_sub(3)?)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kilobytes_of_the_machine_and_of_nodes() {
        let text = "Node 3 MemTotal:  16 kB\nMemFree: x kB\nHugePages_Total: 3\nHugetlb: 99999999999999999999 kB\n";
        assert_eq!(kilobytes(text, "MemTotal"), Ok(Some(16384)));
        assert_eq!(kilobytes(text, "Total"), Ok(None));
        assert_eq!(kilobytes(text, "MemFree"), Err(Malformed::line("MemFree: x kB")));
        assert!(kilobytes(text, "HugePages_Total").is_err() && kilobytes(text, "Hugetlb").is_err());
    }

    #[test]
    fn values_of_files_that_are_there() {
        let root = Root::from_files("test", [("a", " 12\n"), ("b", "\n"), ("c", "max\n"), ("d", "1\nx\n 3\n")]);
        assert_eq!((root.value::<u64>("a"), root.value::<u64>("b"), root.value::<u64>("z")), (Some(12), None, None));
        assert_eq!((root.word("a").as_deref(), root.word("b"), root.word("z")), (Some("12"), None, None));
        assert_eq!(root.parsed("c", number_or_max), Ok(Some(None)));
        assert_eq!(root.parsed("z", number), Ok(None));
        assert_eq!(root.parsed("c", number), Err(Malformed { path: "c".to_owned(), text: "max".to_owned() }));
        assert_eq!(pids(&root.text("d").unwrap()).collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn names_of_processes_may_hold_anything() {
        let stat = ProcessStat::parse("7 (a) b (c) R 1 x").unwrap();
        assert_eq!((stat.pid, stat.name, stat.state()), (7, "a) b (c", Some('R')));
        assert_eq!((stat.number(4), stat.number(5), stat.number(6), stat.number(0)), (Some(1), None, None, None));
        assert!(ProcessStat::parse("7 a R").is_none() && ProcessStat::parse("x (a) R").is_none());
    }
}
