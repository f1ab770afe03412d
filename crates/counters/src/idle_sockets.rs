//! Sockets whose traffic a program states as 0 from some line on, while others go on. A rounded 0 may be true.

use std::collections::BTreeMap;

use tiermark_model::Note;
use tiermark_model::messages::counters as says;

/// Lines of 0 in a row from which a socket is named: a second without traffic is nothing unusual.
const LINES: usize = 3;

/// The lines of each socket so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct IdleSockets(BTreeMap<u32, Lines>);

#[derive(Debug, Clone, Default)]
struct Lines {
    has_moved: bool,
    /// Seconds since midnight of the first of the lines of 0, and their number.
    zero: Option<(f64, usize)>,
    /// Whether it moved bytes again after so many lines of 0 that it was named: its counters work, and it is a socket
    /// that is idle at times, which is said once.
    was_idle: bool,
}

impl Lines {
    /// Since when it stays at 0, if that is worth a note.
    fn stays_zero(&self) -> Option<f64> {
        self.zero.filter(|(_, lines)| *lines >= LINES && !self.was_idle).map(|(since, _)| since)
    }
}

impl IdleSockets {
    /// Takes a line: its time in seconds since midnight, and the bytes of each socket. If no socket moved anything, the
    /// line says nothing of one.
    pub(crate) fn take(&mut self, now: f64, moved: &BTreeMap<u32, f64>) {
        if moved.values().all(|bytes| *bytes == 0.0) {
            return;
        }
        for (socket, bytes) in moved {
            let lines = self.0.entry(*socket).or_default();
            if *bytes > 0.0 {
                lines.was_idle |= lines.stays_zero().is_some();
                (lines.has_moved, lines.zero) = (true, None);
            } else if lines.has_moved {
                lines.zero.get_or_insert((now, 0)).1 += 1;
            }
        }
    }

    /// The sockets that stay at 0 for the first time, with the time from which they do.
    pub(crate) fn notes(&self, program: &str) -> impl Iterator<Item = Note> {
        let zero = self.0.iter().filter_map(|(socket, lines)| Some((*socket, lines.stays_zero()?)));
        zero.map(|(socket, since)| says::socket_reads_zero(program, socket, &of_day(since)))
    }
}

/// Seconds since midnight as `03:04:05`.
fn of_day(seconds: f64) -> String {
    let seconds = seconds as u64;
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(lines: &[[f64; 2]]) -> Vec<String> {
        let mut quiet = IdleSockets::default();
        for (second, [first, other]) in lines.iter().enumerate() {
            quiet.take(3_725.0 + second as f64, &BTreeMap::from([(0, *first), (1, *other)]));
        }
        quiet.notes("pcm").map(|note| note.text).collect()
    }

    #[test]
    fn a_socket_that_moved_bytes_and_then_none_is_named_with_the_time() {
        let (on, off, idle) = ([5.0, 1.0], [5.0, 0.0], [0.0, 0.0]);
        let notes = said(&[on, off, idle, off, off]);
        assert_eq!(
            notes,
            ["pcm has stated no traffic of socket 1 since 01:02:06, while other sockets have some: \
              the counters of that socket may have stopped, or the socket is idle"]
        );
        assert!(said(&[on, off, off]).is_empty(), "too few lines");
        assert!(said(&[off, off, off, off]).is_empty(), "it never moved any");
        assert!(said(&[on, idle, idle, idle]).is_empty(), "the whole machine is idle");
        assert!(said(&[on, off, off, off, on]).is_empty(), "it goes on");
        assert!(said(&[on, off, off, off, on, off, off, off]).is_empty(), "idle again: it is named once");
        assert_eq!(said(&[on, off, off, on, off, off, off]).len(), 1, "it was not named for two lines");
    }
}
