//! Memory modules by slot, and the theoretical peak that follows.

use tiermark_model::{Bytes, Dimm, Machine, count_of, slot_name};
use tiermark_page::{Detail, Page, labelled, rate, space, text};

use crate::order::grouped;

/// Slots named in one line; more are counted.
const SLOTS_NAMED: usize = 8;

/// The modules section.
pub(super) fn modules(machine: &Machine, detail: Detail) -> Page {
    let mut out = Page::new();
    let dimms = &machine.dimms;
    if !dimms.is_empty() {
        let (filled, empty): (Vec<&Dimm>, Vec<&Dimm>) = dimms.iter().partition(|d| d.populated);
        let bytes: u64 = filled.iter().filter_map(|d| d.bytes).fold(0, u64::saturating_add);
        let invented = if machine.system.board_maker().is_some() { ", by the hypervisor's word" } else { "" };
        let sum = match filled.iter().filter(|d| d.bytes.is_none()).count() {
            0 => format!(", {}", Bytes(bytes)),
            unknown if unknown == filled.len() => ", sizes not reported".to_owned(),
            unknown => format!(", {} and {unknown} of unknown size", Bytes(bytes)),
        };
        let channels = machine.filled_channels();
        let channels = channels.map_or_else(String::new, |(filled, most)| format!(", {filled} of {most} channels"));
        let text = format!("{} of {} slots{channels} filled{sum}{invented}", filled.len(), machine.slots());
        out += labelled("modules", &text);
        for (kind, group) in &kinds_of_modules(dimms) {
            out += labelled("", format!("{} × {kind}", group.len()));
            out += slots("in", group, dimms, detail);
        }
        out += slots("empty:", &empty, dimms, detail);
    }
    let cards = &machine.cxl_modules;
    if !cards.is_empty() {
        let bytes = Bytes(tiermark_model::total(cards.iter().filter_map(|dimm| dimm.bytes)));
        out += labelled("CXL", format!("{} on CXL cards, {bytes}", count_of(cards.len() as u64, "module")));
        for (kind, group) in &kinds_of_modules(cards) {
            out += labelled("", format!("{} × {kind}", group.len()));
            out += slots("in", group, cards, detail);
        }
    }
    if let Some(peak) = machine.real_peak() {
        let text = text![rate(peak.bytes_per_second).with_unit(), format!(" in theory: {}", peak.how)];
        out += labelled("peak", text);
    }
    if let Some(link) = machine.real_link() {
        let how = format!(" in one direction in theory: {}", link.how);
        out += labelled("link", text![rate(link.bytes_per_second).with_unit(), how]);
    }
    if out.is_empty() { out } else { out + space() }
}

/// The modules in groups that are alike, in words.
pub fn kinds_of_modules(dimms: &[Dimm]) -> Vec<(String, Vec<&Dimm>)> {
    grouped(dimms.iter().filter(|dimm| dimm.populated).map(|dimm| (describe(dimm), dimm)))
}

/// `32 GiB DDR5-4800 (rated 5600) Samsung M321R4GA3BB6, 2 ranks`.
fn describe(dimm: &Dimm) -> String {
    let speed = |transfers: f64| format!("{:.0}", (transfers / 1e6).clamp(0.0, 1e6));
    let mut words = Vec::new();
    words.push(dimm.bytes.map_or_else(|| "size unknown".to_owned(), |b| Bytes(b).to_string()));
    let kind = dimm.kind.clone().unwrap_or_else(|| "memory".to_owned());
    match (dimm.configured_transfers, dimm.rated_transfers) {
        (Some(runs), Some(rated)) if (runs - rated).abs() > 1e6 => {
            words.push(format!("{kind}-{} (rated {})", speed(runs), speed(rated)));
        }
        (Some(runs), _) => words.push(format!("{kind}-{}", speed(runs))),
        (None, Some(rated)) => words.push(format!("{kind} (rated {}, speed in use unknown)", speed(rated))),
        (None, None) => words.push(kind),
    }
    if let Some(transfers) = dimm.configured_transfers.filter(|_| dimm.states_clock) {
        words.push(format!("(stated as {} MHz)", speed(transfers / 2.0)));
    }
    words.extend(dimm.manufacturer.iter().cloned());
    words.extend(dimm.part.iter().cloned());
    let ranks = dimm.ranks.map(|r| format!(", {r} rank{}", if r == 1 { "" } else { "s" }));
    words.join(" ") + &ranks.unwrap_or_default()
}

/// The slots of a group of modules, by the board's names.
fn slots(lead: &str, group: &[&Dimm], all: &[Dimm], detail: Detail) -> Page {
    let names: Vec<String> = group.iter().filter_map(|dimm| slot_name(dimm, all)).collect();
    if names.is_empty() {
        return Page::new();
    }
    let named = detail.listed(SLOTS_NAMED);
    let mut text = format!("{lead} {}", names.iter().take(named).cloned().collect::<Vec<_>>().join(", "));
    if names.len() > named {
        text.push_str(&format!(" and {} more", names.len() - named));
    }
    labelled("", &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_page::Style;

    #[test]
    fn sizes_that_nobody_states_are_no_0_bytes() {
        let said = |sizes: &[Option<u64>]| {
            let dimm = |bytes: &Option<u64>| Dimm { bytes: *bytes, populated: true, ..Dimm::default() };
            let machine = Machine { dimms: sizes.iter().map(dimm).collect(), ..Machine::default() };
            let style = Style::default();
            let shown = tiermark_page::terminal(&modules(&machine, Detail::Usual), &style);
            shown.lines().next().unwrap_or_default().to_owned()
        };
        assert!(said(&[None, None]).ends_with("2 of 2 slots filled, sizes not reported"));
        assert!(said(&[Some(1 << 30), None]).ends_with("2 of 2 slots filled, 1 GiB and 1 of unknown size"));
        assert!(said(&[Some(1 << 30)]).ends_with("1 of 1 slots filled, 1 GiB"));
    }

    #[test]
    fn modules_on_cxl_cards_have_a_line_of_their_own() {
        let card = Dimm { bytes: Some(128 << 30), populated: true, kind: Some("DDR5".into()), ..Dimm::default() };
        let machine = Machine { cxl_modules: vec![card; 2], ..Machine::default() };
        let shown = tiermark_page::terminal(&modules(&machine, Detail::Usual), &Style::default());
        assert!(shown.contains("2 modules on CXL cards, 256 GiB"), "{shown}");
    }
}
