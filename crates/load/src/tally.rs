//! Results of a tenant.

use serde::{Deserialize, Serialize};
use tiermark_model::Note;
use tiermark_model::load::LoadWindow;

use crate::clock::SECOND;
use crate::histogram::Latencies;

/// Results of one run for one tenant.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TenantResult {
    /// From the intended start to the answer; in a closed loop from the send, and at a rate with the requests that it
    /// left out while it waited ([`crate::Pace::Paced`]). Requests that got no answer by the end of an open loop count
    /// with the time they had waited by then, a lower bound: leaving them out would hide the worst.
    pub response: Latencies,
    /// From the send to the answer.
    pub service: Latencies,
    /// Length of the run, s.
    pub seconds: f64,
    /// Requests that were due in that time; in a closed loop without a rate those that were sent.
    pub scheduled: u64,
    /// Requests sent.
    pub sent: u64,
    /// Answers, errors among them.
    pub done: u64,
    /// Answers that came within the run's time and did not refuse: those that make its rate. What was under way at the
    /// end counts if it took no longer after it than the fastest answer, as over a long line.
    pub done_in_time: u64,
    /// GETs among the answers.
    pub gets: u64,
    /// SETs among the answers.
    pub sets: u64,
    /// Answers that refused. Their times are not among the latencies.
    pub errors: u64,
    /// The first of them, in the server's words.
    pub first_error: Option<String>,
    /// GETs of keys that are not there.
    pub misses: u64,
    /// GETs whose value is not one that was written for the key; `None` unless values were checked.
    pub mismatches: Option<u64>,
    /// Requests to which the client came later than [`crate::ClientSetup::late_after`] after they were due and had
    /// room: it was too slow, not the server. Those that were never sent are among them. In an open loop.
    pub late: u64,
    /// The longest of that, ns.
    pub max_late_ns: u64,
    /// Sum of the times by which the client was late, ns.
    pub late_sum_ns: u64,
    /// Answers that may have lain in the socket for longer than that while the client was at work elsewhere: their
    /// times, response and service, are partly its own. In an open loop.
    pub late_answers: u64,
    /// Requests that the server held back for longer than that: as many were under way as are allowed, or the socket
    /// took no more. In an open loop.
    pub held: u64,
    /// Times that requests were due and as many were under way as are allowed.
    pub overloads: u64,
    /// Times that requests were due and the client had no memory for them, since requests to other servers held it.
    /// What waits then is late: it is the client's delay.
    #[serde(default)]
    pub starved: u64,
    /// Requests that were due and not sent before the end.
    pub unsent: u64,
    /// Requests that were sent and never answered.
    pub unanswered: u64,
    /// Sum of the squares of the response times, ns²: what chance does to their mean. Not kept in documents.
    #[serde(skip)]
    pub response_squares: f64,
    /// When the last answer came, ns after the start. Not kept in documents.
    #[serde(skip)]
    pub last_ns: u64,
    /// Each second of the run.
    pub windows: Vec<LoadWindow>,
    /// Why the tenant was given up, where it was.
    pub fault: Option<Note>,
}

impl TenantResult {
    /// Answers a second.
    pub fn achieved_rate(&self) -> f64 {
        self.done_in_time as f64 / self.seconds
    }

    /// Answers in time over requests that were due: 1 where the tenant keeps up. `None` if nothing was due.
    pub fn achieved_share(&self) -> Option<f64> {
        (self.scheduled > 0).then(|| self.done_in_time as f64 / self.scheduled as f64)
    }

    /// Adds a request to which the client came `late` ns after it could have gone.
    pub(crate) fn came_late(&mut self, late: u64, late_after: u64) {
        self.late += u64::from(late > late_after);
        self.max_late_ns = self.max_late_ns.max(late);
        self.late_sum_ns = self.late_sum_ns.saturating_add(late);
    }

    /// Adds an answer that came `at` ns after the start.
    pub(crate) fn answered(&mut self, at: u64, response_ns: u64) {
        self.last_ns = at;
        let second = (at / SECOND) as usize;
        // Answers that keep coming after the end belong to no second of the run.
        if second >= self.windows.len() {
            self.windows.resize(second + 1, LoadWindow::default());
        }
        self.response_squares += (response_ns as f64).powi(2);
        let window = &mut self.windows[second];
        window.done += 1;
        window.response_sum_ns += response_ns;
        window.response_max_ns = window.response_max_ns.max(response_ns);
    }
}

/// Several tenants as one: everything added up, the latencies merged.
pub fn pooled(tenants: &[TenantResult]) -> TenantResult {
    let mut all = TenantResult { windows: Vec::new(), ..TenantResult::default() };
    for tenant in tenants {
        all.response.merge(&tenant.response);
        all.service.merge(&tenant.service);
        all.seconds = all.seconds.max(tenant.seconds);
        all.scheduled += tenant.scheduled;
        all.sent += tenant.sent;
        all.done += tenant.done;
        all.done_in_time += tenant.done_in_time;
        all.gets += tenant.gets;
        all.sets += tenant.sets;
        all.errors += tenant.errors;
        all.first_error = all.first_error.or_else(|| tenant.first_error.clone());
        all.misses += tenant.misses;
        all.mismatches = all.mismatches.map_or(tenant.mismatches, |sum| Some(sum + tenant.mismatches.unwrap_or(0)));
        all.late += tenant.late;
        all.late_sum_ns = all.late_sum_ns.saturating_add(tenant.late_sum_ns);
        all.late_answers += tenant.late_answers;
        all.max_late_ns = all.max_late_ns.max(tenant.max_late_ns);
        all.held += tenant.held;
        all.overloads += tenant.overloads;
        all.starved += tenant.starved;
        all.unsent += tenant.unsent;
        all.unanswered += tenant.unanswered;
        all.response_squares += tenant.response_squares;
        all.fault = all.fault.or_else(|| tenant.fault.clone());
        if all.windows.len() < tenant.windows.len() {
            all.windows.resize(tenant.windows.len(), LoadWindow::default());
        }
        for (sum, window) in all.windows.iter_mut().zip(&tenant.windows) {
            sum.done += window.done;
            sum.response_sum_ns += window.response_sum_ns;
            sum.response_max_ns = sum.response_max_ns.max(window.response_max_ns);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use tiermark_model::messages::load as says;

    use super::*;

    #[test]
    fn pooled_tenants_add_up() {
        let mut one = TenantResult { seconds: 2.0, scheduled: 10, done_in_time: 9, ..TenantResult::default() };
        one.response.record(1000);
        one.answered(5, 1000);
        let mut two = TenantResult { seconds: 2.0, scheduled: 10, done_in_time: 5, mismatches: Some(1), ..one.clone() };
        two.answered(SECOND, 3000);
        two.fault = Some(says::tenant_hung_up());
        let all = pooled(&[one, two]);
        assert_eq!((all.scheduled, all.done_in_time, all.response.count(), all.mismatches), (20, 14, 2, Some(1)));
        assert_eq!(all.achieved_share(), Some(0.7));
        assert_eq!(all.achieved_rate(), 7.0);
        assert_eq!(all.fault, Some(says::tenant_hung_up()));
        let means: Vec<_> = all.windows.iter().map(LoadWindow::mean).collect();
        assert_eq!(means, [Some(1000.0), Some(3000.0)]);
        assert_eq!(pooled(&[]).achieved_share(), None);
    }
}
