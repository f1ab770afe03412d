//! A knob: where it is, how it is written, and what each profile makes of it.

use tiermark_model::Reach;

use crate::advice_input::AdviceInput;
use tiermark_undo::Syntax;

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
#[derive(Debug, Clone, Copy)]
pub enum Advice {
    /// No advice.
    Free,
    /// One of these values, the first where it has to be written; and why.
    To(&'static [&'static str], &'static str),
    /// Whatever it is, with a word on it.
    Keep(&'static str),
    /// A value that depends on the machine, and why; or none.
    By(fn(&AdviceInput<'_>) -> Option<(String, String)>),
}

/// A fact that no single file holds: its subject (a device, say) and its value.
pub type Fact = fn(&AdviceInput<'_>) -> Vec<(Option<String>, String)>;

/// Where the value of a knob is read.
#[derive(Debug, Clone, Copy)]
pub enum KnobSource {
    /// A file below the root. One star in one name stands for a number, or for what kernel names have there.
    File(&'static str),
    /// A file of each block device, below `sys/block/NAME`.
    Block(&'static str),
    /// A service of systemd.
    Service(&'static str),
    /// A parameter of the kernel command line.
    Boot(&'static str),
    /// Put together from several places, and only looked at.
    Facts(&'static str, Fact),
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Knob {
    /// The name on the command line and in tables (`vm.page-cluster`).
    pub name: &'static str,
    /// Its effect.
    pub about: &'static str,
    /// Where its value is read.
    pub source: KnobSource,
    /// The form of its file.
    pub syntax: Syntax,
    /// How it can be changed.
    pub reach: Reach,
    advice: [Advice; 3],
}

impl Knob {
    /// A file that can be written at any time, by root.
    pub(crate) const fn file(name: &'static str, path: &'static str, syntax: Syntax, about: &'static str) -> Self {
        Self { name, about, source: KnobSource::File(path), syntax, reach: Reach::Live, advice: [Advice::Free; 3] }
    }

    /// A file of each device's queue.
    pub(crate) const fn block(name: &'static str, path: &'static str, syntax: Syntax, about: &'static str) -> Self {
        Self { source: KnobSource::Block(path), ..Self::file(name, "", syntax, about) }
    }

    /// A service that works against an advice.
    pub(crate) const fn service(name: &'static str, unit: &'static str, about: &'static str) -> Self {
        Self { source: KnobSource::Service(unit), ..Self::file(name, "", Syntax::Word, about) }
    }

    /// A parameter of the kernel command line.
    pub(crate) const fn boot(name: &'static str, parameter: &'static str, about: &'static str) -> Self {
        Self { source: KnobSource::Boot(parameter), reach: Reach::Reboot, ..Self::file(name, "", Syntax::Word, about) }
    }

    /// A knob that is only shown.
    pub(crate) const fn fact(name: &'static str, at: &'static str, fact: Fact, about: &'static str) -> Self {
        Self { source: KnobSource::Facts(at, fact), reach: Reach::Check, ..Self::file(name, "", Syntax::Word, about) }
    }

    /// The same with another reach.
    pub(crate) const fn reach(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    /// The same with what the profile for a slower tier wants.
    pub(crate) const fn swap_tier(mut self, advice: Advice) -> Self {
        self.advice[0] = advice;
        self
    }

    /// The same with what the profile for latency wants.
    pub(crate) const fn latency(mut self, advice: Advice) -> Self {
        self.advice[1] = advice;
        self
    }

    /// The same with the kernel's own default, where every kernel has the same.
    pub(crate) const fn default(mut self, values: &'static [&'static str]) -> Self {
        self.advice[2] = Advice::To(values, "the kernel's default");
        self
    }

    /// Advice of a profile on it.
    pub fn advice(&self, profile: Profile) -> Advice {
        self.advice[profile as usize]
    }
}
