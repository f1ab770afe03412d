//! Lines of the traffic of memory and links in a sample.

use tiermark_model::{BoxKind, BoxPlace, BoxTraffic, LinkShares, LinkTraffic, Traffic};

use crate::metrics::{self, Metric};
use crate::openmetrics::escaped;

/// The families of a traffic with a line each: labels and value. A time of 0 seconds has none.
pub(super) fn lines(traffic: &Traffic) -> Vec<(Metric<'static>, String)> {
    if traffic.seconds <= 0.0 {
        return Vec::new();
    }
    let mut lines = Lines { seconds: traffic.seconds, all: Vec::new() };
    traffic.boxes.iter().for_each(|own| lines.memory(own));
    traffic.links.iter().for_each(|own| lines.link(own));
    lines.all
}

/// Lines of a time.
struct Lines {
    seconds: f64,
    all: Vec<(Metric<'static>, String)>,
}

impl Lines {
    fn put(&mut self, family: Metric<'static>, place: &BoxPlace, direction: Option<&str>, value: Option<f64>) {
        let Some(value) = value.filter(|value| value.is_finite()) else { return };
        let numbers = [("socket", place.socket), ("node", place.node)];
        let mut labels: Vec<String> =
            numbers.iter().filter_map(|(name, number)| Some(format!("{name}=\"{}\"", (*number)?))).collect();
        labels.push(format!("{}=\"{}\"", kind(place.kind), escaped(&place.unit)));
        labels.extend(direction.map(|direction| format!("direction=\"{direction}\"")));
        self.all.push((family, format!("{{{}}} {value}", labels.join(","))));
    }

    fn memory(&mut self, own: &BoxTraffic) {
        let rate = |bytes: f64| Some(bytes / self.seconds);
        // Both directions together only where they are not counted by themselves: a sum over labels counts nothing
        // twice.
        let by_direction = match (own.read, own.write) {
            (Some(read), Some(write)) => vec![("read", rate(read)), ("write", rate(write))],
            // A source that counts reads only.
            (Some(read), None) => vec![("read", rate(read))],
            _ => vec![("both", rate(own.total))],
        };
        for (direction, rate) in by_direction {
            self.put(metrics::WATCH_MEMORY, &own.place, Some(direction), rate);
        }
        self.put(metrics::WATCH_MEMORY_SHARE, &own.place, None, own.utilisation());
    }

    fn link(&mut self, own: &LinkTraffic) {
        let LinkShares { sent, received, .. } = own.shares(self.seconds);
        for (direction, bytes, share) in [("sent", own.sent, sent), ("received", own.received, received)] {
            self.put(metrics::WATCH_LINK, &own.place, Some(direction), bytes.map(|bytes| bytes / self.seconds));
            self.put(metrics::WATCH_LINK_SHARE, &own.place, Some(direction), share);
        }
    }
}

/// The name of the label that has a box's name.
fn kind(kind: BoxKind) -> &'static str {
    match kind {
        BoxKind::Channel => "channel",
        BoxKind::Memory => "memory",
        BoxKind::Link => "link",
        BoxKind::Cache => "cache",
    }
}
