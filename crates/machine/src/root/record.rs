//! A recording of the files that were read through a root, for captures.

use std::collections::{BTreeMap, BTreeSet};

/// Files and names seen. Names that turn out to be neither file nor parent of a file are kept as directories,
/// because their existence alone may say something (`cpu3`, `node7`).
#[derive(Debug, Default)]
pub(crate) struct Recording {
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    names: BTreeSet<String>,
}

impl Recording {
    pub(super) fn file(&mut self, rel: &str, bytes: &[u8]) {
        self.files.entry(rel.trim_matches('/').to_owned()).or_insert_with(|| bytes.to_vec());
    }

    pub(super) fn names(&mut self, rel: &str, names: &[String]) {
        let dir = rel.trim_matches('/');
        self.names.extend(names.iter().map(|name| format!("{dir}/{name}")));
    }

    /// Names that no recorded file implies.
    pub(crate) fn bare_names(&self) -> impl Iterator<Item = &String> {
        self.names.iter().filter(|name| {
            let below = format!("{name}/");
            !self.files.contains_key(*name)
                && !self.files.range(below.clone()..).next().is_some_and(|(f, _)| f.starts_with(&below))
        })
    }
}
