//! `--dry-run`: the plan, what of it would be refused here, and nothing measured.

use serde_json::json;
use tiermark_engine::Lab;
use tiermark_model::{Exit, Plan, Request};
use tiermark_session::Prepared;

use crate::args::RunArgs;
use crate::output::{self, Failure, complain_once};

/// Prints the plans, without the steps that there is no room for.
///
/// # Errors
/// A [`Failure`] when standard output cannot be written.
pub(crate) fn run(prepared: Prepared, lab: &Lab, simulated: Option<&str>, args: &RunArgs) -> Result<Exit, Failure> {
    let (plans, missing) = prepared.admitted(lab);
    let plan_of =
        |(request, plan): &(Request, Plan)| json!({ "request": request, "plan": plan, "simulated": simulated });
    let values = args.result.document().is_some().then(|| plans.iter().map(plan_of).collect::<Vec<_>>());
    let (left, nothing): (Vec<_>, Vec<_>) = plans.into_iter().partition(|(_, plan)| !plan.steps.is_empty());
    match values {
        Some(values) => output::print(&output::json(&values)?)?,
        None if !left.is_empty() => {
            let head = simulated.map_or_else(String::new, |name| format!("SIMULATED machine '{name}'\n\n"));
            output::print(
                &(head + &output::rendered(&args.view, |detail| tiermark_report::listings::plan(&left, detail))),
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
