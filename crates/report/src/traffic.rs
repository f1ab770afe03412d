//! What counters of the hardware saw beside the numbers of a run: useful bytes against bytes on channels and links.

mod places;

use tiermark_model::messages::counters as says;
use tiermark_model::{
    BoxKind, CounterMark, CounterSight, CounterSourceId, LabelSet, LinkCheck, LinkTraffic, Observation, Purpose, Run,
    RunCounters, StepTraffic, Traffic, TrafficSum, Unit, count_of,
};
use tiermark_page::{
    ABSENT, Detail, Ink, Page, Table, Text, bullet, heading, paragraph, percent, rate, rate_unit, text,
};

use crate::remark;
use places::{by_place, places};

/// Bytes on the channels for each useful byte below which a step is one of caches: its few bytes come from elsewhere.
const OF_MEMORY: f64 = 0.05;
/// Rows that are shown without `--verbose`.
const ROWS: usize = 24;
/// The most by which the counters can have run longer than the stamps: a shot has some 0.5 ms of start and end beside
/// its 2 ms.
const MOST_LONGER: f64 = 1.5;
/// Labels that only say why a step is measured, or by which threads exactly.
const UNSAID: LabelSet = LabelSet::NONE.purpose().cpus().span();

/// A step with its useful rate, in bytes a second.
#[derive(Clone, Copy)]
struct RatedStep<'a> {
    seen: &'a Observation,
    traffic: &'a StepTraffic,
    rate: f64,
}

/// The useful rate of a step: its value, or that of the load beside a latency.
fn useful_rate(seen: &Observation) -> Option<f64> {
    let load = || seen.parts.iter().find(|part| part.unit == Unit::BytesPerSecond)?.value;
    if seen.unit == Unit::BytesPerSecond { seen.value } else { load() }
}

/// Bytes a second on the channels while a step used so many; `None` if they were not counted by counters that can be
/// trusted.
pub(crate) fn on_channels(seen: &Observation, useful_rate: f64, counters: Option<&RunCounters>) -> Option<f64> {
    counters.filter(|counters| counters.can_be_trusted())?;
    Some(useful_rate * seen.traffic.as_ref()?.amplification()?)
}

/// The section of a run; empty without counters.
pub(crate) fn traffic<'a>(run: &Run, observations: &[&'a Observation], detail: Detail) -> Page {
    let Some(counters) = run.counters.as_ref().filter(|counters| counters.source != CounterSourceId::None) else {
        return Page::new();
    };
    let numbers = observations.iter().filter(|seen| !seen.labels.is_point());
    let rows: Vec<RatedStep<'a>> = numbers.filter_map(|seen: &&'a Observation| RatedStep::of(seen, counters)).collect();
    if counters.check.as_ref().is_some_and(|check| !check.faults.is_empty()) {
        let text = "These counts are not used, because the check above failed. The JSON output has them.";
        return out_of(run, counters) + paragraph("  ", text, Ink::Plain);
    }
    let is_of_memory = |row: &&RatedStep<'_>| row.traffic.amplification().is_some_and(|factor| factor >= OF_MEMORY);
    let of_memory: Vec<&RatedStep<'_>> = rows.iter().filter(is_of_memory).collect();
    let mut out = out_of(run, counters);
    let lost = rows.iter().filter(|row| row.traffic.amplification().is_none()).count();
    let lost = (lost > 0)
        .then(|| format!("not shown: {} whose traffic was not counted as a whole", count_of(lost as u64, "number")));
    if of_memory.is_empty() {
        let none = match rows.is_empty() && counters.source.has_intervals() {
            true => "No number of this run has counts.",
            false => "No number of this run moved enough data to or from memory.",
        };
        let none = lost.unwrap_or_else(|| none.to_owned());
        return out + paragraph("  ", &none, Ink::Plain) + marks(&rows);
    }
    let most = detail.listed(ROWS);
    out += table(&of_memory[..most.min(of_memory.len())]);
    let placed: Vec<&RatedStep<'_>> = of_memory.iter().copied().filter(|row| row.is_placed(counters)).collect();
    out += by_place(&placed, most);
    let hidden = of_memory.len().saturating_sub(most);
    let caches = rows.iter().filter(|row| row.traffic.amplification().is_some()).count() - of_memory.len();
    let hidden = (hidden > 0).then(|| format!("{} more with --verbose", count_of(hidden as u64, "number")));
    let caches = (caches > 0).then(|| {
        format!(
            "not shown: {} whose bytes these counters did not see (data in caches, other memory)",
            count_of(caches as u64, "number")
        )
    });
    let rest: Vec<String> = hidden.into_iter().chain(caches).chain(lost).collect();
    if !rest.is_empty() {
        out += paragraph("  ", rest.join("; "), Ink::Dim);
    }
    let unchecked = counters.check.as_ref().is_none_or(|check| check.links.is_none());
    if unchecked
        && !counters.source.has_intervals()
        && of_memory.iter().any(|row| fullest(&row.traffic.counted).is_some())
    {
        let text = "Counts of links were not compared with a known stream.";
        out += paragraph("  ", text, Ink::Dim);
    }
    if detail.is_all() {
        out += places(&of_memory);
    }
    out + marks(&rows)
}

/// The words of a step.
fn named(row: &RatedStep<'_>) -> String {
    row.seen.labels.words(UNSAID)
}

/// The heading, and what precedes the table.
fn out_of(run: &Run, counters: &RunCounters) -> Page {
    heading(title(counters)) + background(run, counters)
}

/// `Traffic of memory, counted by perf`.
fn title(counters: &RunCounters) -> String {
    if counters.sees.contains(&CounterSight::LowerBound) {
        return format!("Traffic of memory, at least, counted by {}", counters.source.name());
    }
    let sees = |sight| counters.sees.contains(&sight);
    let lack = match (sees(CounterSight::Reads), sees(CounterSight::Writes)) {
        (true, true) => "",
        (true, false) => " (reads only)",
        (false, _) => " (reads and writes together)",
    };
    format!("Traffic of memory, counted by {}{lack}", counters.source.name())
}

/// What the idle machine does, and whether the counters agree with streams whose bytes are known.
fn background(run: &Run, counters: &RunCounters) -> Page {
    let mut out = Page::new();
    let idle = run.bench.idle_traffic.as_ref().and_then(|idle| Some(idle.whole().total? / idle.seconds));
    if let Some(idle) = idle {
        out += paragraph("  ", text!["idle machine: ", rate(idle).with_unit(), ", subtracted below"], Ink::Plain);
    }
    if counters.check.is_none() {
        let name = counters.source.name();
        let text = match counters.source.has_intervals() {
            true => format!(
                "These counts were not compared with a known stream: {name} counts in intervals of its own. Each \
                    number ran once more after its visits: rates below are of whole intervals in that time, with \
                    what the idle machine moves."
            ),
            false => {
                "These counts were not compared with a known stream: there was no memory for one, or no cpu.".to_owned()
            }
        };
        out += paragraph("  ", text, if counters.source.has_intervals() { Ink::Plain } else { Ink::Warn });
    }
    if let Some(check) = &counters.check {
        let ratio = check.counted.filter(|_| check.known > 0.0).map(|counted| counted / check.known);
        let ratio = ratio.map_or_else(|| "nothing".to_owned(), |ratio| format!("{ratio:.2} of its bytes"));
        let text = format!("known stream: the counters saw {ratio}");
        out += paragraph("  ", &text, if check.faults.is_empty() { Ink::Plain } else { Ink::Bad });
        out.extend(
            check.faults.iter().map(|fault| bullet("!", Ink::Bad, remark::notes(std::slice::from_ref(fault)), None)),
        );
        out.extend(check.links.iter().map(between_sockets));
    }
    out.extend(
        counters.notes.iter().map(|note| bullet("!", Ink::Warn, remark::notes(std::slice::from_ref(note)), None)),
    );
    out
}

/// Whether counts of links agree with streams between two sockets.
fn between_sockets(links: &LinkCheck) -> Page {
    let ways = || [(&links.sent, "sent"), (&links.received, "received")].into_iter();
    let seen = ways().filter_map(|(way, name)| Some(format!("{:.2} of its bytes {name}", way.as_ref()?.ratio)));
    let text = format!("known stream between sockets: the counters saw {}", seen.collect::<Vec<_>>().join(", "));
    let wrong: Vec<_> = ways().filter_map(|(way, name)| Some((way.as_ref()?.fault.as_ref()?, name))).collect();
    let mut out = paragraph("  ", &text, if wrong.is_empty() { Ink::Plain } else { Ink::Bad });
    for (fault, name) in wrong {
        let text = format!("{}; what links {name} is left out", fault.text);
        out += bullet("!", Ink::Bad, &text, None);
    }
    out
}

fn table(rows: &[&RatedStep<'_>]) -> Page {
    let has = |field: fn(&Traffic) -> Option<f64>| rows.iter().any(|row| field(&row.traffic.counted).is_some());
    let split = has(|counted| counted.whole().read);
    let (busy, links, energy) = (has(busiest), has(fullest), rows.iter().any(|row| row.traffic.joules.is_some()));
    let ratio = |value: Option<f64>| value.map_or_else(|| ABSENT.to_owned(), |value| format!("{value:.2}"));
    let head = |what: &str| text![what, "|", rate_unit()];
    let table = Table::of(rows).texts("of", |row| named(row)).numbers(head("useful"), |row| rate(row.rate));
    let table = match split {
        true => table
            .numbers(head("read"), |row| row.moved(row.whole().read))
            .numbers(head("write"), |row| row.moved(row.whole().write))
            .numbers("read|/useful", |row| ratio(row.traffic.amplifications().map(|(read, _)| read)))
            .numbers("write|/useful", |row| ratio(row.traffic.amplifications().map(|(_, written)| written)))
            .numbers("write|/read", |row| ratio(row.whole().writes_per_read())),
        false => table
            .numbers(head("moved"), |row| row.moved(row.whole().total))
            .numbers("moved|/useful", |row| ratio(row.traffic.amplification())),
    };
    let over = |row: &RatedStep<'_>| over_links(&row.traffic.counted).map_or_else(|| ABSENT.to_owned(), percent);
    let joules = |row: &RatedStep<'_>| ratio(row.traffic.joules.map(|joules| joules * 1e9 / row.useful()));
    let table = table.when(links, |table| table.numbers("over|links", |row| over(row)));
    let table = table.when(energy, |table| table.numbers("nJ/|byte", |row| joules(row)));
    let channel = |row: &RatedStep<'_>| row.share(busiest(&row.traffic.counted));
    let link = |row: &RatedStep<'_>| row.share(fullest(&row.traffic.counted));
    let table = match (busy, links) {
        // One heading over both takes fewer columns.
        (true, true) => table
            .under("busiest", |table| table.numbers("channel", |row| channel(row)).numbers("link", |row| link(row))),
        _ => table
            .when(busy, |table| table.numbers("busiest|channel", |row| channel(row)))
            .when(links, |table| table.numbers("busiest|link", |row| link(row))),
    };
    table.table().gap(1) + paragraph("  ", legend(split, (busy, links, energy)), Ink::Dim)
}

impl<'a> RatedStep<'a> {
    /// A step with traffic and a useful rate.
    fn of(seen: &'a Observation, counters: &RunCounters) -> Option<Self> {
        let (traffic, rate) = (seen.traffic.as_ref()?, useful_rate(seen)?);
        // Other shots than those of the number were counted: rates are of their time.
        let counted = || Some(traffic.useful? / traffic.counted.seconds);
        let rate = if counters.source.has_intervals() { counted()? } else { rate };
        Some(Self { seen, traffic, rate })
    }

    /// Whether its traffic by node is worth a look: it is where memory is placed, or the user named what counts.
    fn is_placed(&self, counters: &RunCounters) -> bool {
        let is_cell = matches!(self.seen.labels.purpose(), Some(Purpose::Matrix | Purpose::Scaling));
        is_cell || counters.source.has_intervals()
    }
}

impl RatedStep<'_> {
    fn whole(&self) -> TrafficSum {
        self.traffic.counted.whole()
    }

    fn useful(&self) -> f64 {
        self.traffic.useful.unwrap_or(0.0)
    }

    /// Bytes of the counts as a rate beside the useful rate of the step.
    fn moved(&self, bytes: Option<f64>) -> Text {
        let useful = self.traffic.useful.filter(|useful| *useful > 0.0);
        let value = bytes.zip(useful).map(|(bytes, useful)| rate(self.rate * bytes / useful).into());
        value.unwrap_or_else(|| ABSENT.into())
    }

    /// A share of a peak. The counters ran a little longer than the stamps: shares are of the time in which the useful
    /// bytes moved.
    fn share(&self, share: Option<f64>) -> String {
        let seconds = self.traffic.counted.seconds;
        let longer = self.traffic.useful.map_or(1.0, |useful| (seconds * self.rate / useful).clamp(1.0, MOST_LONGER));
        share.map_or_else(|| ABSENT.to_owned(), |share| percent((share * longer).min(1.0)))
    }
}

/// What the columns mean, of those that are shown.
fn legend(split: bool, (busy, links, energy): (bool, bool, bool)) -> String {
    let ratios = match split {
        true => "read/useful, write/useful = bytes on the channels for each byte that the threads used",
        false => "moved/useful = bytes on the channels for each byte that the threads used",
    };
    let busiest = match (busy, links) {
        (true, true) => "busiest = share of its peak that the busiest channel, or one way of a link, carried",
        (true, false) => "busiest = share of its peak that the busiest channel carried",
        (false, true) => "busiest = share of its peak that the busiest way of a link carried",
        (false, false) => "",
    };
    let links = if links { "over links = bytes that crossed links, of those that memory moved" } else { "" };
    let energy = if energy { "nJ/byte = energy above that of the idle machine, for each useful byte" } else { "" };
    [ratios, links, energy, busiest].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
}

/// The largest share of its peak that a channel carried.
fn busiest(counted: &Traffic) -> Option<f64> {
    let channels = counted.boxes.iter().filter(|own| own.place.kind != BoxKind::Cache);
    channels.filter_map(|own| own.utilisation()).reduce(f64::max)
}

/// The largest share of its peak that a link carried one way.
fn fullest(counted: &Traffic) -> Option<f64> {
    let shares = counted.links.iter().map(|link| link.shares(counted.seconds));
    shares.flat_map(|shares| [shares.sent, shares.received]).flatten().reduce(f64::max)
}

/// Share of the bytes that memory moved which crossed links between sockets.
fn over_links(counted: &Traffic) -> Option<f64> {
    let sum = |field: fn(&LinkTraffic) -> Option<f64>| {
        let all: Option<Vec<f64>> = counted.links.iter().map(field).collect();
        all.filter(|all| !all.is_empty()).map(|all| all.iter().sum::<f64>())
    };
    // Each byte is sent by one socket and received by another; some families count only one of the two.
    let crossed = sum(|link| link.sent).or_else(|| sum(|link| link.received))?;
    counted.whole().total.filter(|total| *total > 0.0).map(|total| crossed / total)
}

/// What is wrong with counts of some steps, once for each box.
fn marks(rows: &[RatedStep<'_>]) -> Page {
    let all = rows.iter().flat_map(|row| &row.traffic.counted.marks);
    remark::distinct(all.map(sentence)).iter().map(|text| bullet("!", Ink::Warn, text, None)).collect()
}

fn sentence(mark: &CounterMark) -> Text {
    let unit = &mark.place().unit;
    let words = match mark {
        CounterMark::Multiplexed { share, .. } => {
            format!(
                "{unit}: its counters took turns and counted {} of the time; those shots are left out",
                percent(*share)
            )
        }
        CounterMark::NeverCounted { .. } => format!("{unit} never counted: other programs hold its counters"),
        CounterMark::Lost { .. } => format!("{unit} was not counted: its counter could not be read"),
        CounterMark::WentBack { .. } => {
            format!("{unit}: its count went back, so another program sets it; those shots are left out")
        }
        CounterMark::Impossible { .. } => format!("{unit} counted more than it can carry; those shots are left out"),
        CounterMark::Silent { place, counts, beside } => {
            return remark::notes(&[says::boxes_stay_zero(
                vec![unit.clone()],
                place.socket,
                *counts,
                (*beside).into(),
            )]);
        }
        CounterMark::Partial { place, counts } => {
            says::boxes_count_a_part(std::slice::from_ref(unit), place.socket, *counts).text
        }
    };
    words.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_says_what_is_not_told_apart() {
        let title = |sees: &[CounterSight]| {
            let (source, sees) = (CounterSourceId::Perf, sees.to_vec());
            title(&RunCounters { source, sees, passed_over: Vec::new(), check: None, notes: Vec::new() })
        };
        assert_eq!(title(&[CounterSight::Reads, CounterSight::Writes]), "Traffic of memory, counted by perf");
        assert_eq!(title(&[CounterSight::Reads]), "Traffic of memory, counted by perf (reads only)");
        assert_eq!(title(&[CounterSight::Total]), "Traffic of memory, counted by perf (reads and writes together)");
    }
}
