//! Memory channels and links beside the others of their socket.

use std::collections::{BTreeMap, BTreeSet};

use tiermark_model::messages::explain as says;
use tiermark_model::{BoxKind, BoxPlace, BoxTraffic, Confidence, Distance, LinkTraffic, NodeId, Note, StepTraffic};
use tiermark_stats::median;

use crate::explain::cells::Cell;
use crate::explain::facts::{Fact, Scene, SceneKind};

/// Bytes a second of a socket's channels below which a slow one does not show: an idle socket has some MB/s.
const LEAST_RATE: f64 = 1e9;
/// Boxes of one kind at most: the largest servers have 12 channels and 6 links a socket. A document may have any
/// number.
const MOST: usize = 1024;

/// Scenes of the boxes beside the bandwidths of a run. If a socket has several nodes, `is_split`, its channels are
/// alike only if their nodes are known: memory of one node uses a part of them.
pub(crate) fn boxes(cells: &[&Cell<'_>], is_split: bool) -> Vec<Scene> {
    let counted = |cell: &&Cell<'_>| {
        cell.seen.traffic.as_ref().map(|traffic| (cell.place(), cell.step.to_owned(), traffic.clone()))
    };
    let counted: Vec<(String, String, StepTraffic)> =
        cells.iter().filter_map(counted).filter(|(_, _, traffic)| traffic.counted.seconds > 0.0).collect();
    let busy = Busy::of(counted.iter().map(|(_, _, traffic)| traffic));
    let mut found = Vec::new();
    for (place, step, traffic) in &counted {
        found.extend(channels(place, step, traffic, &busy, is_split));
        found.extend(links(place, step, traffic, &busy));
    }
    found
}

/// Boxes that carried anything in the whole run, and sockets with a link whose clock ticked in it. A source may have
/// boxes for channels without a module and for links that the board does not wire.
struct Busy<'a> {
    boxes: BTreeSet<&'a BoxPlace>,
    clocks: BTreeSet<Option<u32>>,
}

impl<'a> Busy<'a> {
    fn of(all: impl Iterator<Item = &'a StepTraffic>) -> Self {
        let mut busy = Self { boxes: BTreeSet::new(), clocks: BTreeSet::new() };
        for traffic in all.map(|traffic| &traffic.counted) {
            busy.boxes.extend(traffic.boxes.iter().filter(|own| own.total > 0.0).map(|own| &own.place));
            let carries = |link: &&LinkTraffic| [link.sent, link.received].iter().flatten().any(|bytes| *bytes > 0.0);
            busy.boxes.extend(traffic.links.iter().filter(carries).map(|link| &link.place));
            busy.clocks.extend(traffic.links.iter().filter(|link| link.most.is_some()).map(|link| link.place.socket));
        }
        busy
    }

    /// Whether a channel has a module: its clock ticks, or, without a clock, it carried something.
    fn is_populated(&self, channel: &BoxTraffic) -> bool {
        channel.transfers.map_or_else(|| self.boxes.contains(&channel.place), |transfers| transfers > 0.0)
    }

    /// Whether a link has a partner: its clock ticks, or, on a socket without such clocks, it carried something.
    fn is_wired(&self, link: &LinkTraffic) -> bool {
        match self.clocks.contains(&link.place.socket) {
            true => link.most.is_some(),
            false => self.boxes.contains(&link.place),
        }
    }
}

/// Channels of a socket, or of a node, that a comparison needs: one, and two whose middle it is compared with.
const LEAST_CHANNELS: usize = 3;
/// Links of a socket that a comparison needs.
const LEAST_LINKS: usize = 2;

/// Why the boxes of a kind cannot be compared, though they were counted: another run of this machine has no more of
/// them.
#[derive(Debug, Default)]
pub(crate) struct Few {
    channels: Option<Note>,
    links: Option<Note>,
}

impl Few {
    pub(crate) fn of(cells: &[&Cell<'_>], is_split: bool) -> Self {
        let counted = || cells.iter().filter_map(|cell| cell.seen.traffic.as_ref());
        let counted = || counted().filter(|traffic| traffic.counted.seconds > 0.0);
        if counted().next().is_none() {
            return Self::default();
        }
        let busy = Busy::of(counted());
        let is_afar = cells.iter().any(|cell| matches!(cell.distance, Distance::Remote | Distance::Mixed));
        let most = |spots: &dyn Fn(&StepTraffic) -> Vec<Spot>| {
            let most = |traffic| by_spot(&spots(traffic), |spot| *spot).values().map(Vec::len).max();
            counted().filter_map(most).max().unwrap_or(0)
        };
        let channels = |traffic: &StepTraffic| -> Vec<Spot> {
            let boxes = traffic.counted.boxes.iter().filter(|own| own.place.kind == BoxKind::Channel);
            boxes.filter(|own| busy.is_populated(own)).map(|own| (own.place.socket, own.place.node)).collect()
        };
        // Without remote traffic, links that carry nothing may still be wired.
        let links = |traffic: &StepTraffic| -> Vec<Spot> {
            let links = traffic.counted.links.iter().filter(|own| !is_afar || busy.is_wired(own));
            links.map(|own| (own.place.socket, None)).collect()
        };
        let few = |seen: usize, what: &str, needed: usize| {
            (seen < needed).then(|| says::boxes_few(seen as u64, what, needed as u64))
        };
        let without_node = |traffic: &StepTraffic| channels(traffic).iter().any(|(_, node)| node.is_none());
        let unknown = (is_split && counted().any(without_node)).then(says::boxes_without_node);
        Self {
            channels: unknown.or_else(|| few(most(&channels), "memory channel", LEAST_CHANNELS)),
            links: few(most(&links), "link", LEAST_LINKS),
        }
    }

    /// Why scenes of a kind are missing.
    pub(crate) fn why(&self, kind: SceneKind) -> Option<&Note> {
        match kind {
            SceneKind::Channel => self.channels.as_ref(),
            SceneKind::Link => self.links.as_ref(),
            _ => None,
        }
    }
}

/// The socket and the node of a box.
type Spot = (Option<u32>, Option<NodeId>);

/// Splits what belongs to the same socket, or node.
fn by_spot<T>(all: &[T], spot: impl Fn(&T) -> Spot) -> BTreeMap<Spot, Vec<&T>> {
    let mut sockets: BTreeMap<Spot, Vec<&T>> = BTreeMap::new();
    for one in all.iter().take(MOST) {
        sockets.entry(spot(one)).or_default().push(one);
    }
    sockets
}

fn socket_words(socket: Option<u32>) -> String {
    socket.map_or_else(String::new, |socket| format!("socket {socket}, "))
}

fn channels(place: &str, step: &str, traffic: &StepTraffic, busy: &Busy<'_>, is_split: bool) -> Vec<Scene> {
    let seconds = traffic.counted.seconds;
    let is_one = |own: &&BoxTraffic| own.place.kind == BoxKind::Channel && busy.is_populated(own);
    let channels: Vec<BoxTraffic> = traffic.counted.boxes.iter().filter(is_one).take(MOST).cloned().collect();
    let scene = |((socket, node), own): (Spot, Vec<&BoxTraffic>)| {
        if is_split && node.is_none() {
            return None;
        }
        let rate = |channel: &BoxTraffic| channel.total / seconds;
        let slowest = *own.iter().min_by(|a, b| rate(a).total_cmp(&rate(b)))?;
        let others = own.iter().filter(|channel| channel.place != slowest.place).map(|channel| rate(channel));
        // One other may be the odd one itself.
        let others: Vec<f64> = others.collect();
        let median = median(&others).filter(|of| others.len() > 1 && of * own.len() as f64 > LEAST_RATE)?;
        let name = format!("{}{}: {place}", socket_words(socket), slowest.place.unit);
        let scene = Scene::new(SceneKind::Channel, Some(name));
        let scene = scene.with(Fact::Rate, rate(slowest), Confidence::Counted, &[step]);
        Some(scene.with(Fact::Median, median, Confidence::Counted, &[step]))
    };
    by_spot(&channels, |own| (own.place.socket, own.place.node)).into_iter().filter_map(scene).collect()
}

fn links(place: &str, step: &str, traffic: &StepTraffic, busy: &Busy<'_>) -> Vec<Scene> {
    let seconds = traffic.counted.seconds;
    let rate = |link: &LinkTraffic| (link.sent.unwrap_or(0.0) + link.received.unwrap_or(0.0)) / seconds;
    let most = |link: &LinkTraffic| link.most.unwrap_or(0.0) / seconds;
    let counts = |link: &&LinkTraffic| (link.sent.is_some() || link.received.is_some()) && busy.is_wired(link);
    let all: Vec<LinkTraffic> = traffic.counted.links.iter().filter(counts).take(MOST).cloned().collect();
    let slowest = |own: &[&LinkTraffic], measure: &dyn Fn(&LinkTraffic) -> f64| {
        let at = (0..own.len()).min_by(|a, b| measure(own[*a]).total_cmp(&measure(own[*b])))?;
        let others = (0..own.len()).filter(|other| *other != at).map(|other| measure(own[other]));
        // Two links are enough: one carries and the other does not.
        let middle = median(&others.collect::<Vec<_>>())?;
        Some((own[at].place.unit.clone(), measure(own[at]), middle))
    };
    let scene = |((socket, _), own): (Spot, Vec<&LinkTraffic>)| {
        let (unit, least, median) = slowest(&own, &rate).filter(|(_, _, median)| *median > LEAST_RATE)?;
        let link_scene = |word: &str, unit: &str, rate: f64, median: f64| {
            let scene = Scene::new(SceneKind::Link, Some(format!("{}{unit}: {place}", socket_words(socket))));
            let scene = scene.word("of", word).with(Fact::Rate, rate, Confidence::Counted, &[step]);
            scene.with(Fact::Median, median, Confidence::Counted, &[step])
        };
        let clocks = slowest(&own, &most).filter(|(_, _, median)| *median > 0.0);
        let clocks = clocks.map(|(unit, least, median)| link_scene("peak", &unit, least, median));
        Some([Some(link_scene("traffic", &unit, least, median)), clocks].into_iter().flatten().collect::<Vec<_>>())
    };
    by_spot(&all, |link| (link.place.socket, None)).into_iter().filter_map(scene).flatten().collect()
}
