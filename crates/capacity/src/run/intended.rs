//! The changes that a run would make to a machine.

use tiermark_model::Bytes;

use crate::scenario::{Backend as Kind, SERVER_OPTIONS, Scenario, Tier};

/// A setting of a server as a shell would have it.
fn setting(name: &str, value: &str) -> String {
    if value.is_empty() { format!("{name} ''") } else { format!("{name} {value}") }
}

/// The swap areas of a part of a tier.
fn swap_areas(paths: &[String], size: u64) -> String {
    match paths {
        [path] => format!("a swap area: {path} (the whole device, or a file of {})", Bytes(size)),
        _ => format!(
            "swap areas of the same priority, filled in turn: {} (whole devices, or files of {} together)",
            paths.join(", "),
            Bytes(size)
        ),
    }
}

/// All changes that the run would make, in sentences, for `--dry-run`; `zswap` is whether it is on now, if that is
/// known.
pub fn intended(scenario: &Scenario, zswap: Option<bool>) -> Vec<String> {
    let mut lines = Vec::new();
    let size = scenario.tier_bytes();
    if scenario.backend != Kind::External {
        lines.push(format!(
            "a control group with {} of memory, and a group inside of it for each tenant",
            Bytes(scenario.tenants_dram())
        ));
    }
    if scenario.backend == Kind::External {
        let (count, records) = (scenario.targets.len(), scenario.tenant.records);
        lines.push(format!(
            "{records} keys in each of up to {count} servers, where they stay: {}",
            scenario.targets.join(", ")
        ));
    }
    if scenario.backend != Kind::External {
        let mut settings: Vec<String> = SERVER_OPTIONS.iter().map(|[name, value]| setting(name, value)).collect();
        settings.extend(scenario.tenant.memory_limit().options());
        lines.push(format!(
            "for each tenant a server with its own password: {} {}",
            scenario.tenant.server,
            settings.join(" ")
        ));
    }
    if scenario.backend == Kind::Qemu {
        lines.push(format!(
            "a virtual machine of {} for each tenant, in its control group; no disk image",
            Bytes(scenario.vm_memory())
        ));
    }
    let parts = scenario.tiers.iter().flat_map(Tier::parts);
    for tier in parts {
        lines.extend(match tier {
            Tier::Dram | Tier::Node(_) | Tier::Mix(_) => None,
            Tier::Demotion(_) => Some("demotion to slower nodes turned on".to_owned()),
            Tier::Zram(_) => Some(format!(
                "a zram device of {} as a swap area; its memory counts against the tenants' memory",
                Bytes(size)
            )),
            Tier::Swap(paths) => Some(swap_areas(paths, size)),
            Tier::Zswap => Some("zswap turned on; its memory counts against the tenants' memory".to_owned()),
        });
    }
    let swaps = |tier: &Tier| matches!(tier, Tier::Zram(_) | Tier::Swap(_));
    let without = |tier: &Tier| tier.parts().iter().any(swaps) && !tier.parts().contains(&Tier::Zswap);
    let has_zswap_tier = scenario.tiers.iter().any(|tier| tier.parts().contains(&Tier::Zswap));
    if scenario.tiers.iter().any(without) && (zswap != Some(false) || has_zswap_tier) {
        lines.push("zswap turned off for the whole machine during tiers that swap without it".to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::built_in;

    #[test]
    fn what_is_off_is_not_turned_off() {
        let (_, mini) = built_in().iter().find(|(name, _)| *name == "mini").unwrap();
        let turns_off = |text: &str, zswap: Option<bool>| {
            let lines = intended(&Scenario::read(text).unwrap(), zswap);
            lines.iter().any(|line| line.starts_with("zswap turned off"))
        };
        assert_eq!([Some(true), None, Some(false)].map(|zswap| turns_off(mini, zswap)), [true, true, false]);
        // A tier of the run turns it on before others.
        let with_zswap = mini.replace("[\"dram\", \"zram\"]", "[\"zswap\", \"zram\"]");
        assert!(turns_off(&with_zswap, Some(false)));
    }
}
