//! The machine as a picture: sockets, caches, nodes and modules, with what was measured of each.

use std::collections::BTreeMap;

use tiermark_model::{
    Bytes, Cache, Finding, IdSet, Machine, Mark, MatrixCell, Node, NodeId, Quantity, Run, Span, Tier, count_of,
};
use tiermark_page::{Style, Text, escaped as text, mark_sign, rate_unit};

use crate::{kinds_of_modules, machine_counts};

/// More sockets than these are alike, and only counted.
const SOCKETS: usize = 4;
/// Widths of the picture where two sockets stand beside each other, and where one stands below the other: the page
/// shows the one that fits.
const WIDE: f64 = 960.0;
const NARROW: f64 = 400.0;
const BOX: f64 = 44.0;
const GAP: f64 = 8.0;
/// Room between two sockets for the link.
const LINK: f64 = 150.0;
/// Units a letter takes at most, on average.
const LETTER: f64 = 7.0;

/// Where a figure is drawn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Spot {
    /// The caches of a socket.
    Socket(u32),
    /// The memory of a node.
    Node(NodeId),
    /// Below all sockets: the sum of several, or of several nodes.
    Together,
}

/// What was measured of a tier.
#[derive(Clone, Default)]
struct Measured {
    latency: Option<String>,
    one: Option<String>,
    all: Option<String>,
}

impl Measured {
    fn words(&self, style: &Style) -> String {
        let unit = rate_unit().shown(style);
        let latency = self.latency.iter().map(|ns| format!("{ns} ns"));
        let rates = match (&self.one, &self.all) {
            (Some(one), Some(all)) => Some(format!("read {one} / {all} {unit} (one core / all)")),
            (Some(one), None) => Some(format!("read {one} {unit} (one core)")),
            (None, all) => all.as_ref().map(|all| format!("read {all} {unit}")),
        };
        latency.chain(rates).collect::<Vec<_>>().join(" · ")
    }
}

/// The picture; empty where nothing that was measured has a place in it.
pub(super) fn picture(run: &Run, style: &Style) -> String {
    let measured = measured(run, style);
    let links = links(run, style);
    if measured.is_empty() && links.is_empty() || run.machine.cpus.is_empty() {
        return String::new();
    }
    let label = machine_counts(&run.machine);
    let label = text(&format!("{label}, with the latency and the bandwidth of its caches and nodes"));
    let drawn = [("wide", WIDE), ("narrow", NARROW)].map(|(class, width)| {
        let mut drawing =
            Drawing { measured: &measured, links: &links, style, machine: &run.machine, width, out: String::new() };
        let height = drawing.all();
        let out = drawing.out;
        format!(
            "<svg role=\"img\" class=\"{class}\" viewBox=\"0 0 {width} {height}\" aria-label=\"{label}\">{out}</svg>"
        )
    });
    let drawn = drawn.concat();
    format!(
        "<figure class=\"machine\" role=\"group\" aria-label=\"The machine with what was measured\">{drawn}</figure>\n"
    )
}

/// A number with the sign of a bound; `None` if it is withheld.
fn number(f: &Finding, style: &Style) -> Option<String> {
    let quoted = f.quoted();
    let value = tiermark_page::number(quoted.value.filter(|value| value.is_finite())?, f.unit);
    let text = match quoted.mark {
        Some(Mark::Doubted) => Text::from(value) + mark_sign(Mark::Doubted),
        mark => Text::from(mark.map_or("", mark_sign)) + value,
    };
    Some(text.shown(style))
}

/// The node of the memory that a finding names.
fn to(f: &Finding) -> Option<NodeId> {
    f.labels.node()
}

/// The cpus of a finding.
fn cpus(f: &Finding) -> IdSet {
    f.labels.cpus().and_then(|cpus| IdSet::from_plain_list(cpus).ok()).unwrap_or_default()
}

/// The nodes of a finding's cpus.
fn from(f: &Finding, machine: &Machine) -> Vec<NodeId> {
    let cpus = cpus(f);
    machine.nodes.iter().filter(|node| !node.cpus.intersection(&cpus).is_empty()).map(|node| node.id).collect()
}

/// The first node that has cpus.
fn first_node(machine: &Machine) -> Option<NodeId> {
    machine.nodes.iter().find(|node| !node.cpus.is_empty()).map(|node| node.id)
}

/// The nodes that a finding leads from and to: a cell of a matrix, or a figure of one node's cpus on a named node.
fn ends(f: &Finding, machine: &Machine) -> Option<(NodeId, NodeId)> {
    if let Some(cell) = MatrixCell::of(&f.labels) {
        return cell.from_node.map(|from| (from, cell.to));
    }
    let tier = f.labels.tier().filter(|tier| tier.is_memory() && *tier != Tier::DramRandom)?;
    if !f.labels.has_usual_layout() {
        return None;
    }
    match from(f, machine).as_slice() {
        [from] => to(f).or(tier.node()).map(|to| (*from, to)),
        // The ladder of a survey names far memory, seen from the first node.
        [] => first_node(machine).zip(tier.node()).filter(|(from, to)| from != to),
        _ => None,
    }
}

/// The tier that a finding is of, and where it is drawn. Caches are of the socket of the finding's cpus, memory is of
/// the node of its cpus; both can be of several together, and what names no cpus was measured on the first. Memory of
/// another node than that of its cpus is of no box: a link leads there.
fn place(f: &Finding, machine: &Machine) -> Option<(Tier, Spot)> {
    let spot = match f.labels.tier()? {
        Tier::Cache(_) => of_sockets(f, machine),
        Tier::Dram => match (from(f, machine).as_slice(), to(f)) {
            ([from], Some(to)) if *from != to => return None,
            ([from], _) => Spot::Node(*from),
            (_, Some(to)) => Spot::Node(to),
            ([], None) => Spot::Node(first_node(machine)?),
            ([_, ..], None) => Spot::Together,
        },
        _ => return None,
    };
    f.labels.tier().map(|tier| (tier, spot))
}

fn of_sockets(f: &Finding, machine: &Machine) -> Spot {
    let cpus = cpus(f);
    let sockets: IdSet = machine.cpus.iter().filter(|cpu| cpus.contains(cpu.id)).map(|cpu| cpu.socket).collect();
    match (sockets.iter().next(), sockets.len()) {
        (Some(socket), 1) => Spot::Socket(socket),
        (Some(_), _) => Spot::Together,
        (None, _) => Spot::Socket(machine.sockets().iter().next().unwrap_or(0)),
    }
}

/// What was measured of each tier, by where it is drawn.
fn measured(run: &Run, style: &Style) -> BTreeMap<(Tier, Spot), Measured> {
    let mut tiers: BTreeMap<(Tier, Spot), Measured> = BTreeMap::new();
    for f in run.findings() {
        let (Some((tier, spot)), Some(shown)) = (place(f, &run.machine), number(f, style)) else { continue };
        let plain = f.labels.has_usual_layout();
        let slot = match (&f.quantity, f.labels.op(), f.labels.span()) {
            (Quantity::Latency, ..) if plain => 0,
            (Quantity::Bandwidth, Some("read"), Some(Span::One)) => 1,
            (Quantity::Bandwidth, Some("read"), Some(Span::All)) => 2,
            _ => continue,
        };
        let here = tiers.entry((tier, spot)).or_default();
        let slot = [&mut here.latency, &mut here.one, &mut here.all].into_iter().nth(slot);
        slot.into_iter().for_each(|slot| *slot = slot.take().or_else(|| Some(shown.clone())));
    }
    tiers
}

/// From the cpus of a node to the memory of a node: latency, and the highest bandwidth of reads.
fn links(run: &Run, style: &Style) -> BTreeMap<(NodeId, NodeId), Measured> {
    let mut links: BTreeMap<(NodeId, NodeId), Measured> = BTreeMap::new();
    for f in run.findings() {
        let (Some(ends), Some(shown)) = (ends(f, &run.machine), number(f, style)) else { continue };
        let here = links.entry(ends).or_default();
        match (&f.quantity, f.labels.op(), f.labels.span()) {
            (Quantity::Latency, ..) => here.latency = here.latency.take().or(Some(shown)),
            (Quantity::Bandwidth, Some("read"), Some(Span::One)) => here.one = here.one.take().or(Some(shown)),
            (Quantity::Bandwidth, Some("read"), _) => here.all = here.all.take().or(Some(shown)),
            _ => {}
        }
    }
    links
}

struct Drawing<'a> {
    measured: &'a BTreeMap<(Tier, Spot), Measured>,
    links: &'a BTreeMap<(NodeId, NodeId), Measured>,
    style: &'a Style,
    machine: &'a Machine,
    width: f64,
    out: String,
}

impl Drawing<'_> {
    /// Draws everything, and returns the height.
    fn all(&mut self) -> f64 {
        let sockets: Vec<u32> = self.machine.sockets().iter().collect();
        let shown = &sockets[..sockets.len().min(SOCKETS)];
        let mut y = 0.0;
        for pair in shown.chunks(2) {
            y += match pair {
                [from, to] if self.width == WIDE => self.beside(*from, *to, y),
                pair => self.below(pair, y),
            };
        }
        y += self.together(y);
        if shown.len() < sockets.len() {
            let more = format!("and {} more", count_of((sockets.len() - shown.len()) as u64, "socket"));
            self.words(0.0, y + 14.0, self.width, "small", &more);
            y += 28.0;
        }
        let machine = self.machine;
        for node in machine.nodes.iter().filter(|node| node.is_memory_only()) {
            let figures = self.of_node(node);
            y += self.cell(0.0, y, self.width, "far", &node_words(machine, node, "memory without cpus"), &figures);
        }
        for (kind, modules) in kinds_of_modules(&machine.dimms) {
            self.words(0.0, y + 14.0, self.width, "small", &format!("{} × {kind}", modules.len()));
            y += 22.0;
        }
        y
    }

    /// Two sockets beside each other, and the link between them; returns their height.
    fn beside(&mut self, from: u32, to: u32, top: f64) -> f64 {
        let width = (self.width - LINK) / 2.0;
        let first = self.socket(from, 0.0, top, width);
        let height = first.max(self.socket(to, width + LINK, top, width));
        let (y, left, right, middle) = (top + height / 2.0, width + 6.0, width + LINK - 6.0, width + LINK / 2.0);
        self.out.push_str(&format!("<path class=\"link\" d=\"M{left} {y}H{right}\"/>"));
        for (at, (ends, figures)) in self.ways(from, to).into_iter().enumerate() {
            let first = if at == 0 { y - 44.0 } else { y + 20.0 };
            for (at, words) in std::iter::once(ends).chain(figures).enumerate() {
                self.out.push_str(&format!(
                    "<text class=\"small\" text-anchor=\"middle\" x=\"{middle}\" y=\"{}\">{}</text>",
                    first + at as f64 * 17.0,
                    text(&Text::from(words).shown(self.style))
                ));
            }
        }
        height + 2.0 * GAP
    }

    /// One or two sockets below each other, and the link between them; returns their height.
    fn below(&mut self, sockets: &[u32], top: f64) -> f64 {
        let mut y = top;
        for (at, socket) in sockets.iter().enumerate() {
            if let (1, [from, to]) = (at, sockets) {
                for (ends, figures) in self.ways(*from, *to) {
                    self.words(12.0, y + 6.0, self.width, "small", &format!("{ends}: {}", figures.join(" · ")));
                    y += 20.0;
                }
            }
            y += self.socket(*socket, 0.0, y, self.width) + 2.0 * GAP;
        }
        y - top
    }

    /// What several sockets or nodes do together; returns its height.
    fn together(&mut self, top: f64) -> f64 {
        let is_together = |((_, spot), _): &(&(Tier, Spot), &Measured)| *spot == Spot::Together;
        let found = self.measured.iter().filter(is_together).map(|((tier, _), m)| (*tier, m.words(self.style)));
        let found: Vec<(Tier, String)> = found.collect();
        let mut y = top;
        for (tier, figures) in found {
            let (class, name) = match tier.level() {
                Some(level) => (format!("cache level{}", level.min(4)), format!("{tier} of all sockets")),
                None => ("memory".to_owned(), "Memory of all nodes".to_owned()),
            };
            y += self.cell(0.0, y, self.width, &class, &format!("{name}, each used by its own cores"), &figures);
        }
        y - top
    }

    /// A socket with its caches and its nodes; returns its height.
    fn socket(&mut self, socket: u32, x: f64, top: f64, width: f64) -> f64 {
        let machine = self.machine;
        let cpus: Vec<_> = machine.cpus.iter().filter(|cpu| cpu.socket == socket).collect();
        let cores: std::collections::BTreeSet<u32> = cpus.iter().map(|cpu| cpu.core).collect();
        let title = format!(
            "Socket {socket}: {}, {}",
            count_of(cores.len() as u64, "core"),
            count_of(cpus.len() as u64, "cpu")
        );
        let at = self.out.len();
        let mut y = top + 34.0;
        self.words(x + 12.0, top + 22.0, width - 24.0, "title", &title);
        let of_socket = |cache: &&Cache| cpus.iter().any(|cpu| cache.cpus.contains(cpu.id));
        let mut levels: BTreeMap<u8, Vec<&Cache>> = BTreeMap::new();
        for cache in machine.data_caches().filter(of_socket) {
            levels.entry(cache.level).or_default().push(cache);
        }
        let (left, inner) = (x + 12.0, width - 24.0);
        for (level, caches) in levels {
            let size = caches[0].bytes.map_or_else(|| "size unknown".to_owned(), |bytes| Bytes(bytes).to_string());
            let name = format!("L{level}: {} × {size}", caches.len());
            let figures = self.of_tier(Tier::Cache(level), Spot::Socket(socket));
            y += self.cell(left, y, inner, &format!("cache level{}", level.min(4)), &name, &figures);
        }
        let nodes = machine.nodes.iter().filter(|node| cpus.iter().any(|cpu| node.cpus.contains(cpu.id)));
        for node in nodes {
            let figures = self.of_node(node);
            y += self.cell(left, y, inner, "memory", &node_words(machine, node, "memory"), &figures);
        }
        let height = y + 4.0 - top;
        let frame = rect(x, top, width, height, "socket");
        self.out.insert_str(at, &frame);
        height
    }

    /// The figures of a node's memory, by its own cpus if it has any.
    fn of_node(&self, node: &Node) -> String {
        let own = self.of_tier(Tier::Dram, Spot::Node(node.id));
        match self.links.get(&(node.id, node.id)) {
            Some(link) if own.is_empty() => link.words(self.style),
            _ if own.is_empty() => {
                // Memory without cpus is far from all: the nearest group of cpus has its figures.
                let near = self.links.iter().find(|((_, to), _)| *to == node.id && node.cpus.is_empty());
                near.map_or(own, |((from, _), link)| format!("{} from node {from}", link.words(self.style)))
            }
            _ => own,
        }
    }

    fn of_tier(&self, tier: Tier, spot: Spot) -> String {
        self.measured.get(&(tier, spot)).map_or_else(String::new, |measured| measured.words(self.style))
    }

    /// The ways of the link between two sockets, from the first node of one to the first of the other, with their
    /// figures.
    fn ways(&self, from: u32, to: u32) -> Vec<(String, Vec<String>)> {
        let machine = self.machine;
        let node =
            |socket| machine.cpus.iter().find(|cpu| cpu.socket == socket).and_then(|cpu| machine.node_of(cpu.id));
        let (Some(from), Some(to)) = (node(from), node(to)) else { return Vec::new() };
        let way = |(from, to): (NodeId, NodeId)| {
            let measured = self.links.get(&(from, to))?;
            let latency = measured.latency.as_ref().map(|ns| format!("{ns} ns"));
            let rate = measured.all.as_ref().or(measured.one.as_ref());
            let rate = rate.map(|rate| format!("{rate} {}", rate_unit().shown(self.style)));
            let figures: Vec<String> = latency.into_iter().chain(rate).collect();
            (!figures.is_empty()).then(|| (format!("node {from} → {to}"), figures))
        };
        [(from, to), (to, from)].into_iter().filter_map(way).collect()
    }

    /// A box with a name and figures; returns the height that it takes.
    fn cell(&mut self, x: f64, y: f64, width: f64, class: &str, name: &str, figures: &str) -> f64 {
        let height = if figures.is_empty() { 28.0 } else { BOX };
        self.out.push_str(&rect(x, y, width, height, class));
        self.words(x + 10.0, y + 18.0, width - 20.0, "name", name);
        if !figures.is_empty() {
            self.words(x + 10.0, y + 36.0, width - 20.0, "figure", figures);
        }
        height + GAP
    }

    /// A line of text, cut where it would leave its box.
    fn words(&mut self, x: f64, y: f64, width: f64, class: &str, words: &str) {
        let words = Text::from(words).shown(self.style);
        let room = (width / LETTER) as usize;
        let shown: String = if words.chars().count() > room {
            words.chars().take(room.saturating_sub(1)).chain(['…']).collect()
        } else {
            words.clone()
        };
        let whole = if shown == words { String::new() } else { format!("<title>{}</title>", text(&words)) };
        self.out.push_str(&format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{whole}{}</text>", text(&shown)));
    }
}

fn rect(x: f64, y: f64, width: f64, height: f64, class: &str) -> String {
    format!("<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>")
}

fn node_words(machine: &Machine, node: &Node, what: &str) -> String {
    let size = machine.memory_of(node).map_or_else(String::new, |bytes| format!(", {}", Bytes(bytes)));
    format!("Node {}: {what}{size}", node.id)
}
