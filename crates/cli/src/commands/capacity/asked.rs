//! The scenario of a run, from options and files, and the environment that carries it out.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use tiermark_capacity::backend::{Commands, GuestFiles, adapter};
use tiermark_capacity::run::Environment;
use tiermark_capacity::saved::RunSetup;
use tiermark_capacity::scenario::{Backend, Scenario};
use tiermark_config::Mistake;
use tiermark_load::Target;
use tiermark_machine::Root;
use tiermark_model::Refusal;
use tiermark_model::capacity::Setting;
use tiermark_model::messages::tenants::wrapper_unclosed;
use tiermark_undo::StateDir;

use super::scenario;
use crate::args::CapacityArgs;
use crate::output::Failure;
use crate::target;

/// The scenario that was named, with what options change, checked as a whole.
pub(super) fn asked(args: &CapacityArgs) -> Result<Scenario, Failure> {
    let name = args.scenario.as_deref().unwrap_or_default();
    let mut scenario = scenario::read(name)?;
    args.change(&mut scenario);
    let tenants = &args.tenants;
    let libvirt = tenants.libvirt.is_some() || tenants.libvirt_base.is_some();
    let elsewhere = tenants.start.is_some() || libvirt || tenants.overwrite;
    if scenario.backend != Backend::External && elsewhere {
        let text = "--start, --stop, --libvirt, --libvirt-base and --overwrite need --backend external";
        return Err(Failure::usage(text));
    }
    if scenario.backend != Backend::Process && (tenants.podman.is_some() || tenants.wrap.is_some()) {
        return Err(Failure::usage("--podman and --wrap need --backend process"));
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
pub(super) fn setup(args: &CapacityArgs) -> Result<RunSetup, Refusal> {
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
    })
}

/// The programs and commands that a run names.
pub(super) fn programs(scenario: &Scenario, setup: &RunSetup) -> Vec<String> {
    let mut lines = Vec::new();
    if scenario.backend != Backend::External {
        lines.push(format!("server: {}", scenario.tenant.server));
    }
    if scenario.backend == Backend::Qemu {
        let file = |path: &Option<PathBuf>, none: &str| {
            path.as_ref().map_or_else(|| none.to_owned(), |path| path.display().to_string())
        };
        lines.push(format!("kernel of the guests: {}", file(&setup.guest.kernel, "the newest of /boot")));
        lines.push(format!("program inside of the guests: {}", file(&setup.guest.agent, "this one")));
    }
    if !setup.wrapper.is_empty() {
        lines.push(format!("each server runs behind: {}", setup.wrapper.join(" ")));
    }
    lines.extend(setup.removes.iter().map(|removes| format!("after each server runs: {removes}")));
    let run = |what: &str, command: &Option<String>| {
        command.as_ref().map(|command| format!("command that {what} a tenant: {command}"))
    };
    let commands = &setup.commands;
    let address = run("shows the address of", &commands.address);
    let words = [run("checks", &commands.check), run("starts", &commands.start), address, run("stops", &commands.stop)];
    lines.extend(words.into_iter().flatten());
    lines
}

/// Settings of the system and of some block devices; none where the machine cannot be described.
fn settings(devices: &[String]) -> Vec<Setting> {
    let machine = target::this_machine();
    machine.map_or_else(|_| Vec::new(), |machine| tiermark_tune::settings(&Root::live(), &machine, devices.to_vec()))
}

/// With what a run is made on this machine.
pub(super) fn environment<'a>(
    args: &CapacityArgs,
    scenario: &Scenario,
    state: &'a StateDir,
    stop: &'a AtomicBool,
) -> Result<Environment<'a>, Failure> {
    let own = std::env::current_exe().map_err(Failure::tool)?.display().to_string();
    let placer = vec![own, tiermark_primitives::PLACE.to_owned()];
    Ok(Environment { state, placer, targets: targets(args, scenario)?, settings, stop })
}

fn targets(args: &CapacityArgs, scenario: &Scenario) -> Result<Vec<Target>, Failure> {
    let target = |text: &String| {
        let address = text.parse().map_err(|why| Failure::usage(format!("'{text}': {why}")))?;
        Ok(Target { password: args.password.clone(), ..Target::new(address) })
    };
    scenario.targets.iter().map(target).collect()
}
