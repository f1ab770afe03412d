//! A source that is read at each sample of a watch.

use std::time::{Duration, Instant};

use tiermark_model::messages::counters as says;
use tiermark_model::{CounterMark, CounterSight, CounterSourceId, Note, Refusal, Traffic, WatchSample};

use crate::liveness::Liveness;
use crate::snapshot::Snapshot;
use crate::source::{CounterSource, Doubt};
use crate::traffic::traffic;

/// That nothing was counted in a whole watch.
#[derive(Debug, Clone, PartialEq)]
pub enum NoCounts {
    /// Too short for a source that may be healthy.
    TooShort(Note),
    /// The source cannot be read, or stands still.
    Broken(Refusal),
}

/// What a user should know after a sample, each fact once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct News {
    /// The system's error, when the source can no longer be read.
    pub unreadable: Option<String>,
    /// Whether the source stopped or goes on, which boxes have no figure, and what the source says itself.
    pub notes: Vec<Note>,
}

/// A source and what was counted so far.
pub struct SampledSource {
    source: Box<dyn CounterSource>,
    before: Option<Snapshot>,
    began: Instant,
    liveness: Liveness,
    /// Why the source cannot be read now.
    error: Option<String>,
    /// Marks of boxes that were already reported.
    known_marks: Vec<CounterMark>,
    /// Notes of the source that were already reported.
    known: Vec<Note>,
    samples: u64,
}

impl SampledSource {
    /// A source before the first sample.
    #[must_use]
    pub fn new(source: Box<dyn CounterSource>) -> Self {
        let known = source.notes();
        Self {
            source,
            before: None,
            began: Instant::now(),
            liveness: Liveness::default(),
            error: None,
            known_marks: Vec::new(),
            known,
            samples: 0,
        }
    }

    /// Which source it is.
    #[must_use]
    pub fn id(&self) -> CounterSourceId {
        self.source.id()
    }

    /// What it sees.
    #[must_use]
    pub fn sees(&self) -> Vec<CounterSight> {
        self.source.sees()
    }

    /// The traffic of the machine during `time`; `None` if the source does not resolve it or cannot be read.
    pub fn idle(&mut self, time: Duration) -> Option<Traffic> {
        if !self.source.is_immediate() {
            return None;
        }
        let before = self.source.read().ok()?;
        self.source.wait(time);
        Some(traffic(&before, &self.source.read().ok()?))
    }

    /// Adds the traffic since the sample before to a sample.
    pub fn add(&mut self, sample: &mut WatchSample) -> News {
        sample.counters = Some(self.source.id());
        self.samples += 1;
        match self.source.read() {
            Ok(now) => {
                self.error = None;
                let seen = traffic(self.before.as_ref().unwrap_or(&now), &now);
                let notes = self.news_of(&seen, &now, &sample.time);
                sample.traffic = Some(seen);
                self.before = Some(now);
                News { unreadable: None, notes }
            }
            Err(error) => {
                let text = error.to_string();
                let unreadable = self.error.is_none().then(|| text.clone());
                self.error = Some(text);
                News { unreadable, notes: Vec::new() }
            }
        }
    }

    /// What a user should know of new counts.
    fn news_of(&mut self, seen: &Traffic, newest: &Snapshot, time: &str) -> Vec<Note> {
        let name = self.source.id().name();
        let of_day = time.get(11..19).unwrap_or(time);
        let mut counts: Vec<u64> = newest.readings.iter().map(|reading| reading.count).collect();
        // On an idle machine, counts rounded to 0 do not change: the time of a new line shows that the source works.
        if newest.readings.iter().any(|reading| reading.least > 0.0) {
            counts.push(newest.at.as_millis() as u64);
        }
        let note = self.liveness.look(&counts, self.began.elapsed().as_secs_f64(), of_day, name);
        let new = seen.marks.iter().filter(|mark| !self.known_marks.iter().any(|known| known.is_like(mark)));
        let new: Vec<CounterMark> = new.cloned().collect();
        let notes = note.into_iter().chain(left_out(&new)).chain(self.news(Doubt::Counts)).collect();
        self.known_marks.extend(new);
        notes
    }

    /// The notes of this kind that the user does not know yet.
    fn news(&mut self, of: Doubt) -> Vec<Note> {
        let new: Vec<Note> = self.notes(of).filter(|note| !self.known.contains(note)).collect();
        self.known.extend(new.iter().cloned());
        new
    }

    fn notes(&self, of: Doubt) -> impl Iterator<Item = Note> {
        self.source.doubts().into_iter().filter(move |(own, _)| *own == of).map(|(_, note)| note)
    }

    /// What a user should know of the counts at the end: how many lines had no counts.
    pub fn last_notes(&mut self) -> Vec<Note> {
        self.news(Doubt::Whole)
    }

    /// Why nothing was counted in the whole watch; `None` if something was counted, or after fewer than two samples.
    #[must_use]
    pub fn nothing_came(&self) -> Option<NoCounts> {
        if self.liveness.has_counted || self.samples < 2 {
            return None;
        }
        let name = self.source.id().name();
        if self.error.is_none() && !self.liveness.has_stopped {
            return Some(NoCounts::TooShort(says::watch_too_short_for_counts(name)));
        }
        let pending = || self.notes(Doubt::Pending).next().map(|note| note.text);
        let cause = self.error.clone().or_else(pending).unwrap_or_else(|| "its counts stand still".to_owned());
        Some(NoCounts::Broken(says::nothing_came(name, &cause)))
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
        CounterMark::NeverCounted { .. } => says::boxes_without_turn(units, socket),
        CounterMark::Lost { .. } => says::boxes_lost(units, socket),
        CounterMark::WentBack { .. } => says::boxes_set_back(units, socket),
        CounterMark::Impossible { rate, .. } => says::boxes_impossible(units.to_vec(), socket, (*rate).into()),
        CounterMark::Silent { counts, beside, .. } => {
            says::boxes_stay_zero(units.to_vec(), socket, *counts, (*beside).into())
        }
        CounterMark::Partial { counts, .. } => says::boxes_count_a_part(units, socket, *counts),
    })
}
