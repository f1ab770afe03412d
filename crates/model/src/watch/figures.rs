//! The numbers of a sample under the names that its JSON gives them: `psi.memory.some.avg10`, `nodes.0.free_bytes`.

use serde_json::Value;

use super::WatchSample;

/// The field that names an item, by the list that it is in.
const NAMED_BY: [(&str, &str); 8] = [
    ("nodes", "node"),
    ("traffic_sockets", "socket"),
    ("traffic_nodes", "node"),
    ("swaps", "path"),
    ("zram", "device"),
    ("alerts", "alert"),
    ("pings", "pair"),
    ("groups", "path"),
];
/// The list of groups. They come and go, and each kind has its own numbers.
const GROUPS: &str = "groups";

/// What a number of a sample measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchKind {
    /// Bytes.
    Bytes,
    /// Bytes a second.
    BytesPerSecond,
    /// Events or pages a second.
    PerSecond,
    /// Percent of the time.
    Percent,
    /// A share from 0 to 1.
    Share,
    /// Seconds.
    Seconds,
    /// Nanoseconds.
    Nanoseconds,
    /// Cycles a second.
    Hertz,
    /// A number of things.
    Count,
}

/// A number of a sample.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchFigure {
    /// The fields that lead to it, without the item of a list: `nodes`, `free_bytes`.
    pub path: Vec<String>,
    /// The field that names the item of a list, and its value: `node`, `0`; `None` outside of lists.
    pub item: Option<(&'static str, String)>,
    /// The number; `None` where the system does not report it. What holds or not is 1 or 0.
    pub value: Option<f64>,
}

impl WatchKind {
    /// The unit of its numbers in a sample.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::BytesPerSecond => "bytes/s",
            Self::PerSecond => "1/s",
            Self::Percent => "%",
            Self::Share => "share",
            Self::Seconds => "s",
            Self::Nanoseconds => "ns",
            Self::Hertz => "Hz",
            Self::Count => "number",
        }
    }
}

impl WatchFigure {
    /// Its name in one word: `nodes.0.free_bytes`.
    pub fn name(&self) -> String {
        match (&self.item, self.around_item()) {
            (Some((_, item)), Some((list, rest))) => format!("{list}.{item}.{rest}"),
            _ => self.path.join("."),
        }
    }

    /// Whether it is a rate of the traffic of memory or links.
    pub fn is_traffic(&self) -> bool {
        self.path.first().is_some_and(|first| first.starts_with(super::traffic::FIRST))
    }

    /// What its list is of and what it is, if no field of a sample is that number: a rate of the traffic of memory or
    /// links.
    pub fn about_traffic(&self) -> Option<[&'static str; 2]> {
        super::traffic::about(&self.path)
    }

    /// The names before and behind the item of its list; `None` outside of lists.
    pub(super) fn around_item(&self) -> Option<(String, String)> {
        let (key, _) = self.item.as_ref()?;
        let list = self.path.iter().position(|part| NAMED_BY.iter().any(|(list, by)| list == part && by == key))?;
        Some((self.path[..=list].join("."), self.path[list + 1..].join(".")))
    }

    /// Whether it is of a group of tasks.
    pub fn is_of_group(&self) -> bool {
        self.path.first().is_some_and(|first| first == GROUPS)
    }

    /// What it measures.
    pub fn kind(&self) -> WatchKind {
        let (first, last) = (self.path.first().map_or("", String::as_str), self.path.last().map_or("", String::as_str));
        let is_stall = self.path.iter().any(|part| part == "psi");
        match () {
            () if is_stall || last == "stalled" => WatchKind::Percent,
            () if first == GROUPS && last != "memory_bytes" => WatchKind::BytesPerSecond,
            () if self.is_traffic() && last.ends_with("_bytes") => WatchKind::BytesPerSecond,
            () if self.is_traffic() => WatchKind::Share,
            () if first == "active" => super::active::kind(&self.path),
            () if last.ends_with("_bytes") && first == "vm" => WatchKind::BytesPerSecond,
            () if last.ends_with("_bytes") => WatchKind::Bytes,
            () if last.ends_with("seconds") => WatchKind::Seconds,
            () if last == "online" || first == "alerts" => WatchKind::Count,
            () if first == "cpu" || first == "own" => WatchKind::Share,
            () => WatchKind::PerSecond,
        }
    }
}

impl WatchSample {
    /// Every number in the order of the fields. What is absent as a whole (a control group, say) has none.
    pub fn figures(&self) -> Vec<WatchFigure> {
        let mut figures = Vec::new();
        // Text and numbers only, so that it always is JSON.
        let value = serde_json::to_value(self).unwrap_or_default();
        collect(&value, &mut Vec::new(), None, &mut figures);
        figures.extend(self.traffic.iter().flat_map(super::traffic::figures));
        figures
    }
}

fn collect(
    value: &Value,
    path: &mut Vec<String>,
    item: Option<&(&'static str, String)>,
    figures: &mut Vec<WatchFigure>,
) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let names_item = item.is_some_and(|(key, _)| key == name);
                // A whole that is absent looks like a number that is absent; wholes are never below a list or `vm`.
                let is_whole = path.is_empty() && field.is_null() && name != "seconds";
                // The rates of traffic are made of its bytes: `super::traffic`.
                let is_traffic = path.is_empty() && name == super::traffic::FIRST;
                if field.is_string() || names_item || is_whole || is_traffic || is_absent_stall(path, field) {
                    continue;
                }
                path.push(name.clone());
                collect(field, path, item, figures);
                path.pop();
            }
        }
        Value::Array(items) => {
            let list = path.last().cloned().unwrap_or_default();
            let Some((_, key)) = NAMED_BY.iter().find(|(name, _)| *name == list) else { return };
            for value in items {
                let name = value.get(key).map(|name| name.as_str().map_or_else(|| name.to_string(), str::to_owned));
                collect(value, path, name.map(|name| (*key, name)).as_ref(), figures);
            }
        }
        _ => {
            let number = value.as_f64().or_else(|| value.as_bool().map(f64::from));
            figures.push(WatchFigure { path: path.clone(), item: item.cloned(), value: number });
        }
    }
}

/// Whether a field is a resource or a kind of stall that the kernel does not count.
fn is_absent_stall(path: &[String], field: &Value) -> bool {
    let below = path.iter().position(|part| part == "psi").map(|at| path.len() - at);
    field.is_null() && below.is_some_and(|below| below <= 2)
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use super::*;

    #[test]
    fn numbers_have_the_names_of_the_json() {
        let stall = WatchStall { now: None, avg10: 1.5, ..WatchStall::default() };
        let sample = WatchSample {
            psi: WatchPressure { memory: Some(WatchStalls { some: stall, full: None }), ..WatchPressure::default() },
            nodes: vec![WatchNode { node: 3, free_bytes: Some(4096), ..WatchNode::default() }],
            zswap: Some(WatchPool { device: "zswap".into(), stored_bytes: 3, pool_bytes: 1 }),
            ..WatchSample::default()
        };
        let figures = sample.figures();
        let of = |name: &str| figures.iter().find(|figure| figure.name() == name);
        assert_eq!(of("psi.memory.some.avg10").unwrap().value, Some(1.5));
        assert_eq!(of("psi.memory.some.now").unwrap().value, None);
        let free = of("nodes.3.free_bytes").unwrap();
        assert_eq!(
            (free.value, free.kind(), &free.item),
            (Some(4096.0), WatchKind::Bytes, &Some(("node", "3".into())))
        );
        assert_eq!(of("zswap.pool_bytes").unwrap().value, Some(1.0));
        assert_eq!(of("vm.swap_in_bytes").unwrap().kind(), WatchKind::BytesPerSecond);
        assert_eq!(of("seconds").unwrap().kind(), WatchKind::Seconds);
        for absent in ["psi.memory.full", "psi.cpu", "group", "cpu", "memory", "nodes.3.node", "time"] {
            assert!(of(absent).is_none(), "{absent}");
        }
    }
}
