//! Managers of containers and virtual machines, as words and commands: they do the work, and this program measures.

use tiermark_model::Refusal;
use tiermark_model::messages::tenants as messages;

use super::Commands;
use crate::programs::program;

/// Placeholder of a tenant's number, from 1, in words and commands.
pub(crate) const NUMBER: &str = "{N}";
/// What stands in words and commands for the random word of a run.
const RUN: &str = "{RUN}";

/// Words with a tenant's number in them, counted from 0.
pub(crate) fn numbered(text: &str, at: usize) -> String {
    text.replace(NUMBER, &(at + 1).to_string())
}

/// Text with the word of a run in it.
pub(crate) fn named(text: &str, word: &str) -> String {
    text.replace(RUN, word)
}

/// Words that run a server in a container of podman: in the tenant's control group, since podman is kept from making one, and on the host's
/// network, so that no bridge is measured. With them the command that removes what is left of it. The random word of
/// the run is part of the containers' names. [`ServerLaunch::check`](super::ServerLaunch::check) says whether there is
/// a podman.
#[must_use]
pub fn podman(image: &str) -> (Vec<String>, String) {
    let container = format!("tiermark-{RUN}-{NUMBER}");
    let name = format!("--name={container}");
    let words = ["podman", "run", "--rm", "--interactive", "--network=host", "--cgroups=disabled", "--log-driver=none"];
    let words = words.into_iter().chain(["--oom-score-adj=1000", &name, image]).map(str::to_owned).collect();
    (words, format!("podman rm --force --ignore {container}"))
}

/// Commands that start and stop machines of libvirt; `{N}` in the name is their number. [`Commands::needs`] names the
/// programs that they need.
#[must_use]
pub fn libvirt(domain: &str) -> Commands {
    // A name is a word of the shell.
    let domain = format!("'{}'", domain.replace('\'', "'\\''"));
    let check = format!(
        "state=$(LC_ALL=C virsh --quiet domstate {domain}) && case $state in 'shut off') ;; *) echo \"the machine is $state; only a \
         machine that is shut off is taken\" >&2; exit 1 ;; esac"
    );
    let command = |word: &str| Some(format!("virsh --quiet {word} {domain}"));
    Commands { check: Some(check), start: command("start"), stop: command("destroy") }
}

impl Commands {
    /// Programs that the words name and that are not installed, as far as this can be seen without running a shell.
    #[must_use]
    pub fn needs(&self) -> Option<Refusal> {
        const VIRSH: &str = "virsh";
        let lacks = self.start.as_deref().is_some_and(|start| start.starts_with(VIRSH)) && program(VIRSH).is_none();
        lacks.then(messages::virsh_missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn managers_are_looked_for_and_plain_commands_are_not() {
        let commands = |start: &str| Commands { start: Some(start.to_owned()), ..Commands::default() };
        assert_eq!(commands("no-such-command {N}").needs(), None);
        let refused = libvirt("vm{N}").needs();
        assert_eq!(refused.is_some(), program("virsh").is_none());
        assert!(refused.is_none_or(|refused| refused.code == messages::codes::virsh_missing));
        assert_eq!(numbered("vm{N} on host{N}", 4), "vm5 on host5");
    }
}
