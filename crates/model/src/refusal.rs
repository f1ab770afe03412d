//! Messages for readers, as values: refusals ("cannot be measured here"), warnings and notes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The stable name of a message, as `cpu_not_allowed`: what programs and tests read, while its sentences may change. Empty in documents of
/// versions before there were codes. Each message of [`crate::messages`] has one, in the `codes` of its module.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Code(Cow<'static, str>);

impl Code {
    /// The code of this name.
    pub const fn new(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// The name; empty when the document is older than codes.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the document is older than codes.
    fn is_none(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq<str> for Code {
    fn eq(&self, name: &str) -> bool {
        self.0 == name
    }
}

impl PartialEq<&str> for Code {
    fn eq(&self, name: &&str) -> bool {
        self.0 == *name
    }
}

/// The data of a message, by the names that its row in [`crate::messages`] gives them.
pub type Data = BTreeMap<String, Value>;

/// Something that cannot be done here, with the reason and the cure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refusal {
    /// Which refusal it is.
    #[serde(default, skip_serializing_if = "Code::is_none")]
    pub code: Code,
    /// The data of its sentences.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: Data,
    /// The thing that cannot be had, as the subject of a sentence.
    pub what: String,
    /// Why it cannot be had.
    pub why: String,
    /// The cure; a command where there is one.
    pub cure: String,
}

impl Refusal {
    /// The refusal of a row of [`crate::messages`].
    pub(crate) fn made(code: Code, data: Data, [what, why, cure]: [String; 3]) -> Self {
        Self { code, data, what, why, cure }
    }

    /// A refusal without a code.
    pub fn new(what: impl Into<String>, why: impl Into<String>, cure: impl Into<String>) -> Self {
        let (code, data) = (Code::default(), Data::new());
        Self { code, data, what: what.into(), why: why.into(), cure: cure.into() }
    }

    /// Text among the data of the message.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.data.get(name)?.as_str()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)?;
        if !self.cure.is_empty() {
            write!(f, " ({})", self.cure)?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}

/// Something a reader should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// Stable name (`cpu_quota`, `numa_balancing`, …).
    pub code: Code,
    /// The data of its sentences.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: Data,
    /// The state, and its effect on the numbers.
    pub text: String,
    /// The cure; `None` when nothing can be done.
    pub cure: Option<String>,
}

impl Warning {
    /// The warning of a row of [`crate::messages`].
    pub(crate) fn made(code: Code, data: Data, [text, cure]: [String; 2]) -> Self {
        Self { code, data, text, cure: (!cure.is_empty()).then_some(cure) }
    }
}

/// A remark on a number or a row; the default says nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Note {
    /// Which note it is.
    #[serde(default, skip_serializing_if = "Code::is_none")]
    pub code: Code,
    /// The data of its sentence.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: Data,
    /// The sentence.
    pub text: String,
}

impl Note {
    /// The note of a row of [`crate::messages`].
    pub(crate) fn made(code: Code, data: Data, [text]: [String; 1]) -> Self {
        Self { code, data, text }
    }

    /// The texts of these notes in one line, with semicolons between them.
    pub fn joined(notes: &[Self]) -> String {
        notes.iter().map(|note| note.text.as_str()).collect::<Vec<_>>().join("; ")
    }
}

/// Why something was refused, where what was refused stands beside it.
impl From<&Refusal> for Note {
    fn from(refusal: &Refusal) -> Self {
        Self { code: refusal.code.clone(), data: refusal.data.clone(), text: refusal.why.clone() }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Documents of versions before there were codes have a text alone.
impl<'de> Deserialize<'de> for Note {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Saved {
            Text(String),
            Coded {
                #[serde(default)]
                code: Code,
                #[serde(default)]
                data: Data,
                text: String,
            },
        }
        Ok(match Saved::deserialize(deserializer)? {
            Saved::Text(text) => Self { code: Code::default(), data: Data::new(), text },
            Saved::Coded { code, data, text } => Self { code, data, text },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_of_an_older_document_is_its_text() {
        let note: Note = serde_json::from_str("\"at distance 21\"").unwrap();
        assert_eq!((note.code.as_str(), note.text.as_str()), ("", "at distance 21"));
        let coded = r#"{"code":"at_distance","data":{"distance":21},"text":"at distance 21"}"#;
        let note: Note = serde_json::from_str(coded).unwrap();
        assert_eq!(serde_json::to_string(&note).unwrap(), coded);
    }
}
