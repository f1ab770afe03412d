//! Threads that take part beside the caller, or only run meanwhile, and their cpus.

use tiermark_model::{CpuId, IdSet, Machine, Relation};

/// Where a partner can run: the nearest cpu of every relation, nearest first, then the caller's own.
pub(super) fn partners(machine: &Machine, cpus: &IdSet, cpu: CpuId) -> Vec<(CpuId, String)> {
    let places = machine.places(cpus);
    let Some((_, own)) = places.iter().find(|(id, _)| *id == cpu) else { return Vec::new() };
    let nearest = |relation: Relation| {
        let other = places.iter().find(|(id, place)| *id != cpu && own.relation(place) == relation);
        other.map(|(id, _)| (*id, relation.to_string()))
    };
    // Another core first: that is where a scheduler with room puts it.
    let mut order: Vec<(CpuId, String)> = Relation::ALL.into_iter().filter_map(nearest).collect();
    if order.len() > 1 && order[0].1 == Relation::Smt.to_string() {
        order.swap(0, 1);
    }
    order.push((cpu, "same cpu".to_owned()));
    order
}

/// No other cpu, one, two, four, … and all.
pub(super) fn bystanders(machine: &Machine, cpus: &IdSet, cpu: CpuId) -> Vec<Vec<CpuId>> {
    let others: Vec<CpuId> = machine.cores_first(cpus).into_iter().filter(|id| *id != cpu).collect();
    let mut counts: Vec<usize> =
        std::iter::successors(Some(1), |n| Some(2 * n)).take_while(|n| *n < others.len()).collect();
    counts.insert(0, 0);
    if !others.is_empty() {
        counts.push(others.len());
    }
    counts.into_iter().map(|n| others[..n].to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::Cpu;

    #[test]
    fn a_partner_runs_on_one_cpu_of_each_relation_and_on_the_callers_own() {
        // Two sockets of two cores of two threads.
        let cpus = (0..8).map(|id| Cpu { id, core: id / 2, socket: id / 4, ..Cpu::default() }).collect();
        let machine = Machine { cpus, allowed_cpus: "0-7".parse().unwrap(), ..Machine::default() };
        let found = partners(&machine, &machine.allowed_cpus, 0);
        let cpus: Vec<CpuId> = found.iter().map(|(cpu, _)| *cpu).collect();
        // Another core of the socket, the sibling, the other socket, the same cpu.
        assert_eq!(cpus, [2, 1, 4, 0], "{found:?}");
        assert_eq!(partners(&machine, &"3".parse().unwrap(), 3), [(3, "same cpu".to_owned())]);
    }
}
