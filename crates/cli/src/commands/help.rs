//! `tiermark help`: method pages of probes and of primitives of the operating system, the help of commands, words and
//! other tools.

mod options;
mod pages;
mod scenario;

use tiermark_model::{Exit, PrimitiveInfo};
use tiermark_page::{Detail, Style, terminal};

use super::list::primitives_of;
use crate::args::{HelpArgs, Simulation};
use crate::command_line;
use crate::output::{Failure, print, style};
use crate::{glossary, names, other_tools, plans, target};
pub(super) use pages::page;

/// Runs the command.
pub(crate) fn run(args: &HelpArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let mut command = command_line::command();
    // Names of primitives have spaces; quotes are not required.
    let topic = args.topic.iter().flat_map(|quoted| quoted.split_whitespace()).collect::<Vec<_>>().join(" ");
    if topic.is_empty() {
        return print(&command.render_long_help().to_string()).map(|()| Exit::Done);
    }
    command.build();
    let texts = texts(&topic, &mut command, simulation, &style(&args.view))?;
    print(&texts.join("\n")).map(|()| Exit::Done)
}

/// A topic without capitals, except in options: the case of an option's letter is part of it.
fn in_lower_case(topic: &str) -> String {
    let lower = |word: &str| if word.starts_with('-') { word.to_owned() } else { word.to_lowercase() };
    topic.split(' ').map(lower).collect::<Vec<_>>().join(" ")
}

/// All that there is on a topic: the glossary's terms first, then the page or the help of a command, or primitives.
///
/// # Errors
/// A [`Failure`] of usage where there is nothing.
fn texts(
    topic: &str,
    command: &mut clap::Command,
    simulation: &Simulation,
    style: &Style,
) -> Result<Vec<String>, Failure> {
    if let Some(line) = line_of_another_tool(topic, command, style) {
        return Ok(line);
    }
    let typed = topic;
    let topic = &in_lower_case(typed);
    let several = options::several(topic, command);
    if !several.is_empty() {
        let each: Result<Vec<_>, _> = several.iter().map(|one| texts(one, command, simulation, style)).collect();
        return Ok(each?.concat());
    }
    let terms = |found: Vec<glossary::Term>| {
        let lines: Vec<String> = found.iter().map(|(names, meaning)| format!("{names}\n\n{meaning}")).collect();
        (!lines.is_empty()).then(|| tiermark_report::listings::page(&lines.join("\n\n"), style))
    };
    let mut texts: Vec<String> = terms(glossary::terms(topic)).into_iter().collect();
    if let Some(page) = page(topic, command) {
        let usage = command.find_subcommand(topic).map(|_| format!("\n\n`tiermark {topic} --help` lists its options."));
        let page = page.trim_end().to_owned() + &usage.unwrap_or_default();
        texts.push(tiermark_report::listings::page(&page, style));
        return Ok(texts);
    }
    if plans::built_in().iter().any(|(name, _)| name == topic) {
        texts.push(terminal(&super::plan::page(&plans::load(topic, &[])?), style));
        return Ok(texts);
    }
    if let Some(found) = command.find_subcommand_mut(topic) {
        texts.push(found.render_long_help().to_string());
        return Ok(texts);
    }
    if let Some((option, of)) = options::one(topic) {
        texts.extend(options::here(option, of, command).map(|lines| tiermark_report::listings::page(&lines, style)));
        texts.extend(of_another_tool(typed, true, style));
        return if texts.is_empty() { Err(no_help(typed, command)) } else { Ok(texts) };
    }
    texts.extend(of_another_tool(typed, texts.is_empty(), style));
    if texts.is_empty() {
        texts.extend(terms(glossary::terms_with(topic)));
    }
    // A word that only begins names of the system is theirs where nothing else has it.
    if names::is_of_the_system(topic) || texts.is_empty() {
        let primitives = of_the_system(topic, simulation, style)?;
        texts.push(primitives.ok_or_else(|| no_help(typed, command))?);
    }
    Ok(texts)
}

/// Groups and primitives of the operating system whose names are, or begin with, a topic; `None` without one.
fn of_the_system(topic: &str, simulation: &Simulation, style: &Style) -> Result<Option<String>, Failure> {
    let Ok(names) = names::of_the_system(topic) else { return Ok(None) };
    let mut primitives: Vec<PrimitiveInfo> = primitives_of(&target::root(None, simulation)?)?;
    primitives.retain(|info| names.contains(&info.id.0.as_str()) || names.contains(&info.group.name()));
    Ok(Some(match primitives.as_slice() {
        [one] => terminal(&tiermark_report::listings::primitive(one), &style.of_prose()),
        group => terminal(&tiermark_report::listings::primitives(group, Detail::Usual), style),
    }))
}

/// The table of another tool; for a command of one, its row, unless the word is a term too.
fn of_another_tool(topic: &str, commands_too: bool, style: &Style) -> Option<String> {
    let mut found = other_tools::tool(topic);
    if found.is_empty() && commands_too {
        let words: Vec<&str> = topic.split(' ').collect();
        found.extend(other_tools::here(&words));
    }
    (!found.is_empty()).then(|| terminal(&tiermark_report::listings::equivalents(&found), style))
}

/// The command that does what a command line of another tool does; `None` if the words are no such command line.
fn line_of_another_tool(topic: &str, command: &clap::Command, style: &Style) -> Option<Vec<String>> {
    let words: Vec<&str> = topic.split(' ').collect();
    words.first().filter(|word| command.find_subcommand(word.to_lowercase()).is_none())?;
    let line = if other_tools::is_line(&words) { other_tools::line(&words)? } else { return None };
    let mut texts = vec![terminal(&tiermark_report::listings::equivalents(&[line.equivalent(&words)]), style)];
    let section = |title: &str, all: &[(String, String)]| {
        let one = |(text, why): &(String, String)| match why.is_empty() {
            true => format!("* `{text}`"),
            false => format!("* `{text}`: {why}"),
        };
        let lines = all.iter().map(one).collect::<Vec<_>>().join("\n");
        let page = || tiermark_report::listings::page(&format!("{title}\n\n{lines}"), style);
        (!all.is_empty()).then(page)
    };
    texts.extend(section("Carried over with a difference:", &line.notes));
    texts.extend(section("Not carried over:", &line.dropped));
    Some(texts)
}

/// Topics near to an unknown one, as it was typed, and all topics.
fn no_help(typed: &str, command: &clap::Command) -> Failure {
    let topic = &in_lower_case(typed);
    let commands = command.get_subcommands().filter(|c| !c.is_hide_set()).map(clap::Command::get_name);
    let words = other_tools::tools().into_iter().chain(glossary::names());
    let mut all: Vec<&str> = commands.collect();
    for name in pages::names().chain(words).chain(names::all_of_the_system()) {
        all.push(name);
    }
    let own = options::all(command);
    if topic.starts_with('-') {
        all = own.iter().map(String::as_str).collect();
    }
    let tool = topic.split(' ').next().filter(|first| other_tools::tools().contains(first) && topic != *first);
    let near = match tool {
        Some(tool) => format!("; `tiermark help {tool}` lists the commands of {tool} that tiermark replaces."),
        None => names::nearest(topic, &all),
    };
    let near = if near.is_empty() { "." } else { &near };
    Failure::usage(format!(
        "no help on '{typed}'{near} Topics are commands (`tiermark -h`), pages (numbers, runs, scenario, counters, \
         json, plans, security, exit codes), tools ({}), primitives of the operating system (`tiermark list primitives`) and words of the glossary; `tiermark tune` explains settings of the system",
        other_tools::tools().join(", ")
    ))
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
            ("sysbench", "tiermark bandwidth --op write --threads 1 --sizes 1K"),
            ("multichase", "tiermark c2c"),
            ("numademo", "tiermark matrix"),
            ("core-to-core-latency", "tiermark c2c"),
            ("redis-benchmark", "tiermark load --target"),
            ("memtier_benchmark", "tiermark load --target"),
            ("memtier", "--value-order rising"),
            ("memtier_benchmark --key-pattern=S:S", "--key-dist sequential"),
            ("wrk2", "--hgrm-service"),
            ("verdict", "trusted"),
            ("trusted", "trusted"),
            ("bound", "bound"),
            ("suspect", "suspect"),
            ("state", "state"),
            ("knee", "knee"),
            ("drift", "drift"),
            ("-X", "tiermark bandwidth --threads cores"),
            ("-b500m", "tiermark latency --sizes 500m"),
            ("mlc -e", "prefetchers stay as they are"),
            (
                "lat_mem_rd 64 64",
                "tiermark latency --layout stride:64 --sizes 4K,8K,16K,32K,64K,128K,256K,512K,1M,2M,4M,8M,16M,32M,64M",
            ),
            ("bw_mem 512m rd", "tiermark bandwidth --op read --threads 1 --sizes 512M"),
            ("MLC --idle_latency -b2G", "tiermark latency --sizes 2G"),
            ("sudo ./mlc --loaded_latency -i3", "not carried over:"),
            ("redis-benchmark -a PassWord", "--password PassWord"),
            ("--loaded_latency", "tiermark loaded-latency"),
            ("idle", "idle latency, idle"),
            ("peak", "peak injection bandwidth"),
            // Words that begin lines of the reports.
            ("translation", "physical address"),
            ("groups", "layout of the row DRAM"),
            ("cold", "evicts caches"),
            ("core clock", "90th percentile"),
            ("interruptions", "only reads the clock"),
            ("osnoise", "section Interruptions of tiermark help numbers"),
            ("hwlat", "tiermark doctor"),
            ("sysjitter", "interruptions.share"),
            ("zeros", "clearing memory"),
            ("copy", "read + written"),
            ("residency", "keeps a touched line"),
            ("fleet", "which is not like its peers"),
            ("loaded", "latency"),
            // Words that users bring along.
            ("json", "--format json-rows"),
            ("CSV", "--format csv"),
            ("prometheus", "textfile collector"),
            ("counters", "--counters-from"),
            ("exit-codes", "129, 130, 143  stopped"),
            ("exit code", "129, 130, 143  stopped"),
            ("plans", "plan check"),
            ("security", "runs as root"),
            ("docker", "control group"),
            ("slurm", "control group"),
            ("scenario", "`maxmemory-policy` (\"noeviction\""),
            ("scenario", "`settle` (seconds, or as \"2m\", 0 to 86400; default 120.0; --settle)"),
            // Options of this program, with the commands that have them.
            ("--duration", "`--duration SECONDS`: "),
            ("--duration", "(load)"),
            ("--sizes", "latency"),
            ("--sizes=64M", "latency"),
            ("-k", "`-k, --keys N`"),
            ("load -k", "`-k, --keys N`"),
        ] {
            let text = said_of(topic);
            assert!(text.to_lowercase().contains(&said.to_lowercase()), "{topic}: {text}");
        }
    }

    /// What is printed, on a machine with two nodes.
    fn said_of(topic: &str) -> String {
        let mut command = command_line::command();
        command.build();
        let simulation = Simulation { simulate: Some("synth:sockets=2,cores=2".to_owned()), ..Simulation::default() };
        let style = Style { width: 120, ..Style::default() };
        texts(topic, &mut command, &simulation, &style).map(|texts| texts.join("\n")).unwrap_or_default()
    }

    #[test]
    fn a_topic_of_several_kinds_has_all_of_them() {
        for (topic, all) in [
            ("loaded", &["loaded latency, loaded"][..]),
            // A term, and the page of the command.
            ("plan", &["the steps of an experiment", "Usage:"]),
            // A command of another tool, and a group of primitives.
            ("numa", &["tiermark matrix", "move_pages"]),
            // The first word of a term.
            ("useful", &["useful bytes"]),
            ("wire", &["wire bytes"]),
            ("fork", &["fork+exit", "fork+exec"]),
            ("mlc -e -r", &["tiermark run full", "prefetchers", "random accesses"]),
            ("-b1g -r", &["tiermark latency --sizes 1g", "tiermark latency --layout random"]),
            ("--sizes --idle_latency", &["--sizes", "tiermark latency"]),
        ] {
            let text = said_of(topic);
            for said in all {
                assert!(text.contains(said), "{topic} lacks '{said}': {text}");
            }
        }
        assert!(!said_of("peak").contains("bandwidth --threads cores"), "a term is no command of another tool");
        // No word is dropped.
        for unknown in ["quux", "--quux", "load --quux", "--sizes --quux"] {
            assert_eq!(said_of(unknown), "", "{unknown}");
        }
        let of_tool = said_of("mlc -e --quux");
        assert!(of_tool.contains("tiermark run full") && of_tool.contains("--quux"), "{of_tool}");
        for line in [
            "redis-benchmark -h 10.0.0.1 -p 6379 -c 50 -n 100000 -d 100 -P 16",
            "sysbench memory --memory-block-size=1K run",
            "lat_mem_rd -P 1 64M",
        ] {
            let text = said_of(line);
            assert!(text.matches("    tiermark ").count() == 1 && !text.contains("Not carried"), "{line}: {text}");
        }
        assert!(!said_of("load --seed").contains("capacity"), "of the command that is named");
    }
}
