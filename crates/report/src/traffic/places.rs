//! The traffic of a step by socket, node, channel and link.

use tiermark_model::{BoxPlace, LinkTraffic, Traffic, TrafficSum};
use tiermark_page::{Align, Cell, Page, Style, Table, heading, percent, rate};

use super::{MOST_LONGER, RatedStep, fullest, named};

/// The steps whose places are worth a look: the one that moved most, and the one with the fullest link.
pub(super) fn places(rows: &[&RatedStep<'_>], style: &Style) -> Page {
    let moved = |row: &RatedStep<'_>| row.traffic.amplification().unwrap_or(0.0) * row.rate;
    let busiest = rows.iter().max_by(|a, b| moved(a).total_cmp(&moved(b)));
    let link = |row: &RatedStep<'_>| fullest(&row.traffic.counted).unwrap_or(0.0);
    let linked = rows.iter().filter(|row| link(row) > 0.0).max_by(|a, b| link(a).total_cmp(&link(b)));
    let memory = busiest.map(|row| {
        heading(&format!("Memory by place, in the step that moved most: {}", named(row))) + memory(row, style)
    });
    let links = linked
        .map(|row| heading(&format!("Links, in the step with the fullest one: {}", named(row))) + links(row, style));
    memory.into_iter().chain(links).collect()
}

/// Bytes of the counts as a rate beside the useful rate of the step.
fn shown(row: &RatedStep<'_>, bytes: Option<f64>, style: &Style) -> Cell {
    let useful = row.traffic.useful.filter(|useful| *useful > 0.0);
    let value = bytes.zip(useful).map(|(bytes, useful)| rate(row.rate * bytes / useful, style));
    Cell::new(value.unwrap_or_else(|| style.absent().to_owned()))
}

/// A share of a peak, of the time in which the useful bytes moved.
fn share(row: &RatedStep<'_>, share: Option<f64>, style: &Style) -> Cell {
    let seconds = row.traffic.counted.seconds;
    let longer = row.traffic.useful.map_or(1.0, |useful| (seconds * row.rate / useful).clamp(1.0, MOST_LONGER));
    Cell::new(share.map_or_else(|| style.absent().to_owned(), |share| percent((share * longer).min(1.0))))
}

/// Sockets, nodes where a socket has several, and the boxes of each.
fn memory(row: &RatedStep<'_>, style: &Style) -> Page {
    let counted = &row.traffic.counted;
    let unit = style.rate_unit();
    let mut table = Table::new().column("", Align::Left);
    for head in [&format!("read|{unit}"), &format!("written|{unit}"), &format!("both|{unit}"), "of|peak"] {
        table = table.column(head, Align::Right);
    }
    let mut add = |name: String, sum: TrafficSum, of: Option<f64>| {
        let rates = [sum.read, sum.write, sum.total].map(|bytes| shown(row, bytes, style));
        table.row([Cell::new(name)].into_iter().chain(rates).chain([share(row, of, style)]).collect());
    };
    let peak = |fits: &dyn Fn(&BoxPlace) -> bool| counted.utilisation(fits);
    let (sockets, nodes) = (counted.sockets(), counted.nodes());
    for (socket, sum) in &sockets {
        add(format!("socket {socket}"), *sum, peak(&|place| place.socket == Some(*socket)));
    }
    // Of a node that is a socket, the sum is there already.
    for (node, sum) in nodes.iter().filter(|_| nodes.len() > sockets.len()) {
        add(format!("node {node}"), *sum, peak(&|place| place.node == Some(*node)));
    }
    for own in &counted.boxes {
        let sum = TrafficSum { read: own.read, write: own.write, total: Some(own.total) };
        add(name(&own.place), sum, own.utilisation());
    }
    table.into()
}

/// Both ways of each link.
fn links(row: &RatedStep<'_>, style: &Style) -> Page {
    let counted: &Traffic = &row.traffic.counted;
    let unit = style.rate_unit();
    let mut table = Table::new().column("", Align::Left);
    for head in [&format!("received|{unit}"), &format!("sent|{unit}"), "received|of peak", "sent|of peak"] {
        table = table.column(head, Align::Right);
    }
    let line = |link: &LinkTraffic| {
        let (sent, received) = link.utilisation();
        let rates = [link.received, link.sent].map(|bytes| shown(row, bytes, style));
        let shares = [received, sent].map(|way| share(row, way, style));
        [Cell::new(name(&link.place))].into_iter().chain(rates).chain(shares).collect()
    };
    counted.links.iter().for_each(|link| table.row(line(link)));
    table.into()
}

/// `socket 0 uncore_imc_3`.
fn name(place: &BoxPlace) -> String {
    let socket = place.socket.map_or_else(String::new, |socket| format!("socket {socket} "));
    format!("{socket}{}", place.unit)
}
