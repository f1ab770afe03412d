//! The command on the loaded-latency curves of a saved run.

use tiermark_machine::Root;
use tiermark_model::messages::curve_profile as says;
use tiermark_model::{
    CounterSourceId, CurveProfile, Machine, Note, PLACED_SCHEMA, ProfileAxis, ProfileCurves, ProfilePoint, ProfileTime,
    Run, Traffic, WatchSample,
};
use tiermark_page::terminal;
use tiermark_report::Sheet;

use super::child::plain;
use super::counted::Counting;
use crate::args::Simulation;
use crate::args::watch::WatchArgs;
use crate::commands::report::open_page;
use crate::counted::IDLE;
use crate::output::{Destination, Failure, document, style, tell};
use crate::{saved, target};

/// The curves, and the command on them so far.
pub(super) struct OnCurve {
    on: ProfileCurves,
    counters: CounterSourceId,
    machine: Machine,
    points: Vec<ProfilePoint>,
    /// Whether a sample had traffic of unknown nodes.
    lacks_nodes: bool,
    /// What memory moved before the command.
    idle: Option<Traffic>,
    notes: Vec<Note>,
    json: Option<Destination>,
    page: Option<Destination>,
}

impl OnCurve {
    /// Reads the run, and opens the files for the result.
    ///
    /// # Errors
    /// A [`Failure`] if there is no such run, the run has no curve, or no counters are open; of usage for files that
    /// cannot be written.
    pub(super) fn open(
        args: &WatchArgs,
        root: &Root,
        simulation: &Simulation,
        counting: &mut Counting,
    ) -> Result<Option<Self>, Failure> {
        let Some(name) = &args.curve else { return Ok(None) };
        // Without counters no run will do.
        let Some(counted) = &mut counting.counted else {
            let why = counting.refused.first().map(|refusal| format!("{}: {}", refusal.what, refusal.why));
            return Err(says::curve_without_counters(&why.unwrap_or_default()).into());
        };
        let run = saved::run_of_probes(name)?;
        let on = tiermark_probes::curve_profile::curves_of(&run)?;
        let machine = match &simulation.simulate {
            Some(_) => target::captured_machine(root)?,
            None => target::this_machine()?,
        };
        let mut notes = Vec::new();
        notes.extend(other_machine(&run, &machine, simulation.simulate.is_some()));
        if on.axis == ProfileAxis::Useful {
            notes.push(says::curve_of_useful_bytes());
        }
        notes.extend(checked(&run, counted.id()));
        notes.push(says::watch_counts_unchecked());
        if counted.id() == CounterSourceId::Core {
            notes.push(says::rates_are_a_lower_bound());
        }
        notes.push(says::rates_of_the_whole_machine());
        // The user learns before the command runs what the result will be worth.
        notes.iter().take(1).filter(|note| note.code == "curve_of_another_machine").for_each(|note| {
            tell(format_args!("tiermark: warning: {note}"));
        });
        let idle = counted.idle(IDLE);
        match &idle {
            Some(idle) => notes.extend(tiermark_probes::curve_profile::idle_notes(&on, idle, &machine)),
            None => notes.push(says::idle_not_subtracted(counted.id().name())),
        }
        let json = args.curve_json.as_deref().map(Destination::open).transpose()?;
        let page = args.curve_html.as_deref().map(open_page).transpose()?;
        Ok(Some(Self {
            on,
            counters: counted.id(),
            machine,
            points: Vec::new(),
            lacks_nodes: false,
            idle,
            notes,
            json,
            page,
        }))
    }

    /// Takes in a sample.
    pub(super) fn add(&mut self, sample: &WatchSample) {
        let without_idle = |traffic: &Traffic| self.idle.as_ref().map(|idle| traffic.minus(idle));
        let own = sample.traffic.as_ref().and_then(without_idle).or_else(|| sample.traffic.clone());
        let own = WatchSample { traffic: own, ..sample.clone() };
        self.points.extend(tiermark_probes::curve_profile::place(&self.on, &own, &self.machine));
        self.lacks_nodes = self.lacks_nodes || tiermark_probes::curve_profile::lacks_nodes(sample, &self.machine);
    }

    /// Prints the result on standard error, and writes the files.
    ///
    /// # Errors
    /// A [`Failure`] that names a file that cannot be written.
    pub(super) fn finish(mut self, command: &str, args: &WatchArgs) -> Result<(), Failure> {
        self.notes.extend(tiermark_probes::curve_profile::notes(&self.on, &self.points));
        if self.lacks_nodes {
            self.notes.push(says::traffic_without_nodes());
        }
        let placed = CurveProfile {
            command: command.to_owned(),
            counters: self.counters,
            idle_bytes_per_second: self.idle.as_ref().and_then(|idle| idle.rate()).map(|(rate, _)| rate),
            on: self.on,
            time: ProfileTime::of(&self.points),
            points: self.points,
            notes: self.notes,
        };
        if !args.quiet {
            tell(format_args!(
                "\n{}",
                terminal(&tiermark_report::curve_profile(&placed, &plain(args)), &plain(args)).trim_end()
            ));
        }
        if let Some(json) = self.json {
            json.write(&document(PLACED_SCHEMA, &placed)?)?;
        }
        let page = self
            .page
            .map(|page| page.write(&tiermark_report::html(&[Sheet::CurveProfile(&placed)], &style(&args.view))));
        page.map_or(Ok(()), |written| written)
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
        format!("{host}{processor}, {} cpus", machine.cpus.len())
    };
    let differs = facts(&run.machine, run.simulated.is_some()) != facts(here, simulated);
    differs.then(|| says::curve_of_another_machine(&name(&run.machine), &name(here)))
}
