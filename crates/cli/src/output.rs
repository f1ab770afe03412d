//! Standard output and standard error: results on the one, everything else on the other.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use tiermark_history::lines::{temporary_beside, write_whole};
use tiermark_model::{Document, Exit, Refusal, Warning};
use tiermark_page::{Detail, Page, RateUnit, Style, terminal};

use crate::args::{ColorChoice, RunArgs, Units, View};
use crate::sanitise;

/// Why a command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader of the output has closed the pipe.
    BrokenPipe,
    /// The request cannot be carried out here.
    Refused(Refusal),
    /// Mistakes in the arguments or files, a sentence each.
    Mistakes(Vec<String>),
    /// All problems of a run before it begins: mistakes in the input, and refusals of this machine.
    Wrong(Vec<String>, Vec<Refusal>),
    /// One sentence, and the exit code that goes with it.
    Exit(Exit, String),
}

impl Failure {
    /// A failure inside the tool or the run.
    pub(crate) fn tool(text: impl fmt::Display) -> Self {
        Self::Exit(Exit::Failure, text.to_string())
    }

    /// Bad usage that only shows once the machine is known.
    pub(crate) fn usage(text: impl fmt::Display) -> Self {
        Self::Exit(Exit::Usage, text.to_string())
    }
}

impl fmt::Display for Failure {
    /// All of it in one line, as of one of several documents.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BrokenPipe => f.write_str("the reader closed the pipe"),
            Self::Refused(refusal) => write!(f, "{refusal}"),
            Self::Mistakes(mistakes) => f.write_str(&mistakes.join("; ")),
            Self::Wrong(mistakes, refusals) => {
                let refusals = refusals.iter().map(ToString::to_string);
                f.write_str(&mistakes.iter().cloned().chain(refusals).collect::<Vec<_>>().join("; "))
            }
            Self::Exit(_, text) => f.write_str(text),
        }
    }
}

impl Failure {
    /// Reports it as errors, and returns the exit code.
    pub(crate) fn report(self) -> Exit {
        match self {
            // The reader has closed the pipe on purpose: no error.
            Self::BrokenPipe => Exit::Done,
            Self::Refused(refusal) => {
                complain(&refusal.to_string());
                Exit::Refused
            }
            Self::Mistakes(mistakes) => {
                /// More are those of a file of another kind.
                const SHOWN: usize = 20;
                mistakes.iter().take(SHOWN).for_each(|mistake| complain(mistake));
                if mistakes.len() > SHOWN {
                    complain(&format!("and {} more mistakes", mistakes.len() - SHOWN));
                }
                Exit::Usage
            }
            Self::Wrong(mistakes, refusals) => {
                mistakes.iter().for_each(|mistake| complain(mistake));
                complain_once(&refusals);
                if mistakes.is_empty() { Exit::Refused } else { Exit::Usage }
            }
            Self::Exit(exit, text) => {
                complain(&text);
                exit
            }
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::BrokenPipe;
        }
        Self::tool(format!("writing the output: {error}; free space, or write it elsewhere"))
    }
}

/// Writes text to standard output, ending in one newline. An empty text writes nothing: a script would read an empty line.
///
/// # Errors
/// [`Failure::BrokenPipe`] when the reader has closed the pipe, else the system's error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    if text.is_empty() {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    out.write_all(sanitise::text(text.trim_end_matches('\n')).as_bytes())?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// Indented JSON, without characters that a terminal would obey.
///
/// # Errors
/// A [`Failure`] of the tool for what JSON does not have.
pub(crate) fn json(found: &impl Serialize) -> Result<String, Failure> {
    let text = tiermark_model::indented(found).map_err(Failure::tool)?;
    Ok(sanitise::json(&text).into_owned())
}

/// A document as indented JSON that begins with its schema.
///
/// # Errors
/// A [`Failure`] of the tool where it cannot be written as JSON.
pub(crate) fn document(schema: &str, found: &impl Serialize) -> Result<String, Failure> {
    json(&Document { schema, found })
}

/// Where a document goes: standard output, or a file that could be written before there was anything to write.
pub(crate) enum Destination {
    /// Standard output.
    Stdout,
    /// A file that is replaced whole, with its name for errors: the directory and the name in it.
    File(String, PathBuf, OsString),
    /// What is written to as it is (a device, a pipe, a file in a directory that takes no other), with its name for
    /// errors.
    Stream(String, File),
}

impl Destination {
    /// Tries whether a file can be written, or takes standard output for `-`. What a file holds stays until all that
    /// replaces it is on disk beside it.
    ///
    /// # Errors
    /// A [`Failure`] of usage that names the file.
    pub(crate) fn open(place: &str) -> Result<Self, Failure> {
        if place == "-" {
            return Ok(Self::Stdout);
        }
        let unusable = |error| Failure::usage(format!("'{place}' cannot be written: {error}; choose another file"));
        // A link stays a link: the file behind it is replaced.
        let path = fs::canonicalize(place).unwrap_or_else(|_| PathBuf::from(place));
        let existing = match File::options().write(true).open(&path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(unusable(error)),
        };
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let named = path.file_name().filter(|name| name.to_str().is_some());
        let tried = named.map(|name| tried(directory, name));
        match (existing, tried) {
            (Some(file), _) if !file.metadata().is_ok_and(|about| about.is_file()) => {
                Ok(Self::Stream(place.to_owned(), file))
            }
            (_, Some(Ok(()))) => {
                Ok(Self::File(place.to_owned(), directory.to_owned(), named.unwrap_or_default().to_owned()))
            }
            (Some(file), _) => Ok(Self::Stream(place.to_owned(), file)),
            (None, Some(Err(error))) => Err(unusable(error)),
            (None, None) => Err(unusable(io::ErrorKind::InvalidFilename.into())),
        }
    }

    /// Replaces the contents by this text, which then ends in one newline.
    ///
    /// # Errors
    /// A [`Failure`] that names the file; one that is replaced whole is as it was then.
    pub(crate) fn write(self, text: &str) -> Result<(), Failure> {
        self.write_bytes(format!("{}\n", text.trim_end_matches('\n')).as_bytes())
    }

    /// Replaces the contents by these bytes.
    ///
    /// # Errors
    /// As for [`Destination::write`].
    pub(crate) fn write_bytes(self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Stdout => {
                let mut out = io::stdout().lock();
                Ok(out.write_all(bytes).and_then(|()| out.flush())?)
            }
            Self::File(place, directory, name) => {
                let written = write_whole(&directory, &name.to_string_lossy(), |file| file.write_all(bytes));
                written.map(drop).map_err(|error| unwritten(&place, &error))
            }
            Self::Stream(place, mut file) => {
                let cut = match file.metadata() {
                    // Devices and pipes have no length to cut.
                    Ok(about) if about.is_file() => file.set_len(0),
                    other => other.map(drop),
                };
                cut.and_then(|()| file.write_all(bytes)).map_err(|error| unwritten(&place, &error))
            }
        }
    }
}

/// Whether a directory takes a new file beside one of that name.
fn tried(directory: &Path, name: &OsStr) -> io::Result<()> {
    let temporary = temporary_beside(directory, &name.to_string_lossy());
    File::create_new(&temporary)?;
    fs::remove_file(&temporary)
}

/// A failure to write a file that could be opened.
pub(crate) fn unwritten(name: &str, error: &io::Error) -> Failure {
    Failure::tool(format!("writing '{name}': {error}; free space, or write it elsewhere"))
}

/// A line on standard error; ignored if that is closed.
pub(crate) fn tell(text: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{}", sanitise::plain(&text.to_string()));
}

/// An error, in one sentence: whatever bytes of a file it quotes, it stays one line and leaves the terminal alone.
pub(crate) fn complain(text: &str) {
    tell(format_args!("tiermark: error: {}", sanitise::line(text)));
}

/// Reports refusals as errors, each once, and those for the same reason together.
pub(crate) fn complain_once<'a>(refusals: impl IntoIterator<Item = &'a Refusal>) {
    together(refusals).iter().for_each(|refusal| complain(&refusal.to_string()));
}

/// Refusals with the same reason and cure as one, which names a few of them and counts the rest.
fn together<'a>(refusals: impl IntoIterator<Item = &'a Refusal>) -> Vec<Refusal> {
    const NAMED: usize = 3;
    let mut groups: Vec<(&Refusal, Vec<&str>)> = Vec::new();
    for refusal in refusals {
        match groups.iter_mut().find(|(first, _)| (&first.why, &first.cure) == (&refusal.why, &refusal.cure)) {
            Some((_, whats)) if whats.contains(&refusal.what.as_str()) => {}
            Some((_, whats)) => whats.push(&refusal.what),
            None => groups.push((refusal, vec![&refusal.what])),
        }
    }
    let one = |(first, whats): (&Refusal, Vec<&str>)| {
        // One more takes no more room than to say so.
        let named = if whats.len() <= NAMED + 1 { whats.len() } else { NAMED };
        let mut what = whats[..named].join(", ");
        if whats.len() > named {
            what.push_str(&format!(" and {} more", whats.len() - named));
        }
        Refusal { what, ..first.clone() }
    };
    groups.into_iter().map(one).collect()
}

/// A page as standard output shows it.
pub(crate) fn rendered(view: &View, make: impl FnOnce(Detail) -> Page) -> String {
    terminal(&make(detail(view)), &style(view))
}

/// Prints what was found: as a document of this schema for programs, else as its page.
///
/// # Errors
/// As for [`print`] and [`document`].
pub(crate) fn show<T: Serialize>(
    found: &T,
    as_json: bool,
    schema: &str,
    view: &View,
    make: impl FnOnce(&T, Detail) -> Page,
) -> Result<(), Failure> {
    print(&if as_json { document(schema, found)? } else { rendered(view, |detail| make(found, detail)) })
}

/// The exit code of a result. It is the same if the reader closed the pipe before it had read all of the text.
///
/// # Errors
/// Another failure of printing.
pub(crate) fn whoever_reads(printed: Result<(), Failure>, exit: Exit) -> Result<Exit, Failure> {
    match printed {
        Ok(()) | Err(Failure::BrokenPipe) => Ok(exit),
        Err(failure) => Err(failure),
    }
}

/// How views are rendered on standard output.
pub(crate) fn style(view: &View) -> Style {
    let is_terminal = io::stdout().is_terminal();
    let terminal = is_terminal.then(terminal_size::terminal_size).flatten().map(|(columns, _)| usize::from(columns.0));
    Style {
        width: columns(view.width, terminal, std::env::var("COLUMNS").ok().as_deref()),
        color: use_color(view.color, is_terminal),
        unicode: !view.ascii && locale_is_utf8(),
        rate_unit: match view.units {
            Units::Si => RateUnit::Si,
            Units::Iec => RateUnit::Iec,
            Units::Both => RateUnit::Both,
        },
    }
}

/// How much views show.
pub(crate) fn detail(view: &View) -> Detail {
    if view.verbose > 0 { Detail::All } else { Detail::Usual }
}

/// Columns by flag, else those of the terminal, else what COLUMNS says, as help has it, else 80: a pipe gets as many
/// whatever terminal is behind it.
fn columns(flag: Option<u16>, terminal: Option<usize>, variable: Option<&str>) -> usize {
    let from_variable = variable.and_then(|text| text.trim().parse().ok()).filter(|columns| *columns > 0);
    flag.map(usize::from).or(terminal).or(from_variable).unwrap_or(80)
}

/// Colour by flag, else by the conventions of `NO_COLOR`, `CLICOLOR_FORCE` and `TERM`.
fn use_color(choice: ColorChoice, is_terminal: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if set("NO_COLOR").is_some() => false,
        ColorChoice::Auto if set("CLICOLOR_FORCE").is_some_and(|v| v != "0") => true,
        ColorChoice::Auto => is_terminal && set("TERM").is_some_and(|t| t != "dumb"),
    }
}

/// Whether the locale is UTF-8, by the first of the variables that decide it. No locale at all is taken for a script's
/// or a container's bare environment, whose reader nearly always takes UTF-8.
fn locale_is_utf8() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    locale.is_none_or(|l| {
        let l = l.to_ascii_lowercase();
        l.contains("utf-8") || l.contains("utf8")
    })
}

/// A refusal that does not end the run.
pub(crate) fn remark(args: &RunArgs, refusal: &Refusal) {
    if !args.result.quiet {
        tell(format_args!("tiermark: warning: {refusal}"));
    }
}

/// Tells the user of a warning before a run, with what to do about it.
pub(crate) fn warn(warning: &Warning) {
    let cure = warning.cure.as_ref().map_or_else(String::new, |cure| format!("; {cure}"));
    tell(format_args!("tiermark: warning: {}{cure}", warning.text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_the_flag_the_terminal_or_the_environment() {
        assert_eq!(columns(Some(60), Some(100), Some("120")), 60);
        assert_eq!(columns(None, Some(100), Some("120")), 100);
        assert_eq!(columns(None, None, Some("120")), 120);
        for none in [None, Some(""), Some("0"), Some("wide"), Some("-5")] {
            assert_eq!(columns(None, None, none), 80, "{none:?}");
        }
    }

    #[test]
    fn one_reason_is_told_once() {
        let refused = |what: String, why: &str| Refusal::new(what, why, "ask for less");
        let many: Vec<Refusal> = (1..=19).map(|n| refused(format!("{n} KiB"), "no memory")).collect();
        let other = [refused("node 1".into(), "it has none"), refused("1 KiB".into(), "no memory")];
        let told: Vec<String> = together(many.iter().chain(&other)).iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            ["1 KiB, 2 KiB, 3 KiB and 16 more: no memory (ask for less)", "node 1: it has none (ask for less)"]
        );
        let few: Vec<String> = together(&many[..4]).iter().map(ToString::to_string).collect();
        assert_eq!(few, ["1 KiB, 2 KiB, 3 KiB, 4 KiB: no memory (ask for less)"]);
    }
}
