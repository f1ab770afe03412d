//! When each step is visited: its fewest visits first, then rounds over all steps until they are settled.

use tiermark_model::messages::run as says;
use tiermark_model::{Purpose, Step};
use tiermark_stats::Rng;

use super::Runner;
use crate::cell::Cell;

/// Once they have their fewest visits, points of a curve by size are revisited in one round of `CURVE_ROUNDS`, points
/// of primitives in one of `POINT_ROUNDS`: the time is for the figures. Points under load are revisited in every round,
/// since they are compared with the idle point.
const CURVE_ROUNDS: u64 = 12;
const POINT_ROUNDS: u64 = 4;
/// Share of the time after which points get no more first visits while the probe has more steps to add.
const POINT_SHARE: f64 = 0.5;
/// Seconds added to a wait for the next moment, so that rounding does not end it just before.
const ROUNDING: f64 = 1e-6;

/// Seconds from the start of an experiment after which listeners get its figures, complete or not: with the start of
/// the program, a user waits about ten seconds at most.
pub(super) const ANSWER_SECONDS: f64 = 8.5;

/// What visits are for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Stage {
    /// Figures, until each was seen at enough moments, or a user has waited long enough for a first answer.
    Answer {
        /// Seconds of the run that are left to others.
        left: f64,
    },
    /// All steps, until they are settled.
    All,
}

impl Runner<'_> {
    /// Gives steps their fewest visits. Where there is no time for all, the first round begins with the ladder of
    /// tiers, in its order: chance must not decide which headline is missing. Of a curve what costs least comes first,
    /// since most of its points are small.
    pub(super) fn first_visits(&mut self, steps: Vec<Step>) {
        let expected: f64 = steps.iter().map(Step::expected_seconds).sum();
        let mut short = expected > self.deadline - self.host.now();
        let has_time = !short;
        let first = self.take(steps);
        loop {
            // Numbers that are planned from a curve need most of the time.
            let spent = (self.host.now() - self.began) / (self.deadline - self.began);
            let wants = |index: &usize| {
                let cell = &self.cells[*index];
                let over = cell.step.labels.is_point() && spent > POINT_SHARE && self.later_seconds > 0.0;
                let is_open = cell.refusal.is_none() && cell.fault.is_none() && !over;
                is_open
                    && cell.visited() < cell.step.stop.min_visits
                    && !(has_time && self.waits_for_one_thread(*index))
            };
            let mut order: Vec<usize> = (first..self.cells.len()).filter(wants).collect();
            shuffle(&mut self.rng, &mut order);
            if std::mem::take(&mut short) {
                order.sort_by(|a, b| self.precedence(*a).total_cmp(&self.precedence(*b)));
            }
            if !self.round(&order) {
                break;
            }
        }
        self.refuse_untouched(first);
    }

    /// Rounds over all steps that are not settled, each in a new random order, so that every step sees all of what is
    /// left of the run. Where all of them only lack moments, nothing is visited until the next one.
    pub(super) fn revisit(&mut self, stage: Stage) {
        let end = match stage {
            Stage::Answer { left } => (self.deadline - left).min(self.began + ANSWER_SECONDS),
            Stage::All => self.deadline,
        };
        for round in 0.. {
            self.look_at_pings();
            let now = self.host.now();
            if stage != Stage::All && now >= end {
                return;
            }
            let is_wanted = |cell: &Cell| stage == Stage::All || (!cell.step.labels.is_point() && cell.lacks_moments());
            let is_open = |index: &usize| {
                let cell = &self.cells[*index];
                // Memory that figures need is not made again for a point of a curve that was seen.
                let is_there = !cell.step.labels.is_for(Purpose::Curve) || self.keep.has(self.cells[*index].home);
                let is_open = cell.visited() > 0 && !cell.settled(&self.groups, &self.lab.machine, now);
                is_open && is_there && is_wanted(cell) && self.fits(*index)
            };
            let open: Vec<usize> = (0..self.cells.len()).filter(is_open).collect();
            let waits = |index: &usize| match stage {
                Stage::Answer { .. } => self.cells[*index].next_moment(now - self.began),
                Stage::All => self.cells[*index].waits(now - self.began),
            };
            let Some(wait) = open.iter().map(waits).reduce(f64::min) else { return };
            if wait > 0.0 {
                let until = end.min(now + wait + ROUNDING);
                if stage != Stage::All {
                    self.fill_time(until);
                }
                let now = self.host.now();
                self.host.rest((until - now).max(0.0));
                self.time.waiting += self.host.now() - now;
                if self.over() {
                    return;
                }
                continue;
            }
            let is_due = |index: &usize| {
                let rounds = match self.cells[*index].step.labels.purpose() {
                    Some(Purpose::Curve) => CURVE_ROUNDS,
                    Some(Purpose::OsPoint) => POINT_ROUNDS,
                    _ => 1,
                };
                (*index as u64 + round).is_multiple_of(rounds) && waits(index) <= 0.0
            };
            let mut order: Vec<usize> = open.iter().copied().filter(is_due).collect();
            shuffle(&mut self.rng, &mut order);
            if !self.round(&order) && (self.over() || !order.is_empty()) {
                return;
            }
        }
    }

    /// Visits points of curves, in random order, while figures wait for their next moment.
    fn fill_time(&mut self, until: f64) {
        let now = self.host.now();
        let is_open = |index: &usize| {
            let cell = &self.cells[*index];
            let is_seen = cell.step.labels.is_for(Purpose::Curve) && cell.visited() > 0 && self.keep.has(cell.home);
            is_seen && !cell.settled(&self.groups, &self.lab.machine, now)
        };
        let mut order: Vec<usize> = (0..self.cells.len()).filter(is_open).collect();
        shuffle(&mut self.rng, &mut order);
        for index in order {
            if self.host.now() + self.cells[index].step.visit_seconds() >= until || self.over() {
                return;
            }
            self.visit(index);
        }
    }

    /// Visits these cells; whether there was time for any of them.
    fn round(&mut self, order: &[usize]) -> bool {
        let mut visited = false;
        for index in order {
            if !self.over() && self.fits(*index) {
                self.visit(*index);
                self.answer_if_due();
                visited = true;
            }
        }
        visited && !self.over()
    }

    /// Order of the steps if the time does not suffice for all.
    fn precedence(&self, index: usize) -> f64 {
        let step = &self.cells[index].step;
        let is_headline = matches!(step.labels.purpose(), Some(Purpose::Ladder | Purpose::Os));
        match step.labels.is_point() {
            _ if is_headline => index as f64 - self.cells.len() as f64,
            true => step.prepare_seconds() + step.rivalry_seconds(),
            false => 0.0,
        }
    }

    /// Whether one more visit to a cell can be expected to end in time.
    fn fits(&self, index: usize) -> bool {
        let cell = &self.cells[index];
        let preparing = if self.keep.has(self.cells[index].home) { 0.0 } else { self.making_seconds(index) };
        let next = preparing + cell.step.visit_seconds();
        self.host.now() + next <= self.deadline || self.cells.iter().all(|c| c.visited() == 0)
    }

    /// Share of the expected work that is done, and remaining seconds.
    pub(super) fn progress(&self) -> (f64, f64) {
        let now = self.host.now();
        let left = |cell: &Cell| {
            let seen = cell.visited();
            match cell.moved_share() {
                _ if cell.settled(&self.groups, &self.lab.machine, now) => 0.0,
                Some(share) if share > 0.0 => cell.seconds * (1.0 - share).max(0.0) / share,
                _ => cell.step.seconds_of(cell.step.stop.max_visits.saturating_sub(seen)),
            }
        };
        let known: f64 = self.cells.iter().map(left).sum();
        let left = (known + self.later_seconds).min(self.deadline - now).max(0.0);
        let spent = now - self.began;
        (if spent + left > 0.0 { spent / (spent + left) } else { 1.0 }, left)
    }

    pub(super) fn refuse_untouched(&mut self, first: usize) {
        let stopped = self.host.stopped();
        for cell in
            self.cells[first..].iter_mut().filter(|c| c.visited() == 0 && c.refusal.is_none() && c.fault.is_none())
        {
            let step = cell.step.id.as_str();
            cell.refusal = Some(match stopped {
                true => says::run_stopped(step),
                // Figures get the time before points of curves: a skipped point only makes a curve less dense.
                false if cell.step.labels.is_point() && !cell.step.labels.is_for(Purpose::Cold) => {
                    says::curve_point_skipped(step)
                }
                false => says::no_time_left(step),
            });
        }
    }
}

/// Fisher–Yates (Knuth 1997, The Art of Computer Programming 2, §3.4.2).
fn shuffle(rng: &mut Rng, order: &mut [usize]) {
    for i in (1..order.len()).rev() {
        order.swap(i, rng.below(i + 1));
    }
}
