//! The system's knobs as data: values, advice, and the outcome of changes.

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

/// How the value of a knob compares with the advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The value is as advised.
    AsAdvised,
    /// The value differs from the advice.
    Differs,
    /// The profile has no advice; the reason may hold a remark.
    Free,
    /// The file exists and cannot be read or parsed; the reason says why.
    Unseen,
    /// This system has no such knob.
    NotHere,
}

/// One knob, or all of its files that hold the same value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KnobRow {
    /// Its usual name (`vm.page-cluster`).
    pub name: String,
    /// What it does.
    pub about: String,
    /// Which cpus, devices or sizes, where it has a file for each.
    pub on: Option<String>,
    /// Paths of its files, without the leading slash.
    pub files: Vec<String>,
    /// The value now; `None` if the file does not exist or cannot be read.
    pub value: Option<String>,
    /// The values the kernel offers, where it lists them.
    pub options: Vec<String>,
    /// The value that the profile advises; `None` without advice.
    pub advice: Option<String>,
    /// Reason of the advice, or a remark; `None` without both.
    pub reason: Option<String>,
    /// How it can be changed.
    pub reach: Reach,
    /// How the value compares with the advice.
    pub standing: Standing,
}

/// Changes of an earlier call that were not taken back yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldChanges {
    /// Path of the journal.
    pub journal: String,
    /// The command that made them: `tiermark tune`.
    pub what: String,
    /// When, RFC 3339.
    pub started: String,
    /// Process that made them.
    pub pid: u32,
    /// Whether that process still works on them.
    pub at_work: bool,
    /// The changes, in words.
    pub changes: Vec<String>,
    /// Paths of the swap areas among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub swaps: Vec<String>,
    /// Commands that stop servers which were started elsewhere, as they would be run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
}

/// All knobs under a profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tuning {
    /// Name of the profile: `swap-tier`.
    pub profile: String,
    /// Purpose of the profile, in words.
    pub purpose: String,
    /// One row for each knob, or for each value if its files differ.
    pub knobs: Vec<KnobRow>,
    /// Changes made before and not taken back.
    pub held: Vec<HeldChanges>,
}

/// The outcome of one change, or of taking it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChangeOutcome {
    /// Done, and verified.
    Done,
    /// Not needed: the value is so already.
    Already,
    /// Already undone, as by a reboot.
    Gone,
    /// Not changed, because another program wrote it since.
    Left,
    /// The change failed.
    Failed,
}

/// One change made or taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangeRow {
    /// Name of the changed thing: a knob, a group, a swap area.
    pub what: String,
    /// The value before; `None` if it had none.
    pub from: Option<String>,
    /// The value after; `None` if it has none.
    pub to: Option<String>,
    /// Whether it succeeded.
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
    pub fn summary(&self) -> String {
        self.why.as_ref().map_or_else(|| self.what.clone(), |why| format!("{}: {why}", self.what))
    }
}
