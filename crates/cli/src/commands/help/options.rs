//! Options as topics: those of the commands here, and those of other tools.

use clap::{Arg, Command};

/// Commands of which an option is listed by name; beyond, their number.
const NAMED: usize = 8;

/// The options of a topic, each with the words before the first of them: of `load -k -d` `["load -k", "load -d"]`.
/// Empty if the topic has at most one option, or is of another program, where a word may be the value of an option.
pub(super) fn several(topic: &str, command: &Command) -> Vec<String> {
    let first = topic.split(' ').next().unwrap_or_default();
    if !first.starts_with('-') && command.find_subcommand(first).is_none() {
        return Vec::new();
    }
    let (options, words): (Vec<&str>, Vec<&str>) = topic.split(' ').partition(|word| word.starts_with('-'));
    let alone = |option: &&str| [&words[..], &[*option]].concat().join(" ");
    if options.len() > 1 { options.iter().map(alone).collect() } else { Vec::new() }
}

/// The option that a topic ends with, and the command before it.
pub(super) fn one(topic: &str) -> Option<(&str, Option<&str>)> {
    let option = topic.split(' ').find(|word| word.starts_with('-'))?;
    Some((option, topic.split(' ').next().filter(|word| *word != option)))
}

/// What an option means here: a line for each meaning, with the commands that have it; of one command where it is
/// named. `None` if no command has it.
pub(super) fn here(option: &str, of: Option<&str>, command: &Command) -> Option<String> {
    let word = option.split('=').next().unwrap_or(option);
    let is = |arg: &&Arg| match word.strip_prefix("--") {
        Some(long) => arg.get_long_and_visible_aliases().is_some_and(|names| names.contains(&long)),
        None => word.chars().eq(arg.get_short().into_iter().fold(vec!['-'], |all, short| [all, vec![short]].concat())),
    };
    let mut meanings: Vec<(String, Vec<&str>)> = Vec::new();
    let is_meant = |sub: &&Command| !sub.is_hide_set() && of.is_none_or(|name| sub.get_name() == name);
    for sub in command.get_subcommands().filter(is_meant) {
        let Some(arg) = sub.get_arguments().filter(|arg| !arg.is_hide_set()).find(is) else { continue };
        let meaning = shown(arg);
        match meanings.iter_mut().find(|(known, _)| *known == meaning) {
            Some((_, commands)) => commands.push(sub.get_name()),
            None => meanings.push((meaning, vec![sub.get_name()])),
        }
    }
    let line = |(meaning, commands): &(String, Vec<&str>)| match commands.len() {
        count if count > NAMED => format!("* {meaning} ({count} commands)"),
        _ => format!("* {meaning} ({})", commands.join(", ")),
    };
    (!meanings.is_empty()).then(|| meanings.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// An option as it is written, and the line of its help.
fn shown(arg: &Arg) -> String {
    let long = arg.get_long().map(|long| format!("--{long}"));
    let names = [arg.get_short().map(|short| format!("-{short}")), long].into_iter().flatten().collect::<Vec<_>>();
    let value = match arg.get_value_names() {
        Some([value, ..]) if arg.get_action().takes_values() => format!(" {value}"),
        _ => String::new(),
    };
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    format!("`{}{value}`: {}", names.join(", "), help.replace('\n', " "))
}

/// All long options of all commands, as they are written.
pub(super) fn all(command: &Command) -> Vec<String> {
    let args = command.get_subcommands().flat_map(Command::get_arguments).filter(|arg| !arg.is_hide_set());
    args.filter_map(|arg| Some(format!("--{}", arg.get_long()?))).collect()
}
