//! Numbers that only one run has: whether the other run measured the same in another way.

use std::collections::{HashMap, HashSet};

use tiermark_model::{Key, Obstacle};

use crate::numbers::Number;

/// A number of each run, where it has one.
pub(crate) type Aligned<'n, 'a> = (Option<&'n Number<'a>>, Option<&'n Number<'a>>);

/// What each run has on other pages, and over other ranges of memory.
pub(crate) struct Alone<'n> {
    by_role: bool,
    /// Pages of the numbers that only one run has, by their other coordinates; of the first run and of the other.
    pages: [HashMap<String, &'n str>; 2],
    /// All numbers over ranges, by their other coordinates; of the first run and of the other.
    ranges: [HashSet<String>; 2],
}

impl<'n> Alone<'n> {
    pub(crate) fn of(pairs: &[Aligned<'n, '_>], by_role: bool) -> Self {
        let mut found = Self { by_role, pages: Default::default(), ranges: Default::default() };
        for (first, other) in pairs {
            let is_alone = first.is_some() != other.is_some();
            for (run, number) in [first, other].into_iter().enumerate() {
                let Some(number) = number else { continue };
                if let Some(page) = page(number).filter(|_| is_alone) {
                    found.pages[run].insert(number.key_without(Key::Page, by_role), page);
                }
                if number.finding.metric.is_over_a_range() {
                    found.ranges[run].insert(number.key_without(Key::Size, by_role));
                }
            }
        }
        found
    }

    /// Why a pair has one number only, if the other run has the same on other pages, or another machine over other
    /// ranges.
    pub(crate) fn why(&self, (first, other): Aligned<'n, '_>) -> Option<Obstacle> {
        let (number, there) = match (first, other) {
            (Some(number), None) => (number, 1),
            (None, Some(number)) => (number, 0),
            _ => return None,
        };
        let pages = page(number).zip(self.pages[there].get(&number.key_without(Key::Page, self.by_role)).copied());
        if let Some((own, theirs)) = pages {
            let (first, other) = if there == 1 { (own, theirs) } else { (theirs, own) };
            return Some(Obstacle::Pages { first: first.to_owned(), other: other.to_owned() });
        }
        let is_over_range = self.by_role && number.finding.metric.is_over_a_range();
        let has_other = is_over_range && self.ranges[there].contains(&number.key_without(Key::Size, true));
        has_other.then_some(Obstacle::Ranges)
    }
}

fn page<'n>(number: &'n Number<'_>) -> Option<&'n str> {
    number.finding.labels.page()
}
