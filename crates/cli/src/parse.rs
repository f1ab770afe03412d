//! Words of the command line that only this program knows.

use std::ops::RangeInclusive;
use std::path::Path;

use jiff::Timestamp;
pub(crate) use tiermark_model::parse_seconds as seconds;
use tiermark_model::{Bytes, ChainLayout, FileMemory, IdSet, ListError, PageKind, PingOp, parse_size};
use tiermark_probes::bandwidth::{DataKind, ThreadCount};
use tiermark_probes::c2c::Sample;
use tiermark_probes::matrix::{self, Buffer, Origin, Policy, Weights, Workers};
use tiermark_probes::{Mix, ThreadGroup};

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

/// A list, or the word that stands for the usual one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OrUsual<T> {
    /// Whatever the probe does by itself.
    Usual,
    /// Exactly this.
    This(T),
}

/// A whole number.
pub(crate) fn whole<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let number = text.trim().parse::<u64>().ok().and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| "use a whole number, such as 42".into())
}

/// Reads whole numbers of a range.
pub(crate) fn within<T: TryFrom<u64>>(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.trim().parse::<u64>().ok().filter(|number| range.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| match *range.end() {
            u64::MAX => format!("use a whole number from {} on", range.start()),
            most => format!("use a whole number from {} to {most}", range.start()),
        })
    }
}

/// A label of a document, as in rack=7.
pub(crate) fn label(text: &str) -> Result<(String, String), String> {
    tiermark_model::parse_label(text).map_err(|refusal| refusal.to_string())
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

/// A size above zero.
pub(crate) fn size(text: &str) -> Result<Bytes, String> {
    match parse_size(text).map_err(|e| e.why)? {
        Bytes(0) => Err("a size of 0 bytes has no memory to measure; give at least 1K".into()),
        size => Ok(size),
    }
}

/// A region of a scan.
pub(crate) fn chunk(text: &str) -> Result<Bytes, String> {
    /// Smaller ones are within a cache of some servers.
    const LEAST: u64 = 64 << 20;
    size(text).and_then(|size| match size.0 {
        LEAST.. => Ok(size),
        _ => Err(format!("{size} is too small for a region of memory; give at least {}", Bytes(LEAST))),
    })
}

/// Bytes per second, as in 9.6GB/s.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let size = text.strip_suffix("/s").ok_or_else(|| format!("'{text}' is no rate; write one as in 9.6GB/s"))?;
    match parse_size(size).map_err(|e| e.why)? {
        Bytes(0) => Err("a rate is above zero, as in 9.6GB/s".into()),
        Bytes(bytes) => Ok(bytes as f64),
    }
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

/// A chain layout.
pub(crate) fn layout(text: &str) -> Result<ChainLayout, String> {
    text.parse()
}

/// A number of threads: `one`, `cores`, `cpus` or a number.
pub(crate) fn threads(text: &str) -> Result<ThreadCount, String> {
    match text {
        "one" => Ok(ThreadCount::One),
        "cores" => Ok(ThreadCount::Cores),
        "cpus" => Ok(ThreadCount::Cpus),
        _ => text
            .parse()
            .ok()
            .filter(|n| *n > 0)
            .map(ThreadCount::Exactly)
            .ok_or_else(|| "use one, cores (physical cores), cpus (hardware threads) or a number above 0".into()),
    }
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

/// What the cpus of a row share.
pub(crate) fn origin(text: &str) -> Result<Origin, String> {
    match text {
        "node" => Ok(Origin::Node),
        "socket" => Ok(Origin::Socket),
        "llc" => Ok(Origin::Llc),
        _ => Err("use node, socket or llc".into()),
    }
}

/// Whose the memory of several threads is.
pub(crate) fn buffer(text: &str) -> Result<Buffer, String> {
    match text {
        "own" => Ok(Buffer::Own),
        "shared" => Ok(Buffer::Shared),
        _ => Err("use own or shared".into()),
    }
}

/// What the workers of a bandwidth are.
pub(crate) fn workers(text: &str) -> Result<Workers, String> {
    match text {
        "threads" => Ok(Workers::Threads),
        "processes" => Ok(Workers::Processes),
        _ => Err("use threads or processes".into()),
    }
}

/// How memory is spread.
pub(crate) fn policy(text: &str) -> Result<Policy, String> {
    match text {
        "bind" => Ok(Policy::Bind),
        "interleave" => Ok(Policy::Interleave),
        "weighted" => Ok(Policy::Weighted),
        "mixed" => Ok(Policy::Mixed),
        _ => Err("use bind, interleave, weighted or mixed".into()),
    }
}

/// Cpus by number, in list format.
pub(crate) fn cpu_list(text: &str) -> Result<IdSet, String> {
    match text.parse::<IdSet>() {
        Ok(cpus) if cpus.is_empty() => Err("it names no cpu; use 0-3,8".into()),
        Ok(cpus) => Ok(cpus),
        Err(error) => Err(error.to_string()),
    }
}

/// Nodes in list format.
pub(crate) fn nodes(text: &str) -> Result<IdSet, String> {
    match text.parse::<IdSet>() {
        Ok(nodes) if nodes.is_empty() => Err("it names no node; use 0-1,3".into()),
        Ok(nodes) => Ok(nodes),
        Err(error) => Err(error.to_string()),
    }
}

/// Nodes, or `all`.
pub(crate) fn nodes_or_all(text: &str) -> Result<OrUsual<IdSet>, String> {
    if text == "all" { Ok(OrUsual::Usual) } else { nodes(text).map(OrUsual::This) }
}

/// Weights, or `sweep`.
pub(crate) fn weights_or_sweep(text: &str) -> Result<OrUsual<Weights>, String> {
    if text == "sweep" { Ok(OrUsual::Usual) } else { text.parse().map(OrUsual::This) }
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

/// Contents of memory: `random` or `zeros`.
pub(crate) fn data(text: &str) -> Result<DataKind, String> {
    match text {
        "random" => Ok(DataKind::Random),
        "zeros" => Ok(DataKind::Zeros),
        _ => Err("use random or zeros".into()),
    }
}

/// Groups of threads: one as a text, or those of a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Groups(pub(crate) Vec<ThreadGroup>);

/// A group of threads (`cpus=0-3 mix=2:1`), or a file with a group a line.
pub(crate) fn traffic(text: &str) -> Result<Groups, String> {
    if text.contains("cpus=") {
        return text.parse().map(|group| Groups(vec![group]));
    }
    let what = "write a group of threads, such as 'cpus=0-3 mix=2:1', or name a file with a group a line";
    let lines =
        tiermark_history::config::text_of(Path::new(text)).map_err(|error| format!("'{text}': {error}; {what}"))?;
    ThreadGroup::list(&lines).map(Groups).map_err(|why| format!("'{text}': {why}"))
}

/// A mix of reads and writes.
pub(crate) fn mix(text: &str) -> Result<Mix, String> {
    text.parse()
}

/// A time in ns above zero.
pub(crate) fn nanoseconds(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches("ns").trim().parse::<f64>().ok();
    number.filter(|n| n.is_finite() && *n > 0.0).ok_or_else(|| "use a time in ns above 0, such as 150".into())
}

/// A pause of injectors in whole ns, as in 200 or 200ns.
pub(crate) fn delay(text: &str) -> Result<u32, String> {
    /// A visit of 4 ms then still has a dozen pieces of a mix of three kernels.
    const MOST: u32 = 100_000;
    let number = text.trim().trim_end_matches("ns").trim_end().parse::<u32>().ok();
    number.filter(|ns| *ns <= MOST).ok_or_else(|| format!("use a pause in whole ns, 0 to {MOST}, such as 200"))
}

/// How turns are passed between cores.
pub(crate) fn ping(text: &str) -> Result<PingOp, String> {
    text.parse()
}

/// Which pairs: `all`, or so many of each relation.
pub(crate) fn sample(text: &str) -> Result<Sample, String> {
    match text {
        "all" => Ok(Sample::All),
        _ => text
            .parse()
            .ok()
            .filter(|n| *n > 0)
            .map(Sample::Each)
            .ok_or_else(|| "use a number of pairs above 0, or all".into()),
    }
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
