//! Moments: visits in a row see the machine as it was once, however many they are.

use std::ops::Range;

/// Seconds from one moment to the next.
pub const APART_SECONDS: f64 = 1.0;

/// The visits of each moment, by their times in rising order: each moment begins at least so many seconds after the one
/// before it began.
#[must_use]
pub fn moments(times: impl IntoIterator<Item = f64>, seconds: f64) -> Vec<Range<usize>> {
    let mut moments: Vec<Range<usize>> = Vec::new();
    let mut began = f64::NEG_INFINITY;
    for (index, at) in times.into_iter().enumerate() {
        match moments.last_mut().filter(|_| at - began < seconds) {
            Some(moment) => moment.end = index + 1,
            None => {
                began = at;
                moments.push(index..index + 1);
            }
        }
    }
    moments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_begins_a_second_after_the_one_before_began() {
        assert_eq!(moments([0.0, 0.4, 0.9, 1.0, 1.9, 2.1, 9.0], APART_SECONDS), [0..3, 3..5, 5..6, 6..7]);
        assert_eq!(moments([5.0, 5.0, 6.0], APART_SECONDS), [0..2, 2..3]);
        assert_eq!(moments([], APART_SECONDS), []);
    }
}
