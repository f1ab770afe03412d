//! Options that hold for the steps of every probe: `--max-mem` as a limit on each (what fits is measured, what does not
//! is refused by name), `--memory` as the memory of each, and `--seconds` as its time.

use tiermark_model::messages::rules;
use tiermark_model::messages::setup as says;
use tiermark_model::{
    Bench, Bytes, CoreKind, Cpu, FileMemory, Finding, IdSet, Layout, Machine, MemPolicy, Note, Observation, Plan,
    Purpose, Refusal, Request, Role, Scope, Step,
};

use crate::probe::{Lab, Probe, Study};

/// Time limit of a plan with `--seconds`, as a multiple of its expected time: all steps are measured even if the
/// machine prepares memory slowly.
const SLACK: f64 = 1.5;

/// Opens a request whose steps keep to the memory and the time that it allows, and whose plan reckons with this
/// machine's scatter.
///
/// # Errors
/// As [`Probe::open`].
pub fn open_limited(probe: &Probe, request: &Request, lab: &Lab) -> Result<Box<dyn Study>, Refusal> {
    let study = probe.open(request, lab)?;
    Ok(Box::new(LimitedStudy { study, scope: request.scope.clone(), lab: lab.clone() }))
}

struct LimitedStudy {
    study: Box<dyn Study>,
    scope: Scope,
    lab: Lab,
}

impl Study for LimitedStudy {
    fn plan(&self) -> Result<Plan, Refusal> {
        let mut plan = self.study.plan()?;
        plan.rules.extend(on_small_cores(&plan, &self.lab.machine));
        if let Some(memory) = &self.scope.memory {
            plan = of_file(plan, memory, &self.lab.bench)?;
        }
        if let Some(seconds) = self.scope.step_seconds {
            plan = with_time_each(plan, seconds, self.scope.max_seconds.is_some());
        }
        match self.scope.max_mem {
            Some(most) => within(plan, most),
            None => Ok(plan),
        }
    }

    fn refine(&self, observations: &[Observation]) -> Vec<Step> {
        let mut steps = self.study.refine(observations);
        steps.retain(|step| self.scope.max_mem.is_none_or(|most| step.setup.total_bytes() <= most));
        if let Some(memory) = &self.scope.memory {
            steps.retain_mut(|step| take(step, memory, &self.lab.bench).is_ok());
        }
        if let Some(seconds) = self.scope.step_seconds {
            steps.iter_mut().for_each(|step| measured_for(step, seconds));
        }
        steps
    }

    fn derive(&self, observations: &[Observation]) -> Vec<Finding> {
        self.study.derive(observations)
    }
}

/// Sets the number of visits of a step so that its shots take `seconds` together.
fn measured_for(step: &mut Step, seconds: f64) {
    let visits = (seconds / step.stop.shot_seconds.max(f64::MIN_POSITIVE)).ceil().max(1.0) as u32;
    (step.stop.min_visits, step.stop.max_visits) = (visits, visits);
}

/// A plan whose steps take `seconds` each. Its time limit is raised to suffice, unless the user has set a limit.
fn with_time_each(mut plan: Plan, seconds: f64, is_limited: bool) -> Plan {
    let expected = |steps: &[Step]| steps.iter().map(Step::expected_seconds).sum::<f64>();
    let before = expected(&plan.steps);
    plan.steps.iter_mut().for_each(|step| measured_for(step, seconds));
    let after = expected(&plan.steps);
    if before > 0.0 {
        plan.later_seconds *= after / before;
    }
    if !is_limited {
        plan.max_seconds = plan.max_seconds.max(SLACK * (after + plan.later_seconds));
    }
    plan
}

/// The plan with its memory in a file. Steps that cannot use the file are refused.
///
/// # Errors
/// The first [`Refusal`], if no step can use the file.
fn of_file(mut plan: Plan, memory: &FileMemory, bench: &Bench) -> Result<Plan, Refusal> {
    let mut refused = Vec::new();
    plan.steps.retain_mut(|step| take(step, memory, bench).map_err(|refusal| refused.push(refusal)).is_ok());
    if plan.steps.is_empty() {
        return Err(refused.into_iter().next().unwrap_or_else(|| says::memory_file_missing(&memory.path)));
    }
    plan.refused.extend(refused);
    plan.rules.push(rules::memory_of_file(&memory.to_string()));
    Ok(plan)
}

/// A note that names the cpus of one-thread steps that are not performance cores, on a hybrid machine.
fn on_small_cores(plan: &Plan, machine: &Machine) -> Option<Note> {
    let alone = plan.steps.iter().filter(|step| step.setup.threads.len() == 1);
    let cpus: IdSet = alone.flat_map(|step| &step.setup.threads).map(|thread| thread.cpu).collect();
    let is_small = |cpu: &Cpu| cpu.kind.is_some_and(|kind| kind != CoreKind::Performance);
    let small: IdSet = cpus.iter().filter(|cpu| machine.cpu(*cpu).is_some_and(is_small)).collect();
    (!small.is_empty()).then(|| rules::one_thread_on_small_core(&small))
}

/// The plan without the steps above the limit. Each of these is refused, except points of a curve: the curve ends
/// earlier.
///
/// # Errors
/// The first [`Refusal`] when the plan has no step below the limit.
fn within(mut plan: Plan, most: Bytes) -> Result<Plan, Refusal> {
    let (fits, above): (Vec<Step>, Vec<Step>) = plan.steps.into_iter().partition(|s| s.setup.total_bytes() <= most);
    plan.steps = fits;
    let is_curve = |step: &Step| step.labels.is_for(Purpose::Curve);
    if above.iter().any(is_curve) {
        plan.rules.push(rules::curves_end_at_limit(most));
    }
    for step in above.iter().filter(|s| !is_curve(s) || plan.steps.is_empty()) {
        let refusal = refusal(step, most);
        if !plan.refused.contains(&refusal) {
            plan.refused.push(refusal);
        }
    }
    match plan.refused.first() {
        Some(first) if plan.steps.is_empty() => Err(first.clone()),
        _ => Ok(plan),
    }
}

fn refusal(step: &Step, most: Bytes) -> Refusal {
    let threads = step.setup.threads.len();
    let place = format!("{} on {threads} thread{}", step.setup.total_bytes(), if threads == 1 { "" } else { "s" });
    let what = step.labels.tier_name().map_or(place.clone(), |tier| format!("{tier}: {place}"));
    says::memory_not_allowed(&what, &most.to_string(), threads)
}

/// Gives a step memory of a file.
///
/// # Errors
/// A [`Refusal`] of a step that places its memory itself, writes to a read-only mapping or fills an existing file.
fn take(step: &mut Step, memory: &FileMemory, bench: &Bench) -> Result<(), Refusal> {
    let is_elsewhere = step.is_os()
        || step.setup.regions.iter().any(|region| region.policy != MemPolicy::Bind || !region.nodes.is_empty())
        || step.setup.threads.iter().any(|thread| thread.role.shares_lines());
    if is_elsewhere {
        return Err(says::memory_file_elsewhere(&step.id, &memory.path));
    }
    let is_stored = |role: &Role| {
        let kernels = role.kernels().filter_map(|id| bench.kernel(&id.0));
        kernels.map(|kernel| kernel.write_per_line).any(|bytes| bytes > 0)
    };
    // An existing file keeps its contents: no chain and no zeros are written to it.
    let is_filled = step.setup.regions.iter().any(|region| matches!(region.layout, Layout::Chain(_) | Layout::Zeros));
    let writes = step.setup.threads.iter().any(|thread| is_stored(&thread.role));
    if memory.is_read_only() && writes || !memory.new && is_filled {
        return Err(says::memory_file_written(&step.id, &memory.path));
    }
    step.setup.regions.iter_mut().for_each(|region| region.policy = MemPolicy::File(memory.clone()));
    Ok(())
}
