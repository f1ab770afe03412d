//! `--max-mem` as a limit on single steps: what fits is measured, what does not is refused by name.

use tiermark_engine::{About, Lab, Probe};
use tiermark_model::messages::rules;
use tiermark_model::messages::setup as says;
use tiermark_model::{Bytes, Finding, Labels, Observation, Plan, Purpose, Refusal, Request, Step};

/// A probe whose steps keep to the memory that the request allows, and whose plans reckon with this machine's scatter.
pub(crate) struct Limited(pub(crate) &'static dyn Probe);

impl Probe for Limited {
    fn about(&self) -> &'static About {
        self.0.about()
    }

    fn plan(&self, request: &Request, lab: Lab<'_>) -> Result<Plan, Refusal> {
        let plan = self.0.plan(request, lab)?;
        match request.scope.max_mem {
            Some(most) => within(plan, most),
            None => Ok(plan),
        }
    }

    fn refine(&self, request: &Request, lab: Lab<'_>, observations: &[Observation]) -> Vec<Step> {
        let mut steps = self.0.refine(request, lab, observations);
        steps.retain(|step| request.scope.max_mem.is_none_or(|most| step.setup.total_bytes() <= most));
        steps
    }

    fn derive(&self, request: &Request, lab: Lab<'_>, observations: &[Observation]) -> Vec<Finding> {
        self.0.derive(request, lab, observations)
    }
}

/// The plan without the steps above the limit, each of them refused, except points of a curve, which then ends earlier.
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
