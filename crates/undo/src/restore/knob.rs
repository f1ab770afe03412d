//! Writing back what files held before.

use std::io;
use std::ops::RangeFrom;

use tiermark_model::{Deed, Fate};

use super::deed;
use crate::hands::Hands;
use crate::journal::{Change, Journal};
use crate::syntax::Syntax;

/// Writes back the old values of the journal's knobs from an index on, the newest first. Then looks again: a queue's scheduler, say,
/// changes its length, which came back before it.
pub(crate) fn knobs(journal: &mut Journal, from: RangeFrom<usize>, hands: &mut dyn Hands, force: bool) -> Vec<Deed> {
    let left = journal.left(|change| matches!(change, Change::Knob { .. }).then(|| change.clone()));
    let left: Vec<(usize, Change)> = left.into_iter().filter(|(index, _)| from.contains(index)).collect();
    let mut deeds: Vec<Deed> = left.iter().map(|(_, change)| back(change, hands, force)).collect();
    for (at, (_, change)) in left.iter().enumerate() {
        // Of several changes of one file the oldest has the last word.
        let last = !left[at + 1..].iter().any(|(_, other)| same_file(other, change));
        if deeds[at].fate == Fate::Done && last && !is_back(change, hands) {
            deeds[at] = back(change, hands, true);
        }
    }
    for ((index, _), deed) in left.iter().zip(&deeds) {
        journal.settle(*index, deed.fate);
    }
    deeds
}

fn same_file(a: &Change, b: &Change) -> bool {
    matches!((a, b), (Change::Knob { path: a, .. }, Change::Knob { path: b, .. }) if a == b)
}

/// What a knob says now; `None` where it is not there.
fn now(path: &str, syntax: Syntax, hands: &dyn Hands) -> Result<Option<String>, String> {
    match hands.root().read(path) {
        Ok(None) => Ok(None),
        Ok(Some(text)) => match syntax.parse(&text) {
            Some(reading) => Ok(Some(reading.value)),
            None => Err("what it holds makes no sense".to_owned()),
        },
        Err(why) => Err(why.to_string()),
    }
}

fn is_back(change: &Change, hands: &dyn Hands) -> bool {
    let Change::Knob { path, syntax, old, .. } = change else { return true };
    matches!(now(path, *syntax, hands), Ok(Some(value)) if syntax.same(&value, old))
}

fn back(change: &Change, hands: &mut dyn Hands, force: bool) -> Deed {
    let Change::Knob { path, syntax, old, new } = change else { return deed(change, Fate::Already, None) };
    let value = match now(path, *syntax, hands) {
        Ok(Some(value)) => value,
        Ok(None) => return deed(change, Fate::Gone, Some("it is not there any more".to_owned())),
        Err(why) => return deed(change, Fate::Failed, Some(why)),
    };
    if syntax.same(&value, old) {
        return deed(change, Fate::Already, None);
    }
    if !syntax.same(&value, new) && !force {
        let why = format!("it is {value} by now, which somebody else wrote; --force writes {old} all the same");
        return deed(change, Fate::Left, Some(why));
    }
    if let Err(why) = hands.write(path, old) {
        return deed(change, Fate::Failed, Some(said(&why)));
    }
    match now(path, *syntax, hands) {
        Ok(Some(value)) if syntax.same(&value, old) => deed(change, Fate::Done, None),
        Ok(Some(value)) => deed(change, Fate::Failed, Some(format!("it was written, and is {value}"))),
        Ok(None) => deed(change, Fate::Gone, Some("it is not there any more".to_owned())),
        Err(why) => deed(change, Fate::Failed, Some(why)),
    }
}

/// What the system says, with what to do about it.
pub(super) fn said(why: &io::Error) -> String {
    match why.kind() {
        io::ErrorKind::PermissionDenied => format!("{why}; run as root: sudo tiermark tune --restore"),
        _ => why.to_string(),
    }
}
