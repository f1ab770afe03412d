//! How long simulated cores take to hand each other a line. Round figures of servers of the 2020s: shapes, not claims.

use std::collections::BTreeMap;

use tiermark_model::{CpuId, CpuPosition, LineState, Machine, NodeId, PingOp, Relation, Role, Setup};

use tiermark_engine::admit::region_nodes;

/// Round trip of a compare-and-swap between cpus of a relation, ns.
fn round_trip_ns(relation: Relation) -> f64 {
    match relation {
        Relation::Smt => 16.0,
        Relation::Cluster => 40.0,
        Relation::Llc => 60.0,
        Relation::Die => 110.0,
        Relation::Socket => 140.0,
        Relation::Remote => 280.0,
    }
}

/// Cost of a line whose home is on the second cpu's node, or on neither's, as a factor.
const HOME: (f64, f64) = (1.05, 1.25);
/// Clean and dirty lines against a round trip.
const FETCH: (f64, f64) = (0.4, 0.5);
/// An addition without contention, ns.
const ALONE_NS: f64 = 5.0;
/// Cost of each step away from the line's first user for a contender beside the others.
const UNFAIR: f64 = 0.08;

/// ns of an access of each thread of a setup; `None` for threads that share no lines or only serve.
pub(super) fn paces(machine: &Machine, setup: &Setup) -> Vec<Option<f64>> {
    if !setup.threads.iter().any(|t| t.role.shares_lines()) {
        return vec![None; setup.threads.len()];
    }
    let places: BTreeMap<CpuId, CpuPosition> = machine.places(&setup.cpus()).into_iter().collect();
    let relation =
        |a: CpuId, b: CpuId| places.get(&a).zip(places.get(&b)).map_or(Relation::Smt, |(a, b)| a.relation(b));
    let pace = |index: usize| {
        let thread = &setup.threads[index];
        let sharers = || setup.threads.iter().filter(|t| t.region == thread.region);
        let home = region_nodes(setup, thread.region, machine).first();
        let trip = |partner: CpuId| {
            round_trip_ns(relation(thread.cpu, partner)) * home_factor(machine, thread.cpu, partner, home)
        };
        let partner = || sharers().map(|t| t.cpu).find(|cpu| *cpu != thread.cpu);
        match &thread.role {
            Role::Ping { op } => Some(match op {
                PingOp::Cas => trip(partner()?),
                PingOp::Flag => trip(partner()?) * 0.9,
                PingOp::OneWay => trip(partner()?) / 2.0,
            }),
            Role::Take => {
                let clean = sharers().any(|t| t.role == Role::Keep { state: LineState::Clean });
                Some(trip(partner()?) * if clean { FETCH.0 } else { FETCH.1 })
            }
            _ => None,
        }
    };
    if setup.threads.iter().all(|t| t.role == Role::Contend) {
        return contend(setup, &relation);
    }
    (0..setup.threads.len()).map(pace).collect()
}

/// As above for contenders on one line, in one pass: there may be thousands.
fn contend(setup: &Setup, relation: &dyn Fn(CpuId, CpuId) -> Relation) -> Vec<Option<f64>> {
    let first = setup.threads[0].cpu;
    if setup.threads.len() == 1 {
        return vec![Some(ALONE_NS)];
    }
    // The line goes round all; those far from where it began get it a little less often.
    let turn: f64 = setup.threads.iter().map(|t| round_trip_ns(relation(first, t.cpu)) / 2.0).sum();
    let pace = |cpu: CpuId| turn * (1.0 + UNFAIR * f64::from(relation(first, cpu) as u8));
    setup.threads.iter().map(|t| Some(pace(t.cpu))).collect()
}

fn home_factor(machine: &Machine, mine: CpuId, partner: CpuId, home: Option<NodeId>) -> f64 {
    match (home, machine.node_of(mine), machine.node_of(partner)) {
        (Some(home), Some(mine), _) if home == mine => 1.0,
        (Some(home), _, Some(partner)) if home == partner => HOME.0,
        (Some(_), Some(_), Some(_)) => HOME.1,
        _ => 1.0,
    }
}
