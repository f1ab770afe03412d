//! Words of other tools, and how to write them here: tips under clap's own errors.

mod options;

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Parser};
use tiermark_capacity::scenario::built_in;
use tiermark_model::parse_size;

use crate::command_line::{Cli, command};
use crate::other_tools;

/// Adds a suggestion to an error of the command line.
pub(crate) fn add(error: &mut clap::Error, arguments: &[OsString]) {
    let arguments: Vec<&str> = arguments.iter().filter_map(|a| a.to_str()).collect();
    let mut cli = command();
    // Options of all commands are in each of them once they are built.
    cli.build();
    if error.kind() == ErrorKind::UnknownArgument {
        options::leave_hidden_out(error, &cli, &arguments);
        // clap's advice to write -- before it: no value here begins with a hyphen.
        error.remove(ContextKind::Suggested);
    }
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let (argument, value) = (context(ContextKind::InvalidArg), context(ContextKind::InvalidValue));
    // One letter too few, as in --size: clap's guess is the option of this very command.
    if argument.as_ref().is_some_and(|word| context(ContextKind::SuggestedArg) == Some(format!("{word}s"))) {
        return;
    }
    let tip = match (error.kind(), argument, value) {
        (ErrorKind::UnknownArgument, Some(argument), _) => stray(&argument, &arguments, &cli)
            .or_else(|| options::other_name(&argument, options::named(&cli, &arguments)))
            .or_else(|| options::of_a_plan(&argument, options::named(&cli, &arguments), &cli))
            .or_else(|| elsewhere(&whole(&argument, &arguments), options::named(&cli, &arguments)))
            .or_else(|| options::of_others(&argument, &cli)),
        (ErrorKind::InvalidSubcommand, ..) => {
            context(ContextKind::InvalidSubcommand).and_then(|word| elsewhere(&whole(&word, &arguments), &cli))
        }
        (ErrorKind::ValueValidation, Some(argument), Some(value)) if argument.starts_with("--op") => {
            elsewhere(&[&value], &cli)
        }
        (ErrorKind::InvalidValue, Some(argument), Some(value)) if argument.starts_with("--format") => {
            other_format(&value)
        }
        (ErrorKind::MissingRequiredArgument, ..) => match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::Strings(missing)) => missing.iter().find_map(|argument| choice_of(argument)),
            _ => None,
        },
        _ => None,
    };
    if let Some(tip) = tip {
        // clap's own guess is a name that looks alike.
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::SuggestedSubcommand);
        error.remove(ContextKind::Usage);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    }
}

/// Parses a command line. An option that `help` does not have is a topic, the option of another tool, and needs no `--`
/// before it; a command line of another tool is one from its first word on.
pub(crate) fn parse_with_topics(
    arguments: &[OsString],
    parse: impl Fn(&[OsString]) -> Result<Cli, clap::Error>,
) -> Result<Cli, clap::Error> {
    let words: Vec<&str> = arguments.iter().map(|argument| argument.to_str().unwrap_or_default()).collect();
    if words.get(1) != Some(&"help") {
        return parse(arguments);
    }
    let first = words.iter().skip(2).position(|word| !word.starts_with('-')).map(|at| at + 2);
    let is_line = first.is_some_and(|at| is_of_another_tool(&words[at..]));
    let parsed = if is_line { None } else { Some(parse(arguments)) };
    let at = match parsed.as_ref().map(|parsed| parsed.as_ref().err()) {
        None => first,
        Some(Some(error)) if error.kind() == ErrorKind::UnknownArgument && !words.contains(&"--") => {
            let unknown = match error.get(ContextKind::InvalidArg) {
                Some(ContextValue::String(unknown)) => words.iter().position(|word| word.starts_with(unknown.as_str())),
                _ => None,
            };
            first.into_iter().chain(unknown).min()
        }
        Some(_) => None,
    };
    match (at, parsed) {
        (Some(at), _) => {
            let mut line = arguments.to_vec();
            line.insert(at, OsString::from("--"));
            parse(&line)
        }
        (None, Some(parsed)) => parsed,
        (None, None) => parse(arguments),
    }
}

/// Whether words are a command line of another tool with options of one letter or a program behind `--`, which clap
/// would read as its own. A last `-h` is that of `help`, unless the program has one too.
fn is_of_another_tool(words: &[&str]) -> bool {
    let is_own = command().find_subcommand(words[0]).is_some();
    let is_asked =
        words.last().is_some_and(|word| ["-h", "--help"].contains(word) && !other_tools::has_flag(words, word));
    let is_raw = |word: &&str| *word == "--" || (word.starts_with('-') && !word.starts_with("--"));
    !is_own && !is_asked && words.iter().any(is_raw) && other_tools::line(words).is_some()
}

/// The mistake of a `-h` that is followed by a host, as generators of load for Redis have it.
pub(crate) fn meant_by_h(arguments: &[OsString]) -> Option<clap::Error> {
    let arguments: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    let load = arguments.iter().position(|argument| *argument == "load")?;
    let after = |option: &str| {
        let at = arguments[load..].iter().position(|argument| *argument == option)?;
        arguments.get(load + at + 1).copied().filter(|value| !value.starts_with('-'))
    };
    let (host, port) = (after("-h")?, after("-p").unwrap_or("6379"));
    let text = format!("name servers with --target, not -h: tiermark load --target {host}:{port}");
    let mut cli = command();
    // The usage of a command has its full name once all are built.
    cli.build();
    Some(cli.find_subcommand_mut("load")?.error(ErrorKind::UnknownArgument, text))
}

/// What there is to choose from, of an argument that is missing.
fn choice_of(argument: &str) -> Option<String> {
    if argument.contains("<PLAN>") {
        return Some("`tiermark plan list` lists the plans; a plan can also be a TOML file".to_owned());
    }
    if argument.contains("<COMMAND>") {
        return Some("name the command to watch behind --, as in tiermark watch --curve last -- make -j8".to_owned());
    }
    let scenarios: Vec<&str> = built_in().iter().map(|(name, _)| *name).collect();
    argument.contains("<SCENARIO>").then(|| {
        format!("name {}, or a TOML file; `tiermark capacity --list` describes the scenarios", scenarios.join(", "))
    })
}

/// The command line from a word on; of an option with its value attached clap names the letter only.
fn whole<'a>(word: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
    let at = arguments.iter().position(|argument| argument.starts_with(word));
    at.map_or_else(|| vec![word], |at| arguments[at..].to_vec())
}

/// A command or an option of another tool, as an option of the command at hand if that has it.
fn elsewhere(words: &[&str], at_hand: &clap::Command) -> Option<String> {
    let row = match at_hand.get_name() {
        "load" => other_tools::of_a_load_generator(words)?,
        _ => other_tools::here(words).filter(|row| row.here != other_tools::NONE)?,
    };
    let note = if row.note.is_empty() { String::new() } else { format!(" ({})", row.note) };
    let options = row.here.splitn(3, ' ').nth(2).filter(|options| options.starts_with('-'));
    let own = options.map(|options| format!("tiermark {} {options}", at_hand.get_name()));
    let own = own.filter(|line| words[0].starts_with('-') && Cli::try_parse_from(line.split(' ')).is_ok());
    Some(format!("use `{}`{note}", own.unwrap_or(row.here)))
}

/// A layout of the report that is an option of its own.
fn other_format(value: &str) -> Option<String> {
    let of_its_own = ["json", "jsonl", "html"].into_iter().find(|name| value.eq_ignore_ascii_case(name))?;
    Some(match of_its_own {
        "html" => {
            "an HTML page has its own option: --html FILE; `tiermark report` writes one from saved runs".to_owned()
        }
        name => format!(
            "the document has options of its own: --{name} for standard output, --{name}=FILE for a file; --format \
             json-rows prints a line for each observation"
        ),
    })
}

/// A word that no command takes.
fn stray(word: &str, arguments: &[&str], cli: &clap::Command) -> Option<String> {
    if word.starts_with('-') {
        return None;
    }
    let at = arguments.iter().position(|argument| *argument == word)?;
    let before = *arguments.get(at.checked_sub(1)?)?;
    let command = options::named(cli, arguments);
    let option = |name: &str| command.get_arguments().find(|arg| arg.get_long() == Some(name));
    let takes_with_equals = |arg: &Arg| arg.is_require_equals_set() && arg.get_action().takes_values();
    if let Some(name) = before.strip_prefix("--").filter(|name| option(name).is_some_and(takes_with_equals)) {
        return Some(format!("the file follows an equals sign: --{name}={word}"));
    }
    let is_scenario = built_in().iter().any(|(name, _)| *name == word) && option("scenario").is_some();
    if is_scenario {
        return Some(format!("a scenario is named with an option: --scenario {word}"));
    }
    let sizes = word.split(',').all(|size| parse_size(size).is_ok());
    (sizes && option("sizes").is_some()).then(|| format!("sizes have an option: --sizes {word}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(arguments: &[&str]) -> String {
        let arguments: Vec<OsString> =
            std::iter::once("tiermark").chain(arguments.iter().copied()).map(Into::into).collect();
        let Err(mut error) = Cli::try_parse_from(&arguments) else { panic!("accepted: {arguments:?}") };
        add(&mut error, &arguments);
        error.render().to_string()
    }

    #[test]
    fn what_was_meant_is_shown() {
        for (arguments, tip) in [
            (&["latency", "--format", "json"][..], "--json=FILE for a file"),
            (&["show", "--format=jsonl"], "--format json-rows"),
            (&["show", "--format=html"], "tiermark report"),
            (&["latency", "--json", "out.json"], "--json=out.json"),
            (&["survey", "--quick", "--jsonl", "events"], "--jsonl=events"),
            (&["latency", "64M"], "--sizes 64M"),
            (&["capacity", "cache"], "--scenario cache"),
            (&["capacity", "--limit", "p99 < 1ms"], "--level 'p99 < 10ms'"),
            (&["bandwidth", "--quick", "1M,2M"], "--sizes 1M,2M"),
            (&["stream"], "`tiermark bandwidth --op copy,scale,add,triad"),
            (&["lat_mem_rd", "-t"], "`tiermark latency --layout random`"),
            (&["lat_mem_rd", "64", "64"], "`tiermark latency --layout stride:64 --sizes 4K,8K,"),
            (&["bw_mem", "512m", "rd"], "`tiermark bandwidth --op read --threads 1 --sizes 512M`"),
            (&["latency", "-b1g"], "`tiermark latency --sizes 1g`"),
            (&["--idle_latency"], "`tiermark latency`"),
            (&["mlc", "--idle_latency"], "`tiermark latency`"),
            (&["mlc", "--loaded_latency", "-W5", "-d0"], "`tiermark loaded-latency --cpus all --mix 0:1 --delays 0`"),
            (&["latency", "-b500m"], "`tiermark latency --sizes 500m`"),
            (&["latency", "-r"], "`tiermark latency --layout random`"),
            (&["latency", "-l128"], "`tiermark latency --layout stride:128`"),
            (&["latency", "--stride", "64"], "`tiermark latency --layout stride:64`"),
            (&["latency", "-d0"], "`tiermark loaded-latency --delays 0`"),
            // The first option of a line says what the line is about.
            (&["--bandwidth_matrix", "-W2"], "`tiermark matrix --mix 1:1"),
            // An option that the command at hand has stays one of it.
            (&["matrix", "-W2"], "`tiermark matrix --mix 1:1`"),
            (&["loaded-latency", "-W5"], "`tiermark loaded-latency --mix 0:1`"),
            (&["pcm-memory", "1"], "`tiermark watch --interval 1`"),
            (&["bandwidth", "--op", "Scale"], "--op scale"),
            (&["bandwidth", "--op=read,Add"], "--op add"),
            (&["watch", "--curve", "last"], "behind --"),
            (&["watch", "--curve", "last", "--"], "behind --"),
            (&["measure"], "`tiermark survey`"),
            (&["watch", "--duration", "60"], "--samples COUNT"),
            (&["watch", "-n", "5"], "--interval TIME"),
            (&["load", "-t", "h:1", "--seconds", "3"], "--duration SECONDS"),
            (&["load", "-t", "h:1", "--records", "9"], "--keys N"),
            (&["load", "--host", "h"], "--target HOST:PORT"),
            // Options of generators of load, not those of other tools with the same letter.
            (&["load", "-t", "h:1", "-r", "5000"], "`tiermark load --target 127.0.0.1:6379 -k 5000 "),
            (&["load", "-t", "h:1", "-p", "7000"], "`tiermark load --target 127.0.0.1:7000`"),
            (&["load", "-s", "/run/redis.sock"], "`tiermark load --target /run/redis.sock`"),
            (&["load", "-t", "h:1", "--csv"], "--json=-`"),
            (&["load", "-t", "h:1", "--clients=20"], "-c 20`"),
            (&["load", "-t", "h:1", "--test-time", "60"], "--duration 60`"),
            (&["capacity", "--scenario", "mini", "--maxmemory", "48M"], "--set tenant.maxmemory=VALUE"),
            (&["report", "--output", "x"], "the file is named by --html FILE"),
            (&["survey", "--duration", "60"], "--max-time SECONDS"),
            (&["survey", "-o", "x.json"], "--json=FILE and --html FILE"),
            (&["latency", "--output=x.json"], "--json=FILE and --html FILE"),
            (&["watch", "--output", "x"], "--record FILE"),
            (&["check", "--output", "x"], "> FILE keeps it"),
            (&["run", "hierarchy", "--sizes", "4K"], "own --sizes: `tiermark plan show PLAN --toml"),
            (&["run", "hierarchy", "--quick"], "own --quick"),
            (&["run", "hierarchy", "--threads=2"], "own --threads"),
            (&["run", "hierarchy", "--tenants", "3"], "other commands have it: `tiermark capacity --tenants`"),
            (&["fleet", "--curve", "last"], "other commands have it: `tiermark watch --curve`"),
        ] {
            let said = said(arguments);
            assert!(said.contains("tip: ") && said.contains(tip), "{arguments:?}: {said}");
        }
        let loads = [&["load", "-t", "h:1", "-e"][..], &["load", "-t", "h:1", "-l"]];
        for arguments in [&["latency", "-t", "2"][..], &["survey", "-d"]].into_iter().chain(loads) {
            assert!(!said(arguments).contains("tip: use `tiermark"), "{arguments:?}");
        }
        for arguments in [&["latency", "out.json"][..], &["survey", "64M"], &["latency", "--frob"], &["frob"]] {
            let said = said(arguments);
            assert!(!said.contains("--sizes") && !said.contains("equals"), "{arguments:?}: {said}");
        }
    }

    /// An option of another tool needs no `--` before it, and the options of `help` stay options.
    #[test]
    fn an_option_is_a_topic() {
        for (arguments, topic) in [
            (&["help", "-X"][..], &["-X"][..]),
            (&["help", "-b500m"], &["-b500m"]),
            (&["help", "mlc", "-e", "-r"], &["mlc", "-e", "-r"]),
            (&["help", "--idle_latency"], &["--idle_latency"]),
            (&["help", "mlc", "--ascii"], &["mlc"]),
            (&["help", "--", "-X"], &["-X"]),
            (&["help", "--ascii", "mlc", "-X"], &["mlc", "-X"]),
            // Values stay behind their options, and -h is the server there.
            (
                &["help", "redis-benchmark", "-h", "127.0.0.1", "-p", "6379", "-q"],
                &["redis-benchmark", "-h", "127.0.0.1", "-p", "6379", "-q"],
            ),
            (&["help", "memtier_benchmark", "--ratio", "1:10"], &["memtier_benchmark", "--ratio", "1:10"]),
            (&["help", "sudo", "./redis-benchmark", "-q"], &["sudo", "./redis-benchmark", "-q"]),
            (&["help", "perf", "stat", "-a", "--", "sleep", "5"], &["perf", "stat", "-a", "--", "sleep", "5"]),
            (&["help", "perf", "mem", "record", "--", "./app", "-t"], &["perf", "mem", "record", "--", "./app", "-t"]),
        ] {
            let all = std::iter::once("tiermark").chain(arguments.iter().copied()).map(Into::into).collect::<Vec<_>>();
            let cli = parse_with_topics(&all, |arguments| Cli::try_parse_from(arguments)).unwrap();
            let Some(crate::command_line::Command::Help(help)) = cli.command else { panic!("{arguments:?}") };
            assert_eq!(help.topic, topic, "{arguments:?}");
        }
        for own in [&["help", "-h"][..], &["help", "load", "-h"], &["help", "mlc", "-h"]] {
            let all = std::iter::once("tiermark").chain(own.iter().copied()).map(Into::into).collect::<Vec<_>>();
            let help = parse_with_topics(&all, |arguments| Cli::try_parse_from(arguments)).unwrap_err();
            assert_eq!(help.kind(), ErrorKind::DisplayHelp, "{own:?}");
        }
        // Other commands have no topics.
        let survey = ["tiermark", "survey", "-X"].map(Into::into).to_vec();
        assert!(parse_with_topics(&survey, |arguments| Cli::try_parse_from(arguments)).is_err());
    }

    /// Of every option that no help shows, however it is misspelt.
    #[test]
    fn what_no_help_shows_is_never_suggested() {
        let mut cli = command();
        cli.build();
        let hidden: Vec<&str> = cli.get_arguments().filter(|arg| arg.is_hide_set()).filter_map(Arg::get_long).collect();
        assert!(hidden.contains(&"simulate") && hidden.len() > 10, "{hidden:?}");
        // Each option behind one command, and each command with one option: they are of the whole program.
        let commands: Vec<&str> = cli.get_subcommands().map(clap::Command::get_name).collect();
        for at in 0..hidden.len().max(commands.len()) {
            let (name, command) = (hidden[at % hidden.len()], commands[at % commands.len()]);
            let said = said(&[command, &format!("--{}", &name[..name.len() - 1])]);
            assert!(hidden.iter().all(|name| !said.contains(&format!("--{name}"))), "{said}");
        }
        // An earlier name of an option leads to the present one.
        let said = said(&["latency", "--pag", "2M"]);
        assert!(said.contains("'--pages'"), "{said}");
    }

    #[test]
    fn an_option_of_the_command_itself_comes_first() {
        let sizes = said(&["bandwidth", "--size", "64M"]);
        assert!(sizes.contains("'--sizes'") && !sizes.contains("latency"), "{sizes}");
        let delays = said(&["loaded-latency", "--delay", "100"]);
        assert!(delays.contains("'--delays'") && !delays.contains("`tiermark"), "{delays}");
    }

    /// A word of another tool leads to the command here, not to a name that only looks alike.
    #[test]
    fn words_of_peers_lead_on() {
        for (arguments, here, not) in [
            (&["stream"][..], "tiermark bandwidth --op copy,scale,add,triad", "'"),
            (&["triad"], "tiermark bandwidth --op triad", "'tr"),
            (&["peak"], "tiermark bandwidth --threads cores", "'"),
            (&["idle"], "tiermark latency", "'tlb'"),
            (&["numa"], "tiermark matrix", "'man'"),
            (&["lat_mem_rd"], "tiermark latency --layout stride:", "'latency'"),
            (&["bw_mem"], "tiermark bandwidth --op read,write,copy", "'"),
            (&["mlc"], "tiermark run full", "'mlp'"),
            (&["mlc", "--idle_latency"], "tiermark latency", "'mlp'"),
            (&["bandwidth", "--op", "Scale"], "tiermark bandwidth --op scale", "'"),
            (&["bandwidth", "--op", "Add"], "tiermark bandwidth --op add", "'read'"),
            (&["--idle_latency"], "tiermark latency", "--"),
            (&["--latency_matrix"], "tiermark matrix", "--"),
            (&["--peak_injection_bandwidth"], "tiermark loaded-latency --mix read,2:1", "--precision"),
            (&["--loaded_latency"], "tiermark loaded-latency", "--"),
            (&["--c2c_latency"], "tiermark c2c", "--"),
            (&["-d0"], "tiermark loaded-latency", "--"),
            (&["latency", "--stride", "64"], "tiermark latency --layout stride:", "--strict"),
            (&["--size", "64M"], "tiermark latency --sizes", "--sim"),
            (&["bandwidth", "--rw", "2"], "tiermark bandwidth --mix", "--raw"),
            (&["survey", "--all"], "tiermark run full", "--allow-partial"),
        ] {
            let said = said(arguments);
            let tip = said.split("tip: ").nth(1).and_then(|tip| tip.lines().next()).unwrap_or_default();
            let led = tip.strip_prefix("use `").and_then(|tip| tip.split('`').next()).unwrap_or_default();
            assert!(led.starts_with(here), "{arguments:?}: {said}");
            assert!(!tip.replace(led, "").contains(not), "{arguments:?}: {said}");
        }
    }
}
