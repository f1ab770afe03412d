//! A captured tree in memory: one flat table of paths, because discovery looks up tens of thousands of them.

use std::collections::HashMap;

/// Deeper paths are refused: sysfs stays below 20 levels, and every level of a path takes an entry.
const MAX_DEPTH: usize = 48;
/// Files, links and directories of a tree, those on the way to others included; 2,048 cpus of a capture need about
/// 150,000, the 16,384 of the largest synthetic machine 530,000.
const MAX_NODES: usize = 600_000;
/// Bytes of files, of targets of links, and of paths, which are kept twice. The largest real capture known here holds
/// 10 MiB.
pub(super) const MAX_BYTES: usize = 128 << 20;
/// Levels of directories that may wrap the root of a machine: captures use one, some two (`NAME/fsroot/sys`).
const MAX_WRAPPERS: usize = 3;

/// A file, a directory with the names in it, or a symbolic link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    Dir(Vec<String>),
    File(Vec<u8>),
    Link(String),
}

/// What a path leads to after one step, without following a link.
pub(crate) enum Step {
    Dir,
    File,
    Link(String),
}

/// Where a path leads.
pub(crate) enum Walk<'a> {
    Found(&'a Entry),
    Absent,
    /// A link or `..` may be on the way: the path must be resolved step by step.
    Unclear,
}

/// All entries by path, without a slash at either end; the root is the empty path.
#[derive(Debug)]
pub(crate) struct Tree {
    entries: HashMap<String, Entry>,
    has_links: bool,
    /// Bytes in the table: those of paths count twice, since directories hold the names too.
    bytes: usize,
}

impl Default for Tree {
    fn default() -> Self {
        Self { entries: HashMap::from([(String::new(), Entry::Dir(Vec::new()))]), has_links: false, bytes: 0 }
    }
}

/// The parts of a path that name something; `..` is kept.
pub(crate) fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".")
}

/// Whether a path is written as the table writes it.
fn is_plain(path: &str) -> bool {
    !path.starts_with('/')
        && !path.ends_with('/')
        && !path.contains("//")
        && !path.contains("./")
        && !path.ends_with('.')
}

impl Tree {
    /// Whether it has more entries, or more bytes, than any machine. Nothing is put into it any more then.
    pub(crate) fn is_full(&self) -> bool {
        self.entries.len() > MAX_NODES || self.bytes > MAX_BYTES
    }

    /// Puts an entry at a path, making directories on the way; false where the path is too deep, climbs, or runs
    /// through a file.
    pub(crate) fn insert(&mut self, path: &str, entry: Entry) -> bool {
        let names: Vec<&str> = parts(path).take(MAX_DEPTH + 1).collect();
        if self.is_full() || names.is_empty() || names.len() > MAX_DEPTH || names.contains(&"..") {
            return false;
        }
        let path = names.join("/");
        if !self.make_parent(&path) {
            return false;
        }
        self.has_links |= matches!(entry, Entry::Link(_));
        match (self.entries.get(&path), &entry) {
            // A directory with entries stays one, whatever a later record says.
            (Some(Entry::Dir(names)), _) if !names.is_empty() => matches!(entry, Entry::Dir(_)),
            (known, _) => {
                let (more, less) = (entry.bytes(), known.map_or(0, Entry::bytes));
                self.bytes = self.bytes - less + more + if known.is_none() { 2 * path.len() } else { 0 };
                self.entries.insert(path, entry);
                true
            }
        }
    }

    /// Makes the directory above a path know the path's last name.
    fn make_parent(&mut self, path: &str) -> bool {
        let known = self.entries.contains_key(path);
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        match self.entries.get_mut(parent) {
            Some(Entry::Dir(names)) => {
                if !known {
                    names.push(name.to_owned());
                }
                true
            }
            Some(_) => false,
            None => {
                if !self.make_parent(parent) {
                    return false;
                }
                self.bytes += 2 * parent.len();
                self.entries.insert(parent.to_owned(), Entry::Dir(vec![name.to_owned()]));
                true
            }
        }
    }

    /// The entry at a path as the table writes it.
    pub(crate) fn get(&self, path: &str) -> Option<&Entry> {
        self.entries.get(path)
    }

    /// Where a path leads as far as that is clear without following links.
    pub(crate) fn walk(&self, path: &str) -> Walk<'_> {
        match self.get(path) {
            Some(Entry::Link(_)) => Walk::Unclear,
            Some(entry) => Walk::Found(entry),
            None if self.has_links || !is_plain(path) => Walk::Unclear,
            None => Walk::Absent,
        }
    }

    /// The tree below the shallowest directory that looks like the root of a machine.
    pub(crate) fn into_machine_root(mut self) -> Option<Self> {
        let mut level = vec![String::new()];
        for _ in 0..=MAX_WRAPPERS {
            let below = |dir: &str, name: &str| if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") };
            let is_root = |dir: &&String| {
                ["sys/devices", "proc/cpuinfo"].iter().any(|path| self.entries.contains_key(&below(dir, path)))
            };
            if let Some(root) = level.iter().find(is_root).cloned() {
                return Some(self.cut(&root));
            }
            let names = |dir: &String| match self.entries.remove(dir) {
                Some(Entry::Dir(names)) => names.iter().map(|name| below(dir, name)).collect(),
                _ => Vec::new(),
            };
            level = level.iter().flat_map(names).collect();
        }
        None
    }

    /// The tree below a directory.
    fn cut(self, root: &str) -> Self {
        if root.is_empty() {
            return self;
        }
        let below = |mut path: String| {
            let rest = path.strip_prefix(root)?;
            if !rest.is_empty() && !rest.starts_with('/') {
                return None;
            }
            path.drain(..path.len().min(root.len() + 1));
            Some(path)
        };
        let entries = self.entries.into_iter().filter_map(|(path, entry)| Some((below(path)?, entry))).collect();
        Self { entries, ..self }
    }
}

impl Entry {
    /// Bytes of what it holds itself.
    fn bytes(&self) -> usize {
        match self {
            Self::Dir(_) => 0,
            Self::File(bytes) => bytes.len(),
            Self::Link(target) => target.len(),
        }
    }

    /// The names in a directory.
    pub(crate) fn names(&self) -> &[String] {
        match self {
            Self::Dir(names) => names,
            _ => &[],
        }
    }

    /// The kind of an entry.
    pub(crate) fn step(&self) -> Step {
        match self {
            Self::Dir(_) => Step::Dir,
            Self::File(_) => Step::File,
            Self::Link(target) => Step::Link(target.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_paths_that_climb_or_run_through_a_file() {
        let mut tree = Tree::default();
        assert!(tree.insert("./a//b/", Entry::File(vec![1])));
        assert!(!tree.insert("a/b/c", Entry::File(vec![])));
        assert!(!tree.insert("a/b/c/d", Entry::File(vec![])));
        assert!(!tree.insert("../x", Entry::File(vec![])));
        assert!(!tree.insert("", Entry::File(vec![])));
        assert!(!tree.insert(&"d/".repeat(100), Entry::Dir(vec![])));
        assert!(tree.insert("a", Entry::Dir(vec![])), "a directory's record may come after its files");
        assert!(!tree.insert("a", Entry::File(vec![])), "but no file takes its place");
        assert_eq!(tree.get("a/b"), Some(&Entry::File(vec![1])));
        assert_eq!(tree.get("a").unwrap().names(), ["b"]);
    }

    #[test]
    fn finds_the_root_under_wrappers() {
        let mut tree = Tree::default();
        tree.insert("name/cpuid/pu0", Entry::File(vec![]));
        tree.insert("name/fsroot/sys/devices/x", Entry::File(vec![7]));
        tree.insert("name/fsroot2/y", Entry::File(vec![8]));
        let root = tree.into_machine_root().unwrap();
        assert_eq!(root.get("sys/devices/x"), Some(&Entry::File(vec![7])));
        assert_eq!(root.get("").unwrap().names(), ["sys"]);
        assert_eq!(root.entries.len(), 4);
        assert!(Tree::default().into_machine_root().is_none());
    }
}
