//! `--dry-run`: the plan, what of it would be refused here, and nothing measured.

use serde_json::json;
use tiermark_engine::admit::{Fresh, admit};
use tiermark_engine::{Host, PlannedExperiment};
use tiermark_model::{Exit, Labels, Plan, Purpose, Refusal, Request};
use tiermark_page::terminal;

use crate::args::RunArgs;
use crate::outcome;
use crate::output::{self, Failure, complain_once};

/// A request with its plan, or with why it is refused as a whole.
pub(crate) type Planned = (Request, Result<PlannedExperiment, Refusal>);

/// Prints the plans, without the steps that there is no room for.
///
/// # Errors
/// A [`Failure`] when standard output cannot be written.
pub(crate) fn run(
    planned: Vec<Planned>,
    host: &dyn Host,
    simulated: Option<&str>,
    args: &RunArgs,
) -> Result<Exit, Failure> {
    let (mut plans, mut missing): (Vec<(Request, Plan)>, bool) = (Vec::new(), false);
    for (request, plan) in planned {
        let (plan, lacks) = match plan {
            Ok(planned) => admitted(&request, planned.plan, host),
            Err(refusal) => (Plan { refused: vec![refusal], ..Plan::default() }, true),
        };
        missing |= lacks;
        plans.push((request, plan));
    }
    let plan_of =
        |(request, plan): &(Request, Plan)| json!({ "request": request, "plan": plan, "simulated": simulated });
    let values = args.result.json.is_some().then(|| plans.iter().map(plan_of).collect::<Vec<_>>());
    let (left, nothing): (Vec<_>, Vec<_>) = plans.into_iter().partition(|(_, plan)| !plan.steps.is_empty());
    match values {
        Some(values) => output::print(&output::json(&values)?)?,
        None if !left.is_empty() => {
            let head = simulated.map_or_else(String::new, |name| format!("SIMULATED machine '{name}'\n\n"));
            output::print(
                &(head
                    + &terminal(&tiermark_report::plan(&left, &output::style(&args.view)), &output::style(&args.view))),
            )?;
        }
        None => {}
    }
    complain_once(nothing.iter().flat_map(|(_, plan)| &plan.refused));
    Ok(match (left.is_empty(), missing && !args.place.control.allow_partial) {
        (true, _) => Exit::Refused,
        (false, true) => Exit::Partial,
        (false, false) => Exit::Done,
    })
}

/// The plan without the steps that the machine has no room for, and whether a requested number is missing. Points of a
/// curve only draw its shape: without the largest it ends earlier.
fn admitted(request: &Request, mut plan: Plan, host: &dyn Host) -> (Plan, bool) {
    let machine = host.machine();
    let fresh = Fresh::discovered(machine);
    let mut missing = false;
    let mut refused: Vec<Refusal> = Vec::new();
    plan.steps.retain(|step| {
        let Err(refusal) = admit(&step.setup, machine, &fresh) else { return true };
        missing |= !step.labels.is_for(Purpose::Curve);
        refused.push(refusal);
        false
    });
    missing |= plan.refused.iter().any(|refusal| {
        let known = |tier: &str| plan.steps.iter().any(|step| step.labels.is(Labels::TIER, tier));
        let lacking = outcome::is_lacking_unnamed(refusal, request, &plan, &host.bench().primitives);
        !lacking && !outcome::is_known_otherwise(refusal, known)
    });
    for refusal in refused {
        if !plan.refused.contains(&refusal) {
            plan.refused.push(refusal);
        }
    }
    (plan, missing)
}
