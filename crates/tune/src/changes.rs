//! From advice to the files that have to be written for it.

use tiermark_model::{KnobRow, Reach, Standing};
use tiermark_undo::KnobChange;

use crate::knob::{Knob, KnobSource};

/// The services to stop so that everything is as advised.
pub fn services<'k>(rows: &[KnobRow], knobs: impl IntoIterator<Item = &'k Knob>) -> Vec<&'k str> {
    let differs = |knob: &Knob| {
        let is_advised = |row: &&KnobRow| row.name == knob.name && row.standing == Standing::Differs;
        rows.iter().find(is_advised).is_some_and(|row| row.advice.as_deref() == Some("stopped"))
    };
    let service = |knob: &'k Knob| match &knob.source {
        KnobSource::Service(unit) if differs(knob) => Some(unit.as_str()),
        _ => None,
    };
    knobs.into_iter().filter_map(service).collect()
}

/// The files to write so that everything is as advised: of knobs that can be changed at once, and of devices only where
/// named.
pub fn changes<'k>(rows: &[KnobRow], knobs: impl IntoIterator<Item = &'k Knob>) -> Vec<KnobChange> {
    let knobs: Vec<&Knob> = knobs.into_iter().collect();
    let wanted = rows.iter().filter(|row| row.standing == Standing::Differs && row.reach == Reach::Live);
    let row_changes = |row: &KnobRow| -> Option<Vec<KnobChange>> {
        let knob = knobs.iter().find(|knob| knob.name == row.name)?;
        if !matches!(knob.source, KnobSource::File(_) | KnobSource::Block(_)) {
            return None;
        }
        let (old, new) = (row.value.clone()?, row.advice.clone()?);
        let change = |path: &String| KnobChange {
            name: row.name.clone(),
            path: path.clone(),
            syntax: knob.syntax,
            old: old.clone(),
            new: new.clone(),
        };
        Some(row.files.iter().map(change).collect())
    };
    wanted.filter_map(row_changes).flatten().collect()
}
