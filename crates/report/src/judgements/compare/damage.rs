//! Many runs beside the first of a comparison: a row for each, the largest loss first.

use tiermark_model::{Against, ChangeVerdict, Comparison};
use tiermark_page::{Cell, Detail, Ink, Page, Table, heading};

use super::{compared_name, family_name, words};
use crate::judgements::checks::run_names;

/// What a run lost against the first.
pub struct Damage<'a> {
    /// The run.
    pub other: &'a Against,
    /// What it is called among the runs.
    pub name: String,
    /// The largest loss, relative, with the figure, or the family of figures, that has it; `None` if nothing is worse.
    pub largest: Option<(f64, String)>,
}

impl Damage<'_> {
    /// The numbers and families that are worse and better: `3 worse, 1 better`; else that no change was shown, or that
    /// no number can be compared.
    pub fn verdict(&self) -> Cell {
        let figures =
            self.other.figures.iter().filter(|figure| !super::is_beside(figure)).map(|figure| &figure.verdict);
        let all: Vec<&ChangeVerdict> =
            figures.chain(self.other.families.iter().map(|family| &family.verdict)).collect();
        let count = |of: &ChangeVerdict| all.iter().filter(|verdict| **verdict == of).count();
        match (count(&ChangeVerdict::Worse), count(&ChangeVerdict::Better)) {
            (0, 0) if all.iter().all(|verdict| matches!(verdict, ChangeVerdict::NotComparable(_))) => {
                Cell::inked("not comparable", Ink::Warn)
            }
            (0, 0) => Cell::new("no change shown"),
            (0, better) => Cell::inked(format!("{better} better"), Ink::Good),
            (worse, 0) => Cell::inked(format!("{worse} worse"), Ink::Bad),
            (worse, better) => Cell::inked(format!("{worse} worse, {better} better"), Ink::Bad),
        }
    }

    /// The largest loss with its figure: `-10.6 % read DRAM`; empty without one.
    pub fn loss(&self) -> (String, String) {
        self.largest.as_ref().map_or_else(Default::default, |(change, name)| (words::signed(*change), name.clone()))
    }

    /// The names of the recorded facts of machine and program that differ.
    pub fn facts(&self) -> String {
        self.other.facts.iter().map(|fact| fact.fact.name()).collect::<Vec<_>>().join(", ")
    }
}

/// The runs of a comparison by their losses, the largest first.
pub fn by_damage<'a>(comparison: &'a Comparison, detail: Detail) -> Vec<Damage<'a>> {
    let names = run_names(comparison.others.iter().map(|other| (other.run.name.clone(), other.run.host.clone())));
    let damage = |(other, name): (&'a Against, String)| {
        let figures = other
            .figures
            .iter()
            .filter_map(|figure| Some((figure.loss()?, figure.change?, compared_name(figure, detail))));
        let families =
            other.families.iter().filter_map(|family| Some((family.loss()?, family.change, family_name(family))));
        let largest = figures.chain(families).max_by(|(a, ..), (b, ..)| a.total_cmp(b));
        Damage { other, name, largest: largest.map(|(_, change, name)| (change, name)) }
    };
    let mut all: Vec<Damage<'a>> = comparison.others.iter().zip(names).map(damage).collect();
    let size = |damage: &Damage<'_>| damage.largest.as_ref().map_or(0.0, |(change, _)| change.abs());
    all.sort_by(|a, b| size(b).total_cmp(&size(a)));
    all
}

/// The runs by their losses, where there are several; empty for one.
pub(super) fn summary(comparison: &Comparison, detail: Detail) -> Page {
    if comparison.others.len() < 2 {
        return Page::new();
    }
    let all = by_damage(comparison, detail);
    let table = Table::of(&all).texts("host", |damage| Cell::inked(&damage.name, Ink::Head));
    let table = table.texts("verdict", Damage::verdict);
    let table = table.numbers("largest loss", |damage| damage.loss().0).texts("figure", |damage| damage.loss().1);
    let title = format!("Compared with {}, the largest loss first", super::named_run(&comparison.first));
    heading(title) + table.texts("facts that differ", Damage::facts).table()
}
