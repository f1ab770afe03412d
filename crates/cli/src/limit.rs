//! What holds for the steps of any probe: `--max-mem` as a limit on single steps, and `--memory` as their memory. What fits is measured,
//! what does not is refused by name.

use tiermark_engine::{About, Lab, Probe};
use tiermark_model::messages::rules;
use tiermark_model::messages::setup as says;
use tiermark_model::{
    Bench, Bytes, CoreKind, Cpu, FileMemory, Finding, IdSet, Labels, Machine, Note, Observation, Plan, Purpose,
    Refusal, Request, Step,
};

use crate::file_memory;

/// A probe whose steps keep to the memory that the request allows, and whose plans reckon with this machine's scatter.
pub(crate) struct Limited(pub(crate) &'static dyn Probe);

impl Probe for Limited {
    fn about(&self) -> &'static About {
        self.0.about()
    }

    fn plan(&self, request: &Request, lab: Lab<'_>) -> Result<Plan, Refusal> {
        let mut plan = self.0.plan(request, lab)?;
        plan.rules.extend(on_small_cores(&plan, lab.machine));
        if let Some(memory) = &request.scope.memory {
            plan = of_file(plan, memory, lab.bench)?;
        }
        match request.scope.max_mem {
            Some(most) => within(plan, most),
            None => Ok(plan),
        }
    }

    fn refine(&self, request: &Request, lab: Lab<'_>, observations: &[Observation]) -> Vec<Step> {
        let mut steps = self.0.refine(request, lab, observations);
        steps.retain(|step| request.scope.max_mem.is_none_or(|most| step.setup.total_bytes() <= most));
        if let Some(memory) = &request.scope.memory {
            steps.retain_mut(|step| file_memory::take(step, memory, lab.bench).is_ok());
        }
        steps
    }

    fn derive(&self, request: &Request, lab: Lab<'_>, observations: &[Observation]) -> Vec<Finding> {
        self.0.derive(request, lab, observations)
    }
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

/// The plan without the steps above the limit, each of them refused, but for points of a curve, which only ends earlier.
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

    #[test]
    fn one_thread_on_an_efficiency_core_is_said() {
        let machine = Synth { smt: 1, first_efficiency_core: Some(2), ..Synth::default() }.machine().unwrap();
        let said = |cpus: &str| {
            let scope = Scope { cpus: Some(cpus.parse().unwrap()), ..Scope::default() };
            let (probe, params) = ("latency".to_owned(), serde_json::Value::Null);
            let request = Request { probe, scope, effort: Effort::Quick, precision: None, seed: 1, params, part: None };
            let lab = Lab { machine: &machine, bench: &Bench::default() };
            let plan = Limited(tiermark_probes::find("latency").unwrap()).plan(&request, lab).unwrap();
            let rule = plan.rules.into_iter().find(|rule| rule.code == codes::one_thread_on_small_core);
            (plan.steps[0].setup.threads[0].cpu, rule.map(|rule| rule.data["cpus"].clone()))
        };
        assert_eq!(said("1-3"), (1, None));
        assert_eq!(said("2-3"), (2, Some("2".into())));
    }
}
