//! How many of the numbers that a report shows can be trusted.

use tiermark_model::{Finding, Grade, Unit};
use tiermark_page::{Block, Key, Legend, Page, Sign, bound_sign, grade_mark, percent};

/// Whether a finding is a number, or is missing one: what was looked for and is not there is neither.
pub(crate) fn is_number(finding: &Finding) -> bool {
    finding.value.is_some() || finding.verdict.grade == Grade::Invalid
}

/// How many numbers of a report are trusted, in one line; empty if the report has no numbers.
pub(crate) fn summary(numbers: &[&Finding]) -> Page {
    if numbers.is_empty() {
        return Page::new();
    }
    let count = |grade: Grade| numbers.iter().filter(|f| f.verdict.grade == grade && !f.verdict.is_refused()).count();
    let refused = numbers.iter().filter(|f| f.verdict.is_refused()).count();
    let trusted = count(Grade::Trusted);
    let mut line = match (numbers.len(), trusted) {
        (1, 1) => "the only number is trusted".to_owned(),
        (all, trusted) if all == trusted => format!("all {all} numbers trusted"),
        (1, _) => "0 of 1 number trusted".to_owned(),
        (all, trusted) => format!("{trusted} of {all} numbers trusted"),
    };
    if count(Grade::Shared) > 0 {
        line.push_str(&format!(", {} shared", count(Grade::Shared)));
    }
    let bounds = numbers.iter().filter(|f| f.verdict.grade == Grade::Bound && f.value.is_some());
    let mut signs: Vec<String> = bounds.map(|f| bound_key(f.unit)).collect();
    signs.sort_unstable();
    signs.dedup();
    if !signs.is_empty() {
        let bounds = if count(Grade::Bound) == 1 { "bound" } else { "bounds" };
        line.push_str(&format!(", {} {bounds} ({})", count(Grade::Bound), signs.join(", ")));
    }
    for grade in [Grade::Suspect, Grade::Invalid] {
        if count(grade) > 0 {
            line.push_str(&format!(", {} {} ({})", count(grade), grade.in_words(), grade_mark(grade)));
        }
    }
    if refused > 0 {
        line.push_str(&format!(", {refused} not measured"));
    }
    if trusted < numbers.len() {
        line.push_str(if count(Grade::Shared) > 0 { "; unmarked = trusted or shared" } else { "; unmarked = trusted" });
    }
    // Bounds of a shape are certain; what stands behind a sign is not.
    // Sizes are shown with a ~: the range behind it has a level of its own.
    let levels = numbers.iter().filter(|f| f.unit != Unit::Bytes).filter_map(|f| f.interval).map(|i| i.level);
    let levels: Vec<f64> = levels.filter(|level| *level < 1.0).collect();
    let ends = [f64::min, f64::max].map(|end| levels.iter().copied().reduce(end));
    let mut keys = vec![Key { signs: vec![Sign::About], meaning: "is about".to_owned() }];
    if let [Some(low), Some(high)] = ends {
        let levels = if low < high { format!("{:.0} to {}", low * 100.0, percent(high)) } else { percent(low) };
        keys.push(Key { signs: vec![Sign::Interval, Sign::Ends], meaning: format!("is a {levels} interval") });
    }
    Block::Legend(Legend { text: line, keys }).into()
}

/// The sign of a bound and its meaning.
pub(crate) fn bound_key(unit: Unit) -> String {
    let meaning = match unit {
        Unit::Ns => "at most",
        Unit::BytesPerSecond => "at least",
        _ => return format!("{} bound", grade_mark(Grade::Bound)),
    };
    format!("{} {meaning}", bound_sign(unit).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::Interval;
    use tiermark_page::{Ink, Style, number, paragraph, terminal};

    #[test]
    fn the_level_is_that_of_what_stands_behind_the_sign() {
        let found = |metric, unit, level| {
            let mut finding = Finding::new(metric, tiermark_model::Labels::new(), Some(100.0), unit);
            finding.interval = Some(tiermark_model::Interval { low: 99.0, high: 101.0, level });
            finding
        };
        let size = found(tiermark_model::Quantity::TierSize, Unit::Bytes, 0.98);
        let time = found(tiermark_model::Quantity::Latency, Unit::Ns, 0.95);
        let within = |low: f64| number(100.0, Unit::Ns).within(Some(Interval { low, high: 101.0, level: 0.95 }));
        let below = |signs: &[Sign], numbers: &[&Finding]| {
            let one = |sign: &Sign| match sign {
                Sign::About => paragraph("", number(1.0, Unit::Ns).about(), Ink::Plain),
                Sign::Interval => paragraph("", within(99.0), Ink::Plain),
                Sign::Ends => paragraph("", within(-200.0), Ink::Plain),
            };
            terminal(&(signs.iter().map(one).collect::<Page>() + summary(numbers)), &Style::default())
        };
        let said = below(&[Sign::About, Sign::Interval], &[&size, &time]);
        assert!(said.ends_with("all 2 numbers trusted; ~ is about; ± is a 95 % interval\n"), "{said}");
        let ends = below(&[Sign::Ends, Sign::Interval], &[&time]);
        assert!(ends.ends_with("trusted; ± or (from–to) is a 95 % interval\n"), "{ends}");
        let wide = found(tiermark_model::Quantity::Latency, Unit::Ns, 0.98);
        assert!(below(&[Sign::Interval], &[&time, &wide]).contains("± is a 95 to 98 % interval"));
        assert!(below(&[], &[&time]).ends_with("trusted\n"), "a sign that nothing has needs no meaning");
    }
}
