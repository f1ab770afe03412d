//! The meaning of an answer.

use crate::conn::Pending;
use crate::histogram::record_with_omitted;
use crate::request_spec::RequestSpec;
use crate::resp::{Reply, shown};
use crate::tally::TenantResult;

/// Turns answers into numbers.
pub(crate) struct Judge<'a> {
    pub(crate) spec: &'a RequestSpec,
    /// The common start, ns on the monotonic clock.
    pub(crate) start: u64,
    /// That of the run, ns after the start.
    pub(crate) end: u64,
    pub(crate) is_open: bool,
    /// Period of a closed loop that keeps to a rate, ns; `None` for other loops.
    pub(crate) period: Option<u64>,
    /// Since when an answer may have lain in the socket, ns on the monotonic clock.
    pub(crate) looked: u64,
}

impl Judge<'_> {
    /// Adds the answer to a request that came at `at` on the clock.
    pub(crate) fn answer(&self, tally: &mut TenantResult, request: Pending, reply: Reply<'_>, at: u64) {
        tally.done += 1;
        let since_start = at.saturating_sub(self.start);
        *(if request.is_set { &mut tally.sets } else { &mut tally.gets }) += 1;
        match reply {
            Reply::Error(text) => {
                tally.errors += 1;
                tally.first_error.get_or_insert_with(|| shown(text));
                return;
            }
            Reply::Nil if !request.is_set => tally.misses += 1,
            Reply::Bulk(value) if self.spec.verify && !request.is_set => {
                let is_right = self.spec.value.is_for(request.key, value);
                tally.mismatches = tally.mismatches.map(|wrong| wrong + u64::from(!is_right));
            }
            _ => {}
        }
        let response = at.saturating_sub(request.due);
        tally.service.record(at.saturating_sub(request.sent));
        if self.is_open {
            match self.period {
                Some(period) => record_with_omitted(&mut tally.response, response, period),
                None => tally.response.record(response),
            }
            tally.late_answers += u64::from(at.saturating_sub(self.looked) > self.spec.late_after);
        }
        let on_its_way = if since_start > self.end { tally.service.min().unwrap_or(0) } else { 0 };
        tally.done_in_time += u64::from(since_start <= self.end.saturating_add(on_its_way));
        tally.answered(since_start, response);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND;

    /// A run of a second whose requests are due and sent so many ms after its start, and answered.
    fn of(answers: &[(u64, u64)], looked_ms: u64) -> TenantResult {
        let spec = RequestSpec::small();
        let (start, ms) = (SECOND, |ms: u64| SECOND + ms * 1_000_000);
        let judge = Judge { spec: &spec, start, end: SECOND, is_open: true, period: None, looked: ms(looked_ms) };
        let mut tally = TenantResult::default();
        for (due, at) in answers {
            judge.answer(&mut tally, Pending::sent(ms(*due)), Reply::Simple(b"OK"), ms(*at));
        }
        tally
    }

    #[test]
    fn what_is_on_its_way_at_the_end_keeps_up_and_what_takes_longer_does_not() {
        // 60 ms away: the answer to the last request comes 59 ms after the end. One took longer.
        assert_eq!(of(&[(0, 60), (990, 1050), (999, 1059)], 2000).done_in_time, 3);
        assert_eq!(of(&[(0, 60), (999, 1061)], 2000).done_in_time, 1);
        // A server with a backlog is behind even if it was fast once.
        assert_eq!(of(&[(0, 1), (800, 1100), (900, 1200)], 2000).done_in_time, 1);
    }

    #[test]
    fn answers_that_may_have_lain_there_are_counted() {
        // It last looked at 100 ms.
        assert_eq!(of(&[(99, 101)], 100).late_answers, 0);
        assert_eq!(of(&[(99, 102), (99, 103)], 100).late_answers, 2);
    }
}
