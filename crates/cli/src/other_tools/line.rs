//! Command lines of other tools as one command here.

use std::sync::LazyLock;

use clap::Parser;
use tiermark_report::listings::Equivalent;

use super::given::{Given, taken_apart};
use super::values::{Values, bound, filled, is_name, quoted};
use super::{NONE, Part, ROWS, ToolRow, program};
use crate::command_line::{Cli, command};

/// What a command line of another tool is here: one command, and what it leaves out.
#[derive(Debug, Default)]
pub(crate) struct Line {
    command: Made,
    note: String,
    /// Options that are carried over with a difference.
    pub(crate) notes: Vec<(String, String)>,
    /// Words that are not carried over, and why, if the table knows.
    pub(crate) dropped: Vec<(String, String)>,
    /// Whether a word of the line decides what the command is.
    is_decided: bool,
}

impl Line {
    /// The command beside the words that it stands for.
    pub(crate) fn equivalent(&self, there: &[&str]) -> Equivalent {
        let words = self.command.words();
        let here = if words.is_empty() { NONE.to_owned() } else { format!("tiermark {}", quoted(&words)) };
        Equivalent { there: there.join(" "), here, note: self.note.clone() }
    }

    /// The same, with what is not carried over in the note.
    pub(crate) fn whole(&self, there: &[&str]) -> Equivalent {
        let mut row = self.equivalent(there);
        let dropped: Vec<&str> = self.dropped.iter().map(|(text, _)| text.as_str()).collect();
        if !dropped.is_empty() {
            let joint = if row.note.is_empty() { "" } else { "; " };
            row.note = format!("{}{joint}not carried over: {}", row.note, dropped.join(", "));
        }
        row
    }
}

/// Stands before the file that a shell writes the output to, as an option of any command.
pub(super) const INTO: &str = ">";
/// Options that say what is measured. What the line names stands in place of what the command has of itself.
const WORK: [&str; 2] = ["--op", "--mix"];

/// An option of the command, and which of the words there it is from.
#[derive(Debug, Clone)]
struct Choice {
    name: String,
    value: Option<String>,
    from: Option<usize>,
}

/// A command here.
#[derive(Debug, Clone, Default)]
struct Made {
    command: Vec<String>,
    options: Vec<Choice>,
    /// A program to watch.
    program: Vec<String>,
}

impl Made {
    /// A text of the table with its values.
    fn of(template: &str, values: &Values, from: Option<usize>) -> Option<Self> {
        if template == NONE {
            return Some(Self::default());
        }
        let text = filled(template.strip_prefix("tiermark ").unwrap_or(template), values)?;
        let words: Vec<&str> = text.split_whitespace().collect();
        let first = words.iter().position(|word| word.starts_with('-')).unwrap_or(words.len());
        let mut parsed =
            Self { command: words[..first].iter().map(|&word| word.to_owned()).collect(), ..Self::default() };
        for word in &words[first..] {
            match parsed.options.last_mut().filter(|_| !word.starts_with('-') && *word != INTO) {
                Some(option) => option.value = Some((*word).to_owned()),
                None => parsed.options.push(Choice { name: (*word).to_owned(), value: None, from }),
            }
        }
        Some(parsed)
    }

    fn words(&self) -> Vec<String> {
        let options = self.options.iter().flat_map(|option| [Some(&option.name), option.value.as_ref()]).flatten();
        let mut words: Vec<String> = self.command.iter().chain(options).cloned().collect();
        if !self.program.is_empty() {
            words.push("--".to_owned());
            words.extend(self.program.iter().cloned());
        }
        words
    }

    /// Whether its command has an option.
    fn takes(&self, option: &str) -> bool {
        let name = option.split('=').next().unwrap_or(option);
        let is = |arg: &clap::Arg| match name.strip_prefix("--") {
            Some(long) => arg.get_long() == Some(long),
            None => arg.get_short().is_some_and(|short| name == format!("-{short}")),
        };
        let own = self.command.first().and_then(|first| CLI.find_subcommand(first));
        option == INTO || own.is_some_and(|own| own.get_arguments().any(is))
    }

    /// The first of a row's alternatives that this command has all options of.
    fn alternative(&self, fit: &Fit<'_>) -> Option<Vec<Choice>> {
        let each = fit.part.here.split(" | ").filter(|text| text.starts_with('-'));
        each.filter_map(|text| Made::of(text, &fit.values, Some(fit.at)))
            .map(|parsed| parsed.options)
            .find(|options| options.iter().all(|option| self.takes(&option.name)))
    }

    /// Sets an option; returns the word whose value it replaces.
    fn set(&mut self, choice: Choice) -> Option<usize> {
        let is_work = |name: &str| WORK.contains(&name);
        if choice.from.is_some() && is_work(&choice.name) {
            self.options.retain(|known| known.from.is_some() || known.name == choice.name || !is_work(&known.name));
        }
        let Some(known) = self.options.iter_mut().find(|known| known.name == choice.name) else {
            self.options.push(choice);
            return None;
        };
        let is_kept = known.value.as_ref().is_none_or(|old| choice.value.as_ref().is_some_and(|new| new.contains(old)));
        let replaced = std::mem::replace(known, choice);
        replaced.from.filter(|_| !is_kept)
    }

    fn parses(&self) -> bool {
        let options = self.options.iter().filter(|option| option.name != INTO).cloned().collect();
        let own = Self { options, ..self.clone() };
        let words = std::iter::once("tiermark".to_owned()).chain(own.words());
        Cli::try_parse_from(words).is_ok_and(|cli| cli.command.is_some())
    }
}

/// The commands here.
static CLI: LazyLock<clap::Command> = LazyLock::new(|| {
    let mut cli = command();
    cli.build();
    cli
});

/// What a command line of another tool is here; `None` if the table lacks its program.
pub(crate) fn line(words: &[&str]) -> Option<Line> {
    let first = words.iter().position(|word| word.starts_with('-') || !is_assignment(word))?;
    let (variables, rest) = words.split_at(first);
    let Some((row, count)) = program(rest) else {
        // The tool before one of its programs, as `lmbench lat_mem_rd`.
        let is_tool = ROWS.iter().any(|row| row.is_of(rest[0]));
        return if is_tool { line(&rest[1..]) } else { None };
    };
    let (mut given, wrapped) = taken_apart(row, &rest[count..]);
    let is_watch = row.here.starts_with("tiermark watch");
    let measured = if wrapped.is_empty() { None } else { line(&[variables, wrapped].concat()) };
    let measured = measured.filter(|line| !is_watch || line.command.command != ["watch"]);
    if row.wraps && !is_watch && measured.is_none() && (row.here.is_empty() || !wrapped.is_empty()) {
        // Of a program that is in no row, all that is known is how it is run.
        return if row.here.is_empty() { None } else { Some(watched(words)) };
    }
    if measured.is_none() {
        given.splice(0..0, variables.iter().map(|word| Given::of_variable(word)));
    }
    Some(composed(row, &row.here, &given, wrapped, measured))
}

/// A command line that runs a program which no row has.
fn watched(words: &[&str]) -> Line {
    let program = words.iter().map(|&word| word.to_owned()).collect();
    let command = Made { command: vec!["watch".to_owned()], program, ..Made::default() };
    let note = "what memory did in the life of this program".to_owned();
    Line { command, note, ..Line::default() }
}

/// Whether a word sets a variable of the environment, as `OMP_NUM_THREADS=8`.
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()))
}

/// What options of a program are here, without the program: of the first job that has them all, or of the program with
/// as few of its own options as the command needs.
pub(super) fn of_options(row: &'static ToolRow, options: &[&str]) -> Option<Line> {
    let (given, _) = taken_apart(row, options);
    let is_of_the_row = |key: &str| row.rows.iter().flat_map(Part::forms).any(|form| form.key == key);
    given.first().filter(|option| is_of_the_row(option.key))?;
    let jobs = row.rows.iter().filter(|part| part.is_job());
    let jobs = jobs.filter_map(|part| part.here.split(" -").next());
    let ends = row.here.match_indices(" -").map(|(at, _)| at).chain([row.here.len()]);
    let bases = jobs.chain(ends.map(|end| &row.here[..end]));
    let mut all = bases.map(|base| composed(row, base, &given, &[], None));
    let mut line = all.find(|line| line.is_decided && line.dropped.is_empty())?;
    if let Some((_, note)) = line.notes.first() {
        line.note.clone_from(note);
    }
    Some(line)
}

/// A row of a program that fits a word of the line, and all values, with its own first.
struct Fit<'r> {
    part: &'r Part,
    at: usize,
    values: Values,
}

/// The name of an operand that stands for itself, as a value.
const WORD: &str = "WORD";

/// Whether an option is given again: the last counts. Operands with one name in the table count each.
fn is_repeated(given: &[Given<'_>], at: usize) -> bool {
    let key = given[at].key;
    !is_name(key) && given[at + 1..].iter().any(|later| later.key == key)
}

/// The rows of a program that fit what was given, in the order of the table.
fn fitting<'r>(row: &'r ToolRow, given: &[Given<'_>]) -> (Vec<Fit<'r>>, Values) {
    let (mut fits, mut all) = (Vec::new(), row.defaults.clone());
    for part in &row.rows {
        for (at, of) in given.iter().enumerate() {
            let bound = part.forms().find_map(|form| match form.pattern {
                _ if form.key != of.key => None,
                Some(pattern) => bound(pattern, of.value?),
                None if of.key.starts_with('-') => Some(Values::new()),
                None => Some(Values::from([(WORD.to_owned(), of.key.to_owned())])),
            });
            if let Some(values) = bound.filter(|_| !is_repeated(given, at)) {
                all.extend(values.clone());
                fits.push(Fit { part, at, values });
            }
        }
    }
    for fit in &mut fits {
        let own = std::mem::replace(&mut fit.values, all.clone());
        fit.values.extend(own);
    }
    (fits, all)
}

/// Why of two words that each are a command only one is carried over.
const OF_ITS_OWN: &str = "a command of its own: ask for it alone";

/// Which words of a line are carried over, and why others are not.
struct Kept<'a> {
    given: &'a [Given<'a>],
    is: Vec<bool>,
    why: Vec<&'a str>,
}

impl<'a> Kept<'a> {
    fn none_of(row: &'a ToolRow, given: &'a [Given<'a>]) -> Self {
        let twice = if row.twice.is_empty() { "of an option that is given twice the last counts" } else { &row.twice };
        let why = (0..given.len()).map(|at| if is_repeated(given, at) { twice } else { "" }).collect();
        Self { given, is: vec![false; given.len()], why }
    }

    /// Says why a word is not carried over, unless that is known.
    fn explain(&mut self, at: usize, why: &'a str) {
        if self.why[at].is_empty() {
            self.why[at] = why;
        }
    }

    fn dropped(&self) -> Vec<(String, String)> {
        let all = self.given.iter().zip(&self.is).zip(&self.why).filter(|((_, is), _)| !**is);
        all.map(|((given, _), why)| (given.text.clone(), (*why).to_owned())).collect()
    }
}

/// Adds the options of the rows to a command, in their order; what there is to say on those that it has.
fn carried_over<'r>(fits: &[Fit<'r>], line: &mut Line, kept: &mut Kept<'r>) -> Vec<(String, String)> {
    let mut notes = Vec::new();
    for fit in fits.iter().filter(|fit| !fit.part.is_job()) {
        let choices = line.command.alternative(fit);
        let is_same = fit.part.here.split(" | ").any(|text| text == "=");
        if choices.is_some() || is_same {
            kept.is[fit.at] = true;
            notes.push((kept.given[fit.at].text.clone(), fit.part.note.clone()));
        }
        kept.explain(fit.at, &fit.part.note);
        line.is_decided |= choices.is_some();
        for replaced in choices.unwrap_or_default().into_iter().filter_map(|choice| line.command.set(choice)) {
            kept.is[replaced] = replaced == fit.at;
        }
    }
    notes
}

/// One command of a program, what was given to it, and the program that it wraps.
fn composed(row: &'static ToolRow, base: &str, given: &[Given<'_>], wrapped: &[&str], measured: Option<Line>) -> Line {
    let (fits, values) = fitting(row, given);
    let mut kept = Kept::none_of(row, given);
    let is_measured = measured.is_some();
    let mut line = measured.unwrap_or_else(|| Line {
        // A value that cannot be converted is not carried over.
        command: Made::of(base, &values, None).or_else(|| Made::of(base, &row.defaults, None)).unwrap_or_default(),
        note: row.note.clone(),
        ..Line::default()
    });
    let job = fits.iter().rev().filter(|fit| fit.part.is_job() && !is_measured);
    if let Some((fit, made)) = job.filter_map(|fit| Some((fit, Made::of(&fit.part.here, &fit.values, None)?))).next() {
        (line.command, line.is_decided, kept.is[fit.at]) = (made, true, true);
        if !fit.part.note.is_empty() {
            line.note.clone_from(&fit.part.note);
        }
    }
    let watches = line.command.command == ["watch"];
    if is_measured && !watches {
        let with = row.with.as_deref().and_then(|with| Made::of(with, &values, None)).unwrap_or_default();
        with.options.into_iter().for_each(|option| _ = line.command.set(option));
    } else if !is_measured && watches {
        line.command.program = wrapped.iter().map(|&word| word.to_owned()).collect();
    } else if !wrapped.is_empty() && !is_measured {
        line.dropped.push((wrapped.join(" "), String::new()));
    }
    let mut notes = carried_over(&fits, &mut line, &mut kept);
    fits.iter().filter(|fit| fit.part.is_job()).for_each(|fit| kept.explain(fit.at, OF_ITS_OWN));
    while !line.command.parses() {
        let Some(last) = line.command.options.pop() else { break };
        if let Some(from) = last.from {
            (kept.is[from], kept.why[from]) = (false, "not together with the rest");
        }
    }
    let dropped = kept.dropped();
    notes.retain(|(text, note)| !note.is_empty() && !dropped.iter().any(|(of, _)| of == text));
    // The options of a wrapped program belong to its own line.
    line.command.options.iter_mut().for_each(|option| option.from = None);
    line.notes.splice(0..0, notes);
    line.dropped.splice(0..0, dropped);
    line
}
