//! The groups in which the help lists the commands.

use std::fmt::Write as _;
use std::io::{self, IsTerminal};

use clap::CommandFactory;

use tiermark_engine::Subject;

use super::{Cli, STYLES};
use crate::experiments;

/// The commands under a heading.
enum Members {
    /// The experiments on a subject.
    Experiments(Subject),
    /// These.
    Named(&'static [&'static str]),
}

/// Headings and the commands under each; every command that is not hidden is in one.
const GROUPS: [(&str, &[Members]); 5] = [
    ("Measure memory", &[Members::Experiments(Subject::Memory)]),
    ("Measure the system and tenants", &[Members::Experiments(Subject::System), Members::Named(&["capacity", "load"])]),
    ("This machine", &[Members::Named(&["doctor", "machine", "watch", "tune", "selftest"])]),
    (
        "Plans and results",
        &[Members::Named(&[
            "run", "plan", "show", "report", "compare", "history", "check", "explain", "fleet", "baseline", "rerun",
            "list", "schema",
        ])],
    ),
    ("Shell", &[Members::Named(&["help", "completions", "man"])]),
];

/// Headings and the names of the commands under each.
fn named() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    let member_names = |members: &Members| match members {
        Members::Experiments(subject) => experiments::names(*subject),
        Members::Named(names) => names.to_vec(),
    };
    GROUPS.iter().map(move |(heading, members)| (*heading, members.iter().flat_map(member_names).collect()))
}

/// Headings, and the names of the commands under each with what each does.
pub(crate) fn described() -> Vec<(&'static str, Vec<(String, String)>)> {
    let command = Cli::command();
    let described = |name: &&str| {
        let about = command.find_subcommand(name)?.get_about().map(ToString::to_string);
        Some(((*name).to_owned(), about.unwrap_or_default()))
    };
    named().map(|(heading, names)| (heading, names.iter().filter_map(described).collect())).collect()
}

/// The one command to start with.
const START: &str = "Start with `tiermark survey`: it takes 40 seconds and changes no setting.";

/// The groups by themselves: what there is, at a glance.
pub(crate) fn overview() -> String {
    let about = Cli::command().get_about().map(ToString::to_string).unwrap_or_default();
    let mut text = format!("{about}.\n{START}\n\n");
    for (heading, names) in named() {
        // The commands that measure memory take two lines.
        let lines: Vec<String> = names.chunks(NAMED_ON_A_LINE).map(|names| names.join(", ")).collect();
        let _ = writeln!(text, "{heading:<20}{}", lines.join(",\n                    "));
    }
    text + "\n`tiermark -h` describes each command, `tiermark COMMAND -h` lists its options."
}

/// Commands that fit on a line of 80 columns, beside the heading.
const NAMED_ON_A_LINE: usize = 6;

/// Columns of the help in a pipe, as of reports; clap takes 100.
const PIPED: usize = 80;

/// The command line with the width of its help: that of the terminal, or what COLUMNS says.
pub(crate) fn command_here() -> clap::Command {
    let is_known = io::stdout().is_terminal() || std::env::var_os("COLUMNS").is_some();
    if is_known { command() } else { command().term_width(PIPED) }
}

/// The command line, with its commands grouped in the help. What only `--help` says is named by `-h`.
pub(crate) fn command() -> clap::Command {
    let command = Cli::command().mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        let after = command.get_after_long_help().map(ToString::to_string);
        let more = after.filter(|_| command.get_after_help().is_none());
        let page = if tiermark_probes::find(&name).is_some() {
            format!(", `tiermark help {name}` its method")
        } else {
            String::new()
        };
        let Some(more) = more else { return command };
        let examples = if more.contains("Examples:") { " and examples" } else { "" };
        command.after_help(format!("`tiermark {name} --help` has all options{examples}{page}."))
    });
    let mut text = String::new();
    for (heading, commands) in described() {
        let header = STYLES.get_header();
        let _ = writeln!(text, "{header}{heading}{header:#}");
        for (name, about) in commands {
            let literal = STYLES.get_literal();
            let _ = writeln!(text, "  {literal}{name:<15}{literal:#}{about}");
        }
    }
    let header = STYLES.get_header();
    // Two lines would say that a command may be left out; a screen has room for one, and for no empty line above it.
    let command = command.override_usage("tiermark [OPTIONS] <COMMAND>");
    command.help_template(format!(
        "{{about}}\n{{usage-heading}} {{usage}}\n{START}\n\n{text}{header}Options{header:#}\n{{options}}{{after-help}}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group_and_on_one_line() {
        let mut grouped: Vec<&str> = named().flat_map(|(_, names)| names).collect();
        let command = Cli::command();
        let mut all: Vec<&str> =
            command.get_subcommands().filter(|c| !c.is_hide_set()).map(clap::Command::get_name).collect();
        grouped.sort_unstable();
        all.sort_unstable();
        assert_eq!(grouped, all);
        let help = super::command().render_help().to_string();
        for line in help.lines().filter(|line| line.starts_with("  ")) {
            assert!(line.chars().count() <= 80, "{line}");
        }
        let overview = overview();
        assert!(overview.lines().all(|line| line.chars().count() <= 80), "{overview}");
        assert!(overview.lines().count() <= 15 && overview.contains("survey"), "{overview}");
    }

    /// `-h` is a screen, not a book: `--help` has the rest.
    #[test]
    fn the_help_of_every_command_fits_a_screen() {
        const LINES: usize = 50;
        const COLUMNS: usize = 80;
        let mut command = super::command().term_width(COLUMNS);
        command.build();
        let own = command.render_help().to_string();
        assert!(own.lines().count() <= LINES, "{own}");
        for sub in command.get_subcommands_mut() {
            let help = sub.render_help().to_string();
            assert!(help.lines().count() <= LINES, "{} lines: {help}", help.lines().count());
            assert!(help.lines().all(|line| line.chars().count() <= COLUMNS), "{help}");
            let whole = sub.render_long_help().to_string();
            assert!(whole.lines().count() >= help.lines().count(), "{whole}");
        }
    }
}
