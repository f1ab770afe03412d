//! The moment at which a run starts: a given one (`--at`), so that several hosts are busy at the same time, or when
//! other work on the cpus has ended (`--wait`).

use std::io::{self, IsTerminal};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use tiermark_machine::Root;
use tiermark_model::messages::run as says;
use tiermark_model::{Exit, IdSet, Refusal, Warning};
use tiermark_session::OtherWork;
use tiermark_tune::doctor::Busy;

use crate::output::{self, Failure, tell};
use crate::parse;
use crate::sanitise;
use crate::signals::Stop;
use crate::sinks::line_that_moves;

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

/// The option of every command that refuses to start on busy cpus which waits instead.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Measuring")]
pub(crate) struct WaitArgs {
    /// If other work keeps the cpus busy, wait until it ends [default TIME: 10m]
    ///
    /// The run starts when at most half of the cpus are busy, twice within two seconds, and says meanwhile which
    /// programs it waits for. If they are still busy after TIME (seconds, or 10m), it is refused as without --wait.
    #[arg(
        long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "10m",
        value_parser = parse::seconds, conflicts_with = "force", hide_short_help = true,
    )]
    pub(crate) wait: Option<f64>,
}

/// Time between two looks at the cpus, without the time that a look takes.
const LOOK_EVERY: Duration = Duration::from_millis(800);
/// Time between two lines about the work that is waited for, where no terminal shows a line that moves.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// Checks whether other work leaves room on these cpus, and waits for it as long as `wait` says, seconds. A signal ends
/// the wait. `None` where the system does not say.
///
/// # Errors
/// `message` of the use of the cpus, if they are busy, `force` is false and no time is left; the exit of a signal.
pub(crate) fn room(
    cpus: &IdSet,
    (force, wait): (bool, Option<f64>),
    message: fn(&Busy, &IdSet) -> Refusal,
    stop: &Stop,
    quiet: bool,
) -> Result<Option<OtherWork>, Failure> {
    let until = Instant::now() + Duration::from_secs_f64(wait.unwrap_or_default());
    let mut shown = Shown::default();
    let room = OtherWork::begin_after(&Root::live(), cpus, force, message, |busy| {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        if !quiet {
            shown.show(busy, left);
        }
        let next = Instant::now() + left.min(LOOK_EVERY);
        while stop.exit().is_none() && Instant::now() < next {
            thread::sleep(SLEEP.min(next.saturating_duration_since(Instant::now())));
        }
        stop.exit().is_none()
    });
    drop(shown);
    room.map_err(|refusal| match stop.exit() {
        Some(exit) => Failure::Exit(exit, "stopped while other work kept the cpus busy: nothing was measured".into()),
        None => refusal.into(),
    })
}

/// What the user sees of a wait: a line that moves on a terminal, else a line a minute.
#[derive(Default)]
struct Shown {
    bar: Option<indicatif::ProgressBar>,
    last_line: Option<Instant>,
}

impl Shown {
    fn show(&mut self, busy: &Busy, left: Duration) {
        let text = waits_for(busy, left);
        if io::stderr().is_terminal() {
            self.bar.get_or_insert_with(line_that_moves).set_message(text);
        } else if self.last_line.is_none_or(|at| at.elapsed() >= TELL_EVERY) {
            tell(text);
            self.last_line = Some(Instant::now());
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The work that is waited for, and for how long at most.
fn waits_for(busy: &Busy, left: Duration) -> String {
    let names = busy.names();
    let names = if names.is_empty() { String::new() } else { format!(" by {names}") };
    let left = SignedDuration::from_secs(left.as_secs_f64().round() as i64);
    // Stolen time keeps cpus busy as well.
    let used = busy.share() * busy.cpus as f64;
    let cpus = tiermark_model::count_of(busy.cpus as u64, "cpu");
    let text = format!("tiermark: waiting, for {left:#} at most: {used:.1} of {cpus} busy{names}");
    sanitise::line(&text)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_names_whom_it_is_for() {
        let busy = |top: Vec<(String, f64)>| Busy { cpus: 4, busy: 2.0, steal: 0.25, top, whole: true };
        assert_eq!(
            waits_for(&busy(vec![("rustc".into(), 1.9)]), Duration::from_secs(65)),
            "tiermark: waiting, for 1m 5s at most: 3.0 of 4 cpus busy by rustc 1.9"
        );
        assert!(waits_for(&busy(Vec::new()), Duration::from_secs(9)).ends_with("3.0 of 4 cpus busy"));
    }
}
