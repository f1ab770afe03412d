//! The plans of a run: made once, before anything is measured. A dry run shows them, a run consumes them.

use tiermark_engine::admit::{Fresh, admit};
use tiermark_engine::{Host, Lab, PlannedExperiment, Sink, open_limited};
use tiermark_machine::Root;
use tiermark_model::messages::run as says;
use tiermark_model::{
    Cure, Effort, Experiment, IdSet, Machine, Plan, PlanPage, Purpose, RUN_SCHEMA, Refusal, Request, Run, RunCounters,
    RunLabels, Step, Tool, Warning,
};
use tiermark_probes::survey;
use tiermark_tune::doctor;

use crate::busy::OtherWork;
use crate::counted::IntervalCounts;
use crate::health::{self, HealthWatch};
use crate::outcome::{is_known_otherwise, is_lacking_unnamed, missing};
use crate::reanalysis::{Revision, reconcile};
use crate::record::OwnRecord;
use crate::soak;

/// A request, and its refusal if this machine cannot carry it out at all, as far as that is known before planning.
pub type Asked = (Request, Option<Refusal>);

/// A request that is ready to be measured, or with why it is refused as a whole.
pub(crate) type Planned = (Request, Result<PlannedExperiment, Refusal>);

/// Longer runs are warned of, seconds.
const LONG: f64 = 30.0 * 60.0;
/// Of longer runs the time is said before they begin, seconds: a user who expects a result in a minute or two would
/// take the run for one that hangs.
pub const NOT_SHORT: f64 = 2.0 * 60.0;
/// Options that a refusal of a part of a plan may name as its cure.
const CURES: [&str; 4] = ["--cpus", "--mem-node", "--pages", "--max-mem"];

/// The requests of a run, planned.
pub struct Prepared {
    pub(crate) planned: Vec<Planned>,
    long_run: Option<Warning>,
    pub(crate) not_short: Option<NotShort>,
}

/// A run that takes minutes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NotShort {
    /// Seconds that it is expected to take.
    pub seconds: f64,
    /// Seconds of the same with little effort; `None` where the user chose an effort or a time.
    pub quick: Option<f64>,
}

/// Plans requests. With `together`, seconds that all may take together, each gets a share as it is expected to take.
///
/// # Errors
/// The name in a request that no probe has.
pub fn prepare(asked: &[Asked], together: Option<f64>, lab: &Lab) -> Result<Prepared, String> {
    let mut planned = plans(asked, lab)?;
    if let Some(seconds) = together {
        planned = plans(&shared(&planned, seconds), lab)?;
    }
    let plans = planned.iter().filter_map(|(request, planned)| Some((request, &planned.as_ref().ok()?.plan)));
    let long_run = long_run(&plans.collect::<Vec<_>>());
    let seconds: f64 = planned.iter().map(expected_seconds).sum();
    let not_short = (seconds > NOT_SHORT && long_run.is_none()).then(|| -> Result<NotShort, String> {
        let quick = if together.is_none() { quick_seconds(asked, lab)? } else { None };
        Ok(NotShort { seconds, quick: quick.filter(|quick| *quick < seconds) })
    });
    Ok(Prepared { planned, long_run, not_short: not_short.transpose()? })
}

/// Seconds that requests would take with little effort; `None` unless all of them leave effort and time open.
fn quick_seconds(asked: &[Asked], lab: &Lab) -> Result<Option<f64>, String> {
    let is_open = |request: &Request| {
        let scope = &request.scope;
        request.effort == Effort::Standard && scope.max_seconds.is_none() && scope.step_seconds.is_none()
    };
    if !asked.iter().all(|(request, _)| is_open(request)) {
        return Ok(None);
    }
    let quick = |(request, refused): &Asked| (Request { effort: Effort::Quick, ..request.clone() }, refused.clone());
    let planned = plans(&asked.iter().map(quick).collect::<Vec<_>>(), lab)?;
    Ok(Some(planned.iter().map(expected_seconds).sum()))
}

fn plans(asked: &[Asked], lab: &Lab) -> Result<Vec<Planned>, String> {
    let plan = |(request, refused): &Asked| -> Result<Planned, String> {
        let planned = match refused {
            Some(refusal) => Err(refusal.clone()),
            None => {
                let probe = tiermark_probes::find(&request.probe).ok_or_else(|| request.probe.clone())?;
                open_limited(probe, request, lab).and_then(|study| PlannedExperiment::new(study, request, probe.method))
            }
        };
        let possible = planned.and_then(|planned| possible(&planned.plan, &lab.machine).map(|()| planned));
        Ok((request.clone(), possible))
    };
    asked.iter().map(plan).collect()
}

/// Whether the machine has room for any step of a plan.
///
/// # Errors
/// The [`Refusal`] of the first step, if the machine has room for none.
fn possible(plan: &Plan, machine: &Machine) -> Result<(), Refusal> {
    let fresh = Fresh::discovered(machine);
    let mut first = None;
    for step in &plan.steps {
        match admit(&step.setup, machine, &fresh) {
            Ok(()) => return Ok(()),
            Err(refusal) => first = first.or(Some(refusal)),
        }
    }
    first.map_or(Ok(()), Err)
}

/// The requests with their shares of the time, by what their plans are expected to take.
fn shared(planned: &[Planned], seconds: f64) -> Vec<Asked> {
    let whole: f64 = planned.iter().map(expected_seconds).sum();
    let share = |one: &Planned| {
        let (mut request, refused) = (one.0.clone(), one.1.as_ref().err().cloned());
        request.scope.max_seconds = Some(seconds * expected_seconds(one) / whole.max(f64::MIN_POSITIVE));
        (request, refused)
    };
    planned.iter().map(share).collect()
}

/// Seconds that a request is expected to take: 0 if it is refused.
fn expected_seconds((_, planned): &Planned) -> f64 {
    planned.as_ref().map_or(0.0, |planned| planned.plan.expected_seconds())
}

/// A refusal of a part of a plan: a cure that is an option only helps if the user gave that option. `given` has those
/// that the user gave.
#[must_use]
pub fn of_a_part(refusal: Refusal, given: &[&str]) -> Refusal {
    let names = |option: &str| refusal.options.iter().any(|named| named == option);
    let cited = |own: bool| CURES.iter().any(|option| given.contains(option) == own && names(option));
    if !cited(false) || cited(true) {
        return refusal;
    }
    let skip = "this machine cannot run this part of the plan; --allow-partial skips it";
    refusal.cured_by(Cure::new(skip, &["--allow-partial"]))
}

impl Prepared {
    /// Adapts refusals to requests that are parts of a plan ([`of_a_part`]): this machine may lack a node that a part
    /// names. `given`: the options that the user gave.
    #[must_use]
    pub fn of_a_plan(mut self, given: &[&str]) -> Self {
        for (request, planned) in &mut self.planned {
            let named = request.scope.mem_node.is_some() || request.params.get("targets").is_some_and(|t| !t.is_null());
            if let (Err(refusal), true) = (planned, named) {
                *refusal = of_a_part(refusal.clone(), given);
            }
        }
        self
    }

    /// Whether it takes nearly all memory, and keeps it until its end.
    #[must_use]
    pub fn soaks(&self) -> bool {
        let plans = self.planned.iter().filter_map(|(_, planned)| Some(&planned.as_ref().ok()?.plan));
        plans.flat_map(|plan| &plan.steps).any(|step| step.labels.is_for(Purpose::Soak))
    }

    /// Why nothing can be measured; `None` if some request can.
    #[must_use]
    pub fn refused(&self) -> Option<Vec<&Refusal>> {
        self.planned.iter().map(|(_, planned)| planned.as_ref().err()).collect()
    }

    /// Seconds that each request is expected to take.
    #[must_use]
    pub fn expected_seconds(&self) -> Vec<f64> {
        self.planned.iter().map(expected_seconds).collect()
    }

    /// The warning of a run that is expected to take long, with what would be done sooner.
    #[must_use]
    pub fn long_run(&self) -> Option<&Warning> {
        self.long_run.as_ref()
    }

    /// What a user should know of the run's time before it begins; `None` if it is short, or a warning says it.
    #[must_use]
    pub fn not_short(&self) -> Option<NotShort> {
        self.not_short
    }

    /// The cpus that the requests may use, all together; `None` where one of them may use every cpu.
    #[must_use]
    pub fn cpus(&self) -> Option<IdSet> {
        self.planned.iter().try_fold(IdSet::new(), |all, (request, _)| Some(all.union(request.scope.cpus.as_ref()?)))
    }

    /// The plans without the steps that there is no room for, and whether a requested number is missing.
    #[must_use]
    pub fn admitted(self, lab: &Lab) -> (Vec<(Request, Plan)>, bool) {
        let mut missing = false;
        let plan = |(request, planned): Planned| match planned {
            Ok(planned) => {
                let (plan, lacks) = admitted(&request, planned.plan, lab);
                missing |= lacks;
                (request, plan)
            }
            Err(refusal) => {
                missing = true;
                (request, Plan { refused: vec![refusal], ..Plan::default() })
            }
        };
        (self.planned.into_iter().map(plan).collect(), missing)
    }

    /// Begins the run: counts what may grow during it, and makes its document without experiments.
    #[must_use]
    pub fn begin<'a>(
        self,
        head: Head,
        host: &dyn Host,
        root: &'a Root,
        counters: Option<RunCounters>,
        other_work: Option<OtherWork>,
    ) -> Begun<'a> {
        let machine = host.machine().clone();
        let problems = doctor::problems(root, &machine);
        let mut warnings: Vec<Warning> = problems.iter().map(health::problem).collect();
        warnings.extend(head.late);
        warnings.extend(survey::warnings(&machine));
        warnings.extend(self.long_run.clone());
        let health = HealthWatch::begin(root, &machine);
        let run = Run {
            schema: RUN_SCHEMA.to_owned(),
            id: head.id,
            title: head.title,
            tool: head.tool,
            command: head.command,
            started: head.started,
            seconds: 0.0,
            complete: false,
            stopped: true,
            seed: head.seed,
            labels: head.labels,
            plan: head.plan,
            simulated: head.simulated,
            machine,
            problems: Some(problems),
            health: health.begun(),
            counters,
            bench: host.bench().clone(),
            experiments: Vec::new(),
            warnings,
        };
        Begun { run, prepared: self, health, other_work }
    }
}

/// The parts of a document that are known before the machine is discovered.
#[derive(Debug, Clone)]
pub struct Head {
    /// Id of the run.
    pub id: String,
    /// Its command, or its plan.
    pub title: String,
    /// The program.
    pub tool: Tool,
    /// Its command line.
    pub command: Vec<String>,
    /// Its start, RFC 3339 in UTC.
    pub started: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Labels that the user gave.
    pub labels: RunLabels,
    /// That the run started after the moment at which it should; `None` if it did not.
    pub late: Option<Warning>,
    /// The page of its plan; `None` for a command of its own.
    pub plan: Option<PlanPage>,
    /// The simulated machine, as the user names it.
    pub simulated: Option<String>,
}

/// A run that has begun, and has measured nothing yet.
pub struct Begun<'a> {
    run: Run,
    prepared: Prepared,
    health: HealthWatch<'a>,
    other_work: Option<OtherWork>,
}

impl Begun<'_> {
    /// The document without experiments.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Seconds that each request is expected to take.
    #[must_use]
    pub fn expected_seconds(&self) -> Vec<f64> {
        self.prepared.expected_seconds()
    }

    /// Measures, and concludes the document: makes figures that mean the same agree, and warns of counters of faults
    /// that grew and of other programs. `intervals` count after the visits of each experiment. Also returns the
    /// revisions of experiments that had ended before.
    pub fn measure(
        self,
        host: &mut dyn Host,
        record: &OwnRecord,
        sink: &mut dyn Sink,
        mut intervals: Option<IntervalCounts>,
    ) -> (Run, Vec<Revision>) {
        let Self { mut run, prepared, health, other_work } = self;
        for (request, planned) in prepared.planned {
            run.experiments.push(match planned {
                Ok(planned) => {
                    let mut experiment = planned.run(host, record, sink);
                    intervals.iter_mut().for_each(|own| own.count(&mut experiment, host, sink));
                    experiment
                }
                // One that is refused as a whole is part of the document, with its reason.
                Err(refusal) => {
                    let method = tiermark_probes::find(&request.probe).map_or(0, |probe| probe.method);
                    Experiment::new(request, method, Plan { refused: vec![refusal], ..Plan::default() })
                }
            });
            if host.stopped() {
                break;
            }
        }
        if let (Some(counters), Some(intervals)) = (&mut run.counters, &intervals) {
            counters.notes.extend(intervals.notes());
        }
        let revisions = reconcile(&mut run.experiments, host.lab());
        run.seconds = host.now();
        run.stopped = host.stopped();
        run.complete = !run.stopped && missing(&run) == 0;
        run.health = health.ended();
        // The processors of a simulated machine become hot in its soaks only.
        if let Some(throttling) = soak::throttling(&run).filter(|_| run.simulated.is_some()) {
            run.health.get_or_insert_default().throttling = Some(vec![throttling]);
        }
        let soaks = run.observations().filter_map(|seen| seen.soak.as_deref());
        let of_soaks: Vec<Warning> = soaks.flat_map(soak::warnings).collect();
        run.warnings.extend(of_soaks);
        run.warnings.extend(run.health.iter().flat_map(health::warnings));
        run.warnings.extend(other_work.iter().flat_map(OtherWork::warnings));
        (run, revisions)
    }
}

/// What to say of plans that are expected to take long together.
fn long_run(plans: &[(&Request, &Plan)]) -> Option<Warning> {
    // The time of a soak is what the user chose.
    let is_chosen = |plan: &Plan| plan.steps.iter().any(Step::is_soak);
    let seconds: f64 = plans.iter().filter(|(_, plan)| !is_chosen(plan)).map(|(_, plan)| plan.expected_seconds()).sum();
    if seconds <= LONG {
        return None;
    }
    let steps: usize = plans.iter().map(|(_, plan)| plan.steps.len()).sum();
    let longest = plans.iter().max_by(|(_, a), (_, b)| a.expected_seconds().total_cmp(&b.expected_seconds()));
    let sample = longest.and_then(|(request, _)| match request.probe.as_str() {
        "matrix" => Some("--sample, one row and one memory of each kind"),
        "c2c" => Some("--sample 10, ten pairs of each relation"),
        _ => None,
    });
    Some(says::long_run(seconds, steps, sample))
}

/// The plan without the steps that the machine has no room for, and whether a requested number is missing. Points of a
/// curve only draw its shape: without the largest it ends earlier.
fn admitted(request: &Request, mut plan: Plan, lab: &Lab) -> (Plan, bool) {
    let fresh = Fresh::discovered(&lab.machine);
    let mut missing = false;
    let mut refused: Vec<Refusal> = Vec::new();
    plan.steps.retain(|step| {
        let Err(refusal) = admit(&step.setup, &lab.machine, &fresh) else { return true };
        missing |= !step.labels.is_for(Purpose::Curve);
        refused.push(refusal);
        false
    });
    missing |= plan.refused.iter().any(|refusal| {
        let known = |tier| plan.steps.iter().any(|step| step.labels.tier() == Some(tier));
        let lacking = is_lacking_unnamed(refusal, request, &plan, &lab.bench.primitives);
        !lacking && !is_known_otherwise(refusal, known)
    });
    for refusal in refused {
        if !plan.refused.contains(&refusal) {
            plan.refused.push(refusal);
        }
    }
    (plan, missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Effort, testing};

    #[test]
    fn half_an_hour_is_long() {
        let planned = |probe: &str, seconds: f64| {
            let request = Request { effort: Effort::Full, ..testing::request(probe) };
            // Steps that are added later are a part of what is expected.
            (request, Plan { later_seconds: seconds, max_seconds: 1e6, ..Plan::default() })
        };
        let warning = |all: &[(Request, Plan)]| long_run(&all.iter().map(|(a, b)| (a, b)).collect::<Vec<_>>());
        assert_eq!(warning(&[planned("matrix", 1000.0), planned("c2c", 800.0)]), None);
        let long = warning(&[planned("matrix", 1000.0), planned("c2c", 900.0)]).unwrap();
        assert_eq!(long.code, says::codes::long_run);
        assert_eq!(
            (&long.data["seconds"], &long.data["sample"]),
            (&1900.0.into(), &"--sample, one row and one memory of each kind".into())
        );
        assert!(warning(&[planned("os", 1801.0)]).unwrap().data["sample"].is_null());
    }
}
