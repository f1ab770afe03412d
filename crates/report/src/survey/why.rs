//! `show --why`: one line for each figure that is not trusted, by reason, with its numbers and what would help.

use tiermark_model::{Grade, Reason, Run};
use tiermark_page::{Align, Cell, Ink, Page, Style, Table, heading, paragraph, percent};

use super::figures::{Figure, of_run};
use super::ladder::{now_text, plain, unit_of, with_unit};
use super::states;
use super::words::Why;

/// The reason that a figure is listed under; `None` where it is trusted.
fn reason_of(figure: &Figure<'_>) -> Option<Why> {
    let of_bound = figure.finding.verdict.reasons.iter().map(Why::of_bound).min();
    match figure.grade() {
        Grade::Trusted => None,
        Grade::Bound => Some(of_bound.unwrap_or(Why::Otherwise)),
        Grade::Suspect => Some(if of_bound == Some(Why::BelowRecord) { Why::BelowRecord } else { Why::InDoubt }),
        Grade::Invalid if figure.is_unmeasured() => Some(Why::Unmeasured),
        Grade::Invalid => Some(Why::Withheld),
    }
}

/// The view.
pub(crate) fn why(run: &Run, style: &Style) -> Page {
    let figures = of_run(run);
    let mut groups: Vec<(Why, Vec<Figure<'_>>)> = Vec::new();
    for figure in &figures {
        let Some(why) = reason_of(figure) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == why) {
            Some((_, group)) => group.push(*figure),
            None => groups.push((why, vec![*figure])),
        }
    }
    groups.sort_by_key(|(why, _)| *why);
    let doubted: usize = groups.iter().map(|(_, group)| group.len()).sum();
    let title = match (figures.len(), doubted) {
        (0, _) => "This run has no figures.".to_owned(),
        (1, 1) => "The only figure is not trusted.".to_owned(),
        (all, 0) => format!("All {all} figures are trusted."),
        (all, some) => format!("{some} of {all} figures are not trusted."),
    };
    let mut out = paragraph("", &title, Ink::Plain);
    for (why, group) in &groups {
        out += heading(why.title());
        out += match why {
            Why::Withheld
            | Why::Unmeasured
            | Why::InDoubt
            | Why::Contradicted
            | Why::NotSettled
            | Why::NotSustained
            | Why::Otherwise => reasons(group, style),
            Why::BelowRecord => records(group, style) + further(*why, group),
            Why::NotSharp | Why::NotReproduced | Why::TooFew | Why::Scattered => {
                edges(group, style) + further(*why, group)
            }
        };
        let arrow = style.glyph("→", "->");
        out += paragraph(&format!("  {arrow} "), help(*why, group, run), Ink::Plain);
    }
    out + super::places(run, style) + states::table(run)
}

/// What would help a group: the cures of what refused its steps, where these are known.
fn help(why: Why, group: &[Figure<'_>], run: &Run) -> String {
    let cure = |figure: &Figure<'_>| {
        figure.finding.verdict.reasons.iter().find_map(|reason| match reason {
            Reason::Refused { refusal } if !refusal.cure.is_empty() => Some(refusal.cure.clone()),
            _ => None,
        })
    };
    let mut cures: Vec<String> = group.iter().filter_map(cure).collect();
    cures.dedup();
    if cures.is_empty() { why.help(run) } else { cures.join("; ") }
}

/// Figures with their reasons in words.
fn reasons(group: &[Figure<'_>], style: &Style) -> Page {
    let mut table = Table::new().column("figure", Align::Left).column("value", Align::Right);
    table = table.column("reason", Align::Left);
    for figure in group {
        let text =
            |reason: &Reason| reason.refused().map_or_else(|| reason.in_unit(style.rate_unit), ToString::to_string);
        let texts: Vec<String> = figure.finding.verdict.reasons.iter().map(text).collect();
        table.row(vec![Cell::new(figure.name()), Cell::new(with_unit(figure, style)), Cell::new(texts.join("; "))]);
    }
    table.into()
}

/// The reasons of figures beside the one that they are listed under.
fn further(why: Why, group: &[Figure<'_>]) -> Page {
    let line = |figure: &Figure<'_>| {
        let others = figure.finding.verdict.reasons.iter().filter(|reason| Why::of_bound(reason) != why);
        let others: Vec<String> = others.map(ToString::to_string).collect();
        let text = format!("{} also: {}", figure.name(), others.join("; "));
        (!others.is_empty()).then(|| paragraph("  ", &text, Ink::Plain))
    };
    group.iter().filter_map(line).collect()
}

/// Figures beside the best that the machine has shown.
fn records(group: &[Figure<'_>], style: &Style) -> Page {
    let mut table = Table::new().column("figure", Align::Left).column("value", Align::Right);
    table = table.column("record", Align::Right).column("off", Align::Right).column("of", Align::Left);
    for figure in group {
        let record = figure.finding.verdict.reasons.iter().find_map(|reason| match reason {
            Reason::BelowRecord { record, date, .. } => Some((*record, date.as_str())),
            _ => None,
        });
        let mut cells = vec![Cell::new(figure.name()), Cell::new(with_unit(figure, style))];
        if let Some((record, date)) = record {
            let off = figure.finding.value.map(|value| percent(value / record - 1.0)).unwrap_or_default();
            let (scale, _) = unit_of(figure, style);
            cells.push(Cell::new(plain(record / scale, figure.finding.unit, style)));
            cells.extend([Cell::new(off), Cell::new(date)]);
        }
        table.row(cells);
    }
    table.into()
}

/// Figures with what was seen of their edge.
fn edges(group: &[Figure<'_>], style: &Style) -> Page {
    let mut table = Table::new().column("figure", Align::Left).column("value", Align::Right);
    table = table.column("windows|near|best", Align::Right).column("visits", Align::Right);
    table = table.column("reached|best", Align::Right).column("now (p10 to p90)", Align::Left);
    for figure in group {
        let edge = figure.seen.and_then(|o| o.edge);
        let seen =
            |text: &dyn Fn(&tiermark_model::EdgeSeen) -> String| Cell::new(edge.as_ref().map(text).unwrap_or_default());
        table.row(vec![
            Cell::new(figure.name()),
            Cell::new(with_unit(figure, style)),
            seen(&|e| percent(e.share)),
            seen(&|e| e.visits.to_string()),
            seen(&|e| e.reached.to_string()),
            Cell::new(now_text(figure, "", style).unwrap_or_default()),
        ]);
    }
    table.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_weighs_most_comes_first() {
        let reasons = [Reason::NotSharp { share: 0.01 }, Reason::NotReproduced { reached: 2 }];
        assert_eq!(reasons.iter().map(Why::of_bound).min(), Some(Why::NotSharp));
        assert!(Why::BelowRecord < Why::NotSharp && Why::Withheld < Why::BelowRecord);
    }
}
