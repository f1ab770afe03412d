//! Words of the command line that only this program knows.

use std::time::Duration;

use tiermark_model::{Bytes, ChainLayout, PageKind, parse_size};
use tiermark_probes::bandwidth::{DataKind, ThreadCount};

/// A size above zero.
pub(crate) fn size(text: &str) -> Result<Bytes, String> {
    match parse_size(text).map_err(|e| e.why)? {
        Bytes(0) => Err("there is nothing to measure in 0 bytes; give at least 1K".into()),
        size => Ok(size),
    }
}

/// A page size.
pub(crate) fn page(text: &str) -> Result<PageKind, String> {
    text.parse()
}

/// A chain layout.
pub(crate) fn layout(text: &str) -> Result<ChainLayout, String> {
    text.parse()
}

/// A number of threads: `one`, `cores`, `cpus` or a number.
pub(crate) fn threads(text: &str) -> Result<ThreadCount, String> {
    match text {
        "one" => Ok(ThreadCount::One),
        "cores" => Ok(ThreadCount::Cores),
        "cpus" => Ok(ThreadCount::Cpus),
        _ => text
            .parse()
            .ok()
            .filter(|n| *n > 0)
            .map(ThreadCount::Exactly)
            .ok_or_else(|| "use one, cores (physical cores), cpus (hardware threads) or a number above 0".into()),
    }
}

/// What memory holds: `random` or `zeros`.
pub(crate) fn data(text: &str) -> Result<DataKind, String> {
    match text {
        "random" => Ok(DataKind::Random),
        "zeros" => Ok(DataKind::Zeros),
        _ => Err("use random or zeros".into()),
    }
}

/// A percentage as a ratio: `2` and `2%` are 0.02.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim_end_matches('%').trim().parse().ok();
    number
        .filter(|n| *n > 0.0 && *n <= 100.0)
        .map(|n| n / 100.0)
        .ok_or_else(|| "use a percentage above 0, such as 2".into())
}

/// A time in seconds: `90`, `1.5`, `90s`, `2m`, `1h`.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.trim().strip_suffix(['s', 'm', 'h']) {
        Some(number) if text.ends_with('m') => (number, 60.0),
        Some(number) if text.ends_with('h') => (number, 3600.0),
        Some(number) => (number, 1.0),
        None => (text.trim(), 1.0),
    };
    let seconds = number.parse::<f64>().ok().map(|n| n * scale);
    seconds
        .filter(|s| *s > 0.0 && Duration::try_from_secs_f64(*s).is_ok())
        .ok_or_else(|| "use a number of seconds above 0, such as 90, or 2m".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_type() {
        assert_eq!(size("32K"), Ok(Bytes(32 << 10)));
        assert_eq!(percent("2"), Ok(0.02));
        assert_eq!(percent("0.5%"), Ok(0.005));
        assert_eq!(seconds("2m"), Ok(120.0));
        assert_eq!(seconds("1.5s"), Ok(1.5));
        assert_eq!(threads("3"), Ok(ThreadCount::Exactly(3)));
    }

    #[test]
    fn refuses_with_what_to_type_instead() {
        assert!(size("0").unwrap_err().contains("1K"));
        assert!(size("1.3").unwrap_err().contains("whole number of bytes"));
        for bad in ["0", "-1", "NaN", "inf", "x", "101"] {
            assert!(percent(bad).unwrap_err().contains("percentage"), "{bad}");
        }
        for bad in ["0", "-1", "NaN", "inf", "1e400", "m"] {
            assert!(seconds(bad).unwrap_err().contains("seconds"), "{bad}");
        }
        assert!(threads("0").unwrap_err().contains("cores"));
    }
}
