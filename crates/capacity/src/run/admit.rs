//! Whether a machine has everything that a run needs: checked before anything is made, with the same checks by which
//! each part is set up later, and with all problems reported at once.

use tiermark_load::ClientSetup;
use tiermark_machine::Root;
use tiermark_model::messages::tenants::not_root;
use tiermark_model::messages::tiers::memory_short;
use tiermark_model::{Bytes, Refusal};

use super::{Environment, Hypervisor, Kind, Layout, Scenario, external};
use crate::saved::Pending;
use crate::scenario::{Requests, Tier};
use crate::system::leave_floor;
use crate::tier::{Preflight, TierSizes, check};

/// Whether a run can be made here: refusals of the run, and the preflight of each tier.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Admission {
    /// Why the whole run cannot be made; empty if it can.
    pub refused: Vec<Refusal>,
    /// Each tier of the scenario, with the result of its check.
    pub tiers: Vec<(Tier, Preflight)>,
}

impl Admission {
    /// Everything that is wrong.
    pub fn refusals(&self) -> impl Iterator<Item = &Refusal> {
        self.refused.iter().chain(self.tiers.iter().flat_map(|(_, found)| &found.refused))
    }
}

/// The system that a run is to be made on.
#[derive(Debug)]
pub struct RunHost<'a> {
    /// The root that all files are read from.
    pub root: &'a Root,
    /// Whether this process has the rights of root.
    pub privileged: bool,
}

impl Scenario {
    /// The sizes that a tier of this scenario is to have, in bytes.
    pub fn wanted(&self) -> TierSizes {
        TierSizes { size: self.tier_bytes(), dram: self.tenants_dram(), floor: self.limits.memory_floor.0 }
    }
}

/// Checks whether the remaining part of a run can be measured here. Nothing is changed.
pub fn admit(pending: &Pending<'_>, environment: &Environment<'_>, place: &RunHost<'_>) -> Admission {
    let Pending { scenario, setup, tiers, reached } = pending;
    let client = setup.client();
    let mut refused: Vec<Refusal> = client.check().err().into_iter().collect();
    if scenario.backend == Kind::External {
        let servers = external(environment, setup, *reached);
        refused.extend(servers.check(scenario.most_tenants() as usize, environment.stop));
        return Admission {
            refused,
            tiers: tiers.iter().map(|tier| ((*tier).clone(), Preflight::default())).collect(),
        };
    }
    refused.extend(privileged(place).err());
    refused.extend(Layout::find(place.root).err());
    refused.extend(memory(scenario, &client, place.root).err());
    refused.extend(match scenario.backend {
        Kind::Qemu => Hypervisor::check(&setup.guest, &scenario.tenant.server),
        Kind::Process | Kind::External => setup.servers(scenario).check(),
    });
    let preflight = |tier: &&Tier| ((*tier).clone(), check(tier, &scenario.wanted(), place.root));
    Admission { refused, tiers: tiers.iter().map(preflight).collect() }
}

/// Whether this user may have tenants in control groups.
fn privileged(place: &RunHost<'_>) -> Result<(), Refusal> {
    match place.privileged {
        true => Ok(()),
        false => Err(not_root()),
    }
}

/// What the client needs beside the tenants' memory: for as many as find room there.
fn client_bytes(scenario: &Scenario, client: &ClientSetup) -> u64 {
    let held = scenario.dram_budget.0.saturating_add(scenario.tier_bytes());
    let of_one = scenario.tenant.held().max(1);
    let tenants = (held / of_one + 1).min(u64::from(scenario.most_tenants()));
    let requests = Requests { gets: 100.0, keys: scenario.load.keys.first().copied().unwrap_or_default() };
    tiermark_load::client_bytes(tenants, &scenario.asked(requests, 0), client.threads).usual
}

/// Whether the machine has memory for all tenants together, and for the client.
pub(super) fn memory(scenario: &Scenario, client: &ClientSetup, root: &Root) -> Result<(), Refusal> {
    let wanted = scenario.dram_budget.0.saturating_add(client_bytes(scenario, client));
    let floor = scenario.limits.memory_floor.0;
    leave_floor(root, wanted, floor, |available, limit| memory_short(Bytes(wanted), available, limit, Bytes(floor)))
}

/// Whether the machine has memory for a scenario's tenants and client; servers elsewhere need none.
pub fn has_memory(scenario: &Scenario, client: &ClientSetup, root: &Root) -> bool {
    scenario.backend == Kind::External || memory(scenario, client, root).is_ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use tiermark_model::messages::tiers::codes;
    use tiermark_undo::StateDir;

    use super::*;
    use crate::saved::RunSetup;
    use crate::scenario::built_in;

    fn scenario(tiers: &str) -> Scenario {
        let text = built_in().iter().find(|(name, _)| *name == "mini").unwrap().1;
        Scenario::read(&text.replace("[\"dram\", \"zram\"]", tiers)).unwrap()
    }

    fn admission(mut scenario: Scenario, server: &str, place: &RunHost<'_>) -> Admission {
        let dir = tempfile::tempdir().unwrap();
        let (state, stop) = (StateDir::at(dir.path().join("state")), AtomicBool::new(false));
        scenario.tenant.server = server.to_owned();
        let environment =
            Environment { state: &state, placer: vec![], targets: vec![], settings: |_| Vec::new(), stop: &stop };
        let setup = RunSetup { threads: 1, timeout_seconds: 10.0, ..RunSetup::default() };
        let found = admit(&Pending::all(&scenario, &setup), &environment, place);
        assert!(!dir.path().join("state").exists(), "it was found at only");
        found
    }

    #[test]
    fn a_machine_that_has_it_all_is_told_nothing() {
        let root = Root::from_files(
            "test",
            [
                ("proc/self/mounts", "cgroup /cg cgroup rw,memory 0 0\n"),
                ("proc/meminfo", "MemAvailable:  4000000 kB\n"),
                ("sys/class/zram-control/hot_add", "1\n"),
                ("sys/block/zram0/comp_algorithm", "[lzo] lz4\n"),
            ],
        );
        let found = admission(scenario("[\"dram\", \"zram:lz4\"]"), "sh", &RunHost { root: &root, privileged: true });
        assert_eq!(found.refusals().collect::<Vec<_>>(), Vec::<&Refusal>::new());
        assert_eq!(found.tiers[1].1.room, Some(2 << 30));
    }

    /// Nothing of it is found only when its turn comes, after half an hour of trials.
    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        let root = Root::from_files(
            "test",
            [
                ("proc/meminfo", "MemAvailable:  600000 kB\n"),
                ("sys/class/zram-control/hot_add", "1\n"),
                ("sys/block/zram0/comp_algorithm", "[lzo] lz4\n"),
            ],
        );
        let tiers = "[\"dram\", \"zram:lz5\", \"swap:/nonexistent/x\", \"zswap\", \"node:7\", \"demotion:7\"]";
        let found = admission(scenario(tiers), "no-such-server", &RunHost { root: &root, privileged: false });
        let all: Vec<&str> = found.refusals().map(|refusal| refusal.code.as_str()).collect();
        for code in [
            "not_root",
            "no_memory_controller",
            "memory_short",
            "server_missing",
            "zram_algorithm_missing",
            "swap_path_missing",
            "zswap_missing",
        ] {
            assert!(all.contains(&code), "{code}: {all:#?}");
        }
        let nodes: Vec<_> = found.refusals().filter(|refusal| refusal.code == codes::node_missing).collect();
        let tiers: Vec<_> = nodes.iter().map(|refusal| refusal.text("tier")).collect();
        assert_eq!(tiers, [Some("node:7"), Some("demotion:7")]);
        assert!(found.refusals().all(|refusal| !refusal.cure.is_empty()), "{all:#?}");
        assert_eq!(found.tiers[0].1, Preflight::default(), "dram is memory");
    }
}
