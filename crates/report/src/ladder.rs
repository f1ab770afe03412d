//! The ladder: one row a tier, with what each tier does and how far that can be trusted.

use std::collections::BTreeSet;

use tiermark_model::{Finding, Grade, Labels, Purpose, Quantity, Unit, Verdict};
use tiermark_page::{
    Align, Cell, Fit, Ink, Number, Page, Style, Table, fitting, grade_ink, graded, heading, measured_size, nanoseconds,
    paragraph, percent, rate, with_interval,
};

use crate::kernels::{Winner, kernels};
use crate::order::{distinct, grouped};
use crate::reasons::Reasons;
use crate::tally::is_number;

/// The operations that have columns of their own.
pub(crate) const OPS: [&str; 3] = ["read", "write", "copy"];
pub(crate) const SPANS: [&str; 2] = ["one", "all"];
/// The place of copies among [`OPS`].
pub(crate) const COPY: usize = 2;
/// What rates of copies are of: elsewhere a copy of 1 GB may count once.
pub(crate) const COPY_COUNTS: &str = "copy counts the bytes read and the bytes written";

/// Findings by their place in a list, and which of them a view has shown.
pub(crate) struct Shown<'a> {
    pub(crate) findings: Vec<&'a Finding>,
    /// Of each finding, whether a view has shown it.
    done: Vec<bool>,
    /// The numbers that views show with their marks.
    pub(crate) numbers: Vec<&'a Finding>,
}

impl<'a> Shown<'a> {
    pub(crate) fn new(findings: impl Iterator<Item = &'a Finding>) -> Self {
        let findings: Vec<&Finding> = findings.collect();
        Self { done: vec![false; findings.len()], findings, numbers: Vec::new() }
    }

    /// Counts the findings that a view shows, with their marks; findings that cannot have a number are not counted.
    pub(crate) fn count(&mut self, shown: &[&'a Finding]) {
        self.numbers.extend(shown.iter().filter(|f| is_number(f)));
    }

    /// Takes those not yet shown that fit, of the findings at some places; no more than the caller draws from the
    /// iterator.
    fn take_of(
        &mut self,
        places: impl Iterator<Item = usize>,
        fits: impl Fn(&Finding) -> bool,
    ) -> impl Iterator<Item = &'a Finding> {
        places.filter_map(move |at| {
            let taken = !self.done[at] && fits(self.findings[at]);
            self.done[at] |= taken;
            taken.then(|| self.findings[at])
        })
    }

    /// Takes all findings not yet shown that fit.
    pub(crate) fn take_all(&mut self, fits: impl Fn(&Finding) -> bool) -> Vec<&'a Finding> {
        self.take_of(0..self.findings.len(), fits).collect()
    }

    /// What no view has shown yet.
    pub(crate) fn rest(&mut self) -> Vec<&'a Finding> {
        self.take_all(|_| true)
    }
}

/// What names a row: the tier, and the node where labelled.
pub(crate) fn row_name(labels: &Labels) -> Option<String> {
    let tier = labels.get(Labels::TIER)?;
    let node =
        labels.number(Labels::NODE).map(|n| n.to_string()).or_else(|| labels.get(Labels::NODE).map(str::to_owned));
    let place = node.map(|node| format!(" node {node}"));
    // Some tiers are named after their node.
    Some(match place.filter(|place| !tier.ends_with(place.as_str())) {
        Some(place) => format!("{tier}{place}"),
        None => tier.to_owned(),
    })
}

/// A finding's name in a list of reasons.
pub(crate) fn subject(finding: &Finding) -> String {
    let labels = &finding.labels;
    let mut words: Vec<String> = row_name(labels).into_iter().collect();
    if words.is_empty() {
        words.extend(labels.size().map(|s| s.to_string()));
    }
    let what = match &finding.metric {
        Quantity::Bandwidth => {
            labels.get(Labels::OP).or_else(|| labels.get(Labels::KERNEL)).unwrap_or("bandwidth").to_owned()
        }
        Quantity::TierSize => "size".to_owned(),
        Quantity::LatencyTail => "tail".to_owned(),
        Quantity::BandwidthScaling => format!("{} scaling", labels.get(Labels::OP).unwrap_or("bandwidth")),
        metric => metric.name().to_owned(),
    };
    words.push(what);
    // The quantiles of a tail count as one, and a scaling by its threads.
    let scaling = finding.metric == Quantity::BandwidthScaling;
    words.extend(labels.get(Labels::LAYOUT).filter(|_| !labels.has_usual_layout()).map(str::to_owned));
    words.extend(labels.get(Labels::SPAN).filter(|_| !scaling).map(str::to_owned));
    if scaling || labels.get(Labels::SPAN).is_none() {
        let threads = |n: u64| if n == 1 { "1 thread".to_owned() } else { format!("{n} threads") };
        words.extend(labels.number(Labels::THREADS).map(threads));
    }
    words.join(" ")
}

/// The ladder with its reasons and kernels; empty when no finding names a tier. `only` names the cpus where they are of
/// one core.
pub(crate) fn ladder(shown: &mut Shown<'_>, only: Option<&str>, style: &Style) -> Page {
    let on_ladder =
        |at: &usize| matches!(shown.findings[*at].metric, Quantity::TierSize | Quantity::Latency | Quantity::Bandwidth);
    let named = (0..shown.findings.len()).filter_map(|at| Some((row_name(&shown.findings[at].labels)?, at)));
    let mut rows = grouped(named);
    rows.retain(|(_, places)| places.iter().any(on_ladder));
    // By their first number on the ladder: shares, tails and the like may come before it.
    rows.sort_by_cached_key(|(_, places)| places.iter().copied().find(on_ladder));
    if rows.is_empty() {
        return Page::new();
    }
    let rows: Vec<(String, LadderRow<'_>)> =
        rows.into_iter().map(|(name, places)| (name, LadderRow::take(&places, shown))).collect();
    let mut reasons = Reasons::new(style);
    let mut notes = Vec::new();
    let mut winners = Vec::new();
    for (name, row) in &rows {
        shown.count(&row.all().chain(row.others.iter().copied()).collect::<Vec<_>>());
        row.add_reasons(&mut reasons);
        winners.extend(row.winners(name, style));
        notes.extend(row.notes(name, style));
    }
    let mut out = heading("The ladder");
    out += table(&rows, style);
    out += key(&rows, only, style);
    out += reasons.page(style);
    for note in notes {
        out += paragraph("  ", &note, Ink::Dim);
    }
    out += shares(shown, style);
    out += kernels(&winners, style);
    out
}

/// The table itself. Columns that no tier fills are dropped: a run of one probe has half of them.
fn table(rows: &[(String, LadderRow<'_>)], style: &Style) -> Page {
    let mut columns = vec![("tier".to_owned(), Align::Left)];
    columns.push(("size ".to_owned(), Align::Right));
    columns.push(("latency |ns ".to_owned(), Align::Right));
    for op in OPS {
        columns.push((format!("{op} |one "), Align::Right));
        columns.push((format!("{} |all ", style.rate_unit()), Align::Right));
    }
    columns.push(("of|peak".to_owned(), Align::Right));
    columns.push((String::new(), Align::Left));
    let used: Vec<usize> =
        (0..columns.len()).filter(|&c| rows.iter().any(|(_, row)| row.has().get(c).copied().unwrap_or(true))).collect();
    let of = |used: &[usize]| -> Page {
        let mut table = Table::new().gap(1).indent(1);
        for &c in used {
            table = table.column(&columns[c].0, columns[c].1);
        }
        for (name, row) in rows {
            let cells = row.cells(name, style);
            table.row(used.iter().filter_map(|&c| cells.get(c).cloned()).collect());
        }
        table.into()
    };
    // Each number has its own mark: the row's gives way before the table is cut into blocks.
    fitting(vec![of(&used), of(&used[..used.len() - 1])], Fit::Uncut)
}

/// What stands beside the numbers of the table, as far as it is used.
fn key<'a>(rows: &[(String, LadderRow<'a>)], only: Option<&str>, style: &Style) -> Page {
    let rates = rows.iter().any(|(_, row)| row.rates.iter().any(Option::is_some));
    let all = only.map_or_else(
        || "all = all cores".to_owned(),
        |cpus| format!("all = all cores: not measured, only one core (cpu {cpus}) was in scope"),
    );
    let mut parts: Vec<String> = rates.then(|| format!("one = one core, {all}")).into_iter().collect();
    let copies = rows.iter().any(|(_, row)| row.rates[COPY * SPANS.len()..].iter().any(Option::is_some));
    parts.extend(copies.then(|| COPY_COUNTS.to_owned()));
    // A row's mark is that of its worst number.
    let grades: BTreeSet<Grade> = rows.iter().filter_map(|(_, row)| row.worst()).collect();
    let grades: Vec<String> = grades.into_iter().map(|grade| format!("{} {grade}", style.mark(grade))).collect();
    parts.extend((!grades.is_empty()).then(|| grades.join(", ")));
    let first =
        |row: &LadderRow<'a>, span: usize| row.rates.iter().skip(span).step_by(SPANS.len()).flatten().next().copied();
    let measured = footprints(rows.iter().map(|(_, row)| [row.latency, first(row, 0), first(row, 1)]));
    let texts = [parts.join("; "), measured].into_iter().filter(|text| !text.is_empty());
    texts.map(|text| paragraph("  ", &text, Ink::Dim)).collect()
}

/// The memory that rows were measured over, of each their latency and a rate by one core and by all: a part of the
/// tier, whose rest may behave otherwise. Empty if no figure says.
pub(crate) fn footprints<'a>(rows: impl Iterator<Item = [Option<&'a Finding>; 3]>) -> String {
    const OF: [&str; 3] = ["latency", "one core", "all cores, each"];
    // Nodes of one tier are measured alike.
    let of = |finding: &Finding| {
        let tier = finding.labels.get(Labels::TIER)?.split(" node ").next()?;
        Some(format!("{tier} {}", finding.labels.size()?))
    };
    let each = rows.flat_map(|row| OF.into_iter().zip(row)).filter_map(|(what, finding)| Some((what, of(finding?)?)));
    let lists = grouped(each).into_iter().map(|(what, sizes)| (distinct(sizes).join(", "), what));
    let lists = grouped(lists).into_iter().map(|(list, what)| format!("{list} ({})", what.join("; ")));
    let lists: Vec<String> = lists.collect();
    if lists.is_empty() { String::new() } else { format!("Measured over {}", lists.join("; ")) }
}

/// The findings of one tier.
struct LadderRow<'a> {
    size: Option<&'a Finding>,
    latency: Option<&'a Finding>,
    /// In the order of [`OPS`] and [`SPANS`].
    rates: Vec<Option<&'a Finding>>,
    /// Rates of other operations, shown below the table.
    others: Vec<&'a Finding>,
    peak: Option<&'a Finding>,
}

impl<'a> LadderRow<'a> {
    /// Takes the findings of a tier, which are at some places.
    fn take(places: &[usize], shown: &mut Shown<'a>) -> Self {
        let of = |f: &Finding, metric: Quantity| f.metric == metric;
        let mut take = |fits: &dyn Fn(&Finding) -> bool| shown.take_of(places.iter().copied(), fits).next();
        let size = take(&|f| of(f, Quantity::TierSize));
        // The random chase is the headline; another layout is shown only without one.
        let headline = |f: &Finding| f.labels.has_usual_layout();
        let latency = take(&|f| of(f, Quantity::Latency) && headline(f))
            .or_else(|| take(&|f| of(f, Quantity::Latency) && f.labels.get(Labels::STATISTIC).is_none()));
        let mut rates = Vec::new();
        for op in OPS {
            for span in SPANS {
                let rate = |f: &Finding| f.labels.is(Labels::OP, op) && f.labels.is(Labels::SPAN, span);
                rates.push(take(&|f| of(f, Quantity::Bandwidth) && rate(f)));
            }
        }
        let other = |f: &Finding| f.labels.is_for(Purpose::Ladder) && f.labels.get(Labels::KERNEL).is_some();
        let others = shown.take_of(places.iter().copied(), |f| of(f, Quantity::Bandwidth) && other(f)).collect();
        // The best share is the row's; all of them are shown below.
        let shares = places.iter().map(|at| shown.findings[*at]).filter(|f| of(f, Quantity::PeakShare));
        let known = shares.filter(|f| f.value.is_some_and(f64::is_finite));
        let peak = known.max_by(|a, b| a.value.unwrap_or(0.0).total_cmp(&b.value.unwrap_or(0.0)));
        Self { size, latency, rates, others, peak }
    }

    /// Which cells have something in them, tier and verdict included. One span of an operation brings the other's
    /// column along.
    fn has(&self) -> Vec<bool> {
        let mut has = vec![true, self.size.is_some(), self.latency.is_some()];
        has.extend(self.rates.chunks(SPANS.len()).flat_map(|op| [op.iter().any(Option::is_some); SPANS.len()]));
        has.extend([self.peak.is_some(), true]);
        has
    }

    fn all(&self) -> impl Iterator<Item = &'a Finding> {
        [self.size, self.latency].into_iter().chain(self.rates.iter().copied()).flatten()
    }

    /// The worst grade of its numbers: what was looked for in vain is none.
    fn worst(&self) -> Option<Grade> {
        self.all().filter(|f| is_number(f)).map(|f| f.verdict.grade).max()
    }

    fn add_reasons(&self, reasons: &mut Reasons) {
        self.all().chain(self.others.iter().copied()).for_each(|f| reasons.add_finding(&subject(f), f));
    }

    fn cells(&self, name: &str, style: &Style) -> Vec<Cell> {
        let number = |f: Option<&Finding>, show: &dyn Fn(&Finding, f64) -> Number| match f {
            Some(f) => graded(f.value.map(|v| show(f, v)), &f.verdict, f.unit, style),
            None => graded(None::<String>, &Verdict::trusted(), Unit::Count, style),
        };
        let mut cells = vec![Cell::new(name), number(self.size, &|_, v| measured_size(v))];
        cells.push(number(self.latency, &|f, v| match f.interval {
            Some(_) => with_interval(v, f.interval, f.unit, style),
            None => nanoseconds(v).into(),
        }));
        cells.extend(self.rates.iter().map(|f| number(*f, &|_, v| rate(v, style).into())));
        cells.push(Cell::new(self.peak.and_then(|f| f.value).map(percent).unwrap_or_default()));
        cells.push(self.worst().map_or_else(Cell::default, |grade| {
            // The word is added where the terminal has room for it.
            Cell::inked(style.mark(grade), grade_ink(grade)).if_wide(&format!(" {grade}"))
        }));
        cells
    }

    fn winners(&self, name: &str, style: &Style) -> Vec<Winner> {
        let columns = self.rates.iter().flatten().map(|f| (*f, true));
        let others = self.others.iter().map(|f| (*f, false));
        columns.chain(others).filter_map(|(f, in_table)| Winner::new(f, name, in_table, style)).collect()
    }

    /// Remarks that stand below the table: all with `verbose`, else only those of numbers that are not what the column
    /// says.
    fn notes(&self, name: &str, style: &Style) -> Vec<String> {
        let odd = |f: &&Finding| !f.labels.has_usual_layout();
        let said = [
            ("size", self.size.filter(|_| style.verbose)),
            ("latency", self.latency.filter(|f| style.verbose || odd(f))),
        ];
        let of_cell =
            said.into_iter().filter_map(|(what, f)| Some(format!("{name} {what}: {}", f?.note(style.rate_unit)?)));
        // The remarks of rates stand beside their kernels, where they have one.
        let rates = self.rates.iter().flatten().filter(|f| f.labels.get(Labels::KERNEL).is_none());
        let of_rate = rates.filter_map(|f| Some(format!("{}: {}", subject(f), f.note(style.rate_unit)?)));
        of_cell.chain(of_rate).collect()
    }
}

/// Every share of the theoretical peak in one line a tier.
fn shares(shown: &mut Shown<'_>, style: &Style) -> Page {
    let mut out = Page::new();
    let mut reasons = Reasons::new(style);
    let shares = shown.take_all(|f| f.metric == Quantity::PeakShare && row_name(&f.labels).is_some());
    shares.iter().for_each(|f| reasons.add(&subject(f), &f.verdict));
    let part = |f: &&Finding| {
        let words = [f.labels.get(Labels::OP), f.labels.get(Labels::SPAN)];
        let what = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let text = format!("{what} {}", f.value.map_or_else(|| style.absent().to_owned(), percent));
        (row_name(&f.labels).unwrap_or_default(), text)
    };
    for (name, parts) in grouped(shares.iter().map(part)) {
        let text = format!("{name}, share of the theoretical peak: {}", parts.join(", "));
        out += paragraph("  ", &text, Ink::Plain);
    }
    out + reasons.page(style)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell as Count;

    use super::*;

    #[test]
    fn a_finding_is_looked_at_once_however_many_are_taken() {
        const FINDINGS: usize = 100;
        let json = serde_json::json!({
            "metric": "latency", "labels": {}, "value": 1.0, "unit": "ns", "samples": 1,
            "verdict": Verdict::trusted(), "evidence": [],
        });
        let finding: Finding = serde_json::from_value(json).unwrap();
        let mut shown = Shown::new(std::iter::repeat_n(&finding, FINDINGS));
        let looks = Count::new(0);
        let fits = |_: &Finding| {
            looks.set(looks.get() + 1);
            true
        };
        assert_eq!((shown.take_all(fits).len(), looks.get()), (FINDINGS, FINDINGS));
        assert!(shown.take_all(fits).is_empty() && looks.get() == FINDINGS, "what was taken is not looked at again");
    }

    #[test]
    fn tiers_named_after_their_node_are_named_once() {
        let name = |tier: &str, node: u64| row_name(&Labels::new().text(Labels::TIER, tier).whole(Labels::NODE, node));
        assert_eq!(name("DRAM", 1).as_deref(), Some("DRAM node 1"));
        assert_eq!(name("DRAM node 1", 1).as_deref(), Some("DRAM node 1"));
        assert_eq!(name("far node 2", 2).as_deref(), Some("far node 2"));
        assert_eq!(name("far node 12", 2).as_deref(), Some("far node 12 node 2"));
        assert_eq!(row_name(&Labels::new().whole(Labels::NODE, 1)), None);
    }
}
