//! `tiermark help`: method pages of probes and of primitives of the operating system, and the help of commands.

use clap::CommandFactory;
use tiermark_engine::About;
use tiermark_model::{Exit, PrimitiveInfo};
use tiermark_report::Style;

use super::list::primitives_of;
use crate::args::{Cli, HelpArgs, Simulation};
use crate::names;
use crate::output::{Failure, print, style};

/// Runs the command.
pub(crate) fn run(args: &HelpArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let mut command = Cli::command();
    // Names of primitives have spaces, which nobody wants to quote.
    let topic = args.topic.join(" ");
    if topic.is_empty() {
        return print(&command.render_long_help().to_string()).map(|()| Exit::Done);
    }
    if let Some(probe) = tiermark_probes::find(&topic) {
        return print(&page(probe.about(), &style(&args.view))).map(|()| Exit::Done);
    }
    command.build();
    if let Some(found) = command.find_subcommand_mut(&topic) {
        return print(&found.render_long_help().to_string()).map(|()| Exit::Done);
    }
    let names = names::of_the_system(&topic).map_err(|why| no_help(&topic, &why, &command))?;
    let mut of: Vec<PrimitiveInfo> = primitives_of(simulation)?;
    of.retain(|info| names.contains(&info.id.0.as_str()) || names.contains(&info.group.name()));
    let style = style(&args.view);
    match of.as_slice() {
        [one] => print(&tiermark_report::primitive(one, &style)),
        group => print(&tiermark_report::primitives(group, &style)),
    }
    .map(|()| Exit::Done)
}

/// Why there is no help on a topic.
fn no_help(topic: &str, why: &str, command: &clap::Command) -> Failure {
    let probes: Vec<&str> = tiermark_probes::all().iter().map(|p| p.about().id).collect();
    let commands = command.get_subcommands().filter(|c| !c.is_hide_set()).map(clap::Command::get_name);
    let near = names::nearest(topic, &commands.chain(probes.iter().copied()).collect::<Vec<_>>());
    // What is near to a command is no primitive.
    let why = if near.is_empty() { why.trim_start_matches(names::NONE) } else { &near };
    let why = why.trim_start_matches("; ");
    Failure::usage(format!(
        "no help on '{topic}': it is neither a probe ({}) nor a command (`tiermark list commands`) nor a primitive of the \
         operating system: {why}",
        probes.join(", ")
    ))
}

/// The method page of a probe.
fn page(about: &About, style: &Style) -> String {
    let title = format!("{}: {} (method {})", about.id, about.summary, about.method);
    let sources = about.citations.join("\n\n");
    let usage = format!("`tiermark {} --help` lists its options.", about.id);
    let sections = [("What it is not", about.not), ("Sources", sources.as_str()), ("Use", usage.as_str())];
    tiermark_report::about(&title, about.text, &sections, style)
}
