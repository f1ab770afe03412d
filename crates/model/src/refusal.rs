//! Messages for readers, as values: refusals ("cannot be measured here"), warnings and notes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The stable name of a message, as `cpu_not_allowed`: what programs and tests read, while its sentences may change.
/// Empty in documents of versions before there were codes. Each message of [`crate::messages`] has one, in the `codes`
/// of its module.
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
    /// Options that the cure names, as `--cpus`; empty in older documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// What helps against a refusal, where the same refusal has several cures. Documents keep it as its sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Cure {
    /// The sentence; a command where there is one.
    pub text: String,
    /// Options that it names.
    #[serde(skip)]
    pub options: Vec<String>,
}

impl Cure {
    /// The cure of a row of [`crate::messages`].
    pub(crate) fn from_row(_: Code, _: Data, [text]: [String; 1]) -> Self {
        Self { text, options: Vec::new() }
    }

    /// The same with the options that it names.
    pub(crate) fn with_options<const N: usize>(self, options: [&str; N]) -> Self {
        Self { options: options.map(str::to_owned).to_vec(), ..self }
    }

    /// A cure of a sentence, and the options that the sentence names.
    pub fn new(text: impl Into<String>, options: &[&str]) -> Self {
        Self { text: text.into(), options: options.iter().map(|&option| option.to_owned()).collect() }
    }
}

impl fmt::Display for Cure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Refusal {
    /// The refusal of a row of [`crate::messages`].
    pub(crate) fn from_row(code: Code, data: Data, [what, why, cure]: [String; 3]) -> Self {
        Self { code, data, what, why, cure, options: Vec::new() }
    }

    /// The same with the options that its cure names.
    pub(crate) fn with_options<S: Into<String>>(self, options: impl IntoIterator<Item = S>) -> Self {
        Self { options: options.into_iter().map(Into::into).collect(), ..self }
    }

    /// A refusal without a code.
    pub fn new(what: impl Into<String>, why: impl Into<String>, cure: impl Into<String>) -> Self {
        Self::from_row(Code::default(), Data::new(), [what.into(), why.into(), cure.into()])
    }

    /// The same with another cure.
    #[must_use]
    pub fn cured_by(self, cure: Cure) -> Self {
        Self { options: cure.options, cure: cure.text, ..self }
    }

    /// Whether both are one fact, whatever they are of: by code and data; by the sentences where a document is older
    /// than codes.
    pub fn is_like(&self, other: &Self) -> bool {
        match (self.code.is_none(), other.code.is_none()) {
            (true, true) => (&self.why, &self.cure) == (&other.why, &other.cure),
            _ => (&self.code, &self.data) == (&other.code, &other.data),
        }
    }

    /// Whether a step was refused as such, so that its id stands for what was asked for.
    pub fn is_of_step(&self) -> bool {
        self.text("step").is_some_and(|step| step == self.what)
    }

    /// The sentences without what was asked for.
    pub fn why_and_cure(&self) -> String {
        if self.cure.is_empty() { self.why.clone() } else { format!("{} ({})", self.why, self.cure) }
    }

    /// Text among the data of the message.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.data.get(name)?.as_str()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why_and_cure())
    }
}

impl std::error::Error for Refusal {}

/// Something a reader should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// Stable name (`doctor_problem`, `busy`, …).
    pub code: Code,
    /// The data of its sentences.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: Data,
    /// The state alone, without its effect; empty in older documents.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub state: String,
    /// The state, and its effect on the numbers.
    pub text: String,
    /// The cure; `None` when nothing can be done.
    pub cure: Option<String>,
}

impl Warning {
    /// The warning of a row of [`crate::messages`].
    pub(crate) fn from_row(code: Code, data: Data, [state, effect, cure]: [String; 3]) -> Self {
        let text = if effect.is_empty() { state.clone() } else { format!("{state}: {effect}") };
        Self { code, data, state, text, cure: (!cure.is_empty()).then_some(cure) }
    }

    /// What is so, in one clause: the whole text where a document is older than the clause.
    pub fn state(&self) -> &str {
        if self.state.is_empty() { &self.text } else { &self.state }
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
    pub(crate) fn from_row(code: Code, data: Data, [text]: [String; 1]) -> Self {
        Self { code, data, text }
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
        enum NoteOnDisk {
            Text(String),
            Coded {
                #[serde(default)]
                code: Code,
                #[serde(default)]
                data: Data,
                text: String,
            },
        }
        Ok(match NoteOnDisk::deserialize(deserializer)? {
            NoteOnDisk::Text(text) => Self { code: Code::default(), data: Data::new(), text },
            NoteOnDisk::Coded { code, data, text } => Self { code, data, text },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cure_names_its_options() {
        let refusal = crate::messages::setup::no_far_node();
        assert_eq!(refusal.options, ["--mem-node"]);
        assert_eq!(refusal.cured_by(Cure::new("use --pages 2M", &["--pages"])).options, ["--pages"]);
    }

    #[test]
    fn refusals_are_alike_by_code_and_data() {
        let short = |free| crate::messages::setup::no_far_node().cured_by(Cure::new(free, &[]));
        assert!(short("a").is_like(&Refusal { what: "b".into(), ..short("b") }));
        let of = |step| crate::messages::run::curve_point_skipped(step);
        assert!(of("a").is_like(&of("a")) && !of("a").is_like(&of("b")) && of("a").is_of_step());
        let told = |why| Refusal::new("a", why, "");
        assert!(told("x").is_like(&Refusal { what: "b".into(), ..told("x") }) && !told("x").is_like(&told("y")));
        assert!(!told("x").is_of_step() && !told("x").is_like(&of("a")));
    }

    #[test]
    fn a_note_of_an_older_document_is_its_text() {
        let note: Note = serde_json::from_str("\"at distance 21\"").unwrap();
        assert_eq!((note.code.as_str(), note.text.as_str()), ("", "at distance 21"));
        let coded = r#"{"code":"at_distance","data":{"distance":21},"text":"at distance 21"}"#;
        let note: Note = serde_json::from_str(coded).unwrap();
        assert_eq!(serde_json::to_string(&note).unwrap(), coded);
    }
}
