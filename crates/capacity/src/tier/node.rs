//! Another memory node, which takes the tenants that DRAM has no room for.

use tiermark_machine::Root;
use tiermark_model::Refusal;

use super::Raised;

/// Looks whether the node is there and has memory.
pub(super) fn raise(id: u32, root: &Root) -> Result<Raised, Refusal> {
    let refused = |why: &str, cure: String| Refusal::new(format!("the tier node:{id}"), why, cure);
    let nodes = root.numbered("sys/devices/system/node", "node").unwrap_or_default();
    let free = root.read(&format!("sys/devices/system/node/node{id}/meminfo")).ok().flatten();
    let room = free.as_deref().and_then(free_bytes);
    match room {
        Some(room) if nodes.len() > 1 && room > 0 => {
            Ok(Raised { room, node: Some(id), remarks: vec![REMARK.to_owned()], ..Raised::default() })
        }
        Some(_) if nodes.len() > 1 => Err(refused("it has no free memory", "choose another node".to_owned())),
        _ => {
            let nodes: Vec<String> = nodes.iter().map(u32::to_string).collect();
            let cure =
                format!("this machine has the nodes {}; a tier is one beside that of the tenants", nodes.join(", "));
            Err(refused("there is no such node beside another one", cure))
        }
    }
}

/// How tenants come to lie where they lie.
const REMARK: &str = "tenants beyond those that DRAM holds by arithmetic have all of their memory on the node (by policy, tenant by tenant)";

/// `Node 1 MemFree:  1234 kB` in bytes.
fn free_bytes(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.contains(" MemFree:"))?;
    let kib: u64 = line.split_whitespace().rev().nth(1)?.parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_with_memory_beside_another() {
        let node = |id: u32, free: u64| {
            (
                format!("sys/devices/system/node/node{id}/meminfo"),
                format!("Node {id} MemTotal: 9 kB\nNode {id} MemFree:  {free} kB\n"),
            )
        };
        let two = Root::from_files("test", [node(0, 5), node(1, 7), node(2, 0)]);
        let found = raise(1, &two).unwrap();
        assert_eq!((found.room, found.node, found.swaps()), (7 << 10, Some(1), false));
        assert!(raise(2, &two).unwrap_err().why.contains("no free memory"));
        assert!(raise(3, &two).unwrap_err().cure.contains("nodes 0, 1, 2"));
        assert!(raise(0, &Root::from_files("test", [node(0, 5)])).is_err());
    }
}
