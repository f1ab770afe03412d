//! The moment at which a run starts (`--at`): hosts that are given the same moment are busy at the same time.

use std::thread;
use std::time::Duration;

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use tiermark_model::messages::run as says;
use tiermark_model::{Exit, Warning};

use crate::output::{self, tell};
use crate::parse;
use crate::signals::Stop;

/// The option of every command that measures which says when.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Measuring")]
pub(crate) struct StartArgs {
    /// When to start: a time such as 2026-11-28T02:00:00Z, or @SECONDS since 1970 [default: now]
    ///
    /// For hosts that are to be busy at the same time. Options, plan and files are checked before, so that a mistake
    /// shows at once. If the time has passed, the run starts at once, with a warning. At most 24 hours ahead.
    #[arg(long, value_name = "TIME", value_parser = parse::moment, hide_short_help = true)]
    pub(crate) at: Option<Timestamp>,
}

/// Longest sleep: a signal ends the wait after it.
const SLEEP: Duration = Duration::from_millis(50);

/// Waits until a moment. Returns the warning of a moment that has passed; unless `quiet`, the user sees both.
///
/// # Errors
/// The exit code of the signal that ended the wait.
pub(crate) fn wait(at: Timestamp, stop: &Stop, quiet: bool) -> Result<Option<Warning>, Exit> {
    let left = || at.duration_since(Timestamp::now());
    let whole = left();
    if !whole.is_positive() {
        let late = says::start_missed(&at.to_string(), -whole.as_secs_f64());
        if !quiet {
            output::warn(&late);
        }
        return Ok(Some(late));
    }
    if !quiet {
        let rounded = SignedDuration::from_secs(whole.as_secs_f64().round() as i64);
        tell(format_args!("tiermark: waiting until {at}, for {rounded:#}"));
    }
    // The system's clock may be set meanwhile.
    while let Some(left) = Duration::try_from(left()).ok().filter(|left| !left.is_zero()) {
        if let Some(exit) = stop.exit() {
            tell("tiermark: stopped before the time of --at: nothing was measured");
            return Err(exit);
        }
        thread::sleep(left.min(SLEEP));
    }
    Ok(None)
}
