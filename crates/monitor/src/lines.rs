//! The lines of the panes.

use crate::text::short;
use ratatui::text::{Line, Span};
use tiermark_model::{WatchNode, WatchPool, WatchPressure, WatchSample, WatchStall, WatchStalls, WatchSwap};

use crate::glyphs::{Ink, Look};
use crate::history::{History, Series};

/// Percent of the time from which stalls and steal are marked with `!`. A tenth of the time lost is what a user of the
/// system notices as slow; systemd-oomd acts at 60 %.
const NOTABLE: f64 = 10.0;
/// Rates below these have the lowest marks of a sparkline, so that noise looks flat: 1 % of the time, 1 MiB/s, 100 a
/// second.
const LEAST_PERCENT: f64 = 10.0;
const LEAST_BYTES: f64 = (1u64 << 20) as f64;
const LEAST_EVENTS: f64 = 100.0;
/// Columns of a node's bar.
const BAR: usize = 16;
/// Columns of the text before a sparkline of pressure.
const STALL_TEXT: usize = 45;
/// Columns of the text before a sparkline of a rate.
const RATE_TEXT: usize = 17;

fn bytes(value: Option<u64>, look: Look) -> String {
    value.map_or_else(|| look.absent(), |bytes| short(bytes as f64, 1024.0))
}

fn number(value: Option<f64>, look: Look) -> String {
    value.map_or_else(|| look.absent(), |value| short(value, 1000.0))
}

fn percent(value: Option<f64>, look: Look) -> String {
    value.map_or_else(|| look.absent(), |value| format!("{value:.1}"))
}

/// A node: bar, sizes and shares of its allocations.
pub(crate) fn node(node: &WatchNode, selected: bool, look: Look) -> Line<'static> {
    let used = node.total_bytes.zip(node.free_bytes).map(|(total, free)| total.saturating_sub(free));
    let share = used.zip(node.total_bytes).filter(|(_, total)| *total > 0).map(|(used, of)| used as f64 / of as f64);
    let local = node.local.zip(node.other).filter(|(local, other)| local + other > 0.0);
    let local = local.map(|(local, other)| 100.0 * local / (local + other));
    let ink = if selected { Ink::Selected } else { Ink::Plain };
    let mark = if selected { ">" } else { " " };
    Line::from(vec![
        Span::styled(format!("{mark}{:<4}", node.node), look.style(ink)),
        Span::styled(look.bar(share, BAR), look.style(Ink::Graph)),
        Span::raw(format!(
            " {:>5} {:>5} {:>5} {:>5} {:>7} {:>6} {:>7} {:>6}",
            bytes(used, look),
            bytes(node.free_bytes, look),
            bytes(node.anon_bytes, look),
            bytes(node.file_bytes, look),
            number(node.hits, look),
            number(node.misses, look),
            number(node.foreign, look),
            percent(local, look),
        )),
    ])
}

/// The heading of the nodes.
pub(crate) fn node_head(look: Look) -> Line<'static> {
    let text = format!(
        " node {:<width$}{:>5} {:>5} {:>5} {:>5} {:>7} {:>6} {:>7} {:>6}",
        "",
        "used",
        "free",
        "anon",
        "file",
        "hit/s",
        "miss/s",
        "away/s",
        "local%",
        width = BAR
    );
    Line::styled(text, look.style(Ink::Dim))
}

/// What the selected node has besides.
pub(crate) fn node_more(node: &WatchNode, look: Look) -> Line<'static> {
    let rate = |value| number(value, look);
    let text = format!(
        " node {}: promoted {}/s, demoted {}/s, refaults {}/s",
        node.node,
        rate(node.promoted),
        rate(node.demoted),
        rate(node.refaults)
    );
    Line::styled(text, look.style(Ink::Dim))
}

/// The lines of pressure.
pub(crate) fn pressure(sample: &WatchSample, history: &History, columns: usize, look: Look) -> Vec<Line<'static>> {
    let head = format!(" {:<8}{:>6}{:>7}{:>7}{:>7}{:>9} ", "waits %", "now", "10 s", "60 s", "300 s", "all, now");
    let mut lines = vec![Line::styled(head, look.style(Ink::Dim))];
    let psi = &sample.psi;
    for (name, stalls, series) in
        [("memory", psi.memory, Series::Memory), ("io", psi.io, Series::Io), ("cpu", psi.cpu, Series::Cpu)]
    {
        let values = history.of(series, columns);
        let spark = look.spark(&values, LEAST_PERCENT, columns.saturating_sub(STALL_TEXT + 1));
        lines.push(stall_line(name, stalls.as_ref(), spark, look));
    }
    lines.push(group(sample, look));
    lines
}

fn stall_line(name: &str, stalls: Option<&WatchStalls>, spark: String, look: Look) -> Line<'static> {
    let of = |value: fn(&WatchStall) -> Option<f64>| percent(stalls.and_then(|stalls| value(&stalls.some)), look);
    let full = percent(stalls.and_then(|stalls| stalls.full?.now), look);
    let notable = stalls.is_some_and(|stalls| stalls.some.now.unwrap_or(stalls.some.avg10) >= NOTABLE);
    let text = format!(
        "{}{name:<8}{:>6}{:>7}{:>7}{:>7}{full:>9} ",
        if notable { "!" } else { " " },
        of(|some| some.now),
        of(|some| Some(some.avg10)),
        of(|some| some.avg60),
        of(|some| some.avg300),
    );
    let ink = if notable { Ink::Alarm } else { Ink::Plain };
    Line::from(vec![Span::styled(text, look.style(ink)), Span::styled(spark, look.style(Ink::Graph))])
}

/// The control group of this program in one line.
fn group(sample: &WatchSample, look: Look) -> Line<'static> {
    let Some(group) = &sample.group else { return Line::default() };
    let of = |stalls: fn(&WatchPressure) -> Option<WatchStalls>| {
        percent(stalls(&group.psi).map(|stalls| stalls.some.now.unwrap_or(stalls.some.avg10)), look)
    };
    let (memory, io, cpu) = (of(|psi| psi.memory), of(|psi| psi.io), of(|psi| psi.cpu));
    let text = format!(" group {}: memory {memory}, io {io}, cpu {cpu}", group.path);
    Line::styled(text, look.style(Ink::Dim))
}

/// The lines of swap and migrations, with the history of each.
pub(crate) fn rates(sample: &WatchSample, history: &History, columns: usize, look: Look) -> Vec<Line<'static>> {
    let vm = &sample.vm;
    let size = |value: Option<f64>| value.map_or_else(|| look.absent(), |value| short(value, 1024.0));
    let rows = [
        ("swap in B", size(vm.swap_in_bytes), Series::SwapIn, LEAST_BYTES),
        ("swap out B", size(vm.swap_out_bytes), Series::SwapOut, LEAST_BYTES),
        ("major", number(vm.major_faults, look), Series::Faults, LEAST_EVENTS),
        ("migrated", number(vm.migrated, look), Series::Migrated, LEAST_EVENTS),
    ];
    let row = |(name, value, series, least): (&str, String, Series, f64)| {
        let room = columns.saturating_sub(RATE_TEXT + 1);
        let spark = look.spark(&history.of(series, room), least, room);
        Line::from(vec![Span::raw(format!(" {name:<10}{value:>5} ")), Span::styled(spark, look.style(Ink::Graph))])
    };
    let mut lines: Vec<Line<'static>> = rows.into_iter().map(row).collect();
    let of = |value| number(value, look);
    lines.push(Line::raw(format!(" promoted {}, demoted {}", of(vm.promoted), of(vm.demoted))));
    lines.push(Line::raw(format!(" stalls: alloc {}, compact {}", of(vm.alloc_stalls), of(vm.compact_stalls))));
    lines.push(Line::raw(format!(" huge: {}, fell back {}", of(vm.thp_faults), of(vm.thp_fallbacks))));
    lines
}

/// The lines of cpus, memory and what it swaps to.
pub(crate) fn machine(sample: &WatchSample, history: &History, columns: usize, look: Look) -> Vec<Line<'static>> {
    let share = |value: Option<f64>| percent(value.map(|share| share * 100.0), look);
    let cpu = sample.cpu;
    let notable = cpu.and_then(|cpu| cpu.steal).is_some_and(|steal| steal * 100.0 >= NOTABLE);
    let row = |name: &str, value: String, series, ink| {
        let room = columns.saturating_sub(RATE_TEXT + 1);
        let spark = look.spark(&history.of(series, room), 100.0, room);
        let mark = if ink == Ink::Alarm { "!" } else { " " };
        let text = Span::styled(format!("{mark}{name:<10}{value:>5} "), look.style(ink));
        Line::from(vec![text, Span::styled(spark, look.style(Ink::Graph))])
    };
    let steal = if notable { Ink::Alarm } else { Ink::Plain };
    let mut lines = vec![
        row("cpu busy %", share(cpu.and_then(|cpu| cpu.busy)), Series::Busy, Ink::Plain),
        row("steal %", share(cpu.and_then(|cpu| cpu.steal)), Series::Steal, steal),
    ];
    if let Some(memory) = sample.memory {
        let of = |value| bytes(value, look);
        lines.push(Line::raw(format!(
            " available {} of {}, dirty {}",
            of(memory.available_bytes),
            of(memory.total_bytes),
            of(memory.dirty_bytes)
        )));
    }
    let area = |area: &WatchSwap| {
        let text = format!(
            " {} {} of {}",
            area.path,
            short(area.used_bytes as f64, 1024.0),
            bytes(Some(area.total_bytes), look)
        );
        Line::raw(text)
    };
    let pool = |pool: &WatchPool| {
        let (stored, taken) = (short(pool.stored_bytes as f64, 1024.0), short(pool.pool_bytes as f64, 1024.0));
        Line::raw(format!(" {}: {stored} of pages in {taken}", pool.device))
    };
    lines.extend(sample.swaps.iter().map(area));
    lines.extend(sample.zram.iter().map(pool));
    lines.extend(sample.zswap.iter().filter(|zswap| zswap.stored_bytes > 0).map(pool));
    if sample.swaps.is_empty() {
        lines.push(Line::styled(" no swap area", look.style(Ink::Dim)));
    }
    lines
}
