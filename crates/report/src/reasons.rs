//! Reasons for doubt, each said once with the numbers it touches.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value;
use tiermark_model::{Code, Finding, Grade, Reason, ReasonCode, Verdict};
use tiermark_page::{ABSENT, Detail, Ink, Page, Text, bullet, grade_ink, grade_mark, text};

use crate::order::{distinct, grouped};
use crate::remark;
use crate::tally::is_number;

/// Collects verdicts and groups their reasons.
#[derive(Default)]
pub(crate) struct Reasons {
    groups: Vec<ReasonGroup>,
    /// The group of each reason.
    places: HashMap<(Kind, String), usize>,
    /// The numbers that each group has.
    listed: HashSet<(usize, String)>,
}

/// What the reasons of a group are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Standing {
    /// Doubt of numbers.
    Doubted,
    /// Steps that were not tried.
    Refused,
    /// Numbers that were looked for and are not there: no number that could be doubted.
    Absent,
}

struct ReasonGroup {
    kind: Kind,
    text: Text,
    subjects: Vec<String>,
}

/// What makes reasons alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Kind {
    grade: Grade,
    standing: Standing,
    /// `None` where a verdict came without a reason.
    code: Option<ReasonCode>,
    /// Its facts but for the numbers, see [`facts`].
    facts: String,
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
        ReasonCode::TooFew => "too few visits",
        ReasonCode::NotSharp => "visits differ",
        ReasonCode::NotReproduced => "not reached again",
        ReasonCode::NotSettled => "not steady",
        ReasonCode::BelowRecord => "below the record",
        ReasonCode::Contradicted => "contradicted",
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

/// The kinds of doubt of a verdict, each once.
pub(crate) fn kinds(verdict: &Verdict) -> String {
    distinct(verdict.reasons.iter().map(|reason| kind_name(reason.code()))).join(", ")
}

/// A reason without its numbers, steps and paths: reasons that are then equal are shown once. A range of sizes counts
/// as one fact, and a sentence without data stays as it is.
fn facts(reason: &Reason) -> String {
    match reason {
        Reason::Refused { refusal } if refusal.code != Code::default() => {
            let data: Value = refusal.data.clone().into_iter().collect();
            format!("{} {}", refusal.code, without_numbers(data))
        }
        Reason::Refused { .. } | Reason::NotResolved { .. } => reason.to_string(),
        _ => serde_json::to_value(reason).map(without_numbers).unwrap_or_default().to_string(),
    }
}

fn without_numbers(value: Value) -> Value {
    match value {
        Value::Number(_) => Value::Null,
        Value::String(text) if text.contains('/') => Value::Null,
        Value::Array(items) => items.into_iter().map(without_numbers).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, without_numbers(value))).collect(),
        other => other,
    }
}

impl ReasonGroup {
    fn word(&self) -> String {
        match self.kind.standing {
            Standing::Doubted => self.kind.grade.in_words().to_owned(),
            Standing::Refused => "not measured".to_owned(),
            Standing::Absent => "not found".to_owned(),
        }
    }

    /// The bullet: its mark, and these words behind what the group is.
    fn bullet(&self, who: &str) -> Page {
        let (mark, ink) = match self.kind.standing {
            Standing::Absent => (ABSENT, Ink::Plain),
            Standing::Refused => (ABSENT, grade_ink(self.kind.grade)),
            _ => (grade_mark(self.kind.grade), grade_ink(self.kind.grade)),
        };
        bullet(mark, ink, text![format!("{}: {who}: ", self.word()), &self.text], None)
    }
}

/// A refusal in words: without the id of its step, which the subject names.
pub(crate) fn refusal_in_words(reason: &Reason) -> Option<String> {
    let refusal = reason.refused()?;
    Some(if refusal.is_of_step() { refusal.why_and_cure() } else { refusal.to_string() })
}

impl Reasons {
    /// Adds the reasons of a number.
    pub(crate) fn add(&mut self, subject: &str, verdict: &Verdict) {
        self.add_as(Standing::Doubted, subject, verdict);
    }

    /// Adds the reasons of a finding: of its doubt, or why it is not there.
    pub(crate) fn add_finding(&mut self, subject: &str, finding: &Finding) {
        let standing = if is_number(finding) { Standing::Doubted } else { Standing::Absent };
        self.add_as(standing, subject, &finding.verdict);
    }

    fn add_as(&mut self, standing: Standing, subject: &str, verdict: &Verdict) {
        if verdict.grade == Grade::Trusted {
            return;
        }
        let grade = verdict.grade;
        if verdict.reasons.is_empty() {
            let kind = Kind { grade, standing, code: None, facts: String::new() };
            self.touch(kind, "no reason was recorded".into(), subject);
        }
        for reason in &verdict.reasons {
            let refused = refusal_in_words(reason).filter(|_| grade == Grade::Invalid);
            let standing = if refused.is_some() { Standing::Refused } else { standing };
            let kind = Kind { grade, standing, code: Some(reason.code()), facts: facts(reason) };
            self.touch(kind, refused.map_or_else(|| remark::reason(reason), Text::from), subject);
        }
    }

    fn touch(&mut self, kind: Kind, text: Text, subject: &str) {
        let next = self.groups.len();
        let place = *self.places.entry((kind.clone(), text.plain())).or_insert(next);
        if place == next {
            self.groups.push(ReasonGroup { kind, text, subjects: Vec::new() });
        }
        if self.listed.insert((place, subject.to_owned())) {
            self.groups[place].subjects.push(subject.to_owned());
        }
    }

    /// Makes one group of those of the same kind. Where their numbers differ, those of the first stand for all.
    fn merge(&mut self) {
        let groups = std::mem::take(&mut self.groups);
        for (kind, alike) in grouped(groups.into_iter().map(|group| (group.kind.clone(), group))) {
            let subjects = distinct(alike.iter().flat_map(|group| group.subjects.iter().cloned()));
            let first = &alike[0].text;
            let text = if alike.len() == 1 {
                first.clone()
            } else {
                text![first, format!(" (the first of {}; -v lists all)", alike.len())]
            };
            self.groups.push(ReasonGroup { kind, text, subjects });
        }
    }

    /// The worst first, what was refused last among what has no number.
    fn sort(&mut self) {
        self.groups.sort_by_key(|g| (std::cmp::Reverse(g.kind.grade), g.kind.standing));
    }

    /// How many numbers are of each grade worse than trusted and for which kinds of reasons, in one line; `None` when
    /// all are trusted.
    pub(crate) fn counted(mut self, of: usize, what: &str) -> Option<String> {
        self.sort();
        let mut parts = Vec::new();
        for groups in self.groups.chunk_by(|a, b| (a.kind.grade, a.kind.standing) == (b.kind.grade, b.kind.standing)) {
            let subjects: BTreeSet<&str> = groups.iter().flat_map(|g| &g.subjects).map(String::as_str).collect();
            let tried = groups.iter().filter(|g| g.kind.standing != Standing::Refused);
            let kinds: BTreeSet<&str> = tried.filter_map(|g| g.kind.code).map(kind_name).collect();
            let are = if subjects.len() == 1 { "is" } else { "are" };
            let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
            let why = if kinds.is_empty() { kinds } else { format!(" ({kinds})") };
            parts.push(format!("{} of {of} {what} {are} {}{why}", subjects.len(), groups[0].word()));
        }
        (!parts.is_empty()).then(|| format!("{}; --verbose lists them", parts.join(", ")))
    }

    /// One bullet a reason, the worst grade first, with the names of a few numbers or how many of all there are.
    pub(crate) fn counted_by_reason(mut self, of: usize, detail: Detail) -> Page {
        if detail.is_all() {
            return self.page(detail);
        }
        self.merge();
        self.sort();
        let bullet_of = |group: &ReasonGroup| {
            let who = match group.subjects.len() {
                few if few <= NAMED => group.subjects.join(", "),
                many => format!("{many} of {of}"),
            };
            group.bullet(&who)
        };
        self.groups.iter().map(bullet_of).collect()
    }

    /// One bullet a reason, the worst grade first.
    pub(crate) fn page(mut self, detail: Detail) -> Page {
        if !detail.is_all() {
            self.merge();
        }
        self.sort();
        let mut out = Page::new();
        for group in &self.groups {
            let listed = detail.listed(LISTED);
            let mut subjects = group.subjects.iter().take(listed).cloned().collect::<Vec<_>>().join(", ");
            if group.subjects.len() > listed {
                subjects.push_str(&format!(" and {} more", group.subjects.len() - listed));
            }
            out += group.bullet(&subjects);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::messages::{run, setup};
    use tiermark_model::{Bytes, Refusal, WhyNot};
    use tiermark_page::{Style, terminal};

    #[test]
    fn the_same_reason_is_said_once() {
        let mut suspect = Verdict::trusted();
        suspect.suspect(Reason::Evicted);
        let mut invalid = Verdict::trusted();
        invalid.invalid(Reason::Elsewhere { share: 0.03, by_node: [(1, 31)].into() });
        let mut reasons = Reasons::default();
        reasons.add("L1 read", &suspect);
        reasons.add("L2 read", &suspect);
        reasons.add("L2 read", &suspect);
        reasons.add("DRAM read", &invalid);
        reasons.add("L3 read", &Verdict::trusted());
        let shown = terminal(&reasons.page(Detail::Usual), &Style::default());
        insta::assert_snapshot!(shown, @r"
          ✘ withheld: DRAM read: 3.0 % of the pages were on other nodes (node 1: 31
            pages)
          ! suspect: L1 read, L2 read: other programs evict the lines of the chase too
        ");
    }

    #[test]
    fn many_are_counted_with_the_kinds_of_their_reasons() {
        let mut reasons = Reasons::default();
        for size in 0..5 {
            let mut verdict = Verdict::trusted();
            verdict.suspect(Reason::Pairs { doubted: size, of: 9 });
            verdict.suspect(Reason::Evicted);
            reasons.add(&format!("{size} KiB"), &verdict);
        }
        let mut invalid = Verdict::trusted();
        invalid.invalid(Reason::Elsewhere { share: 1.0, by_node: [(1, 9)].into() });
        reasons.add("9 KiB", &invalid);
        let shown = reasons.counted(57, "points").unwrap();
        let expected = "1 of 57 points is withheld (wrong node), 5 of 57 points are suspect (disturbed, interval)";
        assert_eq!(shown, format!("{expected}; --verbose lists them"));
        assert_eq!(Reasons::default().counted(57, "points"), None);
    }

    #[test]
    fn refusals_are_merged_only_with_their_like() {
        let mut reasons = Reasons::default();
        let told = |what: &str, why: &str, cure: &str| Reason::Refused { refusal: Refusal::new(what, why, cure) };
        let large = |pages| Reason::Refused { refusal: setup::huge_pages_no_pool(pages, Bytes(1 << 30)) };
        let late = |step: &str| Reason::Refused { refusal: run::no_time_left(step) };
        for (subject, reason) in [
            ("1 KiB 1G", large(1)),
            ("2 GiB 1G", large(2)),
            ("1 TiB base", told("1 TiB of memory", "node 0 has 7 GiB free", "ask for less")),
            ("L1 latency", late("latency/ladder/random/16384")),
            ("L2 latency", late("latency/ladder/random/262144")),
        ] {
            let mut verdict = Verdict::trusted();
            verdict.invalid(reason);
            assert!(verdict.is_refused());
            reasons.add(subject, &verdict);
        }
        let shown = terminal(&reasons.page(Detail::Usual), &Style { width: 100, ..Style::default() });
        insta::assert_snapshot!(shown, @r"
          – not measured: 1 KiB 1G, 2 GiB 1G: 1 huge page of 1 GiB: 0 are free: the kernel has no pool of
            this size (use a size that has its nr_hugepages in /sys/kernel/mm/hugepages, or --pages thp)
            (the first of 2; -v lists all)
          – not measured: 1 TiB base: 1 TiB of memory: node 0 has 7 GiB free (ask for less)
          – not measured: L1 latency, L2 latency: time budget used up (raise --max-time)
        ");
    }

    #[test]
    fn reasons_that_differ_in_numbers_only_are_said_once() {
        let mut reasons = Reasons::default();
        for percent in 10..20 {
            let mut verdict = Verdict::trusted();
            verdict.suspect(Reason::Scattered { half_width: f64::from(percent) / 100.0 });
            reasons.add(&format!("number {percent}"), &verdict);
        }
        let shown = terminal(&reasons.page(Detail::Usual), &Style::default());
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn what_was_looked_for_in_vain_is_no_doubt() {
        let mut reasons = Reasons::default();
        let size = |mib: u64, high| {
            let high = Some(Bytes(high));
            let reason = Reason::NotResolved { low: Bytes((mib << 20) + 7_777), high, why: WhyNot::Evicted };
            let labels = tiermark_model::Labels::new();
            let mut finding =
                Finding::new(tiermark_model::Quantity::TierSize, labels, None, tiermark_model::Unit::Bytes);
            finding.verdict.suspect(reason);
            finding
        };
        reasons.add_finding("L2 size", &size(1, 1_234_567));
        reasons.add_finding("L3 size", &size(5, 45_678_901));
        // Each has a range of its own, and one of both would be none.
        insta::assert_snapshot!(terminal(&reasons.page(Detail::Usual), &Style { width: 100, ..Style::default() }), @r"
          – not found: L2 size: size not resolved, between 1 MiB and 1.2 MiB: other work may evict it before
            it is full
          – not found: L3 size: size not resolved, between 5 MiB and 44 MiB: other work may evict it before
            it is full
        ");
    }
}
