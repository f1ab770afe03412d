//! What the guards of a whole run will not see, said once.

use tiermark_machine::Root;

use super::{Event, Run};
use crate::backend::Backend;
use crate::trial::unseen;

impl Run<'_, '_> {
    /// Warns of counters that this system lacks, as soon as tenants have control groups.
    pub(super) fn warn_of_unseen(&mut self, backend: &dyn Backend) {
        if let Some(counted) = backend.counted().filter(|_| !self.warned) {
            self.warned = true;
            unseen(&Root::live(), &counted).iter().for_each(|warning| (self.tell)(&Event::Warning(warning)));
        }
    }
}
