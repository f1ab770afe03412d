//! Counters beside a run: a host whose shots carry the traffic of memory and links.
//!
//! The counters are read just before and just after a shot, outside its stamps. What the machine carries while nothing
//! is measured is counted first, and a stream whose bytes are known then shows whether the counts make sense. Sources
//! with intervals of their own count after the visits ([`IntervalCounts`]).

#[cfg(test)]
mod fakes;
mod intervals;
#[cfg(test)]
mod intervals_tests;
mod known;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tiermark_counters::{BoxNodes, Chosen, CounterSource, Snapshot, traffic};
use tiermark_engine::soak::SoakRig;
use tiermark_engine::{Fault, Filled, Host, Lab, Rig, Shot};
use tiermark_machine::{Energy, Root};
use tiermark_model::messages::counters as says;
use tiermark_model::{
    Bench, CounterSight, CounterSourceId, KernelId, LinkCheck, Note, PassedOver, PlacementProof, RateUnit, Refusal,
    Role, RunCounters, Setup, StepTraffic,
};

pub use intervals::IntervalCounts;

/// Time over which the idle machine is watched. An idle server moves some 100 MB/s a socket, in bursts of some ms.
pub const IDLE: Duration = Duration::from_millis(500);

/// The counters, which all rigs of a host share.
struct Meter {
    source: Box<dyn CounterSource>,
    energy: Option<Energy>,
    /// The nodes of boxes that the source does not name.
    nodes: BoxNodes,
    /// What is known of its links.
    links: Option<LinkCheck>,
}

/// The counts at one moment.
struct Moment {
    counts: Snapshot,
    energy: Option<Vec<u64>>,
}

impl Meter {
    /// The counts now; `None` if they cannot be read, which the next shot may change.
    fn read(&mut self) -> Option<Moment> {
        let energy = self.energy.as_mut().and_then(Energy::read);
        Some(Moment { counts: self.source.read().ok()?, energy })
    }

    /// What was counted since a moment.
    fn since(&mut self, before: &Moment) -> Option<StepTraffic> {
        let after = self.read()?;
        let joules = self
            .energy
            .as_ref()
            .and_then(|energy| Some(energy.joules(before.energy.as_deref()?, after.energy.as_deref()?)));
        let mut counted = traffic(&before.counts, &after.counts);
        self.nodes.name(&mut counted);
        self.links.iter().for_each(|check| counted.remove_wrong(check));
        Some(StepTraffic { useful: None, counted, joules })
    }
}

/// A host whose shots carry what its counters saw.
pub struct Counted {
    inner: Box<dyn Host>,
    meter: Rc<RefCell<Meter>>,
    lab: Lab,
}

impl Counted {
    /// Puts counters beside a host, and watches the idle machine.
    pub fn new(inner: Box<dyn Host>, source: Box<dyn CounterSource>, root: &Root) -> Self {
        let mut meter = Meter { source, energy: Energy::open(root), nodes: BoxNodes::default(), links: None };
        let idle = meter.read().and_then(|before| {
            thread::sleep(IDLE);
            meter.since(&before)
        });
        let idle_watts = idle.as_ref().and_then(|idle| Some(idle.joules? / idle.counted.seconds));
        let bench = Bench { idle_traffic: idle.map(|idle| idle.counted), idle_watts, ..inner.bench().clone() };
        let lab = Lab { machine: Arc::clone(&inner.lab().machine), bench: Arc::new(bench) };
        Self { inner, meter: Rc::new(RefCell::new(meter)), lab }
    }

    /// Names the nodes of boxes, and leaves out directions over links that are wrong, from now on.
    fn refine(&mut self, nodes: BoxNodes, links: Option<LinkCheck>) {
        if let Some(idle) = &mut Arc::make_mut(&mut self.lab.bench).idle_traffic {
            nodes.name(idle);
            links.iter().for_each(|check| idle.remove_wrong(check));
        }
        let mut meter = self.meter.borrow_mut();
        (meter.nodes, meter.links) = (nodes, links);
    }
}

/// A host with the counters of a run.
pub struct CountedHost {
    /// The host, whose shots carry what immediate counters saw.
    pub host: Box<dyn Host>,
    /// What is known of the counters.
    pub counters: Option<RunCounters>,
    /// Counters that count after the visits; `None` if they are immediate, or there are none.
    pub intervals: Option<IntervalCounts>,
}

/// Puts the chosen counters beside a host. A host without any stays as it is, and so does one whose counters have
/// intervals of their own.
#[must_use]
pub fn beside(host: Box<dyn Host>, root: &Root, chosen: Chosen) -> CountedHost {
    let Chosen { source, refused } = chosen;
    let passed_over = refused.into_iter().map(|(source, refusal)| PassedOver { source, refusal }).collect();
    let mut counters =
        RunCounters { source: CounterSourceId::None, sees: Vec::new(), passed_over, check: None, notes: Vec::new() };
    let Some(source) = source else { return CountedHost { host, counters: Some(counters), intervals: None } };
    (counters.source, counters.sees, counters.notes) = (source.id(), source.sees(), source.notes());
    if !source.is_immediate() {
        counters.notes = intervals::notes_of(source.as_ref());
        let intervals = Some(IntervalCounts::beside(source, host.as_ref()));
        return CountedHost { host, counters: Some(counters), intervals };
    }
    let mut host = Counted::new(host, source, root);
    counters.check = known::check(&mut host, &counters.sees);
    let nodes = known::nodes(&mut host);
    let links = counters.check.as_ref().and_then(|check| check.links.clone());
    counters.sees.retain(|sight| links.as_ref().is_none_or(|links| links.has_right(*sight)));
    host.refine(nodes, links);
    CountedHost { host: Box::new(host), counters: Some(counters), intervals: None }
}

/// Refuses a run without the counters that the user requires or names: no source opened, or required counters disagree
/// with streams of known bytes.
///
/// # Errors
/// Why each source did not open, or what is wrong with the counts.
pub fn refuse_useless(required: bool, named: bool, counters: &RunCounters) -> Result<(), Vec<Refusal>> {
    // A source that the user names is as good as required; what is wrong with its counts is what the user may want to
    // see.
    if counters.source == CounterSourceId::None && (required || named) {
        return Err(counters.passed_over.iter().map(|own| own.refusal.clone()).collect());
    }
    let faults = counters.check.iter().flat_map(|check| &check.faults).cloned().collect::<Vec<_>>();
    if required && !faults.is_empty() {
        return Err(vec![says::counts_of_no_use(counters.source.name(), &Note::joined(&faults, RateUnit::Si))]);
    }
    Ok(())
}

/// The counters of a simulated machine, whose shots carry what they saw.
pub fn simulated(host: &mut dyn Host) -> RunCounters {
    let sees = [
        CounterSight::Reads,
        CounterSight::Writes,
        CounterSight::Channels,
        CounterSight::Utilisation,
        CounterSight::LinkSent,
        CounterSight::LinkReceived,
    ];
    let (source, check) = (CounterSourceId::Simulated, known::check(host, &sees));
    RunCounters { source, sees: sees.to_vec(), passed_over: Vec::new(), check, notes: Vec::new() }
}

impl Host for Counted {
    fn lab(&self) -> &Lab {
        &self.lab
    }

    fn furnish(&mut self, setups: &[&Setup]) -> Filled {
        self.inner.furnish(setups)
    }

    fn prepare(&mut self, setup: &Setup) -> Result<Box<dyn Rig>, Refusal> {
        let rig = self.inner.prepare(setup)?;
        Ok(Box::new(CountedRig { rig, meter: Rc::clone(&self.meter) }))
    }

    fn soak(&mut self, setup: &Setup) -> Result<Box<dyn SoakRig>, Refusal> {
        self.inner.soak(setup)
    }

    fn keep_bytes(&self) -> u64 {
        self.inner.keep_bytes()
    }

    fn now(&self) -> f64 {
        self.inner.now()
    }

    fn rest(&mut self, seconds: f64) {
        self.inner.rest(seconds);
    }

    fn cpu_seconds(&self) -> Option<f64> {
        self.inner.cpu_seconds()
    }

    fn stopped(&self) -> bool {
        self.inner.stopped()
    }
}

struct CountedRig {
    rig: Box<dyn Rig>,
    meter: Rc<RefCell<Meter>>,
}

impl Rig for CountedRig {
    fn placement(&mut self) -> PlacementProof {
        self.rig.placement()
    }

    fn select(&mut self, kernel: &KernelId) -> Result<(), Fault> {
        self.rig.select(kernel)
    }

    fn assign(&mut self, roles: &[Role]) -> Result<(), Fault> {
        self.rig.assign(roles)
    }

    fn owns_memory(&self) -> bool {
        self.rig.owns_memory()
    }

    fn shot(&mut self, budget: Duration) -> Result<Shot, Fault> {
        let before = self.meter.borrow_mut().read();
        let mut shot = self.rig.shot(budget)?;
        shot.traffic = before.and_then(|before| self.meter.borrow_mut().since(&before));
        Ok(shot)
    }
}
