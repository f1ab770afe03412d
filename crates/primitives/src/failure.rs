//! Why a body cannot do its operation, and the refusal that follows from the system's error.

use std::fmt;
use std::io;

use rustix::io::Errno;
use tiermark_model::Refusal;
use tiermark_model::messages::setup as says;
pub use tiermark_model::messages::setup::FILTERED;

/// The error.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// In words, and the error of the system where one of its calls returned it.
    Other {
        /// The words.
        why: String,
        /// The error.
        errno: Option<Errno>,
    },
    /// A thread that has to run beside the body did not get its cpu.
    Starved {
        /// For how long.
        seconds: f64,
    },
}

impl Failure {
    /// The failure of a call, from the error that it returned.
    pub(crate) fn of<E: Into<io::Error>>(call: impl fmt::Display) -> impl Fn(E) -> Self {
        move |error| {
            let error = error.into();
            Self::Other { why: format!("{call}: {error}"), errno: Errno::from_io_error(&error) }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other { why, .. } => f.write_str(why),
            Self::Starved { seconds } => f.write_str(&says::partner_starved("", *seconds).why),
        }
    }
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self::Other { why, errno: None }
    }
}

impl From<&str> for Failure {
    fn from(why: &str) -> Self {
        why.to_owned().into()
    }
}

impl From<&io::Error> for Failure {
    fn from(error: &io::Error) -> Self {
        Self::Other { why: error.to_string(), errno: Errno::from_io_error(error) }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::from(&error)
    }
}

impl From<Errno> for Failure {
    fn from(error: Errno) -> Self {
        io::Error::from(error).into()
    }
}

/// The refusal of what a primitive needs and does not get.
pub fn unavailable(what: &str, why: &str, cure: &str) -> Refusal {
    says::primitive_unavailable(what, why, cure, None)
}

/// The refusal of what the kernel refused, with a cure by its error; the usual one where that says nothing.
pub(crate) fn refused_by(what: &str, failure: impl Into<Failure>, usual: &str) -> Refusal {
    match failure.into() {
        Failure::Starved { seconds } => says::partner_starved(what, seconds),
        Failure::Other { why, errno } => {
            let cure = errno.and_then(cure_of).unwrap_or(usual);
            says::primitive_unavailable(what, &why, cure, errno.map(Errno::raw_os_error))
        }
    }
}

/// The cure for an error, if the error alone decides it.
fn cure_of(errno: Errno) -> Option<&'static str> {
    match errno {
        Errno::AGAIN => Some(
            "the limit on processes and threads is reached: end some, or raise it (ulimit -u; pids.max of the control \
group, docker run --pids-limit)",
        ),
        Errno::NOMEM | Errno::NOSPC => Some(
            "there is not enough memory: allow more (vm.overcommit_memory, ulimit -v, the control group), or choose \
                less",
        ),
        Errno::MFILE | Errno::NFILE => Some("allow more open files (ulimit -n)"),
        Errno::NOSYS | Errno::PERM => Some(FILTERED),
        _ => None,
    }
}

/// The refusal of what needs processes or threads and does not get them.
pub fn no_more(what: &str, error: &io::Error) -> Refusal {
    let usual = match error.raw_os_error() {
        Some(_) => "see `ulimit -a` and the limits of the control group",
        // A child that did not end as it should.
        None => {
            "what a child needs may be denied to it: /proc, files in memory that can be run (vm.memfd_noexec), calls \
that a seccomp filter forbids, memory"
        }
    };
    refused_by(what, error, usual)
}

/// The refusal of a primitive whose first operations failed.
pub(crate) fn failed(id: &str, failure: Failure) -> Refusal {
    refused_by(
        id,
        failure,
        "a seccomp filter or a limit of the control group may forbid it: try outside of the container",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: &str = "look at it";

    #[test]
    fn the_cure_follows_from_the_error_of_a_call() {
        for (errno, cure) in [
            (Errno::MFILE, "ulimit -n"),
            (Errno::AGAIN, "pids.max"),
            (Errno::NOMEM, "overcommit"),
            (Errno::NOSPC, "overcommit"),
            (Errno::NOSYS, "seccomp"),
            (Errno::PERM, "seccomp"),
            (Errno::INVAL, USUAL),
        ] {
            let by_call = refused_by("x", Failure::of("mbind")(errno), USUAL);
            assert!(by_call.cure.contains(cure) && by_call.why.starts_with("mbind: "), "{by_call}");
            assert_eq!(by_call.cure, refused_by("x", errno, USUAL).cure);
        }
    }

    #[test]
    fn a_sentence_is_never_searched_for_an_error() {
        let words = format!("its child said: {}", io::Error::from(Errno::AGAIN));
        assert_eq!(refused_by("x", words, USUAL).cure, USUAL);
    }

    #[test]
    fn an_error_without_a_number_gets_the_usual_cure() {
        assert_eq!(refused_by("x", io::Error::other("the child ended with 3"), USUAL).cure, USUAL);
    }
}
