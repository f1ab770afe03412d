//! Which keys are requested: distributions over a range, and whether neighbours in popularity are neighbours in order.

mod brief;
mod scramble;
mod zipf;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tiermark_model::messages::load as says;
use tiermark_model::{Refusal, nearest};
use tiermark_stats::Rng;

use brief::Brief;
use scramble::Scramble;
use zipf::Zipf;

/// How often each key is requested. Documents hold the text of the option: `zipf:0.99`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum KeyDist {
    /// All alike.
    #[default]
    Uniform,
    /// The published swap-tier test's mapping with this width, bit for bit: uniform keys drawn towards the middle by
    /// exp(−(t − 50)²/2D²), t uniform in 0..=100. A mixture of 101 uniform distributions, not a normal one: 1 % of the
    /// requests are for the middle key alone. 0 is uniform.
    Brief(u32),
    /// Normal, drawn again where it falls outside. Without numbers the deviation is a sixth of the keys, the mean their
    /// middle.
    Normal {
        /// Standard deviation in keys; `None`: a sixth of the keys.
        sigma: Option<f64>,
        /// Number of the mean key; `None`: the middle one.
        mean: Option<f64>,
    },
    /// The key of rank r (from 1) as often as r^−theta.
    Zipf(f64),
    /// A share of the keys, the first ones, gets a share of the requests; uniform within and without.
    Hotspot {
        /// Share of the keys, 0 to 1.
        keys: f64,
        /// Share of the requests, 0 to 1.
        requests: f64,
    },
    /// Each key once, in order, then again from the first: all connections of a tenant go through them together.
    Sequential,
}

/// Widest normal distribution, in numbers of keys: one draw in 25 falls on a key.
const WIDEST: f64 = 10.0;

/// How the distributions are written.
pub const KEY_FORMS: &str =
    "uniform, brief:WIDTH, normal[:SIGMA[,MEAN]], zipf:EXPONENT, hotspot:KEYS,REQUESTS, sequential";

/// Names of the distributions.
fn names() -> Vec<&'static str> {
    KEY_FORMS.split(", ").filter_map(|form| form.split([':', '[']).next()).collect()
}

/// Whether keys that are alike in popularity lie together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyOrder {
    #[default]
    /// Popular keys are neighbours, which a filled server keeps on the same pages: the best case of a tier of pages.
    Clustered,
    /// A fixed permutation spreads them over all keys, as hashed identifiers are.
    Scrambled,
}

/// Draws keys of a distribution.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    first: u64,
    count: u64,
    sampler: Sampler,
    scramble: Option<Scramble>,
}

#[derive(Debug, Clone)]
enum Sampler {
    Uniform,
    Brief(Brief),
    Normal { sigma: f64, mean: f64 },
    Zipf(Zipf),
    Hotspot { hot: u64, requests: f64 },
    Sequential { next: u64 },
}

impl Keys {
    /// A sampler of `count` keys from `first` on.
    ///
    /// # Errors
    /// A [`Refusal`] where the numbers make no distribution.
    pub(crate) fn new(dist: KeyDist, order: KeyOrder, first: u64, count: u64) -> Result<Self, Refusal> {
        let refuse = |why: &str, cure: &str| Err(says::workload_impossible(&format!("keys {dist}"), why, cure));
        if count == 0 {
            return refuse("there are no keys to draw from", "use at least 1 key");
        }
        if first.checked_add(count).is_none() {
            return refuse("the last of them is above the largest number of 64 bits", "use smaller numbers");
        }
        let sampler = match dist {
            KeyDist::Brief(_) if count > i32::MAX as u64 => {
                return refuse("this distribution maps 32-bit integers", "use fewer than 2^31 keys");
            }
            KeyDist::Uniform | KeyDist::Brief(0) => Sampler::Uniform,
            KeyDist::Brief(width) => Sampler::Brief(Brief::new(width, count)),
            KeyDist::Normal { sigma, mean } => {
                let sigma = sigma.unwrap_or(count as f64 / 6.0);
                let mean = mean.map_or(count as f64 / 2.0, |key| key - first as f64);
                // Draws outside are repeated: with the mean outside they would have no end, and with a deviation of
                // many times the keys as good as none.
                if !(sigma > 0.0 && sigma <= WIDEST * count as f64 && (0.0..count as f64).contains(&mean)) {
                    return refuse(
                        "the mean must lie within the keys, and the deviation above 0 and below ten times their number",
                        "such as normal:1000,5000; as good as all alike is uniform",
                    );
                }
                Sampler::Normal { sigma, mean }
            }
            KeyDist::Zipf(theta) => {
                // Beyond 10 one key gets 99.9 % of the requests.
                if !(theta > 0.0 && theta <= 10.0) {
                    return refuse("the exponent must lie above 0 and be at most 10", "such as zipf:0.99");
                }
                Sampler::Zipf(Zipf::new(theta, count))
            }
            KeyDist::Hotspot { keys, requests } => {
                if !((0.0..=1.0).contains(&requests) && keys > 0.0 && keys <= 1.0) {
                    return refuse("both shares must lie between 0 and 1", "such as hotspot:0.2,0.8");
                }
                let hot = ((count as f64 * keys).round() as u64).clamp(1, count);
                // If all keys are hot, no request goes to other keys.
                Sampler::Hotspot { hot, requests: if hot == count { 1.0 } else { requests } }
            }
            KeyDist::Sequential => Sampler::Sequential { next: 0 },
        };
        Ok(Self { first, count, sampler, scramble: (order == KeyOrder::Scrambled).then(|| Scramble::new(count)) })
    }

    /// Lets a sequence begin with its middle key; draws have no beginning.
    pub(crate) fn begin_in_the_middle(&mut self) {
        if let Sampler::Sequential { next } = &mut self.sampler {
            *next = self.count / 2;
        }
    }

    /// Draws a key.
    pub(crate) fn draw(&mut self, rng: &mut Rng) -> u64 {
        let key = match &mut self.sampler {
            Sampler::Uniform => below(rng, self.count),
            Sampler::Brief(brief) => {
                let key = below(rng, self.count);
                brief.map(key, below(rng, brief::DRAWS) as usize)
            }
            Sampler::Normal { sigma, mean } => loop {
                let key = (*mean + *sigma * rng.normal()).floor();
                if key >= 0.0 && key < self.count as f64 {
                    break key as u64;
                }
            },
            Sampler::Zipf(zipf) => zipf.draw(rng),
            Sampler::Hotspot { hot, requests } => {
                if rng.unit() < *requests {
                    below(rng, *hot)
                } else {
                    *hot + below(rng, self.count - *hot)
                }
            }
            Sampler::Sequential { next } => {
                let key = *next;
                *next = if key + 1 < self.count { key + 1 } else { 0 };
                key
            }
        };
        self.first + self.scramble.as_ref().map_or(key, |scramble| scramble.of(key))
    }
}

fn below(rng: &mut Rng, n: u64) -> u64 {
    // This program runs where usize has 64 bits.
    rng.below(n as usize) as u64
}

impl fmt::Display for KeyDist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Brief(width) => write!(f, "brief:{width}"),
            Self::Normal { sigma: None, .. } => f.write_str("normal"),
            Self::Normal { sigma: Some(sigma), mean: None } => write!(f, "normal:{sigma}"),
            Self::Normal { sigma: Some(sigma), mean: Some(mean) } => write!(f, "normal:{sigma},{mean}"),
            Self::Zipf(theta) => write!(f, "zipf:{theta}"),
            Self::Hotspot { keys, requests } => write!(f, "hotspot:{keys},{requests}"),
            Self::Sequential => f.write_str("sequential"),
        }
    }
}

impl FromStr for KeyDist {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, numbers) = text.split_once(':').map_or((text, None), |(name, numbers)| (name, Some(numbers)));
        let usage = || {
            let near = if names().contains(&name) { String::new() } else { nearest(name, &names()) };
            format!(
                "'{text}' is no distribution of keys{near}; use one of {KEY_FORMS}, such as zipf:0.99 or \
                    hotspot:0.2,0.8"
            )
        };
        let numbers: Vec<f64> = match numbers {
            None => Vec::new(),
            Some(list) => {
                list.split(',').map(|n| n.trim().parse::<f64>()).collect::<Result<_, _>>().map_err(|_| usage())?
            }
        };
        if numbers.iter().any(|n| !n.is_finite()) {
            return Err(usage());
        }
        match (name, numbers.as_slice()) {
            ("uniform", []) => Ok(Self::Uniform),
            ("brief", [width]) if width.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(width) => {
                Ok(Self::Brief(*width as u32))
            }
            ("normal", []) => Ok(Self::Normal { sigma: None, mean: None }),
            ("normal", [sigma]) => Ok(Self::Normal { sigma: Some(*sigma), mean: None }),
            ("normal", [sigma, mean]) => Ok(Self::Normal { sigma: Some(*sigma), mean: Some(*mean) }),
            ("zipf", [theta]) => Ok(Self::Zipf(*theta)),
            ("sequential", []) => Ok(Self::Sequential),
            ("hotspot", [keys, requests]) => Ok(Self::Hotspot { keys: *keys, requests: *requests }),
            _ => Err(usage()),
        }
    }
}

tiermark_model::text_form!(KeyDist);

#[cfg(test)]
mod tests;
