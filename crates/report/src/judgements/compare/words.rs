//! Numbers of a comparison in words.

use tiermark_model::{
    Bytes, ComparedFigure, ComparedNumber, ConditionDifference, Grade, Interval, LabelSet, Obstacle, Quantity, Span,
};
use tiermark_page::{ABSENT, Detail, Text, bound_sign, clean, grade_mark, number, text};

/// Change of a value by the core clock from which on it is shown beside the change per cycle.
const CLOCK_SHOWN: f64 = 0.01;

/// The name of a number as it is judged, with the conditions that differ: `latency DRAM, pages: thp → base`.
pub fn name(figure: &ComparedFigure, detail: Detail) -> String {
    let differs = Some(conditions(&figure.differs)).filter(|differs| !differs.is_empty());
    judged_name(figure, detail) + &differs.map_or_else(String::new, |differs| format!(", {differs}"))
}

/// The conditions that differ: `pages: thp → base; threads: 4 → 8`.
pub(super) fn conditions(differs: &[ConditionDifference]) -> String {
    differs.iter().map(|one| clean(&one.to_string())).collect::<Vec<_>>().join("; ")
}

/// What makes two numbers comparable that are not; `None` where nothing does.
pub fn cure(obstacle: &Obstacle) -> Option<&'static str> {
    Some(match obstacle {
        Obstacle::OnlyInFirst | Obstacle::OnlyInOther | Obstacle::Probe { .. } => "measure both runs by one command",
        Obstacle::Method { first, other } if first < other => "measure the first run again",
        Obstacle::Method { .. } => "measure the other run again",
        Obstacle::WorkingSet { .. } => "measure the first run again, with the sizes of the other",
        Obstacle::Cpus { .. } => "measure both runs on the same cpus",
        Obstacle::Suspect | Obstacle::Missing => "`tiermark show RUN --why` says what kept it from a number",
        Obstacle::Ranges
        | Obstacle::Kernels { .. }
        | Obstacle::State { .. }
        | Obstacle::Estimate
        | Obstacle::OfTheHour
        | Obstacle::Place
        | Obstacle::FewEvents
        | Obstacle::NoDirection => return None,
    })
}

/// The name of a number as it is judged: of one core's part, or of all; per cycle, with what the clock explains of the
/// values.
pub(super) fn judged_name(figure: &ComparedFigure, detail: Detail) -> String {
    let core = if figure.is_per_core { ", a core" } else { "" };
    // Beside the change of the clock, that per cycle would contradict the values.
    let clock = figure.clock_change.filter(|of| of.abs() > CLOCK_SHOWN).map(signed);
    let clock = clock.map_or_else(String::new, |of| format!(", per cycle (the clock explains {of})"));
    whole_name(figure, detail) + core + &clock + &against(figure).unwrap_or_default()
}

/// The change less what the other numbers of the family share, where only that shows one.
fn against(figure: &ComparedFigure) -> Option<String> {
    let interval = figure.interval.filter(|_| figure.is_against_family)?;
    let what = if figure.quantity == Quantity::Bandwidth { "rates" } else { "latencies" };
    let change = signed_within(f64::midpoint(interval.low, interval.high), Some(interval));
    Some(format!(", relative to the other {what} of its tier: {change}"))
}

/// The name of a number: its quantity and its labels, without what is usual.
pub(super) fn whole_name(figure: &ComparedFigure, detail: Detail) -> String {
    let labels = &figure.labels;
    let is_short = !detail.is_all();
    let without = (LabelSet::NONE.purpose().cpus())
        .and_if(is_short && labels.layout() == Some("random"), LabelSet::NONE.layout())
        .and_if(is_short && labels.page() == Some("thp"), LabelSet::NONE.page())
        .and_if(is_short && labels.chains() == Some(1), LabelSet::NONE.chains())
        .and_if(labels.op().is_some(), LabelSet::NONE.kernel())
        .and_if(labels.tier_name().is_some(), LabelSet::NONE.size())
        .and_if(figure.quantity == Quantity::TierSize, LabelSet::NONE.statistic());
    // What differs is said beside it.
    let without = figure.differs.iter().fold(without, |without, one| without.and(one.condition.label()));
    // Machines have different numbers of threads: of `one` or `all` it is the span that they share.
    let is_of_machines = figure.first.as_ref().is_some_and(|number| number.per_core.is_some());
    let is_of_span = is_of_machines && matches!(labels.span(), Some(Span::One | Span::All));
    let without = without
        .and_if(is_of_span, LabelSet::NONE.threads())
        .and_if(!is_of_span && labels.threads().is_some(), LabelSet::NONE.span());
    let labels = labels.words(without);
    let metric = metric_words(figure);
    let kernels = kernels(figure).map_or_else(String::new, |names| format!(" ({names})"));
    // As the other reports have it.
    if figure.quantity == Quantity::TierSize {
        return format!("{labels} {metric}").trim().to_owned();
    }
    format!("{metric} {labels}{kernels}").trim().to_owned()
}

/// The kernel by which runs that chose different ones are compared: another kernel is another program, not another
/// machine.
fn kernels(figure: &ComparedFigure) -> Option<String> {
    let chosen = |number: &Option<ComparedNumber>| Some(clean(number.as_ref()?.kernel.as_ref()?));
    let (first, other) = chosen(&figure.first).zip(chosen(&figure.other)).filter(|(first, other)| first != other)?;
    let kernel = clean(figure.kernel.as_ref()?);
    let chose = match (kernel == first, kernel == other) {
        (true, _) => format!("the other run chose {other}"),
        (_, true) => format!("the first run chose {first}"),
        _ => format!("the first run chose {first}, the other {other}"),
    };
    Some(format!("both with {kernel}: {chose}"))
}

/// The quantity in words; nothing where the labels imply it.
fn metric_words(figure: &ComparedFigure) -> String {
    match &figure.quantity {
        Quantity::Bandwidth if figure.labels.op().is_some() => String::new(),
        // The name of a primitive says what is measured.
        _ if figure.labels.group().is_some() => String::new(),
        Quantity::TierSize => "size".to_owned(),
        Quantity::BandwidthScaling => "scaling".to_owned(),
        Quantity::LatencyTail => "tail".to_owned(),
        metric => metric.name().replace(['.', '_'], " "),
    }
}

/// A value of a figure as it is judged, with the sign of its bound, or the mark of its doubt.
pub(super) fn graded_text(of: Option<&ComparedNumber>, figure: &ComparedFigure) -> Text {
    let judged = |of: &ComparedNumber| if figure.is_per_core { of.per_core } else { of.value };
    let Some(value) = of.and_then(judged) else { return ABSENT.into() };
    let text = number(value, figure.unit);
    match of.map(|of| of.grade) {
        Some(Grade::Bound) => text![bound_sign(figure.unit).unwrap_or_default(), text],
        Some(grade @ (Grade::Suspect | Grade::Invalid)) => text![text, grade_mark(grade)],
        _ => text.into(),
    }
}

/// A relative change: `+4.1 %`.
pub fn signed(change: f64) -> String {
    let percent = change * 100.0;
    let digits = usize::from(percent.abs() < 100.0);
    // What rounds to nothing has no sign.
    let percent = if percent.abs() < 0.05 { 0.0 } else { percent };
    if percent == 0.0 {
        return "0.0 %".to_owned();
    }
    if percent.abs() < 1e5 { format!("{percent:+.digits$} %") } else { format!("{percent:+.1e} %") }
}

/// `+4.1 ±0.6 %`: the change with the wider side of its interval.
pub fn change(figure: &ComparedFigure) -> String {
    let ratio = figure.change.filter(|ratio| ratio.is_finite());
    // That of the change against others stands beside the name.
    let interval = figure.interval.filter(|_| !figure.is_against_family);
    ratio.map_or_else(|| ABSENT.to_owned(), |ratio| signed_within(ratio, interval))
}

/// The same of a change and its interval.
pub(super) fn signed_within(of: f64, interval: Option<Interval>) -> String {
    let half = interval.map(|interval| (interval.high - of).max(of - interval.low) * 100.0);
    match half.filter(|half| (0.0..1e3).contains(half)) {
        Some(half) => format!("{} ±{half:.1} %", signed(of).trim_end_matches(" %")),
        None => signed(of),
    }
}

/// A share without needless digits: `3 %`, `0.5 %`.
pub fn plain(share: f64) -> String {
    tiermark_page::percent(share).replace(".0 %", " %")
}

/// The footprint of a number, where labelled.
pub(super) fn size_of(number: &ComparedNumber) -> String {
    number.size.as_ref().map_or_else(String::new, Bytes::to_string)
}

/// `1 worse, 2 better, 20 same, 3 unsure, 4 not comparable`.
pub(super) fn tally(figures: &[ComparedFigure]) -> String {
    const ORDER: [&str; 5] = ["worse", "better", "same", "unsure", "not comparable"];
    let judged = || figures.iter().filter(|figure| !super::is_beside(figure));
    let count = |name: &str| judged().filter(|figure| figure.verdict.name() == name).count();
    ORDER.map(|name| format!("{} {name}", count(name))).join(", ")
}
