//! `tiermark help`: method pages of probes, and the help of commands.

use clap::CommandFactory;
use tiermark_engine::About;
use tiermark_model::Exit;
use tiermark_report::Style;

use crate::args::{Cli, HelpArgs};
use crate::output::{Failure, print, style};

/// Runs the command.
pub(crate) fn run(args: &HelpArgs) -> Result<Exit, Failure> {
    let mut command = Cli::command();
    let Some(topic) = &args.topic else {
        return print(&command.render_long_help().to_string()).map(|()| Exit::Done);
    };
    if let Some(probe) = tiermark_probes::find(topic) {
        return print(&page(probe.about(), &style(&args.view))).map(|()| Exit::Done);
    }
    command.build();
    match command.find_subcommand_mut(topic) {
        Some(found) => print(&found.render_long_help().to_string()).map(|()| Exit::Done),
        None => {
            let probes: Vec<&str> = tiermark_probes::all().iter().map(|p| p.about().id).collect();
            Err(Failure::usage(format!(
                "no help on '{topic}': it is neither a probe ({}) nor a command; `tiermark list commands` shows those",
                probes.join(", ")
            )))
        }
    }
}

/// The method page of a probe.
fn page(about: &About, style: &Style) -> String {
    let title = format!("{}: {} (method {})", about.id, about.summary, about.method);
    let sources = about.citations.join("\n\n");
    let usage = format!("`tiermark {} --help` lists its options.", about.id);
    let sections = [("What it is not", about.not), ("Sources", sources.as_str()), ("Use", usage.as_str())];
    tiermark_report::about(&title, about.text, &sections, style)
}
