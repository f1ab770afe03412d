//! The mapping of the published swap-tier test ("How many Redis VMs …"), bit-compatible given its draws.

/// Values that the second draw of a request takes: 0..=100.
pub(super) const DRAWS: u64 = 101;
/// The middle of those values, where the pull is strongest.
const CENTRE: f64 = 50.0;

/// Pulls a uniform key towards the middle key by a factor that is drawn for each request.
#[derive(Debug, Clone)]
pub(super) struct Brief {
    /// The middle key, by integer division.
    middle: u64,
    /// exp(−(t − 50)²/2D²) for each draw t.
    pull: Vec<f64>,
}

impl Brief {
    /// The mapping of width `width` (above 0) over `0..count`, with `count` below 2^31.
    pub(super) fn new(width: u32, count: u64) -> Self {
        let width = f64::from(width);
        let pull = (0..DRAWS).map(|t| {
            let distance = t as f64 - CENTRE;
            (-(distance * distance) / (2.0 * width * width)).exp()
        });
        Self { middle: count / 2, pull: pull.collect() }
    }

    /// The requested key, from a uniform key and a draw. Truncation is towards zero, as C's conversion of a double to
    /// an int.
    pub(super) fn map(&self, key: u64, t: usize) -> u64 {
        if key > self.middle {
            key - (self.pull[t] * (key - self.middle) as f64) as u64
        } else {
            key + (self.pull[t] * (self.middle - key) as f64) as u64
        }
    }
}
