//! Facts of a run that no experiment measures: modules, channels, errors, throttling, page sizes.

use std::collections::BTreeMap;

use tiermark_model::messages::check as says;
use tiermark_model::{
    Dimm, ErrorKind, Experiment, FEWEST_JUDGED, Finding, HealthCount, IdSet, Labels, Machine, MemoryChannels,
    MemoryErrors, Note, Observation, PageKind, Purpose, Quantity, Request, Run, Soak, Throttling, Tier, slot_name,
};

use crate::location::Place;
use crate::range::Range;
use crate::system_name::{CoreLimit, InterruptedFor, Since, SoakNumber, SystemName, SystemText, ThrottledPart};
use crate::term::At;

/// A fact of a run; `memories` are the sets of nodes whose memory was measured together.
pub(crate) fn of(name: SystemName, run: &Run, memories: &[IdSet]) -> Vec<At> {
    let machine = &run.machine;
    match name {
        SystemName::Peak => peaks(machine, memories),
        SystemName::Link => vec![link(machine)],
        SystemName::ModuleSpeed => modules(machine, "the configured speed", |dimm| dimm.configured_transfers),
        SystemName::ModuleRated => modules(machine, "the rated speed", |dimm| dimm.rated_transfers),
        SystemName::ModuleSmallest => sizes(machine, f64::min),
        SystemName::ModuleLargest => sizes(machine, f64::max),
        SystemName::NodeSmallest => vec![node_size(machine, f64::min)],
        SystemName::NodeLargest => vec![node_size(machine, f64::max)],
        SystemName::ChannelsPopulated => vec![channels(machine, filled)],
        SystemName::Channels => vec![channels(machine, most)],
        SystemName::Backing => backing(run).into_iter().collect(),
        SystemName::Clock => clock(run).into_iter().collect(),
        SystemName::Interruptions(which) => interruptions(which, run).into_iter().collect(),
        SystemName::Limit(limit) => vec![core_limit(limit, machine)],
        // A number of figures, which are measured.
        SystemName::Record => Vec::new(),
        SystemName::Size(level) => sizes_measured(level, run),
        SystemName::Declared(level) => vec![size_declared(level, machine)],
        SystemName::Memory => {
            let bytes = machine.system.memory_bytes.map(|bytes| Range::exactly(bytes as f64));
            vec![At::whole(bytes.ok_or_else(|| says::fact_not_reported(name.text())))]
        }
        SystemName::Text(text) => {
            vec![At::text(of_text(text, machine).ok_or_else(|| says::fact_not_reported(name.text())))]
        }
        SystemName::Problems => vec![problems(run)],
        SystemName::Errors(kind, since) => errors(run, kind, since),
        SystemName::Throttling(part, since) => throttling(run, part, since),
        SystemName::Soak(number) => of_soaks(run, number),
    }
}

/// One number for each soak of a run.
fn of_soaks(run: &Run, number: SoakNumber) -> Vec<At> {
    let at = |seen: &Observation| {
        let soak = seen.soak.as_deref()?;
        let is_void = soak.checked() == 0 || soak.proven == Some(false);
        let value = if is_void { Err(says::nothing_compared()) } else { of_soak(run, seen, soak, number) };
        Some(At::whole(value.map(Range::exactly)))
    };
    run.observations().filter_map(at).collect()
}

fn of_soak(run: &Run, seen: &Observation, soak: &Soak, number: SoakNumber) -> Result<f64, Note> {
    let errors = |count: u64| match &soak.ended {
        _ if count > 0 => Ok(count as f64),
        // Memory that it did not reach may be wrong.
        Some(why) => Err(says::soak_ended_early(&why.text)),
        None if !soak.is_covered() => Err(says::soak_not_covered()),
        None => Ok(0.0),
    };
    match number {
        SoakNumber::Wrong => errors(soak.places()),
        SoakNumber::Lost => errors(soak.lost.len() as u64),
        SoakNumber::Slower => soak.slower().ok_or_else(says::soak_too_short),
        SoakNumber::Covered => soak.share_covered(&run.machine).ok_or_else(says::node_sizes_unknown),
        SoakNumber::Seconds => Ok(seen.seconds),
        SoakNumber::Kinds => Ok(soak.whole_kinds() as f64),
    }
}

/// The theoretical peak of each memory that was measured, or of the whole machine. Of nodes whose cores are offline in
/// part it is a bound: the cores that remain may not reach it.
fn peaks(machine: &Machine, memories: &[IdSet]) -> Vec<At> {
    let whole = match (machine.system.board_maker(), machine.real_peak()) {
        (Some(hypervisor), _) => Err(says::check_peak_of_guest(hypervisor)),
        (None, Some(peak)) if peak.bytes_per_second > 0.0 => Ok(peak),
        (None, _) => Err(says::check_peak_unknown()),
    };
    let peak = match whole {
        Ok(peak) => peak,
        Err(note) => return vec![At::whole(Err(note))],
    };
    let at = |place: Place, rate: Result<f64, Note>| match rate {
        // A peak whose channels are not known may be lower; older documents say so in words only.
        Ok(rate) if peak.upper_bound || peak.channels.is_none() => {
            At::new(place, Ok(Range::at_most(rate))).with_remark(says::peak_is_upper_bound())
        }
        rate => At::new(place, rate.map(Range::exactly)),
    };
    if memories.is_empty() {
        return vec![at(Place::default(), Ok(peak.bytes_per_second))];
    }
    let short = machine.nodes_short_of_cores();
    let memory_peak = |nodes: &IdSet| {
        let own = machine.own_memory_peak(nodes).ok_or_else(|| says::check_peak_of_nodes(&nodes.to_string()));
        let place = Place { limit_of: Some(nodes.clone()), ..Place::default() };
        let lacking = short.intersection(nodes);
        match own {
            Ok(own) if !lacking.is_empty() => At::new(place, Ok(Range::at_most(own)))
                .with_remark(says::cores_offline(&lacking, &machine.offline_cpus)),
            own => at(place, own),
        }
    };
    memories.iter().map(memory_peak).collect()
}

/// The clock of the cores; of several experiments, the lowest.
fn clock(run: &Run) -> Option<At> {
    let clocks = run.findings().filter(|finding| finding.quantity == Quantity::CoreClock);
    let hz = clocks.filter_map(|finding| finding.value).filter(|hz| hz.is_finite() && *hz > 0.0).reduce(f64::min)?;
    Some(At::whole(Ok(Range::exactly(hz))))
}

/// The largest share of any experiment, as far as the number of events tells it.
fn interruptions(which: InterruptedFor, run: &Run) -> Option<At> {
    let metric = match which {
        InterruptedFor::Any => Quantity::InterruptionsShare,
        InterruptedFor::Long => Quantity::InterruptionsLongShare,
    };
    let shares = run.findings().filter(|finding| finding.quantity == metric);
    let shares = shares.filter(|of| of.value.is_some_and(f64::is_finite) && of.interval.is_some());
    let most = shares.max_by(|a, b| a.value.unwrap_or(0.0).total_cmp(&b.value.unwrap_or(0.0)))?;
    let range = most.interval.map(|of| Range { low: of.low, high: of.high });
    // From so many on the share counts as it is.
    let exactly = most.value.filter(|_| most.samples >= FEWEST_JUDGED).map(Range::exactly);
    exactly.or(range).map(|range| At::whole(Ok(range)))
}

fn core_limit(limit: CoreLimit, machine: &Machine) -> At {
    let number = machine.core_limits.as_ref().and_then(|limits| limit.of(limits));
    At::whole(number.map(Range::exactly).ok_or_else(says::core_limit_unknown))
}

/// The size of a cache as each latency curve shows it: the range that the curve allows.
fn sizes_measured(level: u8, run: &Run) -> Vec<At> {
    let of_tier = |f: &&Finding| f.quantity == Quantity::TierSize && f.labels.tier() == Some(Tier::Cache(level));
    let size = |finding: &Finding| {
        let reasons = || finding.verdict.reasons.iter().map(ToString::to_string).collect::<Vec<String>>();
        let bytes = finding.value.filter(|bytes| bytes.is_finite() && *bytes > 0.0);
        let bytes = bytes.ok_or_else(|| says::size_not_resolved(&Tier::Cache(level).to_string(), &reasons()));
        At::whole(bytes.map(|bytes| match finding.interval {
            Some(interval) if interval.low <= bytes && bytes <= interval.high => {
                Range { low: interval.low, high: interval.high }
            }
            _ => Range::exactly(bytes),
        }))
    };
    run.findings().filter(of_tier).map(size).collect()
}

/// The size of the caches of a level as the system declares it: a range if they differ.
fn size_declared(level: u8, machine: &Machine) -> At {
    let all = || machine.data_caches().filter(|cache| cache.level == level).filter_map(|cache| cache.bytes);
    let ends = all().min().zip(all().max());
    let range = ends.map(|(least, most)| Range { low: least as f64, high: most as f64 });
    At::whole(range.ok_or_else(|| says::fact_not_reported(SystemName::Declared(level).text())))
}

fn of_text(text: SystemText, machine: &Machine) -> Option<String> {
    let system = &machine.system;
    match text {
        SystemText::Cpu => machine.cpu_model.name.clone(),
        SystemText::Kernel => system.kernel.clone(),
        SystemText::Bios => system.bios.clone(),
        SystemText::Microcode => machine.cpu_model.microcode.clone(),
        SystemText::HugePages => system.thp_mode().map(str::to_owned),
        SystemText::Governor => system.governor.clone(),
    }
}

fn link(machine: &Machine) -> At {
    match (&machine.system.hypervisor, machine.real_link()) {
        (Some(hypervisor), _) => At::whole(Err(says::check_link_of_guest(hypervisor))),
        (None, None) => At::whole(Err(says::link_unknown())),
        (None, Some(link)) => {
            At::whole(Ok(Range::at_most(link.bytes_per_second))).with_remark(says::link_is_upper_bound())
        }
    }
}

/// The modules; none of a guest, whose hypervisor makes the table up.
fn populated(machine: &Machine) -> impl Iterator<Item = (usize, &Dimm)> {
    let is_guest = machine.system.board_maker().is_some();
    machine.dimms.iter().enumerate().filter(move |(_, dimm)| dimm.populated && !is_guest)
}

/// Why a number of these modules is not known; `stated` has it where it is.
fn why_unknown<T>(machine: &Machine, what: &str, stated: impl Fn(&Dimm) -> Option<T>) -> Note {
    let (all, known) = (populated(machine).count(), populated(machine).filter(|(_, dimm)| stated(dimm).is_some()));
    match known.count() {
        _ if machine.has_unlisted_modules() => says::modules_not_listed(),
        0 => says::modules_unknown(what),
        known => says::modules_stated_in_part(what, known, all),
    }
}

/// A number of each memory module.
fn modules(machine: &Machine, what: &str, number: fn(&Dimm) -> Option<f64>) -> Vec<At> {
    let stated = |dimm: &Dimm| number(dimm).filter(|value| value.is_finite() && *value > 0.0);
    let unknown = || why_unknown(machine, what, stated);
    let slowest = machine.slowest_modules();
    let module = |(index, dimm): (usize, &Dimm)| {
        let name = slot_name(dimm, &machine.dimms);
        let name = name.map_or_else(|| format!("module {index}"), |name| format!("{name} (module {index})"));
        let name = match &slowest {
            Some(slowest) if slowest.holds_back(dimm) => {
                says::module_held_back(&name, slowest.rated_transfers, &slowest.named()).to_string()
            }
            _ => name,
        };
        At::part(name, stated(dimm).map(Range::exactly).ok_or_else(unknown))
    };
    let all: Vec<At> = populated(machine).filter(|_| !machine.has_unlisted_modules()).map(module).collect();
    if all.is_empty() { vec![At::whole(Err(unknown()))] } else { all }
}

/// The size of the smallest or largest module of each kind and processor: DRAM and persistent memory differ by design,
/// and accesses are interleaved over the channels of one processor.
fn sizes(machine: &Machine, merge: fn(f64, f64) -> f64) -> Vec<At> {
    let unknown = || why_unknown(machine, "the size", |dimm| dimm.bytes);
    let mut groups: BTreeMap<(Option<&str>, Option<&str>), Vec<&Dimm>> = BTreeMap::new();
    for (_, dimm) in populated(machine).filter(|_| !machine.has_unlisted_modules()) {
        groups.entry((dimm.kind.as_deref(), dimm.processor.as_deref())).or_default().push(dimm);
    }
    let is_one = groups.len() == 1;
    let at = |((kind, processor), dimms): ((Option<&str>, Option<&str>), Vec<&Dimm>)| {
        let all: Option<Vec<f64>> = dimms.iter().map(|dimm| dimm.bytes.map(|bytes| bytes as f64)).collect();
        let size = all.and_then(|all| all.into_iter().reduce(merge)).map(Range::exactly).ok_or_else(unknown);
        let place = || {
            let of_processor = processor.map_or_else(String::new, |processor| format!(" of {processor}"));
            format!("{} modules{of_processor}", kind.unwrap_or("other"))
        };
        if is_one { At::whole(size) } else { At::part(place(), size) }
    };
    let all: Vec<At> = groups.into_iter().map(at).collect();
    if all.is_empty() { vec![At::whole(Err(unknown()))] } else { all }
}

/// The memory of the smallest or largest node with cpus and memory, blocks that are offline included; nodes without cpus
/// differ by design.
fn node_size(machine: &Machine, merge: fn(f64, f64) -> f64) -> At {
    let own = machine.nodes.iter().filter(|node| !node.is_memory_only() && node.installed_bytes() != Some(0));
    let sizes: Option<Vec<f64>> = own.map(|node| node.installed_bytes().map(|bytes| bytes as f64)).collect();
    let size = sizes.and_then(|sizes| sizes.into_iter().reduce(merge));
    At::whole(size.map(Range::exactly).ok_or_else(says::node_sizes_unknown))
}

fn channels(machine: &Machine, number: fn(MemoryChannels) -> Option<Range>) -> At {
    let unknown = || match machine.has_unlisted_modules() {
        true => says::modules_not_listed(),
        false => says::channels_unknown(),
    };
    At::whole(machine.memory_channels().and_then(number).ok_or_else(unknown))
}

fn filled(channels: MemoryChannels) -> Option<Range> {
    let filled = f64::from(channels.populated);
    Some(if channels.at_most { Range::at_most(filled) } else { Range::exactly(filled) })
}

fn most(channels: MemoryChannels) -> Option<Range> {
    channels.most.map(|most| Range::exactly(f64::from(most)))
}

/// The least share of huge pages among the figures of memory that wanted them.
fn backing<'a>(run: &'a Run) -> Option<At> {
    let (on_base, others): (Vec<&Experiment>, Vec<&Experiment>) =
        run.experiments.iter().partition(|experiment| is_on_base_pages(&experiment.request));
    let of_memory = |labels: &Labels| {
        labels.is_for(Purpose::Matrix)
            || (labels.is_for(Purpose::Ladder)
                && labels.tier_name().is_some()
                && labels.tier().and_then(Tier::level).is_none())
    };
    let figures = |experiment: &&'a Experiment| -> Vec<&'a Observation> {
        experiment.observations.iter().filter(|o| of_memory(&o.labels) && o.value.is_some()).collect()
    };
    let (base, wanted): (Vec<&Observation>, Vec<&Observation>) =
        others.iter().flat_map(figures).partition(|o| o.labels.page() == Some("base"));
    if wanted.is_empty() && base.is_empty() && on_base.iter().any(|experiment| !figures(experiment).is_empty()) {
        return Some(At::whole(Err(says::base_pages_requested())));
    }
    if wanted.is_empty() && !base.is_empty() && run.machine.system.thp_mode().is_none() {
        return Some(At::whole(Err(says::fact_not_reported("pages.huge"))));
    }
    if wanted.is_empty() && !base.is_empty() {
        // No figure of memory requested huge pages.
        return Some(At::whole(Ok(Range::exactly(0.0))));
    }
    let shares = wanted.iter().filter_map(|o| o.placement.as_ref()?.page_share);
    let least = shares.filter(|share| (0.0..=1.0).contains(share)).reduce(f64::min);
    least.map(|share| At::whole(Ok(Range::exactly(share))))
}

/// Whether the user asked for base pages only: they say nothing of the machine's huge pages.
fn is_on_base_pages(request: &Request) -> bool {
    let pages = request.params.get("pages").and_then(|pages| pages.as_array());
    match pages.filter(|pages| !pages.is_empty()) {
        Some(pages) => pages.iter().all(|page| page.as_str() == Some("base")),
        None => request.scope.page == Some(PageKind::Base),
    }
}

/// The number of problems; the place names them. Settings do not count: a server with the defaults of its system is not
/// faulty.
fn problems(run: &Run) -> At {
    let Some(all) = &run.problems else { return At::whole(Err(says::not_examined())) };
    let all: Vec<_> = all.iter().filter(|row| !row.is_setting).collect();
    let number = Ok(Range::exactly(all.len() as f64));
    let named = all.iter().map(|row| format!("{} ({})", row.name, row.found())).collect::<Vec<_>>().join(", ");
    if all.is_empty() { At::whole(number) } else { At::part(named, number) }
}

/// Errors of each memory controller.
fn errors(run: &Run, kind: ErrorKind, since: Since) -> Vec<At> {
    let controllers = run.health.iter().flat_map(|health| health.memory.iter().flatten());
    let errors_at = |errors: &MemoryErrors| {
        let number = |errors: &MemoryErrors| counted(&errors.count(kind)?, since).map(|range| range.low as u64);
        // Modules that had errors name the place.
        let named = errors.named(number);
        let place = if named.is_empty() { errors.name() } else { named.join(", ") };
        let range = counted(&errors.count(kind)?, since);
        Some(At::part(place, range.ok_or_else(|| says::counter_lost(&errors.name()))))
    };
    let all: Vec<At> = controllers.filter_map(errors_at).collect();
    if all.is_empty() { vec![At::whole(Err(says::errors_not_reported()))] } else { all }
}

/// Throttling of each package.
fn throttling(run: &Run, part: ThrottledPart, since: Since) -> Vec<At> {
    let packages = run.health.iter().flat_map(|health| health.throttling.iter().flatten());
    let throttling_at = |throttling: &Throttling| {
        let count = match part {
            ThrottledPart::Core => throttling.cores,
            ThrottledPart::Package => throttling.whole,
        }?;
        let place = format!("socket {}", throttling.package);
        let number = counted(&count, since).ok_or_else(|| says::counter_lost(&place));
        Some(At::part(place, number))
    };
    let all: Vec<At> = packages.filter_map(throttling_at).collect();
    if all.is_empty() { vec![At::whole(Err(says::throttling_not_reported()))] } else { all }
}

/// A count as far as it is known: one that went down was reset or wrapped, and one that vanished was at least what it
/// was.
fn counted(count: &HealthCount, since: Since) -> Option<Range> {
    let exactly = |count: u64| Range::exactly(count as f64);
    let at_least = |count: u64| Range::at_least(count as f64);
    match (since, count.after) {
        (Since::Run, None) => None,
        (Since::Run, Some(after)) if after < count.before => Some(at_least(after)),
        (Since::Run, Some(_)) => count.grew.map(exactly),
        (Since::Boot, Some(after)) if after >= count.before => Some(exactly(after)),
        (Since::Boot, after) => Some(at_least(after.unwrap_or_default().max(count.before))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_was_reset_or_vanished_is_no_proof_of_few_errors() {
        let range = |before, after, since| counted(&HealthCount::new(before, after), since);
        assert_eq!(range(3, Some(5), Since::Run), Some(Range::exactly(2.0)));
        assert_eq!(range(3, Some(5), Since::Boot), Some(Range::exactly(5.0)));
        assert_eq!(range(7, Some(0), Since::Run), Some(Range::at_least(0.0)));
        assert_eq!(range(7, Some(0), Since::Boot), Some(Range::at_least(7.0)));
        assert_eq!((range(0, None, Since::Run), range(0, None, Since::Boot)), (None, Some(Range::at_least(0.0))));
    }
}
