//! The traffic of memory and links beside the samples, where a source of counters opens.

use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tiermark_counters::{Chosen, CounterSource, SimCounters, SimRate, Snapshot, traffic};
use tiermark_machine::Root;
use tiermark_model::messages::{counters, counters::codes, curve_profile as says};
use tiermark_model::{Code, CounterMark, CounterSourceId, Machine, Note, Refusal, Traffic, WatchSample};

use super::course::Course;
use crate::args::watch::WatchArgs;
use crate::args::{CounterUse, Simulation};
use crate::counters::{Beside, open_counters};
use crate::output::{Failure, tell};
use crate::target;

/// What became of the counters.
#[derive(Default)]
pub(super) struct Counting {
    /// The source; `None` if none opened, or none was to be opened.
    pub(super) counted: Option<Counted>,
    /// Why there is none.
    pub(super) refused: Vec<Refusal>,
    /// What a user should know of the counts.
    pub(super) notes: Vec<Note>,
}

impl Counting {
    /// Opens the counters that the user asks for.
    ///
    /// # Errors
    /// A [`Failure`] if the user requires counters and none opens, or the machine cannot be read.
    pub(super) fn open(args: &WatchArgs, root: &Root, simulation: &Simulation) -> Result<Self, Failure> {
        if args.replay.is_some() || args.counting.when == CounterUse::Off {
            return Ok(Self::default());
        }
        let machine = match &simulation.simulate {
            Some(_) => target::captured_machine(root)?,
            None => target::this_machine()?,
        };
        let script = &simulation.sim_traffic;
        let chosen = if script.is_empty() || simulation.simulate.is_none() {
            open_counters(root, &machine, &args.counting, Beside::Samples)?
        } else {
            scripted(&machine, script)
        };
        let notes = chosen.notes(root);
        if chosen.source.id() != CounterSourceId::None {
            return Ok(Self { counted: Some(Counted::new(chosen.source)), refused: Vec::new(), notes });
        }
        let refused: Vec<Refusal> = chosen.refused.into_iter().map(|(_, refusal)| refusal).collect();
        // A source that the user names is as good as required.
        if args.counting.when == CounterUse::Require || args.counting.source.counters_from.is_some() {
            return Err(Failure::Wrong(Vec::new(), refused));
        }
        Ok(Self { counted: None, refused, notes })
    }

    /// The reasons why there are no counters, and the notes, in sentences.
    pub(super) fn sentences(&self) -> Vec<String> {
        let notes = self.notes.iter().cloned().chain(self.unchecked());
        self.refused.iter().map(ToString::to_string).chain(notes.map(|note| note.to_string())).collect()
    }

    /// The note that nothing is counted, with the reason of the source that comes first; `None` if one opened, or none
    /// was to be opened.
    pub(super) fn missing(&self) -> Option<Note> {
        self.refused.first().map(|refusal| counters::watch_without_traffic(&refusal.to_string()))
    }

    /// The note that no stream of known bytes runs beside a watch; `None` without counts.
    pub(super) fn unchecked(&self) -> Option<Note> {
        self.counted.as_ref().map(|_| says::watch_counts_unchecked())
    }

    /// Reports on standard error what a user should know of the counts.
    pub(super) fn tell_notes(&self) {
        self.notes.iter().for_each(|note| tell(format_args!("tiermark: note: {note}")));
    }
}

fn scripted(machine: &Machine, script: &[(f64, f64)]) -> Chosen {
    let rate = |(rate, reads): &(f64, f64)| SimRate { read: rate * reads, write: rate * (1.0 - reads) };
    let source = SimCounters::new(machine, script.iter().map(rate).collect());
    Chosen { source: Box::new(source), refused: Vec::new() }
}

/// That nothing was counted in a whole watch.
pub(super) enum NoCounts {
    /// Too short for a source that may be healthy.
    TooShort(Note),
    /// The source cannot be read, or stands still.
    Broken(Refusal),
}

/// A source that is read at each sample.
pub(super) struct Counted {
    source: Box<dyn CounterSource>,
    before: Option<Snapshot>,
    began: Instant,
    course: Course,
    /// Why the source cannot be read now.
    error: Option<String>,
    /// What the user knows to be wrong with boxes.
    told: Vec<CounterMark>,
    /// What the user knows of the source.
    known: Vec<Note>,
    samples: u64,
    on_screen: bool,
}

impl Counted {
    fn new(source: Box<dyn CounterSource>) -> Self {
        let known = source.notes();
        Self {
            source,
            before: None,
            began: Instant::now(),
            course: Course::default(),
            error: None,
            told: Vec::new(),
            known,
            samples: 0,
            on_screen: false,
        }
    }

    /// The same for a screen, which shows what is wrong with boxes itself.
    pub(super) fn on_screen(self, on_screen: bool) -> Self {
        Self { on_screen, ..self }
    }

    /// Which source it is.
    pub(super) fn id(&self) -> CounterSourceId {
        self.source.id()
    }

    /// What the machine does during this time; `None` of a source that does not resolve it, or cannot be read.
    pub(super) fn idle(&mut self, time: Duration) -> Option<Traffic> {
        if !self.source.is_immediate() {
            return None;
        }
        let before = self.source.read().ok()?;
        // The time of simulated counters is that of their readings.
        if self.source.id() != CounterSourceId::Simulated {
            thread::sleep(time);
        }
        Some(traffic(&before, &self.source.read().ok()?))
    }

    /// Reports what a user should know of new counts, each fact once.
    fn tell(&mut self, seen: &Traffic, newest: &Snapshot, time: &str) {
        let name = self.source.id().name();
        let of_day = time.get(11..19).unwrap_or(time);
        let mut counts: Vec<u64> = newest.readings.iter().map(|reading| reading.count).collect();
        // What a program rounds to 0 may be the truth of an idle machine: a new line is new then.
        if newest.readings.iter().any(|reading| reading.least > 0.0) {
            counts.push(newest.at.as_millis() as u64);
        }
        let course = self.course.look(&counts, self.began.elapsed().as_secs_f64(), of_day, name);
        let new = seen.marks.iter().filter(|mark| !self.told.iter().any(|told| told.is_like(mark)));
        let new: Vec<CounterMark> = new.cloned().collect();
        // A screen has its own place for marks, and lines would destroy it.
        if !self.on_screen {
            let at_once = [codes::sums_differ, codes::socket_reads_zero, codes::likwid_sockets_unknown];
            let notes: Vec<Note> = course.into_iter().chain(left_out(&new)).chain(self.news(&at_once)).collect();
            let notes = notes.into_iter();
            notes.for_each(|note| tell(format_args!("tiermark: note: {note}")));
        }
        self.told.extend(new);
    }

    /// The notes of the source with these codes that the user does not know yet.
    fn news(&mut self, of: &[Code]) -> Vec<Note> {
        let is_new = |note: &Note| of.contains(&note.code) && !self.known.contains(note);
        let new: Vec<Note> = self.source.notes().into_iter().filter(is_new).collect();
        self.known.extend(new.iter().cloned());
        new
    }

    /// What a user should know of the counts at the end: how many lines had no counts.
    pub(super) fn last_notes(&mut self) -> Vec<Note> {
        self.news(&[codes::lines_skipped])
    }

    /// Why nothing was counted in the whole watch; `None` if something was, or if one sample had no time for any.
    pub(super) fn nothing_came(&self) -> Option<NoCounts> {
        if self.course.has_counted || self.samples < 2 {
            return None;
        }
        let name = self.source.id().name();
        if self.error.is_none() && !self.course.has_stopped {
            return Some(NoCounts::TooShort(counters::watch_too_short_for_counts(name)));
        }
        let is_cause = |note: &Note| [codes::no_counts_yet, codes::file_is_empty].contains(&note.code);
        let found = || self.source.notes().into_iter().find(is_cause).map(|note| note.text);
        let cause = self.error.clone().or_else(found).unwrap_or_else(|| "its counts stand still".to_owned());
        Some(NoCounts::Broken(counters::nothing_came(name, &cause)))
    }

    /// Adds the traffic since the sample before to a sample, and the cpu time of reading the counters to its cost.
    pub(super) fn add(&mut self, sample: &mut WatchSample) {
        sample.counters = Some(self.source.id());
        let began = cpu_time();
        self.samples += 1;
        match self.source.read() {
            Ok(now) => {
                self.error = None;
                let before = self.before.as_ref().unwrap_or(&now);
                let seen = traffic(before, &now);
                self.tell(&seen, &now, &sample.time);
                sample.traffic = Some(seen);
                self.before = Some(now);
            }
            Err(error) => {
                let text = error.to_string();
                if self.error.is_none() {
                    tell(format_args!("tiermark: warning: the counters cannot be read: {text}"));
                }
                self.error = Some(text);
            }
        }
        if let Some(seconds) = &mut sample.own.read_seconds {
            *seconds += cpu_time().saturating_sub(began).as_secs_f64();
        }
    }
}

/// Boxes of which no figure is shown, those of a socket together: lines of text have no place for them.
fn left_out(marks: &[CounterMark]) -> Vec<Note> {
    let mut alike: Vec<(&CounterMark, Vec<String>)> = Vec::new();
    for mark in marks {
        let unit = mark.place().unit.clone();
        match alike.iter_mut().find(|(first, _)| share_a_sentence(first, mark)) {
            Some((_, units)) => units.push(unit),
            None => alike.push((mark, vec![unit])),
        }
    }
    alike.into_iter().filter_map(|(mark, units)| sentence(mark, &units)).collect()
}

/// Whether two marks say the same of boxes of one socket.
fn share_a_sentence(one: &CounterMark, other: &CounterMark) -> bool {
    let counts = |mark: &CounterMark| match mark {
        CounterMark::Silent { counts, .. } | CounterMark::Partial { counts, .. } => Some(*counts),
        _ => None,
    };
    std::mem::discriminant(one) == std::mem::discriminant(other)
        && one.place().socket == other.place().socket
        && counts(one) == counts(other)
}

/// Why these boxes, which share a mark, have no figure; `None` if they have one.
fn sentence(mark: &CounterMark, units: &[String]) -> Option<Note> {
    let socket = mark.place().socket;
    Some(match mark {
        CounterMark::Multiplexed { .. } => return None,
        CounterMark::NeverCounted { .. } => counters::boxes_without_turn(units, socket),
        CounterMark::Lost { .. } => counters::boxes_lost(units, socket),
        CounterMark::WentBack { .. } => counters::boxes_set_back(units, socket),
        CounterMark::Impossible { rate, .. } => counters::boxes_impossible(units.to_vec(), socket, (*rate).into()),
        CounterMark::Silent { counts, beside, .. } => {
            counters::boxes_stay_zero(units.to_vec(), socket, *counts, (*beside).into())
        }
        CounterMark::Partial { counts, .. } => counters::boxes_count_a_part(units, socket, *counts),
    })
}

/// Cpu time of this thread.
fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}
