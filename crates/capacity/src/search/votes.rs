//! Outcomes of the trials of each number of tenants.

use std::collections::BTreeMap;

use tiermark_model::Note;
use tiermark_model::capacity::{Outcome, Votes};

use super::{TrialRequest, Vote};

/// How the trials of one number of tenants voted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// More trials passed than did not.
    Holds,
    /// More trials failed than passed.
    Breaks,
    /// As many passed as failed: none of both, where all were unclear.
    Tied,
}

/// The votes for one number of tenants.
#[derive(Debug, Clone, Default)]
struct TenantVotes {
    votes: Votes,
    /// Full trials that passed since the last that failed.
    in_succession: u32,
    /// Full trials of tenants made anew.
    solid: Votes,
    /// Why the last unclear trial was unclear.
    spoilt_by: Option<Note>,
}

impl TenantVotes {
    fn standing(&self) -> Standing {
        // An unclear trial says nothing about the server.
        match self.votes.passed.cmp(&self.votes.failed) {
            std::cmp::Ordering::Greater => Standing::Holds,
            std::cmp::Ordering::Less => Standing::Breaks,
            std::cmp::Ordering::Equal => Standing::Tied,
        }
    }
}

fn count(votes: &mut Votes, outcome: Outcome) {
    match outcome {
        Outcome::Pass => votes.passed += 1,
        Outcome::Fail => votes.failed += 1,
        Outcome::Unclear => votes.unclear += 1,
    }
}

/// The trials of each number of tenants, counted by outcome.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    rows: BTreeMap<u32, TenantVotes>,
}

impl Tally {
    pub(super) fn add(&mut self, ask: &TrialRequest, vote: &Vote<'_>) {
        let Vote { outcome, spoilt_by } = *vote;
        let row = self.rows.entry(ask.tenants).or_default();
        count(&mut row.votes, outcome);
        if ask.full && ask.fresh {
            count(&mut row.solid, outcome);
        }
        row.spoilt_by = spoilt_by.cloned().or(row.spoilt_by.take());
        row.in_succession = match outcome {
            Outcome::Pass => row.in_succession + u32::from(ask.full),
            Outcome::Fail => 0,
            Outcome::Unclear => row.in_succession,
        };
    }

    pub(super) fn votes(&self, tenants: u32) -> Votes {
        self.rows.get(&tenants).map_or_else(Votes::default, |row| row.votes)
    }

    /// Why the last unclear trial of this number of tenants was unclear. `None` if no trial was unclear, or if the
    /// reason is not known.
    pub(super) fn spoilt_by(&self, tenants: u32) -> Option<&Note> {
        self.rows.get(&tenants)?.spoilt_by.as_ref()
    }

    /// Outcomes of full trials of tenants made anew: only these prove a failure. A short trial may have met a stall,
    /// and tenants added to a running system get only the memory that the others do not hold.
    pub(super) fn solid(&self, tenants: u32) -> Votes {
        self.rows.get(&tenants).map_or_else(Votes::default, |row| row.solid)
    }

    /// The majority of the trials of a number; a number without trials is tied.
    pub(super) fn standing(&self, tenants: u32) -> Standing {
        self.rows.get(&tenants).map_or(Standing::Tied, TenantVotes::standing)
    }

    /// Whether nothing but one tenant alone was tried.
    pub(super) fn only_baseline(&self) -> bool {
        self.rows.keys().all(|tenants| *tenants == 1)
    }

    /// Full trials of a number that passed since the last that failed.
    pub(super) fn in_succession(&self, tenants: u32) -> u32 {
        self.rows.get(&tenants).map_or(0, |row| row.in_succession)
    }

    fn with(&self, standing: Standing) -> impl DoubleEndedIterator<Item = u32> {
        self.rows.iter().filter(move |(_, row)| row.standing() == standing).map(|(tenants, _)| *tenants)
    }

    /// The smallest number whose trials are tied.
    pub(super) fn tied(&self) -> Option<u32> {
        self.with(Standing::Tied).next()
    }

    /// The largest number that holds among those below another; 0 if none does.
    pub(super) fn holds_below(&self, other: u32) -> u32 {
        self.with(Standing::Holds).rfind(|tenants| *tenants < other).unwrap_or(0)
    }

    /// The largest number that holds below the smallest that breaks (0 where none does), and that.
    pub(super) fn bracket(&self) -> (u32, Option<u32>) {
        let high = self.with(Standing::Breaks).next();
        let low = self.with(Standing::Holds).rfind(|tenants| high.is_none_or(|high| *tenants < high));
        (low.unwrap_or(0), high)
    }

    /// How many numbers hold from one upwards.
    pub(super) fn passed_from(&self, tenants: u32) -> u32 {
        self.with(Standing::Holds).filter(|other| *other >= tenants).count() as u32
    }

    /// The ends of the answer's interval. The lower end is the most tenants that hold with at most one failure, where
    /// every smaller number that was tried does so too. The upper end is the most tenants that ever passed, or one less
    /// than the smallest number above the lower end that failed more often than it passed, whichever is more. It is
    /// `None` if no number failed more often than it passed.
    pub(super) fn range(&self) -> (u32, Option<u32>) {
        let doubtful = |row: &TenantVotes| row.standing() != Standing::Holds || row.votes.failed > 1;
        let broken = self.rows.iter().find(|(_, row)| doubtful(row)).map(|(tenants, _)| *tenants);
        let low =
            self.with(Standing::Holds).rfind(|tenants| broken.is_none_or(|broken| *tenants < broken)).unwrap_or(0);
        let passed = self.rows.iter().rfind(|(_, row)| row.votes.passed > 0).map_or(0, |(tenants, _)| *tenants);
        let against = |(tenants, row): &(&u32, &TenantVotes)| **tenants > low && row.votes.failed > row.votes.passed;
        let open = self.rows.iter().find(against).map(|(tenants, _)| tenants - 1);
        (low, open.map(|open| passed.max(open).max(low)))
    }
}
