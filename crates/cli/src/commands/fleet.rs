//! `tiermark fleet`: documents of many hosts, and which host is not like its peers.

pub(crate) mod files;

use std::path::Path;

use tiermark_compare::fleet::{Gathered, Rates, limits};
use tiermark_exports::hosts_to_drain;
use tiermark_history::config::text_of;
use tiermark_model::{Exit, FLEET_SCHEMA, Fleet, HostState, Refusal, count_of};
use tiermark_report::html::fleet_page;

use super::report::open_page;
use crate::args::fleet::FleetArgs;
use crate::layouts::HOSTS;
use crate::output::{Destination, Failure, document, print, style, tell, whoever_reads};
use crate::pseudonyms::pseudonyms;

/// Runs the command.
pub(crate) fn run(args: &FleetArgs) -> Result<Exit, Failure> {
    if (args.sure || args.most.is_some()) && args.format.name != HOSTS {
        return Err(Failure::usage("--sure and --most require --format hosts"));
    }
    let page = args.html.as_deref().map(open_page).transpose()?;
    let expected = args.hosts.as_deref().map(names).transpose()?.unwrap_or_default();
    let mut gathered = Gathered::default();
    let names = args.redact.then(pseudonyms);
    files::read(&args.paths, &expected, names, |found| found.into(&mut gathered))?;
    if gathered.is_empty() && gathered.unread().is_empty() {
        return Err(Failure::usage(
            "there is no document of a host: `tiermark survey --quick --json=NAME.json` on each host makes them",
        ));
    }
    let (mut has_before, mut unread) = (args.before.is_empty(), Vec::new());
    files::read(&args.before, &[], names, |found| match found {
        files::Found::Host(record) => {
            has_before = true;
            gathered.add_before(*record);
        }
        files::Found::Other(refusal) => unread.push(refusal),
        files::Found::Failed(_) => {}
    })?;
    match (has_before, unread.is_empty()) {
        (false, true) => return Err(Failure::usage("--before: there is no document of a host")),
        (false, false) => return Err(nothing_read("--before", &unread)),
        (true, _) => unread.into_iter().for_each(|refusal| gathered.add_unread(refusal)),
    }
    if let Some(share) = args.fail_over {
        gathered.allow(share);
    }
    let usual = Rates::default();
    gathered.allow_rates(Rates {
        errors: args.errors_a_day.map_or(usual.errors, f64::from),
        throttles: args.throttles_a_day.map_or(usual.throttles, f64::from),
    });
    let shown = |host: String| names.map_or_else(|| host.clone(), |names| names.host(&host));
    let fleet = gathered.judged(&expected.into_iter().map(shown).collect::<Vec<String>>());
    if let Some(page) = page {
        let is_stdout = matches!(page, Destination::Stdout);
        page.write(&fleet_page(&fleet, &style(&args.view)))?;
        if is_stdout {
            return Ok(exit(&fleet));
        }
    }
    let text = match () {
        () if args.limits => limits(&fleet).ok_or_else(|| no_limits(&fleet))?,
        () if args.json => document(FLEET_SCHEMA, &fleet)?,
        () if args.sure || args.most.is_some() => chosen(args, &fleet),
        () => args.format.show(&fleet, &args.view),
    };
    whoever_reads(print(&text), exit(&fleet))
}

/// No file could be read.
fn nothing_read(option: &str, unread: &[Refusal]) -> Failure {
    const NAMED: usize = 3;
    let named: Vec<String> = unread.iter().take(NAMED).map(ToString::to_string).collect();
    let more = unread.len().saturating_sub(NAMED);
    let more = if more > 0 { format!("; {} more", count_of(more as u64, "file")) } else { String::new() };
    Failure::Exit(Exit::Refused, format!("{option}: no document could be read: {}{more}", named.join("; ")))
}

fn no_limits(fleet: &Fleet) -> Failure {
    if is_nothing_read(fleet) {
        return nothing_read("--limits", &fleet.unread);
    }
    let text = "the largest kind of host has no latency or no bandwidth of memory that four hosts were judged by: limits \
                without them would pass a server whose memory is slow";
    Failure::Exit(Exit::Partial, text.to_owned())
}

/// The names of odd hosts, within `--sure` and `--most`.
fn chosen(args: &FleetArgs, fleet: &Fleet) -> String {
    let mut hosts = hosts_to_drain(fleet, args.sure);
    let guessed = hosts_to_drain(fleet, false).len() - hosts.len();
    if guessed > 0 {
        let more = count_of(guessed as u64, "host");
        tell(format_args!("tiermark: warning: --sure leaves out {more} without a sure cause"));
    }
    let measured = fleet.hosts.iter().filter(|host| host.kind.is_some()).count();
    let most = args.most.map_or(hosts.len(), |share| ((share * measured as f64) as usize).max(1));
    if hosts.len() > most {
        let more = count_of((hosts.len() - most) as u64, "host");
        tell(format_args!("tiermark: warning: --most leaves out {more}"));
        hosts.truncate(most);
    }
    hosts.iter().map(|host| format!("{host}\n")).collect()
}

/// Whether there is no host but those that were expected: no file could be read.
fn is_nothing_read(fleet: &Fleet) -> bool {
    fleet.hosts.iter().all(|host| host.state == HostState::Missing)
}

/// What all lost, or an odd host, matters more than one that failed, and that more than one that could not be judged.
fn exit(fleet: &Fleet) -> Exit {
    let has = |state| fleet.hosts.iter().any(|host| host.state == state);
    match () {
        () if is_nothing_read(fleet) => Exit::Refused,
        () if has(HostState::Odd) || !fleet.losses.is_empty() => Exit::Regression,
        () if has(HostState::Failed) => Exit::Fleet,
        () if has(HostState::Missing) || has(HostState::NotJudged) || !fleet.unread.is_empty() => Exit::Partial,
        // Two machines may be judged as one.
        () if !fleet.shared_names.is_empty() => Exit::Partial,
        () => Exit::Done,
    }
}

/// The names of hosts in a file: the first word of each line that is no comment.
fn names(file: &Path) -> Result<Vec<String>, Failure> {
    let text = text_of(file).map_err(|error| {
        Failure::usage(format!("--hosts '{}': {error}; give a file with a name on each line", file.display()))
    })?;
    let lines = text.lines().filter_map(|line| line.split('#').next()?.split_whitespace().next());
    Ok(lines.map(str::to_owned).collect())
}
