//! The rows of the traffic of memory and links.

use std::collections::BTreeMap;

use tiermark_model::{BoxKind, BoxPlace, LinkShares, Traffic, TrafficSum};

/// Columns of a row's name.
pub(crate) const NAME: usize = 24;

/// A row.
pub(crate) struct TrafficRow {
    pub(crate) name: String,
    /// Share of the peak.
    pub(crate) share: Option<f64>,
    /// Bytes read or received, written or sent, and both.
    pub(crate) sum: TrafficSum,
    /// Whether it is of a link, whose share is that of its busier way.
    pub(crate) is_link: bool,
}

/// The rows of a traffic.
pub(crate) fn rows_of(traffic: &Traffic) -> Vec<TrafficRow> {
    let whole = |name: String, sum, fits: &dyn Fn(&BoxPlace) -> bool| TrafficRow {
        name,
        share: traffic.utilisation(fits),
        sum,
        is_link: false,
    };
    let mut rows = vec![whole("all memory".to_owned(), traffic.whole(), &|_| true)];
    let (sockets, nodes) = (traffic.sockets(), traffic.nodes());
    // Of one socket, or of a node that is a socket, the sum is there already.
    if sockets.len() > 1 {
        rows.extend(
            sockets
                .iter()
                .map(|(socket, sum)| whole(format!("socket {socket}"), *sum, &|place| place.socket == Some(*socket))),
        );
    }
    if nodes.len() > sockets.len() {
        let node_row =
            |(node, sum): (&u32, &TrafficSum)| whole(format!("node {node}"), *sum, &|place| place.node == Some(*node));
        rows.extend(nodes.iter().map(node_row));
    }
    rows.extend(traffic.boxes.iter().map(|own| TrafficRow {
        name: name(&own.place),
        share: own.utilisation(),
        sum: TrafficSum { read: own.read, write: own.write, total: Some(own.total) },
        is_link: false,
    }));
    rows.extend(traffic.links.iter().flat_map(|own| {
        let LinkShares { sent, received, sent_all } = own.shares(traffic.seconds);
        let total = match (own.sent, own.received) {
            (Some(sent), Some(received)) => Some(sent + received),
            (one, other) => one.or(other),
        };
        let payload = TrafficRow {
            name: name(&own.place),
            share: sent.into_iter().chain(received).reduce(f64::max),
            sum: TrafficSum { read: own.received, write: own.sent, total },
            is_link: true,
        };
        // What was sent with the protocol's overhead is no payload, and is in no sum.
        let with_overhead = own.stated.sent_all.map(|bytes| TrafficRow {
            name: format!("{} + overhead", payload.name),
            share: sent_all,
            sum: TrafficSum { write: Some(bytes), ..TrafficSum::default() },
            is_link: true,
        });
        std::iter::once(payload).chain(with_overhead)
    }));
    rows
}

/// The name of a box: `0 uncore_imc_3`, with its socket in front.
pub(crate) fn name(place: &BoxPlace) -> String {
    let socket = place.socket.map_or_else(String::new, |socket| format!("{socket} "));
    let link = if place.kind == BoxKind::Link && !place.unit.contains("link") { " link" } else { "" };
    let name = format!(" {socket}{}{link}", place.unit);
    if name.chars().count() <= NAME { name } else { name.chars().take(NAME - 1).chain(['+']).collect() }
}

/// Bytes a second by the name of the row.
pub(crate) fn rates(traffic: &Traffic) -> BTreeMap<String, f64> {
    let rate = |row: TrafficRow| Some((row.name, row.sum.total? / traffic.seconds));
    if traffic.seconds > 0.0 { rows_of(traffic).into_iter().filter_map(rate).collect() } else { BTreeMap::new() }
}
