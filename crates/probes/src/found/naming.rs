//! Which level of the curve is which cache.

use super::grain::reaches_between;
use super::levels::{Level, SKIPS, end};
use super::types::{CurvePoint, Declared, Grain};

/// A step up to this is small enough for the TLB: 9 cycles on the 14 of an L2, or a walk within L3.
const TRANSLATION: f64 = 1.7;
/// A declared size this many octaves off is as wrong as one further off: a hypervisor that declares a third may as well
/// declare a tenth.
const FARTHEST: f64 = 3.0;
/// In octaves: the price of a step held for translation, of a cache that the curve does not show, and of an end without
/// a name.
const STEP: f64 = 1.0;
const UNSEEN: f64 = 1.0;
const NAMELESS: f64 = 4.0;
/// A last plateau is a cache that the curve does not leave where it starts below half of what is declared and
/// has no other level between it and the one below (see [`SKIPS`]).
const BEGINS: f64 = 0.5;

/// A level with its name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Named {
    /// `None` for memory.
    pub(super) level: Option<u8>,
    pub(super) found: Level,
}

/// The level that an end belongs to.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Role {
    Cache(u8),
    Translation,
    Nameless,
}

/// Names levels by the declared caches (sorted by level), joins those that a step of translation parts, and counts
/// where nothing is declared.
pub(super) fn named(
    curve: &[CurvePoint],
    levels: &[Level],
    declared: &[Declared],
    grain: Option<&Grain>,
    page: u64,
) -> Vec<Named> {
    let ends: Vec<&Level> = levels.iter().filter(|level| level.left).collect();
    let small: Vec<bool> = levels.windows(2).map(|pair| is_small(&pair[0], &pair[1], grain)).collect();
    let small = |i: usize| small.get(i).copied().unwrap_or(false);
    let roles = if declared.is_empty() {
        counted(ends.len(), small)
    } else {
        let sizes: Vec<f64> = ends.iter().map(|level| size(level)).collect();
        assigned(&sizes, declared, &small).1
    };
    let joined = joined(curve, levels, &roles, page);
    let mut out: Vec<Named> = Vec::new();
    for (level, role) in joined {
        let before = out.iter().rev().find_map(|n| n.level).unwrap_or(0);
        let taken = |l: u8| roles.contains(&Role::Cache(l));
        let name = match role {
            Some(Role::Cache(level)) => Some(level),
            Some(_) => Some(before + 1).filter(|l| !taken(*l)),
            None => never_left(&level, out.last().map(|n| n.found.ns), before, declared),
        };
        if role.is_none() || name.is_some() {
            out.push(Named { level: name, found: level });
        }
    }
    out
}

/// The size at which a level ends, roughly.
fn size(level: &Level) -> f64 {
    level.end.map_or(level.to as f64, |end| end.size)
}

fn is_small(lower: &Level, upper: &Level, grain: Option<&Grain>) -> bool {
    // With the grain known, its cost is already subtracted from the curve; the remainder is the second level of the
    // TLB.
    let from = grain.map_or(lower.to, |grain| lower.to.max(grain.knee + 1));
    upper.ns / lower.ns <= TRANSLATION && reaches_between(from * 3 / 4, upper.from.max(from) * 5 / 4)
}

fn counted(ends: usize, small: impl Fn(usize) -> bool) -> Vec<Role> {
    let mut level = 0;
    (0..ends)
        .map(|i| {
            if small(i) {
                return Role::Translation;
            }
            level += 1;
            Role::Cache(level)
        })
        .collect()
}

/// The cheapest way to name ends in order: its cost and roles.
fn assigned(sizes: &[f64], declared: &[Declared], small: &impl Fn(usize) -> bool) -> (f64, Vec<Role>) {
    fn go(sizes: &[f64], at: usize, declared: &[Declared], small: &impl Fn(usize) -> bool) -> (f64, Vec<Role>) {
        let Some(size) = sizes.get(at) else { return (UNSEEN * declared.len() as f64, Vec::new()) };
        let then = |cost: f64, role: Role, rest: &[Declared]| {
            let (others, roles) = go(sizes, at + 1, rest, small);
            (cost + others, std::iter::once(role).chain(roles).collect::<Vec<Role>>())
        };
        let mut best = then(NAMELESS, Role::Nameless, declared);
        if small(at) {
            best = cheaper(best, then(STEP, Role::Translation, declared));
        }
        for (skipped, cache) in declared.iter().enumerate() {
            let octaves = (size / cache.bytes as f64).log2().abs().min(FARTHEST);
            let cost = octaves + UNSEEN * skipped as f64;
            best = cheaper(best, then(cost, Role::Cache(cache.level), &declared[skipped + 1..]));
        }
        best
    }
    go(sizes, 0, declared, small)
}

fn cheaper(a: (f64, Vec<Role>), b: (f64, Vec<Role>)) -> (f64, Vec<Role>) {
    if b.0 < a.0 { b } else { a }
}

/// Levels with their roles, those before a step of translation joined to the next.
fn joined(curve: &[CurvePoint], levels: &[Level], roles: &[Role], page: u64) -> Vec<(Level, Option<Role>)> {
    let mut out = Vec::new();
    let mut first: Option<Level> = None;
    for (index, level) in levels.iter().enumerate() {
        let role = roles.get(index).copied();
        if role == Some(Role::Translation) {
            first.get_or_insert(*level);
            continue;
        }
        let mut level = *level;
        if let Some(first) = first.take() {
            // The plateau is the part that translation does not touch; the end is that of the last part.
            let end = if level.left { end(curve, &level, levels.get(index + 1), page) } else { None };
            level = Level { end, left: level.left, ..first };
        }
        out.push((level, role));
    }
    out
}

/// The level that a last plateau belongs to which the curve does not leave; `None` where it is memory's.
fn never_left(last: &Level, below_ns: Option<f64>, before: u8, declared: &[Declared]) -> Option<u8> {
    let next = declared.iter().find(|d| d.level > before)?;
    let below = below_ns.is_none_or(|ns| last.ns < SKIPS * ns);
    (below && (last.from as f64) < BEGINS * next.bytes as f64).then_some(next.level)
}
