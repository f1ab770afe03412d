//! The traffic of memory and links beside the samples, where a source of counters opens.

use tiermark_counters::{Beside, Chosen, SampledSource, SimCounters, SimRate};
use tiermark_machine::Root;
use tiermark_model::messages::{counters, curve_profile as says};
use tiermark_model::{Machine, Note, Refusal};

use crate::args::watch::WatchArgs;
use crate::args::{CounterUse, Simulation};
use crate::counters::open_counters;
use crate::output::{Failure, tell};
use crate::target;

/// What became of the counters.
#[derive(Default)]
pub(super) struct Counting {
    /// The source; `None` if none opened, or none was to be opened.
    pub(super) counted: Option<SampledSource>,
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
        let machine = target::machine(root)?;
        let script = &simulation.sim_traffic;
        let chosen = if script.is_empty() || simulation.simulate.is_none() {
            open_counters(root, &machine, &args.counting, Beside::Samples)?
        } else {
            scripted(&machine, script)
        };
        if let Some(source) = chosen.source {
            let notes = source.notes();
            return Ok(Self { counted: Some(SampledSource::new(source)), refused: Vec::new(), notes });
        }
        let refused: Vec<Refusal> = chosen.refused.into_iter().map(|(_, refusal)| refusal).collect();
        // A source that the user names is as good as required.
        if args.counting.when == CounterUse::Require || args.counting.source.counters_from.is_some() {
            return Err(Failure::Wrong(Vec::new(), refused));
        }
        Ok(Self { refused, ..Self::default() })
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
    Chosen { source: Some(Box::new(source)), refused: Vec::new() }
}
