//! Simulated pairs of documents: of an unchanged machine hardly any pair has a number that is called better or worse,
//! and a figure that became 8 % slower is found. `scatter.rs` adds what runs differ by.
//!
//! Documents are drawn from the visits of one run, in blocks, so that the time that a disturbance lasts stays as it was
//! (moving blocks; Künsch 1989), and estimated as a run is.

mod made;
mod scatter;

use made::{documents, machine, run_of};
use tiermark_compare::{Document, Reference, Rules, compare};
use tiermark_model::{ChangeVerdict, Comparison, Grade, Run};
use tiermark_sim::{ComesAndGoes, Neighbours, SimOptions};
use tiermark_stats::Rng;

/// Visits to each step of a document: as many as a step that is not settled gets in a minute of a survey.
const VISITS: usize = 120;
/// The slow-down of one trusted figure that must be found by the default scatter between runs.
const SLOWER: f64 = 0.08;

fn compared(a: &Run, b: &Run) -> Comparison {
    let document = |name, run| Document { name, run };
    compare(&Reference::one(document("a", a)), &[document("b", b)], Rules::default())
}

fn alarms(found: &Comparison) -> usize {
    found.others[0].figures.iter().filter(|figure| figure.verdict.has_moved()).count()
}

/// What was seen of some pairs.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    pairs: usize,
    /// Pairs of the unchanged machine with an alarm.
    alarmed: usize,
    /// Pairs in which a figure that both runs trust was made slower.
    slowed: usize,
    /// How many of those were found to be worse.
    found: usize,
    /// Figures of the unchanged machine, and how many were called the same.
    figures: usize,
    same: usize,
}

impl Seen {
    /// Two documents of one source, and the second with a figure that both trust made slower.
    fn pair(&mut self, source: &tiermark_model::Experiment, rng: &mut Rng) {
        let [a, b] = documents(source, VISITS, rng);
        let (first, other) = (run_of(&a), run_of(&b));
        let found = compared(&first, &other);
        self.pairs += 1;
        self.alarmed += usize::from(alarms(&found) > 0);
        for figure in found.others[0].figures.iter().filter(|figure| figure.verdict.has_moved()) {
            let grade = |number: &Option<tiermark_model::ComparedNumber>| number.as_ref().map(|number| number.grade);
            let (change, grades) = (figure.change.unwrap_or_default(), [grade(&figure.first), grade(&figure.other)]);
            eprintln!("alarm: {} {:+.1} %, {:?} {grades:?}", figure.labels, change * 100.0, figure.p_value);
        }
        // One figure a step; the clock of the cores is no figure of a step.
        self.figures += a.observations.len();
        self.same += found.others[0].figures.iter().filter(|figure| figure.verdict == ChangeVerdict::Same).count();
        let trusted = |at: &usize| [&a, &b].iter().all(|e| e.findings[*at].verdict.grade == Grade::Trusted);
        let both: Vec<usize> = (0..a.observations.len()).filter(trusted).collect();
        if both.is_empty() {
            return;
        }
        let at = both[rng.below(both.len())];
        let slowed = run_of(&made::slower(&b, at, SLOWER));
        self.slowed += 1;
        let found = compared(&first, &slowed);
        self.found += usize::from(found.others[0].figures[at].verdict == ChangeVerdict::Worse);
    }
}

#[test]
fn simulated_neighbours_raise_no_alarm_and_hide_no_change() {
    let often = |share, lasts| Some(ComesAndGoes { share, lasts });
    let all = [
        Neighbours::default(),
        Neighbours { sibling: often(0.5, 1.0), ..Neighbours::default() },
        Neighbours { traffic: often(0.6, 0.5), apart: often(0.5, 2.0), ..Neighbours::default() },
    ];
    let mut rng = Rng::new(16);
    let mut seen = Seen::default();
    for (at, neighbours) in all.into_iter().enumerate() {
        let options = SimOptions { seed: 20 + at as u64, neighbours, noise: 0.004, ..SimOptions::default() };
        let source = made::measure(&machine(), options);
        (0..10).for_each(|_| seen.pair(&source, &mut rng));
    }
    assert!(seen.pairs == 30 && seen.slowed == 30 && seen.figures == 30 * 12, "{seen:?}");
    // A trusted figure of L3 may have an interval as wide as the loss where its neighbours come and go.
    assert!(seen.alarmed <= 1 && seen.found >= 25 && seen.same > seen.figures / 3, "{seen:?}");
}
