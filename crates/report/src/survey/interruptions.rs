//! The line on how often, and for what share of the time, cpus were taken away from the threads that measured.

use std::collections::BTreeMap;

use tiermark_model::{CpuId, Experiment, Interrupted, Run};
use tiermark_page::{Detail, Ink, Page, paragraph};

/// Cpus whose shares of the time differ by this factor are shown one by one.
const DIFFER: f64 = 2.0;
/// Cpus that are listed.
const LISTED: usize = 8;

/// `Interrupted 8,600 times a second, 2.3 % of the time, half under 2 µs, longest 0.2 ms`; empty where no cpu was
/// watched.
pub(super) fn interruptions(experiments: &[&Experiment], run: &Run, detail: Detail) -> Page {
    let cpus: Vec<&Interrupted> = experiments.iter().flat_map(|e| &e.interruptions).collect();
    let Some(all) = Interrupted::of(cpus.iter().copied()) else { return Page::new() };
    let line = paragraph("", format!("Interrupted {all}"), Ink::Plain);
    if !detail.is_all() || all.count == 0 {
        return line;
    }
    let by = match &run.machine.system.hypervisor {
        Some(_) => "Most are exits of the virtual cpus, which stolen time does not count.",
        None => "They are ticks of the kernel, other interrupts, and those of the firmware.",
    };
    let long = Interrupted { count: all.long, share: all.long_share, median_ns: None, longest_ns: None, ..all };
    line + paragraph("  ", format!("Longer than 20\u{a0}µs: {long}. {by}"), Ink::Dim)
        + each(&cpus).map(|text| paragraph("  ", &text, Ink::Dim)).unwrap_or_default()
}

/// The cpus one by one, those that were interrupted most first; `None` where they hardly differ.
fn each(all: &[&Interrupted]) -> Option<String> {
    let mut by_cpu: BTreeMap<CpuId, Vec<&Interrupted>> = BTreeMap::new();
    all.iter().filter_map(|of| Some((of.cpu?, of))).for_each(|(cpu, of)| by_cpu.entry(cpu).or_default().push(of));
    let cpus = by_cpu.into_iter().filter_map(|(cpu, of)| Some((cpu, Interrupted::of(of)?)));
    let mut cpus: Vec<(CpuId, Interrupted)> = cpus.collect();
    cpus.sort_by(|(_, a), (_, b)| b.share.total_cmp(&a.share));
    let (most, least) = (cpus.first()?.1.share, cpus.last()?.1.share);
    if !(most >= DIFFER * least && most > least) {
        return None;
    }
    let named = cpus.iter().take(LISTED).map(|(cpu, of)| format!("cpu {cpu}: {of}")).collect::<Vec<_>>().join("; ");
    let more = cpus.len().saturating_sub(LISTED);
    Some(if more > 0 { format!("{named}; and {more} more, interrupted less") } else { named })
}
