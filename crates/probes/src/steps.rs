//! Builders shared by the probes: cpus and pages of a scope, setups, stop rules.

use std::collections::BTreeSet;

use tiermark_model::{
    Bytes, CpuId, Effort, IdSet, KernelId, Labels, Layout, Machine, MemPolicy, NodeId, PageKind, Refusal, RegionSetup,
    Request, Role, Scope, Setup, Step, StopRule, ThreadSetup,
};

/// The cpus a request may use.
///
/// # Errors
/// A [`Refusal`] when none of them is allowed.
pub(crate) fn scope_cpus(scope: &Scope, machine: &Machine) -> Result<IdSet, Refusal> {
    let cpus = scope.cpus.clone().unwrap_or_else(|| machine.allowed_cpus.clone());
    let forbidden = cpus.difference(&machine.allowed_cpus);
    if !forbidden.is_empty() || cpus.is_empty() {
        let why = if cpus.is_empty() {
            "no cpu is allowed".to_owned()
        } else {
            format!("cpu {forbidden} is not allowed to this process")
        };
        return Err(Refusal::new(format!("cpus {cpus}"), why, format!("choose among {}", machine.allowed_cpus)));
    }
    Ok(cpus)
}

/// Refuses a memory node that cannot give memory, before anything is planned on it.
///
/// # Errors
/// The [`Refusal`] that carrying it out would meet.
pub(crate) fn check_node(scope: &Scope, machine: &Machine) -> Result<(), Refusal> {
    scope.mem_node.map_or(Ok(()), |node| tiermark_engine::admit::admit_node(node, machine))
}

/// Leaves out steps that were asked for twice.
pub(crate) fn once(steps: &mut Vec<Step>) {
    let mut seen = BTreeSet::new();
    steps.retain(|step| seen.insert(step.id.clone()));
}

/// The page size to ask for where the user named none: transparent huge pages, unless the system has them off.
pub(crate) fn default_page(machine: &Machine) -> PageKind {
    match machine.system.thp.as_deref() {
        None | Some("never") => PageKind::Base,
        Some(_) => PageKind::Thp,
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
        return Err(Refusal::new(format!("size {size}"), "it is too small to measure", "ask for at least 1K"));
    }
    Ok(())
}

/// Length of the shot of a visit, seconds: eight windows, and short enough that a cache just warmed still holds what was read.
pub(crate) const VISIT_SECONDS: f64 = 0.002;

/// When a headline number is good enough. Fewer visits than that see too little of what comes and goes.
pub(crate) fn headline(effort: Effort, precision: f64) -> StopRule {
    let (allocations, min_visits, max_visits) = match effort {
        Effort::Quick => (2, 12, 400),
        Effort::Standard => (3, 20, 1500),
        Effort::Full => (4, 60, 6000),
    };
    StopRule { precision, allocations, min_visits, max_visits, shot_seconds: VISIT_SECONDS }
}

/// When a point of a curve is good enough: it shows a shape, the ladder has the numbers. Eight visits are sixty windows.
pub(crate) fn curve_point(effort: Effort) -> StopRule {
    let (allocations, min_visits, max_visits) = match effort {
        Effort::Quick => (1, 8, 60),
        Effort::Standard => (1, 8, 200),
        Effort::Full => (2, 16, 800),
    };
    StopRule { precision: 0.02, allocations, min_visits, max_visits, shot_seconds: VISIT_SECONDS }
}

/// The role of a stream step: the first kernel, with the others as its rivals.
pub(crate) fn stream_role(kernels: &[KernelId]) -> Option<Role> {
    let (kernel, rivals) = kernels.split_first()?;
    Some(Role::Stream { kernel: kernel.clone(), rivals: rivals.to_vec() })
}

/// Numbers first, shapes last: a curve or a scaling gives way when time runs out.
pub(crate) fn phase(labels: &Labels) -> u8 {
    u8::from(labels.is(Labels::PURPOSE, "curve") || labels.is(Labels::PURPOSE, "scaling"))
}

/// Seconds that points added to curves take, where they move: as on measured curves, a quarter of those that were planned.
pub(crate) fn denser_seconds(effort: Effort, steps: &[Step]) -> f64 {
    const ADDED: f64 = 0.25;
    if effort == Effort::Quick {
        return 0.0;
    }
    let curve = steps.iter().filter(|step| step.labels.is(Labels::PURPOSE, "curve"));
    ADDED * curve.map(Step::expected_seconds).sum::<f64>()
}

/// Most seconds a plan may take where the user set none: what the effort allows, or, on machines whose footprints are so large
/// that it would not do, half as much again as the plan takes where the fewest allocations suffice: where they scatter more, it is numbers
/// that become less precise, and not the run longer.
pub(crate) fn max_seconds(request: &Request, effort_seconds: f64, steps: &[Step]) -> f64 {
    const SLACK: f64 = 1.5;
    let expected: f64 = steps.iter().map(Step::expected_seconds).sum();
    let most = if request.effort == Effort::Quick { effort_seconds } else { effort_seconds.max(SLACK * expected) };
    request.scope.max_seconds.unwrap_or(most)
}
