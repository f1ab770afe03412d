//! Command lines of other tools: `help` answers each with one command, which runs.

use std::collections::BTreeSet;

use crate::common::User;

/// Command lines, each with the command that it is here.
fn lines() -> Vec<(&'static str, &'static str)> {
    let texts = include_str!("../../src/other_tools/lines.txt").lines().filter(|text| !text.starts_with('#'));
    let texts: Vec<&str> = texts.collect();
    texts.chunks(2).map(|pair| (pair[0], pair[1].trim())).collect()
}

/// The first fifty are as the users and manuals of those tools write them.
#[test]
fn help_answers_a_line_with_one_command() {
    let user = User::new();
    for (there, here) in lines().into_iter().take(50) {
        let words: Vec<&str> = ["help"].into_iter().chain(there.split(' ')).collect();
        let out = user.run(&words).expect(0).out;
        let commands: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("    tiermark")).collect();
        assert_eq!(commands, [here.trim_start_matches("tiermark")], "{there}: {out}");
    }
}

/// `load` needs a server, `watch` has nothing to plan, and the simulated server reserves no huge pages.
#[test]
fn the_commands_run_on_a_simulated_server() {
    let user = User::new();
    let all: BTreeSet<&str> = lines().into_iter().map(|(_, here)| here).collect();
    let unplanned = ["no counterpart", "tiermark load", "tiermark watch", "tiermark machine", "tiermark doctor"];
    let is_planned = |here: &&str| !unplanned.iter().any(|command| here.starts_with(command));
    let server = ["--dry-run", "--no-save", "--simulate", "synth:sockets=2,cores=64,smt=2,l3=512M,mem=512G"];
    for here in all.into_iter().filter(is_planned) {
        let here = here.replace("--pages 2M", "--pages thp");
        let words: Vec<&str> = here.split(' ').skip(1).chain(server).collect();
        user.run(&words).expect(0);
    }
}

/// A word of another tool's line is shown as it was typed, and its `-h` is its own.
#[test]
fn words_of_a_line_are_kept() {
    let user = User::new();
    let unknown = user.run(&["help", "Frobnicate", "bs=1M"]).expect(2).err;
    assert!(unknown.contains("no help on 'Frobnicate bs=1M'"), "{unknown}");
    let free = user.run(&["help", "free", "-h"]).expect(0).out;
    assert!(free.contains("    tiermark watch") && !free.contains("Usage"), "{free}");
    let own = user.run(&["help", "mlc", "-h"]).expect(0).out;
    assert!(own.contains("Usage"), "{own}");
}
