//! Rules on recorded windows of several runs of one machine.

use tiermark_stats::{Side, VisitWindows};

use crate::read::{Cells, read};
use crate::rules::{RULES, Rule};

/// What a rule did.
#[derive(Default)]
struct Tally {
    figures: usize,
    /// How far each accepted figure is from the best accepted one of all runs.
    off: Vec<f64>,
    /// How far two accepted figures of one cell are from each other.
    pairs: Vec<f64>,
    /// How far the halves of an accepted run are from each other.
    halves: Vec<f64>,
    /// The same where both halves are accepted.
    accepted_halves: Vec<f64>,
}

pub(crate) fn print(files: &[String]) {
    let runs: Vec<Cells> = files.iter().map(|file| read(file)).collect();
    println!("Share of all figures that each rule accepts, and shares of those accepted; pairs: two runs of one cell.");
    println!("{:39} {:>17} {:>23} {:>28}", "", "pairs within", "off the best of runs by", "halves differ by > 2 %");
    println!(
        "{:<24} {:>14} {:>8} {:>8} {:>11} {:>11} {:>15} {:>14}",
        "rule", "accepted", "2 %", "5 %", "> 2 %", "> 5 %", "all", "both accepted"
    );
    for rule in RULES {
        println!("{:<24} {}", rule.0, row(&tally(rule, &runs)));
    }
}

fn tally(rule: Rule, runs: &[Cells]) -> Tally {
    let mut tally = Tally::default();
    let cells = runs[0].keys().filter(|cell| runs.iter().all(|run| run.contains_key(*cell)));
    for cell in cells {
        let side = runs[0][cell].0;
        let mut accepted = Vec::new();
        for run in runs {
            let visits = &run[cell].1;
            tally.figures += 1;
            if let Some((value, true)) = (rule.1)(visits, side) {
                accepted.push(value.ln());
                if let Some((by, accepted)) = halves(rule, visits, side) {
                    tally.halves.push(by);
                    tally.accepted_halves.extend(accepted.then_some(by));
                }
            }
        }
        let pick = if side == Side::High { f64::max } else { f64::min };
        let best = accepted.iter().copied().reduce(pick);
        tally.off.extend(accepted.iter().filter_map(|value| Some((value - best?).abs())));
        for (at, one) in accepted.iter().enumerate() {
            tally.pairs.extend(accepted[at + 1..].iter().map(|other| (one - other).abs()));
        }
    }
    tally
}

/// How far the halves of a run are from each other, and whether both are accepted.
fn halves(rule: Rule, visits: &[VisitWindows], side: Side) -> Option<(f64, bool)> {
    let (first, second) = visits.split_at(visits.len() / 2);
    let (first, second) = (rule.1(first, side)?, rule.1(second, side)?);
    Some(((first.0 / second.0).ln().abs(), first.1 && second.1))
}

fn row(tally: &Tally) -> String {
    let share =
        |of: &[f64], beyond: f64| 100.0 * of.iter().filter(|by| **by > beyond).count() as f64 / of.len().max(1) as f64;
    format!(
        "{:>7} of {:>3} {:>6.0} % {:>6.0} % {:>9.0} % {:>9.0} % {:>13.0} % {:>6.0} % of {:>2}",
        tally.off.len(),
        tally.figures,
        100.0 - share(&tally.pairs, 0.02),
        100.0 - share(&tally.pairs, 0.05),
        share(&tally.off, 0.02),
        share(&tally.off, 0.05),
        share(&tally.halves, 0.02),
        share(&tally.accepted_halves, 0.02),
        tally.accepted_halves.len()
    )
}
