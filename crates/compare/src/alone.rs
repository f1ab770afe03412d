//! Numbers that only one run has: whether the other machine measured the same over another range.

use std::collections::HashSet;

use tiermark_model::{LabelSet, Obstacle};

use crate::numbers::Number;

/// A number of each run, where it has one.
pub(crate) type Aligned<'n, 'a> = (Option<&'n Number<'a>>, Option<&'n Number<'a>>);

/// What each machine has over ranges of memory: of the first run and of the other, by their other coordinates.
pub(crate) struct Alone([HashSet<String>; 2]);

impl Alone {
    pub(crate) fn of(pairs: &[Aligned<'_, '_>], by_role: bool) -> Self {
        let is_over_range = |number: &&&Number<'_>| by_role && number.finding.quantity.is_over_a_range();
        let key = |number: &Number<'_>| number.key_without(LabelSet::NONE.size(), by_role);
        let first = pairs.iter().filter_map(|(first, _)| first.as_ref()).filter(is_over_range).map(|one| key(one));
        let other = pairs.iter().filter_map(|(_, other)| other.as_ref()).filter(is_over_range).map(|one| key(one));
        Self([first.collect(), other.collect()])
    }

    /// Why a pair has one number only, if the other machine has the same over other ranges.
    pub(crate) fn why(&self, pair: Aligned<'_, '_>) -> Option<Obstacle> {
        let (number, there) = match pair {
            (Some(number), None) => (number, &self.0[1]),
            (None, Some(number)) => (number, &self.0[0]),
            _ => return None,
        };
        // Nothing is kept unless machines are compared.
        there.contains(&number.key_without(LabelSet::NONE.size(), true)).then_some(Obstacle::Ranges)
    }
}
