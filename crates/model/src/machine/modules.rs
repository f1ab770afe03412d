//! Derived from the memory modules: which of them set the speed of the others.

use super::{Dimm, Machine};

/// Speeds this near are one: firmware rounds.
const SAME_SPEED: f64 = 0.99;

/// The modules with the lowest rated speed, where others are rated higher.
#[derive(Debug, Clone, PartialEq)]
pub struct SlowestModules {
    /// Their rated speed, transfers a second.
    pub rated_transfers: f64,
    /// The names of their slots, where the board has names.
    pub slots: Vec<String>,
}

impl SlowestModules {
    /// Whether a faster module runs at the rated speed of these.
    pub fn holds_back(&self, dimm: &Dimm) -> bool {
        let is_theirs = |runs: f64| is_same(runs, self.rated_transfers);
        let is_faster = dimm.rated_transfers.is_some_and(|rated| rated * SAME_SPEED > self.rated_transfers);
        is_faster && dimm.configured_transfers.is_some_and(is_theirs)
    }

    /// The slots in one text.
    pub fn named(&self) -> String {
        if self.slots.is_empty() { "the slowest modules".to_owned() } else { self.slots.join(", ") }
    }
}

/// The board's name of a slot among all of a board, with its bank where other slots have the same name: `DIMM 0 (P0
/// CHANNEL A)`; `None` where the board has no name for it.
pub fn slot_name(dimm: &Dimm, all: &[Dimm]) -> Option<String> {
    let Some(locator) = dimm.locator.as_deref() else {
        return dimm.edac_label.as_ref().or(dimm.bank.as_ref()).cloned();
    };
    let shared = all.iter().filter(|other| other.locator.as_deref() == Some(locator)).count() > 1;
    let bank = dimm.bank.as_deref().filter(|_| shared);
    Some(bank.map_or_else(|| locator.to_owned(), |bank| format!("{locator} ({bank})")))
}

impl Machine {
    /// The modules with the lowest rated speed; `None` where all state the same, or none states one.
    pub fn slowest_modules(&self) -> Option<SlowestModules> {
        let rated = || self.dimms.iter().filter(|dimm| dimm.populated).filter_map(|d| Some((d, d.rated_transfers?)));
        let least = rated().map(|(_, transfers)| transfers).filter(|transfers| *transfers > 0.0).reduce(f64::min)?;
        let (slowest, faster): (Vec<_>, Vec<_>) = rated().partition(|(_, transfers)| is_same(*transfers, least));
        let slots = slowest.iter().filter_map(|(dimm, _)| slot_name(dimm, &self.dimms)).collect();
        (!faster.is_empty()).then_some(SlowestModules { rated_transfers: least, slots })
    }
}

fn is_same(one: f64, other: f64) -> bool {
    one.min(other) >= one.max(other) * SAME_SPEED
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(modules: &[(f64, f64)]) -> Machine {
        let dimm = |(slot, (runs, rated)): (usize, &(f64, f64))| Dimm {
            locator: Some(format!("A{slot}")),
            populated: true,
            configured_transfers: Some(runs * 1e6),
            rated_transfers: Some(rated * 1e6),
            ..Dimm::default()
        };
        Machine { dimms: modules.iter().enumerate().map(dimm).collect(), ..Machine::default() }
    }

    #[test]
    fn a_bank_tells_slots_of_one_name_apart() {
        let dimm = |locator: &str, bank: &str| Dimm {
            locator: Some(locator.into()),
            bank: Some(bank.into()),
            populated: true,
            ..Dimm::default()
        };
        let all = [dimm("DIMM 0", "P0 CHANNEL A"), dimm("DIMM 0", "P0 CHANNEL B"), dimm("DIMM_C1", "NODE 0")];
        let named: Vec<Option<String>> = all.iter().map(|dimm| slot_name(dimm, &all)).collect();
        let expected = ["DIMM 0 (P0 CHANNEL A)", "DIMM 0 (P0 CHANNEL B)", "DIMM_C1"];
        assert_eq!(named, expected.map(|name| Some(name.to_owned())));
    }

    #[test]
    fn the_slowest_module_sets_the_speed_of_all() {
        let mixed = server(&[(2933.0, 3200.0), (2933.0, 2933.0), (2666.0, 3200.0)]);
        let slowest = mixed.slowest_modules().unwrap();
        assert_eq!((slowest.named().as_str(), slowest.rated_transfers), ("A1", 2933e6));
        // The last one is slower than the slowest module explains.
        let held: Vec<bool> = mixed.dimms.iter().map(|dimm| slowest.holds_back(dimm)).collect();
        assert_eq!(held, [true, false, false]);
        assert_eq!(server(&[(2933.0, 3200.0), (2933.0, 3199.0)]).slowest_modules(), None);
        assert_eq!(server(&[]).slowest_modules(), None);
    }
}
