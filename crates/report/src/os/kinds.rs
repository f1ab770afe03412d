//! Which parts of primitives share a table, and what that table is called.

use super::points::{PointGroup, WordKind};
use super::words::Dimension;
use crate::order::grouped;

/// Parts that share a table.
pub(super) struct Kind<'a> {
    /// Their common properties.
    key: String,
    /// Dimensions of its columns, or its rows.
    pub(super) values: Vec<String>,
    pub(super) alike: Vec<&'a PointGroup<'a>>,
}

/// All parts of a group: single numbers first, in one table; of the others those that are alike together, in the order
/// in which the first of each came.
pub(super) fn kinds<'a>(parts: &'a [PointGroup<'a>]) -> Vec<Kind<'a>> {
    let mut kinds: Vec<Kind<'a>> = Vec::new();
    for part in parts {
        let (key, values) = (key(part, parts), part.values());
        match kinds.iter_mut().find(|kind| kind.key == key && kind.values == values) {
            Some(kind) => kind.alike.push(part),
            None => kinds.push(Kind { key, values, alike: vec![part] }),
        }
    }
    let kinds = joined(kinds, parts);
    let (single, mut kinds): (Vec<Kind<'a>>, Vec<Kind<'a>>) =
        kinds.into_iter().partition(|kind| kind.alike.iter().all(|part| part.points.len() == 1));
    let mut single: Vec<&PointGroup<'a>> = single.into_iter().flat_map(|kind| kind.alike).collect();
    if !single.is_empty() {
        sort(&mut single, parts);
        kinds.insert(0, Kind { key: String::new(), values: Vec::new(), alike: single });
    }
    kinds
}

/// In the order of all parts.
fn sort(alike: &mut [&PointGroup<'_>], all: &[PointGroup<'_>]) {
    alike.sort_by_key(|part| all.iter().position(|known| std::ptr::eq(known, *part)));
}

/// What has at least half of the columns of another, and no other ones, stands below it: the rest of its row is empty.
fn joined<'a>(mut kinds: Vec<Kind<'a>>, parts: &[PointGroup<'_>]) -> Vec<Kind<'a>> {
    let within = |small: &Kind<'_>, large: &Kind<'_>| {
        small.key == large.key
            && small.values.len() < large.values.len()
            && 2 * small.values.len() >= large.values.len()
            && small.values.iter().all(|value| large.values.contains(value))
    };
    let mut at = 0;
    while at < kinds.len() {
        let Some(into) = kinds.iter().position(|large| within(&kinds[at], large)) else {
            at += 1;
            continue;
        };
        let moved = std::mem::take(&mut kinds[at].alike);
        kinds[into].alike.extend(moved);
        sort(&mut kinds[into].alike, parts);
        kinds.remove(at);
    }
    kinds
}

/// Common properties of parts that share a table, beside its columns.
fn key(part: &PointGroup<'_>, all: &[PointGroup<'_>]) -> String {
    // The capacity of a channel is shown beside it.
    let fixed: Vec<String> =
        part.fixed.iter().filter(|(d, _)| *d != Dimension::Capacity).map(|(d, n)| d.label(*n)).collect();
    let kind = suffix(part, all).unwrap_or_default();
    // Where places or pages are columns, they are no part of it.
    let word = if part.along.is_empty() { "" } else { &part.word };
    format!("{:?} {:?} {word} {fixed:?} {kind}", part.along, part.kind)
}

/// The last word of a name, where other names of parts like it end with the same: `ping-pong`.
fn suffix<'a>(part: &'a PointGroup<'_>, all: &[PointGroup<'_>]) -> Option<&'a str> {
    let (_, last) = part.op.rsplit_once(' ').filter(|_| part.along.is_empty() && !part.is_plain())?;
    let like =
        |other: &&PointGroup<'_>| other.along.is_empty() && other.op.rsplit_once(' ').is_some_and(|(_, w)| w == last);
    (all.iter().filter(like).count() > 1).then_some(last)
}

/// Most channels have the kernel's capacity; the capacity of the others is shown, equal ones together.
fn held(alike: &[&PointGroup<'_>]) -> Vec<String> {
    let capacity = |part: &&PointGroup<'_>| {
        let (dimension, n) = part.fixed.iter().find(|(d, _)| *d == Dimension::Capacity)?;
        Some((dimension.label(*n), part.op.clone()))
    };
    let kinds = grouped(alike.iter().filter_map(capacity));
    kinds.into_iter().map(|(held, ops)| format!("{} {held}", ops.join(" and "))).collect()
}

impl Kind<'_> {
    /// Whether each of its parts is one number.
    pub(super) fn is_single(&self) -> bool {
        self.key.is_empty()
    }

    /// The part that has all the columns.
    pub(super) fn widest(&self) -> &PointGroup<'_> {
        let widest = self.alike.iter().rev().max_by_key(|part| part.values().len());
        widest.unwrap_or(&self.alike[0])
    }

    /// The word that the names of all rows end with, and the names without it.
    pub(super) fn short_names(&self) -> (Option<&str>, Vec<&str>) {
        let names = || self.alike.iter().map(|part| part.op.as_str());
        let first = self.alike[0];
        let last = first.along.is_empty().then(|| first.op.rsplit_once(' ').map(|(_, last)| last)).flatten();
        let shared = last.filter(|last| {
            self.alike.len() > 1 && names().all(|name| name.rsplit_once(' ').is_some_and(|(_, word)| word == *last))
        });
        match shared {
            Some(last) => (shared, names().map(|name| name[..name.len() - last.len()].trim_end()).collect()),
            None => (None, names().collect()),
        }
    }

    /// What its table is of, on a line of its own; with the names of its rows where another table has the same title.
    pub(super) fn title(&self, named: bool) -> Option<String> {
        let first = self.alike.first().filter(|_| !self.is_single())?;
        let mut words: Vec<String> = Vec::new();
        let size = first.fixed.iter().find(|(d, _)| *d == Dimension::Size);
        words.extend(size.map(|(_, bytes)| format!("{} a time", Dimension::Size.label(*bytes))));
        let others = first.fixed.iter().filter(|(d, _)| !matches!(d, Dimension::Size | Dimension::Capacity));
        words.extend(others.map(|(d, n)| d.label(*n)));
        words.extend(held(&self.alike));
        let widest = self.widest();
        let mut along: Vec<&str> = first.along.iter().map(|d| d.by()).collect();
        match first.kind {
            WordKind::None => {}
            kind if !widest.across.is_empty() => along.push(kind.by()),
            kind => words.push(kind.named(&widest.word)),
        }
        let names = self.alike.iter().map(|part| part.op.as_str()).collect::<Vec<_>>().join(", ");
        let names = if named { Some(names) } else { self.short_names().0.map(str::to_owned) };
        let by = format!("by {}", along.join(" and "));
        let text = [names.map_or(by.clone(), |names| format!("{names} {by}")), words.join(", ")];
        Some(text.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(": "))
    }
}
