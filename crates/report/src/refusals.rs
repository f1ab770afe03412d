//! Refusals and missing numbers, with reasons.

use tiermark_model::{Grade, Refusal};

use crate::order::{distinct, grouped};
use tiermark_page::{Detail, Ink, Page, bullet, grade_mark, heading};

/// A list of refusals, those with the same reason and cure together; empty without refusals.
pub fn trouble(title: &str, refusals: &[&Refusal], detail: Detail) -> Page {
    // Of more than LISTED with one reason, EXAMPLES are named and the rest counted.
    const LISTED: usize = 6;
    const EXAMPLES: usize = 3;
    let mut out = Page::new();
    for ((why, cure), whats) in grouped(refusals.iter().map(|r| ((&r.why, &r.cure), r.what.as_str()))) {
        let whats = distinct(whats);
        let listed = if detail.is_all() || whats.len() <= LISTED { whats.len() } else { EXAMPLES };
        let mut what = whats.iter().take(listed).copied().collect::<Vec<_>>().join(", ");
        if whats.len() > listed {
            what.push_str(&format!(" and {} more", whats.len() - listed));
        }
        let text = format!("{what}: {why}");
        let mark = grade_mark(Grade::Invalid);
        out += bullet(mark, Ink::Bad, text, Some(cure));
    }
    if out.is_empty() { out } else { heading(title) + out }
}
