//! The traffic of a step by socket, node, channel and link.

use tiermark_model::{BoxPlace, TrafficSum};
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

fn head(what: &str) -> Text {
    text![what, "|", rate_unit()]
}

/// Both ways of each link.
fn links(row: &RatedStep<'_>) -> Page {
    let table = Table::of(&row.traffic.counted.links).texts("", |link| name(&link.place));
    let table = table.numbers(head("received"), |link| row.moved(link.received));
    let table = table.numbers(head("sent"), |link| row.moved(link.sent));
    let table = table.numbers("received|of peak", |link| row.share(link.utilisation().1));
    table.numbers("sent|of peak", |link| row.share(link.utilisation().0)).table().into()
}

/// `socket 0 uncore_imc_3`.
fn name(place: &BoxPlace) -> String {
    let socket = place.socket.map_or_else(String::new, |socket| format!("socket {socket} "));
    format!("{socket}{}", place.unit)
}
