//! Reading a plan file: TOML whose experiments are commands, each key a long option.

use std::fmt;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser};
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use crate::args::{Cli, Command};

/// Options that belong to the whole run and not to one of its experiments.
const OF_THE_RUN: [&str; 19] = [
    "csv",
    "format",
    "json",
    "jsonl",
    "hmat",
    "no-save",
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
    "nice",
    "simulate",
];
/// Keys of an experiment that are no options.
const PROBE: &str = "probe";
const NOTE: &str = "note";

/// A plan as read.
#[derive(Debug)]
pub(crate) struct PlanFile {
    /// Its name, by which it is run and listed.
    pub(crate) name: String,
    /// One line.
    pub(crate) title: String,
    /// A page for people: what is asked, what the original did, what to look for.
    pub(crate) about: String,
    /// What is measured, in the order in which it is done.
    pub(crate) experiments: Vec<Planned>,
}

/// One experiment of a plan.
#[derive(Debug)]
pub(crate) struct Planned {
    /// Id of its probe.
    pub(crate) probe: String,
    /// The command it stands for, ready to run.
    pub(crate) command: Command,
    /// The same in words, as one would type it.
    pub(crate) line: String,
    /// What it is there for.
    pub(crate) note: Option<String>,
}

/// A mistake in a plan file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    /// Line, from 1; 0 where the whole file is meant.
    pub(crate) line: usize,
    /// What is wrong, and what to write instead.
    pub(crate) text: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 { f.write_str(&self.text) } else { write!(f, "line {}: {}", self.line, self.text) }
    }
}

/// Reads a plan.
///
/// # Errors
/// The first [`Mistake`], with line, key and a suggestion.
pub(crate) fn read(text: &str) -> Result<PlanFile, Mistake> {
    let at = |offset: usize| 1 + text.get(..offset).unwrap_or(text).matches('\n').count();
    let table = DeTable::parse(text).map_err(|error| Mistake {
        line: error.span().map_or(0, |span| at(span.start)),
        text: error.message().to_owned(),
    })?;
    let (mut name, mut title, mut about, mut list) = (None, None, None, None);
    for (key, value) in table.get_ref() {
        let word =
            || string(value.get_ref()).ok_or_else(|| wrong(at(value.span().start), key.get_ref(), "a text in quotes"));
        match key.get_ref().as_ref() {
            "name" => name = Some(word()?),
            "title" => title = Some(word()?),
            "about" => about = Some(word()?),
            "experiment" => list = Some(value),
            other => {
                let near = nearest(other, &["name", "title", "about", "experiment"]);
                return Err(Mistake { line: at(key.span().start), text: format!("unknown key '{other}'{near}") });
            }
        }
    }
    let whole = |what: &str| Mistake { line: 0, text: format!("the plan has no {what}") };
    let list = list.ok_or_else(|| whole("[[experiment]]"))?;
    let DeValue::Array(list) = list.get_ref() else {
        return Err(Mistake { line: at(list.span().start), text: "write each experiment as [[experiment]]".into() });
    };
    let experiments = list.iter().map(|entry| experiment(entry, &at)).collect::<Result<Vec<_>, _>>()?;
    if experiments.is_empty() {
        return Err(whole("[[experiment]]"));
    }
    Ok(PlanFile {
        name: name.filter(|n| !n.trim().is_empty()).ok_or_else(|| whole("name"))?,
        title: title.ok_or_else(|| whole("title"))?,
        about: about.unwrap_or_default(),
        experiments,
    })
}

fn experiment(entry: &Spanned<DeValue<'_>>, at: &dyn Fn(usize) -> usize) -> Result<Planned, Mistake> {
    let start = at(entry.span().start);
    let DeValue::Table(table) = entry.get_ref() else {
        return Err(Mistake { line: start, text: "write each experiment as [[experiment]]".into() });
    };
    let probe = table.iter().find(|(key, _)| key.get_ref() == PROBE);
    let Some((key, value)) = probe else {
        return Err(Mistake { line: start, text: "the experiment has no probe; write probe = \"latency\"".into() });
    };
    let probe = string(value.get_ref()).ok_or_else(|| wrong(at(key.span().start), PROBE, "a text in quotes"))?;
    let known: Vec<&str> = tiermark_probes::all().iter().map(|p| p.about().id).collect();
    if !known.contains(&probe.as_str()) {
        let text = format!(
            "probe = \"{probe}\": there is no such probe{}; `tiermark list probes` shows all",
            nearest(&probe, &known)
        );
        return Err(Mistake { line: at(value.span().start), text });
    }
    let (mut words, mut note) = (vec![probe.clone()], None);
    for (key, value) in table.iter().filter(|(key, _)| key.get_ref() != PROBE) {
        let (line, name) = (at(key.span().start), key.get_ref().as_ref());
        if name == NOTE {
            note = Some(string(value.get_ref()).ok_or_else(|| wrong(line, NOTE, "a text in quotes"))?);
            continue;
        }
        if OF_THE_RUN.contains(&name) {
            return Err(Mistake {
                line,
                text: format!("{name}: belongs to the whole run: `tiermark run PLAN --{name}`"),
            });
        }
        words.extend(
            option(name, value.get_ref())
                .ok_or_else(|| wrong(line, name, "a text, a number, true, false or a list"))?,
        );
        // Each key is tried as it comes, so that a mistake is the last one's.
        parse(&words).map_err(|why| Mistake { line, text: format!("{name}: {why}") })?;
    }
    let command = parse(&words).map_err(|why| Mistake { line: start, text: why })?;
    Ok(Planned { probe, command, line: shown(&words), note })
}

/// The words of a long option; none for `false`.
fn option(name: &str, value: &DeValue<'_>) -> Option<Vec<String>> {
    let option = format!("--{name}");
    match value {
        DeValue::Boolean(true) => Some(vec![option]),
        DeValue::Boolean(false) => Some(Vec::new()),
        DeValue::Array(items) => {
            let items = items.iter().map(|item| scalar(item.get_ref())).collect::<Option<Vec<String>>>()?;
            // An item that is a list itself is an option of its own: several interleavings, several weightings.
            if items.iter().any(|item| item.contains(',')) {
                return Some(items.iter().map(|item| format!("{option}={item}")).collect());
            }
            Some(vec![format!("{option}={}", items.join(","))])
        }
        other => scalar(other).map(|value| vec![format!("{option}={value}")]),
    }
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

fn string(value: &DeValue<'_>) -> Option<String> {
    if let DeValue::String(text) = value { Some(text.to_string()) } else { None }
}

/// The command of some words, or in one sentence why it is none.
fn parse(words: &[String]) -> Result<Command, String> {
    let name = Cli::command().get_name().to_owned();
    let cli = Cli::try_parse_from(std::iter::once(&name).chain(words)).map_err(|error| said(&error))?;
    cli.command.ok_or_else(|| "it names no command".to_owned())
}

/// An error of the command line as one of a plan: its first line and what it suggests, without the dashes of options.
fn said(error: &clap::Error) -> String {
    let rendered = error.render().to_string();
    let first = rendered.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    let suggested = match error.get(ContextKind::SuggestedArg).or_else(|| error.get(ContextKind::SuggestedValue)) {
        Some(ContextValue::String(one)) => Some(one.clone()),
        Some(ContextValue::Strings(many)) => many.first().cloned(),
        _ => None,
    };
    let near = suggested.map_or_else(String::new, |word| format!("; did you mean '{}'?", word.trim_start_matches('-')));
    format!("{}{near}", first.replace("'--", "'"))
}

/// A command as one would type it.
fn shown(words: &[String]) -> String {
    words.iter().map(|word| word.replacen('=', " ", 1)).collect::<Vec<_>>().join(" ")
}

fn wrong(line: usize, key: &str, wanted: &str) -> Mistake {
    Mistake { line, text: format!("{key}: write {wanted}") }
}

/// A suggestion, where a known word is near.
pub(crate) fn nearest(word: &str, known: &[&str]) -> String {
    let near = known.iter().min_by_key(|name| crate::parse::edits(word, name));
    // Where half of the letters differ it is another word.
    let near = near.filter(|name| 2 * crate::parse::edits(word, name) <= name.len());
    near.map_or_else(String::new, |name| format!("; did you mean '{name}'?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "name = \"a\"\ntitle = \"b\"\n[[experiment]]\nprobe = \"latency\"\nsizes = [\"2K\", 4096]\nlayout = \"random\"\nquick = true\n";

    #[test]
    fn an_experiment_is_a_command() {
        let plan = read(GOOD).unwrap();
        assert_eq!(plan.experiments[0].line, "latency --layout random --quick --sizes 2K,4096");
        assert!(matches!(&plan.experiments[0].command, Command::Latency(args) if args.quick && args.sizes.len() == 2));
    }

    #[test]
    fn a_list_of_lists_is_an_option_each() {
        let weights = GOOD
            .replace("latency", "matrix")
            .replace("layout = \"random\"\n", "")
            .replace("sizes = [\"2K\", 4096]", "weighted-interleave = [\"0:3,1:1\", \"0:1,1:3\"]");
        let plan = read(&weights).unwrap();
        assert_eq!(
            plan.experiments[0].line,
            "matrix --quick --weighted-interleave 0:3,1:1 --weighted-interleave 0:1,1:3"
        );
    }

    #[test]
    fn what_belongs_to_the_run_is_an_option_of_it() {
        let command = Cli::command();
        let run = command.find_subcommand("run").expect("run is a command");
        for name in OF_THE_RUN {
            let of = |command: &clap::Command| command.get_arguments().any(|arg| arg.get_long() == Some(name));
            assert!(of(run) || of(&command), "`tiermark run PLAN --{name}` is no option");
            let mistake = read(&GOOD.replace("quick = true", &format!("{name} = \"x\""))).expect_err(name);
            assert!(mistake.line == 7 && mistake.text.contains(&format!("tiermark run PLAN --{name}`")), "{mistake}");
        }
    }

    #[test]
    fn mistakes_are_told_with_line_key_and_suggestion() {
        let cases = [
            ("quick = true", "sises = \"2K\"", 7, "sises: ", "did you mean 'sizes'"),
            ("sizes = [\"2K\", 4096]", "sizes = \"1.3\"", 5, "sizes: ", "whole"),
            ("probe = \"latency\"", "probe = \"latencie\"", 4, "probe = ", "did you mean 'latency'"),
            ("title = \"b\"", "titel = \"b\"", 2, "unknown key 'titel'", "did you mean 'title'"),
            ("quick = true", "json = \"-\"", 7, "json: ", "tiermark run PLAN --json"),
            ("quick = true", "quick = 1979-05-27", 7, "quick: ", "write"),
            ("quick = true", "quick = ", 7, "", ""),
            ("probe = \"latency\"\n", "", 3, "no probe", "probe = \"latency\""),
        ];
        for (good, bad, line, key, cure) in cases {
            let mistake = read(&GOOD.replace(good, bad)).expect_err(bad);
            assert_eq!(mistake.line, line, "{bad}: {mistake}");
            assert!(mistake.text.contains(key) && mistake.text.contains(cure), "{bad}: {mistake}");
        }
        for (text, word) in [
            ("", "[[experiment]]"),
            ("title = 1", "a text in quotes"),
            ("experiment = []\ntitle=\"\"\nname=\"x\"", "no [[experiment]]"),
        ] {
            assert!(read(text).unwrap_err().text.contains(word), "{text}");
        }
    }
}
