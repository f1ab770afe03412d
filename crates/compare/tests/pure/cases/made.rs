//! Documents with a few numbers.

use tiermark_compare::{Document, Reference, Rules, compare};
use tiermark_model::*;

/// A number of a simulated document.
#[derive(Clone)]
pub(crate) struct Made {
    pub(crate) labels: Labels,
    pub(crate) metric: Metric,
    pub(crate) value: f64,
    pub(crate) grade: Grade,
    /// Visits; every second one reaches the value.
    pub(crate) visits: usize,
    pub(crate) state: Option<StateKind>,
    pub(crate) is_middle: bool,
    /// The clock, GHz, of a number per cycle.
    pub(crate) ghz: Option<f64>,
    /// Kernels that its run compared: their ratios to its own, and half of the intervals of these.
    pub(crate) rivals: Vec<(&'static str, f64, f64)>,
}

impl Made {
    pub(crate) fn latency(value: f64) -> Self {
        let labels = Labels::new().with_tier(Tier::Cache(2)).with_size(256 * KIB);
        Self {
            labels,
            metric: Metric::Latency,
            value,
            grade: Grade::Trusted,
            visits: 60,
            state: None,
            is_middle: false,
            ghz: None,
            rivals: Vec::new(),
        }
    }

    pub(crate) fn rate(value: f64) -> Self {
        let labels = Labels::new().with_tier(Tier::Dram).with_size(GIB).with_op("read");
        Self { labels, metric: Metric::Bandwidth, value, ..Self::latency(value) }
    }

    /// A latency of L2 in cycles of a core at this clock.
    pub(crate) fn cycles(cycles: f64, ghz: f64) -> Self {
        Self { ghz: Some(ghz), ..Self::latency(cycles / ghz) }
    }

    /// A rate of L1 in bytes a cycle of a core at this clock.
    pub(crate) fn bytes_per_cycle(bytes: f64, ghz: f64) -> Self {
        let labels = Labels::new().with_tier(Tier::Cache(1)).with_size(16 * KIB).with_op("read");
        Self { labels, ghz: Some(ghz), ..Self::rate(bytes * ghz * 1e9) }
    }

    pub(crate) fn graded(self, grade: Grade) -> Self {
        Self { grade, ..self }
    }

    pub(crate) fn label(mut self, name: &str, text: &str) -> Self {
        self.labels = self.labels.with_named(name, Label::Text(text.to_owned()));
        self
    }

    /// Measured with a kernel, and compared with others.
    pub(crate) fn chosen(self, kernel: &str, rivals: &[(&'static str, f64, f64)]) -> Self {
        Self { rivals: rivals.to_vec(), ..self.label("kernel", kernel) }
    }

    pub(crate) fn size(mut self, bytes: u64) -> Self {
        self.labels = self.labels.with_size(bytes);
        self
    }

    fn kind(&self) -> ValueKind {
        if self.is_middle { ValueKind::Typical } else { ValueKind::Capability }
    }

    fn observed(&self, step: &str) -> Observation {
        let worse = if self.metric == Metric::Latency { 1.5 } else { 0.6 };
        let visit = |at: usize| {
            let value = self.value * if at.is_multiple_of(2) { 1.0 + 1e-4 * at as f64 } else { worse };
            let window = Window { clean: true, values: vec![Some(value)], ..Window::default() };
            Visit { at: at as f64, windows: vec![window], ..Visit::default() }
        };
        let visits = Visits { list: (0..self.visits).map(visit).collect(), ..Visits::default() };
        let edge = EdgeSeen { share: 0.5, windows: 60, visits: 60, reached: 9, within: None };
        let rival = |(kernel, ratio, half): &(&str, f64, f64)| {
            let of = |times: f64| self.value * ratio * times;
            let interval = Some(Interval { low: of(1.0 - half), high: of(1.0 + half), level: 0.95 });
            Rival { kernel: KernelId::from(*kernel), ratio: Some(*ratio), value: Some(of(1.0)), interval }
        };
        Observation {
            rivals: self.rivals.iter().map(rival).collect(),
            value: Some(self.value),
            per_cycle: self.per_cycle(),
            edge: (!self.is_middle).then_some(edge),
            kind: self.kind(),
            state: self.state,
            visits,
            ..Observation::new(step, self.labels.clone(), self.metric)
        }
    }

    fn per_cycle(&self) -> Option<PerCycle> {
        self.ghz.map(|ghz| match self.metric {
            Metric::Latency => PerCycle { value: self.value * ghz, unit: Unit::Cycles },
            Metric::Bandwidth => PerCycle { value: self.value / ghz / 1e9, unit: Unit::BytesPerCycle },
        })
    }

    fn found(&self, step: &str) -> Finding {
        let metric = if self.metric == Metric::Latency { Quantity::Latency } else { Quantity::Bandwidth };
        let bare = Finding::new(metric, self.labels.clone(), Some(self.value), self.metric.unit());
        let interval = Interval { low: self.value * 0.999, high: self.value * 1.001, level: 0.95 };
        let verdict = Verdict { grade: self.grade, reasons: Vec::new() };
        let (interval, per_cycle, kind) = (Some(interval), self.per_cycle(), Some(self.kind()));
        Finding { interval, per_cycle, kind, verdict, evidence: vec![step.to_owned()], ..bare }
    }
}

pub(crate) fn run(all: &[Made]) -> Run {
    let id = |at: usize| format!("step {at}");
    let experiment = Experiment {
        method: 2,
        observations: all.iter().enumerate().map(|(at, made)| made.observed(&id(at))).collect(),
        findings: all.iter().enumerate().map(|(at, made)| made.found(&id(at))).collect(),
        ..testing::experiment(testing::request("latency"))
    };
    Run {
        id: "a".into(),
        title: "survey".into(),
        seconds: 1.0,
        seed: 1,
        experiments: vec![experiment],
        ..Run::default()
    }
}

pub(crate) fn against(first: &Run, other: &Run, rules: Rules) -> Against {
    let (first, other) = (Document { name: "a", run: first }, Document { name: "b", run: other });
    compare(&Reference::one(first), &[other], rules).others.remove(0)
}

pub(crate) fn verdict(first: Made, other: Made) -> ChangeVerdict {
    against(&run(&[first]), &run(&[other]), Rules::default()).figures.remove(0).verdict
}
