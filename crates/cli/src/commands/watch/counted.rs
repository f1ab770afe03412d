//! The traffic of memory and links beside the samples, where a source of counters opens.

use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tiermark_counters::{Chosen, CounterSource, SimCounters, SimRate, Snapshot, traffic};
use tiermark_machine::Root;
use tiermark_model::messages::placed as says;
use tiermark_model::{CounterSourceId, Machine, Note, Refusal, Traffic, WatchSample};

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

/// A source that is read at each sample.
pub(super) struct Counted {
    source: Box<dyn CounterSource>,
    before: Option<Snapshot>,
    /// Whether the user knows that the source can no longer be read.
    told: bool,
}

impl Counted {
    fn new(source: Box<dyn CounterSource>) -> Self {
        Self { source, before: None, told: false }
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

    /// Adds the traffic since the sample before to a sample, and the cpu time of reading the counters to its cost.
    pub(super) fn add(&mut self, sample: &mut WatchSample) {
        sample.counters = Some(self.source.id());
        let began = cpu_time();
        match self.source.read() {
            Ok(now) => {
                let before = self.before.as_ref().unwrap_or(&now);
                sample.traffic = Some(traffic(before, &now));
                self.before = Some(now);
            }
            Err(error) if !self.told => {
                self.told = true;
                tell(format_args!("tiermark: warning: the counters cannot be read: {error}"));
            }
            Err(_) => {}
        }
        if let Some(seconds) = &mut sample.own.read_seconds {
            *seconds += cpu_time().saturating_sub(began).as_secs_f64();
        }
    }
}

/// Cpu time of this thread.
fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}
