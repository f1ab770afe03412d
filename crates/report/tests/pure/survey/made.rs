//! A survey made up figure by figure.

use tiermark_model::*;
use tiermark_model::{Purpose, Tier};

/// One figure of the ladder.
pub(crate) struct MadeFigure {
    pub(crate) tier: &'static str,
    /// `None` for latency.
    pub(crate) op: Option<&'static str>,
    pub(crate) span: Option<&'static str>,
    pub(crate) value: f64,
    /// Half of the interval over the value.
    pub(crate) half_width: f64,
    pub(crate) verdict: Verdict,
    pub(crate) typical: Option<Typical>,
    pub(crate) best: Option<f64>,
    pub(crate) edge: Option<EdgeSeen>,
    pub(crate) in_states: Vec<InState>,
}

/// What a survey is made of.
pub(crate) struct Made {
    pub(crate) figures: Vec<MadeFigure>,
    pub(crate) states: Vec<State>,
    pub(crate) drift: Vec<Drift>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) complete: bool,
    pub(crate) peak_share: Option<f64>,
    /// Whether the size of L3 is not known.
    pub(crate) unresolved: bool,
    /// 10th and 90th percentile of the core clock, GHz.
    pub(crate) clock: Option<[f64; 2]>,
}

/// Name, declared size, ns, and GB/s of read, write and copy by one core and by all.
const TIERS: [(&str, u64, f64, [[f64; 3]; 2]); 4] = [
    ("L1", 32 * KIB, 1.08, [[217.0, 118.0, 236.0], [465.0, 236.0, 473.0]]),
    ("L2", MIB, 3.80, [[117.4, 117.0, 116.2], [235.0, 235.0, 231.0]]),
    ("L3", 32 * MIB, 14.4, [[102.0, 101.0, 100.0], [195.0, 196.0, 194.0]]),
    ("DRAM", GIB, 158.0, [[31.9, 28.3, 45.7], [62.3, 50.7, 86.6]]),
];

/// Stores of zeros, beside those of data.
const ZEROS: &str = "write of zeros";

/// The same survey with stores of zeros to memory.
pub(crate) fn with_zeros() -> Made {
    let mut made = all_fine();
    for span in ["one", "all"] {
        let write = made.figure("DRAM", "write", span);
        let zeros = MadeFigure {
            op: Some(ZEROS),
            value: 1.5 * write.value,
            verdict: Verdict::trusted(),
            typical: write.typical,
            best: None,
            edge: write.edge,
            in_states: vec![],
            ..*write
        };
        made.figures.push(zeros);
    }
    made
}

/// A survey in which every figure is trusted.
pub(crate) fn all_fine() -> Made {
    let mut figures = Vec::new();
    let figure = |tier, op, span, value: f64| MadeFigure {
        tier,
        op,
        span,
        value,
        half_width: 0.004,
        verdict: Verdict::trusted(),
        typical: Some(Typical { median: value, p10: value * 0.98, p90: value * 1.05 }),
        best: None,
        edge: Some(EdgeSeen { share: 0.2, windows: 900, visits: 120, reached: 9, within: None }),
        in_states: vec![],
    };
    for (tier, _, ns, spans) in TIERS {
        figures.push(figure(tier, None, None, ns));
        for (span, rates) in ["one", "all"].into_iter().zip(spans) {
            for (op, rate) in ["read", "write", "copy"].into_iter().zip(rates) {
                figures.push(figure(tier, Some(op), Some(span), rate * 1e9));
            }
        }
    }
    Made {
        figures,
        states: vec![],
        drift: vec![],
        warnings: vec![],
        complete: true,
        peak_share: None,
        unresolved: false,
        clock: None,
    }
}

/// Takes a figure away, for a reason.
pub(crate) fn withhold(figure: &mut MadeFigure, reason: Reason) {
    figure.verdict.invalid(reason);
}

impl MadeFigure {
    fn step(&self) -> String {
        format!("{} {:?} {:?}", self.tier, self.op, self.span)
    }

    fn labels(&self) -> Labels {
        let labels = Labels::new().with_tier_name(self.tier).with_purpose(Purpose::Ladder);
        match (self.op, self.span) {
            (Some(op), Some(span)) => {
                let threads = if span == "one" { 1 } else { 2 };
                let kernel = format!("{op}/avx512{}", if self.tier == "DRAM" { "-nta" } else { "" });
                let labels = labels.with_op(op).with_span(span.parse().unwrap()).with_threads(threads);
                let labels = if op == ZEROS { labels.with_data("zeros") } else { labels };
                labels.with_kernel(kernel)
            }
            _ => labels.with_layout("random").with_page("thp"),
        }
    }

    fn unit(&self) -> Unit {
        if self.op.is_none() { Unit::Ns } else { Unit::BytesPerSecond }
    }

    fn finding(&self) -> Finding {
        let has = self.verdict.grade != Grade::Invalid;
        let metric = if self.op.is_none() { "latency" } else { "bandwidth" };
        let mut found = finding(metric, self.labels(), self.unit(), has.then_some(self.value), self.step());
        (found.interval, found.verdict) = (self.interval().filter(|_| has), self.verdict.clone());
        (found.kind, found.typical, found.best) = (Some(self.kind()), self.typical, self.best);
        found
    }

    fn kind(&self) -> ValueKind {
        if matches!(self.tier, "L1" | "L2") { ValueKind::Capability } else { ValueKind::Typical }
    }

    fn interval(&self) -> Option<Interval> {
        let (low, high) = (self.value * (1.0 - self.half_width), self.value * (1.0 + self.half_width));
        Some(Interval { low, high, level: 0.95 })
    }

    fn observation(&self) -> Observation {
        let metric = if self.op.is_none() { Metric::Latency } else { Metric::Bandwidth };
        let mut seen = observation(&self.step(), self.labels(), metric, self.value);
        (seen.interval, seen.verdict, seen.edge) = (self.interval(), self.verdict.clone(), self.edge);
        (seen.kind, seen.typical, seen.best) = (self.kind(), self.typical, self.best);
        seen.in_states.clone_from(&self.in_states);
        if let Some(op) = self.op {
            let rival = |kernel: &str, ratio: Option<f64>| Rival {
                kernel: format!("{op}/{kernel}").as_str().into(),
                ratio,
                value: ratio.map(|ratio| self.value * ratio / 1.083),
                interval: None,
            };
            seen.rivals = vec![rival("avx512", Some(1.0)), rival("avx512-nta", Some(1.083)), rival("sse2", None)];
        }
        seen
    }
}

fn finding(metric: &str, labels: Labels, unit: Unit, value: Option<f64>, step: String) -> Finding {
    Finding { samples: 120, evidence: vec![step], ..Finding::new(metric.to_owned().into(), labels, value, unit) }
}

fn observation(step: &str, labels: Labels, metric: Metric, value: f64) -> Observation {
    Observation { value: Some(value), allocations: 3, seconds: 0.1, ..Observation::new(step, labels, metric) }
}

impl Made {
    /// A figure by tier, operation and span.
    pub(crate) fn figure(&mut self, tier: &str, op: &str, span: &str) -> &mut MadeFigure {
        let fits = |f: &&mut MadeFigure| f.tier == tier && f.op == Some(op) && f.span == Some(span);
        self.figures.iter_mut().find(fits).unwrap()
    }

    /// Says that the machine has done better.
    pub(crate) fn record(&mut self, tier: &str, op: &str, span: &str, record: f64) {
        let reason = Reason::BelowRecord { record, is_time: false, date: "2026-11-22".into(), clocks: None };
        self.figure(tier, op, span).verdict.bound(reason);
    }

    /// Says that a figure was not tried.
    pub(crate) fn refuse(&mut self, tier: &str, op: &str, span: &str) {
        let refusal = Refusal::new("1 GiB of memory", "node 0 has 300 MiB free", "stop programs, or --max-mem 64M");
        withhold(self.figure(tier, op, span), Reason::Refused { refusal });
    }

    /// A figure at the clock.
    fn per_cycle(&self, figure: &MadeFigure) -> Option<PerCycle> {
        let [_, ghz] = self.clock.filter(|_| matches!(figure.tier, "L1" | "L2"))?;
        Some(match figure.op {
            None => PerCycle { value: figure.value * ghz, unit: Unit::Cycles },
            Some(_) => PerCycle { value: figure.value / ghz / 1e9, unit: Unit::BytesPerCycle },
        })
    }

    fn findings(&self) -> Vec<Finding> {
        let found = |figure: &MadeFigure| Finding { per_cycle: self.per_cycle(figure), ..figure.finding() };
        let mut findings: Vec<Finding> = self.figures.iter().map(found).collect();
        for (tier, size, ..) in TIERS.into_iter().filter(|(tier, ..)| *tier != "DRAM") {
            let labels = Labels::new().with_tier_name(tier);
            let mut found = finding("tier.size", labels, Unit::Bytes, Some(size as f64 * 1.04), String::new());
            if tier == "L3" && self.unresolved {
                found.value = None;
                let (low, high) = (Bytes(MIB), Some(Bytes(64 * MIB)));
                found.verdict.invalid(Reason::NotResolved { low, high, why: WhyNot::NoPlateau });
            }
            findings.push(found);
        }
        for (statistic, ns) in [("p50", 160.0), ("p99", 290.5), ("max", 51_300.0)] {
            let labels = Labels::new().with_tier(Tier::Dram).with_statistic(statistic);
            let mut found = finding("latency.tail", labels, Unit::Ns, Some(ns), String::new());
            found.verdict.bound(Reason::NotSharp { share: 0.02 });
            findings.push(found);
        }
        if let Some([low, high]) = self.clock.map(|ghz| ghz.map(|ghz| ghz * 1e9)) {
            let interval = Some(Interval { low, high, level: 0.8 });
            let clock = Finding::new(Quantity::CoreClock, Labels::new(), Some(high), Unit::Hz);
            findings.push(Finding { interval, samples: 900, ..clock });
        }
        if let Some(share) = self.peak_share {
            let labels = Labels::new().with_tier(Tier::Dram).with_op("read").with_span(Span::All);
            let mut found = finding("peak.share", labels, Unit::Ratio, Some(share), String::new());
            found.notes = vec![messages::memory::theoretical_peak("2 channels of DDR5-4800")];
            findings.push(found);
        }
        findings
    }

    fn curve() -> Vec<Observation> {
        let mut points = Vec::new();
        for step in 0..17 {
            let size = 4096u64 << step;
            let (_, _, ns, [rates, _]) = TIERS.iter().find(|(_, tier, ..)| size <= *tier).unwrap();
            let point = || Labels::new().with_purpose(Purpose::Curve).with_size(size);
            let chase = point().with_layout("random").with_chains(1).with_page("thp");
            points.push(observation(&format!("c{step}"), chase, Metric::Latency, *ns));
            for (op, rate) in ["read", "write", "copy"].into_iter().zip(rates) {
                let labels = point().with_op(op).with_threads(1).with_page("thp");
                points.push(observation(&format!("{op}{step}"), labels, Metric::Bandwidth, rate * 1e9));
            }
        }
        points
    }

    /// The run document.
    pub(crate) fn run(&self) -> Run {
        let seen = |figure: &MadeFigure| Observation { per_cycle: self.per_cycle(figure), ..figure.observation() };
        let observations = self.figures.iter().map(seen).chain(Self::curve()).collect();
        let request = Request { seed: 42, ..testing::request("survey") };
        Run {
            id: "20260102T030405Z-0a1b2c".into(),
            title: "survey".into(),
            tool: Tool { version: "0.1.0".into(), ..Tool::default() },
            command: vec!["tiermark".into(), "survey".into()],
            started: "2026-01-02T03:04:05Z".into(),
            seconds: 55.4,
            complete: self.complete,
            stopped: !self.complete,
            seed: 42,
            labels: RunLabels::new(),
            machine: guest(),
            bench: Bench::default(),
            experiments: vec![Experiment {
                throughputs: Vec::new(),
                request,
                method: 1,
                plan: Plan {
                    steps: self.figures.iter().map(step_of).collect(),
                    rules: vec![tiermark_model::messages::rules::memory_size(
                        "DRAM",
                        "132 MiB = 4 x 33 MiB of caches in reach",
                    )],
                    max_seconds: 60.0,
                    ..Plan::default()
                },
                observations,
                interruptions: vec![],
                time: None,
                states: self.states.clone(),
                drift: self.drift.clone(),
                findings: self.findings(),
            }],
            warnings: self.warnings.clone(),
            ..Run::default()
        }
    }
}

/// The step of a figure, which wants ±1 %.
fn step_of(figure: &MadeFigure) -> Step {
    let stop = StopRule { precision: 0.01, allocations: 3, min_visits: 3, max_visits: 900, shot_seconds: 0.002 };
    let metric = if figure.op.is_none() { Metric::Latency } else { Metric::Bandwidth };
    Step { labels: figure.labels(), stop, ..testing::step(&figure.step(), metric) }
}

/// A guest of two cpus.
fn guest() -> Machine {
    let all: IdSet = "0-1".parse().unwrap();
    let cpus = (0..2).map(|id| Cpu { id, core: id, node: Some(0), llc: Some(0), ..Cpu::default() }).collect();
    let cache = |level, kib: u64| testing::cache(level, kib * KIB, all.iter());
    Machine {
        cpu_model: CpuModel { name: Some("AMD EPYC".into()), ..CpuModel::default() },
        cpus,
        allowed_cpus: all.clone(),
        caches: vec![cache(1, 32), cache(2, 1024), cache(3, 32768)],
        page_bytes: 4096,
        system: System { hypervisor: Some("KVM".into()), memory_bytes: Some(25_276_514_304), ..System::default() },
        ..Machine::default()
    }
}
