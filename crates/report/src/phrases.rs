//! Phrases that several views have.

/// A time in ms with as many digits as are needed.
pub(crate) fn milliseconds(ns: f64) -> String {
    let ms = ns / 1e6;
    match ms {
        v if v >= 9.95 => format!("{v:.0} ms"),
        v if (v * 10.0).fract().abs() < 1e-6 || v >= 0.95 => format!("{v:.1} ms").replace(".0 ", " "),
        v => format!("{v:.2} ms"),
    }
}

/// A text with a capital letter first, without a full stop.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.trim_end_matches('.').chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
