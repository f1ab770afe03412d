//! Compressed memory in front of swap.

use tiermark_machine::Root;
use tiermark_model::Refusal;
use tiermark_tune::{KnobChange, Syntax, apply};

use super::Raised;
use crate::evidence::Host;
use crate::system::System;

const ENABLED: &str = "sys/module/zswap/parameters/enabled";

/// Turns it on, where it is not.
pub(super) fn raise(system: &mut System) -> Result<Raised, Refusal> {
    let text = system.root().read(ENABLED).ok().flatten();
    let old = text.as_deref().and_then(|text| Syntax::Switch.parse(text)).map(|reading| reading.value);
    let Some(old) = old else {
        return Err(refused("the kernel has no zswap", "boot one with CONFIG_ZSWAP, or choose zram"));
    };
    if !Syntax::Switch.same(&old, "Y") {
        let (name, path) = ("zswap/enabled".to_owned(), ENABLED.to_owned());
        let change = KnobChange { name, path, syntax: Syntax::Switch, old, new: "Y".to_owned() };
        let (hands, journal) = system.hands()?;
        if let Some(refusal) = apply(&[change], hands, journal)?.refused {
            return Err(refusal);
        }
    }
    Ok(Raised::default())
}

/// The swap of the system, where a tier has none of its own.
pub(super) fn behind(root: &Root) -> Result<Raised, Refusal> {
    let host = Host::read(root, None).map_err(|why| refused(&why.to_string(), ""))?;
    let areas = host.swaps.unwrap_or_default();
    if areas.is_empty() {
        return Err(refused("there is no swap that it could stand before", "name one too: zswap+swap:/var/tmp"));
    }
    let room = areas.iter().map(|area| area.size.saturating_sub(area.used)).sum();
    let names = areas.into_iter().map(|area| area.path).collect();
    Ok(Raised { areas: names, room, ..Raised::default() })
}

fn refused(why: &str, cure: &str) -> Refusal {
    Refusal::new("the tier zswap", why, cure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stands_before_the_system_s_swap() {
        let swaps = "Filename Type Size Used Priority\n/dev/vdb partition 1000 200 -2\n";
        let found = behind(&Root::from_files("test", [("proc/swaps", swaps)])).unwrap();
        assert_eq!((found.room, found.swaps()), (800 << 10, true));
        let none = behind(&Root::from_files("test", [("proc/swaps", "Filename Type\n")])).unwrap_err();
        assert!(none.cure.contains("zswap+swap:"), "{none}");
    }
}
