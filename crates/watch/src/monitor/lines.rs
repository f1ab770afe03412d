//! The lines of the panes.

use ratatui::text::Line;
use tiermark_model::{WatchNode, WatchPool, WatchPressure, WatchSample, WatchStall, WatchStalls, WatchSwap};
use tiermark_page::{ABSENT, Ink, Style, Table};

use crate::monitor::backend::{alarm, bar, line, lines, spark};
use crate::monitor::history::{History, Series};
use crate::monitor::text::{brief, short};

/// Percent of the time from which stalls and steal are marked with `!`. A tenth of the time lost is what a user of the
/// system notices as slow; systemd-oomd acts at 60 %.
pub(crate) const NOTABLE: f64 = 10.0;
/// Rates below these have the lowest marks of a sparkline, so that noise looks flat: 1 % of the time, 1 MiB/s, 100 a
/// second.
const LEAST_PERCENT: f64 = 10.0;
const LEAST_BYTES: f64 = (1u64 << 20) as f64;
const LEAST_EVENTS: f64 = 100.0;
/// Columns of a node's bar.
const BAR: usize = 16;

/// A value in words, or the sign of a missing one.
pub(crate) fn known<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(|| ABSENT.to_owned(), text)
}

pub(crate) fn bytes(value: Option<u64>) -> String {
    known(value, brief)
}

pub(crate) fn number(value: Option<f64>) -> String {
    known(value, |value| short(value, 1000.0))
}

pub(crate) fn percent(value: Option<f64>) -> String {
    known(value, |value| format!("{value:.1}"))
}

/// The percentage of a part; `None` where the whole is nothing.
pub(crate) fn percent_of(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| 100.0 * part / whole)
}

/// Nodes, a row each: bar, sizes and shares of its allocations.
pub(crate) fn nodes(nodes: &[WatchNode], selected: u32, style: &Style) -> Vec<Line<'static>> {
    let used = |node: &WatchNode| Some(node.total_bytes?.saturating_sub(node.free_bytes?));
    let share = |node: &WatchNode| Some(used(node)? as f64 / node.total_bytes? as f64);
    let local = |node: &WatchNode| percent_of(node.local?, node.local? + node.other?);
    let table = Table::of(nodes).texts("node", |node| node.node.to_string());
    let table = table.texts("", |node| bar(share(node), BAR)).at_least(5);
    let table = table.numbers("used", |node| bytes(used(node))).numbers("free", |node| bytes(node.free_bytes));
    let table = table.numbers("anon", |node| bytes(node.anon_bytes)).numbers("file", |node| bytes(node.file_bytes));
    let table = table.at_least(7).numbers("hit/s", |node| number(node.hits));
    let table = table.at_least(6).numbers("miss/s", |node| number(node.misses));
    let table = table.at_least(7).numbers("away/s", |node| number(node.foreign));
    let table = table.at_least(6).numbers("local%", |node| percent(local(node)));
    lines(table.inked(|node| if node.node == selected { Ink::Head } else { Ink::Plain }), style)
}

/// What the selected node has besides.
pub(crate) fn node_more(node: &WatchNode) -> String {
    let [promoted, demoted, refaults] = [node.promoted, node.demoted, node.refaults].map(number);
    format!(" node {}: promoted {promoted}/s, demoted {demoted}/s, refaults {refaults}/s", node.node)
}

/// The lines of pressure.
pub(crate) fn pressure(sample: &WatchSample, history: &History, style: &Style) -> Vec<Line<'static>> {
    type Row = (&'static str, Option<WatchStalls>, Series);
    let psi = &sample.psi;
    let rows: [Row; 3] =
        [("memory", psi.memory, Series::Memory), ("io", psi.io, Series::Io), ("cpu", psi.cpu, Series::Cpu)];
    let some = |field: fn(&WatchStall) -> Option<f64>| {
        move |(_, stalls, _): &Row| percent(stalls.as_ref().and_then(|stalls| field(&stalls.some)))
    };
    let is_notable = |stalls: WatchStalls| stalls.some.now.unwrap_or(stalls.some.avg10) >= NOTABLE;
    let table = Table::of(&rows).at_least(8).texts("waits on", |row| row.0);
    let table = table.at_least(5).numbers("now", some(|some| some.now));
    let table = table.at_least(6).numbers("10 s", some(|some| Some(some.avg10)));
    let table = table.numbers("60 s", some(|some| some.avg60)).numbers("300 s", some(|some| some.avg300));
    let table = table.at_least(8).numbers("full now", |row| percent(row.1.and_then(|stalls| stalls.full?.now)));
    let table = table.rest(style.width, |row, room| spark(&history.of(row.2, room), LEAST_PERCENT));
    let mut shown = lines(table.inked(|row| alarm(row.1.is_some_and(is_notable))), style);
    shown.push(line(group(sample), Ink::Dim, style));
    shown
}

/// The control group of this program in one line; empty without one.
fn group(sample: &WatchSample) -> String {
    let Some(group) = &sample.group else { return String::new() };
    let stall_text = |stalls: fn(&WatchPressure) -> Option<WatchStalls>| {
        percent(stalls(&group.psi).map(|stalls| stalls.some.now.unwrap_or(stalls.some.avg10)))
    };
    let (memory, io, cpu) = (stall_text(|psi| psi.memory), stall_text(|psi| psi.io), stall_text(|psi| psi.cpu));
    format!(" group {}: memory {memory}, io {io}, cpu {cpu}", group.path)
}

/// A number with its history: name, value, series, the least top of its sparkline, and whether it is notable.
type Recorded = (&'static str, String, Series, f64, bool);

fn recorded(rows: &[Recorded], history: &History, style: &Style) -> Vec<Line<'static>> {
    let table = Table::of(rows).at_least(10).texts("", |row| row.0).at_least(5).numbers("", |row| &row.1);
    let table = table.rest(style.width, |row, room| spark(&history.of(row.2, room), row.3));
    lines(table.inked(|row| alarm(row.4)), style)
}

/// The lines of swap and migrations, with the history of each.
pub(crate) fn rates(sample: &WatchSample, history: &History, style: &Style) -> Vec<Line<'static>> {
    let vm = &sample.vm;
    let size = |value: Option<f64>| known(value, |value| short(value, 1024.0));
    let rows = [
        ("swap in B", size(vm.swap_in_bytes), Series::SwapIn, LEAST_BYTES, false),
        ("swap out B", size(vm.swap_out_bytes), Series::SwapOut, LEAST_BYTES, false),
        ("major", number(vm.major_faults), Series::Faults, LEAST_EVENTS, false),
        ("migrated", number(vm.migrated), Series::Migrated, LEAST_EVENTS, false),
    ];
    let more = [
        format!(" promoted {}, demoted {}", number(vm.promoted), number(vm.demoted)),
        format!(" stalls: alloc {}, compact {}", number(vm.alloc_stalls), number(vm.compact_stalls)),
        format!(" huge: {}, fell back {}", number(vm.thp_faults), number(vm.thp_fallbacks)),
    ];
    let mut shown = recorded(&rows, history, style);
    shown.extend(more.map(|text| line(text, Ink::Plain, style)));
    shown
}

/// The lines of cpus, memory and what it swaps to.
pub(crate) fn machine(sample: &WatchSample, history: &History, style: &Style) -> Vec<Line<'static>> {
    let of_100 = |value: Option<f64>| value.map(|share| share * 100.0);
    let (busy, steal) = sample.cpu.map_or((None, None), |cpu| (of_100(cpu.busy), of_100(cpu.steal)));
    let is_notable = steal.is_some_and(|steal| steal >= NOTABLE);
    let rows = [
        ("cpu busy %", percent(busy), Series::Busy, 100.0, false),
        ("steal %", percent(steal), Series::Steal, 100.0, is_notable),
    ];
    let mut shown = recorded(&rows, history, style);
    let memory = sample.memory.map(|memory| {
        let [available, total, dirty] = [memory.available_bytes, memory.total_bytes, memory.dirty_bytes].map(bytes);
        format!(" available {available} of {total}, dirty {dirty}")
    });
    let area = |area: &WatchSwap| format!(" {} {} of {}", area.path, brief(area.used_bytes), brief(area.total_bytes));
    let pool = |pool: &WatchPool| {
        format!(" {}: {} of pages in {}", pool.device, brief(pool.stored_bytes), brief(pool.pool_bytes))
    };
    let pools = sample.zram.iter().chain(sample.zswap.iter().filter(|zswap| zswap.stored_bytes > 0));
    let texts = memory.into_iter().chain(sample.swaps.iter().map(area)).chain(pools.map(pool));
    shown.extend(texts.map(|text| line(text, Ink::Plain, style)));
    if sample.swaps.is_empty() {
        shown.push(line(" no swap area", Ink::Dim, style));
    }
    shown
}
