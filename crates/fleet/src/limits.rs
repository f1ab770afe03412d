//! What a fleet taught, as expectations for `check`.

use std::fmt::Write;

use tiermark_model::{Fleet, HostKind, KindFigure, Unit};

/// Standard deviations between hosts from the median to a limit. Of 1,000 sound servers with 30 figures each, chance
/// alone takes one below (normal distribution).
const WIDE: f64 = 4.0;
/// The least room, as a share of the median: what `compare` calls the same.
const LEAST: f64 = tiermark_compare::THRESHOLD;

/// A file of expectations that a new server of the kind with the most hosts meets if it is like them; `None` if no
/// figure of a kind has a name in expectations.
#[must_use]
pub fn limits(fleet: &Fleet) -> Option<String> {
    let kind = fleet.kinds.first()?;
    let limits: Vec<String> = kind.figures.iter().filter_map(limit).collect();
    if limits.is_empty() || fleet.is_change {
        return None;
    }
    let mut out = format!(
        "# Limits for `tiermark check --expect`: medians of {} hosts with room for {WIDE} standard deviations, and for at \
         least\n# {:.0} %. Hosts: {}.\n",
        kind.hosts,
        LEAST * 100.0,
        described(kind)
    );
    limits.iter().for_each(|limit| out.push_str(limit));
    Some(out)
}

fn described(kind: &HostKind) -> String {
    let cpu = kind.cpu.as_deref().unwrap_or("unknown processor");
    let product = kind.product.as_ref().map_or_else(String::new, |product| format!("{product}, "));
    // It stands in a comment of one line.
    format!("{product}{} x {cpu}", kind.sockets).replace(|c: char| c.is_control(), " ")
}

/// An expectation; `None` of a figure without a name.
fn limit(figure: &KindFigure) -> Option<String> {
    let name = figure.name.as_ref()?;
    let less_is_better = figure.unit.less_is_better()?;
    let room = (WIDE * figure.sd).max(LEAST);
    let (sign, limit) = match less_is_better {
        true => ("<=", figure.median * (1.0 + room)),
        false => (">=", figure.median * (1.0 - room)),
    };
    let number = |value: f64| match figure.unit {
        Unit::Ns => format!("{} ns", rounded(value)),
        Unit::BytesPerSecond => format!("{} GB/s", rounded(value / 1e9)),
        _ => rounded(value),
    };
    let mut out = String::new();
    let _ = writeln!(out, "\n[[expect]]\nthat = \"{name} {sign} {}\"", number(limit));
    let (median, sd) = (number(figure.median), figure.sd * 100.0);
    let _ = writeln!(out, "why = \"the median of {} such hosts is {median}, their scatter {sd:.1} %\"", figure.hosts);
    Some(out)
}

/// Four digits.
fn rounded(value: f64) -> String {
    let digits = 3 - value.abs().log10().floor() as i32;
    let digits = usize::try_from(digits.clamp(0, 9)).unwrap_or(0);
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
