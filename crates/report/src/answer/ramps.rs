//! Ramps of threads: the rate of whole lines by threads, its shares of channels and link, and what limits it.

use crate::order::distinct;
use tiermark_model::messages::memory::codes;
use tiermark_model::{Bytes, Distance, Grade, RampPoint, Run, ThreadRamp, Unit, count_of, thread_ramps};
use tiermark_page::{
    ABSENT, Cell, Detail, Ink, Page, Table, Text, graded, heading, number, paragraph, percent, rate, rate_unit, text,
};

/// More steps of a ramp than these are shown with details.
const STEPS: usize = 12;
/// The statistic of a ceiling that may be higher.
const AT_LEAST: &str = "at least";

/// The section; empty for a run without ramps.
pub(super) fn ramps(run: &Run, detail: Detail) -> Page {
    let all: Vec<ThreadRamp<'_>> = thread_ramps(run).into_iter().filter(|ramp| !ramp.points.is_empty()).collect();
    if all.is_empty() {
        return Page::new();
    }
    let ops = distinct(all.iter().map(|ramp| ramp.op));
    let rows: Vec<RampRow<'_>> = all.iter().flat_map(|ramp| rows(ramp, detail)).collect();
    let left_out = all.iter().map(|ramp| ramp.points.len()).sum::<usize>() - rows.len();
    let more = if left_out > 0 {
        paragraph("  ", format!("and {} more, with --verbose", count_of(left_out as u64, "step")), Ink::Dim)
    } else {
        Page::new()
    };
    let conclusions: Page = all.iter().map(|ramp| paragraph("", conclusion(ramp), Ink::Head)).collect();
    table(&ops, &rows) + more + buffers(&all) + conclusions + unknown_shares(&all)
}

/// How large the memory of each thread is: where all of them share what is needed, it shrinks with their number.
fn buffers(ramps: &[ThreadRamp<'_>]) -> Page {
    let sizes = ramps.iter().flat_map(|ramp| &ramp.points);
    let sizes = sizes.filter_map(|point| Some((point.threads, point.seen.labels.size()?)));
    let mut sizes = distinct(sizes);
    sizes.sort_unstable();
    let of = |(threads, size): &(u64, Bytes)| format!("{size} with {}", count_of(*threads, "thread"));
    let (Some(first), Some(last)) = (sizes.first(), sizes.last()) else { return Page::new() };
    let is_one = sizes.iter().all(|(_, size)| *size == first.1);
    let text = if is_one { first.1.to_string() } else { format!("{} to {}", of(first), of(last)) };
    paragraph("  ", format!("memory of each thread: {text}"), Ink::Dim)
}

/// That nothing is known of what channels and links carry, and how to state it.
fn unknown_shares(ramps: &[ThreadRamp<'_>]) -> Page {
    let is_known = |ramp: &ThreadRamp<'_>| {
        let of = |name: &str| ramp.share(name).is_some();
        of("of theoretical peak") || of("of link")
    };
    if ramps.iter().any(is_known) {
        return Page::new();
    }
    let text =
        "The theoretical rates of channels and links are unknown: give --peak and --link-rate to show shares of them.";
    paragraph("", text, Ink::Dim)
}

struct RampRow<'a> {
    op: &'a str,
    /// Empty but in the first row of a ramp.
    name: String,
    /// How much of one thread's rate each thread keeps.
    kept: Option<f64>,
    point: &'a RampPoint<'a>,
}

/// Where the memory of a ramp is.
fn place(ramp: &ThreadRamp<'_>) -> String {
    let node = ramp.node.map(|node| format!("node {node}"));
    let place = ramp.place.map(|place| place.to_string());
    [place, node].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The steps of a ramp: all in detail, else those until its level and its end.
fn rows<'a>(ramp: &'a ThreadRamp<'a>, detail: Detail) -> Vec<RampRow<'a>> {
    let most = detail.listed(STEPS);
    let left_out = ramp.points.len().saturating_sub(most);
    // The first steps show the bend; the last one shows the end.
    let is_shown = |at: usize| at + 1 + left_out < ramp.points.len() || at + 1 == ramp.points.len();
    let shown = ramp.points.iter().enumerate().filter(|(at, _)| is_shown(*at));
    let name = |at: usize| if at == 0 { place(ramp) } else { String::new() };
    let single = ramp.points.first().filter(|point| point.threads == 1).and_then(|point| point.lines);
    let kept =
        |point: &RampPoint<'_>| Some(point.lines? / single? / point.threads as f64).filter(|kept| kept.is_finite());
    shown.map(|(at, point)| RampRow { op: ramp.op, name: name(at), kept: kept(point), point }).collect()
}

fn table(ops: &[&str], rows: &[RampRow<'_>]) -> Page {
    let has = |is_there: fn(&RampPoint<'_>) -> bool| rows.iter().any(|row| is_there(row.point));
    let of =
        |seen: &RampPoint<'_>, value: Option<f64>| graded(value.map(rate), &seen.seen.verdict, Unit::BytesPerSecond);
    let share = |share: Option<f64>| Cell::new(share.map_or_else(|| ABSENT.to_owned(), percent));
    let digits = |value: Option<f64>, digits: usize| value.map_or_else(String::new, |v| format!("{v:.digits$}"));
    let table = Table::of(rows).texts("memory", |row| Cell::new(row.name.clone()));
    let op = |row: &RampRow<'_>| Cell::new(if row.name.is_empty() { "" } else { row.op });
    let table = table.when(ops.len() > 1, |table| table.texts("operation", op));
    let table = table.numbers("threads", |row| row.point.threads.to_string());
    let counts_lines = has(|point| point.lines != point.seen.value);
    let table = match counts_lines {
        true => table
            .figures(text!["lines, ", rate_unit()], |row| of(row.point, row.point.lines))
            .figures("used", |row| of(row.point, row.point.seen.value)),
        false => table
            .figures(rate_unit(), |row| {
                let seen = row.point.seen;
                graded(seen.value.map(|v| number(v, seen.unit).within(seen.interval)), &seen.verdict, seen.unit)
            })
            .numbers("of one|thread", |row| row.kept.map(percent).unwrap_or_default()),
    };
    let table = table.when(has(|point| point.of_channels.is_some()), |table| {
        table.numbers("of|channels", |row| share(row.point.of_channels))
    });
    let table = table
        .when(has(|point| point.of_link.is_some()), |table| table.numbers("of|link", |row| share(row.point.of_link)));
    let table = table.numbers("passes", |row| digits(row.point.passes(), 0));
    let table = table.numbers("in s", |row| digits(row.point.seconds(), 2));
    let what = if counts_lines { "Rate of whole lines by threads" } else { "Bandwidth by threads" };
    let only = if let [only] = ops { format!(": {only}") } else { String::new() };
    heading(format!("{what}{only}")) + table.table().gap(2)
}

/// What a ramp came to: its rate, with how many threads, its shares, and what limits it.
fn conclusion(ramp: &ThreadRamp<'_>) -> Text {
    let name = format!("{}, {}: ", ramp.op, place(ramp));
    let Some((level, first)) = reached(ramp) else { return text![name, "no rate."] };
    let shares = ramp.shares.iter().filter_map(|share| {
        let of = match share.labels.statistic()? {
            "of theoretical peak" => "of what the channels carry",
            "of link" => "of what the link carries",
            other => other,
        };
        Some(format!("{} {of}", percent(share.value?)))
    });
    let shares: Vec<String> = shares.collect();
    let shares = if shares.is_empty() { String::new() } else { format!(" ({})", shares.join(", ")) };
    let threads = count_of(first.threads, "thread");
    let is_last = is_of_cores(ramp) || ramp.points.last().is_some_and(|last| last.threads == first.threads);
    let with = if is_last { format!("with {threads}") } else { format!("from {threads} on") };
    let at_least = ramp.ceiling.is_some_and(|f| f.labels.statistic() == Some(AT_LEAST));
    let at_least = if at_least { "at least " } else { "" };
    let lines = if first.lines == first.seen.value { "" } else { " of lines" };
    let alarm = if ramp.exceeds_local() {
        " That is more than the node's own cores get: look for what slows them (`tiermark doctor`)."
    } else {
        ""
    };
    text![name, at_least, rate(level), " ", rate_unit(), format!("{lines} {with}{shares}; {}.{alarm}", limit(ramp))]
}

/// Whether the cores limit its rate: then more of them would give more.
fn is_of_cores(ramp: &ThreadRamp<'_>) -> bool {
    ramp.ceiling.and_then(|f| f.labels.limit()) == Some("core")
}

/// What a ramp came to, and the first step that has it: its level; where the cores are the limit, the most that was
/// seen.
fn reached<'a>(ramp: &'a ThreadRamp<'a>) -> Option<(f64, &'a RampPoint<'a>)> {
    if is_of_cores(ramp) {
        let lines = |point: &RampPoint<'_>| point.lines.unwrap_or(f64::NEG_INFINITY);
        let most = ramp.points.iter().max_by(|a, b| lines(a).total_cmp(&lines(b)))?;
        return Some((most.lines?, most));
    }
    ramp.level().zip(ramp.first_on_level())
}

/// The limit in words; `perhaps` where the numbers that it rests on are not trusted.
fn limit(ramp: &ThreadRamp<'_>) -> String {
    // Where others took part, what they did may have ended the ramp.
    if let Some(note) = ramp.ceiling.and_then(|found| found.noted(&codes::saturates_far_below)) {
        return note.text.clone();
    }
    let perhaps = if ramp.ceiling.is_some_and(|f| f.verdict.grade == Grade::Trusted) { "" } else { "perhaps " };
    match ramp.ceiling.and_then(|f| f.labels.limit()) {
        Some("memory") if ramp.place == Some(Distance::Local) => format!("{perhaps}its memory is the limit"),
        Some("memory") => format!("{perhaps}that memory is the limit"),
        Some("link") => format!("{perhaps}the link is the limit"),
        Some("core") => format!("{perhaps}the cores are the limit"),
        _ => "too little was measured to tell what limits it".to_owned(),
    }
}
