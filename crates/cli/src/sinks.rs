//! Listeners of a run: the journal, the stream of events, the progress bar and the talkative log.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tiermark_engine::{Event, Sink};
use tiermark_history::{Journal, Record};
use tiermark_model::{
    BlockTimes, EVENTS_SCHEMA, Experiment, LostPage, Observation, Run, RunEvent, SoakWork, Step, Unit, WrongWord,
    count_of, format_gbs, format_ns,
};

use tiermark_page::{Style, terminal};
use tiermark_session::Revision;

use crate::output::{Failure, tell, unwritten};
use crate::sanitise;

/// The first values of the figures of one experiment: a user has them before the curves are measured.
pub(crate) struct FirstRows {
    /// The document without experiments.
    run: Run,
    style: Style,
    /// What is measured.
    planned: Option<Experiment>,
}

impl FirstRows {
    pub(crate) fn new(run: &Run, style: Style) -> Self {
        Self { run: run.clone(), style, planned: None }
    }

    /// The table of the tiers at an event; `None` at any other.
    fn at(&mut self, event: &Event<'_>) -> Option<String> {
        match event {
            Event::ExperimentStarted { request, method, plan } => {
                self.planned = Some(Experiment::new((*request).clone(), *method, (*plan).clone()));
                None
            }
            Event::Answered { observations, findings } => {
                let planned = self.planned.take()?;
                let (observations, findings) = (observations.to_vec(), findings.to_vec());
                self.run.experiments = vec![Experiment { observations, findings, ..planned }];
                let page = tiermark_report::rows_so_far(&self.run);
                let text = || format!("First values; the report replaces them:\n{}", terminal(&page, &self.style));
                (!page.is_empty()).then(text)
            }
            _ => None,
        }
    }
}

/// Wrong words that are printed at once; the report has more.
const MOST_TOLD: usize = 16;

/// All sinks of a run.
#[derive(Default)]
pub(crate) struct Listeners {
    pub(crate) rows: Option<FirstRows>,
    pub(crate) journal: Option<JournalSink>,
    pub(crate) lines: Option<EventLines>,
    pub(crate) progress: Option<Progress>,
    pub(crate) talk: Option<Talk>,
    /// Wrong words and lost pages that were found so far.
    pub(crate) listed: usize,
    /// Whether the document is to have the time of each block.
    pub(crate) keeps_blocks: bool,
}

impl Sink for Listeners {
    fn event(&mut self, event: &Event<'_>) {
        let rows = self.rows.as_mut().and_then(|rows| rows.at(event));
        match (rows, &self.progress) {
            (Some(rows), Some(progress)) => progress.bar.suspend(|| tell(rows)),
            (Some(rows), None) => tell(rows),
            (None, _) => {}
        }
        if let Event::Soaking { wrong, lost, .. } = event {
            let untold = MOST_TOLD.saturating_sub(self.listed);
            self.listed += wrong.len() + lost.len();
            let words: Vec<String> =
                wrong.iter().map(wrong_word).chain(lost.iter().map(lost_page)).take(untold).collect();
            match &self.progress {
                _ if words.is_empty() => {}
                Some(progress) => progress.bar.suspend(|| tell(words.join("\n"))),
                None => tell(words.join("\n")),
            }
        }
        let sinks = [
            self.journal.as_mut().map(|s| s as &mut dyn Sink),
            self.lines.as_mut().map(|s| s as &mut dyn Sink),
            self.progress.as_mut().map(|s| s as &mut dyn Sink),
            self.talk.as_mut().map(|s| s as &mut dyn Sink),
        ];
        for sink in sinks.into_iter().flatten() {
            sink.event(event);
        }
    }

    fn keeps_blocks(&self) -> bool {
        self.keeps_blocks
    }
}

/// Keeps every event in the journal.
pub(crate) struct JournalSink(pub(crate) Journal);

impl Sink for JournalSink {
    fn event(&mut self, event: &Event<'_>) {
        let record = match event {
            Event::ExperimentStarted { request, method, plan } => {
                Record::Experiment { request: Box::new((*request).clone()), method: *method, plan: (*plan).clone() }
            }
            Event::StepsAdded { steps } => Record::Steps(steps.to_vec()),
            Event::Visited { .. }
            | Event::Filled { .. }
            | Event::Answered { .. }
            | Event::Counting { .. }
            | Event::Soaking { .. } => return,
            Event::Observed { observation } => Record::Observation(Box::new((*observation).clone())),
            Event::ExperimentDone { experiment } => {
                let Experiment { states, drift, interruptions, throughputs, time, .. } = experiment;
                let (states, drift) = (states.clone(), drift.clone());
                let (interruptions, throughputs) = (interruptions.clone(), throughputs.clone());
                Record::Done { states, drift, interruptions, throughputs, time: *time }
            }
        };
        if let Some(refusal) = self.0.append(&record) {
            tell(format_args!("tiermark: warning: {refusal}"));
        }
    }
}

/// Writes events as one JSON object a line.
pub(crate) struct EventLines {
    out: Box<dyn Write>,
    /// The file's name, or `-`.
    place: String,
    /// The first failure to write; nothing is written after it.
    failed: Option<io::Error>,
    /// Set when the reader of the events has closed the pipe: the run then stops.
    stop: Arc<AtomicBool>,
}

impl EventLines {
    /// Opens a file, or standard output for `-`.
    ///
    /// # Errors
    /// A [`Failure`] that names the file.
    pub(crate) fn open(place: &str, stop: Arc<AtomicBool>) -> Result<Self, Failure> {
        let out: Box<dyn Write> = if place == "-" {
            Box::new(io::stdout())
        } else {
            let file = File::create(place);
            Box::new(file.map_err(|e| {
                Failure::usage(format!("events cannot be written to '{place}': {e}; choose another file"))
            })?)
        };
        Ok(Self { out, place: place.to_owned(), failed: None, stop })
    }

    /// The first line: the run without experiments.
    pub(crate) fn head(&mut self, run: &Run) {
        self.line(&RunEvent::RunStarted { schema: EVENTS_SCHEMA, run });
    }

    /// What changed of an experiment at the end of the run.
    pub(crate) fn revised(&mut self, run: &Run, Revision { experiment, observations }: &Revision) {
        let revised = &run.experiments[*experiment];
        let without_blocks = |number: &usize| Observation {
            block_times: BlockTimes::default(),
            ..revised.observations[*number].clone()
        };
        let observations: Vec<Observation> = observations.iter().map(without_blocks).collect();
        let observations = observations.iter().collect();
        self.line(&RunEvent::Revised { experiment: *experiment as u64, observations, findings: &revised.findings });
    }

    /// The last line, with the warnings, of which some are only known at the end; gives back the first failure to write
    /// any of them.
    pub(crate) fn end(mut self, run: &Run) -> Option<Failure> {
        self.line(&RunEvent::RunDone { complete: run.complete, seconds: run.seconds, warnings: &run.warnings });
        let error = self.failed?;
        // Failures of standard output are reported as by print(): a closed pipe is no error.
        Some(if self.place == "-" { error.into() } else { unwritten(&self.place, &error) })
    }

    fn line(&mut self, event: &RunEvent<'_>) {
        if self.failed.is_some() {
            return;
        }
        // One write a line: a reader of the pipe sees whole objects.
        let written = serde_json::to_string(event)
            .map_err(io::Error::from)
            .and_then(|text| self.out.write_all((sanitise::json(&text) + "\n").as_bytes()))
            .and_then(|()| self.out.flush());
        if let Err(error) = written {
            if error.kind() == io::ErrorKind::BrokenPipe {
                self.stop.store(true, Ordering::Relaxed);
            }
            self.failed = Some(error);
        }
    }
}

impl Sink for EventLines {
    fn event(&mut self, event: &Event<'_>) {
        match *event {
            Event::ExperimentStarted { request, method, plan } => {
                self.line(&RunEvent::ExperimentStarted { request, method, plan });
            }
            Event::StepsAdded { steps } => self.line(&RunEvent::StepsAdded { steps }),
            // Visits come by the hundred a second; they are in the observations.
            Event::Visited { .. }
            | Event::Filled { .. }
            | Event::Answered { .. }
            | Event::Counting { .. }
            | Event::Soaking { .. } => {}
            Event::Observed { observation } => self.line(&RunEvent::Observed { observation }),
            Event::ExperimentDone { experiment: Experiment { states, drift, findings, .. } } => {
                self.line(&RunEvent::ExperimentDone { states, drift });
                self.line(&RunEvent::Findings { findings });
            }
        }
    }
}

/// A bar with the remaining time, drawn only on a terminal and only between shots: it has no thread of its own.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Seconds each experiment of the run is expected to take.
    expected: Vec<f64>,
    /// Experiments begun.
    begun: usize,
    share: f64,
}

/// A line of progress whose length nobody knows: the message alone. It draws nothing where standard error is no
/// terminal, and has no thread of its own.
pub(crate) fn line_that_moves() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    // indicatif's own template ends in the position and the length, both 0 here.
    match ProgressStyle::with_template("{wide_msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Resolution of the bar.
const TICKS: u64 = 1000;

impl Progress {
    /// A bar over experiments of these expected seconds; `None` if standard error is not a terminal.
    pub(crate) fn new(expected: Vec<f64>, unicode: bool) -> Option<Self> {
        let dumb = std::env::var_os("TERM").is_none_or(|t| t == "dumb");
        if !io::stderr().is_terminal() || dumb {
            return None;
        }
        let bar = ProgressBar::with_draw_target(Some(TICKS), ProgressDrawTarget::stderr_with_hz(5));
        // The template is a constant; a wrong one would leave indicatif's own, which does no harm.
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {percent:>3} %  {prefix}  {wide_msg}") {
            bar.set_style(if unicode { style } else { style.progress_chars("#>-") });
        }
        Some(Self { bar, expected, begun: 0, share: 0.0 })
    }

    /// Begins a part of the run that is no experiment of the engine.
    pub(crate) fn begin(&mut self, what: &str) {
        let own = self.expected.get(self.begun).copied().unwrap_or(0.0);
        self.begun += 1;
        self.bar.set_message(sanitise::line(what));
        self.advance(0.0, own);
    }

    /// Never runs backwards: steps that a probe adds get a share of the rest of the bar.
    fn advance(&mut self, done: f64, remaining: f64) {
        let all: f64 = self.expected.iter().sum();
        let before: f64 = self.expected.iter().take(self.begun.saturating_sub(1)).sum();
        let own = self.expected.get(self.begun.saturating_sub(1)).copied().unwrap_or(0.0);
        let share = if all > 0.0 { (before + own * done) / all } else { done };
        self.share = self.share.max(share.clamp(0.0, 1.0));
        let later: f64 = self.expected.iter().skip(self.begun).sum();
        self.bar.set_position((self.share * TICKS as f64) as u64);
        self.bar.set_prefix(format!("{:.0} s left", (remaining + later).max(0.0)));
    }
}

impl Sink for Progress {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::ExperimentStarted { plan, .. } => {
                self.begun += 1;
                self.advance(0.0, plan.expected_seconds());
            }
            Event::Visited { step, done, remaining_seconds } => {
                self.bar.set_message(sanitise::line(&subject(step)));
                self.advance(*done, *remaining_seconds);
            }
            Event::Filled { filled } => self.bar.set_message(filled.to_string()),
            Event::Counting { step, source, remaining_seconds } => {
                let message = format!("{}, once more beside {}", subject(step), source.name());
                self.bar.set_message(sanitise::line(&message));
                self.advance(1.0, *remaining_seconds);
            }
            Event::Soaking { work, rate, errors, remaining_seconds, done, .. } => {
                let rate = rate.map_or_else(String::new, |rate| format!(", {} GB/s", format_gbs(rate)));
                // What matters most comes first: a narrow terminal cuts off the end.
                self.bar.set_message(format!("{}{rate}, {}", count_of(*errors, "wrong word"), doing(*work)));
                self.advance(*done, *remaining_seconds);
            }
            Event::Observed { .. }
            | Event::StepsAdded { .. }
            | Event::Answered { .. }
            | Event::ExperimentDone { .. } => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Prints progress on standard error, line by line.
pub(crate) struct Talk;

impl Sink for Talk {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::ExperimentStarted { request, plan, .. } => tell(format_args!(
                "{}: {} steps, about {:.0} s, at most {:.0} s",
                request.probe,
                plan.steps.len(),
                plan.expected_seconds(),
                plan.max_seconds
            )),
            Event::StepsAdded { steps } => tell(format_args!("{} steps added where the curve moves", steps.len())),
            Event::Filled { filled } => tell(format_args!("{filled}")),
            Event::Visited { .. } | Event::Answered { .. } | Event::Soaking { .. } => {}
            Event::Counting { step, source, .. } => {
                tell(format_args!("{}  once more beside {}", step.id, source.name()));
            }
            Event::Observed { observation } => tell(line_of(observation)),
            Event::ExperimentDone { experiment } => {
                tell(format_args!("done, {} changes of the machine seen", experiment.drift.len()));
            }
        }
    }
}

/// A wrong word, as soon as it is found.
fn wrong_word(word: &WrongWord) -> String {
    let place = word.physical.unwrap_or(word.address);
    let (found, expected) = (word.found, word.expected);
    format!("WRONG WORD on node {} at {place}: read {found}, expected {expected}", word.node)
}

/// A lost page, as soon as it is found.
fn lost_page(page: &LostPage) -> String {
    format!("LOST PAGE on node {} at {}: {} bytes", page.node, page.address, page.bytes.0)
}

/// What a soak does.
fn doing(work: SoakWork) -> &'static str {
    match work {
        SoakWork::Take => "taking memory",
        SoakWork::Write => "writing",
        SoakWork::Read => "reading",
        SoakWork::ReadFar => "reading from far away",
        SoakWork::Copy => "copying",
        SoakWork::Hammer => "hammering lines",
    }
}

/// A step in a few words.
fn subject(step: &Step) -> String {
    let probe = step.id.split('/').next().unwrap_or_default();
    let labels = &step.labels;
    let mut words = vec![probe.to_owned()];
    words.extend([labels.tier_name(), labels.op(), labels.layout()].into_iter().flatten().map(str::to_owned));
    words.extend(labels.size().map(|size| size.to_string()));
    words.extend(labels.threads().filter(|n| *n > 1).map(|n| format!("on {n} threads")));
    words.join(" ")
}

fn line_of(observation: &Observation) -> String {
    let value = match (observation.value, observation.unit) {
        (Some(value), Unit::Ns) => format!("{} ns", format_ns(value)),
        (Some(value), _) => format!("{} GB/s", format_gbs(value)),
        (None, _) => observation.refusal.as_ref().map_or_else(|| "no value yet".to_owned(), ToString::to_string),
    };
    format!("{}  {value}  {}", observation.step, observation.verdict.grade.in_words())
}
