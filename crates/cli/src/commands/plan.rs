//! `tiermark plan`: lists, shows and checks plans.

use tiermark_engine::Lab;
use tiermark_model::{Bench, Exit, Machine, Refusal};
use tiermark_page::Page;

use crate::args::{PlanArgs, PlanCommand, Simulation};
use crate::output::{self, Failure, print, tell};
use crate::plans::{self, PlanFile, Planned};
use crate::target;

/// The published experiment that is no plan.
const TENANTS: [&str; 2] = ["(tenants)", "how many Redis servers fit: no plan but a command, `tiermark capacity`"];

/// Runs the command.
pub(crate) fn run(args: &PlanArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    match &args.command {
        PlanCommand::List(args) => {
            let (_, machine) = target::described(None, simulation)?;
            let nodes = machine.nodes.iter().filter(|node| node.memory_bytes != Some(0)).count();
            let row = |(name, _): &(&'static str, &str)| {
                plans::load(name, &[]).map(|plan| ((*name).to_owned(), line(plan, nodes)))
            };
            let mut rows = plans::built_in().iter().map(row).collect::<Result<Vec<_>, _>>()?;
            rows.push(TENANTS.map(str::to_owned).into());
            print(&output::rendered(&args.view, |_| tiermark_report::listings::names(&rows)))?;
        }
        PlanCommand::Show { plan, toml: true, .. } => print(&plans::text(plan)?)?,
        PlanCommand::Show { plan, toml: false, view } => {
            let page = page(&plans::load(plan, &[])?);
            print(&output::rendered(view, |_| page))?;
        }
        PlanCommand::Keys => print(&plans::keys())?,
        PlanCommand::Check { plan } => check(plan, simulation)?,
    }
    Ok(Exit::Done)
}

/// A plan in the list: its title, and that it takes more nodes with memory than there are.
fn line(plan: PlanFile, nodes: usize) -> String {
    let needed = plan.experiments.iter().map(|experiment| experiment.measure.nodes_needed()).min().unwrap_or(1);
    match needed > nodes {
        true => format!("{} (needs {needed} nodes: this machine has {nodes})", plan.title),
        false => plan.title,
    }
}

/// Says that a plan has no mistake, and warns of what would not go as it says. That is no mistake: it may be for
/// another machine.
fn check(name: &str, simulation: &Simulation) -> Result<(), Failure> {
    let plan = plans::load(name, &[])?;
    let built_in = plans::built_in().iter().any(|(known, _)| *known == plan.name);
    if built_in && name != plan.name {
        tell(format_args!(
            "tiermark: warning: a built-in plan is also named '{0}': `tiermark run {0}` runs the built-in one, and \
             runs of both are listed alike",
            plan.name
        ));
    }
    let (_, machine) = target::described(None, simulation)?;
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
    let requests = match experiment.measure.requests(machine, 0) {
        Ok(requests) => requests,
        Err(Failure::Refused(refusal)) => return Ok(vec![refusal]),
        Err(failure) => return Err(failure),
    };
    // Planning needs kernels and primitives; clock and overheads only matter once something is measured.
    let primitives = tiermark_primitives::primitives(machine);
    let bench = Bench { kernels: super::list::available(), primitives, ..Bench::default() };
    let lab = Lab::new(machine.clone(), bench);
    let refused = |request| tiermark_probes::find(&experiment.probe)?.plan(request, &lab).err();
    Ok(requests.iter().filter_map(refused).collect())
}

/// A plan for readers: its question, and the commands that it stands for.
pub(super) fn page(plan: &PlanFile) -> Page {
    let lines: Vec<String> = plan.experiments.iter().map(|e| format!("tiermark {}", e.line)).collect();
    let commands = lines.iter().zip(&plan.experiments).map(|(line, e)| (line.as_str(), e.note.as_deref()));
    let title = format!("{}: {}", plan.name, plan.title);
    tiermark_report::listings::plan_page(&title, &plan.about, &commands.collect::<Vec<_>>())
}
