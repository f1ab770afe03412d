//! The traffic of a step by socket, node, channel and link.

use tiermark_model::{BoxPlace, LinkShares, LinkTraffic, TrafficSum};
use tiermark_page::{Page, Table, Text, heading, rate_unit, text};

use super::{RatedStep, fullest, named};

/// The steps whose places are worth a look: the one that moved most, and the one with the fullest link.
pub(super) fn places(rows: &[&RatedStep<'_>]) -> Page {
    let moved = |row: &RatedStep<'_>| row.traffic.amplification().unwrap_or(0.0) * row.rate;
    let busiest = rows.iter().max_by(|a, b| moved(a).total_cmp(&moved(b)));
    let link = |row: &RatedStep<'_>| fullest(&row.traffic.counted).unwrap_or(0.0);
    let linked = rows.iter().filter(|row| link(row) > 0.0).max_by(|a, b| link(a).total_cmp(&link(b)));
    let memory = busiest
        .map(|row| heading(format!("Memory by place, in the step that moved most: {}", named(row))) + memory(row));
    let links =
        linked.map(|row| heading(format!("Links, in the step with the fullest one: {}", named(row))) + links(row));
    memory.into_iter().chain(links).collect()
}

/// Sockets, nodes where a socket has several, and the boxes of each.
fn memory(row: &RatedStep<'_>) -> Page {
    let counted = &row.traffic.counted;
    let (sockets, nodes) = (counted.sockets(), counted.nodes());
    let peak = |fits: &dyn Fn(&BoxPlace) -> bool| counted.utilisation(fits);
    let of_socket = sockets
        .iter()
        .map(|(socket, sum)| (format!("socket {socket}"), *sum, peak(&|place| place.socket == Some(*socket))));
    // Of a node that is a socket, the sum is there already.
    let of_node = nodes.iter().filter(|_| nodes.len() > sockets.len());
    let of_node = of_node.map(|(node, sum)| (format!("node {node}"), *sum, peak(&|place| place.node == Some(*node))));
    let of_box = counted.boxes.iter().map(|own| {
        let sum = TrafficSum { read: own.read, write: own.write, total: Some(own.total) };
        (name(&own.place), sum, own.utilisation())
    });
    let rows: Vec<(String, TrafficSum, Option<f64>)> = of_socket.chain(of_node).chain(of_box).collect();
    let table = Table::of(&rows).texts("", |(name, ..)| name);
    let table = table.numbers(head("read"), |(_, sum, _)| row.moved(sum.read));
    let table = table.numbers(head("written"), |(_, sum, _)| row.moved(sum.write));
    let table = table.numbers(head("both"), |(_, sum, _)| row.moved(sum.total));
    table.numbers("of|peak", |(.., of)| row.share(*of)).table().into()
}

/// A place of a step: a node, or a socket whose node is not known.
struct Place<'a> {
    row: &'a RatedStep<'a>,
    /// The words of the step, at its first place.
    step: String,
    name: String,
    sum: TrafficSum,
    /// The socket, whose links these are; `None` where it has several nodes.
    socket: Option<u32>,
}

/// The head of a way over links, its bytes, and their share of the peak.
type Way = (&'static str, fn(&LinkTraffic) -> Option<f64>, fn(LinkShares) -> Option<f64>);

/// The traffic of each node in the first of these steps that fit into `most` rows. Empty on machines of one node.
pub(super) fn by_place(rows: &[&RatedStep<'_>], most: usize) -> Page {
    let several = rows.iter().map(|row| places_of(row)).filter(|own| own.len() > 1);
    let mut shown: Vec<Place<'_>> = Vec::new();
    for own in several {
        if !shown.is_empty() && shown.len() + own.len() > most {
            break;
        }
        shown.extend(own);
    }
    if shown.is_empty() {
        return Page::new();
    }
    let over = |place: &Place<'_>, way: fn(&LinkTraffic) -> Option<f64>| {
        place.socket.and_then(|socket| place.row.traffic.counted.over_links(socket, way))
    };
    let of_peak = |place: &Place<'_>, way: fn(LinkShares) -> Option<f64>| {
        place.socket.and_then(|socket| place.row.traffic.counted.share_of_links(socket, way))
    };
    let table = Table::of(&shown).texts("", |place| place.step.clone()).texts("", |place| place.name.clone());
    let table = if shown.iter().any(|place| place.sum.read.is_some()) {
        let table = table.numbers(head("read"), |place| place.row.moved(place.sum.read));
        table.numbers(head("written"), |place| place.row.moved(place.sum.write))
    } else {
        table.numbers(head("moved"), |place| place.row.moved(place.sum.total))
    };
    let ways: [Way; 3] = [
        ("received", |link| link.received, |share| share.received),
        ("sent", |link| link.sent, |share| share.sent),
        (WITH_OVERHEAD, |link| link.stated.sent_all, |share| share.sent_all),
    ];
    let counted = ways.into_iter().filter(|(_, bytes, _)| shown.iter().any(|place| over(place, *bytes).is_some()));
    let table = table.each(counted, |table, (name, bytes, share)| {
        let table = table.numbers(head(name), move |place| place.row.moved(over(place, bytes)));
        let is_known = shown.iter().any(|place| of_peak(place, share).is_some());
        table.when(is_known, |table| table.numbers("of|peak", move |place| place.row.share(of_peak(place, share))))
    });
    let named = "Traffic of memory and links of each node (links: those of its socket)";
    heading(named) + table.table().gap(1)
}

/// What a link sent with its protocol: no payload.
const WITH_OVERHEAD: &str = "sent, with|overhead";

/// The nodes of a step, or its sockets where their nodes are not known.
fn places_of<'a>(row: &'a RatedStep<'a>) -> Vec<Place<'a>> {
    let counted = &row.traffic.counted;
    let (sockets, nodes) = (counted.sockets(), counted.nodes());
    // Boxes of HBM have no node of their own here: then the sum is that of the socket.
    let node_of = |socket: u32| {
        let mut nodes = counted.boxes.iter().filter(|own| own.place.socket == Some(socket)).map(|own| own.place.node);
        let first = nodes.next()?;
        first.filter(|_| nodes.all(|node| node == first))
    };
    let places: Vec<(String, TrafficSum, Option<u32>)> = if nodes.len() > sockets.len() {
        nodes.into_iter().map(|(node, sum)| (format!("node {node}"), sum, None)).collect()
    } else {
        let name = |socket| node_of(socket).map_or(format!("socket {socket}"), |node| format!("node {node}"));
        sockets.into_iter().map(|(socket, sum)| (name(socket), sum, Some(socket))).collect()
    };
    let step = |at: usize| if at == 0 { named(row) } else { String::new() };
    let place = |(at, (name, sum, socket))| Place { row, step: step(at), name, sum, socket };
    places.into_iter().enumerate().map(place).collect()
}

fn head(what: &str) -> Text {
    text![what, "|", rate_unit()]
}

/// Both ways of each link.
fn links(row: &RatedStep<'_>) -> Page {
    let counted = &row.traffic.counted;
    let shares = |link: &LinkTraffic| link.shares(counted.seconds);
    let table = Table::of(&counted.links).texts("", |link| name(&link.place));
    let table = table.numbers(head("received"), |link| row.moved(link.received));
    let table = table.numbers(head("sent"), |link| row.moved(link.sent));
    let table = table.numbers("received|of peak", |link| row.share(shares(link).received));
    let table = table.numbers("sent|of peak", |link| row.share(shares(link).sent));
    let has_overhead = counted.links.iter().any(|link| link.stated.sent_all.is_some());
    let table = table.when(has_overhead, |table| {
        let table = table.numbers(head(WITH_OVERHEAD), |link| row.moved(link.stated.sent_all));
        table.numbers("of|peak", |link| row.share(shares(link).sent_all))
    });
    table.table().into()
}

/// `socket 0 uncore_imc_3`.
fn name(place: &BoxPlace) -> String {
    let socket = place.socket.map_or_else(String::new, |socket| format!("socket {socket} "));
    format!("{socket}{}", place.unit)
}
