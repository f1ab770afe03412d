//! Observations by size: curves as plots, tables as tables, and the rest, so that nothing measured is invisible.

use std::collections::BTreeSet;

use tiermark_model::{ChainLayout, IdSet, LabelSet, Machine, Metric, Observation, Purpose, Refusal};
use tiermark_page::{
    Detail, Ink, NO_VALUE, Page, Plot, ROWS, Rates, Series, Table, Text, graded, heading, number, paragraph, percent,
    plot, rate_unit, short_size, space, text, variants,
};

use crate::order::grouped;
use crate::points::observed;
use crate::reasons::Reasons;
use crate::sizes::{by_size, without_intervals};

/// The charts, in their order.
const METRICS: [Metric; 2] = [Metric::Latency, Metric::Bandwidth];
/// Most curves in one plot in characters: more cannot be distinguished.
const CURVES: usize = 5;
/// A browser has a colour more.
const CURVES_IN_COLOUR: usize = 6;

/// Labels that do not name a series: they say where on it a point is, or why it is in the plan.
const NOT_A_NAME: LabelSet = LabelSet::NONE.purpose().size().tier().cpus();

/// How the series of some observations are named: by the labels that differ; those that all share are the caption.
struct Names {
    /// Labels that name no series.
    without: LabelSet,
    caption: String,
}

impl Names {
    /// The kernel that won may change along a series, so it names none; the number of threads says what the span does.
    fn new(observations: &[&Observation]) -> Self {
        let without = NOT_A_NAME
            .and_if(observations.iter().any(|o| o.labels.op().is_some()), LabelSet::NONE.kernel())
            .and_if(observations.iter().all(|o| o.labels.threads().is_some()), LabelSet::NONE.span());
        let shared = LabelSet::shared(observations.iter().map(|o| &o.labels)).without(without);
        let caption = observations.first().map_or_else(String::new, |first| first.labels.words_of(shared));
        Self { without: without.and(shared), caption }
    }

    fn name(&self, observation: &Observation) -> String {
        observation.labels.words(self.without)
    }

    /// The name without a mark of layouts that prefetchers follow.
    fn unmarked_name(&self, observation: &Observation) -> String {
        observation.labels.words_unmarked(self.without)
    }

    /// The title with the caption.
    fn titled(&self, title: Text) -> Text {
        if self.caption.is_empty() { title } else { title + format!(" ({})", self.caption) }
    }

    /// Observations in groups of the same name, in order of first appearance.
    fn groups<'a>(&self, observations: &[&'a Observation]) -> Vec<(String, Vec<&'a Observation>)> {
        grouped(observations.iter().map(|observation| (self.name(observation), *observation)))
    }
}

fn is_for(observation: &Observation, metric: Metric, purpose: Purpose) -> bool {
    observation.metric == metric && observation.labels.is_for(purpose) && observation.labels.size().is_some()
}

fn title(metric: Metric) -> Text {
    match metric {
        Metric::Latency => "Latency by size, ns".into(),
        Metric::Bandwidth => Text::from("Bandwidth by size, ") + rate_unit(),
    }
}

/// How curves are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// All curves, with a count of doubtful points; each point in detail.
    Usual,
    /// The curves behind a ladder, as they look.
    Brief,
    /// All curves, twice as high, with a table of their points.
    Large,
}

/// Curves of latency and of bandwidth over size.
pub(crate) fn curves(observations: &[&Observation], machine: &Machine, detail: Detail) -> Page {
    all(observations, machine, Form::Usual, &METRICS, detail)
}

/// The curve of the random chase, without a word about its points; on a page those of bandwidth as well.
pub(crate) fn brief(observations: &[&Observation], machine: &Machine, detail: Detail) -> Page {
    let latency = all(observations, machine, Form::Brief, &METRICS[..1], detail);
    let both = all(observations, machine, Form::Brief, &METRICS, detail);
    if latency.is_empty() { both } else { variants(latency, both) }
}

/// All curves, large, with their points.
pub(crate) fn large(observations: &[&Observation], machine: &Machine, detail: Detail) -> Page {
    all(observations, machine, Form::Large, &METRICS, detail)
}

fn all(observations: &[&Observation], machine: &Machine, form: Form, metrics: &[Metric], detail: Detail) -> Page {
    let mut out = Page::new();
    let rows = if form == Form::Large { 2 * ROWS } else { ROWS };
    for metric in metrics.iter().copied() {
        let mut points: Vec<&Observation> =
            observations.iter().filter(|o| is_for(o, metric, Purpose::Curve)).copied().collect();
        if form == Form::Brief {
            points = headlines(points);
        }
        if metric == Metric::Bandwidth {
            points.extend(figures_on(&points, observations));
            let mut ops: Vec<Option<&str>> = points.iter().map(|o| o.labels.op()).collect();
            ops.dedup();
            let turn = |o: &&Observation| ops.iter().position(|op| *op == o.labels.op());
            points.sort_by_key(|o| (turn(o), o.labels.bytes()));
        }
        if points.is_empty() {
            continue;
        }
        let names = Names::new(&points);
        out += match form {
            Form::Brief => brief_title(metric, &points, machine),
            _ => heading(names.titled(title(metric))),
        };
        let groups = names.groups(&points);
        let drawn = |most: usize| groups.chunks(most).map(|some| drawn(some, metric, machine, rows)).collect();
        out += variants(drawn(CURVES), drawn(CURVES_IN_COLOUR));
        let counted = || reasons(&points, &names).counted(points.len(), "points");
        let counted = || counted().map(|text| paragraph("  ", &text, Ink::Dim)).unwrap_or_default();
        out += match form {
            Form::Brief => Page::new(),
            _ if detail.is_all() => by_size(&groups) + reasons(&points, &names).page(detail),
            Form::Usual => counted(),
            Form::Large => space() + without_intervals(&groups) + counted(),
        };
    }
    out
}

/// The figures of the ladder that lie on these curves: where there is one, no point of a curve is measured beside it.
fn figures_on<'a>(points: &[&'a Observation], observations: &[&'a Observation]) -> Vec<&'a Observation> {
    let is_on = |o: &&&Observation| {
        let same = |point: &&Observation| {
            point.labels.are_alike(&o.labels, |of| (of.op(), of.page(), of.threads(), of.node()))
        };
        points.iter().any(same) && points.iter().all(|point| point.labels.size() != o.labels.size() || !same(point))
    };
    observations.iter().filter(|o| is_for(o, Metric::Bandwidth, Purpose::Ladder)).filter(is_on).copied().collect()
}

/// Legend of the curves behind a ladder, and of the marks below the axis.
fn brief_title(metric: Metric, points: &[&Observation], machine: &Machine) -> Page {
    let one = metric == Metric::Bandwidth && points.iter().all(|o| o.labels.threads() == Some(1));
    let one = if one { ", one core" } else { "" };
    let title = text![title(metric), one, ends(points, machine).unwrap_or_default()];
    if cache_marks(machine).is_empty() {
        return heading(title);
    }
    // A browser draws lines where a terminal has signs.
    let [signs, lines] =
        ["^", "dotted lines:"].map(|mark| heading(title.clone() + format!(" ({mark} cache sizes as declared)")));
    variants(signs, lines)
}

/// The node of the cpus and that of the memory, where a node was asked for: such a run may have curves of several
/// pairs.
fn ends(points: &[&Observation], machine: &Machine) -> Option<String> {
    let first = points.first()?;
    let (to, cpus) = (first.labels.node()?, first.labels.cpus()?);
    let is_same = |o: &&Observation| o.labels.node() == Some(to);
    let cpus = IdSet::from_plain_list(cpus).ok()?;
    let from = machine.node_of(cpus.iter().next()?)?;
    points.iter().all(is_same).then(|| format!(", cpus of node {from}, memory of node {to}"))
}

/// The points of the curves behind a ladder: of chases, the random one in the pages of the first.
fn headlines(points: Vec<&Observation>) -> Vec<&Observation> {
    let is_random =
        |o: &&Observation| o.labels.layout() == Some("random") && o.labels.chains().is_none_or(|chains| chains == 1);
    let Some(first) = points.iter().find(|o| is_random(o)) else { return points };
    let page = first.labels.page();
    points.iter().filter(|o| is_random(o) && o.labels.page() == page).copied().collect()
}

fn drawn(groups: &[(String, Vec<&Observation>)], metric: Metric, machine: &Machine, rows: usize) -> Page {
    let rates = if metric == Metric::Latency { Rates::None } else { Rates::Y };
    let point = |o: &&Observation| Some(((o.labels.size()?.0 as f64, o.value.unwrap_or(NO_VALUE)), observed(o)));
    let series: Vec<Series> = groups
        .iter()
        .map(|(name, group)| {
            let (points, about) = group.iter().filter_map(point).unzip();
            Series { name: name.clone(), points, about, ..Series::default() }
        })
        .collect();
    let log_y = metric == Metric::Latency || wide(&series);
    let drawing = plot(Plot {
        unit: Text::axis(metric.unit()),
        rates,
        log_y,
        series,
        marks: cache_marks(machine),
        rows,
        ..Plot::default()
    });
    if drawing.is_empty() { paragraph("  ", "no point could be measured", Ink::Dim) } else { drawing }
}

/// Whether the values are so far apart that a linear axis would flatten the small ones into its lowest row.
fn wide(series: &[Series]) -> bool {
    let values = || series.iter().flat_map(|s| &s.points).map(|p| p.1).filter(|v| v.is_finite() && *v > 0.0);
    values().fold(0.0, f64::max) > 10.0 * values().fold(f64::INFINITY, f64::min)
}

/// The declared data cache sizes, to compare with where the curve bends.
fn cache_marks(machine: &Machine) -> Vec<(f64, String)> {
    let sizes: BTreeSet<(u8, u64)> = machine.data_caches().filter_map(|c| Some((c.level, c.bytes?))).collect();
    sizes.into_iter().map(|(level, bytes)| (bytes as f64, format!("L{level} {}", short_size(bytes as f64)))).collect()
}

fn reasons(points: &[&Observation], names: &Names) -> Reasons {
    let mut reasons = Reasons::default();
    for o in points {
        let at = o.labels.size().map_or(String::new(), |s| s.to_string());
        // Heads and captions say where the prefetcher takes part.
        let name = names.unmarked_name(o);
        reasons.add(format!("{at} {name}").trim(), &o.verdict);
    }
    reasons
}

/// Tables of sizes that the user named (`purpose=table`), latency and bandwidth apart.
pub(crate) fn tables(observations: &[&Observation], machine: &Machine, detail: Detail) -> Page {
    let mut out = Page::new();
    for metric in [Metric::Latency, Metric::Bandwidth] {
        let cells: Vec<&Observation> =
            observations.iter().filter(|o| is_for(o, metric, Purpose::Table)).copied().collect();
        if !cells.is_empty() {
            let names = Names::new(&cells);
            out += heading(names.titled(title(metric)));
            let groups = names.groups(&cells);
            // A browser has room for the picture beside the numbers.
            if is_curve(&groups) {
                let drawn = groups.chunks(CURVES_IN_COLOUR).map(|some| drawn(some, metric, machine, ROWS));
                out += variants(Page::new(), drawn.collect());
            }
            out += by_size(&groups) + reasons(&cells, &names).page(detail);
            out += shared_lines(&cells);
            out += winners(&groups);
        }
    }
    out
}

/// Whether some series has enough sizes for a curve.
fn is_curve(groups: &[(String, Vec<&Observation>)]) -> bool {
    groups.iter().any(|(_, group)| group.iter().filter(|o| o.value.is_some()).count() > 3)
}

/// How many accesses share a line, of strides below one.
fn shared_lines(cells: &[&Observation]) -> Page {
    const LINE: u64 = 64;
    let stride = |o: &&Observation| match o.labels.layout()?.parse() {
        Ok(ChainLayout::Stride(bytes)) => Some(bytes),
        _ => None,
    };
    let strides: BTreeSet<u64> = cells.iter().filter_map(stride).filter(|bytes| (1..LINE).contains(bytes)).collect();
    let shares: Vec<String> = strides.iter().map(|n| format!("up to {} of stride:{n}", LINE.div_ceil(*n))).collect();
    if shares.is_empty() {
        return Page::new();
    }
    let text = format!("accesses that share a line of {LINE} bytes: {}", shares.join(", "));
    paragraph("  ", &text, Ink::Dim)
}

/// Which kernels won in a table, a line a column; columns with the same winners share it.
fn winners(groups: &[(String, Vec<&Observation>)]) -> Page {
    let mut lines: Vec<(String, String)> = Vec::new();
    for (name, group) in groups {
        let won = winners_of(group);
        match lines.iter_mut().find(|(_, known)| *known == won) {
            Some((names, _)) => names.push_str(&format!(", {name}")),
            None => lines.push((if name.is_empty() { "kernel".to_owned() } else { name.clone() }, won)),
        }
    }
    lines.retain(|(_, won)| !won.is_empty());
    lines.iter().map(|(name, won)| paragraph("  ", format!("{name}: {won}"), Ink::Dim)).collect()
}

/// `avx512 4K–1M; avx512-nta 2M–64M`; empty if the user named the kernel.
fn winners_of(group: &[&Observation]) -> String {
    // Stretches of sizes with the same winner.
    let mut stretches: Vec<(&str, [u64; 2])> = Vec::new();
    let mut group = group.to_vec();
    group.sort_by_key(|o| o.labels.bytes());
    for o in &group {
        let (Some(kernel), Some(size)) = (o.labels.kernel(), o.labels.bytes()) else { continue };
        let op = o.labels.op().unwrap_or_default();
        if kernel == op {
            continue;
        }
        let short = kernel.strip_prefix(op).and_then(|rest| rest.strip_prefix('/')).unwrap_or(kernel);
        match stretches.last_mut().filter(|(known, _)| *known == short) {
            Some((_, ends)) => ends[1] = size,
            None => stretches.push((short, [size; 2])),
        }
    }
    if let [(kernel, [first, last])] = stretches.as_slice() {
        return if first == last { (*kernel).to_owned() } else { format!("{kernel} throughout") };
    }
    let part = |(kernel, [first, last]): (&str, [u64; 2])| {
        let last = if first == last { String::new() } else { format!("–{}", short_size(last as f64)) };
        format!("{kernel} {}{last}", short_size(first as f64))
    };
    stretches.into_iter().map(part).collect::<Vec<_>>().join("; ")
}

/// Whether a curve, a table or a finding speaks for an observation.
fn is_evidence(o: &Observation, evidence: &BTreeSet<&str>) -> bool {
    evidence.contains(o.step.as_str())
        || is_for(o, o.metric, Purpose::Curve)
        || is_for(o, o.metric, Purpose::Table)
        // The points of curves of latency over bandwidth.
        || o.labels.is_for(Purpose::Load)
        // Many chases make one shape, which its findings describe.
        || (is_for(o, o.metric, Purpose::Shape) && o.value.is_some())
}

/// Steps without a number: those that were refused, and those that came to nothing and that nothing else speaks for.
pub(crate) fn unmeasured(observations: &[&Observation], evidence: &BTreeSet<&str>) -> Vec<Refusal> {
    let step = |o: &&Observation| match &o.refusal {
        // A refusal that names nothing but the step's id names it in words.
        Some(refusal) if refusal.what == o.step => Some(Refusal { what: step_name(o), ..refusal.clone() }),
        Some(refusal) => Some(refusal.clone()),
        // What a table of primitives has no number for is missing as well, unless its shots only scatter.
        None if o.labels.group().is_some() && o.value.is_none() && !o.labels.is_point() => {
            let reasons: Vec<String> = o.verdict.reasons.iter().map(ToString::to_string).collect();
            Some(Refusal::new(step_name(o), reasons.join("; "), ""))
        }
        None if o.value.is_some() || is_evidence(o, evidence) => None,
        None => {
            let reasons: Vec<String> = o.verdict.reasons.iter().map(ToString::to_string).collect();
            Some(Refusal::new(step_name(o), reasons.join("; "), ""))
        }
    };
    observations.iter().filter_map(step).collect()
}

/// A step in words, where its labels have any.
fn step_name(o: &Observation) -> String {
    let words = o.labels.words(LabelSet::NONE.cpus().purpose().span());
    if words.is_empty() { o.step.clone() } else { words }
}

/// Observations with a number that no curve, table or finding speaks for.
pub(crate) fn orphans(observations: &[&Observation], evidence: &BTreeSet<&str>, detail: Detail) -> Page {
    let is_orphan = |o: &&Observation| o.value.is_some() && !is_evidence(o, evidence);
    let rows: Vec<&Observation> = observations.iter().copied().filter(is_orphan).collect();
    if rows.is_empty() {
        return Page::new();
    }
    let name = |o: &Observation| {
        let name = o.labels.words(LabelSet::NONE.purpose());
        if name.is_empty() { o.step.clone() } else { name }
    };
    let value = |o: &Observation| graded(o.value.map(|v| number(v, o.unit).within(o.interval)), &o.verdict, o.unit);
    let mut reasons = Reasons::default();
    rows.iter().for_each(|o| reasons.add(&name(o), &o.verdict));
    let table = Table::of(&rows).texts("measured", |o| name(o)).figures("value", |o| value(o));
    let table = table.texts("unit", |o| Text::unit(o.unit)).numbers("n", |o| o.visits.len().to_string());
    let table = table.numbers("disturbed", |o| percent(o.disturbance.gap_share)).table();
    heading("Measured, without a conclusion") + table + reasons.page(detail)
}
