//! SIGINT and SIGTERM ask a run to stop; a second SIGINT ends the process at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use tiermark_model::Exit;

/// What the user asked for by signal.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop {
    flag: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Stop {
    /// Starts listening.
    ///
    /// # Errors
    /// What the system says; the signals then keep their usual effect.
    pub(crate) fn listen() -> io::Result<Self> {
        let stop = Self::default();
        let interrupted = Arc::new(AtomicBool::new(false));
        // Order matters: the second SIGINT finds the flag that the first one set.
        flag::register_conditional_shutdown(SIGINT, i32::from(Exit::Interrupted.code()), Arc::clone(&interrupted))?;
        flag::register(SIGINT, interrupted)?;
        for signal in [SIGINT, SIGTERM] {
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
            _ => None,
        }
    }
}
