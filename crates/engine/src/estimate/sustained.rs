//! A number against the rates that the run sustained: whole passes and the median visit.

use tiermark_model::{Interval, Metric, Reason, Visits};
use tiermark_stats::NEAR;

use super::{Estimate, Reading};
use crate::clock::RunClock;
use crate::passes::ABOVE;

impl Reading<'_> {
    /// A level of windows that neither a whole pass nor the median visit comes near was not sustained: the number is
    /// the better of the two.
    pub(super) fn hold_against_passes(&self, estimate: &mut Estimate) {
        let (Some(passes), Some(level)) = (self.passes, estimate.value) else { return };
        // Neither the state nor the clock of a pass is known: where there are several states, passes may be of another
        // one, and the level is given at a clock that passes had a tenth of the time.
        if estimate.in_states.len() > 1 {
            return;
        }
        let best = estimate.now.map_or(passes.best, |now| passes.best.max(now.median));
        let slope = estimate.clock_slope.unwrap_or(0.0);
        let clock = self.groups.clock.map_or(1.0, |clock| (clock.p90 / clock.median).powf(slope));
        if estimate.bound.is_empty() && level > (1.0 + ABOVE) * clock * best {
            estimate.value = Some(best);
            estimate.interval = estimate.interval.map(|interval| Interval { low: best, high: level, ..interval });
            if let Some(edge) = &mut estimate.edge {
                edge.within = estimate.interval;
            }
            estimate.bound.push(Reason::NotSustained { level, best });
        }
    }

    /// A bound is at least as good as the median visit: half of the visits got that much, and others only take away.
    /// The best tenth of a few visits, or of the visits to one state, may be worse. A clock above the one that numbers
    /// are given at is taken out.
    pub(super) fn hold_against_now(&self, estimate: &mut Estimate, visits: &Visits) {
        let (Some(now), Some(value)) = (estimate.now, estimate.value) else { return };
        let own = RunClock::of(std::iter::once(visits)).zip(self.groups.clock_of(visits));
        let faster = own.map_or(1.0, |(own, given)| (own.median / given).max(1.0));
        let taken = faster.powf(estimate.clock_slope.unwrap_or(0.0));
        let seen = if self.metric == Metric::Latency { now.median * taken } else { now.median / taken };
        if !self.has_edge || estimate.bound.is_empty() || !self.better(seen, value) {
            return;
        }
        estimate.value = Some(seen);
        // Visits that were clearly better were in whatever states.
        estimate.state = estimate.state.filter(|_| (seen / value - 1.0).abs() <= NEAR);
        let holds = |within: Interval| Interval { low: within.low.min(seen), high: within.high.max(seen), ..within };
        estimate.interval = estimate.interval.map(holds);
        if let Some(edge) = &mut estimate.edge {
            edge.within = edge.within.map(holds);
        }
    }
}
