//! Options that hold for the steps of every probe: `--max-mem` as a limit on each (what fits is measured, what does not
//! is refused by name), `--memory` as the memory of each, and `--seconds` as its time.

use tiermark_engine::{Lab, Probe, Study};
use tiermark_model::messages::rules;
use tiermark_model::messages::setup as says;
use tiermark_model::{
    Bench, Bytes, CoreKind, Cpu, FileMemory, Finding, IdSet, Labels, Machine, Note, Observation, Plan, Purpose,
    Refusal, Request, Scope, Step,
};

use crate::file_memory;

/// Time of a plan whose steps have a time each, as a multiple of what it is expected to take: a machine that makes
/// memory slowly still measures all of them.
const SLACK: f64 = 1.5;

/// Opens a request whose steps keep to the memory and the time that it allows, and whose plan reckons with this
/// machine's scatter.
///
/// # Errors
/// As [`Probe::open`].
pub(crate) fn open(probe: &Probe, request: &Request, lab: &Lab) -> Result<Box<dyn Study>, Refusal> {
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
            steps.retain_mut(|step| file_memory::take(step, memory, &self.lab.bench).is_ok());
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

/// Has a step visited until its shots take so long together.
fn measured_for(step: &mut Step, seconds: f64) {
    let visits = (seconds / step.stop.shot_seconds.max(f64::MIN_POSITIVE)).ceil().max(1.0) as u32;
    (step.stop.min_visits, step.stop.max_visits) = (visits, visits);
}

/// A plan whose steps have so much time each; it gets the time for that, unless the user has limited it.
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

/// The plan with memory of a file, without the steps that cannot have it.
///
/// # Errors
/// The first [`Refusal`] when no step can.
fn of_file(mut plan: Plan, memory: &FileMemory, bench: &Bench) -> Result<Plan, Refusal> {
    let mut refused = Vec::new();
    plan.steps
        .retain_mut(|step| file_memory::take(step, memory, bench).map_err(|refusal| refused.push(refusal)).is_ok());
    if plan.steps.is_empty() {
        return Err(refused.into_iter().next().unwrap_or_else(|| says::memory_file_missing(&memory.path)));
    }
    plan.refused.extend(refused);
    plan.rules.push(rules::memory_of_file(&memory.to_string()));
    Ok(plan)
}

/// Which cpus of one-thread steps are no performance cores, on a hybrid machine.
fn on_small_cores(plan: &Plan, machine: &Machine) -> Option<Note> {
    let alone = plan.steps.iter().filter(|step| step.setup.threads.len() == 1);
    let cpus: IdSet = alone.flat_map(|step| &step.setup.threads).map(|thread| thread.cpu).collect();
    let is_small = |cpu: &Cpu| cpu.kind.is_some_and(|kind| kind != CoreKind::Performance);
    let small: IdSet = cpus.iter().filter(|cpu| machine.cpu(*cpu).is_some_and(is_small)).collect();
    (!small.is_empty()).then(|| rules::one_thread_on_small_core(&small))
}

/// The plan without the steps above the limit, each of them refused, but for points of a curve, which only ends
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
    let what = step.labels.get(Labels::TIER).map_or(place.clone(), |tier| format!("{tier}: {place}"));
    says::memory_not_allowed(&what, &most.to_string(), threads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_machine::synth::Synth;
    use tiermark_model::messages::rules::codes;
    use tiermark_model::{Effort, Scope};

    fn planned(request: &Request, lab: &Lab) -> Result<Plan, Refusal> {
        open(tiermark_probes::find(&request.probe).unwrap(), request, lab)?.plan()
    }

    #[test]
    fn every_step_of_every_probe_gets_the_time_that_was_asked_for() {
        let machine = Synth { sockets: 2, ..Synth::default() }.machine().unwrap();
        let kernels = tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect();
        let bench = Bench { kernels, ..Bench::default() };
        let lab = Lab::new(machine, bench);
        for probe in ["loaded-latency", "bandwidth", "matrix", "latency", "scan"] {
            let scope = Scope { step_seconds: Some(0.5), ..Scope::default() };
            let (probe, params) = (probe.to_owned(), serde_json::Value::Null);
            let request = Request { probe, scope, effort: Effort::Quick, precision: None, seed: 1, params, part: None };
            let plan = planned(&request, &lab).unwrap();
            for step in &plan.steps {
                let stop = &step.stop;
                let shots = f64::from(stop.min_visits) * stop.shot_seconds;
                assert!((0.5..0.5 + stop.shot_seconds).contains(&shots), "{}: {stop:?}", step.id);
                assert_eq!(stop.min_visits, stop.max_visits);
            }
            let expected: f64 = plan.steps.iter().map(Step::expected_seconds).sum();
            assert!(plan.max_seconds >= SLACK * expected, "{} of {expected}", plan.max_seconds);
            // A limit of the user's stays.
            let scope = Scope { max_seconds: Some(3.0), ..request.scope.clone() };
            let plan = planned(&Request { scope, ..request }, &lab);
            assert_eq!(plan.unwrap().max_seconds, 3.0);
        }
    }

    #[test]
    fn one_thread_on_an_efficiency_core_is_said() {
        let machine = Synth { smt: 1, first_efficiency_core: Some(2), ..Synth::default() }.machine().unwrap();
        let lab = Lab::new(machine, Bench::default());
        let said = |cpus: &str| {
            let scope = Scope { cpus: Some(cpus.parse().unwrap()), ..Scope::default() };
            let (probe, params) = ("latency".to_owned(), serde_json::Value::Null);
            let request = Request { probe, scope, effort: Effort::Quick, precision: None, seed: 1, params, part: None };
            let plan = planned(&request, &lab).unwrap();
            let rule = plan.rules.into_iter().find(|rule| rule.code == codes::one_thread_on_small_core);
            (plan.steps[0].setup.threads[0].cpu, rule.map(|rule| rule.data["cpus"].clone()))
        };
        assert_eq!(said("1-3"), (1, None));
        assert_eq!(said("2-3"), (2, Some("2".into())));
    }
}
