//! The hierarchy in tables by footprint: what each level does, what the caches are, and what the system adds.

use tiermark_model::{
    Bytes, Finding, Grade, LADDER_OPS, LevelPoint, ON_LEVEL, Observation, Quantity, Run, Tier, Unit, levels,
};
use tiermark_page::{
    Cell, Ink, Number, Page, Table, Text, graded, heading, number, paragraph, percent, rate, rate_unit, text, time_unit,
};

use crate::order::distinct;
use crate::shapes::resolved;

/// Primitives of the system that stand in its line, in their order.
const PRIMITIVES: [&str; 5] = ["getppid", "swapcontext pair", "fork+exit", "fork+exec", "pipe"];

/// The section; empty for a run without latency and rates over many footprints.
pub(super) fn hierarchy(run: &Run) -> Page {
    let levels = levels(run);
    if levels.is_empty() {
        return Page::new();
    }
    let shown: Vec<Text> = levels.iter().filter_map(|level| cache(level.tier, run)).collect();
    // Where no cache shows, the table has no strides.
    let caches: Vec<Text> = if shown.is_empty() { shown } else { shown.into_iter().chain(not_resolved(run)).collect() };
    let line = run.findings().find(|f| f.quantity == Quantity::GeometryLine).and_then(|f| f.value);
    let measured = line.map(|bytes| format!("lines of {bytes:.0} bytes"));
    // Where prefetchers help small strides, they do not show a line.
    let declared = run.machine.data_caches().find(|cache| cache.level == 1).and_then(|cache| cache.line_bytes);
    let declared = || Some(format!("lines of {} bytes as declared (`tiermark geometry` measures them)", declared?));
    let line = measured.or_else(declared).map(Text::from);
    let caches = Text::joined(caches.into_iter().chain(line), "; ");
    let system = Text::joined(PRIMITIVES.iter().filter_map(|op| primitive(op, run)), ", ");
    let sentence = |what: &str, text: Text| match text.is_empty() {
        true => Page::new(),
        false => paragraph("", text![what, text, "."], Ink::Head),
    };
    let near = near_memory(&levels, run);
    table(&levels, &near)
        + hidden(&near)
        + kept(&levels, run)
        + sentence("Caches: ", caches)
        + sentence("The system: ", system)
}

/// Times of memory by which the last cache is too large for its latency: of less, it may keep a tenth and more.
const TIMES: u64 = 8;

/// That a cache may have kept a part of what stands for memory.
fn kept(levels: &[LevelPoint<'_>], run: &Run) -> Page {
    let memory = levels.iter().find(|level| level.tier.is_memory()).and_then(|level| level.latency?.labels.size());
    let cache = run.machine.data_caches().filter_map(|cache| cache.bytes).max();
    let Some((memory, cache)) = memory.zip(cache).filter(|(memory, cache)| memory.0 < TIMES * cache) else {
        return Page::new();
    };
    let kept = match cache as f64 / memory.0 as f64 {
        share if share < 1.0 => format!("up to {} of", percent(share)),
        _ => "all of".to_owned(),
    };
    let text = format!(
        "A cache of {} may hold {kept} these {memory}: DRAM then looks faster than it is. `tiermark latency` measures with \
         more memory.",
        Bytes(cache)
    );
    paragraph("", text, Ink::Dim)
}

/// A cache whose end does not show may still have a plateau: there it takes less than this share of the time of memory.
const OWN_PLATEAU: f64 = 0.5;

/// The caches whose end does not show and whose latency is near that of memory: their rows may be memory's.
fn near_memory(levels: &[LevelPoint<'_>], run: &Run) -> Vec<Tier> {
    let ns = |level: &LevelPoint<'_>| level.latency.and_then(|seen| seen.value);
    let Some(memory) = levels.iter().find(|level| level.tier.is_memory()).and_then(ns) else { return Vec::new() };
    let is_near = |level: &&LevelPoint<'_>| ns(level).is_some_and(|ns| ns > OWN_PLATEAU * memory);
    let caches = levels.iter().filter(|level| !level.tier.is_memory() && cache(level.tier, run).is_none());
    caches.filter(is_near).map(|level| level.tier).collect()
}

/// Why their numbers are marked.
fn hidden(tiers: &[Tier]) -> Page {
    let text = |tier: &Tier| format!("{tier} has no plateau of its own here: its numbers may be those of memory.");
    tiers.iter().map(|tier| paragraph("", text(tier), Ink::Dim)).collect()
}

/// The levels; numbers of doubtful ones are marked.
fn table(levels: &[LevelPoint<'_>], doubtful: &[Tier]) -> Page {
    let value = |level: &LevelPoint<'_>, seen: Option<&Observation>| match seen.map(figure) {
        Some(cell) if doubtful.contains(&level.tier) => cell.marked(Grade::Suspect),
        cell => cell.unwrap_or_default(),
    };
    let footprints = |level: &LevelPoint<'_>| {
        let both = distinct(level.footprints().into_iter().flatten());
        let both: Vec<String> = both.into_iter().map(|bytes| Bytes(bytes).to_string()).collect();
        Cell::inked(both.join(", "), Ink::Dim)
    };
    let cycles = |level: &LevelPoint<'_>| {
        let cycles = level.latency.and_then(|seen| seen.per_cycle);
        cycles.map_or_else(Cell::default, |of| Cell::new(number(of.value, of.unit)))
    };
    let table = Table::of(levels).texts("", |level| level.tier.to_string()).numbers("over", footprints);
    let table = table.figures("random|ns", |level| value(level, level.latency)).numbers("cycles", cycles);
    let table = table.under(text!["one thread, ", rate_unit()], |table| {
        table.each(LADDER_OPS.into_iter().enumerate(), |table, (at, op)| {
            table.figures(op, |level| value(level, level.rates[at]))
        })
    });
    heading("Each level of the hierarchy, over the largest footprint of at most 75 % of it") + table.table()
}

fn figure(seen: &Observation) -> Cell {
    let shown = seen.value.map(|value| match seen.unit {
        Unit::BytesPerSecond => rate(value),
        unit => number(value, unit),
    });
    graded(shown, &seen.verdict, seen.unit)
}

/// The declared caches whose end lies between footprints that are too far apart.
fn not_resolved(run: &Run) -> Vec<Text> {
    let declared = distinct(run.machine.data_caches().map(|cache| Tier::Cache(cache.level)));
    let is_shown = |tier: &Tier| cache(*tier, run).is_some();
    let missing = declared.into_iter().filter(|tier| !is_shown(tier));
    missing.map(|tier| format!("{tier} not resolved by these footprints").into()).collect()
}

/// What the tables show of a cache: size and ways; `None` where neither has a number.
fn cache(tier: Tier, run: &Run) -> Option<Text> {
    let find = |quantity: Quantity| -> Option<&Finding> {
        run.findings().find(|f| f.quantity == quantity && f.labels.tier() == Some(tier) && f.value.is_some())
    };
    let about = |f: &Finding| if f.verdict.grade == Grade::Trusted { "" } else { "perhaps " };
    let size = find(Quantity::GeometrySize).and_then(|f| Some(text![about(f), resolved(f, f.value?)]));
    let ways = find(Quantity::GeometryWays).and_then(|f| Some(format!("{}{:.0} ways", about(f), f.value?).into()));
    let parts: Vec<Text> = [size, ways].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| text![tier.to_string(), " ", Text::joined(parts, ", ")])
}

/// The first number of a primitive; of a pipe the rate at the knee of its curve, as the table of knees has it, else the
/// highest, with the smallest blocks that reach it.
fn primitive(op: &str, run: &Run) -> Option<Text> {
    let found = run.findings().filter(|f| f.labels.op() == Some(op) && f.labels.group().is_some());
    let found: Vec<&Finding> = found.filter(|f| f.value.is_some()).collect();
    let marked = |f: &Finding, value: Number| graded(Some(value), &f.verdict, f.unit).words();
    if let Some((first, ns)) =
        found.iter().find_map(|f| Some((f, f.value.filter(|_| f.quantity == Quantity::OsLatency)?)))
    {
        let (over, unit) = time_unit(ns);
        return Some(text![format!("{op} "), marked(first, number(ns, Unit::Ns).in_time_of(ns)), format!(" {unit}")])
            .filter(|_| over > 0.0);
    }
    let rates = || found.iter().filter(|f| f.quantity == Quantity::OsBandwidth);
    let most = rates().filter_map(|f| f.value).reduce(f64::max)?;
    let near = rates().filter(|f| f.value.is_some_and(|rate| rate >= ON_LEVEL * most));
    let knee = found.iter().find(|f| f.quantity == Quantity::OsKnee);
    let at_knee = |knee: &&&Finding| {
        let is_of_curve = |f: &Finding| {
            f.labels.relation() == knee.labels.relation() && f.labels.capacity() == knee.labels.capacity()
        };
        let size = knee.value.map(|bytes| bytes as u64);
        rates().find(|f| is_of_curve(f) && f.labels.bytes() == size)
    };
    let best = knee.as_ref().and_then(at_knee).or_else(|| near.min_by_key(|f| f.labels.bytes()))?;
    let by = best.labels.size().map(|size| format!(" with blocks of {size}")).unwrap_or_default();
    let place = best.labels.relation().map(|relation| format!(", other side {relation}")).unwrap_or_default();
    Some(text![format!("{op} "), marked(best, rate(best.value?)), " ", rate_unit(), by, place])
}
