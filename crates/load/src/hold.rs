//! Why a request was sent after it was due: the server left no room for it on the connection, or this client was late.

/// When a tenant's requests found no room, in ns on the monotonic clock.
///
/// A request is excused from the moment at which it was due, or from that at which the client first tried in vain if
/// that was later, until an answer made room. A client that was away tries late, and what was due by then is its own
/// fault even if there is no room when it comes back.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Hold {
    /// When a request that was due first found no room; `None` once everything that was due has gone.
    since: Option<u64>,
    /// When an answer last made room.
    room: u64,
    /// Whether the connection has no room now.
    is_full: bool,
}

impl Hold {
    /// A request is due at `now`, and has nowhere to go.
    pub(crate) fn found_no_room(&mut self, now: u64) {
        self.since.get_or_insert(now);
        self.is_full = true;
    }

    /// A request is due, and the memory that it would take is held by requests to other servers: no fault of its own
    /// server. Whatever waits from now on waits for the client.
    pub(crate) fn lacks_memory(&mut self) {
        self.since = None;
        self.is_full = true;
    }

    /// Times, ns, between which excuse and delay of a request change evenly with the time at which it was due.
    pub(crate) fn bends(&self) -> [u64; 2] {
        let since = self.since.unwrap_or(0);
        [since, self.room.max(since)]
    }

    /// An answer made room, and the client saw it at `now`. Whether there had been none.
    pub(crate) fn found_room(&mut self, now: u64) -> bool {
        if self.is_full {
            self.room = now;
        }
        std::mem::take(&mut self.is_full)
    }

    /// Nothing that is due waits any more.
    pub(crate) fn caught_up(&mut self) {
        self.since = None;
    }

    /// For how long, in ns, the server left no room for a request that was due at `due` and can be sent now.
    pub(crate) fn excuse(&self, due: u64) -> u64 {
        self.since.map_or(0, |since| self.room.saturating_sub(due.max(since)))
    }

    /// By how much the client is late with a request that was due at `due` and that is not made at `now`.
    pub(crate) fn late(&self, due: u64, now: u64) -> u64 {
        match self.since {
            Some(since) if self.is_full => since.saturating_sub(due),
            _ => now.saturating_sub(due).saturating_sub(self.excuse(due)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_holds_back_is_no_fault_of_the_client() {
        let mut hold = Hold::default();
        // The client tries at 10 what is due at 10, and room is made at 210.
        hold.found_no_room(10);
        assert_eq!([hold.late(10, 150), hold.late(100, 150)], [0, 0]);
        assert!(hold.found_room(210));
        assert!(!hold.found_room(211), "there was room");
        // Sent at once, nothing of the waiting is the client's; sent at 215, 5 of it are.
        assert_eq!([hold.excuse(10), hold.excuse(110), hold.excuse(209)], [200, 100, 1]);
        assert_eq!([hold.late(10, 210), hold.late(110, 215)], [0, 5]);
        // The room is taken again by one request: the others wait on, and it is still the server they wait for.
        hold.found_no_room(211);
        assert!(hold.found_room(240));
        assert_eq!([hold.excuse(110), hold.excuse(230)], [130, 10]);
        assert_eq!(hold.excuse(250), 0, "it is due after there was room");
        hold.caught_up();
        assert_eq!([hold.excuse(230), hold.late(230, 260)], [0, 30]);
    }

    #[test]
    fn want_of_memory_is_the_clients_own() {
        let mut hold = Hold::default();
        hold.lacks_memory();
        assert_eq!(hold.late(10, 150), 140);
        assert!(hold.found_room(210), "it waited");
        assert_eq!([hold.excuse(10), hold.late(10, 215)], [0, 205]);
        // The server leaves no room either, from 220 on.
        hold.found_no_room(220);
        assert_eq!([hold.late(10, 300), hold.late(230, 300)], [210, 0]);
    }

    #[test]
    fn a_client_that_was_away_is_late_though_it_finds_no_room_then() {
        let mut hold = Hold::default();
        // Due at 10 and 20, 30, …; it comes back at 500, sends one, and finds no room for the next.
        assert_eq!(hold.late(10, 500), 490);
        hold.found_no_room(500);
        assert_eq!([hold.late(20, 900), hold.late(490, 900), hold.late(600, 900)], [480, 10, 0]);
        assert!(hold.found_room(900));
        // What it waited for the server from 500 on is not the client's, what it waited before is.
        assert_eq!([hold.late(20, 900), hold.late(490, 900), hold.late(600, 900)], [480, 10, 0]);
        assert_eq!(hold.excuse(20), 400);
    }
}
