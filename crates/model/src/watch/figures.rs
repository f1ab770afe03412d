//! The numbers of a sample under the names that its JSON gives them: `psi.memory.some.avg10`, `nodes.0.free_bytes`.

use super::{WatchPool, WatchPressure, WatchSample, WatchStalls};

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
    pub path: Vec<&'static str>,
    /// The field that names the item of a list, and its value: `node`, `0`; `None` outside of lists.
    pub item: Option<(&'static str, String)>,
    /// Fields before that item.
    pub(super) before_item: usize,
    /// What it measures.
    pub kind: WatchKind,
    /// The number; `None` where the system does not report it. What holds or not is 1 or 0.
    pub value: Option<f64>,
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

    /// The names before and behind the item of its list; `None` outside of lists.
    fn around_item(&self) -> Option<(String, String)> {
        let (before, behind) = self.item.as_ref().map(|_| self.path.split_at(self.before_item))?;
        Some((before.join("."), behind.join(".")))
    }

    /// Whether it is of a group of tasks. They come and go, and each kind has its own numbers.
    pub fn is_of_group(&self) -> bool {
        self.path.first() == Some(&"groups")
    }
}

/// A field that is a number.
pub(super) trait Number {
    /// The number, where there is one.
    fn number(&self) -> Option<f64>;
}

macro_rules! number {
    ($($type:ty),+) => { $(impl Number for $type {
        fn number(&self) -> Option<f64> {
            Some(f64::from(*self))
        }
    })+ };
}
number!(f64, u32, bool);

impl Number for u64 {
    fn number(&self) -> Option<f64> {
        Some(*self as f64)
    }
}

impl<T: Number> Number for Option<T> {
    fn number(&self) -> Option<f64> {
        self.as_ref()?.number()
    }
}

/// Figures, and the fields that lead to the next ones.
#[derive(Default)]
pub(super) struct Figures {
    all: Vec<WatchFigure>,
    path: Vec<&'static str>,
    item: Option<(&'static str, String)>,
    before_item: usize,
}

/// Adds some fields of a part of a sample, each with what it measures.
macro_rules! put {
    ($figures:expr, $of:expr; $($field:ident: $kind:ident),+) => {
        {
            $($figures.put(stringify!($field), $crate::watch::WatchKind::$kind, $of.$field.number());)+
        }
    };
}
pub(super) use put;

impl Figures {
    /// Adds a field.
    pub(super) fn put(&mut self, field: &'static str, kind: WatchKind, value: Option<f64>) {
        let path = [self.path.as_slice(), &[field]].concat();
        self.all.push(WatchFigure { path, item: self.item.clone(), before_item: self.before_item, kind, value });
    }

    /// Adds what is below a field.
    pub(super) fn below(&mut self, field: &'static str, add: impl FnOnce(&mut Self)) {
        self.path.push(field);
        add(self);
        self.path.pop();
    }

    /// Adds what is below an item of a list, by the field that names the item.
    pub(super) fn item(&mut self, list: &'static str, by: (&'static str, &str), add: impl FnOnce(&mut Self)) {
        self.below(list, |figures| {
            figures.item = Some((by.0, by.1.to_owned()));
            figures.before_item = figures.path.len();
            add(figures);
            figures.item = None;
        });
    }

    fn stalls(&mut self, name: &'static str, stalls: Option<WatchStalls>) {
        let Some(stalls) = stalls else { return };
        self.below(name, |figures| {
            for (name, stall) in [("full", stalls.full), ("some", Some(stalls.some))] {
                let Some(stall) = stall else { continue };
                figures.below(name, |figures| {
                    put!(figures, stall; avg10: Percent, avg300: Percent, avg60: Percent, now: Percent);
                });
            }
        });
    }

    fn pressure(&mut self, psi: &WatchPressure) {
        self.below("psi", |figures| {
            figures.stalls("cpu", psi.cpu);
            figures.stalls("io", psi.io);
            figures.stalls("memory", psi.memory);
        });
    }

    fn pool(&mut self, pool: &WatchPool) {
        put!(self, pool; pool_bytes: Bytes, stored_bytes: Bytes);
    }
}

impl WatchSample {
    /// Every number, ordered by field name. An absent part, such as a control group, has no numbers.
    pub fn figures(&self) -> Vec<WatchFigure> {
        let mut figures = Figures::default();
        if let Some(active) = &self.active {
            figures.below("active", |figures| active.put(figures));
        }
        if let Some(cpu) = &self.cpu {
            figures.below("cpu", |figures| put!(figures, cpu; busy: Share, online: Count, steal: Share));
        }
        if let Some(group) = &self.group {
            figures.below("group", |figures| figures.pressure(&group.psi));
        }
        for group in &self.groups {
            figures.item("groups", ("path", &group.path), |figures| {
                put!(figures, group; local_bytes: BytesPerSecond, memory_bytes: Bytes, stalled: Percent);
                put!(figures, group; traffic_bytes: BytesPerSecond);
            });
        }
        if let Some(memory) = &self.memory {
            figures.below("memory", |figures| {
                put!(figures, memory; available_bytes: Bytes, dirty_bytes: Bytes, free_bytes: Bytes);
                put!(figures, memory; swap_free_bytes: Bytes, swap_total_bytes: Bytes, total_bytes: Bytes);
            });
        }
        for node in &self.nodes {
            figures.item("nodes", ("node", &node.node.to_string()), |figures| {
                put!(figures, node; anon_bytes: Bytes, demoted: PerSecond, file_bytes: Bytes, foreign: PerSecond);
                put!(figures, node; free_bytes: Bytes, hits: PerSecond, local: PerSecond, misses: PerSecond);
                put!(figures, node; other: PerSecond, promoted: PerSecond, refaults: PerSecond, total_bytes: Bytes);
            });
        }
        figures.below("own", |figures| put!(figures, self.own; cpu_share: Share, read_seconds: Seconds));
        figures.pressure(&self.psi);
        put!(figures, self; seconds: Seconds);
        for swap in &self.swaps {
            figures.item("swaps", ("path", &swap.path), |figures| {
                put!(figures, swap; total_bytes: Bytes, used_bytes: Bytes);
            });
        }
        figures.below("vm", |figures| {
            let mut rates = self.vm.all();
            rates.sort_unstable_by_key(|(field, ..)| *field);
            rates.into_iter().for_each(|(field, kind, rate)| figures.put(field, kind, rate));
        });
        for pool in &self.zram {
            figures.item("zram", ("device", &pool.device), |figures| figures.pool(pool));
        }
        if let Some(pool) = &self.zswap {
            figures.below("zswap", |figures| figures.pool(pool));
        }
        figures.all.extend(self.traffic.iter().flat_map(super::traffic::figures));
        figures.all
    }
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
        assert_eq!((free.value, free.kind, &free.item), (Some(4096.0), WatchKind::Bytes, &Some(("node", "3".into()))));
        assert_eq!(of("zswap.pool_bytes").unwrap().value, Some(1.0));
        assert_eq!(of("vm.swap_in_bytes").unwrap().kind, WatchKind::BytesPerSecond);
        assert_eq!(of("seconds").unwrap().kind, WatchKind::Seconds);
        for absent in ["psi.memory.full", "psi.cpu", "group", "cpu", "memory", "nodes.3.node", "time"] {
            assert!(of(absent).is_none(), "{absent}");
        }
    }
}
