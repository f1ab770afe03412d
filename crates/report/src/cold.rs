//! What a random access to memory takes with cold caches, in a line.

use tiermark_model::messages::memory::codes;
use tiermark_model::{Bytes, Finding, Purpose, Quantity, milliseconds};
use tiermark_page::{Ink, Page, nanoseconds, paragraph};

/// Whether a finding is of cold latency.
pub(crate) fn is_cold(finding: &Finding) -> bool {
    finding.labels.is_for(Purpose::Cold)
}

/// A line for each place that was measured; empty without any.
pub(crate) fn cold<'a>(findings: impl Iterator<Item = &'a Finding>, indent: &str) -> Page {
    let of_cold: Vec<&Finding> = findings.filter(|f| is_cold(f)).collect();
    let first = of_cold.iter().filter(|f| f.quantity == Quantity::Latency);
    let line = |cold: &&Finding| {
        let visits = cold.noted(&codes::cold_visits);
        let read = cold.labels.after().map(|bytes| format!(" (after {} of other memory were read)", Bytes(bytes)));
        let node = cold.labels.node().map(|node| format!(" of node {node}"));
        let (read, node) = (read.unwrap_or_default(), node.unwrap_or_default());
        let Some(ns) = cold.value.filter(|ns| ns.is_finite()) else {
            return visits.map(|of| format!("Cold{read}: no number, five undisturbed visits are needed: {of}"));
        };
        let same = |f: &&&Finding| f.quantity == Quantity::LatencyRecovery && f.evidence == cold.evidence;
        let back = of_cold.iter().find(same).and_then(|back| halfway(back)).unwrap_or_default();
        let ns = nanoseconds(ns);
        let counted = visits.map(|counted| format!(" ({counted})")).unwrap_or_default();
        Some(format!("Cold{read}: a random access to DRAM{node} takes {ns} ns{counted}{back}"))
    };
    first.filter_map(line).map(|text| paragraph(indent, &text, Ink::Plain)).collect()
}

/// When half of the excess is gone, in words that follow the time of an access.
fn halfway(back: &Finding) -> Option<String> {
    let time = milliseconds(back.value.filter(|ns| ns.is_finite())?);
    let settled = back.notes.iter().find_map(|note| note.data.get("ns")?.as_f64());
    let over = settled.map(|ns| format!(" over {} ns", nanoseconds(ns))).unwrap_or_default();
    Some(match back.labels.statistic() {
        Some("at least") => format!("; more than half of the excess{over} is left after {time}"),
        _ => format!("; half of the excess{over} is gone after {time}"),
    })
}

#[cfg(test)]
mod tests {
    use tiermark_model::messages::memory;
    use tiermark_model::{MIB, Unit};

    use super::*;
    use tiermark_model::Labels;
    use tiermark_model::Tier;
    use tiermark_page::{Style, terminal};

    fn found(quantity: Quantity, ns: Option<f64>) -> Finding {
        let labels = Labels::new().with_purpose(Purpose::Cold).with_tier(Tier::Cold).with_after(66 * MIB);
        Finding { evidence: vec!["latency/cold".to_owned()], ..Finding::new(quantity, labels, ns, Unit::Ns) }
    }

    #[test]
    fn the_line_says_of_how_many_visits_it_is() {
        let text = |ns: Option<f64>, visits: usize, left_out: usize| {
            let found = found(Quantity::Latency, ns).with_notes([memory::cold_visits(visits, left_out)]);
            terminal(&cold([&found].into_iter(), ""), &Style { width: 200, ..Style::default() }).replace('\n', " ")
        };
        let few = text(None, 3, 21);
        assert!(few.contains("no number, five undisturbed visits are needed: median of 3 visits; 21 more "), "{few}");
        assert!(text(Some(250.3), 6, 0).contains("takes 250 ns (median of 6 visits)"), "{}", text(Some(250.3), 6, 0));
    }

    #[test]
    fn a_line_says_what_other_work_costs_and_when_half_of_it_is_gone() {
        let text = |findings: &[Finding]| terminal(&cold(findings.iter(), ""), &Style::default()).replace('\n', " ");
        let first = found(Quantity::Latency, Some(250.3));
        let back = found(Quantity::LatencyRecovery, Some(6.02e6)).with_notes([memory::recovers_to(147.2.into())]);
        let line = "Cold (after 66 MiB of other memory were read): a random access to DRAM takes 250 ns";
        assert_eq!(text(std::slice::from_ref(&first)).trim_end(), line);
        assert_eq!(
            text(&[first.clone(), back.clone()]).trim_end(),
            format!("{line}; half of the excess over 147 ns is gone after 6 ms")
        );
        let labels = back.labels.clone().with_statistic("at least");
        let late = Finding { labels, value: Some(16e6), ..back.clone() };
        let expected = format!("{line}; more than half of the excess over 147 ns is left after 16 ms");
        assert_eq!(text(&[first, late]).trim_end(), expected);
        assert_eq!(text(&[found(Quantity::Latency, None), back]), "");
    }
}
