//! What a closed loop at a rate leaves out (coordinated omission): it sends nothing while it waits for an answer, so
//! the requests that were due meanwhile are missing from its times.

use crate::histogram::Latencies;

/// Adds the time of an answer, and those of the requests that were due every `period` ns while it was waited for: each
/// would have waited until the same answer, so one period less than the one before. The last of them is not left out:
/// it is sent late, as the next request, from which the schedule goes on. The estimate is the one of HdrHistogram's
/// `recordValueWithExpectedInterval`, which adds no time below the period either.
pub(crate) fn record_with_omitted(times: &mut Latencies, waited: u64, period: u64) {
    let mut left = waited;
    times.record(left);
    while period > 0 && left / 2 >= period {
        left -= period;
        times.record(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_that_was_left_out_meanwhile_is_counted_once() {
        let of = |waited, period| {
            let mut times = Latencies::ready();
            record_with_omitted(&mut times, waited, period);
            (times.count(), times.min(), times.max())
        };
        assert_eq!(of(900, 1000), (1, Some(900), Some(900)));
        assert_eq!(of(1000, 1000), (1, Some(1000), Some(1000)), "the next is due as the answer comes");
        assert_eq!(of(1010, 1000).0, 1, "the next is sent a little late, and not left out");
        assert_eq!(of(350, 100), (3, Some(150), Some(350)), "those due after 100 and 200; that of 300 is sent at 350");
        assert_eq!(of(350, 0).0, 1, "no period");
    }
}
