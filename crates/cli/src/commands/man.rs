//! `tiermark man`: man pages of all commands, with examples and exit codes.

use std::fmt::Write as _;
use std::io;

use clap::CommandFactory;
use clap_mangen::Man;
use tiermark_model::Exit;

use crate::args::ManArgs;
use crate::command_line::Cli;
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &ManArgs) -> Result<Exit, Failure> {
    let fail = |e: io::Error| {
        Failure::tool(format!(
            "writing man pages to '{}': {e}; choose a directory that can be written",
            args.directory.display()
        ))
    };
    let mut command = Cli::command();
    command.build();
    let named = args.directory.to_str().and_then(|name| command.find_subcommand(name));
    if let Some(named) = named.filter(|_| !args.directory.is_dir()) {
        let name = named.get_name();
        return Err(Failure::usage(format!(
            "'{name}' is a command: `tiermark help {name}` prints its page, `tiermark man ./{name}` writes all pages \
             into a directory of that name"
        )));
    }
    std::fs::create_dir_all(&args.directory).map_err(fail)?;
    for (name, page) in pages(&command).map_err(fail)? {
        std::fs::write(args.directory.join(format!("{name}.1")), page).map_err(fail)?;
    }
    Ok(Exit::Done)
}

/// Names and texts of the pages of a command and of those below it.
fn pages(command: &clap::Command) -> io::Result<Vec<(String, Vec<u8>)>> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let mut pages = vec![(name.to_owned(), page(command)?)];
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        pages.extend(self::pages(below)?);
    }
    Ok(pages)
}

/// One page.
fn page(command: &clap::Command) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone());
    let mut out = Vec::new();
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    man.render_synopsis_section(&mut out)?;
    man.render_description_section(&mut out)?;
    man.render_options_section(&mut out)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut out)?;
    }
    let (examples, notes) = examples(command);
    out.extend(section("NOTES", &notes).into_bytes());
    out.extend(section("EXAMPLES", &examples).into_bytes());
    out.extend(exit_status().into_bytes());
    Ok(out)
}

/// The indented lines at the end of a command's help, and its other lines. A command that needs no argument is an
/// example itself.
fn examples(command: &clap::Command) -> (String, String) {
    let text = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let lines = text.lines().filter(|line| *line != "Examples:");
    let (examples, notes): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with("  "));
    let needs = command.is_subcommand_required_set() || command.get_arguments().any(clap::Arg::is_required_set);
    let own = command.get_bin_name().filter(|_| examples.is_empty() && !needs).unwrap_or_default();
    (examples.join("\n") + own, notes.join("\n"))
}

/// Text that is set as it is, below a heading; nothing without text.
fn section(heading: &str, text: &str) -> String {
    if text.trim().is_empty() {
        return String::new();
    }
    let mut out = format!(".SH {heading}\n.nf\n");
    for line in text.trim_end().lines() {
        let line = line.trim_end().replace('\\', "\\e").replace('-', "\\-");
        // A dot or a quote at the beginning of a line would be a request.
        let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
        let _ = writeln!(out, "{guard}{line}");
    }
    out + ".fi\n"
}

/// Exit codes and their meanings.
fn exit_status() -> String {
    let rows = Exit::table().into_iter();
    let rows = rows.map(|(codes, meaning)| format!(".TP\n\\fB{codes}\\fR\n{}\n", meaning.replace('-', "\\-")));
    [".SH \"EXIT STATUS\"\n".to_owned()].into_iter().chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<(String, String)> {
        let mut command = Cli::command();
        command.build();
        pages(&command).unwrap().into_iter().map(|(name, page)| (name, String::from_utf8(page).unwrap())).collect()
    }

    #[test]
    fn each_page_has_its_sections() {
        let pages = all();
        for (name, page) in &pages {
            for heading in ["NAME", "SYNOPSIS", "DESCRIPTION", "\"EXIT STATUS\""] {
                assert!(page.contains(&format!(".SH {heading}\n")), "{name} lacks {heading}: {page}");
            }
        }
        let page = |name: &str| &pages.iter().find(|(known, _)| known == name).expect("a page").1;
        for name in ["tiermark-plan", "tiermark-plan-show", "tiermark-plan-check", "tiermark-run"] {
            assert!(page(name).contains(".SH EXAMPLES\n"), "{name}");
        }
        for probe in tiermark_probes::all() {
            let id = probe.id;
            let command = format!("tiermark-{id}");
            let (_, page) = pages.iter().find(|(name, _)| *name == command).expect("a page for each probe");
            assert!(page.contains(".SH EXAMPLES\n"), "{command}: {page}");
        }
    }

    /// Every line is a request that man pages have, or text: what begins with a dot by chance is no request.
    #[test]
    fn each_page_is_well_formed() {
        const REQUESTS: [&str; 14] =
            ["ie", "el", "TH", "SH", "SS", "TP", "PP", "RS", "RE", "nf", "fi", "br", "IP", "ds"];
        for (name, page) in all() {
            for line in page.lines() {
                let Some(rest) = line.strip_prefix(['.', '\'']) else { continue };
                let request = rest.split([' ', '\\']).next().unwrap_or_default();
                assert!(REQUESTS.contains(&request), "{name}: {line}");
            }
            let count = |request: &str| page.lines().filter(|line| *line == request).count();
            assert_eq!(count(".nf"), count(".fi"), "{name}");
            assert!(!page.contains("\\\n"), "{name}: a line is joined to the next");
        }
    }
}
