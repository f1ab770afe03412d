//! What a fleet taught, as expectations for `check`.

use std::fmt::Write;

use crate::figures::INTERRUPTED;
use crate::fleet::FEWEST;
use crate::fleet::catalogue::{less_is_better, of_local_memory};
use crate::fleet::judge::threshold;
use tiermark_model::{
    Fact, FigureName, Fleet, GIB, HostKind, KindFact, KindFigure, MIB, MemoryFigure, Quantity, Tier, Unit,
};

/// Standard deviations between hosts from the median to a limit. Of 1,000 sound servers with 30 figures each, chance
/// alone takes one below (normal distribution).
const WIDE: f64 = 4.0;

/// Digits of a limit, and of a figure in a sentence.
const DIGITS: i32 = 4;
pub(crate) const SHORT: i32 = 3;

/// How a fact that most hosts share becomes an expectation.
#[derive(Clone, Copy)]
enum Demand {
    /// At least a share of the amount; how much its unit is, and its sign.
    AtLeast(f64, f64, &'static str),
    /// Nothing is counted.
    Nothing,
    /// The same text.
    Same,
    /// The same text, if the user wants it: another version is no fault by itself.
    IfWanted,
}

/// The facts that expectations can name, in their order. Kernel and firmware reserve more or less of the memory: as for
/// odd hosts, 3 % of it is no difference.
const FACTS: [(Fact, &str, Demand); 13] = [
    (Fact::Memory, "memory.total", Demand::AtLeast(0.97, GIB as f64, "GiB")),
    (Fact::Channels, "channels.populated", Demand::AtLeast(1.0, 1.0, "")),
    (Fact::ModuleSpeed, "dimms.speed", Demand::AtLeast(1.0, 1.0, "MT/s")),
    (Fact::Caches, "size.l3.declared", Demand::AtLeast(1.0, MIB as f64, "MiB")),
    (Fact::UncorrectedErrors, "edac.uncorrected.boot", Demand::Nothing),
    (Fact::CorrectedErrors, "edac.corrected.boot", Demand::Nothing),
    (Fact::Throttling, "throttle.core", Demand::Nothing),
    (Fact::Throttling, "throttle.package", Demand::Nothing),
    (Fact::Governor, "governor", Demand::Same),
    (Fact::Thp, "thp", Demand::Same),
    (Fact::Kernel, "kernel", Demand::IfWanted),
    (Fact::Firmware, "bios", Demand::IfWanted),
    (Fact::Microcode, "microcode", Demand::IfWanted),
];
/// What cannot be judged is then no pass: a server that was never measured meets every limit.
const REQUIRED: &str = "required = true\n";
const NONE: &str = "a sound host counts none";
/// Texts of facts may be cut at this length.
const CUT: usize = 200;

/// A file of expectations that a new server of the kind with the most hosts meets if it is like them; `None` if the kind
/// has no latency or no bandwidth of memory: such a file would pass a server whose memory is slow.
#[must_use]
pub fn limits(fleet: &Fleet) -> Option<String> {
    let kind = fleet.kinds.first()?;
    let figures: Vec<String> = named(kind).into_iter().filter_map(figure).collect();
    let is_of =
        |figure: &KindFigure, wanted| memory(figure) == Some(wanted) && of_local_memory(&figure.family) == Some(wanted);
    let has = |wanted: MemoryFigure| kind.figures.iter().any(|figure| is_of(figure, wanted));
    if fleet.is_change || !MemoryFigure::ALL.into_iter().all(has) {
        return None;
    }
    let mut out = format!(
        "# Limits for `tiermark check --expect`. Each limit of a figure lies {WIDE} standard deviations, and at least {:.0} \
         % (sizes: {:.1} %), from\n# the median of {} hosts. Facts that most of these hosts share follow. Hardware: {}.\n",
        crate::THRESHOLD * 100.0,
        threshold(&Quantity::TierSize) * 100.0,
        kind.hosts,
        described(kind)
    );
    figures.iter().for_each(|limit| out.push_str(limit));
    out.push_str(&hardware(kind).unwrap_or_default());
    out.push_str(
        "\n# Facts and settings that most of these hosts share. Versions are commented out, because another version is no\n\
         # fault: remove the # to require them.\n",
    );
    let known = |(fact, name, demand)| Some((kind.facts.iter().find(|of| of.fact == fact)?, name, demand));
    let facts = FACTS.into_iter().filter_map(known).filter_map(|(of, name, demand)| fact(of, name, demand, kind.hosts));
    facts.for_each(|limit| out.push_str(&limit));
    // Hosts that do not count errors say nothing of one that does.
    let counted = |fact: Fact| kind.facts.iter().any(|of| of.fact == fact);
    for (_, name, _) in
        FACTS.into_iter().filter(|(fact, _, demand)| matches!(demand, Demand::Nothing) && !counted(*fact))
    {
        let _ = write!(out, "\n[[expect]]\nthat = \"{name} <= 0\"\nwhy = \"{NONE}\"\n");
    }
    Some(out)
}

/// What a figure says of memory.
fn memory(figure: &KindFigure) -> Option<MemoryFigure> {
    match FigureName::parse(figure.name.as_ref()?, 0) {
        Ok(Some(name)) => name.memory(),
        _ => None,
    }
}

fn described(kind: &HostKind) -> String {
    let cpu = kind.cpu.as_deref().unwrap_or("unknown processor");
    let product = kind.product.as_ref().map_or_else(String::new, |product| format!("{product}, "));
    // It stands in a comment of one line.
    format!("{product}{} x {cpu}", kind.sockets).replace(|c: char| c.is_control(), " ")
}

/// The name that files for `check` have for a figure; `None` if they have none.
fn name(figure: &KindFigure) -> Option<&str> {
    match figure.quantity {
        Quantity::CoreClock => Some("core.clock"),
        Quantity::InterruptionsShare => Some("interruptions.share"),
        Quantity::TierSize if figure.labels.tier() == Some(Tier::Cache(3)) => Some("size.l3"),
        _ => figure.name.as_deref(),
    }
}

/// The figures with a name, each name once: `check` judges a name at all its places, such as all remote nodes, so that
/// the loosest limit counts.
fn named(kind: &HostKind) -> Vec<&KindFigure> {
    let mut all: Vec<&KindFigure> = Vec::new();
    // The clock and the interruptions of a guest are those of its host at that hour.
    let is_its_own = |figure: &&KindFigure| !(kind.is_guest && figure.quantity.is_condition());
    for figure in kind.figures.iter().filter(is_its_own).filter(|figure| name(figure).is_some()) {
        match all.iter_mut().find(|known| name(known) == name(figure)) {
            Some(known) => *known = looser(known, figure),
            None => all.push(figure),
        }
    }
    all
}

fn looser<'k>(one: &'k KindFigure, other: &'k KindFigure) -> &'k KindFigure {
    match (edge(one), edge(other)) {
        (Some((less_is_better, a)), Some((_, b))) => {
            if (b > a) == less_is_better {
                other
            } else {
                one
            }
        }
        _ => one,
    }
}

/// Whether less of a figure is better, and its limit.
fn edge(figure: &KindFigure) -> Option<(bool, f64)> {
    let less_is_better = less_is_better(&figure.quantity, figure.unit)?;
    if figure.quantity == Quantity::InterruptionsShare {
        // Shares scatter by factors.
        return Some((true, (figure.median * (WIDE * figure.sd).exp()).max(INTERRUPTED)));
    }
    let room = (WIDE * figure.sd).max(threshold(&figure.quantity));
    Some((less_is_better, figure.median * if less_is_better { 1.0 + room } else { 1.0 - room }))
}

/// An expectation; `None` of a figure without a name.
fn figure(figure: &KindFigure) -> Option<String> {
    let name = name(figure)?;
    let (less_is_better, limit) = edge(figure)?;
    let sign = if less_is_better { "<=" } else { ">=" };
    let number = |value: f64| with_unit(value, figure.unit, DIGITS);
    let mut out = String::new();
    let _ = writeln!(out, "\n[[expect]]\nthat = \"{name} {sign} {}\"", number(limit));
    if memory(figure).is_some() {
        out.push_str(REQUIRED);
    }
    let (median, sd) = (number(figure.median), figure.sd * 100.0);
    let _ = writeln!(out, "why = \"the median of {} such hosts is {median}, their scatter {sd:.1} %\"", figure.hosts);
    Some(out)
}

/// The processor that the limits are of; `None` where it is not known.
fn hardware(kind: &HostKind) -> Option<String> {
    let cpu = kind.cpu.as_deref().filter(|cpu| is_plain(cpu))?;
    let why = "limits of other processors say nothing of this one";
    Some(format!("\n[[expect]]\nthat = \"cpu == \\\"{cpu}\\\"\"\n{REQUIRED}why = \"{why}\"\n"))
}

/// An expectation of a fact; `None` of one that no expectation can state. `hosts`: how many hosts the kind has.
fn fact(of: &KindFact, name: &str, demand: Demand, hosts: u64) -> Option<String> {
    let all = of.hosts + of.others.iter().map(|other| other.hosts.len() as u64).sum::<u64>();
    // What the host at hand happens to have is no demand on others.
    if 2 * of.hosts <= all || all < FEWEST as u64 {
        return None;
    }
    let amount = of.amount.filter(|amount| amount.is_finite() && *amount > 0.0);
    let same = || is_plain(&of.value).then(|| format!("{name} == \\\"{}\\\"", of.value));
    let (mark, that) = match demand {
        // Down to a tenth, so that the hosts themselves meet it.
        Demand::AtLeast(share, unit, sign) => {
            ("", format!("{name} >= {} {sign}", (amount? * share / unit * 10.0).floor() / 10.0).trim_end().to_owned())
        }
        Demand::Nothing => ("", format!("{name} <= 0")),
        Demand::Same => ("", same()?),
        Demand::IfWanted => ("# ", same()?),
    };
    let why = match demand {
        Demand::Nothing => NONE.to_owned(),
        _ => format!("{} of {all} such hosts have the same value", of.hosts),
    };
    // Only root reads the channels: a file of hosts that were measured without it cannot require them.
    let is_required = of.fact == Fact::Memory || (of.fact == Fact::Channels && all == hosts);
    let required = if is_required { REQUIRED } else { "" };
    Some(format!("\n{mark}[[expect]]\n{mark}that = \"{that}\"\n{required}{mark}why = \"{why}\"\n"))
}

/// Whether a text can stand between quotes, in an expectation and in its file, and means itself there.
fn is_plain(text: &str) -> bool {
    let is_whole = !text.is_empty() && !text.ends_with('*') && text.chars().count() < CUT;
    is_whole && !text.contains(|c: char| c.is_control() || matches!(c, '"' | '\\'))
}

/// A number as files of expectations have it.
pub(crate) fn with_unit(value: f64, unit: Unit, digits: i32) -> String {
    match unit {
        Unit::Ns => format!("{} ns", rounded(value, digits)),
        Unit::BytesPerSecond => format!("{} GB/s", rounded(value / 1e9, digits)),
        Unit::Bytes => format!("{} MiB", rounded(value / MIB as f64, digits)),
        Unit::Hz => format!("{} GHz", rounded(value / 1e9, digits)),
        Unit::Ratio => format!("{} %", rounded(value * 100.0, digits)),
        _ => rounded(value, digits),
    }
}

fn rounded(value: f64, digits: i32) -> String {
    let digits = digits - 1 - value.abs().log10().floor() as i32;
    let digits = usize::try_from(digits.clamp(0, 9)).unwrap_or(0);
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
