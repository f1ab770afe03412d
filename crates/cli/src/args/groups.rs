//! The groups in which the help lists the commands.

use std::fmt::Write as _;

use clap::CommandFactory;

use super::{Cli, STYLES};

/// Headings and the commands under each; every command that is not hidden is in one.
const GROUPS: [(&str, &[&str]); 7] = [
    (
        "Measure memory",
        &[
            "survey",
            "latency",
            "bandwidth",
            "loaded",
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
    ("Plans", &["run", "plan"]),
    ("Tenants", &["capacity", "load"]),
    ("This machine", &["doctor", "machine", "tune", "selftest"]),
    ("Results", &["show", "list", "schema"]),
    ("Shell", &["help", "completions", "man"]),
];

/// The command line, with its commands grouped in the help.
pub(crate) fn command() -> clap::Command {
    let command = Cli::command();
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let header = STYLES.get_header();
        let _ = writeln!(text, "\n{header}{heading}{header:#}");
        for command in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let (literal, about) = (STYLES.get_literal(), command.get_about().map(ToString::to_string));
            let _ = writeln!(text, "  {literal}{:<13}{literal:#}{}", command.get_name(), about.unwrap_or_default());
        }
    }
    let header = STYLES.get_header();
    command.help_template(format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\nStart with `tiermark survey`: it takes a minute and changes no setting.\n\
         {text}\n{header}Options{header:#}\n{{options}}{{after-help}}"
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
        assert!(help.lines().count() <= 60, "{help}");
    }
}
