//! Hosts of a fleet that could not be measured.

use serde::{Deserialize, Serialize};

/// Schema of what stands in place of the document of a host that could not be measured ([`FailedHost`]).
pub const FAILED_HOST_SCHEMA: &str = "tiermark/failed-host/1";

/// What an engine writes in place of the document of a host that could not be measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedHost {
    /// [`FAILED_HOST_SCHEMA`].
    pub schema: String,
    /// Its name.
    pub host: String,
    /// In which way it failed.
    pub how: HostFailure,
    /// The exit code of tiermark; `None` if it did not end.
    pub exit: Option<i32>,
    /// The last lines of standard error, or what the engine reported.
    pub message: String,
    /// When, RFC 3339 in UTC; `None` if the engine does not say.
    #[serde(default)]
    pub at: Option<String>,
}

impl FailedHost {
    /// How lines begin that may stand before the reason: those of a traceback, and warnings of ssh. The Ansible role has
    /// the same list.
    pub const BEFORE_REASON: [&str; 5] = [" ", "\t", "Traceback ", "Warning: ", "** "];

    /// The first line of the message that says why.
    pub fn reason(&self) -> &str {
        let lines = || self.message.lines().filter(|line| !line.trim().is_empty());
        let is_before = |line: &str| Self::BEFORE_REASON.iter().any(|of| line.starts_with(of));
        lines().find(|line| !is_before(line)).or_else(|| lines().next_back()).unwrap_or_default().trim()
    }
}

/// In which way a host failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HostFailure {
    /// The engine could not reach it, or lost it.
    Unreachable,
    /// tiermark refused to measure on it.
    Refused,
    /// tiermark, or a step of the engine, failed.
    Failed,
    /// It took longer than the engine waits.
    TimedOut,
    /// tiermark could not be started: another architecture, no room for its file.
    NotStarted,
}

impl HostFailure {
    /// Its name in rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::NotStarted => "not_started",
        }
    }

    /// It in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Refused => "refused to measure",
            Self::Failed => "failed",
            Self::TimedOut => "took too long",
            Self::NotStarted => "could not start",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ansible_role_finds_the_same_reason() {
        const ROLE: &str = include_str!("../../../../fleet/ansible/roles/fetch/tasks/failed.yml");
        let pattern = FailedHost::BEFORE_REASON.map(|begin| begin.replace('\t', "\\t").replace('*', "[*]")).join("|");
        assert!(ROLE.contains(&format!("reject('match', '{pattern}')")), "{pattern}");
    }

    #[test]
    fn a_failed_host_has_a_line_that_says_why() {
        let reason = |message: &str| {
            let row = serde_json::json!({
                "schema": FAILED_HOST_SCHEMA, "host": "n1", "how": "failed", "exit": 1, "message": message
            });
            serde_json::from_value::<FailedHost>(row).unwrap().reason().to_owned()
        };
        for (message, line) in [
            ("", ""),
            ("\n  \n", ""),
            ("error: unexpected argument\n\nFor more information, try '--help'.\n", "error: unexpected argument"),
            ("Traceback (most recent call last):\n  File \"x\"\nOSError: no room\n", "OSError: no room"),
            ("Warning: added n1\n** WARNING: old keys\nssh: no route", "ssh: no route"),
            ("\n  indented alone\n", "indented alone"),
        ] {
            assert_eq!(reason(message), line);
        }
    }
}
