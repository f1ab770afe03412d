//! Memory of files.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A file whose pages are the memory of a region.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileMemory {
    /// A file that exists, which is mapped to read only, or a directory.
    pub path: String,
    /// Whether the path is a directory, in which a new file without a name is made. Nothing is left there, whatever
    /// ends the program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new: bool,
    /// Whether a new file is mapped to read only once it is filled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

impl FileMemory {
    /// Whether nothing may write to it while it is measured.
    pub fn is_read_only(&self) -> bool {
        self.read_only || !self.new
    }
}

impl fmt::Display for FileMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}:{}", if self.new { "dir" } else { "file" }, self.path))
    }
}

impl FromStr for FileMemory {
    type Err = String;

    /// Parses `file:PATH` or `dir:DIRECTORY`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some((kind @ ("file" | "dir"), path)) if !path.is_empty() => {
                Ok(Self { path: path.to_owned(), new: kind == "dir", read_only: false })
            }
            _ => Err("use file:PATH for a file that exists, or dir:DIRECTORY for a new one without a name".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_directories_read_back_what_they_print() {
        for text in ["file:/dev/dax0.0", "dir:/dev/shm"] {
            let memory: FileMemory = text.parse().unwrap();
            assert_eq!(memory.to_string(), text);
            assert_eq!(memory.is_read_only(), !memory.new);
        }
        for bad in ["", "file:", "/dev/shm", "node:1"] {
            assert!(bad.parse::<FileMemory>().unwrap_err().contains("dir:"), "{bad}");
        }
    }
}
