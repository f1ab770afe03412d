//! SIGINT, SIGTERM and SIGHUP stop a run. A second SIGINT ends the process at once, unless it has to take back changes
//! first.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use tiermark_model::Exit;

/// The signals that the user has sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop {
    flag: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Stop {
    /// Starts listening.
    ///
    /// # Errors
    /// The system's error; the signals then keep their default effect.
    pub(crate) fn listen() -> io::Result<Self> {
        let interrupted = Arc::new(AtomicBool::new(false));
        // Order matters: the second SIGINT finds the flag that the first one set.
        flag::register_conditional_shutdown(SIGINT, i32::from(Exit::Interrupted.code()), Arc::clone(&interrupted))?;
        flag::register(SIGINT, interrupted)?;
        Self::listen_to_the_end()
    }

    /// Starts listening for a run that changes the system: nothing but SIGKILL and SIGQUIT ends it before all is taken
    /// back.
    ///
    /// # Errors
    /// As for [`Stop::listen`].
    pub(crate) fn listen_to_the_end() -> io::Result<Self> {
        let stop = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // A run started with nohup continues when the terminal is closed.
            if signal == SIGHUP && ignores(&std::fs::read_to_string("/proc/self/status")?, SIGHUP) {
                continue;
            }
            flag::register_usize(signal, Arc::clone(&stop.signal), signal as usize)?;
            flag::register(signal, Arc::clone(&stop.flag))?;
        }
        Ok(stop)
    }

    /// The flag that hosts look at between shots.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }

    /// How the process should end, if a signal came.
    pub(crate) fn exit(&self) -> Option<Exit> {
        match self.signal.load(Ordering::Relaxed) as i32 {
            SIGINT => Some(Exit::Interrupted),
            SIGTERM => Some(Exit::Terminated),
            SIGHUP => Some(Exit::HungUp),
            _ => None,
        }
    }
}

/// Whether a process ignores a signal, by its `/proc/PID/status`.
fn ignores(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    // The lowest bit is of signal 1.
    mask >> (signal - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_stays_so() {
        let status = "Name:\tx\nSigBlk:\t0000000000000001\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000002\n";
        assert!(ignores(status, SIGHUP) && ignores(status, 13));
        assert!(!ignores(status, SIGINT) && !ignores("SigIgn: what\n", SIGHUP) && !ignores("", SIGHUP));
    }
}
