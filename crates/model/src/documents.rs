//! Output for programs: documents, the events of a run, and the schemas of both.

use serde::{Deserialize, Serialize};

use crate::{
    ChangeRow, CounterSourceInfo, Drift, Finding, KernelInfo, Observation, Plan, PrimitiveInfo, Refusal, Request, Run,
    State, Step, Warning,
};

/// Schema of the description of a machine ([`crate::Machine`]).
pub const MACHINE_SCHEMA: &str = "tiermark/machine/1";
/// Schema of a check-up ([`crate::Checkup`]).
pub const DOCTOR_SCHEMA: &str = "tiermark/doctor/1";
/// Schema of all knobs under a profile ([`crate::Tuning`]).
pub const TUNE_SCHEMA: &str = "tiermark/tune/1";
/// Schema of changes made or taken back ([`Changes`]).
pub const CHANGES_SCHEMA: &str = "tiermark/tune-changes/1";
/// Schema of lists ([`List`]).
pub const LIST_SCHEMA: &str = "tiermark/list/1";
/// Schema of the events of a run ([`RunEvent`]).
pub const EVENTS_SCHEMA: &str = "tiermark/events/1";

/// The document of a command, with the schema that it follows. Adding fields keeps a schema; changing a meaning makes a
/// new number.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document<'a, T> {
    /// Name and version of the JSON Schema: `tiermark/machine/1`.
    pub schema: &'a str,
    /// The data; its fields stand beside `schema`.
    #[serde(flatten)]
    pub found: &'a T,
}

/// One line of `--jsonl`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent<'a> {
    /// The first line.
    RunStarted {
        /// [`EVENTS_SCHEMA`].
        schema: &'a str,
        /// The run, without experiments yet.
        run: &'a Run,
    },
    /// An experiment begins; the lines up to its `experiment_done` belong to it.
    ExperimentStarted {
        /// The user's request.
        request: &'a Request,
        /// Version of the probe's method.
        method: u32,
        /// The steps planned so far.
        plan: &'a Plan,
    },
    /// Steps that the probe added after it saw the first observations.
    StepsAdded {
        /// The added steps only.
        steps: &'a [Step],
    },
    /// A step was measured.
    Observed {
        /// The results of the step.
        observation: &'a Observation,
    },
    /// All steps of the experiment were measured, or its time is over.
    ExperimentDone {
        /// States the machine was in.
        states: &'a [State],
        /// Steps that the machine changed during.
        drift: &'a [Drift],
    },
    /// Conclusions from the experiment before.
    Findings {
        /// The numbers.
        findings: &'a [Finding],
    },
    /// Figures of an experiment that became bounds at the end of the run, since others that mean the same differ.
    Revised {
        /// Its place in the run, from 0.
        experiment: u64,
        /// The results of these steps, with their reasons.
        observations: Vec<&'a Observation>,
        /// Its conclusions, which replace those before.
        findings: &'a [Finding],
    },
    /// The last line.
    RunDone {
        /// Whether every step was measured.
        complete: bool,
        /// How long the run took.
        seconds: f64,
        /// Warnings, some of which are only known at the end.
        warnings: &'a [Warning],
    },
}

/// The output of `list --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct List {
    /// Kind of the items: `runs`, `probes`, …; `None` for the list of lists.
    pub what: Option<String>,
    /// The items, all of one kind.
    pub items: Vec<ListItem>,
}

/// What made a saved run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// Probes: `survey` and all commands that measure the machine's memory and system.
    #[default]
    Probes,
    /// `capacity`.
    Capacity,
    /// `load`.
    Load,
}

/// An item of `tiermark list --json`, by kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ListItem {
    /// A saved run.
    Run {
        /// Its id, by which `show` and `rerun` find it.
        id: String,
        /// What made it; the schema of the document follows from it.
        #[serde(default)]
        kind: RunKind,
        /// Its document.
        path: String,
        /// Size of the document.
        bytes: u64,
    },
    /// A run of `capacity`.
    Capacity {
        /// Its id; `None` where the file's name has none.
        id: Option<String>,
        /// Its document, or its journal while it is not finished.
        path: String,
        /// Whether it has a document.
        finished: bool,
    },
    /// A probe, and whether it can run here.
    Probe {
        /// Its id, which is also its command: `latency`.
        id: String,
        /// Version of its method.
        method: u32,
        /// Its description, in one line.
        summary: String,
        /// Why it cannot run here.
        refused: Option<Refusal>,
    },
    /// A kernel, and whether it can run here.
    Kernel {
        /// Its row of the registry.
        kernel: KernelInfo,
        /// Whether this cpu can run it.
        available: bool,
    },
    /// A primitive of the operating system.
    Primitive(PrimitiveInfo),
    /// A source of counters, and whether it opens here.
    Counters(CounterSourceInfo),
    /// A command, or a list.
    Named {
        /// Its name, as one types it.
        name: String,
        /// Its description, in one line.
        about: String,
    },
}

/// Changes made or taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Changes {
    /// The changes in the order in which they were made, or taken back.
    pub changes: Vec<ChangeRow>,
    /// Why nothing was changed.
    pub refused: Option<Refusal>,
}

/// Every schema, by the name that its documents state (`tiermark/run/4`).
#[cfg(feature = "schema")]
pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
    use schemars::schema_for;

    let all = [
        (crate::RUN_SCHEMA, schema_for!(Run)),
        (EVENTS_SCHEMA, schema_for!(RunEvent<'_>)),
        (crate::capacity::CAPACITY_SCHEMA, schema_for!(crate::capacity::Capacity)),
        (crate::load::LOAD_SCHEMA, schema_for!(crate::load::LoadRun)),
        (MACHINE_SCHEMA, schema_for!(Document<'_, crate::Machine>)),
        (DOCTOR_SCHEMA, schema_for!(Document<'_, crate::Checkup>)),
        (TUNE_SCHEMA, schema_for!(Document<'_, crate::Tuning>)),
        (CHANGES_SCHEMA, schema_for!(Document<'_, Changes>)),
        (LIST_SCHEMA, schema_for!(Document<'_, List>)),
        (crate::CHECK_SCHEMA, schema_for!(Document<'_, crate::Check>)),
        (crate::CHECKS_SCHEMA, schema_for!(Document<'_, crate::Checks>)),
        (crate::EXPLANATION_SCHEMA, schema_for!(Document<'_, crate::Explanation>)),
        (crate::EXPLAIN_RULES_SCHEMA, schema_for!(Document<'_, crate::ExplainRules>)),
        (crate::COMPARE_SCHEMA, schema_for!(Document<'_, crate::Comparison>)),
        (crate::FLEET_SCHEMA, schema_for!(Document<'_, crate::Fleet>)),
        (crate::FAILED_HOST_SCHEMA, schema_for!(crate::FailedHost)),
        (crate::HISTORY_SCHEMA, schema_for!(Document<'_, crate::History>)),
        (crate::WATCH_SCHEMA, schema_for!(Document<'_, crate::WatchSample>)),
        (crate::PLACED_SCHEMA, schema_for!(Document<'_, crate::CurveProfile>)),
        (crate::WATCH_RECORDING_SCHEMA, schema_for!(crate::WatchHead)),
    ];
    let identified = |(name, mut schema): (&'static str, schemars::Schema)| {
        schema.insert("$id".to_owned(), format!("urn:{}", name.replace('/', ":")).into());
        (name, schema)
    };
    all.into_iter().map(identified).collect()
}

/// A document as indented JSON. It is written once without spaces and then laid out, so that the program holds the code
/// that writes each type only once.
///
/// # Errors
/// What JSON does not have.
pub fn indented(document: &impl Serialize) -> serde_json::Result<String> {
    let written = serde_json::to_vec(document)?;
    let mut out = Vec::with_capacity(written.len() * 2);
    let mut from = serde_json::Deserializer::from_slice(&written);
    serde_transcode::transcode(&mut from, &mut serde_json::Serializer::pretty(&mut out))?;
    String::from_utf8(out).map_err(serde::ser::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn it_is_what_serde_writes_with_spaces() {
        let document = json!({
            "z": [1, -2, 0.1, 1e300, 5e-324, 1.0, u64::MAX, i64::MIN, null, true],
            "a": { "empty": {}, "list": [], "text": "é\n\"\u{1f}" },
        });
        assert_eq!(indented(&document).unwrap(), serde_json::to_string_pretty(&document).unwrap());
    }
}
