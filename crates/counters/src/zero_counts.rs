//! Counts that are 0 although other traffic shows that they cannot be, from the beginning or from some time on, and
//! boxes of which a part is not counted. Pure.

use std::collections::BTreeMap;

use tiermark_model::{BoxKind, BoxPlace, CounterMark, CounterSight};

use crate::family::Of;
use crate::traffic::{Counted, is_there};

/// Time in which each socket, channel and direction that is there moves some bytes, in seconds: the kernel's own work
/// on an idle socket does. In the few milliseconds of a shot it may move none. A sample that should take a second may
/// take a little less.
const LONG: f64 = 0.9;
/// Bytes a second of the whole machine. With less, a count of 0 may be a small one that its program rounds.
const BUSY: f64 = 1e9;
/// Share of the bytes of the machine that a count needs before the 0 of its sister makes no sense.
const NOTABLE: f64 = 0.01;
/// Bytes a second that an idle socket moves in any case. A source that rounds more than this to 0 writes true zeros.
pub(crate) const IDLE: f64 = 1e6;

/// Marks boxes whose counts cannot be 0, and those that count a part of what others count. Sources that state reads and
/// writes together round to whole GB/s, or count groups of tasks: their 0 may be true.
pub(crate) fn mark(places: &mut BTreeMap<&BoxPlace, Counted>, seconds: f64) {
    let memory = |place: &BoxPlace| matches!(place.kind, BoxKind::Channel | BoxKind::Memory);
    let boxes = || places.iter().filter(|(place, own)| memory(place) && own.bad.is_none());
    let moved: f64 = boxes().map(|(_, own)| total(own)).sum();
    let is_clear = seconds >= LONG && moved >= BUSY * seconds;
    let notable = boxes().filter(|(_, own)| total(own) > NOTABLE * moved).map(|(place, _)| (*place).clone());
    let notable: Vec<BoxPlace> = notable.collect();
    let counts_on = |socket: Option<u32>| notable.iter().any(|other| other.socket == socket);
    for (place, own) in places.iter_mut().filter(|(place, own)| memory(place) && own.bad.is_none()) {
        let place = (*place).clone();
        let has_sister = notable.iter().any(|other| *other != place && kind(other) == kind(&place));
        let is_there = is_there(own.bytes.get(&Of::Clock).copied(), seconds);
        let silent = silent(own, moved, has_sister).filter(|_| is_clear && is_there);
        let part = counts(own).filter(|counts| *counts != CounterSight::Total);
        // Beside channels of its socket that count, one that never counted has no modules: it adds nothing to a sum.
        let never = place.kind == BoxKind::Channel && own.ever.is_empty();
        own.is_empty = never && silent == counts(own) && counts_on(place.socket);
        own.bad = match (silent, part) {
            (Some(counts), _) => Some(CounterMark::Silent { place, counts, beside: moved / seconds }),
            (None, Some(counts)) => Some(CounterMark::Partial { place, counts }),
            (None, None) => None,
        };
    }
}

/// What of a box is 0 and cannot be: all that it counts, beside a sister that counts, or one direction beside the
/// other.
fn silent(own: &Counted, moved: f64, has_sister: bool) -> Option<CounterSight> {
    let may_be_true = |of: Of| own.least > IDLE && own.ever.contains(&of);
    let is_zero = |of: Of| own.bytes.get(&of) == Some(&0.0) && !may_be_true(of);
    let zero = of_both(is_zero(Of::Read), is_zero(Of::Write))?;
    let is_beside = if Some(zero) == counts(own) { has_sister } else { total(own) > NOTABLE * moved };
    is_beside.then_some(zero)
}

/// What sisters have in common: what they are, and the name of their unit without its number.
fn kind(place: &BoxPlace) -> (BoxKind, &str) {
    (place.kind, place.unit.trim_end_matches(|c: char| c.is_ascii_digit()))
}

/// Bytes that were read and written.
fn total(own: &Counted) -> f64 {
    [Of::Read, Of::Write].iter().filter_map(|of| own.bytes.get(of)).sum()
}

/// What of reads and writes is counted; `None` of a box that does not separate them.
fn counts(own: &Counted) -> Option<CounterSight> {
    of_both(own.bytes.contains_key(&Of::Read), own.bytes.contains_key(&Of::Write))
}

fn of_both(reads: bool, writes: bool) -> Option<CounterSight> {
    match (reads, writes) {
        (true, true) => Some(CounterSight::Total),
        (true, false) => Some(CounterSight::Reads),
        (false, true) => Some(CounterSight::Writes),
        (false, false) => None,
    }
}
