//! The page of scenario files, made of the parser's definitions and of the options of `capacity`.

use clap::Command;
use tiermark_capacity::scenario::{KeyRow, Unnamed, built_in, reference};

/// The topic of the file of a capacity run.
pub(super) const TOPIC: &str = "scenario";

/// Keys whose option has another name: the key, and the option.
const RENAMED: [(&str, &str); 9] = [
    ("targets", "target"),
    ("value", "value-size"),
    ("rate", "rps"),
    ("mixes", "gets"),
    ("keys", "key-dist"),
    ("warm-up", "warmup"),
    ("limits", "level"),
    ("trial-seconds", "trial-time"),
    ("total-seconds", "max-time"),
];

/// The option of `capacity` that replaces a key; `None` if only the file has it.
fn option(row: &KeyRow, command: &Command) -> Option<String> {
    let renamed = RENAMED.iter().find(|(key, _)| *key == row.name).map(|(_, option)| *option);
    let name = renamed.unwrap_or(&row.name);
    let has = |capacity: &Command| capacity.get_arguments().any(|arg| arg.get_long() == Some(name));
    command.find_subcommand("capacity").filter(|capacity| has(capacity)).map(|_| format!("--{name}"))
}

/// The reference of scenario files, as the parser reads them.
pub(super) fn page(command: &Command) -> String {
    let mut page = String::from(
        "# scenario: the file of `tiermark capacity --scenario FILE`\n\n\
         A scenario is a TOML file: tenants, their load, the service level, the tiers to compare. `tiermark capacity \
         --list` lists the scenarios that are built in; `tiermark capacity --scenario mini --dry-run > mine.toml` \
         writes one as a file. `--set TABLE.KEY=VALUE` replaces the value of a key (`--set load.connections=4`). The \
         option of `capacity` shown beside a key does the same. A size is a number of bytes, or text such as \"512M\" \
         (K, M, G are powers of 1024).\n",
    );
    let mut table = None;
    for row in reference() {
        if table != Some(row.table) {
            table = Some(row.table);
            let title = if row.table.is_empty() { "Before all tables".to_owned() } else { format!("[{}]", row.table) };
            page.push_str(&format!("\n## {title}\n\n"));
        }
        let option = option(&row, command).map_or_else(String::new, |option| format!("; {option}"));
        let unnamed = match row.unnamed {
            Unnamed::Required => "required".to_owned(),
            Unnamed::Value(value) => format!("default {value}"),
            Unnamed::Unset => "optional".to_owned(),
        };
        page.push_str(&format!("* `{}` ({}; {unnamed}{option}): {}\n", row.name, row.form, row.about));
    }
    let example = built_in().iter().find(|(name, _)| *name == "cache").map_or("", |(_, text)| *text);
    page.push_str(&format!(
        "\n## An example\n\nThe built-in scenario `cache`:\n\n```toml\n{}\n```\n",
        example.trim_end()
    ));
    page
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use tiermark_capacity::scenario::Scenario;

    use super::*;
    use crate::command_line::{self, Cli};

    /// The keys in which two scenarios differ.
    fn changed(arguments: &[&str]) -> Vec<String> {
        let mini = built_in().iter().find(|(name, _)| *name == "mini").unwrap().1;
        let before = Scenario::read(mini).unwrap();
        let mut after = before.clone();
        let all = [&["tiermark", "capacity", "--scenario", "mini"], arguments].concat();
        let Some(command_line::Command::Capacity(args)) = Cli::try_parse_from(all).unwrap().command else { panic!() };
        args.change(&mut after);
        let lines = |scenario: &Scenario| -> Vec<String> {
            let text = toml::to_string(scenario).unwrap();
            // Lists stand in one line each.
            text.lines().map(str::to_owned).collect()
        };
        let before = lines(&before);
        let other = lines(&after).into_iter().filter(|line| !before.contains(line));
        other.filter_map(|line| Some(line.split_once(" = ")?.0.to_owned())).collect()
    }

    #[test]
    fn the_option_at_a_key_replaces_it() {
        let values = [
            ("targets", "host:1"),
            ("value", "3K"),
            ("rate", "77"),
            ("mixes", "33"),
            ("keys", "zipf:0.9"),
            ("warm-up", "7"),
            ("limits", "p99<3s"),
            ("trial-seconds", "77"),
            ("total-seconds", "77"),
        ];
        let mut command = command_line::command();
        command.build();
        let rows = reference();
        for (key, value) in values {
            let row = rows.iter().find(|row| row.name == key).unwrap();
            let option = option(row, &command).unwrap();
            assert_eq!(changed(&[option.as_str(), value]), [key], "{option}");
        }
        assert_eq!(values.len(), RENAMED.len());
    }
}
