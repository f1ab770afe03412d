//! Which number of tenants to try next, and when the search has its answer.
//!
//! A search is pure: it starts no trial and reads no clock. The caller gets the next trial and its reason, makes the
//! trial, and reports the outcome. The same outcomes lead to the same trials, so saved outcomes resume a search.
//!
//! Upwards it gallops, and then halves the bracket (Bentley & Yao, "An almost optimal algorithm for unbounded
//! searching", Information Processing Letters 5(3), 1976): at most about 2 log₂ N trials. Numbers that had to be
//! reached from above are always provisioned anew, since pages that were swapped out for more tenants do not come back
//! by themselves when those end.

mod votes;

use serde::{Deserialize, Serialize};
use tiermark_model::Note;
use tiermark_model::capacity::{Answer, Outcome, Phase, TrialRecord, Votes};
use tiermark_model::messages::capacity as messages;
use tiermark_model::messages::trials as says;

use crate::budget::Arithmetic;
use votes::{Standing, Tally};

/// Passes in succession that make a number of tenants hold, and trials of one more of which [`FAILS`] must fail.
const PASSES: u32 = 3;
/// Failures of one tenant more that are wanted of three trials, all in full and from a fresh fill.
const FAILS: u32 = 2;
/// Trials of one number of tenants; where they still disagree after so many, the edge is no single number.
const MOST_VOTES: u32 = 6;
/// Unclear trials of one number of tenants; after so many, what spoils them is there to stay.
const MOST_UNCLEAR: u32 = 3;
/// Passes in succession on the way to a number that failed once, after which that is doubted. One true edge in eight
/// lies so close to the upper end of its bracket; over 4,000 simulated searches 2, 3 and never bring 97.4, 96.8 and
/// 94.6 % home within the bound, with 13.0, 12.8 and 12.7 trials.
const DOUBTED: u32 = 3;
/// Growth of the first steps upwards, each at least one tenant; the last is repeated. Small at first, since the
/// arithmetic is often nearly right and a trial far beyond the edge takes longest; doubling later, which is what bounds
/// their number.
const GROWTH: [f64; 3] = [1.25, 1.5, 2.0];

/// Start and limits of a search: saved beside its trials, since other limits lead to other trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// The number of tenants that memory and cpus allow by arithmetic.
    pub arithmetic: Arithmetic,
    /// Tenants that are never exceeded; at least 1.
    pub most_tenants: u32,
    /// The only number of tenants to try, instead of a search.
    #[serde(default)]
    pub only: Option<u32>,
    /// Trials that are made at most.
    #[serde(rename = "most_probes")]
    pub most_trials: u32,
}

/// The next trial of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialRequest {
    /// The trial's number in its search, from 1.
    pub number: u32,
    /// Number of tenants that it runs.
    pub tenants: u32,
    /// The part of the search that it belongs to.
    pub phase: Phase,
    /// Whether all tenants are made anew; otherwise tenants are added to those of the trial before.
    pub fresh: bool,
    /// Whether it is measured in full; a short measurement is enough on the way up.
    pub full: bool,
    /// The reason for this number of tenants, in words.
    pub why: Note,
}

impl TrialRequest {
    /// The record of the trial with an outcome and its reason.
    pub(crate) fn record(&self, outcome: Outcome, decided_by: Note) -> TrialRecord {
        TrialRecord {
            number: self.number,
            tenants: self.tenants,
            phase: self.phase,
            fresh: self.fresh,
            why: self.why.clone(),
            outcome,
            decided_by,
            ended_by: None,
            evidence: None,
        }
    }
}

/// The outcome of a trial, and what spoilt it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vote<'a> {
    /// Whether the tenants fitted.
    pub outcome: Outcome,
    /// Why the trial is unclear; `None` for any other, or where nothing points to a reason.
    pub spoilt_by: Option<&'a Note>,
}

impl From<Outcome> for Vote<'_> {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, spoilt_by: None }
    }
}

impl<'a> From<&'a TrialRecord> for Vote<'a> {
    fn from(record: &'a TrialRecord) -> Self {
        let is_unclear = record.outcome == Outcome::Unclear;
        let why = record.ended_by.as_ref().map_or(&record.decided_by, |by| &by.why);
        Self { outcome: record.outcome, spoilt_by: Some(why).filter(|_| is_unclear) }
    }
}

/// The next action of the search's caller.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Make this trial, and report its outcome.
    Trial(TrialRequest),
    /// Nothing: the answer is known.
    Done(Answer),
}

/// The state of a search: its limits, and the outcomes so far.
#[derive(Debug, Clone)]
pub struct Search {
    limits: Limits,
    tally: Tally,
    /// Trials made.
    trials: u32,
    /// Steps upwards that passed.
    climbed: usize,
    /// Trials between what passed and what failed that passed, one after another.
    approached: u32,
    /// Tenants that still run since the last trial; `None` where it ended badly, or another process made it.
    running: Option<u32>,
}

impl Search {
    /// A search before its first trial.
    pub fn new(limits: Limits) -> Self {
        let limits = Limits { most_tenants: limits.most_tenants.max(1), ..limits };
        Self { limits, tally: Tally::default(), trials: 0, climbed: 0, approached: 0, running: None }
    }

    /// A search that made these trials before, in another process, with the same limits.
    ///
    /// # Errors
    /// A message: where it would not have made them: they belong to another scenario or another version.
    pub fn resume(limits: Limits, saved: &[TrialRecord]) -> Result<Self, Note> {
        let mut search = Self::new(limits);
        for record in saved {
            match search.next_step() {
                Step::Trial(ask) if (ask.tenants, ask.phase) == (record.tenants, record.phase) => {
                    search.record(&ask, record);
                }
                Step::Trial(ask) => {
                    let (phase, asked_phase) = (record.phase.to_string(), ask.phase.to_string());
                    return Err(says::saved_trial_differs(
                        record.number,
                        record.tenants,
                        &phase,
                        ask.tenants,
                        &asked_phase,
                    ));
                }
                Step::Done(_) => return Err(says::saved_trial_after_end(record.number)),
            }
        }
        search.running = None;
        Ok(search)
    }

    /// Takes the outcome of the trial that [`Self::next_step`] requested.
    pub fn record<'a>(&mut self, ask: &TrialRequest, vote: impl Into<Vote<'a>>) {
        let vote = vote.into();
        let outcome = vote.outcome;
        self.trials += 1;
        self.tally.add(ask, &vote);
        self.climbed += usize::from(ask.phase == Phase::Ramp && outcome == Outcome::Pass);
        let approaches = ask.phase == Phase::Bisection && outcome == Outcome::Pass;
        self.approached = if approaches { self.approached + 1 } else { 0 };
        // After a failure tenants may be dead or half swapped out.
        self.running = (outcome != Outcome::Fail).then_some(ask.tenants);
    }

    /// Trials made.
    pub fn trials(&self) -> u32 {
        self.trials
    }

    /// Outcomes of the trials of a number of tenants.
    pub fn votes(&self, tenants: u32) -> Votes {
        self.tally.votes(tenants)
    }

    /// The answer if no more trials are made, for this reason.
    pub fn given_up(&self, why: Note) -> Answer {
        let (low, high) = self.tally.range();
        Answer::Between { low, high, why }
    }

    /// The next trial, or the answer. Repeated calls return the same until an outcome is taken.
    pub fn next_step(&self) -> Step {
        let step = self.wanted();
        match step {
            Step::Trial(_) if self.trials >= self.limits.most_trials => {
                Step::Done(self.given_up(messages::most_trials_made(self.trials)))
            }
            other => other,
        }
    }

    fn wanted(&self) -> Step {
        if let Some(tenants) = self.limits.only {
            return self.fixed(tenants);
        }
        if self.trials == 0 {
            return self.trial(1, Phase::Baseline, says::one_tenant_first());
        }
        if self.tally.only_baseline() && self.tally.standing(1) == Standing::Holds {
            let start = self.limits.arithmetic.start().min(self.limits.most_tenants);
            if start > 1 {
                return self.trial(
                    start,
                    Phase::Start,
                    says::start_by_estimate(start, &self.limits.arithmetic.to_string()),
                );
            }
        }
        let (low, high) = self.tally.bracket();
        if let Some(tied) = self.tally.tied() {
            let is_unclear = self.tally.votes(tied).passed == 0;
            let unclear = self.tally.votes(tied).unclear;
            let why = if is_unclear { says::votes_unclear(tied, unclear) } else { says::votes_tied(tied) };
            match self.again(tied, why) {
                Some(step) => return step,
                None if !is_unclear => return self.disagreeing(tied),
                None if high.is_none_or(|high| tied < high) => return self.below(tied),
                // Fewer tenants failed since: this number matters no more.
                None => {}
            }
        }
        match high {
            None => self.upward(low),
            Some(high) if high - low > 1 => self.halve(low, high),
            Some(high) => self.verify(low, high),
        }
    }

    /// The one trial of a number that was asked for, and then its outcome.
    fn fixed(&self, tenants: u32) -> Step {
        let outcome = match self.tally.votes(tenants) {
            Votes { passed: 1.., .. } => Outcome::Pass,
            Votes { failed: 1.., .. } => Outcome::Fail,
            Votes { unclear: 1.., .. } => Outcome::Unclear,
            _ => return self.trial(tenants, Phase::Fixed, says::only_this_number(tenants)),
        };
        Step::Done(Answer::Fixed { tenants, outcome })
    }

    fn trial(&self, tenants: u32, phase: Phase, why: Note) -> Step {
        let upward = matches!(phase, Phase::Start | Phase::Ramp);
        let grows = upward && self.running.is_some_and(|running| running < tenants);
        Step::Trial(TrialRequest { number: self.trials + 1, tenants, phase, fresh: !grows, full: phase.is_full(), why })
    }

    /// One more trial of the same number, where that has not had enough.
    fn again(&self, tenants: u32, why: Note) -> Option<Step> {
        let votes = self.tally.votes(tenants);
        let spent = votes.passed + votes.failed >= MOST_VOTES || votes.unclear >= MOST_UNCLEAR;
        (!spent).then(|| self.trial(tenants, Phase::Verification, why))
    }

    fn upward(&self, low: u32) -> Step {
        if low >= self.limits.most_tenants {
            return match self.confirm(low) {
                Some(step) => step,
                None => Step::Done(Answer::AtLeast { tenants: low }),
            };
        }
        let total = self.limits.arithmetic.total;
        let growth = GROWTH[self.climbed.min(GROWTH.len() - 1)];
        let grown = (f64::from(low) * growth).ceil() as u32;
        let (next, why) = if low < total && grown >= total {
            (total, says::up_to_estimate(low, total))
        } else if low >= total {
            // Beyond what fits by arithmetic the edge is near.
            let step = 1 << self.tally.passed_from(total).saturating_sub(1).min(20);
            (low.saturating_add(step), says::up_beyond_estimate(low, step))
        } else {
            (grown, says::up_further(low, growth))
        };
        self.trial(next.clamp(low + 1, self.limits.most_tenants), Phase::Ramp, why)
    }

    /// Fewer tenants, where all trials of a number stay unclear: what spoils them may spare these.
    fn below(&self, unclear: u32) -> Step {
        let low = self.tally.holds_below(unclear);
        if unclear - low <= 1 {
            return self.disagreeing(unclear);
        }
        let middle = low + (unclear - low) / 2;
        self.trial(middle, Phase::Bisection, says::below_unclear(unclear, low))
    }

    fn halve(&self, low: u32, high: u32) -> Step {
        // A failure that was a disturbance would otherwise be noticed only after closing in on it.
        if self.approached >= DOUBTED
            && self.tally.votes(high).all() == 1
            && let Some(step) = self.again(high, says::failure_doubted(high, self.approached))
        {
            return step;
        }
        // A wide bracket is halved in the logarithm: its lower end is as likely as its upper.
        let wide = low >= 1 && high > 2 * low;
        let geometric = (f64::from(low) * f64::from(high)).sqrt().round() as u32;
        let middle = if wide { geometric } else { low + (high - low) / 2 };
        self.trial(middle.clamp(low + 1, high - 1), Phase::Bisection, says::between_passed_and_failed(low, high))
    }

    fn verify(&self, low: u32, high: u32) -> Step {
        let (all, beyond) = (self.tally.votes(high), self.tally.solid(high));
        // One tenant alone cannot fail because of the others; after its failure the usual number of trials decides.
        let proven = if low == 0 { all.failed >= FAILS } else { proves_failure(&beyond) };
        if !proven {
            let why = says::failure_unproven(high, beyond.failed, beyond.all());
            return self.again(high, why).unwrap_or_else(|| self.disagreeing(high));
        }
        if low == 0 {
            return Step::Done(Answer::None { why: messages::one_tenant_failed(all.failed, all.all()) });
        }
        if let Some(step) = self.confirm(low) {
            return step;
        }
        Step::Done(Answer::Exactly { tenants: low, votes: self.tally.votes(low), beyond })
    }

    /// The trials that a number of tenants still needs to hold; `None` if it holds.
    fn confirm(&self, tenants: u32) -> Option<Step> {
        let passes = self.tally.in_succession(tenants);
        if passes >= PASSES {
            return None;
        }
        let why = says::pass_unproven(tenants, passes, PASSES);
        Some(self.again(tenants, why).unwrap_or_else(|| self.disagreeing(tenants)))
    }

    fn disagreeing(&self, tenants: u32) -> Step {
        let (votes, spoilt_by) = (self.tally.votes(tenants), self.tally.spoilt_by(tenants));
        Step::Done(self.given_up(messages::trials_undecided(tenants, &votes, spoilt_by)))
    }
}

/// Whether full trials of tenants made anew show that so many do not fit.
fn proves_failure(solid: &Votes) -> bool {
    solid.failed >= FAILS && solid.failed > solid.passed
}

#[cfg(test)]
mod tests;
