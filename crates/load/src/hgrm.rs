//! The text of a distribution by percentiles (`.hgrm`) that HdrHistogram prints, and that its plotter and others read.

use std::fmt::Write;

use crate::histogram::Latencies;

/// Rows between one percentile and the one halfway from it to 100 %, as the tools of HdrHistogram print them.
const ROWS_PER_HALF: u32 = 5;
/// Nanoseconds in a millisecond, the unit of the values.
const MS: f64 = 1e6;

impl Latencies {
    /// The distribution in HdrHistogram's text form, in ms with all digits of the ns: rows of value, percentile (0 to
    /// 1), count up to it and 1/(1 − percentile), then mean, deviation, maximum, counts and the form of the histogram.
    /// A last line, which plotters skip as they do those, says what it is `of`, and the unit.
    pub fn hgrm(&self, of: &str) -> String {
        let counts = self.histogram();
        let mut out =
            format!("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
        let mut total = 0;
        for row in counts.iter_quantiles(ROWS_PER_HALF) {
            total += row.count_since_last_iteration();
            let (value, share) = (row.value_iterated_to().min(counts.max()) as f64 / MS, row.quantile_iterated_to());
            let _ = write!(out, "{value:12.6} {share:14.12} {total:10}");
            // The last row has no such number.
            let _ = if share < 1.0 { writeln!(out, " {:14.2}", 1.0 / (1.0 - share)) } else { writeln!(out) };
        }
        let (mean, max) = (self.mean().unwrap_or(0.0) / MS, self.max().unwrap_or(0) as f64 / MS);
        let _ = writeln!(out, "#[Mean    = {mean:12.6}, StdDeviation   = {:12.6}]", counts.stdev() / MS);
        let _ = writeln!(out, "#[Max     = {max:12.6}, Total count    = {:12}]", counts.len());
        // Values below this many units are told apart one by one: twice the ten to the number of digits, as a power of
        // two.
        let sub_buckets = (2 * 10_u64.pow(u32::from(counts.sigfig()))).next_power_of_two();
        let _ = writeln!(out, "#[Buckets = {:12}, SubBuckets     = {sub_buckets:12}]", counts.buckets());
        let _ = writeln!(out, "# {of}; values in milliseconds");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_stats::Rng;

    /// The numbers of each row.
    fn rows(text: &str) -> Vec<Vec<f64>> {
        let rows = text.lines().skip(2).take_while(|line| !line.starts_with('#'));
        rows.map(|row| row.split_whitespace().map(|n| n.parse().unwrap()).collect()).collect()
    }

    /// The number after a name in the last lines.
    fn footer(text: &str, name: &str) -> f64 {
        let after = text.split_once(&format!("{name} ")).unwrap().1.split_once("= ").unwrap().1;
        after.split([',', ']']).next().unwrap().trim().parse().unwrap()
    }

    #[test]
    fn read_back_it_is_the_distribution() {
        let (mut latencies, mut rng) = (Latencies::new(), Rng::new(9));
        (0..20_001).for_each(|_| latencies.record((10f64.powf(1.0 + 9.0 * rng.unit())) as u64));
        let text = latencies.hgrm("Response times");
        let rows = rows(&text);
        assert!(rows.len() > 50, "{text}");
        for row in &rows {
            assert_eq!(Some((row[0] * MS).round() as u64), latencies.quantile(row[1]), "{row:?}");
            // All up to the value are counted, and they are as many as the percentile says.
            assert_eq!(row[2] as u64, latencies.count() - latencies.above((row[0] * MS).round() as u64), "{row:?}");
            assert!(row[2] >= row[1] * 20_001.0 - 1e-6, "{row:?}");
        }
        let (last, others) = rows.split_last().unwrap();
        assert_eq!((last.len(), last[1], last[2]), (3, 1.0, 20_001.0));
        assert!(others.iter().all(|row| (row[3] * (1.0 - row[1]) - 1.0).abs() < 0.01), "{text}");
        assert_eq!((footer(&text, "Total count"), footer(&text, "SubBuckets")), (20_001.0, 2048.0));
        assert!((footer(&text, "#[Mean") * MS - latencies.mean().unwrap()).abs() < 1.0);
        assert_eq!(Some((footer(&text, "#[Max") * MS).round() as u64), latencies.max());
        assert!(text.ends_with("# Response times; values in milliseconds\n"), "{text}");
    }

    #[test]
    fn one_without_values_has_its_frame() {
        let text = Latencies::new().hgrm("Service times");
        assert_eq!(footer(&text, "Total count"), 0.0);
    }
}
