//! Whether a source of counters goes on counting while it is watched.

use tiermark_model::Note;
use tiermark_model::messages::counters as says;

/// Samples in a row, and seconds, without new counts before the source is said to have stopped.
const SAMPLES: u32 = 3;
const SECONDS: f64 = 5.0;
/// The same as a multiple of the longest time that new counts took so far: programs write at intervals of their own.
const GAPS: f64 = 3.0;

/// The liveness of one source.
#[derive(Debug, Default)]
pub(crate) struct Liveness {
    /// The newest counts.
    newest: Option<Vec<u64>>,
    /// When they came, in seconds since the watch began, and as the time of the day.
    came: (f64, String),
    /// The longest time between new counts, in seconds.
    longest: f64,
    /// Samples since then.
    samples: u32,
    /// Whether the source has stopped, as the user knows then.
    pub(crate) has_stopped: bool,
    /// Whether any new counts came after the first.
    pub(crate) has_counted: bool,
}

impl Liveness {
    /// Looks at the newest counts: what a user should know of them now. A source may read its clock anew and count
    /// nothing, so that only counts tell.
    pub(crate) fn look(&mut self, newest: &[u64], now: f64, time: &str, source: &str) -> Option<Note> {
        if self.newest.as_deref() != Some(newest) {
            let is_first = self.newest.replace(newest.to_vec()).is_none();
            if !is_first {
                self.has_counted = true;
                self.longest = self.longest.max(now - self.came.0);
            }
            (self.came, self.samples) = ((now, time.to_owned()), 0);
            return std::mem::take(&mut self.has_stopped).then(|| says::counts_resumed(source));
        }
        self.samples += 1;
        let stalled = now - self.came.0;
        if self.has_stopped || self.samples < SAMPLES || stalled < SECONDS.max(GAPS * self.longest) {
            return None;
        }
        self.has_stopped = true;
        Some(says::counts_stopped(source, &self.came.1, stalled as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::messages::counters::codes;

    /// What is said of these counts, one each second.
    fn said(newest: &[u64]) -> Vec<(usize, tiermark_model::Code)> {
        let mut course = Liveness::default();
        let look = |(second, newest): (usize, &u64)| {
            let note = course.look(&[*newest], second as f64, &format!("08:00:{second:02}"), "pcm");
            note.map(|note| (second, note.code))
        };
        newest.iter().enumerate().filter_map(look).collect()
    }

    #[test]
    fn a_source_that_stops_is_named_once_and_again_when_it_goes_on() {
        let stopped = [0, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 9, 10];
        assert_eq!(said(&stopped), [(7, codes::counts_stopped), (11, codes::counts_resumed)]);
        // From the beginning.
        assert_eq!(said(&[0; 10]), [(5, codes::counts_stopped)]);
        assert_eq!(said(&[0, 1, 2, 3, 4, 4, 4, 7]), []);
    }

    #[test]
    fn a_source_with_long_intervals_has_not_stopped_within_them() {
        let every_four: Vec<u64> = (0..40).map(|second| second / 4).collect();
        assert_eq!(said(&every_four), []);
    }
}
