//! Messages about alerts of `watch`.

use super::rows::messages;
use crate::nearest;

/// Where the names of figures are.
const LISTED: &str = "`tiermark list figures` lists all";

messages! {
    /// A name that samples do not have. Characters count from 1.
    Note figure_unknown(at: usize, name: &str, known: &[&str]):
        { format!("character {at}: unknown figure '{name}'{}", meant(name, known)) };

    /// A name of expectations, with that of alerts for the same.
    Note figure_of_check(at: usize, name: &str, own: Option<&str>):
        {
            let own = own.map_or_else(
                || "alerts have no such figure".to_owned(),
                |own| format!("alerts call it '{own}'"),
            );
            format!("character {at}: '{name}' is a name of `tiermark check`; {own} ({LISTED})")
        };

    /// An alert that compares nothing.
    Note alert_without_comparison(): "no comparison: write, for example, \"cpu.steal > 5 % for 30s\"";

    /// An alert of numbers only.
    Note alert_without_figure(): "no figure is named: write, for example, \"cpu.steal > 5 % for 30s\"";

    /// An alert that is too long to be one.
    Note alert_too_long(most: usize): "longer than {most} characters or parts: give several alerts";

    /// A time behind `for` that is none.
    Note alert_time_wrong(at: usize, text: &str):
        "character {at}: '{text}' is not a time: write seconds, minutes or hours, as in for 30s, for 5 min or for 1h";

    /// `capability` or `record` without exactly one figure that has one.
    Note alert_reference_unclear(at: usize, word: &str):
        "character {at}: {word} belongs to a figure of --active: name exactly one such figure in the alert, as in \
            \"dram.latency > 1.5 x {word}\"";

    /// A share that is compared with a number above 1.
    Note alert_share_above_one(number: f64, name: &str):
        "{name} is a share of at most 100 %, and {number} is more: write {number} %";

    /// Two sides that cannot be compared.
    Note alert_units_differ(left: &str, right: &str, cure: &str):
        "the left side is {left}, the right side {right}: {cure}";

    /// Several comparisons in one alert.
    Note alert_compares_twice(at: usize): "character {at}: compare once; give the second limit in an --alert of its \
        own";

    /// A name with signs that end a word, outside of quotes.
    Note alert_name_unquoted(at: usize, example: &str):
        "character {at}: a name with other signs than letters, digits, '.', '_' and '-' stands in quotes: \
            '\"{example}\" > 1 GiB'";

    /// A quote without its end.
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
