//! Locks of files that nobody else holds.

use rustix::fs::{FlockOperation, fcntl_lock, flock};

use super::syscalls::{memory_file, row};
use crate::body::{Order, Prepared, Primitive, repeat};
use crate::failure::{Failure, refused_by};

/// The rows of this group.
pub(super) static PRIMITIVES: &[Primitive] = &[
    row(
        "fcntl lock+unlock",
        "a record lock (F_SETLK) on a whole file in memory and its release, two calls. No other process wants the \
         lock, so no call waits",
        record,
    ),
    row("flock lock+unlock", "the same by flock, whose lock belongs to the open file and not to the process", whole),
];

fn record(_: &Order<'_>) -> Prepared {
    let file = memory_file(1)?;
    let turn = move || {
        fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive)?;
        fcntl_lock(&file, FlockOperation::NonBlockingUnlock)
    };
    locked("fcntl", turn)
}

fn whole(_: &Order<'_>) -> Prepared {
    let file = memory_file(1)?;
    let turn = move || {
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        flock(&file, FlockOperation::NonBlockingUnlock)
    };
    locked("flock", turn)
}

/// A body that locks and unlocks; the first time shows whether it may.
fn locked(what: &'static str, mut turn: impl FnMut() -> rustix::io::Result<()> + Send + 'static) -> Prepared {
    turn().map_err(|error| refused_by(what, error, "allow it in the seccomp profile"))?;
    repeat(move || turn().map_err(Failure::of(what)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body;
    use tiermark_model::OsCall;

    #[test]
    fn a_lock_is_free_again_each_time() {
        for row in PRIMITIVES {
            body(&OsCall::new(row.id.into())).unwrap().run(10).unwrap();
        }
    }
}
