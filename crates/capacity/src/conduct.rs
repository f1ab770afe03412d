//! A run from its beginning to its end: what a tenant takes, then each search with its tier set up before and taken back after it.

mod guests;

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tiermark_load::{ClientSetup, Phase as LoadPhase, Target, seed};
use tiermark_machine::Root;
use tiermark_model::capacity::{Answer, CurvePoint, Outcome, ProbeRecord};
use tiermark_model::{Bytes, Refusal};
use tiermark_tune::StateDir;

use crate::backend::{Backend, Commands, External, GuestFiles, Hypervisor, Places, Processes, Qemu, Room};
use crate::budget::{Arithmetic, Budgets};
use crate::cgroup::{Budget, Layout};
use crate::probe::{Footprint, Probed, Prober, Progress};
use crate::saved::Saved;
use crate::scenario::{Backend as Kind, Part, Scenario, Tier};
use crate::search::{Ask, Limits, Search, Step};
use crate::system::{System, leave_floor};
use crate::tier::{Raised, raise};

/// Room of a tier without a size of its own, in budgets of DRAM: the brief had three.
const TIER_BUDGETS: u64 = 4;

/// Something that a reader wants to see while it goes on.
#[derive(Debug)]
pub enum Event<'a> {
    /// It is found out what a tenant takes.
    Sizing,
    /// What it takes.
    Sized(Option<Footprint>),
    /// A search begins: its number from 1, of how many, and what it starts from.
    Case {
        /// Its number.
        number: usize,
        /// Of so many.
        of: usize,
        /// Tier and load.
        part: &'a Part<'a>,
        /// Probes that were made before, in another process.
        made: usize,
    },
    /// A probe begins.
    Probe(&'a Ask),
    /// How it is going.
    Progress(&'a Progress),
    /// What it came to.
    Probed(&'a ProbeRecord, Option<&'a CurvePoint>),
    /// A search has ended.
    Answer(&'a Answer),
    /// A search cannot be made.
    Refused(&'a Refusal),
    /// Something that a reader of the result should know: what it is about in a word, and a sentence.
    Remark(&'a str, &'a str),
}

/// What a run needs beside its scenario.
#[derive(Debug)]
pub struct Means<'a> {
    /// Where changes to the system are noted.
    pub state: &'a StateDir,
    /// Where servers and helpers are.
    pub places: Places,
    /// What virtual machines are made of, for the backend that has some.
    pub guest: GuestFiles,
    /// Servers that run already, for the external backend.
    pub targets: Vec<Target>,
    /// What starts and stops those.
    pub commands: Commands,
    /// The client's threads.
    pub client: ClientSetup,
    /// Ends it at once when set.
    pub stop: &'a AtomicBool,
}

/// Makes all searches of a run that have not been made yet. What is known is in `saved` when this returns, whatever ends it.
///
/// # Errors
/// A [`Refusal`] where nothing can be measured at all, or what was changed cannot be taken back.
pub fn conduct(saved: &mut Saved, means: &Means<'_>, tell: &mut dyn FnMut(&Event<'_>)) -> Result<(), Refusal> {
    let scenario = saved.begun.scenario.clone();
    let deadline = scenario.limits.total_seconds.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
    let mut run = Run { means, tell, deadline, hypervisor: None };
    run.check(&scenario)?;
    run.prepare(&scenario, saved)?;
    if saved.footprint.is_none() {
        (run.tell)(&Event::Sizing);
        let footprint = run.footprint(&scenario, saved)?;
        if run.stopped() {
            return Ok(());
        }
        saved.footprint_is(footprint)?;
    }
    (run.tell)(&Event::Sized(saved.footprint.flatten()));
    for (number, part) in scenario.parts().iter().enumerate() {
        if run.stopped() {
            return Ok(());
        }
        if saved.cases[number].answer.is_none() && saved.cases[number].refused.is_none() {
            run.case(number, part, &scenario, saved)?;
        }
    }
    Ok(())
}

struct Run<'a, 'b> {
    means: &'a Means<'a>,
    tell: &'b mut dyn FnMut(&Event<'_>),
    deadline: Option<Instant>,
    /// Where tenants are virtual machines.
    hypervisor: Option<Rc<Hypervisor>>,
}

impl Run<'_, '_> {
    fn stopped(&self) -> bool {
        self.means.stop.load(Ordering::Relaxed)
    }

    /// Whether the machine has room for what is asked.
    fn check(&self, scenario: &Scenario) -> Result<(), Refusal> {
        if scenario.backend == Kind::External {
            return Ok(());
        }
        let what = format!("tenants in {} of memory", scenario.dram_budget);
        leave_floor(&Root::live(), scenario.dram_budget.0, scenario.limits.memory_floor.0, &what)
    }

    fn system(&self, saved: &Saved, what: &str) -> Result<System, Refusal> {
        match saved.begun.scenario.backend {
            Kind::External => Ok(System::untouched()),
            _ => System::begin(self.means.state, &format!("tiermark capacity ({what})"), &saved.begun.started),
        }
    }

    /// What keeps the tenants of a search.
    fn backend(
        &self,
        scenario: &Scenario,
        raised: &Raised,
        near: u32,
        layout: Option<Layout>,
    ) -> Result<Box<dyn Backend>, Refusal> {
        let Some(layout) = layout else {
            return Ok(Box::new(External::new(self.means.targets.clone(), self.means.commands.clone())));
        };
        let own = scenario.dram_budget.0.saturating_sub(scenario.reserve.0);
        let memory = if raised.node.is_some() { own.saturating_add(raised.room) } else { own };
        let room = Room { budget: Budget { memory, swap: raised.swaps() }, near, far: raised.node };
        let places = self.means.places.clone();
        Ok(match &self.hypervisor {
            Some(hypervisor) => Box::new(Qemu::new(layout, Rc::clone(hypervisor), room, places.placer)),
            None => Box::new(Processes::new(layout, places, room)),
        })
    }

    /// Where control groups are; `None` where tenants run elsewhere.
    fn layout(&self, scenario: &Scenario) -> Result<Option<Layout>, Refusal> {
        match scenario.backend {
            Kind::External => Ok(None),
            Kind::Process | Kind::Qemu => Layout::find(&Root::live()).map(Some),
        }
    }

    fn footprint(&mut self, scenario: &Scenario, saved: &Saved) -> Result<Option<Footprint>, Refusal> {
        let Some(layout) = self.layout(scenario)? else { return Ok(None) };
        let raised = Raised::default();
        let mut system = self.system(saved, "sizing")?;
        let mut backend = self.backend(scenario, &raised, u32::MAX, Some(layout))?;
        let (mix, keys) = (scenario.load.mixes[0], scenario.load.keys[0]);
        let (client, stop) = (&self.means.client, self.means.stop);
        let prober = Prober { scenario, mix, keys, client, stop, seed: saved.begun.seed, raised: &raised };
        let tell = &mut *self.tell;
        let found = prober.footprint(backend.as_mut(), &mut system, &mut |progress| tell(&Event::Progress(progress)));
        ended(backend, system, found)
    }

    /// One search, with its tier.
    fn case(&mut self, number: usize, part: &Part<'_>, scenario: &Scenario, saved: &mut Saved) -> Result<(), Refusal> {
        let (of, made) = (saved.cases.len(), saved.cases[number].probes.len());
        (self.tell)(&Event::Case { number: number + 1, of, part, made });
        let mut system = self.system(saved, &part.tier.to_string())?;
        let size = scenario.tier_size.map_or(scenario.dram_budget.0.saturating_mul(TIER_BUDGETS), |size| size.0);
        let raised = match raise(part.tier, size, &mut system) {
            Ok(raised) => raised,
            Err(refusal) => {
                (self.tell)(&Event::Refused(&refusal));
                let kept = saved.refused(number, refusal);
                // Whatever was made of it goes away, also where the disk is full.
                return system.restore().and(kept);
            }
        };
        raised.remarks.iter().for_each(|remark| (self.tell)(&Event::Remark("tier", remark)));
        let footprint = saved.footprint.flatten();
        let arithmetic = budgets(scenario, footprint, &raised).arithmetic();
        let layout = self.layout(scenario);
        let mut backend = match layout.and_then(|layout| self.backend(scenario, &raised, arithmetic.memory, layout)) {
            Ok(backend) => backend,
            Err(refusal) => return system.restore().and(Err(refusal)),
        };
        let what = Searched { number, part, scenario, raised: &raised, arithmetic };
        let answer = self.search(&what, saved, backend.as_mut(), &mut system);
        if let Some(answer) = ended(backend, system, answer)? {
            (self.tell)(&Event::Answer(&answer));
            saved.answered(number, answer)?;
        }
        Ok(())
    }

    fn search(
        &mut self,
        what: &Searched<'_>,
        saved: &mut Saved,
        backend: &mut dyn Backend,
        system: &mut System,
    ) -> Result<Option<Answer>, Refusal> {
        let Searched { number, part, scenario, raised, .. } = *what;
        let limits = self.limits(what, saved)?;
        let mut search = Search::resume(limits, &saved.cases[number].probes)
            .map_err(|why| Refusal::new("going on with the saved run", why, "begin a new one, without --resume"))?;
        let (client, stop) = (&self.means.client, self.means.stop);
        let base = seed(saved.begun.seed, number as u64, LoadPhase::WarmUp(0));
        let prober = Prober { scenario, mix: part.mix, keys: part.keys, client, stop, seed: base, raised };
        loop {
            let ask = match search.next_step() {
                Step::Done(answer) => return Ok(Some(answer)),
                Step::Probe(ask) => ask,
            };
            if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(Some(search.given_up("the time for the whole run was over")));
            }
            (self.tell)(&Event::Probe(&ask));
            let tell = &mut *self.tell;
            let probed = prober.probe(&ask, backend, system, &mut |progress| tell(&Event::Progress(progress)));
            let probed = match probed {
                Ok(Some(probed)) => probed,
                Ok(None) => return Ok(None),
                Err(_) if self.stopped() => return Ok(None),
                // Nothing is known of it then, and that is no number of tenants.
                Err(refusal) if search.made() == 0 => {
                    (self.tell)(&Event::Refused(&refusal));
                    return saved.refused(number, refusal).map(|()| None);
                }
                Err(refusal) => {
                    return Ok(Some(search.given_up(&format!("{} tenants could not be run: {refusal}", ask.tenants))));
                }
            };
            let (record, point) = record(&ask, probed);
            (self.tell)(&Event::Probed(&record, point.as_ref()));
            search.told(&ask, record.outcome);
            saved.probed(number, record, point)?;
        }
    }

    /// What a search may cost: as it was begun, where it goes on.
    fn limits(&self, what: &Searched<'_>, saved: &mut Saved) -> Result<Limits, Refusal> {
        if let Some(limits) = saved.cases[what.number].limits {
            return Ok(limits);
        }
        let there = match what.scenario.backend {
            Kind::External => self.means.targets.len() as u32,
            _ => u32::MAX,
        };
        let asked = what.scenario.limits;
        let most_tenants = asked.most_tenants.min(there);
        let limits = Limits { arithmetic: what.arithmetic, most_tenants, most_probes: asked.most_probes };
        saved.limits_are(what.number, limits)?;
        Ok(limits)
    }
}

/// What is searched: a tier under a load.
struct Searched<'a> {
    number: usize,
    part: &'a Part<'a>,
    scenario: &'a Scenario,
    raised: &'a Raised,
    arithmetic: Arithmetic,
}

/// Ends all tenants, takes back what was changed, and only then says what came of it.
fn ended<T>(mut backend: Box<dyn Backend>, system: System, found: Result<T, Refusal>) -> Result<T, Refusal> {
    let cleared = backend.clear();
    // The journal takes away what is left of the groups, too.
    drop(backend);
    let restored = system.restore();
    let found = found?;
    restored.or(cleared).map(|()| found)
}

fn record(ask: &Ask, probed: Probed) -> (ProbeRecord, Option<CurvePoint>) {
    let Probed { outcome, said, ended_by, point, evidence } = probed;
    let ended_by = ended_by.filter(|_| outcome != Outcome::Pass);
    let record = ProbeRecord {
        number: ask.number,
        tenants: ask.tenants,
        phase: ask.phase,
        fresh: ask.fresh,
        why: ask.why.clone(),
        outcome,
        said,
        ended_by,
        evidence,
    };
    (record, point)
}

/// What there is for tenants, and what one takes; of servers elsewhere nothing is known, and the search starts at one.
fn budgets(scenario: &Scenario, footprint: Option<Footprint>, raised: &Raised) -> Budgets {
    let cpus = std::thread::available_parallelism().map_or(1.0, |cpus| cpus.get() as f64);
    Budgets {
        dram: scenario.dram_budget.0,
        reserve: scenario.reserve.0,
        footprint: footprint.map_or(0, |footprint| footprint.bytes),
        tier: raised.room,
        // A swap area, zram's too, has room for so many bytes before compression.
        ratio: 1.0,
        cpus,
        cpu_per_tenant: footprint.and_then(|footprint| footprint.cpus),
    }
}

/// What would be made and changed, in sentences: for those who look before they run.
#[must_use]
pub fn intended(scenario: &Scenario) -> Vec<String> {
    let mut lines = Vec::new();
    let size = scenario.tier_size.map_or(scenario.dram_budget.0.saturating_mul(TIER_BUDGETS), |size| size.0);
    if scenario.backend != Kind::External {
        lines.push(format!(
            "a control group with {} of memory, and one in it for each tenant",
            Bytes(scenario.dram_budget.0.saturating_sub(scenario.reserve.0))
        ));
    }
    if scenario.backend == Kind::Qemu {
        lines.push(format!(
            "a virtual machine of {} for each tenant, in its group; of files none",
            Bytes(scenario.vm_memory())
        ));
    }
    let parts = scenario.tiers.iter().flat_map(|tier| match tier {
        Tier::Mix(parts) => parts.as_slice(),
        one => std::slice::from_ref(one),
    });
    for tier in parts {
        lines.extend(match tier {
            Tier::Dram | Tier::Node(_) | Tier::Mix(_) => None,
            Tier::Zram(_) => Some(format!("a zram device of {}, as a swap area", Bytes(size))),
            Tier::Swap(path) => Some(format!("a swap area: {path} (a device as it is, a file of {})", Bytes(size))),
            Tier::Zswap => Some("zswap, turned on".to_owned()),
        });
    }
    lines
}

/// The newest run of a directory that is not whole, or the one that is named by its path.
///
/// # Errors
/// A [`Refusal`] where there is none.
pub fn unfinished(directory: &std::path::Path) -> Result<PathBuf, Refusal> {
    let names = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut runs: Vec<PathBuf> = names.filter(|path| path.extension().is_some_and(|e| e == "jsonl")).collect();
    // Names begin with the time.
    runs.sort_unstable();
    let open = runs.into_iter().rev().find(|path| Saved::open(path).is_ok_and(|saved| !saved.is_whole()));
    open.ok_or_else(|| {
        let why = format!("no run in {} is left to go on with", directory.display());
        Refusal::new("going on with a run", why, "begin one, without --resume")
    })
}
