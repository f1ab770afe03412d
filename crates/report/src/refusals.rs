//! Refusals and missing numbers, with reasons.

use tiermark_model::{Grade, Refusal};
use tiermark_page::{Ink, Page, Style, bullet, heading};

/// A list of refusals, those with the same reason and cure together; empty without refusals.
pub fn trouble(title: &str, refusals: &[&Refusal], style: &Style) -> Page {
    // Of more than LISTED with one reason, EXAMPLES are named and the rest counted.
    const LISTED: usize = 6;
    const EXAMPLES: usize = 3;
    let mut groups: Vec<(&Refusal, Vec<&str>)> = Vec::new();
    for refusal in refusals {
        let known = groups.iter_mut().find(|(r, _)| r.why == refusal.why && r.cure == refusal.cure);
        match known {
            Some((_, whats)) if whats.contains(&refusal.what.as_str()) => {}
            Some((_, whats)) => whats.push(&refusal.what),
            None => groups.push((refusal, vec![&refusal.what])),
        }
    }
    let mut out = Page::new();
    for (refusal, whats) in groups {
        let listed = if style.verbose || whats.len() <= LISTED { whats.len() } else { EXAMPLES };
        let mut what = whats.iter().take(listed).copied().collect::<Vec<_>>().join(", ");
        if whats.len() > listed {
            what.push_str(&format!(" and {} more", whats.len() - listed));
        }
        let text = format!("{what}: {}", refusal.why);
        let mark = style.mark(Grade::Invalid);
        out += bullet(mark, Ink::Bad, &text, Some(&refusal.cure));
    }
    if out.is_empty() { out } else { heading(title) + out }
}
