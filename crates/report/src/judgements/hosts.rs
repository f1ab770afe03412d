//! What runs are called where several are listed.

use std::collections::BTreeMap;

/// A name for each of some runs, by the names that their user gave and by their hosts: the host where no other of the
/// runs has it, else the given name with the host, if one is known.
pub fn run_names(runs: impl IntoIterator<Item = (String, Option<String>)>) -> Vec<String> {
    let runs: Vec<(String, Option<String>)> = runs.into_iter().collect();
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    runs.iter().filter_map(|(_, host)| host.as_ref()).for_each(|host| *counts.entry(host).or_default() += 1);
    let name = |(name, host): &(String, Option<String>)| match host {
        Some(host) if counts.get(host) == Some(&1) => host.clone(),
        Some(host) if !name.contains(host.as_str()) => format!("{name} ({host})"),
        _ => name.clone(),
    };
    runs.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_names_its_only_run() {
        let run = |name: &str, host: Option<&str>| (name.to_owned(), host.map(str::to_owned));
        let runs = [run("a.json", Some("node1")), run("b.json", Some("node2")), run("c.json", None)];
        assert_eq!(run_names(runs), ["node1", "node2", "c.json"]);
        let runs = [run("old/node1.json", Some("node1")), run("new.json", Some("node1"))];
        assert_eq!(run_names(runs), ["old/node1.json", "new.json (node1)"]);
    }
}
