//! A command on the curves of a run, sample by sample.

use tiermark_model::messages::curve_profile as says;
use tiermark_model::{
    CounterSight, CounterSourceId, CurveProfile, Machine, Note, ProfileAxis, ProfileCurves, ProfilePoint, ProfileTime,
    Refusal, Run, Traffic, WatchSample, count_of,
};

use super::{curves_of, idle_notes, lacks_nodes, notes, place};

/// The curves, and the command on them so far.
#[derive(Debug)]
pub struct ProfiledCommand {
    on: ProfileCurves,
    counters: CounterSourceId,
    machine: Machine,
    points: Vec<ProfilePoint>,
    /// Whether a sample had traffic of unknown nodes.
    lacks_nodes: bool,
    /// What memory moved before the command.
    idle: Option<Traffic>,
    notes: Vec<Note>,
}

impl ProfiledCommand {
    /// The curves of a run before the command begins on this machine, which may be simulated, with these counters, which see so much.
    ///
    /// # Errors
    /// A [`Refusal`] if the run has no curve.
    pub fn new(
        run: &Run,
        machine: Machine,
        simulated: bool,
        counters: CounterSourceId,
        sees: &[CounterSight],
    ) -> Result<Self, Refusal> {
        let on = curves_of(run)?;
        let mut notes = Vec::new();
        notes.extend(other_machine(run, &machine, simulated));
        if on.axis == ProfileAxis::Useful {
            notes.push(says::curve_of_useful_bytes());
        }
        notes.extend(checked(run, counters));
        notes.push(says::watch_counts_unchecked());
        if sees.contains(&CounterSight::LowerBound) {
            notes.push(says::rates_are_a_lower_bound());
        }
        notes.push(says::rates_of_the_whole_machine());
        Ok(Self { on, counters, machine, points: Vec::new(), lacks_nodes: false, idle: None, notes })
    }

    /// That the curves are of another machine: what the user learns before the command runs.
    #[must_use]
    pub fn warning(&self) -> Option<&Note> {
        self.notes.first().filter(|note| note.code == says::codes::curve_of_another_machine)
    }

    /// What memory moved before the command; `None` if the source does not resolve that.
    pub fn idle_is(&mut self, idle: Option<Traffic>) {
        match &idle {
            Some(idle) => self.notes.extend(idle_notes(&self.on, idle, &self.machine)),
            None => self.notes.push(says::idle_not_subtracted(self.counters.name())),
        }
        self.idle = idle;
    }

    /// Takes in a sample.
    pub fn add(&mut self, sample: &WatchSample) {
        let without_idle = |traffic: &Traffic| self.idle.as_ref().map(|idle| traffic.minus(idle));
        let own = sample.traffic.as_ref().and_then(without_idle).or_else(|| sample.traffic.clone());
        let own = WatchSample { traffic: own, ..sample.clone() };
        self.points.extend(place(&self.on, &own, &self.machine));
        self.lacks_nodes = self.lacks_nodes || lacks_nodes(sample, &self.machine);
    }

    /// The document of the command, which has ended.
    #[must_use]
    pub fn finish(mut self, command: &str) -> CurveProfile {
        self.notes.extend(notes(&self.on, &self.points));
        if self.lacks_nodes {
            self.notes.push(says::traffic_without_nodes());
        }
        CurveProfile {
            command: command.to_owned(),
            counters: self.counters,
            idle_bytes_per_second: self.idle.as_ref().and_then(|idle| idle.rate()).map(|(rate, _)| rate),
            on: self.on,
            time: ProfileTime::of(&self.points),
            points: self.points,
            notes: self.notes,
        }
    }
}

/// What a known stream said of the counts of the run; `None` if they were not compared with one.
fn checked(run: &Run, source: CounterSourceId) -> Option<Note> {
    let counters = run.counters.as_ref()?;
    let check = counters.check.as_ref()?;
    match (counters.can_be_trusted(), check.faults.is_empty()) {
        (true, _) => Some(says::curve_counts_checked(counters.source.name())),
        (false, false) if counters.source == source => Some(says::curve_counts_wrong(source.name())),
        _ => None,
    }
}

/// A note if the run is of another machine than this, by what both know of themselves.
fn other_machine(run: &Run, here: &Machine, simulated: bool) -> Option<Note> {
    let facts = |machine: &Machine, simulated: bool| {
        (simulated, machine.cpu_model.name.clone(), machine.cpus.len(), machine.system.hostname.clone())
    };
    let name = |machine: &Machine| {
        let processor = machine.cpu_model.name.as_deref().unwrap_or("an unknown processor");
        let host = machine.system.hostname.as_ref().map_or_else(String::new, |host| format!("{host}, "));
        format!("{host}{processor}, {}", count_of(machine.cpus.len() as u64, "cpu"))
    };
    let differs = facts(&run.machine, run.simulated.is_some()) != facts(here, simulated);
    differs.then(|| says::curve_of_another_machine(&name(&run.machine), &name(here)))
}
