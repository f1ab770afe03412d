//! Builders shared by the probes: cpus and pages of a scope, setups, stop rules.

use std::collections::BTreeSet;

use tiermark_model::messages::plan as says;
use tiermark_model::messages::rules;
use tiermark_model::{
    AFTER_FIGURES, Bench, Bytes, CpuId, Effort, IdSet, KIB, KernelId, Labels, Layout, Machine, MemPolicy, NodeId,
    PageKind, Plan, Purpose, Refusal, RegionSetup, Request, Role, Scope, Setup, Step, StopRule, ThreadSetup, Tier,
};

use crate::memory_kinds::quiet_cpu;

/// The refusal of an operation that no kernel does.
pub(crate) fn no_kernel(op: &str, bench: &Bench) -> Refusal {
    let known: BTreeSet<&str> = bench.kernels.iter().map(|kernel| kernel.id.op()).collect();
    says::no_kernel(op, &Vec::from_iter(known))
}

/// The cpu for steps of one thread.
///
/// # Errors
/// A [`Refusal`] of `what` where there is no cpu.
pub(crate) fn one_cpu(machine: &Machine, cpus: &IdSet, what: &str) -> Result<CpuId, Refusal> {
    quiet_cpu(machine, cpus).ok_or_else(|| says::no_cpu(what))
}

/// The cpus a request may use.
///
/// # Errors
/// A [`Refusal`] when none of them is allowed.
pub(crate) fn scope_cpus(scope: &Scope, machine: &Machine) -> Result<IdSet, Refusal> {
    let cpus = scope.cpus.clone().unwrap_or_else(|| machine.allowed_cpus.clone());
    let choosable = machine.choosable_cpus();
    let forbidden = cpus.difference(&choosable);
    if !forbidden.is_empty() || cpus.is_empty() {
        return Err(match cpus.is_empty() {
            true => says::no_cpu("the cpus in scope"),
            false => says::cpus_not_allowed(&cpus, &forbidden, &choosable),
        });
    }
    Ok(cpus)
}

/// Removes repeated steps.
pub(crate) fn once(steps: &mut Vec<Step>) {
    let mut seen = BTreeSet::new();
    steps.retain(|step| seen.insert(step.id.clone()));
}

/// The page size if the user named none: transparent huge pages, unless the system has them off.
pub(crate) fn default_page(machine: &Machine) -> PageKind {
    if machine.system.has_thp() { PageKind::Thp } else { PageKind::Base }
}

/// Bytes of a page of this kind; `None` where the machine has none.
pub(crate) fn page_bytes(page: PageKind, machine: &Machine) -> Option<u64> {
    match page {
        PageKind::Base => Some(if machine.page_bytes > 0 { machine.page_bytes } else { 4 * KIB }),
        PageKind::Thp => machine.system.thp_bytes.filter(|_| machine.system.has_thp()),
        PageKind::Huge(bytes) => Some(bytes),
    }
}

/// One region and one thread on each cpu, all doing the same on memory of their own.
pub(crate) fn setup(
    cpus: &[CpuId],
    bytes: Bytes,
    node: Option<NodeId>,
    page: PageKind,
    layout: Layout,
    role: &Role,
    seed: u64,
) -> Setup {
    let nodes: IdSet = node.into_iter().collect();
    Setup {
        regions: cpus
            .iter()
            .map(|_| RegionSetup { bytes, policy: MemPolicy::Bind, nodes: nodes.clone(), page, layout })
            .collect(),
        threads: cpus.iter().enumerate().map(|(region, cpu)| ThreadSetup::new(*cpu, role.clone(), region)).collect(),
        seed,
    }
}

/// Refuses footprints that make no sense, before anything is allocated.
///
/// # Errors
/// A [`Refusal`] naming the size.
pub(crate) fn check_size(size: Bytes) -> Result<(), Refusal> {
    // The smallest footprint that three streams of whole vectors, or a cycle worth the name, fit in.
    const LEAST: u64 = 1024;
    if size.0 < LEAST {
        return Err(says::size_too_small(size, Bytes(LEAST)));
    }
    Ok(())
}

/// Length of the shot of a visit, seconds: eight windows, and short enough that a cache just warmed still holds its
/// lines.
pub(crate) const VISIT_SECONDS: f64 = 0.002;

/// When a headline number is good enough. Fewer visits than that see too little of what comes and goes.
pub(crate) fn headline(effort: Effort, precision: f64) -> StopRule {
    let (allocations, min_visits, max_visits) = effort.choose([(2, 12, 400), (3, 20, 1500), (4, 60, 6000)]);
    StopRule { precision, allocations, min_visits, max_visits, shot_seconds: VISIT_SECONDS }
}

/// When a point of a curve is good enough: it shows a shape, the ladder has the numbers. A few visits place the tiers,
/// so that the figures soon follow; sizes are read from all of its visits at the end of the run.
pub(crate) fn curve_point(effort: Effort) -> StopRule {
    let (allocations, min_visits, max_visits) = effort.choose([(1, 4, 60), (1, 4, 200), (2, 16, 800)]);
    StopRule { precision: 0.02, allocations, min_visits, max_visits, shot_seconds: VISIT_SECONDS }
}

/// The role of a stream step: the first kernel, with the others as its rivals.
pub(crate) fn stream_role(kernels: &[KernelId]) -> Option<Role> {
    let (kernel, rivals) = kernels.split_first()?;
    Some(Role::Stream { kernel: kernel.clone(), rivals: rivals.to_vec() })
}

/// Numbers first, shapes last: a curve or a scaling gives way when time runs out.
pub(crate) fn phase(labels: &Labels) -> u8 {
    if labels.is_for(Purpose::Curve) || labels.is_for(Purpose::Scaling) { AFTER_FIGURES } else { 0 }
}

/// Adds to a plan what it says of steps that follow from its results: of each purpose what they measure, and their
/// seconds.
pub(crate) fn follow(later: &[Step], plan: &mut Plan) {
    plan.later_seconds += later.iter().map(Step::expected_seconds).sum::<f64>();
    let mut purposes: Vec<Option<Purpose>> = Vec::new();
    for purpose in later.iter().map(|step| step.labels.purpose()) {
        if !purposes.contains(&purpose) {
            purposes.push(purpose);
        }
    }
    for purpose in purposes {
        let (mut what, mut threads, mut tiers) = (Vec::new(), BTreeSet::new(), Vec::new());
        for step in later.iter().filter(|step| step.labels.purpose() == purpose) {
            let is_cold = purpose == Some(Purpose::Cold);
            let latency = if is_cold { "cold latency" } else { "latency" };
            let op = step.labels.op().unwrap_or(latency).to_owned();
            let beside = step.labels.beside().map(|beside| format!(" beside {beside}"));
            let tier = if is_cold { Some(Tier::Dram) } else { step.labels.tier() }.map(|tier| tier.to_string());
            for (list, word) in [(&mut what, Some(op + &beside.unwrap_or_default())), (&mut tiers, tier)] {
                list.extend(word.filter(|word| !list.contains(word)));
            }
            threads.extend(step.labels.threads());
        }
        plan.later.push(rules::later_steps(&what, &Vec::from_iter(threads), &tiers));
    }
}

/// Seconds that points added to curves take, where they move: as on measured curves, a quarter of those that were
/// planned.
pub(crate) fn denser_seconds(effort: Effort, steps: &[Step]) -> f64 {
    const ADDED: f64 = 0.25;
    if effort == Effort::Quick {
        return 0.0;
    }
    let curve = steps.iter().filter(|step| step.labels.is_for(Purpose::Curve));
    ADDED * curve.map(Step::expected_seconds).sum::<f64>()
}

/// Most seconds a plan may take where the user set none: what the effort allows, or, on machines whose footprints are
/// so large that it would not do, half as much again as the plan takes where the fewest allocations suffice: where they
/// scatter more, it is numbers that become less precise, and not the run longer.
pub(crate) fn max_seconds(request: &Request, effort_seconds: f64, steps: &[Step]) -> f64 {
    const SLACK: f64 = 1.5;
    let expected: f64 = steps.iter().map(Step::expected_seconds).sum();
    let most = if request.effort == Effort::Quick { effort_seconds } else { effort_seconds.max(SLACK * expected) };
    request.scope.max_seconds.unwrap_or(most)
}
