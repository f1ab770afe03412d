//! The keys of a plan file: those of the plan, and of each probe's experiments the long options of its command.

use std::collections::BTreeMap;
use std::error::Error as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command as Definition, CommandFactory, Parser};
use tiermark_model::Note;
use tiermark_model::messages::files as says;
use toml::de::{DeInteger, DeValue};

use crate::command_line::{Cli, Command};
use crate::experiments::Measure;

/// Options that belong to the whole run and not to one of its experiments.
pub(super) const OF_THE_RUN: [&str; 23] = [
    "csv",
    "format",
    "json",
    "jsonl",
    "html",
    "no-save",
    "label",
    "at",
    "quiet",
    "no-progress",
    "color",
    "width",
    "ascii",
    "units",
    "verbose",
    "dry-run",
    "strict",
    "allow-partial",
    "force",
    "wait",
    "nice",
    "seed",
    "simulate",
];

/// Keys of a plan, their types and their meaning.
pub(super) const OF_A_PLAN: [(&str, &str, &str); 6] = [
    ("name", "text, required", "The name under which its runs are listed"),
    ("title", "text, required", "A description in one line"),
    ("about", "text", "A page for readers: the question, and what to look for in the results"),
    ("machine", "true or false", "Show the machine before the numbers: topology, memory modules, distances of nodes"),
    ("published", "table", "Published figures to show beside those of the run: machine, and [[published.figure]]"),
    (EXPERIMENT, "table, one or more", "Written [[experiment]]; they run in the order of the file"),
];
/// The probe of an experiment, and a remark on it: its keys that are no options.
pub(super) const PROBE: &str = "probe";
pub(super) const NOTE: &str = "note";
/// The list of experiments.
pub(super) const EXPERIMENT: &str = "experiment";

/// Ids of all probes.
pub(super) fn probes() -> Vec<&'static str> {
    tiermark_probes::all().iter().map(|p| p.id).collect()
}

/// The options of a probe's command that may be keys of its experiments.
pub(super) struct Keys {
    command: Definition,
}

impl Keys {
    /// Keys of a probe.
    pub(super) fn of(probe: &str) -> Self {
        let command = Cli::command().find_subcommand(probe).cloned().unwrap_or_default();
        Self { command }
    }

    /// All options that may be keys.
    fn all(&self) -> impl Iterator<Item = &Arg> {
        let is_key = |arg: &&Arg| {
            !arg.is_hide_set() && arg.get_long().is_some_and(|name| name != "help" && !OF_THE_RUN.contains(&name))
        };
        self.command.get_arguments().filter(is_key)
    }

    /// The names of all keys.
    pub(super) fn names(&self) -> Vec<&str> {
        self.all().filter_map(Arg::get_long).collect()
    }

    /// Whether a key is one of them, by its name or by one that it had before.
    pub(super) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn find(&self, name: &str) -> Option<&Arg> {
        let has_alias = |arg: &Arg| arg.get_all_aliases().is_some_and(|all| all.contains(&name));
        self.all().find(|arg| arg.get_long() == Some(name) || has_alias(arg))
    }

    /// The words of a key's option with a value; none for a flag that is false.
    ///
    /// # Errors
    /// What to write instead.
    pub(super) fn words(&self, name: &str, value: &DeValue<'_>) -> Result<Vec<String>, Note> {
        let arg = self.find(name);
        let option = format!("--{}", arg.and_then(Arg::get_long).unwrap_or(name));
        let takes_value = arg.is_some_and(takes_value);
        // Such an option takes one thing, and is written again for another: several interleavings, several weightings.
        let again =
            arg.is_some_and(|arg| matches!(arg.get_action(), ArgAction::Append) && arg.get_value_delimiter().is_none());
        match value {
            DeValue::Boolean(set) if !takes_value => Ok(if *set { vec![option] } else { Vec::new() }),
            _ if !takes_value => Err(says::flag_wanted()),
            DeValue::Array(items) if items.is_empty() => Err(says::list_empty()),
            DeValue::Array(items) => {
                let texts = items.iter().all(|item| string(item.get_ref()).is_some());
                let items = items.iter().map(|item| scalar(item.get_ref())).collect::<Option<Vec<String>>>();
                let items = items.ok_or_else(says::list_items_wrong)?;
                // Numbers are one thing together: the nodes of one interleaving.
                if again && texts {
                    return Ok(items.iter().map(|item| format!("{option}={item}")).collect());
                }
                Ok(vec![format!("{option}={}", items.join(","))])
            }
            other => {
                let value = scalar(other).ok_or_else(says::option_value_wrong)?;
                Ok(vec![format!("{option}={value}")])
            }
        }
    }
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Integer(number) => Some(decimal(number)?.to_string()),
        other => string(other),
    }
}

fn decimal(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// The text of a value that is one.
pub(super) fn string(value: &DeValue<'_>) -> Option<String> {
    if let DeValue::String(text) = value { Some(text.to_string()) } else { None }
}

/// Why some words are no command.
#[derive(Debug)]
pub(super) struct NoCommand {
    /// The key that is to blame, where one is.
    pub(super) key: Option<String>,
    /// Why the words are no command.
    pub(super) why: Note,
}

/// The experiment of some words.
///
/// # Errors
/// Why the words are no experiment.
pub(super) fn parse(words: &[String]) -> Result<Box<Measure>, NoCommand> {
    let name = Cli::command().get_name().to_owned();
    let parsed = Cli::try_parse_from(std::iter::once(&name).chain(words));
    let cli = parsed.map_err(|error| NoCommand { key: blamed(&error), why: value_error(&error) })?;
    match cli.command {
        Some(Command::Measure(measure)) => Ok(measure),
        _ => Err(NoCommand { key: None, why: says::no_experiment() }),
    }
}

/// The key that an error of the command line is about.
fn blamed(error: &clap::Error) -> Option<String> {
    context(error, ContextKind::InvalidArg).map(|arg| bare(&arg))
}

/// The name of an option as errors write it: `--pages <LIST>`.
fn bare(option: &str) -> String {
    option.trim_start_matches('-').split([' ', '=']).next().unwrap_or_default().to_owned()
}

fn context(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(one) => Some(one.clone()),
        ContextValue::Strings(many) => Some(many.join(", ")),
        _ => None,
    }
}

/// An error of the command line as one of a key's value.
fn value_error(error: &clap::Error) -> Note {
    let value = context(error, ContextKind::InvalidValue).unwrap_or_default();
    match error.kind() {
        ErrorKind::ValueValidation => {
            let why = error.source().map_or_else(|| "not understood".to_owned(), ToString::to_string);
            says::option_refused(&value, &why)
        }
        ErrorKind::InvalidValue => {
            says::option_choice_unknown(&value, context(error, ContextKind::ValidValue).as_deref())
        }
        ErrorKind::ArgumentConflict => {
            says::keys_conflict(context(error, ContextKind::PriorArg).map(|other| bare(&other)).as_deref())
        }
        _ => {
            let rendered = error.render().to_string();
            let first = rendered.lines().next().unwrap_or_default().trim_start_matches("error: ");
            says::value_refused(&first.replace("'--", "'"))
        }
    }
}

/// A page of all keys, for people: of a plan, of every experiment, and of each probe's.
pub(crate) fn page() -> String {
    let mut page =
        "A plan is a TOML file. A number may be written with or without quotes, a list also as one text with commas.\n"
            .to_owned();
    page.push_str("\nA plan:\n");
    OF_A_PLAN.iter().for_each(|(name, takes, what)| line(&mut page, name, takes, what));
    page.push_str("\nEvery [[experiment]]:\n");
    line(&mut page, PROBE, "text, required", "What is measured: the name of a probe (`tiermark list probes`)");
    line(&mut page, NOTE, "text", "A remark, for people");
    let all: Vec<(&str, Keys)> = probes().into_iter().map(|probe| (probe, Keys::of(probe))).collect();
    let is_common = |name: &str| all.iter().all(|(_, keys)| keys.names().contains(&name));
    let help = |arg: &Arg| arg.get_help().map(ToString::to_string).unwrap_or_default();
    // The description that most probes give of a key: some describe efforts in their own words.
    let usual_help = |name: &str| {
        let texts = all.iter().flat_map(|(_, keys)| keys.all().filter(|arg| arg.get_long() == Some(name)).map(help));
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        texts.for_each(|text| *counts.entry(text).or_default() += 1);
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(text, _)| text).unwrap_or_default()
    };
    let lines = |page: &mut String, keys: &Keys, common: bool| {
        for arg in keys.all() {
            let name = arg.get_long().unwrap_or_default();
            if is_common(name) == common {
                line(page, name, kind(arg), &if common { usual_help(name) } else { help(arg) });
            }
        }
    };
    if let Some((_, first)) = all.first() {
        lines(&mut page, first, true);
    }
    for (probe, keys) in &all {
        if keys.names().iter().any(|name| !is_common(name)) {
            page.push_str(&format!("\nExperiments of {probe} also:\n"));
            lines(&mut page, keys, false);
        }
    }
    page
}

/// The type of a key's value.
fn kind(arg: &Arg) -> &'static str {
    match arg.get_action() {
        action if !action.takes_values() => "true or false",
        ArgAction::Append => "list",
        _ if arg.get_value_delimiter().is_some() => "list",
        _ => "text",
    }
}

fn line(page: &mut String, name: &str, takes: &str, what: &str) {
    page.push_str(&format!("  {name:<20} {takes:<18}  {what}\n"));
}
