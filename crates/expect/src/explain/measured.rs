//! The numbers of one bandwidth: what the program used, what its kernel touches, what counters saw, and shares of
//! limits.

use std::cell::RefCell;
use std::collections::HashMap;

use tiermark_model::messages::memory::STATED_PEAK;
use tiermark_model::{
    BoxKind, Confidence, Distance, Finding, Grade, IdSet, Labels, Machine, NodeId, Observation, Purpose, Quantity, Run,
    StepTraffic, TrafficSum, amplification,
};

use crate::explain::cells::{Access, Cell, home_of};
use crate::explain::facts::{ALL_CORES, CORES, Fact, FactName, Found, Scene, SceneKind, Whose};

/// Bytes of a line.
const LINE: f64 = 64.0;
/// Bytes of a transfer of a memory channel.
const TRANSFER: f64 = 8.0;
/// The rate of a step is that of its best windows. The counters also count slower ones, and the time around shots:
/// beyond this factor the two are not of the same traffic.
const MOST_STRETCH: f64 = 2.0;

/// Nodes that advice names at most: a document may have any number.
const MOST_NODES: usize = 64;

/// Where a latency is of: whether it is of a matrix, its row or its memory, its node, its pages.
type Spot<'a> = (bool, &'a str, Option<NodeId>, &'a str);

/// An idle latency, with the nodes of its cpus.
type Idle = (IdSet, (f64, Confidence));

/// What all cells of a run are measured against, found once: a document may have a hundred thousand figures.
pub(crate) struct Bounds<'a> {
    machine: &'a Machine,
    /// Whether the counters can be trusted.
    has_counts: bool,
    /// Whether a socket has several nodes.
    is_split: bool,
    /// Idle latencies, each with the nodes of its cpus: a run may have measured from several.
    latencies: HashMap<Spot<'a>, Vec<Idle>>,
    /// Shares that a probe computed from what the machine or the user states, by step and by what they are of.
    shares: HashMap<(&'a str, &'a str), f64>,
    /// Theoretical peaks that were computed, by nodes.
    peaks: RefCell<HashMap<IdSet, Option<f64>>>,
}

impl<'a> Bounds<'a> {
    pub(crate) fn of(run: &'a Run, has_counts: bool) -> Self {
        let latency = |finding: &'a Finding| Some((spot(finding)?, (home_of(finding, &run.machine), known(finding)?)));
        let is_guest = run.machine.system.hypervisor.is_some();
        let share = |finding: &'a Finding| {
            let is_known = !is_guest || finding.labels.statistic() == Some("of link") || is_peak_stated(finding);
            let step = finding.evidence.first().filter(|_| is_known)?.as_str();
            Some(((step, finding.labels.statistic()?), finding.value?))
        };
        let findings = |quantity: Quantity| run.findings().filter(move |finding| finding.quantity == quantity);
        let mut latencies: HashMap<Spot<'_>, Vec<Idle>> = HashMap::new();
        for (spot, found) in findings(Quantity::Latency).filter_map(latency) {
            latencies.entry(spot).or_default().push(found);
        }
        Self {
            machine: &run.machine,
            has_counts,
            is_split: run.machine.nodes_per_socket() > 1,
            latencies,
            shares: findings(Quantity::MatrixShare).filter_map(share).collect(),
            peaks: RefCell::default(),
        }
    }

    /// The scene of a bandwidth.
    pub(crate) fn scene(&self, cell: &Cell<'_>) -> Scene {
        let own = if cell.is_bound { Confidence::Hint } else { Confidence::Measured };
        let mut facts = Facts { scene: empty(cell), step: cell.step };
        facts.add(Fact::Used, Some(cell.used), own);
        facts.add(Fact::Threads, Some(cell.threads), Confidence::Measured);
        facts.add(Fact::Cores, Some(cell.cores), Confidence::Reported);
        facts.add(Fact::Spread, cell.seen.core_hz_spread, Confidence::Measured);
        facts.add(Fact::RecordLoss, loss(cell.seen), Confidence::Measured);
        let touched = cell.kernel.map(tiermark_model::KernelInfo::traffic);
        let lines = touched.map(|(read, written)| read + written).filter(|lines| *lines > 0.0);
        facts.add(Fact::LinesMoved, lines.map(|lines| lines * cell.used), own);
        facts.add(Fact::LinesShare, lines.map(|lines| 1.0 / lines), Confidence::Measured);
        if let Some((ns, how)) = self.latency(cell) {
            facts.add(Fact::Latency, Some(ns), how);
            // What is in flight are lines that are read: also those that ordinary stores read before they write them.
            let read = touched.map(|(read, _)| read).filter(|read| *read > 0.0);
            let in_flight = read.map(|read| cell.used * read * ns * 1e-9 / LINE / cell.threads);
            facts.add(Fact::InFlight, in_flight, how.max(own));
        }
        let peak = self.peak(&cell.nodes);
        facts.add(Fact::Peak, peak, Confidence::Reported);
        let stated = self.stated(cell, "of theoretical peak");
        let channel = stated.or_else(|| Some(lines? * cell.used / peak?));
        let channel = channel.filter(|_| cell.distance != Distance::Mixed);
        // How many lines stores move follows from the kernel only: a core may turn ordinary stores into whole lines.
        let lines_are = if cell.access == Access::Read { own } else { Confidence::Hint };
        facts.add(Fact::ChannelShare, channel, lines_are);
        facts.add(Fact::LinkShare, self.stated(cell, "of link"), own);
        if let Some(counted) = cell.seen.traffic.as_ref().filter(|_| self.has_counts) {
            self.add_counted(cell, counted, &mut facts);
        }
        facts.scene
    }

    /// Adds what counters saw, in place of what follows from rates.
    fn add_counted(&self, cell: &Cell<'_>, counted: &StepTraffic, facts: &mut Facts<'_>) {
        let moved = counted.amplification().map(|times| times * cell.used);
        let shares = [(Fact::ChannelShare, self.channels(cell, counted)), (Fact::LinkShare, self.links(cell, counted))];
        let all = ratios(counted, counted.counted.whole()).into_iter().chain([(Fact::Moved, moved)]).chain(shares);
        all.for_each(|(fact, value)| facts.add(fact, value, Confidence::Counted));
    }

    /// The idle latency of the same memory from the same cpus.
    fn latency(&self, cell: &Cell<'_>) -> Option<(f64, Confidence)> {
        let spot = if cell.is_matrix {
            (true, cell.from, cell.node, cell.page)
        } else {
            (false, cell.memory.as_str(), None, cell.page)
        };
        let all = self.latencies.get(&spot).filter(|_| cell.distance != Distance::Mixed)?;
        let own = all.iter().rev().find(|(home, _)| home.is_subset(&cell.home));
        own.or(all.last()).map(|(_, found)| *found)
    }

    /// The theoretical peak of the memory of some nodes.
    fn peak(&self, nodes: &IdSet) -> Option<f64> {
        let mut known = self.peaks.borrow_mut();
        let peak = known.entry(nodes.clone()).or_insert_with(|| self.machine.own_memory_peak(nodes));
        peak.filter(|peak| *peak > 0.0)
    }

    /// A share that a probe computed.
    fn stated(&self, cell: &Cell<'_>, of: &str) -> Option<f64> {
        self.shares.get(&(cell.step, of)).copied()
    }

    /// The share of their peak that the channels of the memory carried: by their clock, or by the peak of the modules.
    fn channels(&self, cell: &Cell<'_>, counted: &StepTraffic) -> Option<f64> {
        let machine = self.machine;
        // Traffic of a last-level cache may be to the memory of any node.
        let is_of_caches = counted.counted.boxes.iter().any(|own| own.place.kind == BoxKind::Cache);
        if is_of_caches && machine.nodes.len() > 1 {
            return None;
        }
        let share = |node: u32| {
            let nodes: IdSet = [node].into_iter().collect();
            let socket = socket_of(machine, node);
            let is_here = |box_place: &tiermark_model::BoxPlace| match (box_place.node, box_place.socket) {
                (Some(own), _) => own == node,
                (None, Some(own)) => socket == Some(own),
                (None, None) => true,
            };
            let boxes = || counted.counted.boxes.iter().filter(|own| is_here(&own.place));
            // Memory of one node of several uses a part of the socket's channels, and no clock says which.
            let is_whole = !self.is_split || boxes().all(|own| own.place.node.is_some());
            let transfers: Option<f64> = boxes().map(|own| own.transfers).sum();
            // None if a box was not counted.
            let bytes = counted.counted.sum(is_here).total?;
            let by_clock = transfers.filter(|transfers| is_whole && *transfers > 0.0);
            let by_clock = by_clock.map(|transfers| bytes / (transfers * TRANSFER) * stretch(cell, counted));
            let by_peak = || Some(amplification(Some(bytes), counted.useful?)? * cell.used / self.peak(&nodes)?);
            by_clock.or_else(by_peak)
        };
        // The busiest node is not known if one of them is not.
        let all: Option<Vec<f64>> = cell.nodes.iter().take(machine.nodes.len()).map(share).collect();
        all?.into_iter().max_by(f64::total_cmp)
    }

    /// The share of their peak that the links of a socket carried, in the busier direction.
    fn links(&self, cell: &Cell<'_>, counted: &StepTraffic) -> Option<f64> {
        let links = &counted.counted.links;
        let sockets: IdSet = links.iter().filter_map(|link| link.place.socket).collect();
        let theory = self.machine.real_link().map(|link| link.bytes_per_second).filter(|rate| *rate > 0.0);
        let is_missing = |socket: u32| {
            let missing = counted.counted.missing.iter();
            missing.filter(|place| place.kind == BoxKind::Link).any(|place| place.socket == Some(socket))
        };
        let share = |socket: u32| {
            if is_missing(socket) {
                return None;
            }
            let own = || links.iter().filter(|link| link.place.socket == Some(socket));
            let sum = |field: fn(&tiermark_model::LinkTraffic) -> Option<f64>| {
                own().map(field).collect::<Option<Vec<f64>>>().map(|all| all.iter().sum::<f64>())
            };
            let ways = [sum(|link| link.sent), sum(|link| link.received)];
            let busier = ways.into_iter().flatten().max_by(f64::total_cmp)?;
            // A link without a partner has no clock that ticks, and carries nothing.
            let most: f64 = own().filter_map(|link| link.most).sum();
            if most > 0.0 {
                return Some(busier / most * stretch(cell, counted));
            }
            Some(amplification(Some(busier), counted.useful?)? * cell.used / theory?)
        };
        sockets.iter().filter_map(share).max_by(f64::total_cmp)
    }
}

/// A scene that is being filled, and the step that all its numbers rest on.
struct Facts<'a> {
    scene: Scene,
    step: &'a str,
}

impl Facts<'_> {
    fn add(&mut self, fact: Fact, value: Option<f64>, rests_on: Confidence) {
        if let Some(value) = value {
            self.scene.set(FactName(Whose::Own, fact), Found { value, rests_on, steps: vec![self.step.to_owned()] });
        }
    }
}

/// The scene of a bandwidth without numbers.
fn empty(cell: &Cell<'_>) -> Scene {
    let pattern = match (cell.is_random, lines_for_each_byte(cell) > 1.0) {
        (false, false) => "sequential",
        (true, false) => "random",
        (_, true) => "words",
    };
    Scene::new(SceneKind::Rate, Some(cell.place()))
        .word("access", cell.access.word())
        .word("pattern", pattern)
        .word("distance", cell.distance.word())
        .word("nodes", cell.nodes.iter().take(MOST_NODES).map(|node| node.to_string()).collect::<Vec<_>>().join(","))
        .word(CORES, if cell.is_full { ALL_CORES } else { "some" })
        .word("threads", if cell.threads == 1.0 { "one" } else { "many" })
}

/// How much faster the threads were in their best windows than in the time that was counted.
fn stretch(cell: &Cell<'_>, counted: &StepTraffic) -> f64 {
    let during = counted.useful.map(|useful| useful / counted.counted.seconds);
    let times = during.map(|rate| cell.used / rate).filter(|times| times.is_finite());
    times.map_or(1.0, |times| times.clamp(1.0, MOST_STRETCH))
}

/// The spot of a plain idle latency of memory.
fn spot(finding: &Finding) -> Option<Spot<'_>> {
    let labels = &finding.labels;
    let page = labels.page().unwrap_or_default();
    match () {
        () if !is_plain_latency(labels) => None,
        () if labels.is_for(Purpose::Matrix) => Some((true, labels.from()?, labels.node(), page)),
        () if labels.is_for(Purpose::Ladder) => Some((false, labels.tier_name()?, None, page)),
        () => None,
    }
}

/// Whether a latency is of one chain in the usual layout, with nothing beside it.
pub(crate) fn is_plain_latency(labels: &Labels) -> bool {
    labels.has_usual_layout()
        && labels.chains().is_none_or(|chains| chains == 1)
        && labels.statistic().is_none()
        && labels.beside().is_none()
}

/// A number that is known, and how well; `None` if it is in doubt.
pub(crate) fn known(finding: &Finding) -> Option<(f64, Confidence)> {
    let value = finding.value.filter(|value| value.is_finite() && *value > 0.0)?;
    match finding.verdict.grade {
        Grade::Trusted | Grade::Shared => Some((value, Confidence::Measured)),
        Grade::Bound => Some((value, Confidence::Hint)),
        Grade::Suspect | Grade::Invalid => None,
    }
}

/// Bytes on the channels, for each useful byte and for each other.
fn ratios(counted: &StepTraffic, sums: TrafficSum) -> [(Fact, Option<f64>); 5] {
    let for_each = |bytes: Option<f64>| amplification(bytes, counted.useful?);
    let times = counted.amplification();
    [
        (Fact::ReadRatio, for_each(sums.read)),
        (Fact::WriteRatio, for_each(sums.write)),
        (Fact::Amplification, times),
        (Fact::UsedShare, times.filter(|times| *times > 0.0).map(|times| 1.0 / times)),
        (Fact::WritesPerRead, sums.writes_per_read()),
    ]
}

/// Bytes of whole lines for each byte that the threads use: 8 where they use 8 bytes of each line.
fn lines_for_each_byte(cell: &Cell<'_>) -> f64 {
    let Some(kernel) = cell.kernel else {
        return if cell.op.ends_with('8') { 8.0 } else { 1.0 };
    };
    let used = match cell.access {
        Access::Read => kernel.read_per_line,
        _ => kernel.write_per_line,
    };
    if used == 0 { 1.0 } else { (LINE / f64::from(used)).max(1.0) }
}

/// Whether a share is of the peak that the user stated, which holds in a guest too.
pub(crate) fn is_peak_stated(finding: &Finding) -> bool {
    finding.notes.iter().any(|note| note.data.get("how").and_then(|how| how.as_str()) == Some(STATED_PEAK))
}

/// The socket of a node's cpus.
pub(crate) fn socket_of(machine: &Machine, node: u32) -> Option<u32> {
    let first = machine.node(node)?.cpus.first()?;
    machine.cpu(first).map(|cpu| cpu.socket)
}

/// The share by which a number is worse than this machine's record: a rate lower, a time higher. `None` without a
/// record.
pub(crate) fn loss(seen: &Observation) -> Option<f64> {
    let of_record = seen.value? / seen.record.filter(|record| *record > 0.0)?;
    Some(if seen.unit.less_is_better()? { of_record - 1.0 } else { 1.0 - of_record })
}
