//! Typed reading with a memory for what made no sense.

use std::cell::RefCell;
use std::fmt::Display;
use std::str::FromStr;

use tiermark_model::messages::machine as messages;
use tiermark_model::{Contradiction, DisputedFact, IdSet, Refusal, View};

use crate::error::DiscoverError;
use crate::files::{self, Malformed};
use crate::root::Root;

/// Where the kernel describes its cpus.
pub(crate) const CPU_DIR: &str = "sys/devices/system/cpu";

/// Refusals kept one by one; a tree full of garbage must not yield one a file.
const MAX_REFUSALS: usize = 40;

/// Contradictions kept: there is one for each kind of fact, and level of cache, that damage or invention can reach.
const MAX_CONTRADICTIONS: usize = 40;

/// Bytes of a file that holds one value. Lists of cpus are the longest: 16,384 cpus of which every other one is left
/// out take 96 KiB.
const MAX_VALUE_BYTES: usize = 128 << 10;

/// The price of a range of a set, which discovery may keep in four places, against bytes that are read once.
const RANGE: usize = 128;

/// No figure of a cache, node or pool is that large (4 PiB), and a thousand of them still add up in 64 bits.
const MAX_BYTES: u64 = 1 << 52;

/// A source, and what it says of a fact.
pub(crate) type Says<'a> = (&'a str, &'a dyn Display);

/// Reads files of a root. Absent files are `None`; malformed ones are `None` too and leave a refusal behind.
pub(crate) struct Reader<'a> {
    root: &'a Root,
    refusals: RefCell<Vec<Refusal>>,
    dropped: RefCell<usize>,
    contradictions: RefCell<Vec<Contradiction>>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(root: &'a Root) -> Self {
        Self { root, refusals: RefCell::default(), dropped: RefCell::default(), contradictions: RefCell::default() }
    }

    pub(crate) fn root(&self) -> &Root {
        self.root
    }

    /// Notes something that could not be seen.
    pub(crate) fn refuse(&self, refusal: Refusal) {
        let mut refusals = self.refusals.borrow_mut();
        if refusals.len() < MAX_REFUSALS {
            refusals.push(refusal);
        } else {
            *self.dropped.borrow_mut() += 1;
        }
    }

    /// Notes a file that makes no sense.
    fn malformed(&self, path: &str, text: &str, why: impl Into<String>) {
        self.refuse(DiscoverError::malformed(path, text, why).into_refusal());
    }

    /// Returns `meaning`; if it is `None`, notes the file as malformed.
    pub(crate) fn meant<T>(&self, path: &str, text: &str, why: impl Into<String>, meaning: Option<T>) -> Option<T> {
        if meaning.is_none() {
            self.malformed(path, text, why);
        }
        meaning
    }

    /// Parses a whole file, without the space around its text; notes a malformed file. `None` for an empty file,
    /// unnoted.
    pub(crate) fn value<T>(&self, path: &str, why: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let text = self.word(path)?;
        self.meant(path, &text, why, parse(&text))
    }

    /// Notes two views of a fact that exclude each other: source and value of the one that is used, and of the other.
    pub(crate) fn contradict(&self, fact: DisputedFact, used: Says<'_>, set_aside: Says<'_>) {
        let mut all = self.contradictions.borrow_mut();
        let (used, set_aside) = (self.view(used), self.view(set_aside));
        let found = Contradiction { fact, used, set_aside };
        if all.len() < MAX_CONTRADICTIONS && !all.contains(&found) {
            all.push(found);
        }
    }

    /// A view; a file that a container's runtime mounts over the kernel's own is named as that.
    fn view(&self, (source, says): Says<'_>) -> View {
        let mounts = if source.starts_with('/') { self.lines("proc/self/mountinfo") } else { None };
        let is_made_up = mounts
            .unwrap_or_default()
            .lines()
            .any(|line| line.split(' ').nth(4) == Some(source) && line.contains(" - fuse.lxcfs "));
        let source = if is_made_up { format!("{source}, which lxcfs makes up") } else { source.to_owned() };
        let says = says.to_string();
        View { source, says: if says.is_empty() { "none".to_owned() } else { says } }
    }

    /// The contradictions so far.
    pub(crate) fn contradictions(&self) -> Vec<Contradiction> {
        self.contradictions.borrow().clone()
    }

    /// Everything that could not be seen.
    pub(crate) fn into_refusals(self) -> Vec<Refusal> {
        let mut refusals = self.refusals.into_inner();
        let dropped = self.dropped.into_inner();
        if dropped > 0 {
            refusals.push(messages::more_files_unusable(dropped));
        }
        refusals
    }

    fn noted<T: Default>(&self, result: Result<T, DiscoverError>) -> T {
        result.unwrap_or_else(|error| {
            self.refuse(error.into_refusal());
            T::default()
        })
    }

    /// The trimmed text of a file.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let text = self.noted(self.root.read(path))?;
        if text.len() > MAX_VALUE_BYTES {
            self.malformed(path, &text, "is larger than any value");
            return None;
        }
        Some(text.trim_matches(['\0', '\n', ' ', '\t', '\r']).to_owned())
    }

    /// The trimmed text of a file that is not empty.
    pub(crate) fn word(&self, path: &str) -> Option<String> {
        self.text(path).filter(|text| !text.is_empty())
    }

    /// The whole text of a file.
    pub(crate) fn lines(&self, path: &str) -> Option<String> {
        self.noted(self.root.read(path))
    }

    /// A number that fills a whole file.
    pub(crate) fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        self.value(path, "is not a number in range", |text| text.parse().ok())
    }

    /// Those ids of a set that are there: from a file in list format, else from one that holds the old hexadecimal
    /// mask.
    pub(crate) fn ids(&self, list: &str, mask: &str, there: &IdSet) -> Option<IdSet> {
        self.id_list(list).or_else(|| self.id_mask(mask)).map(|ids| self.among(&ids, there))
    }

    /// Those ids of a set that are there. A list of one range may be thousands then, which count as what is read.
    pub(crate) fn among(&self, ids: &IdSet, there: &IdSet) -> IdSet {
        let ids = ids.intersection(there);
        self.noted(self.root.spend(RANGE * ids.ranges()).map(|()| ids))
    }

    /// A set of ids as a hexadecimal mask.
    pub(crate) fn id_mask(&self, path: &str) -> Option<IdSet> {
        self.parsed(path, IdSet::from_hex_mask)
    }

    /// A set of ids in list format.
    pub(crate) fn id_list(&self, path: &str) -> Option<IdSet> {
        self.parsed(path, IdSet::from_plain_list)
    }

    fn parsed(&self, path: &str, parse: impl Fn(&str) -> Result<IdSet, tiermark_model::ListError>) -> Option<IdSet> {
        let text = self.text(path)?;
        let report = |error: tiermark_model::ListError| {
            self.malformed(path, &text, format!("is not a set of ids: {}", error.why));
        };
        parse(&text).map_err(report).ok()
    }

    /// A size as sysfs writes it: `32K`, `1024K`, `8M`, `1G`, or bytes; 0 means unknown.
    pub(crate) fn size(&self, path: &str) -> Option<u64> {
        let bytes = self.value(path, "is not a size such as 32K", |text| {
            let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            let scale = match &text[split..] {
                "" => 0,
                "K" => 10,
                "M" => 20,
                "G" => 30,
                _ => return None,
            };
            text[..split].parse::<u64>().ok()?.checked_mul(1 << scale).filter(|bytes| *bytes < MAX_BYTES)
        });
        bytes.filter(|bytes| *bytes != 0)
    }

    /// A count of things of so many bytes each, as long as all of them make a sane amount.
    pub(crate) fn count_of(&self, path: &str, bytes_each: u64) -> Option<u64> {
        let count: u64 = self.number(path)?;
        let sane = count.checked_mul(bytes_each).filter(|bytes| *bytes < MAX_BYTES).map(|_| count);
        self.meant(path, &count.to_string(), "is more than any machine has", sane)
    }

    /// The selected one of several words: `always [madvise] never`, or the only word.
    pub(crate) fn selected(&self, path: &str) -> Option<String> {
        self.value(path, "selects no word", |text| {
            let chosen = match text.split_once('[') {
                Some((_, rest)) => rest.split_once(']').map(|(word, _)| word),
                None => Some(text).filter(|text| !text.contains(char::is_whitespace)),
            };
            chosen.map(str::to_owned)
        })
    }

    /// The names in a directory.
    pub(crate) fn list(&self, path: &str) -> Vec<String> {
        self.noted(self.root.list(path))
    }

    /// Page sizes in bytes that a directory has entries for (`hugepages-2048kB`), with the entries' names, rising.
    pub(crate) fn page_sizes(&self, dir: &str) -> Vec<(u64, String)> {
        let bytes = |name: &str| {
            let kb: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
            kb.checked_mul(1024).filter(|bytes| *bytes < MAX_BYTES)
        };
        let names = self.noted(self.root.matching(dir, |name| bytes(name).is_some_and(u64::is_power_of_two)));
        let mut sizes: Vec<(u64, String)> = names.into_iter().filter_map(|name| Some((bytes(&name)?, name))).collect();
        sizes.sort_unstable();
        sizes
    }

    /// The numbers of a directory's entries named `prefix` and a number.
    pub(crate) fn numbered(&self, path: &str, prefix: &str) -> Vec<u32> {
        self.noted(self.root.numbered(path, prefix))
    }

    /// A value in kB out of `Name:   123 kB` lines, in bytes.
    pub(crate) fn kilobytes(&self, path: &str, text: &str, name: &str) -> Option<u64> {
        let bytes = files::kilobytes(text, name).and_then(|bytes| match bytes {
            Some(bytes @ MAX_BYTES..) => Err(Malformed::line(&format!("{bytes} bytes"))),
            bytes => Ok(bytes),
        });
        bytes.unwrap_or_else(|error| {
            self.malformed(path, &error.text, format!("is not a number of kB for {name}"));
            None
        })
    }
}

/// Spaces, tabs, line ends and backslashes are written as octal numbers in tables of mounts and of swap areas: a space
/// as `\040`.
pub(crate) fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let digits = tail.get(..3).filter(|d| first == b'\\' && d.iter().all(|b| (b'0'..=b'7').contains(b)));
        if let Some(digits) = digits {
            bytes.push(digits.iter().fold(0u8, |n, d| n.wrapping_mul(8).wrapping_add(d - b'0')));
            rest = &tail[3..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(text: &str) -> Root {
        Root::from_files("test", [("f", text)])
    }

    #[test]
    fn sizes_and_words() {
        for (text, bytes) in [("32K", Some(32 << 10)), ("8M\n", Some(8 << 20)), ("64", Some(64)), ("0K", None)] {
            let root = root(text);
            let reader = Reader::new(&root);
            assert_eq!(reader.size("f"), bytes, "{text}");
            assert!(reader.into_refusals().is_empty(), "{text}");
        }
        let root = root("always [madvise] never\n");
        assert_eq!(Reader::new(&root).selected("f").as_deref(), Some("madvise"));
    }

    #[test]
    fn garbage_is_absent_and_remembered_with_path_and_text() {
        let root = root("12 monkeys");
        let reader = Reader::new(&root);
        assert_eq!(reader.number::<u32>("f"), None);
        assert_eq!(reader.size("f"), None);
        assert_eq!(reader.ids("f", "f", &IdSet::new()), None);
        assert_eq!(reader.selected("f"), None);
        assert_eq!(reader.number::<u32>("absent"), None);
        let refusals = reader.into_refusals();
        assert_eq!(refusals.len(), 5, "{refusals:?}");
        let quotes = |r: &Refusal| (r.text("path"), r.text("text")) == (Some("/f"), Some("12 monkeys"));
        assert!(refusals.iter().all(|r| r.code == messages::codes::file_malformed && quotes(r)), "{refusals:?}");
    }

    #[test]
    fn many_refusals_are_counted_not_kept() {
        let root = root("x");
        let reader = Reader::new(&root);
        for _ in 0..1000 {
            assert_eq!(reader.number::<u32>("f"), None);
        }
        let refusals = reader.into_refusals();
        assert_eq!(refusals.len(), MAX_REFUSALS + 1);
        assert_eq!(refusals.last(), Some(&messages::more_files_unusable(960)));
    }

    #[test]
    fn kilobytes_of_meminfo_lines() {
        let text = "Node 3 MemTotal:  16 kB\nMemFree: x kB\n";
        let root = root(text);
        let reader = Reader::new(&root);
        assert_eq!(reader.kilobytes("f", text, "MemTotal"), Some(16384));
        assert_eq!(reader.kilobytes("f", text, "MemFree"), None);
        assert_eq!(reader.kilobytes("f", text, "SwapFree"), None);
        assert_eq!(reader.into_refusals().len(), 1);
    }
}
