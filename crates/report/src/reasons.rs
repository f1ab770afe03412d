//! Reasons for doubt, each said once with the numbers it touches.

use std::collections::{BTreeSet, HashMap, HashSet};

use tiermark_model::{Grade, ReasonCode, Verdict};

use crate::order::{distinct, grouped};
use crate::ranges::{pattern, spanned};
use crate::style::{Style, grade_ink};
use crate::text::bullet;

/// Collects verdicts and groups their reasons.
#[derive(Default)]
pub(crate) struct Reasons {
    groups: Vec<Group>,
    /// The group of each reason.
    places: HashMap<Kind, usize>,
    /// The numbers that each group has.
    said: HashSet<(usize, String)>,
}

struct Group {
    grade: Grade,
    /// Whether the step was not even tried.
    refused: bool,
    /// `None` where a verdict came without a reason.
    code: Option<ReasonCode>,
    text: String,
    subjects: Vec<String>,
}

/// More subjects than this are counted, not listed.
const LISTED: usize = 6;

/// More than these are counted where all numbers of a long view share their reasons.
const NAMED: usize = 4;

/// A kind of doubt in one or two words.
fn kind_name(code: ReasonCode) -> &'static str {
    match code {
        ReasonCode::Disturbed => "disturbed",
        ReasonCode::Imprecise => "interval",
        ReasonCode::TooFew => "too few windows",
        ReasonCode::NotSharp => "never undisturbed",
        ReasonCode::NotReproduced => "not reached again",
        ReasonCode::BelowRecord => "below the record",
        ReasonCode::Frequency => "core clock",
        ReasonCode::WrongNode => "wrong node",
        ReasonCode::Unproven => "placement unproven",
        ReasonCode::PageSize => "page size",
        ReasonCode::Faults => "page faults",
        ReasonCode::Migrated => "migrated",
        ReasonCode::Quantised => "clock steps",
        ReasonCode::Implausible => "implausible",
        ReasonCode::Drift => "drift",
        ReasonCode::Overhead => "own cost",
        ReasonCode::System => "system",
    }
}

/// Reasons with the same code and words are one kind; the part after a colon is listed apart, except of refusals.
type Kind = (Grade, bool, Option<ReasonCode>, String);

impl Group {
    fn kind(&self) -> Kind {
        (self.grade, self.refused, self.code, pattern(self.halves().0))
    }

    /// The text up to its colon, and what follows.
    fn halves(&self) -> (&str, &str) {
        if self.refused { (&self.text, "") } else { split_at_colon(&self.text) }
    }

    fn word(&self) -> String {
        if self.refused { "refused".to_owned() } else { self.grade.to_string() }
    }
}

/// The text up to its first colon outside parentheses, and what follows.
fn split_at_colon(text: &str) -> (&str, &str) {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ':' if depth == 0 && text[at..].starts_with(": ") => return (&text[..at], &text[at + 2..]),
            _ => {}
        }
    }
    (text, "")
}

/// What follows the colon of some texts: said of all, or with how many of the numbers it is said of.
fn details(groups: &[Group], numbers: usize) -> String {
    let mut kinds = grouped(groups.iter().map(|group| (pattern(group.halves().1), group)));
    let detail = |alike: &[&Group]| spanned(&alike.iter().map(|group| group.halves().1).collect::<Vec<_>>());
    if let [(_, alike)] = kinds.as_slice() {
        let detail = detail(alike);
        return if detail.is_empty() { detail } else { format!(": {detail}") };
    }
    kinds.retain(|(kind, _)| !kind.is_empty());
    let part = |(_, alike): &(String, Vec<&Group>)| {
        let subjects: HashSet<&String> = alike.iter().flat_map(|group| &group.subjects).collect();
        format!("{} of {numbers}: {}", subjects.len(), detail(alike))
    };
    format!(" ({})", kinds.iter().map(part).collect::<Vec<_>>().join("; "))
}

/// A refusal without the id of its step: the subject names it in words.
fn without_step(text: &str) -> &str {
    match text.split_once(": ") {
        Some((what, why)) if what.contains('/') && !what.contains(' ') => why,
        _ => text,
    }
}

impl Reasons {
    /// Adds the reasons of a number.
    pub(crate) fn add(&mut self, subject: &str, verdict: &Verdict) {
        if verdict.grade == Grade::Trusted {
            return;
        }
        if verdict.reasons.is_empty() {
            self.touch(verdict.grade, None, None, "no reason was recorded", subject);
        }
        for reason in &verdict.reasons {
            let refused = reason.refused().filter(|_| verdict.grade == Grade::Invalid);
            self.touch(verdict.grade, Some(reason.code()), refused.as_deref(), &reason.to_string(), subject);
        }
    }

    fn touch(&mut self, grade: Grade, code: Option<ReasonCode>, refusal: Option<&str>, text: &str, subject: &str) {
        let (refused, text) = (refusal.is_some(), refusal.map_or(text, without_step));
        let next = self.groups.len();
        let place = *self.places.entry((grade, refused, code, text.to_owned())).or_insert(next);
        if place == next {
            self.groups.push(Group { grade, refused, code, text: text.to_owned(), subjects: Vec::new() });
        }
        if self.said.insert((place, subject.to_owned())) {
            self.groups[place].subjects.push(subject.to_owned());
        }
    }

    /// Makes one group of those of the same kind, with the range that each number has.
    fn merge(&mut self) {
        let groups = std::mem::take(&mut self.groups);
        for (_, alike) in grouped(groups.into_iter().map(|group| (group.kind(), group))) {
            let subjects: Vec<String> = distinct(alike.iter().flat_map(|group| group.subjects.iter().cloned()));
            let heads: Vec<&str> = alike.iter().map(|group| group.halves().0).collect();
            let text = spanned(&heads) + &details(&alike, subjects.len());
            let Group { grade, refused, code, .. } = alike[0];
            self.groups.push(Group { grade, refused, code, text, subjects });
        }
    }

    /// The worst first, what was refused last among what has no number.
    fn sort(&mut self) {
        self.groups.sort_by_key(|g| (std::cmp::Reverse(g.grade), g.refused));
    }

    /// How many numbers are of each grade worse than trusted and for which kinds of reasons, in one line; `None` when all are trusted.
    pub(crate) fn counted(mut self, of: usize, what: &str) -> Option<String> {
        self.sort();
        let mut parts = Vec::new();
        for groups in self.groups.chunk_by(|a, b| (a.grade, a.refused) == (b.grade, b.refused)) {
            let subjects: BTreeSet<&str> = groups.iter().flat_map(|g| &g.subjects).map(String::as_str).collect();
            let kinds: BTreeSet<&str> =
                groups.iter().filter(|g| !g.refused).filter_map(|g| g.code).map(kind_name).collect();
            let are = if subjects.len() == 1 { "is" } else { "are" };
            let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
            let why = if kinds.is_empty() { kinds } else { format!(" ({kinds})") };
            parts.push(format!("{} of {of} {what} {are} {}{why}", subjects.len(), groups[0].word()));
        }
        (!parts.is_empty()).then(|| format!("{}; --verbose lists them", parts.join(", ")))
    }

    /// One bullet a reason, the worst grade first, with the names of a few numbers or how many of all there are.
    pub(crate) fn counted_by_reason(mut self, of: usize, style: &Style) -> String {
        if style.verbose {
            return self.render(style);
        }
        self.merge();
        self.sort();
        let bullet_of = |group: &Group| {
            let who = match group.subjects.len() {
                few if few <= NAMED => group.subjects.join(", "),
                many => format!("{many} of {of}"),
            };
            let text = format!("{}: {who}: {}", group.word(), group.text);
            bullet(style.mark(group.grade), grade_ink(group.grade), &text, None, style)
        };
        self.groups.iter().map(bullet_of).collect()
    }

    /// One bullet a reason, the worst grade first.
    pub(crate) fn render(mut self, style: &Style) -> String {
        if !style.verbose {
            self.merge();
        }
        self.sort();
        let mut out = String::new();
        for group in &self.groups {
            let listed = if style.verbose { usize::MAX } else { LISTED };
            let mut subjects = group.subjects.iter().take(listed).cloned().collect::<Vec<_>>().join(", ");
            if group.subjects.len() > listed {
                subjects.push_str(&format!(" and {} more", group.subjects.len() - listed));
            }
            let text = format!("{}: {subjects}: {}", group.word(), group.text);
            out.push_str(&bullet(style.mark(group.grade), grade_ink(group.grade), &text, None, style));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::Reason;

    #[test]
    fn the_same_reason_is_said_once() {
        let mut suspect = Verdict::trusted();
        suspect.suspect(Reason::Told { code: ReasonCode::Disturbed, text: "half the windows were disturbed".into() });
        let mut invalid = Verdict::trusted();
        invalid.invalid(Reason::Told { code: ReasonCode::WrongNode, text: "3 % of the pages were on node 1".into() });
        let mut reasons = Reasons::default();
        reasons.add("L1 read", &suspect);
        reasons.add("L2 read", &suspect);
        reasons.add("L2 read", &suspect);
        reasons.add("DRAM read", &invalid);
        reasons.add("L3 read", &Verdict::trusted());
        let shown = reasons.render(&Style::default());
        insta::assert_snapshot!(shown, @r"
          ✘ invalid: DRAM read: 3 % of the pages were on node 1
          ! suspect: L1 read, L2 read: half the windows were disturbed
        ");
    }

    #[test]
    fn many_are_counted_with_the_kinds_of_their_reasons() {
        let mut reasons = Reasons::default();
        for size in 0..5 {
            let mut verdict = Verdict::trusted();
            verdict.suspect(Reason::Told { code: ReasonCode::Imprecise, text: format!("interval of {size}") });
            verdict
                .suspect(Reason::Told { code: ReasonCode::Disturbed, text: "half the windows were disturbed".into() });
            reasons.add(&format!("{size} KiB"), &verdict);
        }
        let mut invalid = Verdict::trusted();
        invalid.invalid(Reason::Told { code: ReasonCode::WrongNode, text: "on node 1".into() });
        reasons.add("9 KiB", &invalid);
        let shown = reasons.counted(57, "points").unwrap();
        let expected = "1 of 57 points is invalid (wrong node), 5 of 57 points are suspect (disturbed, interval)";
        assert_eq!(shown, format!("{expected}; --verbose lists them"));
        assert_eq!(Reasons::default().counted(57, "points"), None);
    }

    #[test]
    fn refusals_are_merged_only_with_their_like() {
        let mut reasons = Reasons::default();
        for (subject, text) in [
            ("1 KiB 1G", "refused: 1 huge pages of 1 GiB: 0 are free: no pool (use --pages thp)"),
            ("2 GiB 1G", "refused: 2 huge pages of 1 GiB: 0 are free: no pool (use --pages thp)"),
            ("1 TiB base", "refused: 1 TiB of memory: node 0 has 7 GiB free (ask for less)"),
            ("L1 latency", "refused: latency/ladder/random/16384: the time was used up (allow more)"),
            ("L2 latency", "refused: latency/ladder/random/262144: the time was used up (allow more)"),
        ] {
            let mut verdict = Verdict::trusted();
            verdict.invalid(Reason::Told { code: ReasonCode::System, text: text.into() });
            assert!(verdict.is_refused());
            reasons.add(subject, &verdict);
        }
        let shown = reasons.render(&Style { width: 100, ..Style::default() });
        insta::assert_snapshot!(shown, @r"
          ✘ refused: 1 KiB 1G, 2 GiB 1G: 1 to 2 huge pages of 1 GiB: 0 are free: no pool (use --pages thp)
          ✘ refused: 1 TiB base: 1 TiB of memory: node 0 has 7 GiB free (ask for less)
          ✘ refused: L1 latency, L2 latency: the time was used up (allow more)
        ");
    }

    #[test]
    fn reasons_that_differ_in_numbers_only_are_merged() {
        let mut reasons = Reasons::default();
        for percent in 10..20 {
            let mut verdict = Verdict::trusted();
            verdict.suspect(Reason::Told {
                code: ReasonCode::Disturbed,
                text: format!("{percent} % of the windows were disturbed"),
            });
            reasons.add(&format!("number {percent}"), &verdict);
        }
        let shown = reasons.render(&Style::default());
        insta::assert_snapshot!(shown, @r"
          ! suspect: number 10, number 11, number 12, number 13, number 14, number 15
            and 4 more: 10 to 19 % of the windows were disturbed
        ");
    }

    #[test]
    fn the_worst_of_many_is_told_and_what_only_some_have_is_counted() {
        let mut reasons = Reasons::default();
        for (subject, text) in [
            ("L1", "interval ±2.2 %, wanted ±2.0 %"),
            ("L2", "interval ±458 %, wanted ±2.0 %: fresh allocations differ"),
            ("L3", "interval ±31 %, wanted ±2.0 %: fresh allocations differ"),
        ] {
            let mut verdict = Verdict::trusted();
            verdict.suspect(Reason::Told { code: ReasonCode::Imprecise, text: text.into() });
            reasons.add(subject, &verdict);
        }
        let mut few = Verdict::trusted();
        few.suspect(Reason::Told { code: ReasonCode::TooFew, text: "2 of 3 allocations measured".into() });
        reasons.add("L1", &few);
        insta::assert_snapshot!(reasons.render(&Style::default()), @r"
          ! suspect: L1, L2, L3: interval ±2.2 to ±458 %, wanted ±2.0 % (2 of 3: fresh
            allocations differ)
          ! suspect: L1: 2 of 3 allocations measured
        ");
    }

    #[test]
    fn a_colon_in_parentheses_begins_no_detail() {
        let mut reasons = Reasons::default();
        for (subject, text) in [
            ("L1", "3.0 % of the pages were elsewhere (node 0 (1 of 2: 12 pages), asked for node 1)"),
            ("L2", "100 % of the pages were elsewhere (node 0 (2 of 2: 99 pages), asked for node 1): moved away"),
        ] {
            let mut verdict = Verdict::trusted();
            verdict.suspect(Reason::Told { code: ReasonCode::WrongNode, text: text.into() });
            reasons.add(subject, &verdict);
        }
        insta::assert_snapshot!(reasons.render(&Style { width: 200, ..Style::default() }), @r"
          ! suspect: L1, L2: 3.0 to 100 % of the pages were elsewhere (node 0 (1 to 2 of 2: 12 to 99 pages), asked for node 1)
            (1 of 2: moved away)
        ");
    }
}
