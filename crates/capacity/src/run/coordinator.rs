//! This process beside tenants that use up memory: it has to run on when they cannot.

use std::fs;

use rustix::mm::{MlockAllFlags, mlockall};

/// The least that the kernel takes: it kills everything else first. Tenants have the most.
const SPARED: &str = "-1000";

/// Keeps this process's memory in memory, and has the kernel spare it. What could not be is told in words.
pub(super) fn outlive_tenants() -> Vec<String> {
    let mut remarks = Vec::new();
    // Pages are locked as they are touched: the stacks of threads are large, and mostly never are.
    if let Err(why) = mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT) {
        remarks.push(format!(
            "the client's memory could not be locked ({why}): the kernel may swap it out, and requests may be late"
        ));
    }
    if let Err(why) = fs::write("/proc/self/oom_score_adj", SPARED) {
        remarks.push(format!(
            "the oom_score_adj of this process could not be lowered ({why}; it needs CAP_SYS_RESOURCE, which containers lack): tenants are \
             still killed before it"
        ));
    }
    remarks
}
