//! The rule on simulated runs whose true level is known.

use std::thread;

use tiermark_stats::{Pile, Side, bare_pile, median, pile};

use crate::sim::{NOISES, Planted, RESTS, Rest, Run, noise, wandering};

/// Standard deviations of noise, %.
const DEVIATIONS: [f64; 8] = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0];

pub(crate) fn print(seeds: u64) {
    println!("Noise with one peak, {seeds} runs a cell: % trusted, wrong: runs trusted > 1 % + 0.2 sd above the mean");
    println!("{:<26} sd, %: {}", "noise", DEVIATIONS.map(|sd| format!("{sd:>10}")).concat());
    for shape in NOISES {
        for correlation in [0.0, 0.9] {
            let name = format!("{shape:?}, correlation {correlation}");
            noise_row(&name, seeds, |sd, seed| noise(shape, sd, correlation, seed));
        }
    }
    for seconds in [0.3, 1.0, 3.0, 10.0] {
        noise_row(&format!("wanders in {seconds} s"), seeds, |sd, seed| wandering(sd, seconds, seed));
    }
    println!("\nPlanted piles, {seeds} runs a row; lucky: 1 to 3 visits too fast by 5 to 40 %");
    println!("seen: % trusted of those planted in 10 visits or more; wrong: trusted, and > 1 % off");
    println!("halves: differ by > 2 %, of those trusted in both; too high: bounds > 1 % above the planted level");
    println!(
        "{:<15} {:>9} {:>6} {:>6} {:>8} {:>8} {:>10} {:>9} {:>9} {:>8} {:>8}",
        "",
        "trusted %",
        "seen %",
        "wrong",
        "bias, %",
        "rms, %",
        "interval ±",
        "covered %",
        "overlap %",
        "halves %",
        "too high"
    );
    for rest in RESTS {
        for lucky in [false, true] {
            println!("{}", planted_row(rest, lucky, seeds));
        }
    }
}

/// Runs something for each seed, on two threads.
fn each<T: Send>(seeds: u64, run: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let part = |first: u64| (first..seeds).step_by(2).map(&run).collect::<Vec<T>>();
    thread::scope(|scope| {
        let other = scope.spawn(|| part(1));
        let mut all = part(0);
        all.extend(other.join().unwrap());
        all
    })
}

fn noise_row(name: &str, seeds: u64, run: impl Fn(f64, u64) -> Run + Sync) {
    let cell = |sd: f64| {
        let over = each(seeds, |seed| {
            let run = run(sd / 100.0, seed);
            let found = bare_pile(&run.visits, Side::High).filter(|pile| pile.piled)?;
            // What wanders slowly has a mean of its own in each run.
            let medians: Vec<f64> = run.visits.iter().filter_map(|visit| median(&visit.values)).collect();
            let own = medians.iter().sum::<f64>() / medians.len() as f64;
            let mean = if name.starts_with("wanders") { own } else { run.truth };
            Some(100.0 * (found.value - mean) > 1.0 + 0.2 * sd)
        });
        let trusted: Vec<bool> = over.into_iter().flatten().collect();
        let wrong = trusted.iter().filter(|wrong| **wrong).count();
        let share = 100.0 * trusted.len() as f64 / seeds as f64;
        if wrong == 0 { format!("{share:>10.1}") } else { format!("{:>10}", format!("{share:.1}({wrong})")) }
    };
    println!("{name:<33} {}", DEVIATIONS.map(cell).concat());
}

/// What one planted run came to.
struct Outcome {
    pile: Pile,
    at_level: usize,
    /// Whether the interval of a second run overlaps, if that is trusted, too.
    overlap: Option<bool>,
    /// Whether the halves agree, if they are trusted, too.
    halves: Option<bool>,
}

fn outcome(rest: Rest, lucky: bool, seed: u64) -> Option<Outcome> {
    let machine = Planted::new(rest, seed);
    let run = machine.run(if lucky { 1 + (seed % 3) as usize } else { 0 }, 2 * seed);
    let other = machine.run(usize::from(lucky), 2 * seed + 1);
    let found = pile(&run.visits, Side::High, seed)?;
    let again = pile(&other.visits, Side::High, seed)?;
    let (first, second) = run.visits.split_at(run.visits.len() / 2);
    let halves = [first, second].map(|half| bare_pile(half, Side::High).filter(|pile| pile.piled));
    let [first, second] = halves.map(|half| half.map(|pile| pile.value.ln()));
    Some(Outcome {
        pile: found,
        at_level: run.at_level,
        overlap: again.piled.then_some(found.low <= again.high && again.low <= found.high),
        halves: first.zip(second).map(|(first, second)| (first - second).abs() <= 0.02),
    })
}

fn planted_row(rest: Rest, lucky: bool, seeds: u64) -> String {
    let all: Vec<Outcome> = each(seeds, |seed| outcome(rest, lucky, seed)).into_iter().flatten().collect();
    let trusted: Vec<&Outcome> = all.iter().filter(|outcome| outcome.pile.piled).collect();
    let errors: Vec<f64> = trusted.iter().map(|outcome| outcome.pile.value - 1.0).collect();
    let mean = |values: &[f64]| 100.0 * values.iter().sum::<f64>() / values.len().max(1) as f64;
    let share = |of: &[bool]| mean(&of.iter().map(|yes| f64::from(u8::from(*yes))).collect::<Vec<f64>>());
    let piled = |least: usize| all.iter().filter(|o| o.at_level >= least).map(|o| o.pile.piled).collect::<Vec<bool>>();
    let covered: Vec<bool> = trusted.iter().map(|o| (o.pile.low..=o.pile.high).contains(&1.0)).collect();
    let half: Vec<f64> = trusted.iter().map(|o| (o.pile.high - o.pile.low) / 2.0).collect();
    let squares: Vec<f64> = errors.iter().map(|error| error * error).collect();
    format!(
        "{:<15} {:>9.1} {:>6.1} {:>6} {:>8.3} {:>8.3} {:>10.3} {:>9.1} {:>9.1} {:>8.1} {:>8}",
        format!("{rest:?}{}", if lucky { ", lucky" } else { "" }),
        share(&piled(0)),
        share(&piled(10)),
        errors.iter().filter(|error| error.abs() > 0.01).count(),
        mean(&errors),
        10.0 * mean(&squares).sqrt(),
        mean(&half),
        share(&covered),
        share(&trusted.iter().filter_map(|o| o.overlap).collect::<Vec<bool>>()),
        100.0 - share(&trusted.iter().filter_map(|o| o.halves).collect::<Vec<bool>>()),
        all.iter().filter(|o| !o.pile.piled && o.pile.value > 1.01).count()
    )
}
