//! The numbers of a run with their coordinates: what has the same coordinates in two runs is compared.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use tiermark_model::{
    ComparedNumber, Condition, ConditionDifference, Experiment, FigureName, Finding, Grade, IdSet, Interval, Label,
    LabelSet, Labels, Machine, Observation, PerCycle, ReasonCode, Rival, Run, Span, Step, Unit, ValueKind, Verdict,
};

use crate::basis::{Basis, pings};
use crate::figures::counted;
use crate::roles::{self, Used};

/// Labels that differ between machines: where the memory lies is in the role of the tier.
const NOT_OF_ROLES: LabelSet = LabelSet::NONE.node().nodes().tier();

/// A number of a run.
pub(crate) struct Number<'a> {
    /// Its coordinates.
    pub(crate) key: String,
    pub(crate) experiment: &'a Experiment,
    pub(crate) finding: &'a Finding,
    /// Its name in expectations.
    pub(crate) name: Option<FigureName>,
    /// The nodes of its cpus, where the run has the same from the cpus of several nodes.
    home: Option<IdSet>,
    /// The step whose value it is; `None` of what was derived from several.
    pub(crate) seen: Option<&'a Observation>,
    /// The same per cycle of the core, of what the core clocks; `None` between machines, of which the clock is a part.
    per_cycle: Option<PerCycle>,
    /// Cores and sockets that it used; only between machines.
    used: Option<Used>,
    /// Whether its caches belong to one core each; only between machines.
    is_private: bool,
    /// Whether its machine is a guest.
    is_guest: bool,
}

impl<'a> Number<'a> {
    /// The number as a comparison holds it, by a kernel that its run compared.
    pub(crate) fn described(&self, kernel: Option<&str>) -> ComparedNumber {
        let Finding { interval, labels, unit, verdict, .. } = self.finding;
        let value = self.value_of(kernel);
        let shared = |field: fn(Used) -> usize| {
            let used = self.used.filter(|_| *unit == Unit::BytesPerSecond)?;
            Some(value? / field(used).max(1) as f64)
        };
        ComparedNumber {
            value,
            runs: None,
            grade: verdict.grade,
            interval: self.rival(kernel).map_or(*interval, |rival| rival.interval),
            state: self.seen.and_then(|seen| seen.state),
            size: labels.size(),
            kernel: labels.kernel().map(str::to_owned),
            per_core: shared(|used| used.cores),
            per_socket: shared(|used| used.sockets),
        }
    }

    /// The kernel that it is of, where its operation says what others do as well.
    pub(crate) fn kernel(&self) -> Option<&'a str> {
        let labels = &self.finding.labels;
        labels.kernel().filter(|_| labels.op().is_some())
    }

    /// All kernels that its run compared, its own first.
    pub(crate) fn kernels(&self) -> impl Iterator<Item = &'a str> {
        let rivals = self.seen.map_or(&[][..], |seen| seen.rivals.as_slice());
        self.kernel().into_iter().chain(rivals.iter().map(|rival| &*rival.kernel.0))
    }

    /// What is known of another kernel than its own.
    pub(crate) fn rival(&self, kernel: Option<&str>) -> Option<&'a Rival> {
        let kernel = kernel.filter(|kernel| self.kernel() != Some(*kernel))?;
        self.seen?.rivals.iter().find(|rival| &*rival.kernel.0 == kernel)
    }

    /// Its value by a kernel; its own value where none is named.
    pub(crate) fn value_of(&self, kernel: Option<&str>) -> Option<f64> {
        match kernel.filter(|kernel| self.kernel() != Some(*kernel)) {
            None => self.finding.value,
            other => self.rival(other)?.value,
        }
    }

    /// Its value as it is judged, by a kernel if one is named, with the interval by its run alone.
    pub(crate) fn judged(&self, kernel: Option<&str>) -> Option<(f64, Option<Interval>)> {
        if let Some(rival) = self.rival(kernel) {
            return Some((rival.value?, rival.interval));
        }
        counted(self.finding).or_else(|| {
            let of_run = self.seen.filter(|seen| seen.value == self.finding.value).and_then(Observation::within_run);
            Some((self.value_of(kernel)?, of_run.or(self.finding.interval)))
        })
    }

    /// Its labels, with the nodes of its cpus where only they tell it from others.
    pub(crate) fn labels(&self) -> Labels {
        let labels = self.finding.labels.clone();
        match &self.home {
            Some(home) if labels.from().is_none() => labels.with_from(format!("node:{home}")),
            _ => labels,
        }
    }

    /// Its unit in units of what it is per cycle: the factor that takes value and interval to cycles.
    pub(crate) fn in_cycles(&self) -> Option<f64> {
        let factor = self.per_cycle?.value / self.finding.value?;
        (factor.is_finite() && factor > 0.0).then_some(factor)
    }

    /// It per cycle of the core, of what the core clocks.
    pub(crate) fn per_cycle(&self) -> Option<PerCycle> {
        self.per_cycle.filter(|of| of.value.is_finite() && of.value > 0.0)
    }

    /// The cores whose private caches it is the rate of; `None` of any other number.
    pub(crate) fn private_cores(&self) -> Option<usize> {
        self.used
            .filter(|used| self.is_private && self.finding.unit == Unit::BytesPerSecond && used.cores > 0)
            .map(|used| used.cores)
    }

    /// Its coordinates without the values of some labels.
    pub(crate) fn key_without(&self, labels: LabelSet, by_role: bool) -> String {
        key(self.experiment, self.finding, by_role, labels)
    }

    /// Its coordinates without the conditions that do not change what it is of.
    pub(crate) fn role_key(&self, by_role: bool) -> String {
        let labels = &self.finding.labels;
        let beside = Condition::OF_LABELS.into_iter().filter(|one| one.is_beside(labels)).map(Condition::label);
        self.key_without(beside.fold(LabelSet::NONE, LabelSet::and), by_role)
    }

    /// The conditions in which it differs from another number of its role.
    pub(crate) fn differs(&self, other: &Self) -> Vec<ConditionDifference> {
        // Between machines the threads of all cores are no coordinate.
        if self.key == other.key {
            return Vec::new();
        }
        ConditionDifference::of_labels(&self.finding.labels, &other.finding.labels)
    }

    /// Its coordinates without the probe.
    pub(crate) fn of_any_probe(&self) -> &str {
        self.key.split_once(' ').map_or(self.key.as_str(), |(_, rest)| rest)
    }

    /// Whether its labels name a piece of the machine that may be another one in each run: a region of memory, or a cpu
    /// of a guest, which a hypervisor moves.
    pub(crate) fn is_of_a_place(&self) -> bool {
        let labels = &self.finding.labels;
        let has_cpu = labels.from_cpu().is_some() || labels.to_cpu().is_some();
        labels.region().is_some() || (self.is_guest && has_cpu)
    }

    /// Whether it is a bound that limits the number on one side only. A figure below the record of its own machine does
    /// not count as one: its edge is sharp, and that the machine was better before is what a comparison looks for.
    pub(crate) fn is_open(&self) -> bool {
        let Verdict { grade, reasons } = &self.finding.verdict;
        let is_only_below = !reasons.is_empty() && reasons.iter().all(|r| r.code() == ReasonCode::BelowRecord);
        *grade == Grade::Bound && !is_only_below
    }

    /// The conditions under which it was measured.
    pub(crate) fn basis(&self) -> Basis<'_> {
        Basis {
            method: self.experiment.method,
            size: self.finding.labels.size(),
            tier: self.finding.labels.tier_name(),
            is_middle: self.finding.kind.map(|kind| kind == ValueKind::Typical),
            state: self.seen.and_then(|seen| seen.state),
            // Only where no state is named do they tell; a document may hold many.
            pings: self.seen.filter(|seen| seen.state.is_none()).and_then(pings),
        }
    }
}

/// The numbers of a run, in its order.
pub(crate) fn of(run: &Run, by_role: bool) -> Vec<Number<'_>> {
    let mut numbers = Vec::new();
    let homes: Vec<Option<IdSet>> = run.experiments.iter().map(|experiment| home(experiment, &run.machine)).collect();
    // A plan has many experiments; parts of one differ in nothing but the place.
    let part = |experiment: &Experiment| (experiment.request.probe.clone(), experiment.request.params.to_string());
    let mut places: HashMap<_, BTreeSet<&IdSet>> = HashMap::new();
    for (experiment, home) in run.experiments.iter().zip(&homes) {
        places.entry(part(experiment)).or_default().extend(home);
    }
    for (experiment, home) in run.experiments.iter().zip(&homes) {
        let home = home.as_ref().filter(|_| places[&part(experiment)].len() > 1);
        let seen: HashMap<&str, &Observation> =
            experiment.observations.iter().map(|seen| (seen.step.as_str(), seen)).collect();
        let steps: HashMap<&str, &Step> = if by_role {
            experiment.plan.steps.iter().map(|step| (step.id.as_str(), step)).collect()
        } else {
            HashMap::new()
        };
        numbers.extend(experiment.findings.iter().map(|finding| {
            let id = match finding.evidence.as_slice() {
                [one] => Some(one.as_str()),
                _ => None,
            };
            let seen = id.and_then(|id| seen.get(id)).copied();
            let seen = seen.filter(|seen| seen.unit == finding.unit && is_its_value(seen, finding));
            Number {
                key: key(experiment, finding, by_role, LabelSet::NONE),
                experiment,
                finding,
                name: FigureName::of(finding, &experiment.request.scope, &run.machine),
                home: home.cloned(),
                seen,
                per_cycle: finding.per_cycle.filter(|_| !by_role),
                is_private: by_role && roles::is_of_private_caches(&finding.labels, &run.machine),
                is_guest: run.machine.system.hypervisor.is_some(),
                used: id.and_then(|id| steps.get(id)).map(|step| roles::used(step, &run.machine)),
            }
        }));
    }
    numbers
}

/// The nodes of the cpus that the request of an experiment names; `None` if it names no cpus.
fn home(experiment: &Experiment, machine: &Machine) -> Option<IdSet> {
    let cpus = experiment.request.scope.cpus.as_ref()?;
    let nodes: IdSet = machine.cpus.iter().filter(|cpu| cpus.contains(cpu.id)).filter_map(|cpu| cpu.node).collect();
    (!nodes.is_empty()).then_some(nodes)
}

/// Whether a finding is the value of a step, and not one derived from it.
fn is_its_value(seen: &Observation, finding: &Finding) -> bool {
    /// More than the rounding of a document.
    const NEAR: f64 = 1e-6;
    let value = seen.value.zip(finding.value);
    value.is_some_and(|(seen, found)| (seen / found - 1.0).abs() < NEAR)
}

/// The coordinates: probe, quantity, unit, and all labels that say what was measured; of some only that they are there.
fn key(experiment: &Experiment, finding: &Finding, by_role: bool, without: LabelSet) -> String {
    let labels = &finding.labels;
    let probe = experiment.request.probe.as_str();
    let mut key = format!("{probe} {} {:?}", finding.quantity, finding.unit);
    let role = roles::role(labels).filter(|_| by_role);
    let is_of_all = role.is_some() && labels.span() == Some(Span::All);
    // How something was measured is not what it is. A hypervisor moves cpus; their number counts.
    let uncounted = (LabelSet::NONE.cpus())
        .and_if(role.is_some(), NOT_OF_ROLES)
        // The kernel is what a user named, where no operation says what it does.
        .and_if(labels.op().is_some(), LabelSet::NONE.kernel())
        // Footprints of a tier are compared by themselves: memory's depends on what happens to be free.
        .and_if(labels.tier_name().is_some(), LabelSet::NONE.size())
        // All threads of a machine are as many as it has.
        .and_if(is_of_all, LabelSet::NONE.threads());
    for (name, label) in labels.iter().filter(|(name, _)| !uncounted.has_name(name)) {
        let _ = match label {
            _ if without.has_name(name) => write!(key, " {name}"),
            Label::Text(text) => write!(key, " {name}={text}"),
            Label::Whole(number) => write!(key, " {name}={number}"),
        };
    }
    if let Some(role) = role {
        let _ = write!(key, " role={role}");
    }
    key
}
