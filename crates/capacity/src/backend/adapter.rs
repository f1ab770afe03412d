//! Managers of containers and virtual machines, as words and commands: they do the work, and this program measures.

use std::net::IpAddr;

use tiermark_model::Refusal;
use tiermark_model::messages::tenants as messages;

use super::Commands;
use crate::system::program;

/// Placeholder of a tenant's number, from 1, in words and commands.
pub(crate) const NUMBER: &str = "{N}";
/// Port of a server in a virtual machine.
const PORT: u16 = 6379;
/// What stands in words and commands for the random word of a run.
pub(crate) const RUN: &str = "{RUN}";

/// Words with a tenant's number in them, counted from 0.
pub(crate) fn numbered(text: &str, at: usize) -> String {
    text.replace(NUMBER, &(at + 1).to_string())
}

/// Text with the word of a run in it.
pub(crate) fn named(text: &str, word: &str) -> String {
    text.replace(RUN, word)
}

/// Words that run a server in a container of podman: in the tenant's control group, since podman is kept from making
/// one, and on the host's network, so that no bridge is measured. With them the command that removes what is left of
/// it. The random word of the run is part of the containers' names. [`ServerLaunch::check`](super::ServerLaunch::check)
/// says whether there is a podman.
pub fn podman(image: &str) -> (Vec<String>, String) {
    let container = format!("tiermark-{RUN}-{NUMBER}");
    let name = format!("--name={container}");
    let words = ["podman", "run", "--rm", "--interactive", "--network=host", "--cgroups=disabled", "--log-driver=none"];
    let words = words.into_iter().chain(["--oom-score-adj=1000", &name, image]).map(str::to_owned).collect();
    (words, format!("podman rm --force --ignore {container}"))
}

/// A word of the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The command that shows the addresses of a machine.
fn address(domain: &str) -> String {
    format!("LC_ALL=C virsh --quiet domifaddr {domain}")
}

/// Places for so many servers in machines whose addresses are found once they run.
pub fn guests(count: u32) -> Vec<String> {
    (1..=count).map(|number| format!("guest{number}:{PORT}")).collect()
}

/// Commands that clone a machine of libvirt for each tenant, and remove the clones with their disks. The random word of
/// the run is part of their names, so that nothing of others is ever removed.
pub fn clones(base: &str) -> Commands {
    let (base, clone) = (quoted(base), quoted(&format!("tiermark-{RUN}-{NUMBER}")));
    // It succeeds where there is none: it also runs after a start that failed.
    let stop = format!(
        "virsh --quiet destroy {clone}; ! virsh --quiet dominfo {clone} >/dev/null 2>&1 || virsh --quiet undefine \
            {clone} --remove-all-storage"
    );
    let start =
        format!("virt-clone --quiet --original {base} --name {clone} --auto-clone && virsh --quiet start {clone}");
    let check = format!("if virsh --quiet dominfo {clone}; then echo \"the machine is there already\" >&2; exit 1; fi");
    Commands { check: Some(check), start: Some(start), stop: Some(stop), address: Some(address(&clone)) }
}

/// The first address that a command shows, as `192.168.122.33/24`; of version 4 if there is one.
pub(crate) fn shown_address(text: &str) -> Option<IpAddr> {
    let address = |word: &str| word.split_once('/')?.0.parse::<IpAddr>().ok();
    let all = || text.split_whitespace().filter_map(address);
    all().find(IpAddr::is_ipv4).or_else(|| all().next())
}

/// Commands that start and stop machines of libvirt; `{N}` in the name is their number. [`Commands::needs`] names the
/// programs that they need. `finds` looks for the machines' addresses.
pub fn libvirt(domain: &str, finds: bool) -> Commands {
    let domain = quoted(domain);
    let check = format!(
        "state=$(LC_ALL=C virsh --quiet domstate {domain}) && case $state in 'shut off') ;; *) echo \"the machine is \
         $state; only a machine that is shut off is taken\" >&2; exit 1 ;; esac"
    );
    let command = |word: &str| Some(format!("virsh --quiet {word} {domain}"));
    let address = finds.then(|| address(&domain));
    Commands { check: Some(check), start: command("start"), stop: command("destroy"), address }
}

impl Commands {
    /// Programs that the words name and that are not installed, as far as this can be seen without running a shell.
    pub fn needs(&self) -> Option<Refusal> {
        let start = self.start.as_deref().unwrap_or_default();
        let lacks = |name: &str| program(name).is_none();
        match start.split(' ').next() {
            Some("virsh" | "virt-clone") if lacks("virsh") => Some(messages::virsh_missing()),
            Some("virt-clone") if lacks("virt-clone") => Some(messages::virt_clone_missing()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_as_virsh_shows_them() {
        let shown = " vnet3      52:54:00:6b:3c:58    ipv6         fe80::1/64\n -          -                    \
            ipv4         192.168.122.33/24\n";
        assert_eq!(shown_address(shown), Some([192, 168, 122, 33].into()));
        assert_eq!(shown_address("vnet3 52:54:00:6b:3c:58 ipv6 fd00::7/64"), "fd00::7".parse().ok());
        assert_eq!(shown_address(" Name MAC Protocol Address\n---\n"), None, "the guest has none yet");
    }

    #[test]
    fn managers_are_looked_for_and_plain_commands_are_not() {
        let commands = |start: &str| Commands { start: Some(start.to_owned()), ..Commands::default() };
        assert_eq!(commands("no-such-command {N}").needs(), None);
        let refused = libvirt("vm{N}", false).needs();
        assert_eq!(refused.is_some(), program("virsh").is_none());
        assert!(refused.is_none_or(|refused| refused.code == messages::codes::virsh_missing));
        assert_eq!(clones("base").needs().is_some(), program("virsh").or(program("virt-clone")).is_none());
        assert_eq!((libvirt("vm{N}", false).address, libvirt("vm{N}", true).address.is_some()), (None, true));
        assert_eq!(guests(2), ["guest1:6379", "guest2:6379"]);
        assert_eq!(numbered("vm{N} on host{N}", 4), "vm5 on host5");
    }
}
