//! A synthetic machine in a line of text.

use std::str::FromStr;

use tiermark_model::{Bytes, parse_size};

use super::{MemoryNode, Synth};

impl FromStr for Synth {
    type Err = String;

    /// Reads `sockets=2,nodes=1,cores=16,smt=2,llc=8,l1=32K,l2=1M,l3=32M,mem=64G,stride=1,sidecache=4G,cxl=128G`, any of
    /// them, or `largest`.
    fn from_str(spec: &str) -> Result<Self, String> {
        let mut synth = Self::default();
        let mut llc = None;
        for part in spec.split(',').filter(|p| !p.is_empty()) {
            if part == "largest" {
                synth = Self::largest();
                continue;
            }
            let (key, value) =
                part.split_once('=').ok_or_else(|| format!("'{part}': write key=value, as in cores=16"))?;
            let bad = || format!("'{part}': '{value}' is not a number in range");
            let count = || value.parse::<u32>().ok().filter(|n| (1..=4096).contains(n)).ok_or_else(bad);
            let size = || parse_size(value).map(|Bytes(n)| n).map_err(|e| e.to_string());
            match key {
                "sockets" => synth.sockets = count()?,
                "nodes" => synth.nodes_per_socket = count()?,
                "cores" => synth.cores_per_node = count()?,
                "smt" => synth.smt = count()?,
                "llc" => llc = Some(count()?),
                "stride" => synth.node_stride = count()?,
                "l1" => synth.l1_bytes = size()?,
                "l2" => synth.l2_bytes = size()?,
                "l3" => synth.l3_bytes = size()?,
                "mem" => synth.node_bytes = size()?,
                "sidecache" => synth.side_cache_bytes = size()?,
                // Twice the distance and latency of a neighbour's DRAM, at the rate of a x8 link: a usual expander.
                "cxl" => synth.memory_nodes.push(MemoryNode {
                    bytes: size()?,
                    distance: 28,
                    tier: 5,
                    latency_ns: 250,
                    bandwidth_mbs: 26_000,
                }),
                _ => {
                    return Err(format!(
                        "'{key}': use sockets, nodes, cores, smt, llc, l1, l2, l3, mem, stride, sidecache or cxl"
                    ));
                }
            }
        }
        synth.cores_per_llc = llc.unwrap_or(synth.cores_per_node);
        let cpus = [synth.sockets, synth.nodes_per_socket, synth.cores_per_node, synth.smt];
        // Larger than any machine that exists, small enough for memory.
        const MOST_CPUS: u64 = 16_384;
        if cpus.iter().map(|n| u64::from(*n)).product::<u64>() > MOST_CPUS {
            return Err(format!("'{spec}': more than {MOST_CPUS} cpus"));
        }
        Ok(synth)
    }
}
