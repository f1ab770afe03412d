//! Which number of one run stands beside which of the other.

use std::collections::{HashMap, HashSet};

use tiermark_model::Condition;

use crate::alone::Aligned;
use crate::numbers::Number;

/// Numbers with the same coordinates side by side; what a run measured several times, in its order. Numbers that only
/// one run has stand beside that of the same role under other conditions, those with the fewest differences first, and
/// then beside that of another probe, where the other run has one.
pub(crate) fn aligned<'n, 'a>(first: &'n [Number<'a>], other: &'n [Number<'a>], by_role: bool) -> Vec<Aligned<'n, 'a>> {
    let mut there: HashMap<&str, Vec<&Number<'a>>> = HashMap::new();
    for number in other.iter().rev() {
        there.entry(&number.key).or_default().push(number);
    }
    let mut pairs: Vec<_> =
        first.iter().map(|number| (Some(number), there.get_mut(number.key.as_str()).and_then(Vec::pop))).collect();
    for number in other {
        let left = there.get_mut(number.key.as_str());
        if let Some(alone) = left.filter(|left| left.last().is_some_and(|last| std::ptr::eq(*last, number))) {
            pairs.push((None, alone.pop()));
        }
    }
    for differences in 1..=Condition::OF_LABELS.len() {
        let has_so_many = |one: &Number<'_>, two: &Number<'_>| one.differs(two).len() == differences;
        pairs = joined(pairs, |number| number.role_key(by_role), has_so_many);
    }
    joined(pairs, |number| number.of_any_probe().to_owned(), |_, _| true)
}

/// Puts numbers that only one run has into one pair, if they have this key in common and fit each other.
fn joined<'n, 'a>(
    pairs: Vec<Aligned<'n, 'a>>,
    key: impl Fn(&Number<'a>) -> String,
    fits: impl Fn(&Number<'a>, &Number<'a>) -> bool,
) -> Vec<Aligned<'n, 'a>> {
    let mut alone: HashMap<String, Vec<&Number<'a>>> = HashMap::new();
    for number in pairs.iter().filter(|(first, _)| first.is_none()).filter_map(|(_, other)| *other) {
        alone.entry(key(number)).or_default().push(number);
    }
    let mut taken: HashSet<*const Number<'a>> = HashSet::new();
    let mut joined = Vec::with_capacity(pairs.len());
    for pair in pairs {
        joined.push(match pair {
            (Some(first), None) if !alone.is_empty() => {
                let left = alone.get_mut(&key(first));
                let other = left.and_then(|left| {
                    let at = left.iter().position(|other| fits(first, other))?;
                    Some(left.remove(at))
                });
                taken.extend(other.map(std::ptr::from_ref));
                (Some(first), other)
            }
            pair => pair,
        });
    }
    joined.retain(|(first, other)| {
        first.is_some() || other.is_none_or(|other| !taken.contains(&std::ptr::from_ref(other)))
    });
    joined
}
