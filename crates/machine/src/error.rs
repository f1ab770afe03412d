//! Why a tree could not be read.

use std::io;

use tiermark_model::Refusal;
use tiermark_model::messages::machine as messages;

/// Characters of a malformed file that are quoted: enough to recognise it, short enough for one line.
const QUOTED: usize = 60;

/// The start of a text, on one line, to be quoted in a message.
pub fn excerpt(text: &str) -> String {
    text.trim().chars().take(QUOTED).map(|c| if c.is_control() { '.' } else { c }).collect()
}

/// Why a file, an archive or a whole tree was refused.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// The file exists and cannot be read.
    #[error("{path}: cannot be read: {source}")]
    Io {
        /// Path below the root.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// The file was read and makes no sense.
    #[error("{path}: '{text}' {why}")]
    Malformed {
        /// Path below the root.
        path: String,
        /// The start of what the file holds.
        text: String,
        /// Description of the mistake.
        why: String,
    },
    /// The file or archive is larger than anything a kernel writes.
    #[error("{path}: larger than {limit} bytes, which no file of a machine's description is")]
    TooLarge {
        /// Path below the root.
        path: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// Reading it takes more time or memory than the description of any machine: a few links can show a directory
    /// everywhere.
    #[error("{path}: takes more reading than any machine's description: its files, lists or links repeat themselves")]
    Repeats {
        /// The root.
        path: String,
    },
    /// The path given as root is neither a tree nor an archive of one.
    #[error(
        "{path}: not a captured machine: {why}; give a directory that holds sys/ and proc/, or a .tar, .tar.gz or \
            .tar.bz2 of one"
    )]
    NotATree {
        /// The path given.
        path: String,
        /// What the path leads to instead.
        why: String,
    },
    /// The tree describes no cpu at all.
    #[error(
        "{path}: no cpu found: neither sys/devices/system/cpu nor proc/cpuinfo names one; \
         give a root that holds both, such as one written by `tiermark machine --capture FILE`"
    )]
    NoCpus {
        /// The root.
        path: String,
    },
}

impl DiscoverError {
    /// A malformed file, with the start of its text.
    pub(crate) fn malformed(path: &str, text: &str, why: impl Into<String>) -> Self {
        Self::Malformed { path: path.to_owned(), text: excerpt(text), why: why.into() }
    }

    /// The refusal for the `unseen` of a machine, with the path as it is on the machine.
    pub(crate) fn into_refusal(self) -> Refusal {
        match self {
            Self::Io { path, source } => {
                let refusal = match source.kind() {
                    io::ErrorKind::PermissionDenied => messages::file_denied,
                    _ => messages::file_unreadable,
                };
                refusal(&format!("/{path}"), &source.to_string())
            }
            Self::Malformed { path, text, why } => messages::file_malformed(&format!("/{path}"), &text, &why),
            other => messages::file_unusable(&other.to_string()),
        }
    }
}
