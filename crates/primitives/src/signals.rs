//! Signals: a handler put in place, and a signal that a thread catches.

use tiermark_system::os::CaughtSignal;

use super::syscalls::row;
use crate::body::{Body, Order, Prepared, Primitive, repeat};
use crate::failure::{Failure, refused_by};

/// The rows of this group.
pub(super) static PRIMITIVES: &[Primitive] = &[
    row(
        "sigaction",
        "the C library's sigaction replaces a handler by the same handler. The signal is a late real-time signal, \
         whose earlier handling is restored afterwards",
        install,
    ),
    row(
        "signal to itself",
        "tgkill of the calling thread: the kernel runs a handler that counts, and the handler returns (sigreturn). A \
         signal from another process would also have to wake this one",
        catch,
    ),
];

fn signal() -> Result<CaughtSignal, tiermark_model::Refusal> {
    CaughtSignal::new().map_err(|error| refused_by("sigaction", error, "allow it in the seccomp profile"))
}

fn install(_: &Order<'_>) -> Prepared {
    let signal = signal()?;
    repeat(move || signal.install().map_err(Failure::of("sigaction")))
}

struct Caught(CaughtSignal);

impl Body for Caught {
    fn run(&mut self, times: u64) -> Result<u64, Failure> {
        let before = self.0.caught();
        self.0.raise(times).map_err(Failure::of("tgkill"))?;
        // Others of this process may have caught some as well.
        match self.0.caught() - before {
            caught if caught >= times => Ok(0),
            caught => Err(format!("{caught} of {times} signals were caught: this thread blocks them").into()),
        }
    }
}

fn catch(_: &Order<'_>) -> Prepared {
    Ok(Box::new(Caught(signal()?)))
}

#[cfg(test)]
mod tests {
    use crate::body;
    use tiermark_model::OsCall;

    #[test]
    fn each_signal_is_caught() {
        for id in ["sigaction", "signal to itself"] {
            body(&OsCall::new(id.into())).unwrap().run(100).unwrap();
        }
    }
}
