//! A soak of memory: whether it is right, each wrong word, what was compared, and how fast over time.

use std::collections::{BTreeMap, BTreeSet};

use tiermark_model::{
    Bytes, Hex, LostPage, NodeId, Observation, Run, Slowdown, Soak, SoakBetween, SoakPattern, SoakPhase, SoakSample,
    SoakWork, SoakedNode, WrongKind, WrongWord, count_of,
};
use tiermark_page::{
    Cell, Detail, Ink, Page, Plot, ROWS, Rates, Series, Table, Text, heading, paragraph, percent, plot_over, rate,
    rate_unit, seconds, text,
};

/// Wrong words that are listed.
const LISTED: usize = 16;
/// Seconds from which the axis of time is in minutes.
const MINUTES: f64 = 120.0;

/// The soaks of some observations.
fn soaks<'a>(observations: &[&'a Observation]) -> Vec<(&'a Observation, &'a Soak)> {
    observations.iter().filter_map(|seen| Some((*seen, seen.soak.as_deref()?))).collect()
}

/// The view; empty where nothing was soaked.
pub(crate) fn soak(run: &Run, observations: &[&Observation], detail: Detail) -> Page {
    soaks(observations).into_iter().map(|(seen, soak)| one(run, seen, soak, detail)).collect()
}

fn one(run: &Run, seen: &Observation, soak: &Soak, detail: Detail) -> Page {
    let (result, ink) = result(run, seen, soak);
    let mut out = paragraph("RESULT  ", result, ink);
    out.extend(soak.slowdown.map(|slow| paragraph("  ", slower(&slow), Ink::Warn)));
    out.extend(soak.ended.as_ref().map(|why| paragraph("  ", format!("Incomplete: {}.", why.text), Ink::Warn)));
    out += wrong(soak, detail) + lost(soak);
    out += heading("Memory that was compared") + memory(soak);
    out += heading("Phases") + phases(soak);
    out + over_time(soak) + state(run, soak)
}

/// The sentence that one may quote.
fn result(run: &Run, seen: &Observation, soak: &Soak) -> (Text, Ink) {
    let planned: u64 = soak.memory.iter().map(|node| node.planned.0).sum();
    let covered: u64 = soak.memory.iter().map(|node| node.covered.0).sum();
    let of_all = soak
        .share_covered(&run.machine)
        .map_or_else(String::new, |share| format!(" ({} of all memory)", percent(share)));
    let times = soak.checked() as f64 / (covered as f64).max(1.0);
    let left = planned.saturating_sub(covered);
    let part = if left > 0 { format!("; {} planned but not compared", Bytes(left)) } else { String::new() };
    let compared = format!(
        "{} written {} and compared {times:.1} times each in {}{of_all}; {} of {} kinds of phase on all of it{part}",
        Bytes(covered),
        count_of(soak.written(), "time"),
        seconds(seen.seconds),
        soak.whole_kinds(),
        Soak::KINDS
    );
    match soak {
        _ if soak.has_errors() => (text![errors(soak), ": ", compared, "."], Ink::Bad),
        _ if soak.proven == Some(false) => {
            ("Invalid: the comparison missed a bit that tiermark flipped on purpose.".into(), Ink::Bad)
        }
        _ if soak.checked() == 0 => ("No memory was compared.".into(), Ink::Warn),
        _ => (text!["No wrong word: ", compared, "."], Ink::Plain),
    }
}

/// `3 words wrong on node 1, read 12 times; 1 page lost on node 0`.
fn errors(soak: &Soak) -> String {
    let listed = |nodes: BTreeSet<NodeId>| nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let words = (soak.wrong_words > 0).then(|| {
        let least = if soak.has_all_words() { "" } else { "at least " };
        let nodes = listed(soak.wrong.iter().map(|word| word.node).collect());
        let (words, times) = (count_of(soak.places(), "word"), count_of(soak.wrong_words, "time"));
        format!("{least}{words} wrong on node {nodes}, read {times}")
    });
    let lost = (!soak.lost.is_empty()).then(|| {
        let nodes = listed(soak.lost.iter().map(|page| page.node).collect());
        format!("{} lost on node {nodes}", count_of(soak.lost.len() as u64, "page"))
    });
    words.into_iter().chain(lost).collect::<Vec<_>>().join("; ")
}

fn slower(slow: &Slowdown) -> Text {
    let share = percent(slow.share());
    let throttled = match slow.throttled {
        Some(0) => "; no throttling was counted".to_owned(),
        Some(times) => format!("; throttled {}", count_of(times, "time")),
        None => "; throttling is not reported".to_owned(),
    };
    text![
        format!("From {} on {share} slower: ", slow.since()),
        rate(slow.before).with_unit(),
        " before, ",
        rate(slow.after).with_unit(),
        " from then on",
        throttled,
        "."
    ]
}

/// The bits of a word that were wrong, by number.
fn bits(word: &WrongWord) -> String {
    let wrong: Vec<String> = (0..64).filter(|bit| word.bits() >> bit & 1 == 1).map(|bit| bit.to_string()).collect();
    if wrong.len() > 4 { format!("{} bits", wrong.len()) } else { wrong.join(", ") }
}

fn wrong(soak: &Soak, detail: Detail) -> Page {
    if soak.wrong.is_empty() {
        return Page::new();
    }
    let listed = if detail.is_all() { soak.wrong.len() } else { LISTED.min(soak.wrong.len()) };
    let shown = &soak.wrong[..listed];
    let has_physical = shown.iter().any(|word| word.physical.is_some());
    let table = Table::of(shown).numbers("node", |word: &WrongWord| word.node.to_string());
    let address = |address: Option<Hex>| address.map_or_else(String::new, |address| address.to_string());
    let table = table.when(has_physical, |table| table.numbers("physical", |word| address(word.physical)));
    let pattern = |word: &WrongWord| match word.between {
        SoakBetween::Nothing => word.pattern.to_string(),
        between => format!("{}, {between}", word.pattern),
    };
    let table = table
        .numbers("address", |word| word.address.to_string())
        .texts("bits", bits)
        .numbers("times", |word| word.times.to_string())
        .texts("retry", |word| word.kind().to_string())
        .texts("pattern", pattern);
    // 64-bit words would break the addresses of an 80-column terminal.
    let table = table.when(detail.is_all(), |table| {
        table
            .numbers("written", |word| word.expected.to_string())
            .numbers("read", |word| word.found.to_string())
            .numbers("cpu", |word| word.cpu.to_string())
            .numbers("after", |word| seconds(word.at))
    });
    let mut out = heading("Wrong words") + table.inked(|_| Ink::Bad).table();
    if listed < soak.wrong.len() {
        let more = format!("and {} more rows (-v)", soak.wrong.len() - listed);
        out += paragraph("  ", &more, Ink::Dim);
    }
    if !soak.has_all_words() {
        out += paragraph("  ", "Only the first 1,000 wrong words are kept; the others are counted.", Ink::Dim);
    }
    out.extend(shorted(soak).map(|line| {
        let text = format!(
            "The words read are those of addresses that differ in bit {line}: two addresses lead to one place of memory."
        );
        paragraph("  ", &text, Ink::Bad)
    }));
    if !has_physical {
        out += paragraph("  ", "For physical addresses, run as root outside of containers and sandboxes.", Ink::Dim);
    }
    out
}

/// The bit in which the address that was read differs from the one that was meant, where all wrong words of addresses
/// say the same one. The words of several places do: one bit of one word that is stuck is no line of addresses.
fn shorted(soak: &Soak) -> Option<u32> {
    const FEWEST: usize = 4;
    let of_addresses = soak.wrong.iter().filter(|word| word.pattern == SoakPattern::Addresses);
    let words: BTreeMap<(NodeId, u64), &WrongWord> =
        of_addresses.map(|word| ((word.node, word.offset), word)).collect();
    let first = words.values().next()?.bits();
    let is_of_line = |word: &&WrongWord| word.bits() == first && word.kind() != WrongKind::Stuck;
    let is_line = words.len() >= FEWEST && first.is_power_of_two() && first > 4 && words.values().all(is_of_line);
    is_line.then(|| first.trailing_zeros())
}

fn lost(soak: &Soak) -> Page {
    if soak.lost.is_empty() {
        return Page::new();
    }
    let table = Table::of(&soak.lost)
        .numbers("node", |page: &LostPage| page.node.to_string())
        .numbers("address", |page| page.address.to_string())
        .numbers("bytes", |page| page.bytes.to_string())
        .numbers("after", |page| seconds(page.at));
    heading("Lost pages") + table.inked(|_| Ink::Bad).table()
}

fn memory(soak: &Soak) -> Page {
    let some = |rate_of: Option<f64>| rate_of.map(|bytes| Cell::new(rate(bytes)));
    let table = Table::of(&soak.memory)
        .numbers("node", |node: &SoakedNode| node.node.to_string())
        .numbers("has", |node| node.of.map_or_else(String::new, |of| of.to_string()))
        .numbers("held", |node| node.held.to_string())
        .numbers("compared", |node| node.covered.to_string())
        .numbers("times", |node| format!("{:.1}", node.times()))
        .figures(text!["read|", rate_unit()], move |node| some(node.read))
        .figures(text!["written|", rate_unit()], move |node| some(node.written));
    table.table().into()
}

fn phases(soak: &Soak) -> Page {
    let ink = |phase: &SoakPhase| if phase.wrong_words > 0 { Ink::Bad } else { Ink::Plain };
    let table = Table::of(&soak.phases)
        .texts("pattern", |phase: &SoakPhase| phase.pattern.to_string())
        .texts("between writing and reading", |phase| phase.between.to_string())
        .numbers("times", |phase| phase.times.to_string())
        .numbers("on all", |phase| phase.whole.to_string())
        .numbers("compared", |phase| Bytes(phase.checked).to_string())
        .numbers("wrong", |phase| phase.wrong_words.to_string());
    table.inked(ink).table().into()
}

/// Rates over time: of reading, of each node where there are a few, and of writing.
fn over_time(soak: &Soak) -> Page {
    /// Points below which a curve says no more than its table.
    const FEWEST: usize = 4;
    /// Nodes whose curves one can tell apart.
    const MOST_NODES: usize = 4;
    let last = soak.samples.last().map_or(0.0, |sample| sample.at);
    let (unit, scale) = if last < MINUTES { ("s", 1.0) } else { ("minutes", 60.0) };
    let series = |name: String, work: SoakWork, rate_of: &dyn Fn(&SoakSample) -> f64| {
        let of_work = || soak.samples.iter().filter(|sample| sample.work == work);
        let points = of_work().map(|sample| (sample.at / scale, rate_of(sample))).collect();
        let about = of_work().map(|_| tiermark_page::PointAbout::default()).collect();
        Series { name, points, about, ..Series::default() }
    };
    let all = [("read", SoakWork::Read), ("written", SoakWork::Write)];
    let are_few = (2..=MOST_NODES).contains(&soak.memory.len());
    let nodes = soak.memory.iter().enumerate().filter(|_| are_few).map(|(index, node)| {
        let rate_of = |sample: &SoakSample| sample.rates.get(index).copied().unwrap_or_default();
        series(format!("read, node {}", node.node), SoakWork::Read, &rate_of)
    });
    let mut series: Vec<Series> =
        all.map(|(name, work)| series(name.to_owned(), work, &SoakSample::rate)).into_iter().chain(nodes).collect();
    series.retain(|series| series.values().count() >= FEWEST);
    if series.is_empty() {
        return Page::new();
    }
    let marks = soak.slowdown.iter().map(|slow| (slow.from / scale, "slower".to_owned())).collect();
    let plot = Plot {
        unit: rate_unit(),
        rates: Rates::Y,
        unit_in_heading: true,
        series,
        marks,
        rows: ROWS,
        ..Plot::default()
    };
    heading(text!["Rate over time, ", rate_unit()]) + plot_over(plot, unit) + before_and_after(soak)
}

/// The first and the last rate of reading, and the lowest of those between.
fn before_and_after(soak: &Soak) -> Page {
    let read = || soak.samples.iter().filter(|sample| sample.work == SoakWork::Read).map(SoakSample::rate);
    let (Some(first), Some(last), Some(lowest)) = (read().next(), read().next_back(), read().reduce(f64::min)) else {
        return Page::new();
    };
    let sentence = text![
        "Reading began at ",
        rate(first).with_unit(),
        ", ended at ",
        rate(last).with_unit(),
        "; lowest ",
        rate(lowest).with_unit(),
        "."
    ];
    paragraph("", sentence, Ink::Plain)
}

/// What the system told of its state: lowest and highest.
fn state(run: &Run, soak: &Soak) -> Page {
    let range = |of: fn(&tiermark_model::SoakState) -> Option<f64>| {
        let values = soak.samples.iter().filter_map(|sample| of(&sample.state));
        values.fold(None, |range: Option<(f64, f64)>, value| {
            Some(range.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
        })
    };
    let worded = |name: &str, range: Option<(f64, f64)>, scale: f64, unit: &str, digits: usize| {
        range.map(|(low, high)| {
            let (low, high) = (format!("{:.digits$}", low / scale), format!("{:.digits$}", high / scale));
            if low == high { format!("{name} {low}{unit}") } else { format!("{name} {low} to {high}{unit}") }
        })
    };
    let last = |of: fn(&tiermark_model::SoakState) -> Option<u64>| {
        soak.samples.iter().rev().find_map(|sample| of(&sample.state))
    };
    let parts = [
        worded("core clock", range(|state| state.clock_hz), 1e9, " GHz", 2),
        worded("processors", range(|state| state.cpu_celsius), 1.0, " °C", 0),
        worded("memory modules", range(|state| state.memory_celsius), 1.0, " °C", 0),
        last(|state| state.throttled).map(|times| format!("throttled {}", count_of(times, "time"))),
        last(|state| state.corrected).map(|errors| format!("corrected errors {errors}")),
        worded("interrupts a second", range(|state| state.interrupts), 1.0, "", 0),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let is_short = soak.slower().is_none();
    let unknown = run.simulated.is_none() && last(|state| state.corrected).is_none();
    let mut out = Page::new();
    if !parts.is_empty() {
        out += paragraph("", format!("Meanwhile: {}.", parts.join(", ")), Ink::Plain);
    }
    if is_short {
        let text = "Whether the server kept its speed is not judged: fewer than 20 samples of reading.";
        out += paragraph("", text, Ink::Dim);
    }
    if unknown {
        let text = "Corrected memory errors unknown: this system has no counter of them (EDAC).";
        out += paragraph("", text, Ink::Dim);
    }
    out
}
