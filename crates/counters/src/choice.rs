//! Which source is opened: the one that the user names, or the first that opens.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use tiermark_history::config::text_of;
use tiermark_model::messages::counters as says;
use tiermark_model::{CounterSourceId, CounterSourceInfo};

use crate::family::{Family, families};
use crate::monitored::Monitored;
use crate::source::{Beside, Chosen, Opened, Place, Reads, SourceKind, Tried, tried};
use crate::sources::SOURCES;

/// A source, with the file that it is read from.
#[derive(Debug, Clone)]
pub struct SourceChoice {
    kind: &'static SourceKind,
    /// Of another program; empty if the source is read from this system.
    file: PathBuf,
}

impl FromStr for SourceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // `perf=` names no file, and is refused for its sign.
        let (name, file) = text.split_once('=').map_or((text, None), |(name, file)| (name, Some(file)));
        let kind = SOURCES.iter().find(|kind| kind.id.name() == name && kind.file().is_some() == file.is_some());
        let file = PathBuf::from(file.unwrap_or_default());
        match kind {
            Some(kind) if kind.file().is_none() || !file.as_os_str().is_empty() => Ok(Self { kind, file }),
            _ => Err(format!("use {}", listed(&Self::forms(), "or"))),
        }
    }
}

impl SourceChoice {
    /// How each source is named, those of this system first.
    #[must_use]
    pub fn forms() -> Vec<String> {
        let system = SOURCES.iter().filter(|kind| kind.file().is_none()).map(|kind| kind.id.name().to_owned());
        let files = SOURCES.iter().filter(|kind| kind.file().is_some());
        system.chain(files.map(|kind| format!("{}=FILE", kind.id.name()))).collect()
    }

    /// Which sources are tried unless the user names one, and what their files are, in sentences.
    #[must_use]
    pub fn explained() -> String {
        let names = |beside, when| {
            let kinds = SOURCES.iter().filter(|kind| kind.tried(beside) == when);
            listed(&kinds.map(|kind| kind.id.name().to_owned()).collect::<Vec<_>>(), "and")
        };
        let order = |who: &str, beside| {
            let (always, required) = (names(beside, Tried::Always), names(beside, Tried::IfRequired));
            format!("{who} {always}; with --counters=require also {required}.")
        };
        let files = SOURCES.iter().filter_map(|kind| Some((kind.id.name(), kind.file()?.file)));
        [order("Measurements try", Beside::Shots), order("`watch` tries", Beside::Samples)]
            .into_iter()
            .chain(files.map(|(name, file)| format!("For {name}, FILE {file}.")))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Which source it is.
    #[must_use]
    pub fn id(&self) -> CounterSourceId {
        self.kind.id
    }

    /// Whether this source opens.
    #[must_use]
    pub fn examine(&self, place: Place<'_>) -> CounterSourceInfo {
        tried(Some(self.open(place)), self.id(), &[], self.id().name())
    }

    fn open(&self, place: Place<'_>) -> Opened {
        match &self.kind.reads {
            Reads::System(own) => {
                let system = place.system.ok_or_else(|| says::not_this_machine(self.id().name()))?;
                (own.open)(place, system)
            }
            Reads::File(form) => {
                Ok(Box::new(Monitored::open(form, &self.file, (form.open)(&self.file, place.machine)?)))
            }
        }
    }
}

/// Words in a sentence: `perf, hsmp and core`.
fn listed(words: &[String], before_last: &str) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} {before_last} {last}", first.join(", ")),
    }
}

/// Opens the named source, else the first that opens.
#[must_use]
pub fn open_source(named: Option<&SourceChoice>, required: bool, beside: Beside, place: Place<'_>) -> Chosen {
    let most = if required { Tried::IfRequired } else { Tried::Always };
    let usual = SOURCES.iter().filter(|kind| kind.tried(beside) <= most);
    let usual = || usual.map(|kind| SourceChoice { kind, file: PathBuf::new() }).collect();
    let mut refused = Vec::new();
    for choice in named.map_or_else(usual, |named| vec![named.clone()]) {
        match choice.open(place) {
            Ok(source) => return Chosen { source: Some(source), refused },
            Err(refusal) => refused.push((choice.id(), refusal)),
        }
    }
    Chosen { source: None, refused }
}

/// The events of processor families, those of a user's file first.
///
/// # Errors
/// The mistakes of the file, a sentence each that names it.
pub fn families_with(file: Option<&Path>) -> Result<Vec<Family>, Vec<String>> {
    let Some(path) = file else { return Ok(families()) };
    let name = path.display();
    let text = text_of(path).map_err(|error| vec![format!("--events {name}: {error}")])?;
    let own = Family::read(&text)
        .map_err(|all| all.into_iter().map(|mistake| format!("--events {name}, {mistake}")).collect::<Vec<_>>())?;
    Ok(std::iter::once(own).chain(families()).collect())
}
