//! The choices of a scenario as they are written: `zram:lz4`, `brief:10`, `512M`.

use std::fmt;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tiermark_model::{Bytes, nearest, parse_size};

use super::written::Written;

/// A number of bytes, written `512M`, `1.5 GB`, or as a plain number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Bytes(self.0).fmt(f)
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // As people write it, where that is exact.
        let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
        let unit = units.into_iter().find(|(_, bits)| self.0 > 0 && self.0.trailing_zeros() >= *bits);
        match unit {
            Some((unit, bits)) => serializer.collect_str(&format_args!("{} {unit}", self.0 >> bits)),
            None => serializer.serialize_u64(self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = |text: &str| parse_size(text).map(|bytes| Size(bytes.0)).map_err(|why| why.to_string());
        let form = "a size such as \"512M\", or a number of bytes";
        deserializer.deserialize_any(Written { form, text, whole: Size, number: None })
    }
}

/// How tenants run: as processes, as virtual machines, or elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// A server process each, in a control group of its own.
    #[default]
    Process,
    /// A virtual machine each, with the client inside.
    Qemu,
    /// Servers that run already, at addresses that are given.
    External,
}

/// What a request waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pacing {
    /// Its time: an open loop.
    #[default]
    Open,
    /// The answer to the one before, and the end of that one's period: the loop of the published test, which leaves out
    /// what is due while it waits.
    Closed,
}

/// Memory from which on a server evicts keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MaxMemory {
    /// It keeps all that fits.
    #[default]
    Off,
    /// Its own count of memory.
    At(Size),
}

/// The word in a scenario file for no limit.
const OFF: &str = "off";

impl Serialize for MaxMemory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_str(OFF),
            Self::At(size) => size.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for MaxMemory {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Text(String),
            Bytes(u64),
        }
        let bytes = match Written::deserialize(deserializer) {
            Ok(Written::Text(text)) if text == OFF => 0,
            Ok(Written::Text(text)) => parse_size(&text).map_err(D::Error::custom)?.0,
            Ok(Written::Bytes(bytes)) => bytes,
            Err(_) => return Err(D::Error::custom("write \"off\", or a size such as \"512M\"")),
        };
        // As in redis.conf.
        Ok(if bytes == 0 { Self::Off } else { Self::At(Size(bytes)) })
    }
}

/// Which keys a server evicts at its memory limit (`maxmemory-policy`). The `volatile-*` policies of Redis are not
/// offered: they evict only keys that expire, and the keys of a run never expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Eviction {
    /// None: it refuses writes.
    #[default]
    #[serde(rename = "noeviction")]
    None,
    /// Those used longest ago.
    AllkeysLru,
    /// Those used least often.
    AllkeysLfu,
    /// Any.
    AllkeysRandom,
}

/// When a server evicts keys, and which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryLimit {
    /// Bytes by its own count; 0 without a limit.
    pub bytes: u64,
    /// Which keys.
    pub policy: Eviction,
}

impl MemoryLimit {
    /// The server's options.
    pub fn options(&self) -> [String; 4] {
        let policy = match self.policy {
            Eviction::None => "noeviction",
            Eviction::AllkeysLru => "allkeys-lru",
            Eviction::AllkeysLfu => "allkeys-lfu",
            Eviction::AllkeysRandom => "allkeys-random",
        };
        ["--maxmemory".to_owned(), self.bytes.to_string(), "--maxmemory-policy".to_owned(), policy.to_owned()]
    }
}

/// Memory, cpus and kernel parameters of each virtual machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestShape {
    /// Memory, bytes.
    pub memory: u64,
    /// Cpus, from 1.
    pub cpus: u32,
    /// Parameters after those that the guest needs.
    pub append: String,
}

/// Options of every tenant's server: nothing is written to disk.
pub(crate) const SERVER_OPTIONS: [[&str; 2]; 6] = [
    ["--save", ""],
    ["--appendonly", "no"],
    ["--daemonize", "no"],
    ["--dir", "/"],
    ["--logfile", ""],
    ["--loglevel", "warning"],
];

/// The memory that extends DRAM.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// No tier behind DRAM.
    Dram,
    /// A block device or a file to swap to, by its absolute path; several have the same priority, and the kernel fills
    /// them in turn.
    Swap(Vec<String>),
    /// Compressed memory as a swap device; the algorithm, or the kernel's own choice.
    Zram(Option<String>),
    /// Compressed memory before the swap that there is.
    Zswap,
    /// Another memory node, for whole tenants.
    Node(u32),
    /// Another memory node, to which the kernel moves pages that DRAM has no room for.
    Demotion(u32),
    /// Several together, the fastest first.
    Mix(Vec<Tier>),
}

impl Tier {
    /// Its parts: itself, or the parts of a mix.
    pub fn parts(&self) -> &[Self] {
        match self {
            Self::Mix(parts) => parts,
            one => std::slice::from_ref(one),
        }
    }

    /// Whether a swap area is made for it as one part.
    pub fn makes_area(&self) -> bool {
        matches!(self, Self::Zram(_) | Self::Swap(_))
    }
}

const TIERS: [&str; 6] = ["dram", "swap", "zram", "zswap", "node", "demotion"];

impl FromStr for Tier {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = mixed(text);
        if parts.len() > 1 {
            let parts = parts.iter().map(|part| part.trim().parse::<Self>()).collect::<Result<Vec<_>, _>>()?;
            if parts.iter().filter(|part| matches!(part, Self::Node(_) | Self::Demotion(_))).count() > 1 {
                return Err(format!("'{text}': a mix has at most one node; name one"));
            }
            let distinct: std::collections::BTreeSet<&Self> = parts.iter().collect();
            return match parts.contains(&Self::Dram) || distinct.len() < parts.len() {
                true => Err(format!(
                    "'{text}': write a mix of different tiers behind DRAM, such as zram:lz4+swap:/swapfile"
                )),
                false => Ok(Self::Mix(parts)),
            };
        }
        let (kind, what) = text.split_once(':').map_or((text, None), |(kind, what)| (kind, Some(what)));
        match (kind, what) {
            ("dram", None) => Ok(Self::Dram),
            ("zswap", None) => Ok(Self::Zswap),
            ("zram", None) => Ok(Self::Zram(None)),
            ("zram", Some(name)) => {
                match name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') && !name.is_empty() {
                    true => Ok(Self::Zram(Some(name.to_owned()))),
                    false => Err(format!("'{text}': write an algorithm, such as zram:lz4")),
                }
            }
            ("swap", Some(paths)) => swap(text, paths),
            ("swap", None) => swap(text, ""),
            ("node", Some(id)) => {
                id.parse().map(Self::Node).map_err(|_| format!("'{text}': write a node's number, node:1"))
            }
            ("node", None) => Err(format!("'{text}': write a node's number, node:1")),
            ("demotion", id) => {
                let id = id.and_then(|id| id.parse().ok());
                id.map(Self::Demotion).ok_or_else(|| format!("'{text}': write a node's number, demotion:1"))
            }
            ("dram", Some(_)) | ("zswap", Some(_)) => Err(format!("'{text}': {kind} takes no argument")),
            _ => {
                let near = nearest(kind, &TIERS);
                Err(format!(
                    "'{text}' is no tier{near}; tiers are dram, swap:PATH, zram[:ALGORITHM], zswap, node:N, demotion:N"
                ))
            }
        }
    }
}

/// A swap tier of one area or several. A plus before a slash parts two paths, but for one after another plus (`/c++/x`
/// is one path).
fn swap(text: &str, paths: &str) -> Result<Tier, String> {
    let parts_two = |at: &usize| paths[..*at].chars().next_back().is_some_and(|before| before != '+');
    let cuts: Vec<usize> = paths.match_indices("+/").map(|(at, _)| at).filter(parts_two).collect();
    let begins = std::iter::once(0).chain(cuts.iter().map(|at| at + 1));
    let ends = cuts.iter().copied().chain(std::iter::once(paths.len()));
    let areas: Vec<String> = begins.zip(ends).map(|(begin, end)| paths[begin..end].to_owned()).collect();
    let whole = |path: &String| path.starts_with('/') && path.len() > 1 && !path.contains("/../");
    if !areas.iter().all(whole) {
        return Err(format!("'{text}': name the device or the file by its whole path, swap:/dev/disk/by-id/..."));
    }
    match areas.iter().enumerate().find(|(at, path)| areas[..*at].contains(path)) {
        Some((_, path)) => Err(format!("'{text}': {path} is named twice; name different devices or directories")),
        None => Ok(Tier::Swap(areas)),
    }
}

/// The parts of a mix: a plus parts them where a tier's word follows, since a path may hold one too.
fn mixed(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for piece in text.split('+') {
        let word = piece.trim().split(':').next().unwrap_or_default();
        match parts.last_mut() {
            Some(path) if path.trim_start().starts_with("swap:") && !TIERS.contains(&word) => {
                path.push('+');
                path.push_str(piece);
            }
            _ => parts.push(piece.to_owned()),
        }
    }
    parts
}

impl Tier {
    /// Its kind, without what it is made of: `zram+swap` of `zram:lz4+swap:/dev/sdb`.
    pub fn kind(&self) -> String {
        let kind = match self {
            Self::Dram => "dram",
            Self::Swap(_) => "swap",
            Self::Zram(_) => "zram",
            Self::Zswap => "zswap",
            Self::Node(_) => "node",
            Self::Demotion(_) => "demotion",
            Self::Mix(parts) => return parts.iter().map(Self::kind).collect::<Vec<_>>().join("+"),
        };
        kind.to_owned()
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind();
        match self {
            Self::Dram | Self::Zram(None) | Self::Zswap => f.write_str(&kind),
            Self::Swap(paths) => write!(f, "{kind}:{}", paths.join("+")),
            Self::Zram(Some(name)) => write!(f, "{kind}:{name}"),
            Self::Node(id) | Self::Demotion(id) => write!(f, "{kind}:{id}"),
            Self::Mix(parts) => f.write_str(&parts.iter().map(ToString::to_string).collect::<Vec<_>>().join("+")),
        }
    }
}

tiermark_model::text_form!(Tier);
