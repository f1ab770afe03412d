//! Reasons for doubt, each said once with the numbers it touches.

use tiermark_model::{Grade, Verdict};

use crate::style::{Style, grade_ink};
use crate::text::bullet;

/// Collects verdicts and groups their reasons.
#[derive(Default)]
pub(crate) struct Reasons {
    groups: Vec<Group>,
}

struct Group {
    grade: Grade,
    text: String,
    subjects: Vec<String>,
}

/// More subjects than this are counted, not listed.
const LISTED: usize = 6;

impl Reasons {
    /// Adds the reasons of a number.
    pub(crate) fn add(&mut self, subject: &str, verdict: &Verdict) {
        if verdict.grade == Grade::Trusted {
            return;
        }
        let unsaid = "no reason was recorded".to_owned();
        let mut texts: Vec<String> = verdict.reasons.iter().map(|r| r.text.clone()).collect();
        if texts.is_empty() {
            texts.push(unsaid);
        }
        for text in texts {
            let known = self.groups.iter_mut().find(|g| g.grade == verdict.grade && g.text == text);
            match known {
                Some(group) if group.subjects.iter().any(|s| s == subject) => {}
                Some(group) => group.subjects.push(subject.to_owned()),
                None => self.groups.push(Group { grade: verdict.grade, text, subjects: vec![subject.to_owned()] }),
            }
        }
    }

    /// One bullet a reason, the worst grade first.
    pub(crate) fn render(mut self, style: &Style) -> String {
        self.groups.sort_by_key(|g| std::cmp::Reverse(g.grade));
        let mut out = String::new();
        for group in &self.groups {
            let listed = if style.verbose { usize::MAX } else { LISTED };
            let mut subjects = group.subjects.iter().take(listed).cloned().collect::<Vec<_>>().join(", ");
            if group.subjects.len() > listed {
                subjects.push_str(&format!(" and {} more", group.subjects.len() - listed));
            }
            let text = format!("{}: {subjects}: {}", group.grade, group.text);
            out.push_str(&bullet(style.mark(group.grade), grade_ink(group.grade), &text, None, style));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::ReasonCode;

    #[test]
    fn the_same_reason_is_said_once() {
        let mut suspect = Verdict::trusted();
        suspect.suspect(ReasonCode::Disturbed, "half the windows were disturbed");
        let mut invalid = Verdict::trusted();
        invalid.invalid(ReasonCode::WrongNode, "3 % of the pages were on node 1");
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
}
