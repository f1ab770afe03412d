//! Data that advice on knobs depends on.

use tiermark_machine::{Root, disk_of};
use tiermark_model::{IdSet, Machine};

use crate::kconfig::KernelConfig;

/// Data that advice may depend on.
#[derive(Debug)]
pub struct AdviceInput<'a> {
    /// The tree that is read.
    pub root: &'a Root,
    /// The machine found there.
    pub machine: &'a Machine,
    /// Block devices the user named, by the kernel's names.
    pub named: Vec<String>,
    /// How the kernel was built; `None` where neither /proc nor /boot says.
    pub config: Option<KernelConfig>,
}

impl<'a> AdviceInput<'a> {
    /// The description of the machine, with the devices that the user named.
    pub fn new(root: &'a Root, machine: &'a Machine, named: Vec<String>) -> Self {
        let config = KernelConfig::read(root, machine.system.kernel.as_deref());
        Self { root, machine, named, config }
    }

    /// Block devices whose queues are shown: those named, and those that hold a swap area.
    pub(crate) fn devices(&self) -> Vec<String> {
        let mut devices = self.named.clone();
        let swaps = self.machine.system.swaps.iter().filter_map(|swap| swap.path.strip_prefix("/dev/"));
        devices.extend(swaps.filter_map(|name| disk_of(self.root, name)));
        devices.sort_unstable();
        devices.dedup();
        devices
    }

    /// The value of a parameter of the kernel command line; the last one counts, as for most of them in the kernel.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let text = self.root.text("proc/cmdline")?;
        parameter(&text, name)
    }

    /// Whether pages are swapped to compressed memory: a zram device, or zswap before any swap area.
    pub(crate) fn swaps_to_memory(&self) -> bool {
        let system = &self.machine.system;
        let zram = system.swaps.iter().any(|swap| swap.zram().is_some());
        zram || (system.zswap == Some(true) && !system.swaps.is_empty())
    }

    /// Whether the kernel reports a version before this one.
    pub(crate) fn kernel_before(&self, major: u32, minor: u32) -> bool {
        let release = self.machine.system.kernel.as_deref().unwrap_or_default();
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(its_major)), Some(Ok(its_minor))) => (its_major, its_minor) < (major, minor),
            _ => false,
        }
    }

    /// Whether there is memory without cpus of its own that the kernel puts below another tier.
    pub(crate) fn has_slow_node(&self) -> bool {
        let tiers: IdSet = self.machine.nodes.iter().filter_map(|node| node.memory_tier).collect();
        tiers.len() > 1
    }
}

/// `name` or `name=value` on a kernel command line; quotes keep spaces together.
pub(crate) fn parameter(text: &str, name: &str) -> Option<String> {
    let mut found = None;
    let mut quoted = false;
    let words = text.split(|c: char| {
        quoted ^= c == '"';
        !quoted && c.is_whitespace()
    });
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        if key == name {
            found = Some(if value.is_empty() { "set".to_owned() } else { value.trim_matches('"').to_owned() });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_the_command_line() {
        let text = "quiet rcu_nocbs=0-3 a=\"x rcu_nocbs=9\" rcu_nocbs=0-7\n";
        assert_eq!(parameter(text, "rcu_nocbs").as_deref(), Some("0-7"));
        assert_eq!(parameter(text, "quiet").as_deref(), Some("set"));
        assert_eq!(parameter(text, "a").as_deref(), Some("x rcu_nocbs=9"));
        assert_eq!(parameter(text, "qui"), None);
    }
}
