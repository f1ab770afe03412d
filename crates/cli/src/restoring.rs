//! What every command that changes the system has in common when changes are taken back.

use tiermark_machine::{Root, start_ticks};
use tiermark_model::{ChangeOutcome, HeldChanges};
use tiermark_undo::{JournalHeader, RootWriter, restore_those};

use crate::output::{complain_once, tell};
use crate::shell;

/// Shows the commands that may be run to stop what was started elsewhere, before any of them is.
pub(crate) fn announce_commands(held: &[HeldChanges]) {
    for command in held.iter().flat_map(|held| &held.commands) {
        tell(format!("tiermark: stop command in a journal: {command}"));
    }
}

/// Takes back what this process changed, after a defect of the program ended what was to take it back.
pub(crate) fn after_panic() {
    let Some(state) = shell::state() else { return };
    let root = Root::live();
    let own = std::process::id();
    let start = start_ticks(&root, own);
    let is_ours = |head: &JournalHeader| head.pid == own && Some(head.start_ticks) == start;
    let restored = restore_those(&state, &mut RootWriter::new(root), &is_ours);
    match restored {
        Ok(restored) if !restored.incomplete() => {}
        Ok(restored) => {
            let left = restored
                .rows
                .iter()
                .filter(|row| row.outcome == ChangeOutcome::Failed || row.outcome == ChangeOutcome::Left);
            left.for_each(|row| tell(format!("tiermark: not taken back: {}", row.what)));
            complain_once(&restored.refused);
            tell("tiermark: `tiermark tune --restore` takes it back");
        }
        Err(refusal) => {
            complain_once([&refusal]);
            tell("tiermark: `tiermark tune --restore` takes back what was changed");
        }
    }
}
