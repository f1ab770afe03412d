//! `tiermark watch`: the system's memory, live.

mod active;
mod child;
mod counted;
mod curve;
mod feed;
mod screen;

use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use tiermark_counters::NoCounts;
use tiermark_history::lines::Appender;
use tiermark_model::{Document, Exit, WATCH_SCHEMA, WatchSample};
use tiermark_page::{Page, Style, terminal};
use tiermark_watch::{Endpoint, record};

use crate::args::watch::WatchArgs;
use crate::args::{CounterUse, Simulation, View};
use crate::counters::refuse_contradiction;
use crate::output::{Failure, print, rendered, style, tell, unwritten};
use crate::signals::Stop;
use crate::{environment, sanitise, target};
use active::Cells;
use counted::Counting;
use curve::OnCurve;
use feed::{Feed, Live, Replay};

/// The longest sleep without a look at signals, which then take effect as soon as a person notices.
const NAP: Duration = Duration::from_millis(100);
/// Lines of text between two headings: a screen of 24 lines always has one.
const HEADING_EVERY: u64 = 20;

/// Runs the command.
pub(crate) fn run(args: &WatchArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    // The parser takes `--` without a command for no command.
    if args.command.is_empty() && std::env::args_os().next_back().is_some_and(|last| last == "--") {
        return Err(Failure::usage(
            "no command behind --: name the command to watch, as in tiermark watch -- make -j8, or leave -- out to \
             watch the system",
        ));
    }
    refuse_contradiction(&args.counting)?;
    let root = target::root(None, simulation)?;
    let on_screen =
        args.command.is_empty() && !(args.text || args.json || args.csv || args.quiet) && io::stdout().is_terminal();
    // On the screen Ctrl-C is a key. A second signal must not end the program before the terminal is restored, nor
    // before the command has ended.
    let to_the_end = on_screen || !args.command.is_empty();
    let stop = if to_the_end { Stop::listen_to_the_end() } else { Stop::listen() }.map_err(Failure::tool)?;
    let mut counting = Counting::open(args, &root, simulation)?;
    let about_counters = counting.sentences();
    // The screen and the summary of a command have the reasons themselves.
    let has_columns = args.command.is_empty() && !on_screen && !(args.json || args.quiet);
    if let Some(note) = counting.missing().filter(|_| has_columns) {
        tell(format_args!("tiermark: note: {note}"));
    }
    let unchecked = counting.unchecked();
    let on_curve = OnCurve::open(args, &root, simulation, &mut counting)?;
    let feed: Box<dyn Feed> = match &args.replay {
        Some(file) => Box::new(Replay::open(file, on_screen)?),
        None => {
            let cells = args.active.then(|| Cells::open(args, simulation, &stop, on_screen)).transpose()?;
            let live = Live::new(&root, args.interval, args.groups, counting.counted.take(), cells, on_screen);
            Box::new(live.of_simulated(simulation.simulate.clone()))
        }
    };
    let sinks = Sinks::open(args)?;
    if !on_screen {
        counting.tell_notes();
    }
    if let Some(note) = unchecked.as_ref().filter(|_| has_columns && !args.csv) {
        tell(format_args!("tiermark: note: {note}"));
    }
    let mut taker = Taker { feed, sinks, left: args.samples, about_counters };
    let ended = if !args.command.is_empty() {
        child::run(args, &mut taker, on_curve, &stop)?
    } else if on_screen {
        screen::run(args, &mut taker, &stop)?
    } else {
        let mut printer = Printer::new(args);
        while let Some(sample) = taker.wait(&stop)? {
            printer.print(&sample)?;
        }
        stop.exit().unwrap_or(Exit::Done)
    };
    taker.feed.last_notes().iter().for_each(|note| tell(format_args!("tiermark: note: {note}")));
    let is_required = args.counting.when == CounterUse::Require || args.counting.source.counters_from.is_some();
    match taker.feed.nothing_came().filter(|_| is_required && ended == Exit::Done) {
        Some(NoCounts::Broken(refusal)) => Err(Failure::Refused(refusal)),
        Some(NoCounts::TooShort(note)) => {
            tell(format_args!("tiermark: warning: {note}"));
            Ok(ended)
        }
        None => Ok(ended),
    }
}

/// A page on standard error, without colours: what is printed there passes the filter of messages.
fn plain(args: &WatchArgs, page: &Page) -> String {
    let style = Style { color: false, ..style(&args.view) };
    terminal(page, &style).trim_end().to_owned()
}

/// Takes samples, and passes each on.
struct Taker {
    feed: Box<dyn Feed>,
    sinks: Sinks,
    /// Samples that are still to be taken; `None` for no limit.
    left: Option<u64>,
    /// Why traffic is not counted, or what a user should know of the counts, in sentences.
    about_counters: Vec<String>,
}

impl Taker {
    /// Time until the next sample; `None` if there is none.
    fn due(&self) -> Option<Duration> {
        if self.left == Some(0) { None } else { self.feed.due() }
    }

    /// The sample that is due.
    fn take(&mut self) -> Result<Option<WatchSample>, Failure> {
        let Some(sample) = self.feed.take() else { return Ok(None) };
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.sinks.pass(&sample)?;
        Ok(Some(sample))
    }

    /// Waits for the next sample and takes it; `None` when there is none, or a signal came.
    fn wait(&mut self, stop: &Stop) -> Result<Option<WatchSample>, Failure> {
        while stop.exit().is_none() {
            let Some(due) = self.due() else { return Ok(None) };
            if due.is_zero() {
                return self.take();
            }
            std::thread::sleep(due.min(NAP));
        }
        Ok(None)
    }
}

/// Where samples go beside the output.
struct Sinks {
    /// The recording, with the file's name as the user gave it.
    recorder: Option<(Appender, String)>,
    endpoint: Option<Endpoint>,
}

impl Sinks {
    fn open(args: &WatchArgs) -> Result<Self, Failure> {
        let recorder = args.record.as_deref().map(|file| recorder(file, args.interval)).transpose()?;
        let unusable = |address: SocketAddr, error: &io::Error| {
            Failure::usage(format!("--prometheus {address}: {error}; use another port or address"))
        };
        let open = |address| Endpoint::open(address).map_err(|error| unusable(address, &error));
        let endpoint = args.prometheus.map(open).transpose()?;
        if let Some(endpoint) = &endpoint {
            tell(format_args!("tiermark: serving http://{}/metrics", endpoint.address));
        }
        Ok(Self { recorder, endpoint })
    }

    fn pass(&mut self, sample: &WatchSample) -> Result<(), Failure> {
        if let Some(endpoint) = &self.endpoint {
            endpoint.set(tiermark_exports::watch_exposition(sample));
        }
        self.recorder
            .as_mut()
            .map_or(Ok(()), |(file, name)| file.append(&[sample]).map_err(|error| unwritten(name, &error)))
    }
}

/// Begins a recording in a new file.
fn recorder(file: &Path, interval: f64) -> Result<(Appender, String), Failure> {
    let name = file.display().to_string();
    let (started, _) = environment::started_and_id();
    let begun = record(file, &started, interval).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::usage(format!("'{name}' exists; choose another file for --record, or remove it"))
        }
        _ => Failure::usage(format!("--record '{name}': {error}; choose another file")),
    })?;
    Ok((begun, name))
}

/// Samples on standard output, a line each.
struct Printer<'a> {
    args: &'a WatchArgs,
    view: &'a View,
    lines: u64,
    columns: Vec<String>,
}

impl<'a> Printer<'a> {
    fn new(args: &'a WatchArgs) -> Self {
        Self { args, view: &args.view, lines: 0, columns: Vec::new() }
    }

    fn print(&mut self, sample: &WatchSample) -> Result<(), Failure> {
        let first = self.lines == 0;
        let heading = self.lines.is_multiple_of(HEADING_EVERY);
        self.lines += 1;
        if let Some(name) = sample.simulated.as_deref().filter(|_| first && !self.args.json) {
            let banner = rendered(self.view, |_| tiermark_page::simulated(name));
            // CSV and nothing have no place for it.
            if self.args.quiet || self.args.csv { tell(banner.trim_end()) } else { print(banner.trim_end())? }
        }
        if self.args.quiet {
            Ok(())
        } else if self.args.json {
            let document = Document { schema: WATCH_SCHEMA, found: sample };
            print(&sanitise::json(&serde_json::to_string(&document).map_err(Failure::tool)?))
        } else if self.args.csv {
            if first {
                self.columns = tiermark_exports::watch_csv_columns(sample);
                print(&self.columns.join(","))?;
            }
            print(&tiermark_exports::watch_csv(sample, &self.columns))
        } else {
            let style = style(self.view);
            // In a file one heading will do.
            if first || heading && io::stdout().is_terminal() {
                print(&tiermark_watch::monitor::watch_heading(sample, &style))?;
            }
            print(&tiermark_watch::monitor::watch_line(sample, &style))
        }
    }
}
