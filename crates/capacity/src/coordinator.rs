//! This process beside tenants that use up memory: it has to run on when they cannot.

use std::fs;

use rustix::mm::{MlockAllFlags, mlockall};
use tiermark_model::Warning;
use tiermark_model::messages::capacity as messages;

/// The least that the kernel takes: it kills everything else first. Tenants have the most.
const SPARED: &str = "-1000";

/// The most that the kernel takes: it kills such a process before any other.
const FIRST: &str = "1000";

/// Has the kernel kill this process first if memory runs out: it holds more than it should. Its tenants are taken back
/// by the next run.
pub(crate) fn first_to_go() {
    // Where this is refused the process was never spared either.
    let _ = fs::write("/proc/self/oom_score_adj", FIRST);
}

/// Keeps this process's memory in memory, and has the kernel spare it. A warning says what could not be done.
pub(crate) fn outlive_tenants() -> Vec<Warning> {
    let mut warnings = Vec::new();
    // Pages are locked as they are touched: the stacks of threads are large, and mostly never are.
    if let Err(why) = mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT) {
        warnings.push(messages::client_not_locked(&why.to_string()));
    }
    if let Err(why) = fs::write("/proc/self/oom_score_adj", SPARED) {
        warnings.push(messages::client_not_spared(&why.to_string()));
    }
    warnings
}
