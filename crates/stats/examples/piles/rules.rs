//! The rules that are compared.

use tiermark_stats::{NEAR, Side, VisitWindows, bare_pile};

/// A figure, and whether the rule accepts it.
pub(crate) type Figure = (f64, bool);
/// A rule: its name, and what it makes of visits.
pub(crate) type Rule = (&'static str, fn(&[VisitWindows], Side) -> Option<Figure>);

pub(crate) const RULES: [Rule; 5] = [
    ("edge (98th percentile)", edge),
    ("edge, dense at it", dense_edge),
    ("half-sample mode", half_sample),
    ("kernel mode", kernel),
    ("pile", |visits, side| bare_pile(visits, side).map(|pile| (pile.value, pile.piled))),
];

fn edge(visits: &[VisitWindows], side: Side) -> Option<Figure> {
    let edge = tiermark_stats::edge(visits, side)?;
    Some((edge.value, edge.is_sharp() && edge.is_reproduced() && edge.has_enough()))
}

/// The edge, where at least half as many windows lie at it as in the 4 % below.
fn dense_edge(visits: &[VisitWindows], side: Side) -> Option<Figure> {
    let (value, accepted) = edge(visits, side)?;
    let ratio = |window: &f64| if side == Side::High { window / value } else { value / window };
    let ratios: Vec<f64> = visits.iter().flat_map(|visit| visit.values.iter().map(ratio)).collect();
    let share = |from: f64, to: f64| ratios.iter().filter(|ratio| (from..=to).contains(*ratio)).count();
    let is_dense = 2 * share(1.0 - NEAR, 1.0 + NEAR) >= share(1.0 - 3.0 * NEAR, 1.0 - NEAR);
    Some((value, accepted && is_dense))
}

/// Logarithms of rates, the slowest first.
fn logs(visits: &[VisitWindows], side: Side) -> Vec<f64> {
    let log = |value: &f64| if side == Side::High { value.ln() } else { -value.ln() };
    let mut logs: Vec<f64> = visits.iter().flat_map(|visit| visit.values.iter().map(log)).collect();
    logs.sort_by(f64::total_cmp);
    logs
}

/// A mode is accepted where the density falls off to both sides: half of what is within 3 % is within 1 %, and less
/// than half as much as at it is next to it on the fast side.
fn mode(at: f64, logs: &[f64], side: Side) -> Figure {
    let between =
        |from: f64, to: f64| logs.partition_point(|log| *log <= at + to) - logs.partition_point(|log| *log < at + from);
    let near = between(-0.01, 0.01);
    let accepted = 2 * near >= between(-0.03, 0.03) && 2 * between(0.01, 0.03) <= near && near >= 30;
    (if side == Side::High { at.exp() } else { (-at).exp() }, accepted)
}

/// The half-sample mode (Bickel & Frühwirth, Computational Statistics & Data Analysis 50, 2006).
fn half_sample(visits: &[VisitWindows], side: Side) -> Option<Figure> {
    let all = logs(visits, side);
    let mut rest = &all[..];
    while rest.len() > 2 {
        let half = rest.len().div_ceil(2);
        let width = |from: &usize| rest[from + half - 1] - rest[*from];
        let from = (0..=rest.len() - half).min_by(|a, b| width(a).total_cmp(&width(b)))?;
        rest = &rest[from..from + half];
    }
    Some(mode(rest.iter().sum::<f64>() / rest.len() as f64, &all, side))
}

/// The mode of a normal kernel with a bandwidth of 0.7 %: of its peaks with at least a tenth of the highest's density,
/// the fastest accepted; else the highest.
fn kernel(visits: &[VisitWindows], side: Side) -> Option<Figure> {
    const WIDTH: f64 = 0.007;
    let all = logs(visits, side);
    let steps = ((all.last()? - all.first()?) / (WIDTH / 4.0)).ceil() as usize + 1;
    let at = |step: usize| all[0] + step as f64 * WIDTH / 4.0;
    let density = |step: usize| {
        let from = all.partition_point(|log| *log < at(step) - 4.0 * WIDTH);
        let near = all[from..].iter().take_while(|log| **log <= at(step) + 4.0 * WIDTH);
        near.map(|log| (-((log - at(step)) / WIDTH).powi(2) / 2.0).exp()).sum::<f64>()
    };
    let densities: Vec<f64> = (0..steps).map(density).collect();
    let highest = (0..steps).max_by(|a, b| densities[*a].total_cmp(&densities[*b]))?;
    let is_peak = |step: &usize| {
        let near = &densities[step.saturating_sub(4)..(step + 5).min(steps)];
        densities[*step] >= densities[highest] / 10.0 && near.iter().all(|other| *other <= densities[*step])
    };
    let figures = (0..steps).rev().filter(is_peak).map(|step| mode(at(step), &all, side));
    figures.into_iter().find(|(_, accepted)| *accepted).or(Some(mode(at(highest), &all, side)))
}
