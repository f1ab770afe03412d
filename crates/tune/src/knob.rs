//! A knob: where it is, how it is written, and what each profile makes of it.

use serde::Deserialize;
use tiermark_model::Reach;
use tiermark_undo::Syntax;

use crate::derived::{Derived, Fact};

/// Purpose that the machine is tuned for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Memory extended by a slower tier: swap, zram, zswap, a memory-only node.
    SwapTier,
    /// Short and even response times from memory.
    Latency,
    /// The kernel's defaults.
    Default,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 3] = [Self::SwapTier, Self::Latency, Self::Default];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::SwapTier => "swap-tier",
            Self::Latency => "latency",
            Self::Default => "default",
        }
    }

    /// The goal of the profile, as `tune` prints it.
    pub fn purpose(self) -> &'static str {
        match self {
            Self::SwapTier => "memory extended by swap, zram, zswap or a slower node",
            Self::Latency => "short and even response times",
            Self::Default => "the kernel's defaults, where they do not depend on the distribution",
        }
    }
}

/// Advice of a profile on a knob.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Advice {
    /// One of these values, the first where it has to be written; and why.
    To {
        /// The values.
        to: Vec<String>,
        /// The reason.
        why: String,
    },
    /// Whatever it is, with a word on it.
    Keep {
        /// The word.
        keep: String,
    },
    /// A value that depends on the machine, and why; or none.
    By {
        /// What it follows from.
        by: Derived,
    },
}

/// Where the value of a knob is read.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KnobSource {
    /// A file below the root. One star in one name stands for a number, or for what kernel names have there.
    File(String),
    /// A file of each block device, below `sys/block/NAME`.
    Block(String),
    /// A service of systemd that works against an advice.
    Service(String),
    /// A parameter of the kernel command line.
    Boot(String),
    /// Put together from several places, and only looked at.
    Fact {
        /// Where people see it.
        path: String,
        /// What it is.
        of: Fact,
    },
}

/// One row of the table.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Knob {
    /// The name on the command line and in tables (`vm.page-cluster`).
    pub name: String,
    /// Its effect.
    pub about: String,
    /// Where its value is read.
    #[serde(rename = "at")]
    pub source: KnobSource,
    /// The form of its file.
    #[serde(rename = "form", default = "word")]
    pub syntax: Syntax,
    /// How it can be changed; `None`: as its kind is.
    reach: Option<Reach>,
    /// What the profile for a slower tier wants.
    swap_tier: Option<Advice>,
    /// What the profile for latency wants.
    latency: Option<Advice>,
    /// The kernel's own default, where every kernel has the same: one of these values.
    default: Option<Vec<String>>,
}

/// The form of what is no file.
fn word() -> Syntax {
    Syntax::Word
}

impl Knob {
    /// How it can be changed.
    pub fn reach(&self) -> Reach {
        self.reach.unwrap_or(match self.source {
            KnobSource::File(_) | KnobSource::Block(_) | KnobSource::Service(_) => Reach::Live,
            KnobSource::Boot(_) => Reach::Reboot,
            KnobSource::Fact { .. } => Reach::Check,
        })
    }

    /// Advice of a profile on it; `None` if the profile has none.
    pub fn advice(&self, profile: Profile) -> Option<Advice> {
        match profile {
            Profile::SwapTier => self.swap_tier.clone(),
            Profile::Latency => self.latency.clone(),
            Profile::Default => {
                let why = "the kernel's default".to_owned();
                self.default.clone().map(|to| Advice::To { to, why })
            }
        }
    }
}
