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
    /// Some requested numbers are missing or withheld, or too little could be judged; the rest is in the report. A point that was added while the run
    /// went on, to make a curve denser, is not missed.
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
            Self::Done => "done, all measured (warnings allowed)",
            Self::Failure => "failure inside the tool or the run",
            Self::Usage => "bad usage",
            Self::Regression => "a regression or an outlier beyond the threshold, or a problem found by a check-up",
            Self::Refused => "no part of the request can be measured here",
            Self::Partial => {
                "partial: requested numbers are missing (points that only make a curve denser do not count), the rest is in the \
                 report"
            }
            Self::Noisy => "a number is not trusted, or its interval is wider than wanted (with --strict)",
            Self::Fleet => "some hosts failed or were unreachable",
            Self::HungUp => "the terminal was closed (SIGHUP), after writing what was measured",
            Self::Interrupted => "interrupted (SIGINT), after writing what was measured",
            Self::Terminated => "terminated (SIGTERM), after writing what was measured",
            Self::Command(_) => "the exit code of the command that was watched",
        }
    }
}
