//! The system's knobs as data: what they are, what they should be, and what became of changes.

use serde::{Deserialize, Serialize};

use crate::refusal::Note;

/// How a knob can be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// At once, until the next reboot.
    Live,
    /// At once, but it belongs to a device that the user did not name.
    Unnamed,
    /// With a reboot, or when a driver starts anew.
    Reboot,
    /// Not by this program: it is only looked at.
    Check,
}

/// Where a knob stands against the advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// As advised.
    AsAdvised,
    /// Other than advised.
    Differs,
    /// The profile has no opinion; the reason may still say something.
    Free,
    /// It is there and cannot be read, or makes no sense; the reason says why.
    Unseen,
    /// This system has no such knob.
    NotHere,
}

/// One knob, or all of its files that hold the same value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KnobRow {
    /// What people call it (`vm.page-cluster`).
    pub name: String,
    /// What it does.
    pub about: String,
    /// Which cpus, devices or sizes, where it has a file for each.
    pub on: Option<String>,
    /// Its files.
    pub files: Vec<String>,
    /// The value now; `None` where there is none.
    pub value: Option<String>,
    /// The values the kernel offers, where it lists them.
    pub options: Vec<String>,
    /// The value the profile advises; `None` without an opinion.
    pub advice: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// How it can be changed.
    pub reach: Reach,
    /// Where it stands.
    pub standing: Standing,
}

/// Changes of an earlier call that were not taken back yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldChanges {
    /// The journal.
    pub journal: String,
    /// What made them.
    pub what: String,
    /// When, RFC 3339.
    pub started: String,
    /// Process that made them.
    pub pid: u32,
    /// Whether that process still works on them.
    pub at_work: bool,
    /// What was changed, in words.
    pub changes: Vec<String>,
    /// Paths of the swap areas among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub swaps: Vec<String>,
    /// Commands that stop what was started elsewhere, as they would be run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
}

/// All knobs under a profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tuning {
    /// The profile.
    pub profile: String,
    /// What the profile is for.
    pub purpose: String,
    /// The knobs.
    pub knobs: Vec<KnobRow>,
    /// Changes made before and not taken back.
    pub held: Vec<HeldChanges>,
}

/// The outcome of one change, or of taking it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChangeOutcome {
    /// Done, and seen to be so.
    Done,
    /// Nothing to do: it is so already.
    Already,
    /// It went away by itself, as with a reboot.
    Gone,
    /// Left alone, because somebody else changed it since.
    Left,
    /// It did not work.
    Failed,
}

/// One change made or taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangeRow {
    /// What was changed.
    pub what: String,
    /// From which value.
    pub from: Option<String>,
    /// To which value.
    pub to: Option<String>,
    /// The outcome.
    pub outcome: ChangeOutcome,
    /// The reason of any other outcome than `done`; `None` where there is nothing to add.
    pub why: Option<Note>,
}

impl ChangeRow {
    /// Whether the change is still there, and has to be taken back some time.
    pub fn stays(&self) -> bool {
        matches!(self.outcome, ChangeOutcome::Failed | ChangeOutcome::Left)
    }

    /// What was changed, and why it is as it is.
    pub fn said(&self) -> String {
        self.why.as_ref().map_or_else(|| self.what.clone(), |why| format!("{}: {why}", self.what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_older_versions_are_sentences() {
        let older = r#"{"what":"/x","from":null,"to":"1","outcome":"left","why":"somebody else wrote it"}"#;
        let row: ChangeRow = serde_json::from_str(older).unwrap();
        assert_eq!(row.why.unwrap().to_string(), "somebody else wrote it");
    }
}
