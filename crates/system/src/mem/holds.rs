//! Who uses a mapping's memory, and how.

use super::{Holds, Mapping};

impl Mapping {
    /// Notes a call that may read or write the memory from now on.
    ///
    /// # Errors
    /// A message: when it would write what others read or write, or follow.
    pub(crate) fn enter(&self, writes: bool) -> Result<(), String> {
        if writes && self.is_read_only() {
            return Err("its memory is mapped to read only".to_owned());
        }
        let mut holds = self.holds();
        let (readers, writers) = match *holds {
            Holds::Anything => (0, 0),
            Holds::Data { readers, writers } => (readers, writers),
            // Never written again, so there is nothing to note.
            Holds::Chain { .. } if !writes => return Ok(()),
            Holds::Chain { layout, .. } => return Err(format!("its memory holds a chain {layout}")),
            Holds::Shared { .. } => return Err("its memory holds shared lines".to_owned()),
        };
        *holds = match writes {
            true if readers + writers == 0 => Holds::Data { readers, writers: 1 },
            false if writers == 0 => Holds::Data { readers: readers + 1, writers },
            _ => return Err("threads that share memory may only read it".to_owned()),
        };
        Ok(())
    }

    /// Notes that such a call is gone.
    pub(crate) fn leave(&self, wrote: bool) {
        let mut holds = self.holds();
        if let Holds::Data { readers, writers } = &mut *holds {
            let calls = if wrote { writers } else { readers };
            *calls = calls.saturating_sub(1);
        }
        if *holds == (Holds::Data { readers: 0, writers: 0 }) {
            *holds = Holds::Anything;
        }
    }

    /// Counts one more user of the words by atomic operations.
    ///
    /// # Errors
    /// A message: when the memory is used in another way.
    pub(crate) fn enter_shared(&self) -> Result<(), String> {
        if self.is_read_only() {
            return Err("its memory is mapped to read only".to_owned());
        }
        let mut holds = self.holds();
        let users = match *holds {
            Holds::Anything => 0,
            Holds::Shared { users } => users,
            other => return Err(format!("memory that holds {other:?} cannot hold shared lines")),
        };
        *holds = Holds::Shared { users: users + 1 };
        Ok(())
    }

    /// Notes that one of them is gone.
    pub(crate) fn leave_shared(&self) {
        let mut holds = self.holds();
        if let Holds::Shared { users } = *holds {
            *holds = if users > 1 { Holds::Shared { users: users - 1 } } else { Holds::Anything };
        }
    }
}
