//! Words of the command line that only this program knows.

use std::path::Path;

use jiff::Timestamp;
use tiermark_model::{Bytes, FileMemory, IdSet, ListError, Machine, PageKind, parse_size};
pub(crate) use tiermark_model::{
    parse_footprint as size, parse_nodes as nodes, parse_seconds as seconds, parse_whole as whole,
    parse_within as within,
};
use tiermark_probes::{Mix, ThreadGroup, matrix};

use crate::names;

/// Nodes by number, or one by its distance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NodeChoice {
    /// These; one of them for all commands but `matrix`.
    These(IdSet),
    /// The one with memory that is farthest from the cpus in use.
    Far,
    /// Each in turn, from the cpus of each node.
    Each,
}

/// The most memory of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum MostMemory {
    /// So many bytes.
    Bytes(Bytes),
    /// A share of what is free: 0.9 is 90 %.
    Share(f64),
}

impl MostMemory {
    /// Bytes, where they do not depend on the machine.
    pub(crate) fn bytes(self) -> Option<Bytes> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Share(_) => None,
        }
    }

    /// Bytes on a machine; of one that does not say what is free, a share of all.
    pub(crate) fn on(self, machine: &Machine) -> Bytes {
        let free = machine.system.available_bytes.or(machine.system.memory_bytes).unwrap_or(u64::MAX);
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Share(share) => Bytes((share * free as f64) as u64),
        }
    }
}

/// The most memory of a run: a size, or a share of the free memory, as in 90%.
pub(crate) fn most_memory(text: &str) -> Result<MostMemory, String> {
    let Some(number) = text.trim().strip_suffix('%') else { return size(text).map(MostMemory::Bytes) };
    let percent = number.parse::<f64>().ok().filter(|percent| *percent > 0.0 && *percent <= 100.0);
    percent.map(|percent| MostMemory::Share(percent / 100.0)).ok_or_else(|| "use a share from 1% to 100%".to_owned())
}

/// A label of a document, as in rack=7.
pub(crate) fn label(text: &str) -> Result<(String, String), String> {
    tiermark_model::parse_label(text).map_err(|refusal| refusal.to_string())
}

/// A key of a scenario and its value, as in load.rate=2000.
pub(crate) fn setting(text: &str) -> Result<(String, String), String> {
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    let is_key = |key: &str| key.split('.').count() <= 2 && key.split('.').all(is_word);
    let parts = text.split_once('=').map(|(key, value)| (key.trim(), value.trim())).filter(|(key, _)| is_key(key));
    let (key, value) = parts.ok_or("write KEY=VALUE or TABLE.KEY=VALUE, as in load.rate=2000")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// A moment: RFC 3339 with its zone, or `@` and whole seconds since 1970. It is at most a day ahead.
pub(crate) fn moment(text: &str) -> Result<Timestamp, String> {
    const MOST_HOURS: f64 = 24.0;
    let moment = match text.strip_prefix('@') {
        Some(seconds) => seconds.parse().ok().and_then(|seconds| Timestamp::from_second(seconds).ok()),
        None => text.parse().ok(),
    };
    let moment = moment.ok_or("use a time with its zone, such as 2026-11-28T02:00:00Z, or @SECONDS since 1970")?;
    let hours = moment.duration_since(Timestamp::now()).as_secs_f64() / 3600.0;
    if hours > MOST_HOURS {
        return Err(format!("it is {hours:.0} hours ahead; use a time at most {MOST_HOURS:.0} hours ahead"));
    }
    Ok(moment)
}

/// A size, which may be 0.
pub(crate) fn amount(text: &str) -> Result<Bytes, String> {
    parse_size(text).map_err(|error| error.why)
}

/// A cache of a simulated machine: its size and its ways, as in 48K/12.
pub(crate) fn sim_cache(text: &str) -> Result<(Bytes, u32), String> {
    let (bytes, ways) = text.split_once('/').ok_or("write size and ways, as in 48K/12")?;
    let ways = ways.parse().ok().filter(|n| *n > 0).ok_or_else(|| format!("'{ways}' is no number of ways"))?;
    Ok((size(bytes)?, ways))
}

/// The traffic of a simulated second: bytes a second, and the share of reads.
pub(crate) fn sim_traffic(text: &str) -> Result<(f64, f64), String> {
    // 127 of 128: whatever programs do, the kernel writes a little, and counts without any are those of dead counters.
    let (rate, reads) = text.split_once(':').unwrap_or((text, "99.21875"));
    let number = |text: &str, most: f64| text.parse().ok().filter(|number| (0.0..=most).contains(number));
    // More than any machine has, and few enough bytes to count for years.
    const MOST_GBS: f64 = 1e5;
    let parsed = number(rate, MOST_GBS).zip(number(reads, 100.0)).map(|(rate, reads)| (rate * 1e9, reads / 100.0));
    parsed.ok_or_else(|| format!("'{text}': write GB/s, or GB/s and percent of reads, as in 40:67"))
}

/// A simulated neighbour: from which second to which, and how many times slower memory is, as in 30-60:2.
pub(crate) fn sim_visitor(text: &str) -> Result<(f64, f64, f64), String> {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    let parts = text.split_once(':').and_then(|(span, slows)| {
        let (from, until) = span.split_once('-')?;
        Some((number(from)?, number(until)?, number(slows).filter(|slows| *slows > 0.0)?))
    });
    parts.ok_or_else(|| format!("'{text}': write seconds and a factor, as in 30-60:2"))
}

/// The clocks of simulated cores in GHz, as in 2.8:3.2:0.1: the lowest, the highest and the step.
pub(crate) fn sim_clock(text: &str) -> Result<(f64, f64, f64), String> {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    let parts = text.split_once(':').and_then(|(low, rest)| {
        let (high, step) = rest.split_once(':')?;
        Some((number(low)?, number(high)?, number(step)?))
    });
    let parts = parts.filter(|(low, high, _)| low < high);
    parts.ok_or_else(|| format!("'{text}': write the lowest clock, the highest and the step in GHz, as in 2.8:3.2:0.1"))
}

/// The warm-up of simulated visits: the excess at the beginning, and the time constant in ms, as in 0.5:2.
pub(crate) fn sim_warmth(text: &str) -> Result<(f64, f64), String> {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    let parts = text.split_once(':').and_then(|(excess, ms)| Some((number(excess)?, number(ms)?)));
    parts.ok_or_else(|| format!("'{text}': write an excess and milliseconds, as in 0.5:2"))
}

/// When a simulated machine is hot, and what it loses: seconds and a share, as in 840:0.11.
pub(crate) fn sim_hot(text: &str) -> Result<(f64, f64), String> {
    let parts = text.split_once(':').and_then(|(after, share)| Some((after.parse().ok()?, share.parse().ok()?)));
    let is_possible = |(after, share): &(f64, f64)| *after >= 0.0 && (0.0..1.0).contains(share);
    parts.filter(is_possible).ok_or_else(|| format!("'{text}': write seconds and a share, as in 840:0.11"))
}

/// A number above zero.
pub(crate) fn above_zero(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| format!("'{text}' is not a number above zero"))
}

/// Nodes by number, `far` or `each`.
pub(crate) fn mem_node(text: &str) -> Result<NodeChoice, String> {
    match text {
        "far" => Ok(NodeChoice::Far),
        "each" => Ok(NodeChoice::Each),
        _ => nodes(text).map(NodeChoice::These).map_err(|why| format!("{why}; use the number of a node, far or each")),
    }
}

/// A file whose pages are the memory.
pub(crate) fn memory(text: &str) -> Result<FileMemory, String> {
    text.parse()
}

/// A page size, in any case.
pub(crate) fn page(text: &str) -> Result<PageKind, String> {
    text.parse().or_else(|why| text.to_lowercase().parse().map_err(|_: String| why))
}

/// A well-formed selector of cpus; the machine decides later which of them exist.
pub(crate) fn cpus(text: &str) -> Result<String, String> {
    let mut parts = text.split(',').map(str::trim).filter(|part| !part.is_empty()).peekable();
    if parts.peek().is_none() {
        return Err("it names no cpu; use 0-3,8, node:1, socket:0, core:5, llc:2, all or !2".into());
    }
    parts.try_for_each(|part| cpus_part(part.strip_prefix('!').unwrap_or(part)))?;
    Ok(text.to_owned())
}

fn cpus_part(part: &str) -> Result<(), String> {
    match part.split_once(':').filter(|(kind, _)| kind.chars().all(char::is_alphabetic)) {
        _ if part == "all" => Ok(()),
        Some(("node" | "socket" | "core" | "llc", id)) => {
            id.parse::<u32>().map(|_| ()).map_err(|_| format!("'{id}' is not an id"))
        }
        Some((kind, _)) => Err(format!("'{kind}' is not a group; use node, socket, core or llc")),
        None if part.is_empty() => Err("nothing follows the '!'; write !2 to leave out cpu 2".into()),
        None => part.parse::<IdSet>().map(|_| ()).map_err(|e: ListError| e.to_string()),
    }
}

/// A job, operation or kernel that some machine of this architecture has. Jobs are called as the plain operation.
pub(crate) fn operation(text: &str) -> Result<String, String> {
    let ids = tiermark_kernels::streams().iter().map(|spec| spec.info.id);
    let mut known: Vec<&str> = ids.flat_map(|id| [id.split('/').next().unwrap_or(id), id]).collect();
    if known.contains(&text) {
        return Ok(text.to_owned());
    }
    if text.parse::<Mix>().is_ok() {
        return Err(format!("a mix of reads and writes has an option: --mix {text}"));
    }
    // A kernel's typo is nearest to a kernel, an operation's to an operation.
    known.retain(|name| name.contains('/') == text.contains('/'));
    let near = names::near(text, &known).map_or_else(String::new, |name| format!("; the nearest is '{name}'"));
    Err(format!("unknown operation '{text}'{near}; `tiermark list kernels` shows all"))
}

/// An operation of a matrix: `latency`, a mix, or what [`operation`] knows.
pub(crate) fn matrix_operation(text: &str) -> Result<String, String> {
    if matrix::is_own(text) {
        return Ok(text.to_owned());
    }
    if text.contains(':') { text.parse::<Mix>().map(|mix| mix.to_string()) } else { operation(text) }
}

/// Cpus by number, in list format.
pub(crate) fn cpu_list(text: &str) -> Result<IdSet, String> {
    match text.parse::<IdSet>() {
        Ok(cpus) if cpus.is_empty() => Err("it names no cpu; use 0-3,8".into()),
        Ok(cpus) => Ok(cpus),
        Err(error) => Err(error.to_string()),
    }
}

/// The groups and primitives of a name in `--only`.
#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    /// As it was typed.
    pub(crate) asked: String,
    /// Groups and primitives, by their whole names.
    pub(crate) names: Vec<&'static str>,
}

/// Groups and primitives of the operating system, by the beginning of their names.
pub(crate) fn primitive(text: &str) -> Result<Chosen, String> {
    names::of_the_system(text).map(|names| Chosen { asked: text.trim().to_owned(), names })
}

/// A group of threads (`cpus=0-3 mix=2:1`), or a file with a group a line.
pub(crate) fn traffic(text: &str) -> Result<Vec<ThreadGroup>, String> {
    if text.contains("cpus=") {
        return text.parse().map(|group| vec![group]);
    }
    let what = "write a group of threads, such as 'cpus=0-3 mix=2:1', or name a file with a group a line";
    let lines =
        tiermark_history::config::text_of(Path::new(text)).map_err(|error| format!("'{text}': {error}; {what}"))?;
    ThreadGroup::list(&lines).map_err(|why| format!("'{text}': {why}"))
}

/// A percentage as a ratio: `2` and `2%` are 0.02.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim_end_matches('%').trim().parse().ok();
    number
        .filter(|n| *n > 0.0 && *n <= 100.0)
        .map(|n| n / 100.0)
        .ok_or_else(|| "use a percentage above 0, such as 2".into())
}

#[cfg(test)]
mod tests;
