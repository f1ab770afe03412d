//! A captured tree in memory.

use std::collections::BTreeMap;

/// Deeper paths are refused: sysfs stays below 20 levels, and dropping a tree recurses once a level.
const MAX_DEPTH: usize = 48;

/// A file, a directory or a symbolic link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    Dir(BTreeMap<String, Entry>),
    File(Vec<u8>),
    Link(String),
}

impl Default for Entry {
    fn default() -> Self {
        Self::Dir(BTreeMap::new())
    }
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
    /// A link or `..` is on the way: the path must be resolved step by step.
    Link,
}

/// The parts of a path that name something; `..` is kept.
pub(crate) fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".")
}

impl Entry {
    /// Puts an entry at a path, making directories on the way; false where the path is too deep, climbs, or runs
    /// through a file.
    pub(crate) fn insert(&mut self, path: &str, entry: Entry) -> bool {
        let names: Vec<&str> = parts(path).collect();
        let Some((last, dirs)) = names.split_last() else { return false };
        if names.len() > MAX_DEPTH || names.contains(&"..") {
            return false;
        }
        let mut at = self;
        for dir in dirs {
            let Self::Dir(children) = at else { return false };
            at = children.entry((*dir).to_owned()).or_default();
        }
        let Self::Dir(children) = at else { return false };
        match (children.get(*last), &entry) {
            // A directory record that comes after its own files must not empty it.
            (Some(Self::Dir(_)), Self::Dir(_)) => {}
            _ => {
                children.insert((*last).to_owned(), entry);
            }
        }
        true
    }

    /// The entry at a path that runs through no link.
    pub(crate) fn get<'a, 'p>(&'a self, path: impl IntoIterator<Item = &'p str>) -> Option<&'a Entry> {
        path.into_iter().try_fold(self, |at, name| match at {
            Self::Dir(children) => children.get(name),
            _ => None,
        })
    }

    /// Where a path leads as far as no link is on the way.
    pub(crate) fn walk(&self, path: &str) -> Walk<'_> {
        let mut at = self;
        for name in parts(path) {
            match at {
                Self::Dir(_) if name == ".." => return Walk::Link,
                Self::Dir(children) => match children.get(name) {
                    Some(child) => at = child,
                    None => return Walk::Absent,
                },
                Self::File(_) => return Walk::Absent,
                Self::Link(_) => return Walk::Link,
            }
        }
        if matches!(at, Self::Link(_)) { Walk::Link } else { Walk::Found(at) }
    }

    /// The names in a directory, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        match self {
            Self::Dir(children) => Some(children.keys()),
            _ => None,
        }
        .into_iter()
        .flatten()
    }

    /// The kind of an entry.
    pub(crate) fn step(&self) -> Step {
        match self {
            Self::Dir(_) => Step::Dir,
            Self::File(_) => Step::File,
            Self::Link(target) => Step::Link(target.clone()),
        }
    }

    /// The shallowest directory that looks like a root (holds `sys` or `proc`), taken out of this one.
    pub(crate) fn into_machine_root(self) -> Option<Entry> {
        // Captures wrap their root in one directory, some in two (`NAME/fsroot/sys`).
        const WRAPPERS: usize = 3;
        let mut level = vec![self];
        for _ in 0..=WRAPPERS {
            let is_root = |entry: &Entry| {
                [["sys", "devices"].as_slice(), &["proc", "cpuinfo"]]
                    .iter()
                    .any(|p| entry.get(p.iter().copied()).is_some())
            };
            if let Some(at) = level.iter().position(is_root) {
                return Some(level.swap_remove(at));
            }
            level = level
                .into_iter()
                .filter_map(|entry| match entry {
                    Entry::Dir(children) => Some(children.into_values()),
                    _ => None,
                })
                .flatten()
                .collect();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_paths_that_climb_or_run_through_a_file() {
        let mut tree = Entry::default();
        assert!(tree.insert("a/b", Entry::File(vec![1])));
        assert!(!tree.insert("a/b/c", Entry::File(vec![])));
        assert!(!tree.insert("../x", Entry::File(vec![])));
        assert!(!tree.insert("", Entry::File(vec![])));
        assert!(!tree.insert(&"d/".repeat(100), Entry::default()));
        assert!(tree.insert("a", Entry::default()));
        assert_eq!(tree.get(parts("./a//b")), Some(&Entry::File(vec![1])));
    }

    #[test]
    fn finds_the_root_under_wrappers() {
        let mut tree = Entry::default();
        tree.insert("name/cpuid/pu0", Entry::File(vec![]));
        tree.insert("name/fsroot/sys/devices/x", Entry::File(vec![7]));
        let root = tree.into_machine_root().unwrap();
        assert!(root.get(["sys", "devices", "x"]).is_some());
        assert!(Entry::default().into_machine_root().is_none());
    }
}
