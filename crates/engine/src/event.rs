//! Events of a run, sent to sinks (progress, journal). Nothing prints inside a measurement.

use tiermark_model::{
    CounterSourceId, Experiment, Finding, LostPage, Observation, Plan, Request, SoakWork, Step, WrongWord,
};

use crate::host::Filled;

/// Something that happened.
#[derive(Debug, Clone)]
pub enum Event<'a> {
    /// A probe's plan is about to run.
    ExperimentStarted {
        /// The request of the experiment.
        request: &'a Request,
        /// The probe's method version.
        method: u32,
        /// The plan made for it.
        plan: &'a Plan,
    },
    /// The memory of the run was filled.
    Filled {
        /// How much, and how long it took.
        filled: Filled,
    },
    /// The probe added steps.
    StepsAdded {
        /// The steps that were added.
        steps: &'a [Step],
    },
    /// A step was visited.
    Visited {
        /// The step that was visited.
        step: &'a Step,
        /// Seconds the rest of the plan is expected to take.
        remaining_seconds: f64,
        /// Share of the plan that is done, 0 to 1.
        done: f64,
    },
    /// A number runs once more, after the visits, beside counters that count in intervals of their own.
    Counting {
        /// Its step.
        step: &'a Step,
        /// What counts.
        source: CounterSourceId,
        /// Seconds that it and the numbers after it are expected to take.
        remaining_seconds: f64,
    },
    /// A soak of memory goes on.
    Soaking {
        /// Its step.
        step: &'a Step,
        /// What its threads do.
        work: SoakWork,
        /// Bytes per second of the last sample.
        rate: Option<f64>,
        /// Words found wrong since the event before.
        wrong: &'a [WrongWord],
        /// Pages taken away since the event before.
        lost: &'a [LostPage],
        /// Words found wrong so far.
        errors: u64,
        /// Seconds that are left.
        remaining_seconds: f64,
        /// Share of the time that is over, 0 to 1.
        done: f64,
    },
    /// All that is known of a step so far, every few seconds and at the end; a later event of the same step replaces
    /// it.
    Observed {
        /// Results of the step.
        observation: &'a Observation,
    },
    /// The figures have their first values; curves and further visits follow.
    Answered {
        /// All that was observed so far.
        observations: &'a [Observation],
        /// What follows from it.
        findings: &'a [Finding],
    },
    /// The experiment is done; its observations, held against the record, came before. They come again with counts
    /// that were made after the visits.
    ExperimentDone {
        /// Its results.
        experiment: &'a Experiment,
    },
}

/// A listener.
pub trait Sink {
    /// Takes an event. Must be quick: it is called between shots.
    fn event(&mut self, event: &Event<'_>);

    /// Whether it wants the time of each block in the results of an experiment.
    fn keeps_blocks(&self) -> bool {
        false
    }
}

/// Listens to nothing.
impl Sink for () {
    fn event(&mut self, _: &Event<'_>) {}
}

/// Passes every event on to several listeners.
impl Sink for Vec<Box<dyn Sink + '_>> {
    fn event(&mut self, event: &Event<'_>) {
        for sink in self {
            sink.event(event);
        }
    }
}
