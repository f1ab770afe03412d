//! `tiermark plan`: lists, shows and checks plans.

use tiermark_model::Exit;

use crate::args::{PlanArgs, PlanCommand};
use crate::output::{Failure, print};
use crate::plans::{self, PlanFile};

/// Runs the command.
pub(crate) fn run(args: &PlanArgs) -> Result<Exit, Failure> {
    match &args.command {
        PlanCommand::List => {
            let width = plans::built_in().iter().map(|(name, _)| name.len()).max().unwrap_or_default();
            let line =
                |(name, _): &(&str, &str)| plans::load(name).map(|plan| format!("{name:width$}  {}", plan.title));
            let lines = plans::built_in().iter().map(line).collect::<Result<Vec<_>, _>>()?;
            print(&lines.join("\n"))?;
        }
        PlanCommand::Show { plan, toml: true } => print(&plans::text(plan)?)?,
        PlanCommand::Show { plan, toml: false } => print(&page(&plans::load(plan)?))?,
        PlanCommand::Check { plan } => {
            let plan = plans::load(plan)?;
            print(&format!("{}: {} experiments, no mistake found", plan.name, plan.experiments.len()))?;
        }
    }
    Ok(Exit::Done)
}

/// A plan for people: what it asks, and the commands that it stands for.
fn page(plan: &PlanFile) -> String {
    let mut page = format!("{}: {}\n\n{}\n", plan.name, plan.title, plan.about.trim());
    for experiment in &plan.experiments {
        page.push('\n');
        if let Some(note) = &experiment.note {
            page.push_str(&format!("# {note}\n"));
        }
        page.push_str(&format!("tiermark {}\n", experiment.line));
    }
    page
}
