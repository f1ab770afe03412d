//! Legends: what the signs mean that are in use on a page.

use crate::text::glued;

/// A sign beside a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// `~32 KiB`: known about.
    About,
    /// `155.2 ±0.4`: with its interval.
    Interval,
    /// `29.1 (11.0–90.0)`: with both ends of its interval.
    Ends,
}

/// Signs and their meaning.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// Those that are in use are named.
    pub signs: Vec<Sign>,
    /// The rest of the sentence.
    pub meaning: String,
}

/// A paragraph that ends with the meanings of the signs in use.
#[derive(Debug, Clone, PartialEq)]
pub struct Legend {
    /// Its beginning.
    pub text: String,
    /// Each is left out where none of its signs is in use.
    pub keys: Vec<Key>,
}

/// Which signs a page uses.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Signs {
    about: bool,
    interval: bool,
    ends: bool,
}

impl Signs {
    pub(crate) fn add(&mut self, signs: impl Iterator<Item = Sign>) {
        for sign in signs {
            match sign {
                Sign::About => self.about = true,
                Sign::Interval => self.interval = true,
                Sign::Ends => self.ends = true,
            }
        }
    }

    fn has(self, sign: Sign) -> bool {
        match sign {
            Sign::About => self.about,
            Sign::Interval => self.interval,
            Sign::Ends => self.ends,
        }
    }
}

impl Legend {
    /// The paragraph below what uses some signs.
    pub(crate) fn below(&self, used: Signs) -> String {
        let mut out = self.text.clone();
        for key in &self.keys {
            let signs: Vec<&str> = key.signs.iter().filter(|sign| used.has(**sign)).map(|sign| sign.shown()).collect();
            if !signs.is_empty() {
                out.push_str(&format!("; {}", glued(&format!("{} {}", signs.join(" or "), key.meaning))));
            }
        }
        out
    }
}

impl Sign {
    fn shown(self) -> &'static str {
        match self {
            Self::About => "~",
            Self::Interval => "±",
            Self::Ends => "(from–to)",
        }
    }
}
