//! Messages about alerts of `watch`.

use super::rows::messages;
use crate::nearest;

messages! {
    /// A name that samples do not have. Characters count from 1.
    Note figure_unknown(at: usize, name: &str, known: &[&str]):
        { format!("character {at}: unknown figure '{name}'{}", meant(name, known)) };

    /// An alert that compares nothing.
    Note alert_without_comparison(): "no comparison: write, for example, \"cpu.steal > 5 % for 30s\"";

    /// An alert of numbers only.
    Note alert_without_figure(): "no figure is named: write, for example, \"cpu.steal > 5 % for 30s\"";

    /// An alert that is too long to be one.
    Note alert_too_long(most: usize): "longer than {most} characters or parts: give several alerts";

    /// A time behind `for` that is none.
    Note alert_time_wrong(at: usize, text: &str):
        "character {at}: '{text}' is not a time: write, for example, for 30s or for 5m";

    /// `capability` or `record` without exactly one figure that has one.
    Note alert_reference_unclear(at: usize, word: &str):
        "character {at}: {word} belongs to a figure of --active: name exactly one such figure in the alert, as in \"dram.latency > 1.5 x {word}\"";

    /// A share that is compared with a number above 1.
    Note alert_share_above_one(number: f64, name: &str):
        "{name} is a share of at most 100 %, and {number} is more: write {number} %";

    /// Two sides that cannot be compared.
    Note alert_units_differ(left: &str, right: &str):
        "the left side is {left}, the right side {right}: give a number its unit, as in 120 ns, 30 GB/s, 1 GiB or 5 %";
}

/// The name that was probably meant: one that ends so, or one that is near.
fn meant(name: &str, known: &[&str]) -> String {
    let ends = |known: &&&str| known.strip_suffix(name).is_some_and(|before| before.ends_with('.'));
    let mut longer = known.iter().filter(ends);
    let near = match (longer.next(), longer.next()) {
        (Some(only), None) => format!("; did you mean '{only}'?"),
        _ => nearest(name, known),
    };
    if near.is_empty() { "; figures have the names of `tiermark watch --csv`".to_owned() } else { near }
}
