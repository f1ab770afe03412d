//! Cpu selectors: `0-3,8`, `all`, `node:1`, `socket:0`, `core:5`, `llc:2`, and `!` to exclude.

use crate::count_of;
use crate::idset::IdSet;
use crate::machine::Machine;
use crate::refusal::Refusal;

/// How the numbers in a selector count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Numbering {
    /// As the operating system numbers them.
    #[default]
    Os,
    /// From 0, cpus in the order of cores (by socket and die) and their hardware threads, nodes and sockets in the
    /// order of their numbers: what hwloc calls logical indexes. Cores and last-level caches are always numbered so.
    Logical,
}

/// Resolves a selector to allowed cpus of a machine. Parts are joined by `,` and added; parts behind `!` are taken
/// away.
///
/// # Errors
/// A [`Refusal`] for a malformed selector, an id the machine does not have, or a cpu this process may not use.
pub fn resolve_cpus(text: &str, numbering: Numbering, machine: &Machine) -> Result<IdSet, Refusal> {
    let what = || format!("cpus '{text}'");
    let mut chosen = IdSet::new();
    let mut excluded = IdSet::new();
    let mut any_included = false;
    for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        match part.strip_prefix('!') {
            Some(part) => {
                excluded =
                    excluded.union(&part_cpus(part, numbering, machine).map_err(|why| refuse(&what(), &why, machine))?);
            }
            None => {
                any_included = true;
                chosen =
                    chosen.union(&part_cpus(part, numbering, machine).map_err(|why| refuse(&what(), &why, machine))?);
            }
        }
    }
    if !any_included {
        chosen = machine.allowed_cpus.clone();
    }
    let chosen = chosen.difference(&excluded);
    let forbidden = chosen.difference(&machine.choosable_cpus());
    if !forbidden.is_empty() {
        let why = format!("cpu {forbidden} is outside this process's affinity or cpuset");
        return Err(refuse(&what(), &why, machine));
    }
    if chosen.is_empty() {
        return Err(refuse(&what(), "it selects no cpu", machine));
    }
    Ok(chosen)
}

fn refuse(what: &str, why: &str, machine: &Machine) -> Refusal {
    crate::messages::setup::selector_empty(what, why, &machine.choosable_cpus())
}

/// The online cpus one part of a selector names. Whole groups (`all`, `node:` …) are cut to the allowed cpus; of a group
/// without one, to those that may be chosen.
fn part_cpus(part: &str, numbering: Numbering, machine: &Machine) -> Result<IdSet, String> {
    if part == "all" {
        return Ok(machine.allowed_cpus.clone());
    }
    let Some((kind, ids)) = part.split_once(':').filter(|(kind, _)| kind.chars().all(char::is_alphabetic)) else {
        let set: IdSet = part.parse().map_err(|e: crate::idset::ListError| e.to_string())?;
        if numbering == Numbering::Logical {
            return logical_cpus(&set, machine);
        }
        let absent = set.difference(&machine.online());
        let are = if absent.len() == 1 { "cpu" } else { "cpus" };
        let is = if absent.len() == 1 { "is" } else { "are" };
        return if absent.is_empty() {
            Ok(set)
        } else {
            Err(format!("{are} {absent} {is} not online on this machine"))
        };
    };
    let id: u32 = ids.parse().map_err(|_| format!("'{ids}' is not an id"))?;
    let id = match (numbering, kind) {
        (Numbering::Logical, "node") => nth(machine.cpus.iter().filter_map(|cpu| cpu.node), id),
        (Numbering::Logical, "socket") => nth(machine.cpus.iter().map(|cpu| cpu.socket), id),
        _ => id,
    };
    let members = |name: fn(&crate::machine::Cpu) -> Option<u32>| -> IdSet {
        machine.cpus.iter().filter(|cpu| name(cpu) == Some(id)).map(|cpu| cpu.id).collect()
    };
    let set = match kind {
        "node" => members(|cpu| cpu.node),
        "socket" => members(|cpu| Some(cpu.socket)),
        "core" => members(|cpu| Some(cpu.core)),
        "llc" => members(|cpu| cpu.llc),
        _ => return Err(format!("'{kind}' is not a group; use node, socket, core or llc")),
    };
    if set.is_empty() {
        return Err(format!("this machine has no {kind} {ids} with cpus"));
    }
    let usable = [machine.allowed_cpus.intersection(&set), machine.beyond_affinity.intersection(&set)];
    let first = usable.into_iter().find(|cpus| !cpus.is_empty());
    first.ok_or_else(|| format!("no cpu of {kind} {id} is allowed"))
}

/// The online cpus of these logical numbers.
fn logical_cpus(numbers: &IdSet, machine: &Machine) -> Result<IdSet, String> {
    let mut ordered: Vec<&crate::machine::Cpu> = machine.cpus.iter().collect();
    ordered.sort_unstable_by_key(|cpu| (cpu.core, cpu.smt_rank, cpu.id));
    let id = |n: u32| ordered.get(n as usize).map(|cpu| cpu.id);
    let absent: IdSet = numbers.iter().filter(|n| id(*n).is_none()).collect();
    if !absent.is_empty() {
        return Err(format!("this machine has {}, so no logical cpu {absent}", count_of(ordered.len() as u64, "cpu")));
    }
    Ok(numbers.iter().filter_map(id).collect())
}

/// The id at this place among the different ones; `u32::MAX`, which no group has, where there are fewer.
fn nth(ids: impl Iterator<Item = u32>, place: u32) -> u32 {
    ids.collect::<IdSet>().iter().nth(place as usize).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Cpu;

    fn machine() -> Machine {
        let cpus: Vec<Cpu> = (0..8)
            .map(|id| Cpu {
                id,
                core: id / 2,
                smt_rank: id % 2,
                socket: id / 4,
                node: Some(id / 4),
                llc: Some(id / 4),
                ..Cpu::default()
            })
            .collect();
        Machine { cpus, allowed_cpus: "0-6".parse().unwrap(), ..Machine::default() }
    }

    #[test]
    fn selects() {
        for (text, cpus) in [
            ("all", "0-6"),
            ("0-2,5", "0-2,5"),
            ("node:1", "4-6"),
            ("socket:0", "0-3"),
            ("core:1", "2-3"),
            ("llc:1,!5", "4,6"),
            ("!0-3", "4-6"),
            ("0-5:1/2", "0,2,4"),
        ] {
            assert_eq!(resolve_cpus(text, Numbering::Os, &machine()).unwrap().to_string(), cpus, "{text}");
        }
    }

    #[test]
    fn logical_numbers_follow_the_cores() {
        // As on most servers: the second threads of all cores come after the first ones, and sockets and nodes need not
        // begin at 0.
        let cpus = (0..8)
            .map(|id| Cpu {
                id,
                core: id % 4,
                smt_rank: id / 4,
                socket: 2 * (id % 4 / 2) + 1,
                node: Some(4 * (id % 4 / 2)),
                ..Cpu::default()
            })
            .collect();
        let machine = Machine { cpus, allowed_cpus: "0-7".parse().unwrap(), ..Machine::default() };
        let of = |text: &str| resolve_cpus(text, Numbering::Logical, &machine).map(|cpus| cpus.to_string());
        for (text, cpus) in
            [("0-1", "0,4"), ("2", "1"), ("7", "7"), ("node:1", "2-3,6-7"), ("socket:0,!0", "1,4-5"), ("core:3", "3,7")]
        {
            assert_eq!(of(text).unwrap(), cpus, "{text}");
        }
        for text in ["8", "node:2", "socket:2"] {
            assert!(of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn refuses_with_a_cure() {
        for text in ["7", "9", "node:7", "rack:0", "node:x", "3-1", "0,!0"] {
            let refusal = resolve_cpus(text, Numbering::Os, &machine()).expect_err(text);
            assert!(refusal.cure.contains("0-6"), "{refusal}");
            assert!(refusal.what.contains(text), "{refusal}");
        }
    }
}
