//! Facts of a host, and when two hosts have the same.

use std::collections::{BTreeSet, HashMap};

use tiermark_model::{
    Bytes, Cpu, Dimm, ErrorKind, Fact, HealthCount, Machine, Quantity, Run, Throttling, count_of, short_number,
    slot_name,
};

use crate::fleet::FEWEST;
use crate::run_facts;

/// Memory that differs by less is the same: kernel and firmware reserve more or less of it.
const SAME_MEMORY: f64 = 0.03;
/// Names of slots that are listed.
const LISTED: usize = 4;
/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// A fact that a host reports.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HostFact {
    pub(crate) fact: Fact,
    pub(crate) text: String,
    /// The number that the text states, of a fact that is one.
    pub(crate) amount: Option<f64>,
    /// The number of which that is a part: all slots, all channels.
    pub(crate) of: Option<f64>,
    /// What this host has, where the text is a range of values: hosts with the same text are one group.
    pub(crate) exact: Option<String>,
}

impl HostFact {
    pub(crate) fn new(fact: Fact, text: String, amount: Option<f64>) -> Self {
        Self { fact, text, amount, of: None, exact: None }
    }

    /// Whether it is counted, and grows by itself.
    pub(crate) fn is_counted(&self) -> bool {
        matches!(
            self.fact,
            Fact::CorrectedErrors
                | Fact::UncorrectedErrors
                | Fact::Throttling
                | Fact::ThrottledBefore
                | Fact::WrongMemory
                | Fact::SlowedDown
        )
    }

    /// Whether another host has the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let is_near = |a: f64, b: f64| (a - b).abs() <= SAME_MEMORY * a.max(b);
        let amounts = self.amount.zip(other.amount).filter(|_| self.fact == Fact::Memory);
        self.text == other.text || amounts.is_some_and(|(a, b)| is_near(a, b))
    }
}

/// The facts that a host reports.
pub(crate) fn facts(run: &Run) -> Vec<HostFact> {
    let Run { machine, .. } = run;
    let host_fact = |fact, (text, amount)| HostFact::new(fact, text, amount);
    // Of cpus and nodes the number is compared: a container may have others on each host. Of modules, what they are:
    // their number and their speed are facts of their own.
    let is_other = |fact| matches!(fact, Fact::Cpus | Fact::Nodes | Fact::Dimms);
    let compared = run_facts(run).into_iter().filter_map(|(fact, text)| Some((fact, text?)));
    let compared = compared.filter(|(fact, _)| !is_other(*fact));
    let amount = |fact| match fact {
        Fact::Memory => machine.system.memory_bytes,
        Fact::Caches => machine.data_caches().filter(|cache| cache.level == 3).filter_map(|cache| cache.bytes).min(),
        Fact::Channels => machine.filled_channels().map(|(filled, _)| u64::from(filled)),
        _ => None,
    };
    let channels = machine.filled_channels().map(|(_, most)| f64::from(most));
    let compared = compared.map(|(fact, text)| HostFact {
        of: channels.filter(|_| fact == Fact::Channels),
        ..host_fact(fact, (text, amount(fact).map(|number| number as f64)))
    });
    let number = |fact, count: usize| host_fact(fact, (count.to_string(), Some(count as f64)));
    let mut all = vec![
        number(Fact::Sockets, machine.processors()),
        HostFact { amount: Some(cores(machine) as f64), ..number(Fact::Cpus, machine.allowed_cpus.len()) },
        number(Fact::Nodes, machine.allowed_nodes.len()),
    ];
    let of = Some(machine.dimms.len() as f64);
    all.extend(slots(machine).map(|found| HostFact { of, ..host_fact(Fact::Slots, found) }));
    all.extend(module_speed(machine).map(|found| host_fact(Fact::ModuleSpeed, found)));
    all.extend(modules(machine).map(|text| host_fact(Fact::Dimms, (text, None))));
    all.extend(compared);
    all.extend(soaked(run));
    all.extend(health(run));
    all
}

/// The cores of the cpus that may be used: hosts that differ in SMT alone are of one size.
fn cores(machine: &Machine) -> usize {
    cores_of(machine.cpus.iter().filter(|cpu| machine.allowed_cpus.contains(cpu.id)))
}

fn cores_of<'a>(cpus: impl Iterator<Item = &'a Cpu>) -> usize {
    cpus.map(|cpu| (cpu.socket, cpu.core)).collect::<BTreeSet<_>>().len()
}

/// The processor whose cores were throttled most often: how often as a whole, and each core of it.
struct Hottest {
    package: u32,
    events: u64,
    of_core: f64,
}

fn hottest(machine: &Machine, packages: &[Throttling]) -> Option<Hottest> {
    let of = |package: &Throttling| {
        let cores = match cores_of(machine.cpus.iter().filter(|cpu| cpu.socket == package.package)) {
            0 => cores(machine),
            cores => cores,
        };
        let [single, whole] = [package.cores, package.whole].map(|count| count.map(|count| count.last()));
        let events = single.max(whole)?;
        // What throttles a processor throttles each of its cores.
        let of_single = single.unwrap_or(0) as f64 / cores.max(1) as f64;
        Some(Hottest { package: package.package, events, of_core: of_single.max(whole.unwrap_or(0) as f64) })
    };
    packages.iter().filter_map(of).max_by(|a, b| a.of_core.total_cmp(&b.of_core))
}

/// Slots with a module, of all slots, and the names of the empty ones.
fn slots(machine: &Machine) -> Option<(String, Option<f64>)> {
    let filled = machine.dimms.iter().filter(|dimm| dimm.populated).count();
    let empty = machine.dimms.iter().filter(|dimm| !dimm.populated);
    let empty: Vec<String> = empty.filter_map(|dimm| slot_name(dimm, &machine.dimms)).collect();
    let more = if empty.len() > LISTED { ", …" } else { "" };
    let names = empty[..empty.len().min(LISTED)].join(", ");
    let names = if names.is_empty() { names } else { format!(" (empty {names}{more})") };
    (filled > 0).then(|| (format!("{filled} of {}{names}", machine.dimms.len()), Some(filled as f64)))
}

/// The kinds of modules.
fn modules(machine: &Machine) -> Option<String> {
    let kind = |dimm: &Dimm| {
        let parts = [dimm.bytes.map(|bytes| Bytes(bytes).to_string()), dimm.kind.clone(), dimm.part.clone()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    let kinds: BTreeSet<String> = machine.dimms.iter().filter(|dimm| dimm.populated).map(kind).collect();
    let text = kinds.into_iter().filter(|kind| !kind.is_empty()).collect::<Vec<_>>().join(", ");
    (!text.is_empty()).then_some(text)
}

/// The speed that the modules run at, the slowest first.
fn module_speed(machine: &Machine) -> Option<(String, Option<f64>)> {
    let filled = || machine.dimms.iter().filter(|dimm| dimm.populated);
    let speed = |dimm: &Dimm| dimm.configured_transfers.or(dimm.rated_transfers);
    let mut speeds: Vec<f64> = filled().filter_map(speed).map(|transfers| transfers / 1e6).collect();
    speeds.sort_by(f64::total_cmp);
    speeds.dedup();
    let text = speeds.iter().map(|mts| format!("{mts:.0}")).collect::<Vec<_>>().join(" and ");
    // A hypervisor makes its table of modules up.
    let is_set = machine.system.board_maker().is_none() && filled().all(|dimm| dimm.configured_transfers.is_some());
    speeds.first().map(|slowest| (format!("{text} MT/s"), Some(*slowest).filter(|_| is_set)))
}

/// Errors and throttling, where the system counts them. Of what happens now and then, the amount is that of a day, `None`
/// where nobody knows for how long it was counted.
fn health(run: &Run) -> Vec<HostFact> {
    let Some(health) = &run.health else { return Vec::new() };
    // What was counted in less than a day may have been the count of that day.
    let days = health.up_seconds.map(|up| (up as f64 / DAY).max(1.0));
    let since = days.map_or_else(String::new, |days| format!(" in {}", count_of(days as u64, "day")));
    let counted = |kind| {
        let count = health.errors_counted(kind)?;
        let places = health.counting(kind).join(", ");
        let text = if count == 0 { "0".to_owned() } else { format!("{count}{since}") };
        Some((if places.is_empty() { text } else { format!("{text}, {places}") }, count as f64))
    };
    let uncorrected = || counted(ErrorKind::Uncorrected).map(|(text, count)| (text, Some(count)));
    let corrected = || {
        let (text, count) = counted(ErrorKind::Corrected)?;
        // What happens while it is looked at happens often.
        let during = health.errors_grown(ErrorKind::Corrected).unwrap_or(0);
        let grown = during as f64 * DAY / run.seconds.max(1.0);
        let text = if during > 0 { format!("{text}, {during} of them during the run") } else { text };
        let known = if count == 0.0 { Some(0.0) } else { days.map(|days| count / days) };
        Some((text, known.into_iter().chain(Some(grown).filter(|grown| *grown > 0.0)).reduce(f64::max)))
    };
    type Counter = fn(&Throttling) -> Option<HealthCount>;
    const BOTH: [Counter; 2] = [|package| package.cores, |package| package.whole];
    let most = |number: fn(&HealthCount) -> Option<u64>| {
        BOTH.into_iter().filter_map(|counter| health.throttled(counter, number)).max()
    };
    let throttled = || most(|count| count.grew).map(|count| (count.to_string(), Some(count as f64)));
    let throttled_before = || {
        let count = most(|count| Some(count.last()))?;
        let packages = health.throttling.as_deref().unwrap_or_default();
        let Hottest { package, events, of_core } = hottest(&run.machine, packages)?;
        let a_day = days.map(|days| of_core / days);
        let of_package = if packages.len() > 1 { format!(", {events} on socket {package}") } else { String::new() };
        let exact = (count > 0).then(|| format!("{} times a core{since}{of_package}", short_number(of_core)));
        Some(HostFact { exact, ..HostFact::new(Fact::ThrottledBefore, often(count, a_day), a_day) })
    };
    let all = [
        (Fact::UncorrectedErrors, uncorrected()),
        (Fact::CorrectedErrors, corrected()),
        (Fact::Throttling, throttled()),
    ];
    let all = all.into_iter().filter_map(|(fact, found)| found.map(|(text, amount)| HostFact::new(fact, text, amount)));
    all.chain(throttled_before()).collect()
}

/// What soaks of its memory found, by their findings: documents of fleets are read without observations.
fn soaked(run: &Run) -> Vec<HostFact> {
    let found = |quantity: Quantity| run.findings().filter(move |finding| finding.quantity == quantity);
    let sum = |quantity| found(quantity).filter_map(|finding| finding.value).reduce(|a, b| a + b);
    let Some(words) = sum(Quantity::SoakWrong) else { return Vec::new() };
    let pages = sum(Quantity::SoakLost).unwrap_or_default();
    let place = found(Quantity::SoakWrong).flat_map(|finding| &finding.notes).next();
    let place = place.map_or_else(String::new, |note| format!(", {}", note.text));
    let counted = [(words, "wrong word"), (pages, "lost page")].into_iter().filter(|(count, _)| *count > 0.0);
    let counted: Vec<String> = counted.map(|(count, what)| count_of(count as u64, what)).collect();
    let text = if counted.is_empty() { "none".to_owned() } else { format!("{}{place}", counted.join(", ")) };
    let slower = found(Quantity::SoakSlower).filter_map(|finding| finding.value).reduce(f64::max);
    let share = |share: f64| if share > 0.0 { format!("{:.0} %", share * 100.0) } else { "no".to_owned() };
    // What a guest loses it may lose to its neighbours.
    let is_own = run.machine.system.hypervisor.is_none();
    let number = |slower: f64| Some(slower * 100.0).filter(|_| is_own);
    let slower = slower.map(|slower| HostFact::new(Fact::SlowedDown, share(slower), number(slower)));
    [HostFact::new(Fact::WrongMemory, text, Some(words + pages))].into_iter().chain(slower).collect()
}

/// How often something happens, in powers of ten: hosts that differ by chance have one value.
fn often(count: u64, a_day: Option<f64>) -> String {
    match a_day {
        _ if count == 0 => "never".to_owned(),
        None => "yes, rate unknown".to_owned(),
        Some(a_day) if a_day < 1.0 => "less than once a day".to_owned(),
        Some(a_day) => format!("over {:.0} times a day", 10_f64.powf(a_day.log10().floor())),
    }
}

/// The commonest value of a fact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Common<'a> {
    pub(crate) fact: &'a HostFact,
    /// Whether more than half of at least [`FEWEST`] hosts have it: else nobody knows which of them is odd.
    pub(crate) is_majority: bool,
}

/// The commonest value of a fact over some hosts; `None` without hosts.
pub(crate) fn most_common<'a>(facts: impl Iterator<Item = &'a HostFact> + Clone) -> Option<Common<'a>> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let known = facts.clone().count();
    for fact in facts.clone() {
        *counts.entry(fact.text.as_str()).or_default() += 1;
    }
    let most = counts.values().copied().max()?;
    let mut candidates: Vec<&HostFact> = facts.clone().filter(|fact| counts[fact.text.as_str()] == most).collect();
    // Of amounts that differ a little on each host, the one in the middle.
    candidates.sort_by(|a, b| a.amount.unwrap_or(0.0).total_cmp(&b.amount.unwrap_or(0.0)));
    let common = *candidates.get(candidates.len() / 2)?;
    let count = facts.filter(|fact| fact.is_same(common)).count();
    Some(Common { fact: common, is_majority: known >= FEWEST && 2 * count > known })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::GIB;

    #[test]
    fn memory_that_the_kernel_reserves_is_no_difference() {
        let of = |gib: u64| {
            let bytes = gib * GIB;
            HostFact::new(Fact::Memory, Bytes(bytes).to_string(), Some(bytes as f64))
        };
        assert!(of(1007).is_same(&of(1005)) && !of(1007).is_same(&of(944)));
        let all = [of(1007), of(1005), of(1007), of(944)];
        assert_eq!(most_common(all.iter()), Some(Common { fact: &all[0], is_majority: true }));
        // Each has another amount, and the first is the odd one.
        let all = [of(944), of(1005), of(1006), of(1007)];
        assert_eq!(most_common(all.iter()), Some(Common { fact: &all[2], is_majority: true }));
        assert!(!most_common(all[..3].iter()).unwrap().is_majority, "of three");
    }

    #[test]
    fn empty_slots_are_named() {
        let dimm = |slot: usize| Dimm {
            locator: Some(format!("A{slot}")),
            populated: !slot.is_multiple_of(8),
            configured_transfers: Some(if slot == 3 { 2933e6 } else { 3200e6 }),
            ..Dimm::default()
        };
        let of = |slots: usize| Machine { dimms: (1..=slots).map(dimm).collect(), ..Machine::default() };
        assert_eq!(slots(&of(8)).unwrap().0, "7 of 8 (empty A8)");
        assert_eq!(slots(&of(48)).unwrap().0, "42 of 48 (empty A8, A16, A24, A32, …)");
        assert_eq!(module_speed(&of(8)).unwrap().0, "2933 and 3200 MT/s");
        assert_eq!(slots(&of(0)), None);
    }
}
