//! How long a shared cache keeps touched lines: a table of waits and ranges, and the conclusion in words.

use tiermark_model::messages::shapes::codes;
use tiermark_model::{Finding, Note, Quantity, Unit, milliseconds};
use tiermark_page::{
    Cell, Detail, Ink, Page, Text, graded, heading, measured_size, nanoseconds, paragraph, percent, size, text,
};

use crate::phrases::sentence;
use crate::pivot::{Pivot, with_quantity};
use crate::reasons::Reasons;
use crate::remark::remark;
use crate::steps::Curves;

/// The view; empty where nothing of it was found.
pub(crate) fn residency(findings: &[&Finding], detail: Detail) -> Page {
    let medians = with_quantity(findings, &Quantity::ResidencyAccess);
    if medians.is_empty() {
        return Page::new();
    }
    let edges = with_quantity(findings, &Quantity::ResidencyEdge);
    let cell = |f: &&Finding| {
        let same = |edge: &&&Finding| {
            let same = edge.labels.are_alike(&f.labels, |of| (of.size(), of.wait()));
            same && is_of_once(edge) == is_of_once(f)
        };
        let edge = edges.iter().find(same).and_then(|edge| edge.value);
        let edge = edge.map_or_else(String::new, |edge| format!(" ({})", nanoseconds(edge)));
        graded(f.value.map(|v| format!("{}{edge}", nanoseconds(v))), &f.verdict, f.unit)
    };
    let uses = UsedOnce::of(findings.iter().copied());
    let medians = again(&medians);
    let column = |f: &Finding| {
        let once = if is_of_once(f) { " once" } else { "" };
        bytes(f).map_or_else(String::new, |bytes| format!("{}{once}", size(bytes)))
    };
    let table = |of: &[&Finding], cell: &dyn Fn(&&Finding) -> Cell| {
        Pivot::new(of, &|f| wait(f), &|f| column(f)).table("after", cell)
    };
    let mut out = heading("ns an access by range and time since touch: median (fast edge)");
    out += table(&medians, &cell);
    let held = with_quantity(findings, &Quantity::ResidencyHeld);
    let held = if uses.as_ref().is_some_and(UsedOnce::differs) { held } else { again(&held) };
    if !held.is_empty() {
        out += heading("Share of the range that still hits");
        let share = |f: &&Finding| Cell::new(f.value.map_or_else(String::new, percent));
        let curves = Curves {
            x: &|f| f.labels.wait().map(|ns| ns as f64 / 1e6),
            x_unit: "ms",
            series: &column,
            unit: ("%", 0.01),
            log_y: false,
        };
        out += curves.drawn(&held);
        out += table(&held, &share);
    }
    for line in words(findings) {
        out += paragraph("  ", &line, Ink::Plain);
    }
    let mut reasons = Reasons::default();
    medians.iter().for_each(|f| reasons.add(&format!("{} after {}", column(f), wait(f)), &f.verdict));
    with_quantity(findings, &Quantity::ResidencyHit)
        .iter()
        .for_each(|f| reasons.add("an access that hits", &f.verdict));
    out += reasons.page(detail);
    if detail.is_all() {
        for f in findings {
            let note = remark(f).map(|note| text![f.quantity.part(), ": ", note]);
            out.extend(note.map(|note| paragraph("  ", note, Ink::Dim)));
        }
    }
    out
}

/// The findings that are numbers of their own: edges and shares say the same in other words.
pub(crate) fn counted<'a>(findings: &[&'a Finding]) -> Vec<&'a Finding> {
    let own = |f: &&Finding| !matches!(f.quantity, Quantity::ResidencyEdge | Quantity::ResidencyHeld);
    findings.iter().copied().filter(own).collect()
}

fn bytes(finding: &Finding) -> Option<f64> {
    finding.labels.bytes().map(|bytes| bytes as f64)
}

fn wait(finding: &Finding) -> String {
    milliseconds(finding.labels.wait().unwrap_or_default() as f64)
}

/// Whether it is of lines that were used once. Runs from before there was such a use have no label.
fn is_of_once(finding: &Finding) -> bool {
    finding.labels.used() == Some("once")
}

/// The findings of lines that were used again.
fn again<'a>(findings: &[&'a Finding]) -> Vec<&'a Finding> {
    findings.iter().copied().filter(|f| !is_of_once(f)).collect()
}

/// What a cache holds of lines that were used once, beside those used again.
pub(crate) struct UsedOnce<'a> {
    note: &'a Note,
}

impl<'a> UsedOnce<'a> {
    /// `None` where only one use was measured.
    pub(crate) fn of(mut findings: impl Iterator<Item = &'a Finding>) -> Option<Self> {
        let limit = findings.find(|f| f.quantity == Quantity::ResidencyLimit && is_of_once(f))?;
        Some(Self { note: limit.notes.first()? })
    }

    /// Whether the uses differ by more than their scatter.
    pub(crate) fn differs(&self) -> bool {
        self.note.code != codes::kept_alike
    }

    /// The wait at which the uses differ most, and the shares that are held then: used again, used once.
    pub(crate) fn most(&self) -> Option<(String, [String; 2])> {
        let data = &self.note.data;
        let share = |index: usize| data["held"][index].as_f64().map(percent);
        Some((milliseconds(data["wait"].as_f64()?), [share(0)?, share(1)?]))
    }

    /// What it means for a program.
    fn sentence(&self) -> String {
        format!("{}.", sentence(&self.note.text))
    }
}

/// Conclusions from the numbers.
fn words(findings: &[&Finding]) -> Vec<String> {
    let first = |quantity: &Quantity| with_quantity(findings, quantity).first().copied();
    let mut lines = Vec::new();
    let uses = UsedOnce::of(findings.iter().copied());
    let differs = uses.as_ref().is_some_and(UsedOnce::differs);
    for half in with_quantity(findings, &Quantity::ResidencyHalfLife) {
        let (Some(range), Some(ns)) = (bytes(half), half.value) else { continue };
        let (range, ms) = (size(range), milliseconds(ns));
        let is_bound = half.labels.statistic().is_some();
        let used = match (differs, is_of_once(half)) {
            (true, false) => "used again ",
            // The table says so.
            (true, true) if is_bound => continue,
            (true, true) => "used once ",
            (false, false) => "",
            (false, true) => continue,
        };
        lines.push(match half.labels.statistic() {
            Some("at least") => format!("More than half of {range} {used}is still in the cache after {ms}."),
            Some("at most") => format!("Of {range} {used}at most 5 % is in the cache after {ms}."),
            _ => format!("Half of {range} {used}is evicted after {ms}."),
        });
    }
    lines.extend(uses.map(|uses| uses.sentence()));
    lines.extend(first(&Quantity::ResidencyHit).and_then(|hit| accesses(hit, findings)));
    let limits = again(&with_quantity(findings, &Quantity::ResidencyLimit));
    lines.extend(limits.first().and_then(|limit| verdict(limit, findings)));
    lines
}

/// Time of an access that hits, and of one that misses.
fn accesses(hit: &Finding, findings: &[&Finding]) -> Option<String> {
    let hits = graded(Some(nanoseconds(hit.value?)), &hit.verdict, Unit::Ns).words().plain();
    let misses: Vec<f64> = with_quantity(findings, &Quantity::ResidencyMiss).iter().filter_map(|f| f.value).collect();
    let ends = [f64::min, f64::max].map(|end| misses.iter().copied().reduce(end).map(nanoseconds));
    let misses = match ends {
        [Some(low), Some(high)] if low == high => format!(", one that misses {low} ns"),
        [Some(low), Some(high)] => format!(", one that misses {low} to {high} ns"),
        _ => String::new(),
    };
    Some(format!("An access that hits takes {hits} ns{misses}."))
}

/// The limit of the cache, and what to do about it.
fn verdict(limit: &Finding, findings: &[&Finding]) -> Option<String> {
    let halves = again(&with_quantity(findings, &Quantity::ResidencyHalfLife));
    let shortest = halves.iter().filter_map(|f| f.value).reduce(f64::min);
    let bytes = Text::from(measured_size(limit.value?)).plain();
    Some(match limit.labels.limit()? {
        "none" => format!("No limit up to {bytes}: no other user of this cache was seen."),
        "partition" => {
            format!(
                "Partition: programs here get at most {bytes} of the cache, even right after the lines were read. \
                    Plan with that size."
            )
        }
        "contention" => {
            let soon = shortest.map(milliseconds).unwrap_or_default();
            if halves.iter().all(|f| f.labels.statistic() == Some("at least")) {
                format!("Contention: other programs evict touched lines, but most lines last longer than {soon}.")
            } else {
                format!(
                    "Contention: other programs evict touched lines. A line that is not accessed again within {soon} \
                        is probably evicted."
                )
            }
        }
        _ => "The cache holds none of the smallest range even right after the touch: use smaller ranges (--sizes)."
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use tiermark_model::messages::shapes;
    use tiermark_model::{Bytes, MIB, Share};

    use super::*;
    use tiermark_model::Labels;
    use tiermark_model::Tier;

    /// The words for a half-life of 17 ms and this note on lines that were used once.
    fn said(note: Note) -> Vec<String> {
        let labels = |used: &str| Labels::new().with_used(used).with_tier(Tier::Cache(3));
        let half = labels("again").with_size(8 * MIB);
        let half = Finding::new(Quantity::ResidencyHalfLife, half, Some(17e6), Unit::Ns);
        let again = labels("again").with_limit("contention");
        let again = Finding::new(Quantity::ResidencyLimit, again, Some(8e6), Unit::Bytes);
        let once = Finding::new(Quantity::ResidencyLimit, labels("once"), Some(0.3e6), Unit::Bytes).with_notes([note]);
        words(&[&half, &again, &once])
    }

    #[test]
    fn the_words_say_what_a_single_use_is_worth() {
        let differs = said(shapes::kept_once_used_again("L3", Bytes(8 * MIB), [0.93, 0.04].map(Share), 50_000.0));
        assert_eq!(differs[0], "Half of 8 MiB used again is evicted after 17 ms.");
        assert_eq!(
            differs[1],
            "L3 holds 93 % of 8 MiB used again and 4 % of 8 MiB used once, after 0.05 ms: it keeps lines only from \
             their second or third read on; data read once is not found there, whatever other programs do."
        );
        assert!(differs[2].starts_with("Contention:"), "{differs:?}");
        let alike = said(shapes::kept_alike("L3", Bytes(8 * MIB), [0.93, 0.94].map(Share), 50_000.0));
        assert_eq!(alike[0], "Half of 8 MiB is evicted after 17 ms.");
        assert!(alike[1].ends_with("after 0.05 ms: both are kept alike."), "{alike:?}");
    }
}
