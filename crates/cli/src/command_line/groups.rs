//! The groups in which the help lists the commands.

use std::fmt::Write as _;

use clap::CommandFactory;

use super::{Cli, STYLES};

/// Headings and the commands under each; every command that is not hidden is in one.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Measure memory",
        &[
            "survey",
            "latency",
            "bandwidth",
            "loaded-latency",
            "scale",
            "matrix",
            "c2c",
            "geometry",
            "tlb",
            "mlp",
            "granularity",
            "residency",
            "background",
        ],
    ),
    ("Measure the system", &["os"]),
    ("Tenants", &["capacity", "load"]),
    ("This machine", &["doctor", "machine", "tune", "selftest"]),
    ("Plans and results", &["run", "plan", "show", "rerun", "list", "schema"]),
    ("Shell", &["help", "completions", "man"]),
];

/// The one command to start with.
const START: &str = "Start with `tiermark survey`: it takes a minute and changes no setting.";

/// The groups by themselves: what there is, at a glance.
pub(crate) fn overview() -> String {
    let about = Cli::command().get_about().map(ToString::to_string).unwrap_or_default();
    let mut text = format!("{about}.\n{START}\n\n");
    for (heading, names) in GROUPS {
        // The commands that measure memory take two lines.
        let lines: Vec<String> = names.chunks(NAMED_ON_A_LINE).map(|names| names.join(", ")).collect();
        let _ = writeln!(text, "{heading:<20}{}", lines.join(",\n                    "));
    }
    text + "\n`tiermark -h` describes each command, `tiermark COMMAND -h` lists its options."
}

/// Commands that fit on a line of 80 columns, beside the heading.
const NAMED_ON_A_LINE: usize = 6;

/// The command line, with its commands grouped in the help. What only `--help` says is named by `-h`.
pub(crate) fn command() -> clap::Command {
    let command = Cli::command().mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        let more = command.get_after_long_help().is_some() && command.get_after_help().is_none();
        let page = if tiermark_probes::find(&name).is_some() {
            format!(", `tiermark help {name}` its method")
        } else {
            String::new()
        };
        if more {
            command.after_help(format!("`tiermark {name} --help` has all options and examples{page}."))
        } else {
            command
        }
    });
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let header = STYLES.get_header();
        let _ = writeln!(text, "{header}{heading}{header:#}");
        for command in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let (literal, about) = (STYLES.get_literal(), command.get_about().map(ToString::to_string));
            let _ = writeln!(text, "  {literal}{:<15}{literal:#}{}", command.get_name(), about.unwrap_or_default());
        }
    }
    let header = STYLES.get_header();
    command.help_template(format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{START}\n\n{text}{header}Options{header:#}\n{{options}}{{after-help}}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group_and_on_one_line() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
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
        assert!(overview.lines().count() <= 15 && overview.contains("tiermark survey"), "{overview}");
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
