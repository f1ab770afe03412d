//! Tests in a process that may not place memory, as in a container with a strict filter on system calls.

use std::collections::BTreeMap;
use std::time::Duration;

use tiermark_engine::Host;
use tiermark_machine::{Root, discover};
use tiermark_model::messages::setup::codes;
use tiermark_model::{
    Bytes, ChainLayout, IdSet, Layout, Machine, MemPolicy, Node, PageKind, RegionSetup, Role, Setup, ThreadSetup,
};
use tiermark_system::live_facts;
use tiermark_system::testing::{in_own_process, refuse};

use crate::{LinuxHost, Options};

fn setup(machine: &Machine, nodes: &str) -> Setup {
    let region = RegionSetup {
        bytes: Bytes(3 << 20),
        policy: MemPolicy::Bind,
        nodes: nodes.parse().unwrap(),
        page: PageKind::Base,
        layout: Layout::Chain(ChainLayout::Random),
    };
    let cpu = machine.allowed_cpus.first().unwrap();
    Setup { regions: vec![region], threads: vec![ThreadSetup::new(cpu, Role::Chase { chains: 1 }, 0)], seed: 3 }
}

/// This machine, with a node more than it has: memory without cpus.
fn with_a_far_node() -> (Machine, u32) {
    let mut machine = discover(&Root::live(), &live_facts()).unwrap();
    let far = machine.nodes.iter().map(|node| node.id).max().unwrap() + 1;
    machine.nodes.push(Node { id: far, memory_bytes: Some(1 << 40), ..Node::default() });
    machine.allowed_nodes.insert(far);
    (machine, far)
}

#[test]
fn without_mbind_memory_is_touched_first_where_it_shall_be() {
    if !in_own_process("confined::without_mbind_memory_is_touched_first_where_it_shall_be") {
        return;
    }
    let (machine, far) = with_a_far_node();
    let near = machine.node_of(machine.allowed_cpus.first().unwrap()).unwrap();
    refuse(&[libc::SYS_mbind, libc::SYS_move_pages]).unwrap();
    let mut host = LinuxHost::new(machine.clone(), Options::default()).unwrap();
    let mut rig = host.prepare(&setup(&machine, "")).unwrap();
    rig.shot(Duration::from_millis(1)).unwrap();
    let proof = rig.placement();
    drop(rig);
    assert!(proof.notes.iter().any(|note| note.code == codes::bind_refused_first_touch), "{proof:?}");
    assert!(proof.notes.iter().any(|note| note.code == codes::move_pages_refused), "{proof:?}");
    assert!(proof.how.data["by"] == "numa_maps", "{proof:?}");
    assert_eq!(proof.on_target, Some(1.0), "{proof:?}");
    assert_eq!(proof.by_node.keys().collect::<Vec<_>>(), [&near]);
    // Every node that has cpus and memory of its own can be had by touching from there, alone and in turns.
    let reachable: IdSet =
        machine.nodes.iter().filter(|n| !n.cpus.is_empty() && n.memory_bytes != Some(0)).map(|n| n.id).collect();
    for policy in [MemPolicy::Bind, MemPolicy::Interleave] {
        for nodes in reachable.iter().map(|node| IdSet::from_iter([node])).chain([reachable.clone()]) {
            if policy == MemPolicy::Bind && nodes.len() > 1 {
                continue;
            }
            let mut setup = setup(&machine, &nodes.to_string());
            setup.regions[0].policy = policy.clone();
            let proof = host.prepare(&setup).unwrap().placement();
            assert_eq!(proof.on_target, Some(1.0), "{proof:?}");
            assert_eq!(proof.by_node.keys().copied().collect::<IdSet>(), nodes);
        }
    }
    // A node without cpus cannot be reached by touching.
    let Err(refusal) = host.prepare(&setup(&machine, &far.to_string())) else { panic!("prepared") };
    assert_eq!(refusal.code, tiermark_model::messages::setup::codes::node_untouchable);
}

#[test]
fn on_a_machine_with_one_node_a_refused_mbind_changes_nothing() {
    if !in_own_process("confined::on_a_machine_with_one_node_a_refused_mbind_changes_nothing") {
        return;
    }
    let mut machine = discover(&Root::live(), &live_facts()).unwrap();
    machine.nodes.truncate(1);
    let only = machine.nodes[0].id;
    let home: IdSet = machine.cpus.iter().filter(|cpu| cpu.node == Some(only)).map(|cpu| cpu.id).collect();
    machine.allowed_cpus = machine.allowed_cpus.intersection(&home);
    refuse(&[libc::SYS_mbind, libc::SYS_move_pages]).unwrap();
    let mut host = LinuxHost::new(machine.clone(), Options::default()).unwrap();
    let mut rig = host.prepare(&setup(&machine, "")).unwrap();
    let proof = rig.placement();
    assert!(proof.notes.iter().any(|note| note.code == codes::bind_refused_one_node), "{proof:?}");
    assert_eq!(proof.on_target, Some(1.0));
    assert_eq!(proof.by_node, BTreeMap::from([(only, proof.pages)]));
}
