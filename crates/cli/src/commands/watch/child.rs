//! A command that is watched from its start to its end.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tiermark_machine::files::ProcessStat;
use tiermark_machine::{ProcessTime, Root};
use tiermark_model::{Exit, WatchLife};
use tiermark_watch::monitor::WatchedCommand;

use super::curve::OnCurve;
use super::{NAP, Taker, plain};
use crate::args::watch::WatchArgs;
use crate::output::{Failure, tell};
use crate::signals::Stop;

/// What a shell returns for a command that is not found, and for one that cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_RUN: u8 = 126;
/// What a shell adds to the number of the signal that ended a command.
const BY_SIGNAL: i32 = 128;

/// Runs the command, samples the system meanwhile, and prints the summary on standard error.
pub(super) fn run(
    args: &WatchArgs,
    taker: &mut Taker,
    mut on_curve: Option<OnCurve>,
    stop: &Stop,
) -> Result<Exit, Failure> {
    let mut life = WatchLife::default();
    let mut samples = 0;
    let mut simulated = None;
    let mut sample = |taker: &mut Taker| {
        match taker.take() {
            Ok(Some(sample)) => {
                simulated.clone_from(&sample.simulated);
                life.add(&sample);
                if let Some(on_curve) = &mut on_curve {
                    on_curve.add(&sample);
                }
                samples += 1;
            }
            Ok(None) => {}
            // The command goes on all the same.
            Err(failure) => {
                failure.report();
                taker.sinks.recorder = None;
            }
        }
    };
    sample(taker);
    let begun = Instant::now();
    let mut running = Running::start(&args.command)?;
    while !running.ended(taker.due().unwrap_or(NAP).min(NAP), stop)? {
        if taker.due().is_some_and(|due| due.is_zero()) {
            sample(taker);
        }
    }
    let status = running.child.wait().map_err(Failure::tool)?;
    let seconds = begun.elapsed().as_secs_f64();
    sample(taker);
    let command = args.command.iter().map(|word| tiermark_model::shell_word(word)).collect::<Vec<_>>().join(" ");
    if !args.quiet {
        let simulated = simulated.as_deref();
        let watched = WatchedCommand { command: &command, simulated, seconds, cpu_seconds: cpu_seconds(), samples };
        tell(plain(args, &tiermark_watch::monitor::watch_summary(&watched, &life)));
        if !taker.about_counters.is_empty() && life.of("traffic.total_bytes").is_none() {
            tell("Memory traffic is not counted: `tiermark list counters` says why");
        }
    }
    if let Some(on_curve) = on_curve {
        on_curve.finish(&command, args)?;
    }
    Ok(exit(status))
}

/// A command under way.
struct Running {
    child: Child,
    pidfd: OwnedFd,
    /// Whether the terminal sends its Ctrl-C to the command too, which is in the process group of this program.
    hears_terminal: bool,
    /// The signal that was passed on last.
    passed: Option<Exit>,
}

impl Running {
    fn start(command: &[String]) -> Result<Self, Failure> {
        let (program, arguments) = command.split_first().ok_or_else(|| Failure::usage("give a command behind --"))?;
        let child = Command::new(program).args(arguments).spawn().map_err(|error| {
            let code = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_RUN };
            Failure::Exit(Exit::Command(code), format!("'{program}' cannot be run: {error}"))
        })?;
        let pid = Pid::from_child(&child);
        let pidfd =
            pidfd_open(pid, PidfdFlags::empty()).map_err(|error| Failure::tool(format!("pidfd_open: {error}")))?;
        Ok(Self { child, pidfd, hears_terminal: in_foreground(), passed: None })
    }

    /// Waits so long for the end of the command. Signals that came are passed on.
    fn ended(&mut self, most: Duration, stop: &Stop) -> Result<bool, Failure> {
        if let Some(exit) = stop.exit().filter(|exit| self.passed != Some(*exit)) {
            self.passed = Some(exit);
            self.pass(exit);
        }
        let timeout = rustix::event::Timespec::try_from(most).map_err(Failure::tool)?;
        match poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], Some(&timeout)) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(Failure::tool(error)),
        }
    }

    fn pass(&self, exit: Exit) {
        let signal = match exit {
            // It has this one already; two would end some programs without a clean-up.
            Exit::Interrupted if self.hears_terminal => return,
            Exit::Interrupted => Signal::INT,
            Exit::HungUp => Signal::HUP,
            _ => Signal::TERM,
        };
        // It may have ended just now.
        let _ = pidfd_send_signal(&self.pidfd, signal);
    }
}

/// Whether this process is in the foreground group of its terminal, by fields 5 (pgrp) and 8 (tpgid) of proc(5).
fn in_foreground() -> bool {
    let text = Root::live().text("proc/self/stat").unwrap_or_default();
    ProcessStat::parse(&text).is_some_and(|stat| stat.number(5).is_some() && stat.number(5) == stat.number(8))
}

/// Cpu time of children that ended, and of theirs.
fn cpu_seconds() -> Option<f64> {
    let own = ProcessTime::parse(&Root::live().text("proc/self/stat")?)?;
    Some(own.waited as f64 / rustix::param::clock_ticks_per_second() as f64)
}

fn exit(status: ExitStatus) -> Exit {
    let code = status.code().or_else(|| status.signal().map(|signal| BY_SIGNAL + signal)).unwrap_or(1);
    Exit::Command(u8::try_from(code).unwrap_or(u8::MAX))
}
