//! The blocks of a visit: a summary for each thread, and the time of each block.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Reader, encode, encode_thread, kept};

/// Parts that a share of the time is kept in: 0.01 %.
const SHARES: f64 = 1e4;
/// Bytes from which the times of a step are complete: a million blocks, as many as a worker stamps in one shot. A
/// hundred such steps are about as much as a document may hold.
const TIMES_MOST: usize = 2 << 20;

/// The blocks of one thread in a visit; of a step of more than [`super::THREADS_KEPT`] threads, those of all of them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Blocks {
    /// How many there are.
    pub count: u64,
    /// How many of them do not count, because an interruption hit them, or another thread of the step.
    pub left_out: u64,
    /// Share of the thread's time that these took.
    pub left_out_share: f64,
    /// Share of the time of the others that short interruptions took: it is taken out of the visit's value, and not of
    /// `values`.
    pub subtracted: f64,
    /// What the others come to; `None` if there are none, or they are not longer than the stamps.
    pub values: Option<BlockValues>,
}

/// What the blocks of a thread come to, in the unit of the step, without the cost of the stamps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockValues {
    /// Of all of them together: their time over their work, or their work over their time.
    pub mean: f64,
    /// The block in the middle.
    pub median: f64,
    /// The 10th percentile.
    pub p10: f64,
    /// The 90th percentile.
    pub p90: f64,
}

impl Blocks {
    /// As they come back from a document.
    pub(super) fn kept(&self) -> Self {
        let mut bytes = Vec::new();
        self.put(&mut bytes);
        Reader { bytes: &bytes, has_windows: true }.blocks().unwrap_or_default()
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let share = |share: f64| (share * SHARES).round() as u64;
        for number in [self.count, self.left_out, share(self.left_out_share), share(self.subtracted)] {
            put_number(number, out);
        }
        let values = self.values.filter(|values| kept(values.mean).is_some());
        let mean = values.map(|values| values.mean);
        out.extend_from_slice(&encode(mean).to_le_bytes()[..3]);
        let others = values.map(|values| [values.median, values.p10, values.p90]);
        out.extend(others.iter().flatten().flat_map(|other| encode_thread(Some(*other), mean).to_le_bytes()));
    }
}

/// Writes a number, 7 bits a byte, the lowest first; the highest bit says that another byte follows.
fn put_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let [byte] = self.take()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// The blocks of a thread.
    pub(super) fn blocks(&mut self) -> Option<Blocks> {
        let (count, left_out) = (self.number()?, self.number()?);
        let mut share = || self.number().map(|share| share as f64 / SHARES);
        let (left_out_share, subtracted) = (share()?, share()?);
        let mut values = None;
        if let Some(mean) = self.value()? {
            let others = [self.thread(Some(mean))?, self.thread(Some(mean))?, self.thread(Some(mean))?];
            if let [Some(median), Some(p10), Some(p90)] = others {
                values = Some(BlockValues { mean, median, p10, p90 });
            }
        }
        Some(Blocks { count, left_out, left_out_share, subtracted, values })
    }
}

/// The times of the blocks of a step (`--json=full`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockTimes {
    /// How many visits they are of, from the first one on.
    pub visits: u64,
    /// Base64 of the visits, one after the other. A visit: the number of threads whose work the value counts, and for
    /// each of them the number of its blocks and the time of each, whole ns, with the stamp. A number is 7 bits a byte,
    /// the lowest first; the highest bit of a byte says that another one follows.
    #[serde(serialize_with = "write_base64", deserialize_with = "read_base64")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub base64: Vec<u8>,
}

impl BlockTimes {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.visits == 0
    }

    /// Bytes of memory that they take.
    pub fn bytes(&self) -> usize {
        self.base64.len()
    }

    /// Adds a visit by the stamps of its threads, ns: the start, then the end of each block. Once there are 2 MiB, the
    /// step has no more.
    pub fn push(&mut self, threads: &[&[f64]]) {
        if self.base64.len() >= TIMES_MOST {
            return;
        }
        self.visits += 1;
        put_number(threads.len() as u64, &mut self.base64);
        for stamps in threads {
            put_number(stamps.len().saturating_sub(1) as u64, &mut self.base64);
            for pair in stamps.windows(2) {
                // Ends are rounded, not times: errors do not add up.
                put_number((pair[1].round() - pair[0].round()) as u64, &mut self.base64);
            }
        }
    }
}

fn write_base64<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&STANDARD.encode(bytes))
}

fn read_base64<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    STANDARD.decode(String::deserialize(from)?).map_err(de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The times as the field's description says.
    fn decoded(times: &BlockTimes) -> Vec<Vec<Vec<u64>>> {
        let mut reader = Reader { bytes: &times.base64, has_windows: true };
        let visits = (0..times.visits).map(|_| {
            let threads = 0..reader.number().unwrap();
            let thread = |_| (0..reader.number().unwrap()).map(|_| reader.number().unwrap()).collect();
            threads.map(thread).collect()
        });
        let visits = visits.collect();
        assert!(reader.bytes.is_empty());
        visits
    }

    #[test]
    fn a_summary_is_kept_to_a_hundredth_of_a_percent() {
        let values = BlockValues { mean: 1.105, median: 1.1, p10: 1.09, p90: 2.0 };
        let blocks =
            Blocks { count: 505, left_out: 17, left_out_share: 0.0412, subtracted: 0.0002, values: Some(values) };
        let back = blocks.kept();
        assert_eq!(Blocks { values: blocks.values, ..back }, blocks);
        let back = back.values.unwrap();
        let pairs = [(back.mean, 1.105), (back.median, 1.1), (back.p10, 1.09), (back.p90, 2.0)];
        assert!(pairs.iter().all(|(back, value)| (back / value - 1.0).abs() < 1e-4), "{back:?}");
        // Blocks that are shorter than the stamp have no value, and neither have those of a broken clock.
        for broken in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Blocks { values: Some(BlockValues { p10: broken, ..values }), ..blocks }.kept().values, None);
            assert_eq!(Blocks { values: Some(BlockValues { mean: broken, ..values }), ..blocks }.kept().values, None);
        }
    }

    #[test]
    fn a_step_keeps_a_million_blocks_and_the_visit_that_passes_them() {
        let stamps: Vec<f64> = (0..100_001).map(|index| 4_000.0 * f64::from(index)).collect();
        let mut times = BlockTimes::default();
        (0..20).for_each(|_| times.push(&[&stamps]));
        assert_eq!((times.visits, decoded(&times).len()), (11, 11));
    }

    proptest! {
        #[test]
        fn times_come_back_and_their_sum_is_that_of_the_visit(
            visits in prop::collection::vec(prop::collection::vec(prop::collection::vec(0.1..1e7f64, 0..40), 0..4), 0..5),
        ) {
            let mut times = BlockTimes::default();
            for visit in &visits {
                let stamps = |blocks: &Vec<f64>| {
                    let ends = blocks.iter().scan(1e9, |at, block| { *at += block; Some(*at) });
                    std::iter::once(1e9).chain(ends).collect::<Vec<f64>>()
                };
                let stamps: Vec<Vec<f64>> = visit.iter().map(stamps).collect();
                times.push(&stamps.iter().map(Vec::as_slice).collect::<Vec<_>>());
            }
            let back: BlockTimes = serde_json::from_str(&serde_json::to_string(&times).unwrap()).unwrap();
            prop_assert_eq!(&back, &times);
            let back = decoded(&back);
            prop_assert_eq!(back.len(), visits.len());
            for (back, blocks) in back.iter().flatten().zip(visits.iter().flatten()) {
                prop_assert_eq!(back.len(), blocks.len());
                prop_assert!(back.iter().zip(blocks).all(|(back, block)| (*back as f64 - block).abs() <= 1.0));
                let (sum, all) = (back.iter().sum::<u64>() as f64, blocks.iter().sum::<f64>());
                prop_assert!((sum - all).abs() <= 0.6, "{} {}", sum, all);
            }
        }
    }
}
