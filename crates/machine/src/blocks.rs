//! Blocks of memory that are offline: the kernel has them, and counts them in no total.

use tiermark_model::Node;

use crate::nodes::NODE_DIR;
use crate::reader::Reader;

const DIR: &str = "sys/devices/system/memory";
/// Blocks whose state is read at most: 4 TiB in blocks of 128 MiB, as on 64-bit Arm with pages of 4 KiB. Larger x86
/// machines have blocks of up to 2 GiB.
const MOST_BLOCKS: usize = 32_768;

/// Sets the bytes of offline blocks of each node; leaves them unset if the kernel lists no blocks or too many to read,
/// if no node of several has links to its blocks, or if the state of one of its blocks cannot be read.
pub(crate) fn read(reader: &Reader<'_>, nodes: &mut [Node]) {
    let Some(bytes) = block_bytes(reader) else { return };
    let all = reader.numbered(DIR, "memory");
    if all.is_empty() || all.len() > MOST_BLOCKS {
        return;
    }
    let linked = |id: u32| reader.numbered(&format!("{NODE_DIR}/node{id}"), "memory");
    let node_blocks = |node: &Node| node.kernel_ids().iter().flat_map(linked).collect::<Vec<u32>>();
    let mut blocks: Vec<Vec<u32>> = nodes.iter().map(node_blocks).collect();
    if blocks.iter().all(Vec::is_empty) {
        // A kernel without nodes links no blocks; all are of its one node.
        let [only] = blocks.as_mut_slice() else { return };
        *only = all;
    }
    for (node, blocks) in nodes.iter_mut().zip(blocks) {
        let offline = blocks.into_iter().map(|block| Some(u64::from(is_offline(reader, block)?))).sum::<Option<u64>>();
        node.offline_bytes = offline.map(|blocks| blocks.saturating_mul(bytes));
    }
}

/// The bytes of a block, which the kernel writes as a hexadecimal number.
fn block_bytes(reader: &Reader<'_>) -> Option<u64> {
    reader.value(&format!("{DIR}/block_size_bytes"), "is not the size of a block of memory", |text| {
        u64::from_str_radix(text, 16).ok().filter(|bytes| (1..1 << 40).contains(bytes))
    })
}

/// Whether a block is offline; `None` if its state cannot be read.
fn is_offline(reader: &Reader<'_>, block: u32) -> Option<bool> {
    Some(reader.word(&format!("{DIR}/memory{block}/state"))? == "offline")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::Root;

    fn offline(files: &[(&str, &str)], mut nodes: Vec<Node>) -> Vec<Option<u64>> {
        let root = Root::from_files("test", files.iter().copied());
        read(&Reader::new(&root), &mut nodes);
        nodes.iter().map(|node| node.offline_bytes).collect()
    }

    #[test]
    fn blocks_are_of_the_node_that_links_them() {
        let node = |id| Node { id, ..Node::default() };
        let files = [
            ("sys/devices/system/memory/block_size_bytes", "8000000\n"),
            ("sys/devices/system/memory/memory0/state", "online\n"),
            ("sys/devices/system/memory/memory1/state", "offline\n"),
            ("sys/devices/system/memory/memory2/state", "offline\n"),
        ];
        let linked = [
            ("sys/devices/system/node/node0/memory0/state", ""),
            ("sys/devices/system/node/node1/memory1/state", ""),
            ("sys/devices/system/node/node1/memory2/state", ""),
        ];
        let two = [files.as_slice(), linked.as_slice()].concat();
        assert_eq!(offline(&two, vec![node(0), node(1)]), [Some(0), Some(256 << 20)]);
        assert_eq!(offline(&files, vec![node(0)]), [Some(256 << 20)], "a kernel without nodes");
        assert_eq!(offline(&files[1..], vec![node(0)]), [None], "of unknown size");
        assert_eq!(offline(&files, vec![node(0), node(1)]), [None, None], "blocks of no node");
        let bare = Node { id: 2, ..Node::default() };
        assert_eq!(offline(&two, vec![node(0), bare])[1], Some(0), "a node without memory");
        let unread = [&[files[0], files[1], ("sys/devices/system/memory/memory1/online", "0\n")], &linked[..]].concat();
        assert_eq!(offline(&unread, vec![node(0), node(1)]), [Some(0), None], "a state that cannot be read");
    }
}
