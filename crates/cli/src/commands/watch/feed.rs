//! Where samples come from: this system, or a recording.

use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};
use tiermark_counters::{NoCounts, SampledSource};
use tiermark_machine::Root;
use tiermark_model::{Note, WatchSample};
use tiermark_watch::{Reading, Recording, Source, sample};

use super::active::Cells;
use crate::output::{Failure, tell};

/// A sequence of samples.
pub(super) trait Feed {
    /// Time until the next sample, 0 if it is due; `None` behind the last one.
    fn due(&self) -> Option<Duration>;
    /// The next sample, whether it is due or not; `None` behind the last one.
    fn take(&mut self) -> Option<WatchSample>;
    /// That counters counted nothing in all samples; `None` if they counted, or there are none.
    fn nothing_came(&self) -> Option<NoCounts> {
        None
    }
    /// What a user should know of the counts at the end.
    fn last_notes(&mut self) -> Vec<Note> {
        Vec::new()
    }
    /// Position and length, for a recording.
    fn position(&self) -> Option<(usize, usize)> {
        None
    }
}

/// The system, sampled at an interval.
pub(super) struct Live {
    source: Source,
    counted: Option<SampledSource>,
    before: Option<Reading>,
    interval: Duration,
    next: Instant,
    page_bytes: u64,
    /// Name of the simulated machine.
    simulated: Option<String>,
    /// What `--active` measures.
    cells: Option<Cells>,
    /// Whether a screen is shown: it reports faults of the counts itself, and lines of text would damage it.
    on_screen: bool,
    /// Whether samples wait for their time; those of a simulated machine do on the screen only.
    paced: bool,
}

impl Live {
    pub(super) fn new(
        root: &Root,
        interval: f64,
        groups: usize,
        counted: Option<SampledSource>,
        cells: Option<Cells>,
        on_screen: bool,
    ) -> Self {
        Self {
            paced: on_screen || !cells.as_ref().is_some_and(Cells::is_simulated),
            cells,
            source: Source::new(root).with_groups(groups),
            counted,
            on_screen,
            before: None,
            simulated: None,
            interval: Duration::from_secs_f64(interval),
            next: Instant::now(),
            page_bytes: rustix::param::page_size() as u64,
        }
    }

    /// The same of a simulated machine, if it is one.
    pub(super) fn of_simulated(self, name: Option<String>) -> Self {
        Self { simulated: name, ..self }
    }
}

impl Live {
    /// Adds the traffic to a sample, and the cpu time of reading the counters to its cost.
    fn count(&mut self, taken: &mut WatchSample) {
        let Some(counted) = &mut self.counted else { return };
        let began = cpu_time();
        let news = counted.add(taken);
        if let Some(error) = news.unreadable {
            tell(format_args!("tiermark: warning: the counters cannot be read: {error}"));
        }
        news.notes.iter().filter(|_| !self.on_screen).for_each(|note| tell(format_args!("tiermark: note: {note}")));
        if let Some(seconds) = &mut taken.own.read_seconds {
            *seconds += cpu_time().saturating_sub(began).as_secs_f64();
        }
    }
}

/// Cpu time of this thread.
fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

impl Feed for Live {
    fn nothing_came(&self) -> Option<NoCounts> {
        self.counted.as_ref().and_then(SampledSource::nothing_came)
    }

    fn last_notes(&mut self) -> Vec<Note> {
        self.counted.as_mut().map_or_else(Vec::new, SampledSource::last_notes)
    }

    fn due(&self) -> Option<Duration> {
        let due = self.next.saturating_duration_since(Instant::now());
        Some(if self.paced { due } else { Duration::ZERO })
    }

    fn take(&mut self) -> Option<WatchSample> {
        let mut reading = self.source.read();
        let simulated = self.cells.as_ref().and_then(|cells| cells.simulated_time(&mut reading));
        let time = simulated.unwrap_or_else(Timestamp::now).strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string();
        let mut taken = sample(time, self.before.as_ref(), &reading, self.page_bytes);
        taken.simulated.clone_from(&self.simulated);
        taken.active = self.cells.as_mut().map(Cells::round);
        self.before = Some(reading);
        self.count(&mut taken);
        // Samples that were missed (the program was stopped) are not made up for.
        let now = Instant::now();
        self.next += self.interval;
        if self.next < now {
            self.next = now + self.interval;
        }
        Some(taken)
    }
}

/// A recording.
pub(super) struct Replay {
    samples: Vec<WatchSample>,
    at: usize,
    /// When the sample before was taken, if samples come as they were recorded.
    paced: Option<Instant>,
}

impl Replay {
    pub(super) fn open(file: &Path, paced: bool) -> Result<Self, Failure> {
        let name = file.display();
        let Recording { samples, is_cut } =
            Recording::read(file).map_err(|why| Failure::usage(format!("'{name}'{why}")))?;
        if is_cut {
            tell(format_args!(
                "tiermark: warning: '{name}' ends in a half-written line, which is left out: its writer was killed, or \
                    still writes it"
            ));
        }
        Ok(Self { samples, at: 0, paced: paced.then(Instant::now) })
    }
}

impl Feed for Replay {
    fn due(&self) -> Option<Duration> {
        let sample = self.samples.get(self.at)?;
        let Some(since) = self.paced.filter(|_| self.at > 0) else { return Some(Duration::ZERO) };
        // A recording may hold anything.
        let gap = Duration::try_from_secs_f64(sample.seconds.unwrap_or(0.0)).unwrap_or_default();
        Some(gap.saturating_sub(since.elapsed()))
    }

    fn take(&mut self) -> Option<WatchSample> {
        let sample = self.samples.get(self.at)?.clone();
        self.at += 1;
        self.paced = self.paced.map(|_| Instant::now());
        Some(sample)
    }

    fn position(&self) -> Option<(usize, usize)> {
        Some((self.at, self.samples.len()))
    }
}
