//! Exit codes: stable for ever.

/// Why the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, all measured; warnings allowed.
    Done,
    /// Failure inside the tool or the run.
    Failure,
    /// Bad usage.
    Usage,
    /// A comparison found a regression or an outlier beyond the threshold, or a check-up a problem.
    Regression,
    /// No part of the request can be measured here, or what was named cannot be read.
    Refused,
    /// Some requested numbers are missing or withheld, or too little could be judged; the rest is in the report. A point
    /// that was added while the run went on, to make a curve denser, is not missed.
    Partial,
    /// A number is a bound or doubtful, or its interval is wider than wanted (`--strict` only).
    Noisy,
    /// Some hosts of a fleet failed.
    Fleet,
    /// SIGINT, after the results so far were written.
    Interrupted,
    /// SIGHUP, after the results so far were written.
    HungUp,
    /// SIGTERM, after the results so far were written.
    Terminated,
    /// The exit code of the command that `watch` ran; 128 and the number of the signal that ended it.
    Command(u8),
}

impl Exit {
    /// Every exit of tiermark's own, for documentation.
    pub const ALL: [Self; 11] = [
        Self::Done,
        Self::Failure,
        Self::Usage,
        Self::Regression,
        Self::Refused,
        Self::Partial,
        Self::Noisy,
        Self::Fleet,
        Self::HungUp,
        Self::Interrupted,
        Self::Terminated,
    ];

    /// The process's exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::Regression => 3,
            Self::Refused => 4,
            Self::Partial => 5,
            Self::Noisy => 6,
            Self::Fleet => 7,
            Self::HungUp => 129,
            Self::Interrupted => 130,
            Self::Terminated => 143,
            Self::Command(code) => code,
        }
    }

    /// Meaning of the code, in a few words.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failure => "a failure",
            Self::Usage => "bad usage",
            Self::Regression => {
                "`doctor`: a problem; `compare --fail-over`: a number is worse; `check`: a failure; `soak`: a wrong \
                 word or a lost page; `fleet`: an odd host, or with `--before` a worse median host"
            }
            Self::Refused => "refused: nothing was measured, changed or read",
            Self::Partial => {
                "partial: numbers missing or withheld, a host or a run not judged, a setting not changed \
                 (`--allow-partial`: 0)"
            }
            Self::Noisy => "with `--strict`: a number is neither trusted nor shared",
            Self::Fleet => "`fleet`: a host failed",
            Self::HungUp | Self::Interrupted | Self::Terminated => {
                "stopped by a signal; the report of what was measured is printed"
            }
            Self::Command(_) => "the exit code of the command that was watched",
        }
    }

    /// Every code of tiermark's own with its meaning; those with one meaning are in one row: `129, 130, 143`.
    pub fn table() -> Vec<(String, &'static str)> {
        let mut rows: Vec<(String, &'static str)> = Vec::new();
        for exit in Self::ALL {
            match rows.last_mut().filter(|(_, meaning)| *meaning == exit.meaning()) {
                Some((codes, _)) => *codes += &format!(", {}", exit.code()),
                None => rows.push((exit.code().to_string(), exit.meaning())),
            }
        }
        rows
    }
}
