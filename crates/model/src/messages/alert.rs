//! Messages about alerts of `watch`.

use super::rows::messages;
use crate::nearest;

/// Where the names of figures are.
const LISTED: &str = "`tiermark list figures` lists all";

messages! {
    /// A name that samples do not have. Characters count from 1.
    Note figure_unknown(at: usize, name: &str, known: &[&str]):
        { format!("character {at}: unknown figure '{name}'{}", meant(name, known)) };

    Note alert_without_comparison(): "no comparison: write, for example, \"cpu.steal > 5 % for 30s\"";

    Note alert_without_figure(): "no figure is named: write, for example, \"cpu.steal > 5 % for 30s\"";

    Note alert_too_long(most: usize): "longer than {most} characters or parts: give several alerts";

    /// A time behind `for` that is none.
    Note alert_time_wrong(at: usize, text: &str):
        "character {at}: '{text}' is not a time: write seconds, minutes or hours, as in for 30s, for 5 min or for 1h";

    /// `capability` or `record` without exactly one figure that has one.
    Note alert_reference_unclear(at: usize, word: &str):
        "character {at}: {word} belongs to a figure of --active: name exactly one such figure in the alert, as in \
            \"latency.dram > 1.5 x {word}\"";

    Note alert_share_above_one(number: f64, name: &str):
        "{name} is a share of at most 100 %, and {number} is more: write {number} %";

    Note alert_units_differ(left: &str, right: &str, cure: &str):
        "the left side is {left}, the right side {right}: {cure}";

    Note alert_compares_twice(at: usize): "character {at}: compare once; give the second limit in an --alert of its \
        own";

    Note alert_name_unquoted(at: usize, example: &str):
        "character {at}: a name with other signs than letters, digits, '.', '_' and '-' stands in quotes: \
            '\"{example}\" > 1 GiB'";

    Note alert_quote_open(at: usize): "character {at}: the quote has no end: write \" behind the name";
}

/// The name that was probably meant: one that ends so, or one that is near.
fn meant(name: &str, known: &[&str]) -> String {
    let ends = |known: &&&str| known.strip_suffix(name).is_some_and(|before| before.ends_with('.'));
    let mut longer = known.iter().filter(ends);
    let near = match (longer.next(), longer.next()) {
        (Some(only), None) => format!("; did you mean '{only}'?"),
        _ => nearest(name, known),
    };
    format!("{near} ({LISTED})")
}
