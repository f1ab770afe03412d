//! Pressure stall information (PSI): `/proc/pressure`, and the same files of control groups of version 2.

use crate::files::Malformed;

/// Stalls for want of a resource.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stalls {
    /// At least one task waited.
    pub some: Stall,
    /// All tasks waited; `None` where the kernel does not report it (cpu, before Linux 5.13).
    pub full: Option<Stall>,
}

/// Time in which tasks waited. A mean that the text lacks is `None`: every kernel with PSI has all three.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stall {
    /// Share of the last 10 s, in percent.
    pub avg10: f64,
    /// Share of the last 60 s, in percent.
    pub avg60: Option<f64>,
    /// Share of the last 300 s, in percent.
    pub avg300: Option<f64>,
    /// All of that time so far, in µs.
    pub total_us: u64,
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`, and the same of `full`.
///
/// # Errors
/// [`Malformed`] with the line that makes no sense, or where there is no line of `some`.
pub fn pressure(text: &str) -> Result<Stalls, Malformed> {
    let (mut some, mut full) = (None, None);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let mut words = line.split_ascii_whitespace();
        let slot = match words.next() {
            Some("some") => &mut some,
            Some("full") => &mut full,
            _ => return Err(Malformed::line(line)),
        };
        *slot = Some(stall(words).ok_or_else(|| Malformed::line(line))?);
    }
    Ok(Stalls { some: some.ok_or_else(|| Malformed::line(text))?, full })
}

fn stall<'a>(words: impl Iterator<Item = &'a str>) -> Option<Stall> {
    let (mut means, mut total) = ([None; 3], None);
    for word in words {
        let Some((name, value)) = word.split_once('=') else { continue };
        let mean = || value.parse::<f64>().ok().filter(|share| (0.0..=100.0).contains(share));
        match name {
            "avg10" => means[0] = Some(mean()?),
            "avg60" => means[1] = Some(mean()?),
            "avg300" => means[2] = Some(mean()?),
            "total" => total = Some(value.parse().ok()?),
            _ => {}
        }
    }
    Some(Stall { avg10: means[0]?, avg60: means[1], avg300: means[2], total_us: total? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_totals() {
        let text = "some avg10=1.50 avg60=2.00 avg300=100.00 total=7\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n";
        let stalls = pressure(text).unwrap();
        assert_eq!(stalls.some, Stall { avg10: 1.5, avg60: Some(2.0), avg300: Some(100.0), total_us: 7 });
        assert_eq!(stalls.full.map(|full| full.total_us), Some(5));
        assert_eq!(pressure("some avg10=0.00 total=5\n").unwrap().full, None);
        for wrong in ["", "full avg10=0.00 total=1", "some avg10=101 total=1", "some avg10=nan total=1", "some total=1"]
        {
            assert!(pressure(wrong).is_err(), "{wrong}");
        }
    }
}
