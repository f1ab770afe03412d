//! The ladder: one row a tier, with what each tier does and how far that can be trusted.

use crate::remark::remark;
use crate::shown::Shown;
use std::collections::BTreeSet;

use tiermark_model::{Finding, Grade, LADDER_OPS, LADDER_SPANS, Machine, Quantity, Run, Rung, Span, ValueKind};
use tiermark_page::{
    ABSENT, Cell, Detail, Fit, Ink, Number, Page, Table, Text, fitting, grade_ink, grade_mark, graded, heading,
    measured_size, number, paragraph, percent, rate, rate_unit, text,
};

use crate::kernels::{Winner, kernels};
use crate::order::{distinct, grouped};
use crate::reasons::Reasons;
use crate::survey::{TierSize, declared};
use crate::tally::{is_number, summary};

/// The place of copies among [`LADDER_OPS`].
pub(crate) const COPY: usize = 2;
/// What rates of copies are of: elsewhere a copy of 1 GB may count once.
pub(crate) const COPY_COUNTS: &str = "copy counts the bytes read and the bytes written";

/// A finding's name in a list of reasons.
pub(crate) fn subject(finding: &Finding) -> String {
    let labels = &finding.labels;
    let mut words: Vec<String> = labels.tier_of_node().into_iter().collect();
    if words.is_empty() {
        words.extend(labels.size().map(|s| s.to_string()));
    }
    let what = match &finding.quantity {
        Quantity::Bandwidth => labels.op().or_else(|| labels.kernel()).unwrap_or("bandwidth").to_owned(),
        Quantity::TierSize => "size".to_owned(),
        Quantity::LatencyTail => "tail".to_owned(),
        Quantity::BandwidthScaling => format!("{} scaling", labels.op().unwrap_or("bandwidth")),
        metric => metric.name().to_owned(),
    };
    words.push(what);
    // The quantiles of a tail count as one, and a scaling by its threads.
    let scaling = finding.quantity == Quantity::BandwidthScaling;
    words.extend(labels.layout().filter(|_| !labels.has_usual_layout()).map(str::to_owned));
    words.extend(labels.span().filter(|_| !scaling).map(|span| span.to_string()));
    if scaling || labels.span().is_none() {
        let threads = |n: u64| if n == 1 { "1 thread".to_owned() } else { format!("{n} threads") };
        words.extend(labels.threads().map(threads));
    }
    words.join(" ")
}

/// The rows of a ladder, which take their findings; none when no finding names a tier.
pub(crate) fn take_rows<'a>(shown: &mut Shown<'a>) -> Vec<LadderRow<'a>> {
    let rows: Vec<LadderRow<'a>> = tiermark_model::ladder(shown.left()).into_iter().map(LadderRow::new).collect();
    for row in &rows {
        let numbers: Vec<&Finding> = row.all().chain(row.others.iter().copied()).collect();
        shown.take_these(&numbers);
        shown.count(&numbers);
    }
    rows
}

/// The tiers of a run that goes on, by what was found so far; empty where no finding names one.
pub fn rows_so_far(run: &Run) -> Page {
    let mut shown = Shown::new(run.experiments.iter().flat_map(|experiment| &experiment.findings));
    let rows = take_rows(&mut shown);
    if rows.is_empty() { Page::new() } else { table(&rows, &run.machine) + summary(&shown.numbers) }
}

/// The ladder with its reasons and kernels; `shares` are those of the theoretical peak. `only` names the cpus where they
/// are of one core, `machine` declares sizes.
pub(crate) fn ladder(
    rows: &[LadderRow<'_>],
    shares: &[&Finding],
    (only, machine): (Option<&str>, &Machine),
    detail: Detail,
) -> Page {
    if rows.is_empty() {
        return Page::new();
    }
    let mut reasons = Reasons::default();
    rows.iter().for_each(|row| row.add_reasons(&mut reasons));
    let others_in_table = !other_columns(rows).is_empty();
    let winners: Vec<Winner> = rows.iter().flat_map(|row| row.winners(others_in_table)).collect();
    let notes = rows.iter().flat_map(|row| row.notes(detail));
    let notes: Page = notes.map(|note| paragraph("  ", &note, Ink::Dim)).collect();
    let above = heading("The ladder") + table(rows, machine) + key(rows, only) + reasons.page(detail);
    above + notes + self::shares(shares, detail) + kernels(&winners, detail)
}

/// The table itself. Columns that no tier fills are dropped: a run of one probe has half of them.
fn table(rows: &[LadderRow<'_>], machine: &Machine) -> Page {
    let has = |is_filled: &dyn Fn(&LadderRow<'_>) -> bool| rows.iter().any(is_filled);
    let others = other_columns(rows);
    let layout = |with_grades: bool| {
        let table = Table::of(rows).texts("tier", |row| &row.rung.name);
        let table = table.when(has(&|row| row.size.is_some()), |table| {
            table.figures("size", |row| {
                let about = row.size.and_then(|found| TierSize::of(found, declared(&row.rung.name, machine)));
                let graded = || valued(row.size, |_, v| measured_size(v));
                about.filter(|size| !matches!(size, TierSize::Measured(_))).map_or_else(graded, Cell::new)
            })
        });
        let table = table.when(has(&|row| row.latency.is_some()), |table| {
            let latency = |f: &Finding, v: f64| number(v, f.unit).within(f.interval);
            table.figures("latency|ns", |row| valued(row.latency, latency))
        });
        let table = table.each(LADDER_OPS.into_iter().enumerate(), |table, (at, op)| {
            let [one, all] = [0, 1].map(|span| at * LADDER_SPANS.len() + span);
            // One span of an operation brings the other's column along.
            table.when(has(&|row| row.rates[one].is_some() || row.rates[all].is_some()), |table| {
                let cell = |row: &LadderRow<'_>, at: usize| valued(row.rates[at], |_, v| rate(v));
                let table = table.figures(format!("{op}|one"), |row| cell(row, one));
                table.figures(rate_unit() + "|all", |row| cell(row, all))
            })
        });
        let table = table.each(others.iter().copied(), |table, column @ (op, span)| {
            let threads = match span {
                Some(Span::Threads(1)) => "1 thread".to_owned(),
                Some(Span::Threads(threads)) => format!("{threads} threads"),
                span => span.map(|span| span.to_string()).unwrap_or_default(),
            };
            table.figures(text![op, " ", rate_unit(), "|", threads], |row| valued(row.other(column), |_, v| rate(v)))
        });
        let table = table.when(has(&|row| row.peak.is_some()), |table| {
            table.numbers("of|peak", |row| row.peak.and_then(|f| f.value).map(percent).unwrap_or_default())
        });
        let grade = |grade| {
            // The word is added where the terminal has room for it.
            Cell::inked(grade_mark(grade), grade_ink(grade)).if_wide(&format!(" {}", grade.in_words()))
        };
        let table = table.when(with_grades, |table| table.texts("", |row| row.worst(&others).map(grade)));
        table.table().gap(1).indent(1).into()
    };
    // Each number has its own mark: the row's gives way before the table is cut into blocks.
    fitting(vec![layout(true), layout(false)], Fit::Uncut)
}

/// An operation, and the threads that did it.
type OtherColumn<'a> = (&'a str, Option<Span>);

/// The columns of a run whose rates all are of operations or threads that no ladder has.
fn other_columns<'a>(rows: &[LadderRow<'a>]) -> Vec<OtherColumn<'a>> {
    if rows.iter().any(|row| row.rates.iter().any(Option::is_some)) {
        return Vec::new();
    }
    let mut columns: Vec<OtherColumn<'a>> = Vec::new();
    for column in rows.iter().flat_map(|row| row.others.iter().filter_map(|f| Some((f.labels.op()?, f.labels.span()))))
    {
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    columns
}

fn valued(f: Option<&Finding>, show: impl Fn(&Finding, f64) -> Number) -> Cell {
    f.map_or_else(|| Cell::new(ABSENT), |f| graded(f.value.map(|v| show(f, v)), &f.verdict, f.unit))
}

/// What stands beside the numbers of the table, as far as it is used.
fn key<'a>(rows: &[LadderRow<'a>], only: Option<&str>) -> Page {
    let rates = rows.iter().any(|row| row.rates.iter().any(Option::is_some));
    let all = only.map_or_else(
        || "all = all cores".to_owned(),
        |cpus| format!("all = all cores: not measured, only one core (cpu {cpus}) was in scope"),
    );
    let mut parts: Vec<String> = rates.then(|| format!("one = one core, {all}")).into_iter().collect();
    let others = other_columns(rows);
    let other_copy = others.iter().any(|(op, _)| *op == LADDER_OPS[COPY]);
    let copies =
        other_copy || rows.iter().any(|row| row.rates[COPY * LADDER_SPANS.len()..].iter().any(Option::is_some));
    parts.extend(copies.then(|| COPY_COUNTS.to_owned()));
    // A row's mark is that of its worst number.
    let grades: BTreeSet<Grade> = rows.iter().filter_map(|row| row.worst(&others)).collect();
    let grades: Vec<String> = grades
        .into_iter()
        .map(|grade| format!("{} {}", grade_mark(grade), grade.in_words()).trim().to_owned())
        .collect();
    parts.extend((!grades.is_empty()).then(|| grades.join(", ")));
    let first = |row: &LadderRow<'a>, span: usize| {
        row.rates.iter().skip(span).step_by(LADDER_SPANS.len()).flatten().next().copied()
    };
    let measured = footprints(rows.iter().map(|row| [row.latency, first(row, 0), first(row, 1)]));
    let texts = [parts.join("; "), measured].into_iter().filter(|text| !text.is_empty());
    texts.map(|text| paragraph("  ", &text, Ink::Dim)).collect()
}

/// The memory that rows were measured over, of each their latency and a rate by one core and by all: a part of the
/// tier, whose rest may behave otherwise. Empty if no figure says.
pub(crate) fn footprints<'a>(rows: impl Iterator<Item = [Option<&'a Finding>; 3]>) -> String {
    const OF: [&str; 3] = ["latency", "one core", "all cores, each"];
    // Nodes of one tier are measured alike.
    let footprint = |finding: &Finding| {
        let tier = finding.labels.tier_name()?.split(" node ").next()?;
        Some(format!("{tier} {}", finding.labels.size()?))
    };
    let each =
        rows.flat_map(|row| OF.into_iter().zip(row)).filter_map(|(what, finding)| Some((what, footprint(finding?)?)));
    let lists = grouped(each).into_iter().map(|(what, sizes)| (distinct(sizes).join(", "), what));
    let lists = grouped(lists).into_iter().map(|(list, what)| format!("{list} ({})", what.join("; ")));
    let lists: Vec<String> = lists.collect();
    if lists.is_empty() { String::new() } else { format!("Measured over {}", lists.join("; ")) }
}

/// The findings of one tier.
pub(crate) struct LadderRow<'a> {
    pub(crate) rung: Rung<'a>,
    size: Option<&'a Finding>,
    latency: Option<&'a Finding>,
    /// In the order of [`LADDER_OPS`] and [`LADDER_SPANS`].
    rates: Vec<Option<&'a Finding>>,
    /// Rates of other operations, shown below the table.
    others: Vec<&'a Finding>,
    peak: Option<&'a Finding>,
}

impl<'a> LadderRow<'a> {
    fn new(rung: Rung<'a>) -> Self {
        let spans = |op: &'static str| LADDER_SPANS.map(|span| rung.rate(op, span));
        let rates = LADDER_OPS.into_iter().flat_map(spans).collect();
        let others = rung.other_rates().collect();
        Self { size: rung.size(), latency: rung.latency(), rates, others, peak: rung.best_share(), rung }
    }

    /// Its latency, and its rates by one core.
    pub(crate) fn of_one_core(&self) -> impl Iterator<Item = &'a Finding> {
        self.latency.into_iter().chain(self.rates.iter().step_by(LADDER_SPANS.len()).copied().flatten())
    }

    fn all(&self) -> impl Iterator<Item = &'a Finding> {
        [self.size, self.latency].into_iter().chain(self.rates.iter().copied()).flatten()
    }

    /// The worst grade of its numbers: what was looked for in vain is none.
    fn worst(&self, others: &[OtherColumn<'_>]) -> Option<Grade> {
        let others = others.iter().filter_map(|column| self.other(*column));
        self.all().chain(others).filter(|f| is_number(f)).map(|f| f.verdict.grade).max()
    }

    fn add_reasons(&self, reasons: &mut Reasons) {
        self.all().chain(self.others.iter().copied()).for_each(|f| reasons.add_finding(&subject(f), f));
    }

    /// The rate of another column.
    fn other(&self, column: OtherColumn<'_>) -> Option<&'a Finding> {
        self.others.iter().find(|f| (f.labels.op(), f.labels.span()) == (Some(column.0), column.1)).copied()
    }

    fn winners(&self, others_in_table: bool) -> Vec<Winner> {
        let columns = self.rates.iter().flatten().map(|f| (*f, true));
        let has_cell = |f: &Finding| {
            let cell = f.labels.op().and_then(|op| self.other((op, f.labels.span())));
            others_in_table && cell.is_some_and(|cell| std::ptr::eq(cell, f))
        };
        let others = self.others.iter().map(|f| (*f, has_cell(f)));
        columns.chain(others).filter_map(|(f, in_table)| Winner::new(f, &self.rung.name, in_table)).collect()
    }

    /// Remarks that stand below the table: all in detail, else only those of numbers that are not what the column
    /// says.
    fn notes(&self, detail: Detail) -> Vec<Text> {
        let name = &self.rung.name;
        let odd = |f: &&Finding| !f.labels.has_usual_layout();
        let parts = [
            ("size", self.size.filter(|_| detail.is_all())),
            ("latency", self.latency.filter(|f| detail.is_all() || odd(f))),
        ];
        let of_cell = parts.into_iter().filter_map(|(what, f)| Some(text![format!("{name} {what}: "), remark(f?)?]));
        let of_visits = self.spread().filter(|_| detail.is_all());
        // The remarks of rates stand beside their kernels, where they have one.
        let rates = self.rates.iter().flatten().filter(|f| f.labels.kernel().is_none());
        let of_rate = rates.filter_map(|f| Some(text![subject(f), ": ", remark(f)?]));
        of_cell.chain(of_visits).chain(of_rate).collect()
    }

    /// The spread of visits around typical values, and the best where it is told.
    fn spread(&self) -> Option<Text> {
        let name = &self.rung.name;
        let one = |f: &&Finding| {
            let quoted = f.quoted();
            let typical = quoted.typical.filter(|_| quoted.kind == Some(ValueKind::Typical))?;
            let [p10, p90] = [typical.p10, typical.p90].map(|value| number(value, f.unit));
            let best = quoted.best.map(|best| text![", best ", number(best, f.unit)]).unwrap_or_default();
            let what = subject(f);
            let what = what.strip_prefix(name.as_str()).unwrap_or(&what).trim().to_owned();
            Some(text![what, " ", p10, "–", p90.with_unit(), best])
        };
        let all: Vec<Text> = self.all().filter_map(|f| one(&f)).collect();
        (!all.is_empty()).then(|| text![format!("{name}, p10 to p90 of visits: "), Text::joined(all, "; ")])
    }
}

/// Every share of the theoretical peak in one line a tier.
fn shares(shares: &[&Finding], detail: Detail) -> Page {
    let mut out = Page::new();
    let mut reasons = Reasons::default();
    shares.iter().for_each(|f| reasons.add(&subject(f), &f.verdict));
    let part = |f: &&Finding| {
        let words = [f.labels.op().map(str::to_owned), f.labels.span().map(|span| span.to_string())];
        let what = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let text = format!("{what} {}", f.value.map_or_else(|| ABSENT.to_owned(), percent));
        (f.labels.tier_of_node().unwrap_or_default(), text)
    };
    for (name, parts) in grouped(shares.iter().map(part)) {
        let text = format!("{name}, share of the theoretical peak: {}", parts.join(", "));
        out += paragraph("  ", &text, Ink::Plain);
    }
    out + reasons.page(detail)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell as Count;

    use tiermark_model::{Labels, Purpose, Tier, Unit};

    use super::*;

    #[test]
    fn a_finding_is_looked_at_once_however_many_are_taken() {
        const FINDINGS: usize = 100;
        let json = serde_json::json!({
            "metric": "latency", "labels": {}, "value": 1.0, "unit": "ns", "samples": 1,
            "verdict": tiermark_model::Verdict::trusted(), "evidence": [],
        });
        let finding: Finding = serde_json::from_value(json).unwrap();
        let findings = vec![finding; FINDINGS];
        let mut shown = Shown::new(findings.iter());
        let looks = Count::new(0);
        let fits = |_: &Finding| {
            looks.set(looks.get() + 1);
            true
        };
        assert_eq!((shown.take_all(fits).len(), looks.get()), (FINDINGS, FINDINGS));
        assert!(shown.take_all(fits).is_empty() && looks.get() == FINDINGS, "what was taken is not looked at again");
    }

    /// Threads that no ladder has, and an operation that none has: columns of their own, with the marks of their numbers.
    #[test]
    fn rates_of_other_threads_and_operations_have_columns() {
        let rate = |op: &str, value: f64, grade: Grade| {
            let labels = Labels::new().with_purpose(Purpose::Ladder).with_tier(Tier::Dram).with_op(op);
            let labels = labels.with_span(Span::Threads(2)).with_kernel(format!("{op}/avx2"));
            let mut found = Finding::new(Quantity::Bandwidth, labels, Some(value), Unit::BytesPerSecond);
            found.verdict.grade = grade;
            found
        };
        let findings = [rate("copy", 42.5e9, Grade::Trusted), rate("triad", 38.5e9, Grade::Suspect)];
        let rows = take_rows(&mut Shown::new(findings.iter()));
        let page = ladder(&rows, &[], (None, &Machine::default()), Detail::Usual);
        let text = tiermark_page::terminal(&page, &tiermark_page::Style::default());
        for said in ["copy GB/s", "triad GB/s", "2 threads", "42.5", "38.5", COPY_COUNTS, Grade::Suspect.in_words()] {
            assert!(text.contains(said), "{said}: {text}");
        }
        assert_eq!(text.matches("42.5").count(), 1, "a number of the table is not among the kernels: {text}");
        assert_eq!(rows[0].worst(&other_columns(&rows)), Some(Grade::Suspect));
    }
}
