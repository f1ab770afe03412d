//! What goes over networks, and how much could.

use std::collections::BTreeMap;

use tiermark_machine::Root;
use tiermark_machine::files::Malformed;

/// An interface at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interface {
    /// Bytes that came in.
    pub received: u64,
    /// Bytes that went out.
    pub sent: u64,
    /// Capacity in each direction, bytes per second; `None` where the interface does not report it, as virtual ones do
    /// not.
    pub speed: Option<u64>,
}

/// Interfaces by name, without loopback.
pub type Links = BTreeMap<String, Interface>;

/// `/proc/net/dev`, without speeds.
pub(super) fn links(text: &str) -> Result<Links, Malformed> {
    let line = |line: &str| {
        let (name, counters) = line.split_once(':').ok_or_else(|| Malformed::line(line))?;
        // Eight counters of what came in, and eight of what went out; bytes are the first of each.
        let numbers: Vec<u64> = counters.split_ascii_whitespace().map_while(|n| n.parse().ok()).collect();
        let [received, _, _, _, _, _, _, _, sent, ..] = numbers[..] else { return Err(Malformed::line(line)) };
        Ok((name.trim().to_owned(), Interface { received, sent, speed: None }))
    };
    let read: Result<Links, Malformed> =
        text.lines().skip(2).filter(|line| !line.trim().is_empty()).map(line).collect();
    read.map(|mut links| {
        links.remove("lo");
        links
    })
}

/// The same with what each says of its speed.
pub(super) fn with_speeds(root: &Root, mut links: Links) -> Links {
    for (name, interface) in &mut links {
        // Mb/s; −1 where nothing is known of it.
        let megabits: Option<u64> = root.value(&format!("sys/class/net/{name}/speed"));
        let megabits = megabits.filter(|megabits| *megabits > 0);
        interface.speed = megabits.and_then(|megabits| megabits.checked_mul(1_000_000 / 8));
    }
    links
}

/// The load of a network interface between two moments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// Bytes a second in its busier direction.
    pub rate: f64,
    /// `rate` over the capacity; `None` where the interface does not report it.
    pub share: Option<f64>,
}

impl Link {
    /// The interface that is nearest to what it can carry, or else the busiest, between two moments some seconds apart.
    /// `None` where there is none, or none whose counters went forwards.
    pub(super) fn busiest(earlier: &Links, later: &Links, seconds: f64) -> Option<Self> {
        let used = later.iter().filter_map(|(name, now)| {
            let then = earlier.get(name)?;
            let bytes = now.received.checked_sub(then.received)?.max(now.sent.checked_sub(then.sent)?);
            let rate = (seconds > 0.0).then(|| bytes as f64 / seconds)?;
            Some(Self { rate, share: now.speed.map(|speed| rate / speed as f64) })
        });
        let order = |link: &Self| (link.share.unwrap_or(0.0), link.rate);
        used.max_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(lo: u64, eth: (u64, u64), veth: u64) -> String {
        let line = |name: &str, received: u64, sent: u64| {
            format!("{name:>6}: {received} 2 0 0 0 0 0 0 {sent} 2 0 0 0 0 0 0\n")
        };
        let head = "Inter-|   Receive |  Transmit\n face |bytes packets|bytes packets\n";
        format!("{head}{}{}{}", line("lo", lo, lo), line("eth0", eth.0, eth.1), line("veth1", veth, veth))
    }

    #[test]
    fn the_interface_nearest_to_its_speed_counts() {
        let root =
            Root::from_files("test", [("sys/class/net/eth0/speed", "1000\n"), ("sys/class/net/veth1/speed", "-1\n")]);
        let at = |lo, eth, veth| with_speeds(&root, links(&text(lo, eth, veth)).unwrap());
        let before = at(0, (0, 1000), 0);
        assert_eq!((before.len(), before["eth0"].speed, before["veth1"].speed), (2, Some(125_000_000), None));
        let after = at(1 << 40, (25_000_000, 225_001_000), 900_000_000);
        let link = Link::busiest(&before, &after, 2.0).unwrap();
        assert_eq!((link.rate, link.share), (112_500_000.0, Some(0.9)));
        // Of interfaces without a speed the busiest, and no share.
        let unknown =
            |veth| with_speeds(&Root::from_files("test", [("x", "")]), links(&text(0, (0, 0), veth)).unwrap());
        assert_eq!(Link::busiest(&unknown(0), &unknown(10), 2.0), Some(Link { rate: 5.0, share: None }));
        assert_eq!(Link::busiest(&unknown(10), &unknown(0), 2.0).map(|link| link.rate), Some(0.0), "it was made anew");
        assert_eq!(Link::busiest(&Links::new(), &after, 2.0), None);
    }

    proptest! {
        #[test]
        fn any_table(text in "(?s)(a|b\\n|\\n|lo:|eth0: |[0-9]{1,21} |[a-z:| ]{1,5}){0,60}") {
            let _ = links(&text);
        }
    }
}
