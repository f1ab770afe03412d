//! `tiermark help`: method pages of probes and of primitives of the operating system, the help of commands, words and other tools.

use tiermark_model::{Exit, PrimitiveInfo};
use tiermark_report::Style;

use super::list::primitives_of;
use crate::args::{HelpArgs, Simulation};
use crate::command_line;
use crate::output::{Failure, print, style};
use crate::{glossary, names};

/// Runs the command.
pub(crate) fn run(args: &HelpArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let mut command = command_line::command();
    // Names of primitives have spaces, which nobody wants to quote.
    let topic = args.topic.join(" ").trim().to_lowercase();
    if topic.is_empty() {
        return print(&command.render_long_help().to_string()).map(|()| Exit::Done);
    }
    command.build();
    let style = style(&args.view);
    if let Some(text) = page(&topic) {
        let usage = if command.find_subcommand(&topic).is_some() {
            format!("\n\n`tiermark {topic} --help` lists its options.")
        } else {
            String::new()
        };
        return print(&tiermark_report::page(&(text.trim_end().to_owned() + &usage), &style)).map(|()| Exit::Done);
    }
    if let Some(found) = command.find_subcommand_mut(&topic) {
        return print(&found.render_long_help().to_string()).map(|()| Exit::Done);
    }
    if !names::is_of_the_system(&topic)
        && let Some(text) = of_the_glossary(&topic, &style)
    {
        return print(&text).map(|()| Exit::Done);
    }
    let names = names::of_the_system(&topic).map_err(|_| no_help(&topic, &command))?;
    let mut of: Vec<PrimitiveInfo> = primitives_of(simulation)?;
    of.retain(|info| names.contains(&info.id.0.as_str()) || names.contains(&info.group.name()));
    match of.as_slice() {
        [one] => print(&tiermark_report::primitive(one, &style)),
        group => print(&tiermark_report::primitives(group, &style)),
    }
    .map(|()| Exit::Done)
}

/// What the glossary says of a tool, of a word, or of a command of another tool.
fn of_the_glossary(topic: &str, style: &Style) -> Option<String> {
    let tool = glossary::tool(topic);
    if !tool.is_empty() {
        return Some(tiermark_report::equivalents(&tool, style));
    }
    let terms = glossary::terms(topic);
    if !terms.is_empty() {
        let text: Vec<String> = terms.iter().map(|(names, meaning)| format!("{names}\n\n{meaning}")).collect();
        return Some(tiermark_report::page(&text.join("\n\n"), style));
    }
    let words: Vec<&str> = topic.split(' ').collect();
    glossary::here(&words).map(|row| tiermark_report::equivalents(&[row], style))
}

/// What is near to a topic that there is no help on, and what there is.
fn no_help(topic: &str, command: &clap::Command) -> Failure {
    let commands = command.get_subcommands().filter(|c| !c.is_hide_set()).map(clap::Command::get_name);
    let pages = PAGES.iter().map(|(name, _)| *name);
    let words = glossary::tools().into_iter().chain(glossary::names());
    let mut all: Vec<&str> = commands.chain(pages).chain(words).collect();
    for name in names::all_of_the_system() {
        all.push(name);
    }
    let near = names::nearest(topic, &all);
    let near = if near.is_empty() { "." } else { &near };
    Failure::usage(format!(
        "no help on '{topic}'{near} Topics are commands (`tiermark -h`), pages (numbers, runs), tools ({}), primitives of the \
         operating system (`tiermark list primitives`) and words of the glossary; `tiermark tune` explains settings of the system",
        glossary::tools().join(", ")
    ))
}

/// Pages of what is no probe.
const PAGES: [(&str, &str); 6] = [
    ("capacity", include_str!("../../../../docs/methods/capacity.md")),
    ("doctor", include_str!("../../../../docs/methods/doctor.md")),
    ("load", include_str!("../../../../docs/methods/load.md")),
    ("numbers", include_str!("../../../../docs/methods/numbers.md")),
    ("runs", include_str!("../../../../docs/methods/runs.md")),
    ("tune", include_str!("../../../../docs/methods/tune.md")),
];

/// The page of a method.
pub(super) fn page(topic: &str) -> Option<String> {
    let of_probe = tiermark_probes::find(topic)
        .map(|probe| format!("{}\n\nMethod version {}.", probe.about().page.trim_end(), probe.about().method));
    of_probe.or_else(|| PAGES.iter().find(|(name, _)| *name == topic).map(|(_, text)| (*text).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_peers_and_terms_are_explained() {
        for (topic, said) in [
            ("triad", "tiermark bandwidth --op triad"),
            ("mlc", "tiermark loaded-latency"),
            ("stream", "tiermark bandwidth --op copy,scale,add,triad"),
            ("lmbench", "tiermark os --only syscalls"),
            ("likwid", "tiermark bandwidth"),
            ("sysbench", "tiermark bandwidth --op read,write"),
            ("multichase", "tiermark c2c"),
            ("numademo", "tiermark matrix"),
            ("core-to-core-latency", "tiermark c2c"),
            ("redis-benchmark", "tiermark load --target"),
            ("memtier_benchmark", "tiermark load --target"),
            ("verdict", "trusted"),
            ("trusted", "trusted"),
            ("bound", "bound"),
            ("suspect", "suspect"),
            ("state", "state"),
            ("knee", "knee"),
            ("drift", "drift"),
            ("idle", "idle latency, idle"),
            ("peak", "peak injection bandwidth"),
            ("loaded", "latency"),
        ] {
            assert!(!names::is_of_the_system(topic), "{topic} is explained as a primitive");
            let style = Style { width: 120, ..Style::default() };
            let text = page(topic).or_else(|| of_the_glossary(topic, &style)).unwrap_or_default();
            assert!(text.to_lowercase().contains(&said.to_lowercase()), "{topic}: {text}");
        }
    }
}
