//! The names that expectations can use.

use tiermark_model::messages::check as says;
use tiermark_model::{CheckUnit, FigureName, Note, Unit};

use crate::expression::Named;
use crate::system_name::{SYSTEM, SystemName};

/// A figure or a fact of a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name {
    /// A measured figure.
    Figure(FigureName),
    /// A fact of the system, or a number of the run as a whole.
    System(SystemName),
    /// A text between quotes.
    Text(String),
}

impl Named for Name {
    fn read(text: &str, at: usize) -> Result<Self, Note> {
        Self::parse(text, at)
    }

    fn unit(&self) -> CheckUnit {
        self.unit()
    }

    fn is_literal(&self) -> bool {
        matches!(self, Self::Text(_))
    }
}

impl Name {
    /// The name in a text.
    ///
    /// # Errors
    /// What is wrong with it, with the nearest name.
    pub(crate) fn parse(text: &str, at: usize) -> Result<Self, Note> {
        if let Some(quoted) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            return Ok(Self::Text(quoted.to_owned()));
        }
        let word = text.to_ascii_lowercase();
        if let Some((_, name)) = SYSTEM.iter().find(|(name, _)| *name == word) {
            return Ok(Self::System(*name));
        }
        FigureName::parse(&word, at)?.map(Self::Figure).ok_or_else(|| unknown(text, at))
    }

    /// Its unit.
    pub(crate) fn unit(&self) -> CheckUnit {
        match self {
            Self::Figure(name) => match name.unit() {
                Unit::Ns => CheckUnit::Ns,
                Unit::BytesPerSecond => CheckUnit::BytesPerSecond,
                _ => CheckUnit::Number,
            },
            Self::System(name) => name.unit(),
            Self::Text(_) => CheckUnit::Text,
        }
    }

    /// Whether a run measures it: what the machine can do, and not what it consists of or how it is set.
    pub(crate) fn is_measured(&self) -> bool {
        match self {
            Self::Figure(_) => true,
            Self::System(name) => name.is_measured(),
            Self::Text(_) => false,
        }
    }

    /// As it is written.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Figure(name) => name.to_string(),
            Self::System(name) => name.text().to_owned(),
            Self::Text(text) => format!("\"{text}\""),
        }
    }
}

/// What is wrong with a text that is no name.
fn unknown(text: &str, at: usize) -> Note {
    let known = all();
    says::name_unknown(at, text, &known.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Every name.
pub(crate) fn all() -> Vec<String> {
    let system = SYSTEM.iter().map(|(name, _)| (*name).to_owned());
    system.chain(FigureName::all().iter().map(ToString::to_string)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_and_written_alike() {
        for text in all() {
            let name = Name::parse(&text, 1).unwrap_or_else(|note| panic!("{text}: {note}"));
            let shown = if text == "rated" { "dimms.rated" } else { &text };
            assert_eq!(name.text(), shown);
        }
        assert_eq!(Name::parse("Latency.DRAM.local", 1), Name::parse("latency.dram", 1));
        assert_eq!(Name::parse("\"Kernel\"", 1), Ok(Name::Text("Kernel".to_owned())), "a text keeps its case");
    }

    #[test]
    fn mistakes_have_a_suggestion() {
        let said = |text: &str| Name::parse(text, 1).unwrap_err().to_string();
        assert!(said("read.drm.all").contains("did you mean 'read.dram.all'?"));
        assert!(said("edac.corected").contains("did you mean 'edac.corrected'?"));
        assert!(said("read.dram").contains("read.dram.one (one core) or read.dram.all"));
        assert!(said("dram.latncy").contains("unknown name"));
        assert!(said("latency.l2.cycle").contains("did you mean 'latency.l2.cycles'?"));
        assert!(said("read.l2.bytes_per_cycle").contains("read.l2.one (one core)"));
        for wrong in ["latency.l3.cycles", "latency.l1.bytes_per_cycle", "read.l1.one.cycles"] {
            assert_eq!(Name::parse(wrong, 4).unwrap_err().code, says::codes::name_unknown, "{wrong}");
        }
        for wrong in ["latency.dram.all", "latency.l3.remote", "read.l9.one", "dram", "peaks.of.everest", "a", "."] {
            assert_eq!(Name::parse(wrong, 4).unwrap_err().code, says::codes::name_unknown, "{wrong}");
        }
    }
}
