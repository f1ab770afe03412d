//! `tiermark plan`: lists, shows and checks plans.

use tiermark_engine::Lab;
use tiermark_model::{Bench, Exit, Machine, Refusal};

use crate::args::{PlanArgs, PlanCommand, Simulation};
use crate::output::{Failure, print, tell};
use crate::plans::{self, PlanFile, Planned};
use crate::target;

/// Runs the command.
pub(crate) fn run(args: &PlanArgs, simulation: &Simulation) -> Result<Exit, Failure> {
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
        PlanCommand::Keys => print(&plans::keys())?,
        PlanCommand::Check { plan } => check(plan, simulation)?,
    }
    Ok(Exit::Done)
}

/// Says that a plan has no mistake, and warns of what would not go as it says. That is no mistake: it may be for another machine.
fn check(name: &str, simulation: &Simulation) -> Result<(), Failure> {
    let plan = plans::load(name)?;
    let built_in = plans::built_in().iter().any(|(known, _)| *known == plan.name);
    if built_in && name != plan.name {
        tell(format_args!(
            "tiermark: warning: its name is that of the built-in plan '{0}': `tiermark run {0}` runs that one, and runs of both are \
             listed alike",
            plan.name
        ));
    }
    let machine = match &simulation.simulate {
        Some(tree) => target::captured_machine(&target::tree(tree)?)?,
        None => target::this_machine()?,
    };
    for experiment in &plan.experiments {
        for refusal in lacking(experiment, &machine)? {
            tell(format_args!("tiermark: warning: line {}: not on this machine: {refusal}", experiment.begins));
        }
    }
    let count = plan.experiments.len();
    print(&format!("{}: {count} experiment{}, no mistake found", plan.name, if count == 1 { "" } else { "s" }))
}

/// Why a machine cannot do an experiment as a whole.
fn lacking(experiment: &Planned, machine: &Machine) -> Result<Vec<Refusal>, Failure> {
    let requests = match super::requests(&experiment.command, machine, 0) {
        Ok(requests) => requests,
        Err(Failure::Refused(refusal)) => return Ok(vec![refusal]),
        Err(failure) => return Err(failure),
    };
    // Planning needs the kernels; clock and overheads only matter once something is measured.
    let bench = Bench { kernels: super::list::available(), ..Bench::default() };
    let lab = Lab { machine, bench: &bench };
    let refused = |request| tiermark_probes::find(&experiment.probe)?.plan(request, lab).err();
    Ok(requests.iter().filter_map(refused).collect())
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
