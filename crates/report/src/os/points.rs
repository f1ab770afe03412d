//! A primitive's numbers, taken apart: which of them differ in one thing only, and so are a row, a column or a curve.

use tiermark_model::{Finding, Purpose, Relation};

use super::words::{self, Dimension};
use crate::order::distinct;

/// The dimension that a word stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordKind {
    /// No dimension.
    None,
    /// Where the other side is.
    Place,
    Page,
    Nodes,
}

impl WordKind {
    fn of(finding: &Finding) -> Self {
        let labels = &finding.labels;
        let kinds = [(labels.relation(), Self::Place), (labels.page(), Self::Page), (labels.from(), Self::Nodes)];
        kinds.into_iter().find(|(word, _)| word.is_some()).map_or(Self::None, |(_, kind)| kind)
    }

    /// What a table goes by.
    pub(super) fn by(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Place => "place of the other side",
            Self::Page => "page size",
            Self::Nodes => "nodes",
        }
    }

    /// A word in a title.
    pub(super) fn named(self, word: &str) -> String {
        match self {
            Self::Place if word != words::SAME_CPU => format!("other side {word}"),
            Self::Page => format!("{word} pages"),
            _ => word.to_owned(),
        }
    }
}

/// A number with the labels that distinguish it from the others of its primitive.
#[derive(Clone)]
pub(super) struct PrimitivePoint<'a> {
    pub(super) finding: &'a Finding,
    /// In the order of [`Dimension::ALL`].
    numbers: [Option<u64>; Dimension::ALL.len()],
    /// Place, page size or nodes.
    pub(super) word: String,
    kind: WordKind,
}

impl<'a> PrimitivePoint<'a> {
    pub(super) fn new(finding: &'a Finding) -> Self {
        let numbers = Dimension::ALL.map(|dimension| dimension.of(&finding.labels));
        Self { finding, numbers, word: column(finding), kind: WordKind::of(finding) }
    }

    /// Whether its primitive's name says all of it.
    pub(super) fn is_bare(&self) -> bool {
        self.numbers.iter().all(Option::is_none) && self.word.is_empty()
    }

    /// Whether it is its primitive's first point.
    fn is_first(&self) -> bool {
        self.finding.labels.is_for(Purpose::Os)
    }

    /// Where the other side is, or on which pages, in words; empty where its primitive's name says all of it.
    pub(super) fn place(&self) -> String {
        self.kind.named(&self.word)
    }

    pub(super) fn number(&self, dimension: Dimension) -> Option<u64> {
        self.numbers[dimension as usize]
    }

    /// Its numbers of some dimensions, in words.
    pub(super) fn label(&self, along: &[Dimension]) -> String {
        let words = along.iter().filter_map(|dimension| Some(dimension.label(self.number(*dimension)?)));
        words.collect::<Vec<_>>().join(", ")
    }
}

/// Points of a primitive that make one curve, one row, or one block of rows.
pub(super) struct PointGroup<'a> {
    pub(super) op: String,
    /// Dimension of its rows.
    pub(super) along: Vec<Dimension>,
    /// Dimension of its columns, where there is more than one: place, page size or nodes.
    pub(super) across: Vec<String>,
    /// The word of all its points, where it has no columns.
    pub(super) word: String,
    pub(super) kind: WordKind,
    /// Dimensions that are the same in all of it, and not shown in its rows.
    pub(super) fixed: Vec<(Dimension, u64)>,
    pub(super) points: Vec<PrimitivePoint<'a>>,
}

/// The points of a primitive: one part where each was combined with each, else a part for everything that was moved by
/// itself.
pub(super) fn parts<'a>(op: &str, findings: &[&'a Finding]) -> Vec<PointGroup<'a>> {
    let mut points: Vec<PrimitivePoint<'a>> = findings.iter().map(|finding| PrimitivePoint::new(finding)).collect();
    points.sort_by_key(|point| point.numbers);
    let row = |numbers: &[Option<u64>; Dimension::ALL.len()]| points.iter().filter(|p| p.numbers == *numbers).count();
    let rows = distinct(points.iter().map(|p| p.numbers));
    let most = rows.iter().map(row).max().unwrap_or(0);
    // Where some rows have fewer columns than others, one that has all is a table of its own: that of the first point.
    let full: Vec<&[Option<u64>; Dimension::ALL.len()]> = rows.iter().filter(|numbers| row(numbers) == most).collect();
    let first = points.iter().find(|p| p.is_first()).map(|p| &p.numbers);
    let chosen = full.iter().find(|numbers| Some(**numbers) == first).or(full.first());
    let (true, Some(full)) = (full.len() < rows.len(), chosen) else { return along(op, points) };
    let elsewhere = |word: &str| points.iter().any(|p| p.word == word && p.numbers != **full);
    let by_word = points.iter().filter(|p| p.numbers == **full).cloned().collect();
    let curve = points.iter().filter(|p| elsewhere(&p.word)).cloned().collect();
    std::iter::once(PointGroup::new(op, Vec::new(), by_word)).chain(along(op, curve)).collect()
}

/// Points of which each moved dimension is a part, where they were moved one at a time; else all together.
fn along<'a>(op: &str, points: Vec<PrimitivePoint<'a>>) -> Vec<PointGroup<'a>> {
    let moved: Vec<Dimension> = match points.as_slice() {
        [only] => Dimension::ALL.into_iter().filter(|d| only.number(*d).is_some()).collect(),
        _ => {
            let several = |d: &Dimension| distinct(points.iter().map(|p| p.number(*d))).len() > 1;
            Dimension::ALL.into_iter().filter(several).collect()
        }
    };
    let first = points.iter().find(|p| p.is_first());
    let (Some(first), true) = (first, moved.len() > 1 && points.len() > 1) else {
        return vec![PointGroup::new(op, moved, points)];
    };
    let arm = |dimension: Dimension| -> Vec<PrimitivePoint<'a>> {
        let beside = |p: &&PrimitivePoint<'a>| {
            Dimension::ALL.into_iter().all(|d| d == dimension || p.number(d) == first.number(d))
        };
        let arm: Vec<PrimitivePoint<'a>> = points.iter().filter(beside).cloned().collect();
        // Of a place that was tried at the first point only, that is no curve.
        let curve = |p: &&PrimitivePoint<'a>| arm.iter().filter(|q| q.word == p.word).count() > 1;
        arm.iter().filter(curve).cloned().collect()
    };
    let arms: Vec<(Dimension, Vec<PrimitivePoint<'a>>)> = moved.iter().map(|d| (*d, arm(*d))).collect();
    let whole = points.iter().all(|p| arms.iter().any(|(_, arm)| arm.iter().any(|q| q.numbers == p.numbers)));
    if !whole {
        return vec![PointGroup::new(op, moved, points)];
    }
    arms.into_iter().filter(|(_, arm)| arm.len() > 1).map(|(d, arm)| PointGroup::new(op, vec![d], arm)).collect()
}

impl<'a> PointGroup<'a> {
    fn new(op: &str, along: Vec<Dimension>, points: Vec<PrimitivePoint<'a>>) -> Self {
        let mut across = distinct(points.iter().map(|p| p.word.clone()));
        across.sort_by_key(|word| near(word));
        let word = if across.len() == 1 { across.remove(0) } else { String::new() };
        let fixed = |dimension: &Dimension| Some((*dimension, points.first()?.number(*dimension)?));
        let fixed = Dimension::ALL.iter().filter(|d| !along.contains(d)).filter_map(fixed).collect();
        let kind = points.first().map_or(WordKind::None, |point| point.kind);
        Self { op: op.to_owned(), along, across, word, kind, fixed, points }
    }

    /// Whether it is one number that needs no other words than its name.
    pub(super) fn is_plain(&self) -> bool {
        self.points.len() == 1 && self.along.is_empty() && self.word.is_empty()
    }

    /// The point in a row and a column, by their words.
    pub(super) fn at(&self, row: &str, column: &str) -> Option<&PrimitivePoint<'a>> {
        self.points.iter().find(|p| p.label(&self.along) == row && p.word == *column)
    }

    /// The point in a row, of a part without columns.
    pub(super) fn only_at(&self, row: &str) -> Option<&PrimitivePoint<'a>> {
        self.at(row, &self.word)
    }

    /// What is the same in a table that it shares with others: its columns, or the values it was moved along.
    pub(super) fn values(&self) -> Vec<String> {
        match self.along.as_slice() {
            [] => self.columns(),
            [_] if self.across.is_empty() => self.rows(),
            _ => self.across.clone(),
        }
    }

    /// Its columns; one without places, pages or nodes has one.
    pub(super) fn columns(&self) -> Vec<String> {
        if self.across.is_empty() { vec![self.word.clone()] } else { self.across.clone() }
    }

    /// The only number, in words, and where: of a part that is one.
    pub(super) fn whole(&self) -> String {
        let label = self.points.first().map(|point| point.label(&Dimension::ALL));
        let place = match self.kind {
            WordKind::Place => self.word.clone(),
            kind => kind.named(&self.word),
        };
        let words = [label.unwrap_or_default(), place];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
    }

    /// Its rows.
    pub(super) fn rows(&self) -> Vec<String> {
        distinct(self.points.iter().map(|p| p.label(&self.along)))
    }
}

/// How far away a word's place is: the cpu itself first; other words stay in their order.
fn near(word: &str) -> usize {
    let place = Relation::ALL.iter().position(|relation| relation.to_string() == *word);
    if word == words::SAME_CPU { 0 } else { place.map_or(0, |at| at + 1) }
}

/// The name that distinguishes a number from all others.
pub(super) fn name(finding: &Finding) -> String {
    let point = PrimitivePoint::new(finding);
    let op = finding.labels.op().unwrap_or_default().to_owned();
    let words = [op, point.label(&Dimension::ALL), point.word];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The word of its column.
pub(super) fn column(finding: &Finding) -> String {
    let labels = &finding.labels;
    let nodes = labels.from().zip(labels.node()).map(|(from, to)| format!("node {from} to {to}"));
    [labels.relation(), labels.page(), nodes.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(", ")
}
