//! A run from its beginning to its end: what a tenant takes, then each search with its tier set up before and taken
//! back after it.

mod admit;
mod blind_guards;
mod guests;
mod intended;
mod persistent_data;

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tiermark_load::{ClientSetup, Phase as LoadPhase, Target, seed};
use tiermark_machine::Root;
use tiermark_model::capacity::{Answer, CurvePoint, Setting, TrialRecord};
use tiermark_model::messages::capacity as messages;
use tiermark_model::{Refusal, Warning};
use tiermark_undo::{Lock, StateDir};

use crate::backend::{Backend, External, Hypervisor, Processes, Qemu, TenantMemory};
use crate::budget::{Arithmetic, Budgets};
use crate::cgroup::{Budget, Layout};
use crate::saved::{RunSetup, SavedRun, Sizing};
use crate::scenario::{Backend as Kind, Requests, Scenario, SearchCase};
use crate::search::{Limits, Search, Step, TrialRequest};
use crate::system::{System, available};
use crate::tier::{ActiveTier, activate};
use crate::trial::{Footprint, Progress, Trial, TrialRunner};

pub use admit::{Admission, RunHost, admit, has_memory};
pub use intended::intended;

/// Something that a reader wants to see while it goes on.
#[derive(Debug)]
pub enum Event<'a> {
    /// It is found out what a tenant takes.
    Sizing,
    /// The memory and cpu time of one tenant; `None` with servers elsewhere.
    Sized(Option<Footprint>),
    /// A search begins: its number from 1, of how many, and its first number of tenants.
    Case {
        /// Number of the search, from 1.
        number: usize,
        /// Searches of the run.
        of: usize,
        /// The tier and the load that are searched.
        case: &'a SearchCase<'a>,
        /// Trials that were made before, in another process.
        trials: usize,
    },
    /// A trial begins.
    TrialBegins(&'a TrialRequest),
    /// Progress of the trial under way, about once a second.
    Progress(&'a Progress),
    /// The trial's record, and its point of the curve if any request was answered.
    TrialEnded(&'a TrialRecord, Option<&'a CurvePoint>),
    /// The answer of the search, which has ended.
    Answer(&'a Answer),
    /// Why the search cannot be made.
    Refused(&'a Refusal),
    /// All tenants of a search are ended, and its changes are taken back.
    TakingBack,
    /// Something that a reader of the result should know.
    Warning(&'a Warning),
}

/// The environment of a run: settings that the scenario does not have.
#[derive(Debug)]
pub struct Environment<'a> {
    /// Where changes to the system are noted.
    pub state: &'a StateDir,
    /// The command that puts a program's memory on nodes: its words before the list of nodes and the program.
    pub placer: Vec<String>,
    /// Servers that run already, for the external backend.
    pub targets: Vec<Target>,
    /// Reads all settings of the system, and those of these block devices.
    pub settings: fn(&[String]) -> Vec<Setting>,
    /// Ends it at once when set.
    pub stop: &'a AtomicBool,
}

/// The client for a scenario's level: a request counts as late when the delay matters for that level.
fn client_for(scenario: &Scenario, setup: &RunSetup) -> ClientSetup {
    ClientSetup { late_after: scenario.level.late_after(), ..setup.client() }
}

/// The external backend. `reached`: how many servers may hold keys of this run; with `--overwrite`, all count as such.
fn external(environment: &Environment<'_>, setup: &RunSetup, reached: usize) -> External {
    let own = if setup.overwrites { environment.targets.len() } else { reached };
    External::new(environment.targets.clone(), setup.commands.clone(), own)
}

/// Makes all searches of a run that have not been made yet; [`admit`] says before whether it can. What is known is in
/// `saved` when this returns, whatever ends it.
///
/// # Errors
/// A [`Refusal`] if nothing can be measured at all, or a change cannot be taken back.
pub fn execute(
    saved: &mut SavedRun,
    environment: &Environment<'_>,
    tell: &mut dyn FnMut(&Event<'_>),
) -> Result<(), Refusal> {
    let scenario = saved.begun.scenario.clone();
    let deadline = scenario.limits.total_seconds.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
    // The lock is held for the whole run: between two searches, too, no other process may change the system under test.
    let setup = saved.begun.setup.clone();
    let changes = scenario.backend != Kind::External || setup.commands.stop.is_some();
    let lock = changes.then(|| environment.state.hold(WHAT)).transpose()?;
    let client = setup.client();
    let mut run = Run { environment, setup, tell, deadline, until: deadline, lock, hypervisor: None, warned: false };
    if scenario.backend != Kind::External {
        admit::memory(&scenario, &client, &Root::live())?;
        crate::coordinator::outlive_tenants().iter().for_each(|warning| (run.tell)(&Event::Warning(warning)));
    }
    run.prepare(&scenario, saved)?;
    if saved.sizing == Sizing::Open {
        (run.tell)(&Event::Sizing);
        let footprint = run.footprint(&scenario, saved)?;
        if run.stopped() {
            return Ok(());
        }
        saved.footprint_is(footprint)?;
    }
    (run.tell)(&Event::Sized(saved.sizing.footprint()));
    for (number, case) in scenario.searches().iter().enumerate() {
        if run.stopped() {
            return Ok(());
        }
        let open = saved.cases[number..].iter().filter(|known| known.is_open()).count();
        if saved.cases[number].is_open() && run.shares_time(open as u32) {
            run.case(number, case, &scenario, saved)?;
        }
    }
    Ok(())
}

/// The first word of the journals of capacity runs, by which the changes of a killed run are found.
pub const WHAT: &str = "tiermark capacity";

struct Run<'a, 'b> {
    environment: &'a Environment<'a>,
    setup: RunSetup,
    tell: &'b mut dyn FnMut(&Event<'_>),
    /// End of the time for all searches; `None` without a limit.
    deadline: Option<Instant>,
    /// End of the time for the search under way.
    until: Option<Instant>,
    /// The lock of programs that change the system; `None` where the run changes nothing.
    lock: Option<Lock>,
    /// The guests' kernel and files; `None` if tenants are no virtual machines.
    hypervisor: Option<Rc<Hypervisor>>,
    /// Whether it was said what guards do not see.
    warned: bool,
}

impl Run<'_, '_> {
    fn stopped(&self) -> bool {
        self.environment.stop.load(Ordering::Relaxed)
    }

    /// Sets when the next search must end: its time is the remaining time of the run, divided by the number of
    /// `searches` still to make. So time that one search does not use goes to the searches after it. `false` if no time
    /// remains.
    fn shares_time(&mut self, searches: u32) -> bool {
        let now = Instant::now();
        self.until = self.deadline.map(|deadline| now + deadline.saturating_duration_since(now) / searches.max(1));
        !self.out_of_time()
    }

    fn out_of_time(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    fn system(&self, saved: &SavedRun, what: &str) -> Result<System, Refusal> {
        match &self.lock {
            None => Ok(System::untouched()),
            Some(lock) => {
                System::begin(self.environment.state, lock, &format!("{WHAT} ({what})"), &saved.begun.started)
            }
        }
    }

    /// The backend that starts the tenants of a search.
    fn backend(
        &self,
        scenario: &Scenario,
        room: TenantMemory,
        layout: Option<Layout>,
        reached: usize,
    ) -> Box<dyn Backend> {
        let Some(layout) = layout else { return Box::new(external(self.environment, &self.setup, reached)) };
        let placer = self.environment.placer.clone();
        match &self.hypervisor {
            Some(hypervisor) => Box::new(Qemu::new(layout, Rc::clone(hypervisor), room, placer)),
            None => Box::new(Processes::new(layout, self.setup.servers(scenario), room, placer)),
        }
    }

    /// Where control groups are; `None` where tenants run elsewhere.
    fn layout(&self, scenario: &Scenario) -> Result<Option<Layout>, Refusal> {
        match scenario.backend {
            Kind::External => Ok(None),
            Kind::Process | Kind::Qemu => Layout::find(&Root::live()).map(Some),
        }
    }

    fn footprint(&mut self, scenario: &Scenario, saved: &SavedRun) -> Result<Option<Footprint>, Refusal> {
        let Some(layout) = self.layout(scenario)? else { return Ok(None) };
        let active = ActiveTier::default();
        let mut system = self.system(saved, "sizing")?;
        // A tenant larger than the budget is no mistake: a tier may hold it. So it is looked at with all memory that
        // may be had.
        let spare = available(&Root::live())?.saturating_sub(scenario.limits.memory_floor.0);
        let budget = Budget { memory: scenario.tenants_dram().max(spare), swap: false };
        let room = TenantMemory { budget, near: u32::MAX, nodes: None };
        let mut backend = self.backend(scenario, room, Some(layout), 0);
        let requests = Requests { gets: scenario.load.mixes[0], keys: scenario.load.keys[0] };
        let (client, stop) = (&client_for(scenario, &self.setup), self.environment.stop);
        let runner = TrialRunner { scenario, requests, client, stop, seed: saved.begun.seed, active: &active };
        let tell = &mut *self.tell;
        let found = runner.footprint(backend.as_mut(), &mut system, &mut |progress| tell(&Event::Progress(progress)));
        self.warn_of_unseen(backend.as_ref());
        (self.tell)(&Event::TakingBack);
        ended(backend, system, found)
    }

    /// One search, with its tier.
    fn case(
        &mut self,
        number: usize,
        case: &SearchCase<'_>,
        scenario: &Scenario,
        saved: &mut SavedRun,
    ) -> Result<(), Refusal> {
        let (of, trials) = (saved.cases.len(), saved.cases[number].trials.len());
        (self.tell)(&Event::Case { number: number + 1, of, case, trials });
        let mut system = self.system(saved, &case.tier.to_string())?;
        let dram = scenario.tenants_dram();
        let active = match activate(case.tier, &scenario.wanted(), &mut system) {
            Ok(active) => active,
            Err(refusal) => {
                (self.tell)(&Event::Refused(&refusal));
                let kept = saved.refused(number, refusal);
                // Whatever was made of it goes away, also where the disk is full.
                return system.restore().and(kept);
            }
        };
        if let Err(refusal) = saved.settings_are(number, (self.environment.settings)(&active.devices)) {
            return system.restore().and(Err(refusal));
        }
        active.warnings.iter().for_each(|warning| (self.tell)(&Event::Warning(warning)));
        let footprint = saved.sizing.footprint();
        let arithmetic = budgets(scenario, footprint, &active).arithmetic();
        let layout = self.layout(scenario);
        let budget = Budget { memory: active.memory(dram), swap: active.swaps() };
        let near = if active.demotes() { u32::MAX } else { arithmetic.memory };
        let room = TenantMemory { budget, near, nodes: active.nodes.clone() };
        let mut backend = match layout {
            Ok(layout) => self.backend(scenario, room, layout, saved.reached),
            Err(refusal) => return system.restore().and(Err(refusal)),
        };
        let what = Searched { number, case, scenario, active: &active, arithmetic };
        if !backend.renews() {
            (self.tell)(&Event::Warning(&messages::servers_not_stopped()));
        }
        let answer = self.search(&what, saved, backend.as_mut(), &mut system);
        let answer = match backend.renews() {
            true => answer,
            false => {
                answer.map(|answer| answer.map(|answer| persistent_data::answer(answer, &saved.cases[number].trials)))
            }
        };
        self.warn_of_unseen(backend.as_ref());
        (self.tell)(&Event::TakingBack);
        if let Some(answer) = ended(backend, system, answer)? {
            (self.tell)(&Event::Answer(&answer));
            saved.answered(number, answer)?;
        }
        Ok(())
    }

    fn search(
        &mut self,
        what: &Searched<'_>,
        saved: &mut SavedRun,
        backend: &mut dyn Backend,
        system: &mut System,
    ) -> Result<Option<Answer>, Refusal> {
        let Searched { number, case, scenario, active, .. } = *what;
        let limits = self.limits(what, saved)?;
        let mut search = Search::resume(limits, &saved.cases[number].trials)
            .map_err(|why| messages::saved_run_differs(&why.text))?;
        let (client, stop) = (&client_for(scenario, &self.setup), self.environment.stop);
        let base = seed(saved.begun.seed, number as u64, LoadPhase::WarmUp(0));
        let runner = TrialRunner { scenario, requests: case.requests, client, stop, seed: base, active };
        loop {
            let ask = match search.next_step() {
                Step::Done(answer) => return Ok(Some(answer)),
                Step::Trial(ask) => ask,
            };
            if self.out_of_time() {
                (self.tell)(&Event::Warning(&messages::out_of_time(&case.to_string())));
                return Ok(None);
            }
            (self.tell)(&Event::TrialBegins(&ask));
            if scenario.backend == Kind::External {
                saved.reaches(ask.tenants as usize)?;
            }
            let tell = &mut *self.tell;
            let result = runner.trial(&ask, backend, system, &mut |progress| tell(&Event::Progress(progress)));
            let result = match result {
                Ok(Some(result)) => result,
                Ok(None) => return Ok(None),
                Err(_) if self.stopped() => return Ok(None),
                // Nothing is known of it then, and that is no number of tenants.
                Err(refusal) if search.trials() == 0 => {
                    (self.tell)(&Event::Refused(&refusal));
                    return saved.refused(number, refusal).map(|()| None);
                }
                // A run that goes on tries it again: a number of tenants it is not either.
                Err(refusal) => {
                    let warning = messages::trial_not_run(&case.tier.to_string(), ask.tenants, &refusal);
                    (self.tell)(&Event::Warning(&warning));
                    return Ok(None);
                }
            };
            let Trial { mut record, point } = result;
            record.fresh &= backend.renews();
            (self.tell)(&Event::TrialEnded(&record, point.as_ref()));
            search.record(&ask, &record);
            saved.trial_ended(number, record, point)?;
        }
    }

    /// Limits of a search: for a resumed one those of its begin.
    fn limits(&self, what: &Searched<'_>, saved: &mut SavedRun) -> Result<Limits, Refusal> {
        if let Some(limits) = saved.cases[what.number].limits {
            return Ok(limits);
        }
        let there = match what.scenario.backend {
            Kind::External => self.environment.targets.len() as u32,
            _ => u32::MAX,
        };
        let asked = what.scenario.limits;
        let most_tenants = what.scenario.most_tenants().min(there);
        let (only, most_trials) = (asked.tenants, asked.most_trials);
        let limits = Limits { arithmetic: what.arithmetic, most_tenants, only, most_trials };
        saved.limits_are(what.number, limits)?;
        Ok(limits)
    }
}

/// A tier under a load: the subject of one search.
struct Searched<'a> {
    number: usize,
    case: &'a SearchCase<'a>,
    scenario: &'a Scenario,
    active: &'a ActiveTier,
    arithmetic: Arithmetic,
}

/// Ends all tenants, takes back the changes, and only then returns the outcome.
fn ended<T>(mut backend: Box<dyn Backend>, mut system: System, found: Result<T, Refusal>) -> Result<T, Refusal> {
    // The journal takes away what this leaves, and says what it could not.
    let _ = backend.clear(&mut system);
    drop(backend);
    let restored = system.restore();
    match (found, restored) {
        (Ok(found), restored) => restored.map(|()| found),
        (Err(refusal), Ok(())) => Err(refusal),
        (Err(refusal), Err(left)) => Err(messages::failed_and_left(&refusal, &left)),
    }
}

/// What there is for tenants, and what one takes; of servers elsewhere nothing is known, and the search starts at one.
fn budgets(scenario: &Scenario, footprint: Option<Footprint>, active: &ActiveTier) -> Budgets {
    let cpus = std::thread::available_parallelism().map_or(1.0, |cpus| cpus.get() as f64);
    Budgets {
        dram: scenario.dram_budget.0,
        reserve: scenario.reserve.0,
        footprint: footprint.map_or(0, |footprint| footprint.bytes),
        tier: active.room,
        // A swap area, zram's too, has room for so many bytes before compression.
        ratio: 1.0,
        cpus,
        cpu_per_tenant: footprint.and_then(|footprint| footprint.cpus),
    }
}
