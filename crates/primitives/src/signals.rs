//! Signals: a handler put in place, and a signal that a thread catches.

use tiermark_system::os::CaughtSignal;

use super::syscalls::{repeat, row};
use super::{Failure, Order, Prepared, Primitive, refused_by};

/// The rows of this group.
pub(super) static PRIMITIVES: &[Primitive] = &[
    row(
        "sigaction",
        "the C library's: puts a handler in place of itself. The signal is the last real-time signal, which gets back what it did before",
        install,
    ),
    row(
        "signal to itself",
        "tgkill of the calling thread (with getpid and gettid, which name it), a handler that counts, and the way back from it \
(sigreturn). The signal of another process would also have to wake this one",
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

fn catch(_: &Order<'_>) -> Prepared {
    let signal = signal()?;
    repeat(move || {
        let before = signal.caught();
        signal.raise().map_err(Failure::of("tgkill"))?;
        if signal.caught() == before { Err("the signal was not caught: this thread blocks it".into()) } else { Ok(()) }
    })
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
