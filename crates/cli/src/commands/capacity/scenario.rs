//! The job of a run, from options and files.

use tiermark_capacity::backend::{Commands, GuestFiles, adapter};
use tiermark_capacity::prepare::Job;
use tiermark_capacity::preview::programs;
use tiermark_capacity::saved::{RunSetup, SavedRun, unfinished};
use tiermark_capacity::scenario::{Backend, Scenario, built_in};
use tiermark_history::config::Mistake;
use tiermark_model::messages::tenants::wrapper_unclosed;

use super::directory;
use crate::args::CapacityArgs;
use crate::output::{Failure, tell};
use crate::signals::Stop;

/// The scenarios that are built in.
pub(super) fn list() -> String {
    let mut out = String::new();
    for (name, text) in built_in() {
        let title = Scenario::read(text).map(|scenario| scenario.title).unwrap_or_default();
        out.push_str(&format!("{name:<8}{title}\n"));
    }
    out.push_str("\n`tiermark capacity --scenario NAME --dry-run` prints one as a file, to be edited.\n");
    out
}

/// The job that is asked for: a saved run that goes on, or a new one.
pub(super) fn job(args: &CapacityArgs, stop: &Stop) -> Result<Job, Failure> {
    let Some(file) = &args.resume else { return Ok(Job::New { scenario: scenario(args, stop)?, setup: setup(args)? }) };
    let file = match file {
        Some(file) => file.clone(),
        None => unfinished(&directory()?)?,
    };
    let mut saved = SavedRun::open(&file, args.trust)?;
    // With --trust another user may have written the file: the commands that it runs are shown even with --quiet.
    if args.trust || !args.quiet {
        for line in programs(&saved.begun.scenario, &saved.begun.setup) {
            tell(format_args!("tiermark: {line}"));
        }
    }
    saved.begun.setup.force |= args.force;
    Ok(Job::Resumed(saved))
}

/// The scenario that was named, with what options change, checked as a whole.
fn scenario(args: &CapacityArgs, stop: &Stop) -> Result<Scenario, Failure> {
    let name = args.scenario.as_deref().unwrap_or_default();
    let mut scenario = Scenario::named(name, &args.settings).map_err(Failure::Mistakes)?;
    args.change(&mut scenario);
    let tenants = &args.tenants;
    let libvirt = tenants.libvirt.is_some() || tenants.libvirt_base.is_some();
    let inventory = args.inventory.inventory.is_some();
    let elsewhere = tenants.start.is_some() || libvirt || inventory || tenants.overwrite;
    if scenario.backend != Backend::External && elsewhere {
        return Err(Failure::usage(
            "--start, --stop, --libvirt, --libvirt-base, --inventory and --overwrite need --backend external",
        ));
    }
    if scenario.backend != Backend::Process && (tenants.podman.is_some() || tenants.wrap.is_some()) {
        return Err(Failure::usage("--podman and --wrap need --backend process"));
    }
    if inventory {
        let servers = args.inventory.servers(stop)?;
        scenario.targets = servers.into_iter().map(|(_, address)| address.to_string()).collect();
    }
    if libvirt && scenario.targets.is_empty() {
        scenario.targets = adapter::guests(scenario.most_tenants());
    }
    let problems = scenario.problems();
    match problems.is_empty() {
        true => Ok(scenario),
        false => {
            Err(Failure::Mistakes(problems.into_iter().map(|problem| Mistake::from(problem).to_string()).collect()))
        }
    }
}

/// How the run is made here, as options say.
fn setup(args: &CapacityArgs) -> Result<RunSetup, Failure> {
    let cpus: Vec<usize> = args.client_cpus.iter().flat_map(|cpus| cpus.iter()).map(|cpu| cpu as usize).collect();
    let tenants = &args.tenants;
    let words = tenants.wrap.as_deref().map_or(Some(Vec::new()), shlex::split).ok_or_else(wrapper_unclosed)?;
    let (wrapper, removes) = match &tenants.podman {
        Some(image) => {
            let (words, removes) = adapter::podman(image);
            (words, Some(removes))
        }
        None => (words, None),
    };
    let commands = match (&tenants.libvirt, &tenants.libvirt_base) {
        (Some(domain), _) => adapter::libvirt(domain, tenants.targets.is_empty()),
        (None, Some(base)) => adapter::clones(base),
        (None, None) => Commands {
            check: tenants.check.clone(),
            start: tenants.start.clone(),
            stop: tenants.stop.clone(),
            address: None,
        },
    };
    let guest = GuestFiles { kernel: tenants.guest_kernel.clone(), agent: tenants.guest_agent.clone() };
    let threads = args.threads.unwrap_or(cpus.len().max(1));
    Ok(RunSetup {
        wrapper,
        removes,
        first_port: tenants.first_port,
        commands,
        overwrites: tenants.overwrite,
        guest,
        threads,
        cpus,
        timeout_seconds: args.timeout,
        force: args.force,
        labels: args.labels.by_key()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::{Cli, Command};
    use clap::Parser;

    /// The file of the run has the option; files of earlier versions do not.
    #[test]
    fn a_resumed_run_keeps_force() {
        for (more, forced) in [(&["--scenario=mini"][..], false), (&["--scenario=mini", "--force"], true)] {
            let cli = Cli::try_parse_from(["tiermark", "capacity"].iter().chain(more)).unwrap();
            let Some(Command::Capacity(args)) = cli.command else { panic!("{more:?}") };
            let mut begun = serde_json::to_value(setup(&args).unwrap()).unwrap();
            assert_eq!(serde_json::from_value::<RunSetup>(begun.clone()).unwrap().force, forced, "{more:?}");
            begun.as_object_mut().unwrap().remove("force");
            assert!(!serde_json::from_value::<RunSetup>(begun).unwrap().force);
        }
    }
}
