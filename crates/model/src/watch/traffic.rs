//! The rates of a sample's traffic, as numbers: of the machine, its sockets and its nodes. Channels are in the sample
//! itself.

use super::{WatchFigure, WatchKind};
use crate::traffic::{BoxPlace, BoxTraffic, LinkTraffic, Traffic, TrafficSum};

/// The start of the names of all of them, and the field of a sample that they are made of.
pub(super) const FIRST: &str = "traffic";

/// The rates of a traffic. Those of a time of 0 seconds have no value.
pub(super) fn figures(traffic: &Traffic) -> Vec<WatchFigure> {
    let mut figures = Figures { seconds: traffic.seconds, all: Vec::new() };
    figures.sum(FIRST, None, traffic.whole());
    if traffic.boxes.iter().any(|own| own.transfers.is_some()) {
        figures.put(
            FIRST,
            None,
            "busiest_channel",
            WatchKind::Share,
            traffic.busiest().filter(|_| traffic.seconds > 0.0),
        );
    }
    for (socket, sum) in traffic.sockets() {
        let item = Some(("socket", socket.to_string()));
        figures.sum("traffic_sockets", item.clone(), sum);
        let links = |field: fn(&LinkTraffic) -> Option<f64>| -> Vec<f64> {
            traffic.links.iter().filter(|link| link.place.socket == Some(socket)).filter_map(field).collect()
        };
        let ways = [
            ("sent_bytes", links(|link| link.sent)),
            ("sent_all_bytes", links(|link| link.stated.sent_all)),
            ("received_bytes", links(|link| link.received)),
        ];
        for (name, bytes) in ways {
            if !bytes.is_empty() {
                figures.rate("traffic_sockets", item.clone(), name, Some(bytes.iter().sum()));
            }
        }
        let shares = [
            ("sent_share", traffic.share_of_links(socket, |link| link.sent)),
            ("sent_all_share", traffic.share_of_links(socket, |link| link.sent_all)),
            ("received_share", traffic.share_of_links(socket, |link| link.received)),
        ];
        for (name, share) in shares.into_iter().filter(|(_, share)| share.is_some()) {
            let share = share.filter(|_| traffic.seconds > 0.0);
            figures.put("traffic_sockets", item.clone(), name, WatchKind::Share, share);
        }
    }
    for (node, sum) in traffic.nodes() {
        figures.sum("traffic_nodes", Some(("node", node.to_string())), sum);
    }
    figures.all
}

/// The field that names an item of a list, and its value.
type Item = Option<(&'static str, String)>;

/// Figures of a time.
struct Figures {
    seconds: f64,
    all: Vec<WatchFigure>,
}

impl Figures {
    fn put(&mut self, list: &'static str, item: Item, name: &'static str, kind: WatchKind, value: Option<f64>) {
        self.all.push(WatchFigure { path: vec![list, name], item, before_item: 1, kind, value });
    }

    fn rate(&mut self, list: &'static str, item: Item, name: &'static str, bytes: Option<f64>) {
        let seconds = self.seconds;
        let rate = bytes.filter(|_| seconds > 0.0).map(|bytes| bytes / seconds);
        self.put(list, item, name, WatchKind::BytesPerSecond, rate);
    }

    /// Reads and writes where they are counted separately, and always both together.
    fn sum(&mut self, list: &'static str, item: Item, sum: TrafficSum) {
        for (name, bytes) in [("read_bytes", sum.read), ("write_bytes", sum.write)] {
            if bytes.is_some() {
                self.rate(list, item.clone(), name, bytes);
            }
        }
        self.rate(list, item, "total_bytes", sum.total);
    }
}

impl Traffic {
    /// Share of its peak that the busiest channel carried; `None` where no channel's clock is counted.
    pub fn busiest(&self) -> Option<f64> {
        self.boxes.iter().filter_map(BoxTraffic::utilisation).reduce(f64::max)
    }

    /// Share of their peak that the boxes that fit carried together; `None` where the clock of one is not counted.
    pub fn utilisation(&self, fits: impl Fn(&BoxPlace) -> bool) -> Option<f64> {
        let boxes: Vec<&BoxTraffic> = self.boxes.iter().filter(|own| fits(&own.place)).collect();
        let most: f64 = boxes.iter().map(|own| own.most()).sum::<Option<f64>>()?;
        (most > 0.0).then(|| boxes.iter().map(|own| own.total).sum::<f64>() / most)
    }

    /// Bytes a second of the machine: all, and the share of reads; `None` where they are not counted, or no time
    /// passed.
    pub fn rate(&self) -> Option<(f64, Option<f64>)> {
        let sum = self.whole();
        let total = sum.total.filter(|_| self.seconds > 0.0)?;
        Some((total / self.seconds, sum.read_share()))
    }
}

#[cfg(test)]
mod tests {
    use crate::{BoxKind, BoxPlace, BoxTraffic, LinkStated, LinkTraffic, Traffic, WatchKind, WatchSample};

    fn place(socket: u32, kind: BoxKind) -> BoxPlace {
        BoxPlace { socket: Some(socket), node: Some(socket), kind, unit: "u".into() }
    }

    fn traffic(seconds: f64) -> Traffic {
        let channel = |socket: u32, read: f64| BoxTraffic {
            place: place(socket, BoxKind::Channel),
            read: Some(read),
            write: Some(10.0),
            total: read + 10.0,
            local: None,
            transfers: Some(10.0),
        };
        let link = LinkTraffic {
            place: place(1, BoxKind::Link),
            sent: Some(8.0),
            received: None,
            most: None,
            stated: LinkStated::default(),
        };
        Traffic {
            seconds,
            boxes: vec![channel(0, 30.0), channel(1, 10.0)],
            links: vec![link],
            marks: Vec::new(),
            missing: Vec::new(),
        }
    }

    #[test]
    fn rates_are_of_the_machine_its_sockets_and_nodes() {
        let sample = WatchSample { traffic: Some(traffic(2.0)), ..WatchSample::default() };
        let figures = sample.figures();
        let of = |name: &str| figures.iter().find(|figure| figure.name() == name).unwrap_or_else(|| panic!("{name}"));
        for (name, value) in [
            ("traffic.read_bytes", 20.0),
            ("traffic.total_bytes", 30.0),
            ("traffic.busiest_channel", 0.5),
            ("traffic_sockets.0.total_bytes", 20.0),
            ("traffic_sockets.1.sent_bytes", 4.0),
            ("traffic_nodes.1.write_bytes", 5.0),
        ] {
            assert_eq!(of(name).value, Some(value), "{name}");
        }
        assert_eq!(of("traffic.read_bytes").kind, WatchKind::BytesPerSecond);
        assert_eq!(of("traffic.busiest_channel").kind, WatchKind::Share);
        // What is not counted has no name, and what has no time no value; the names are the same.
        assert!(!figures.iter().any(|figure| figure.name().contains("received")));
        let first = WatchSample { traffic: Some(traffic(0.0)), ..WatchSample::default() }.figures();
        let names = |figures: &[crate::WatchFigure]| figures.iter().map(crate::WatchFigure::name).collect::<Vec<_>>();
        assert_eq!(names(&first), names(&figures));
        assert!(first.iter().filter(|f| f.name().starts_with("traffic")).all(|figure| figure.value.is_none()));
        let of_traffic = figures.iter().filter(|figure| figure.is_traffic());
        assert!(of_traffic.count() > 8);
        assert_eq!(traffic(2.0).rate(), Some((30.0, Some(40.0 / 60.0))));
    }
}
