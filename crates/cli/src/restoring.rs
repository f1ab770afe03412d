//! Code that every command that changes the system shares for taking changes back.

use tiermark_machine::Root;
use tiermark_model::HeldChanges;
use tiermark_undo::{RootWriter, restore_own};

use crate::environment;
use crate::output::{complain_once, tell};

/// Shows the stop commands of servers elsewhere, before any of them is run.
pub(crate) fn announce_commands(held: &[HeldChanges]) {
    for command in held.iter().flat_map(|held| &held.commands) {
        tell(format!("tiermark: stop command in a journal: {command}"));
    }
}

/// Takes back the changes of this process, after a defect of the program ended the code that should have.
pub(crate) fn after_panic() {
    let Some(state) = environment::state() else { return };
    match restore_own(&state, &mut RootWriter::new(Root::live())) {
        Ok(restored) if !restored.incomplete() => {}
        Ok(restored) => {
            let left = restored.rows.iter().filter(|row| row.stays());
            left.for_each(|row| tell(format!("tiermark: not taken back: {}", row.summary())));
            complain_once(&restored.refused);
            tell("tiermark: `tiermark tune --restore` takes it back");
        }
        Err(refusal) => {
            complain_once([&refusal]);
            tell("tiermark: `tiermark tune --restore` takes the changes back");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;
    use std::{env, fs};

    use tiermark_model::Exit;
    use tiermark_undo::{Change, Journal, JournalHeader};

    use super::*;

    /// In a process of its own, whose environment names the directory of journals, and a file there that belongs to a
    /// tier.
    #[test]
    fn a_panic_takes_back_what_was_changed() {
        const FILE: &str = "TIERMARK_TEST_FILE";
        if let Some(file) = env::var_os(FILE) {
            let exit = crate::undone_by_panic(|| {
                let root = Root::live();
                let head = JournalHeader::new(&root, "a test", "2026-11-24T12:00:00Z");
                let mut journal = Journal::create(&environment::state().unwrap(), head).unwrap();
                let path = file.to_str().unwrap().trim_start_matches('/');
                // Started by this process: no check is needed to know that it runs.
                let command = Change::Command {
                    stop: format!("touch '/{path}.stopped'"),
                    what: "tenant 1".to_owned(),
                    check: None,
                    own: false,
                };
                journal.note(vec![Change::swap_file(path, &root), command]).unwrap();
                fs::write(&file, "of a tier").unwrap();
                panic!("a defect");
            });
            assert_eq!((exit, Path::new(&file).exists()), (Exit::Failure, false));
            return;
        }
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("tiermark.swap");
        let stopped = home.path().join("tiermark.swap.stopped");
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "restoring::tests::a_panic_takes_back_what_was_changed", "--nocapture"]);
        command.env("TIERMARK_STATE", home.path()).env(FILE, &file);
        // Another program may hold the lock of the system for a while: then there is no journal, and nothing to take
        // back.
        for _ in 0..60 {
            let output = command.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            if stopped.exists() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
        fs::remove_file(&stopped).unwrap();
        let left = fs::read_dir(home.path()).unwrap().flatten().map(|entry| entry.file_name());
        assert!(left.into_iter().all(|name| name == "lock"), "a journal is left");
    }
}
