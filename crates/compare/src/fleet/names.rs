//! Names of hosts, with their domains and without.

use std::collections::BTreeSet;
use std::net::IpAddr;

use tiermark_model::Note;
use tiermark_model::messages::fleet as says;

/// The expected names that no host has, and a note on each that may be the name of a host. `hosts`: all names of each
/// host. A name without its domain is that of a host if no other host and no other expected name may be meant.
pub(crate) fn absent<'n>(expected: &BTreeSet<&'n String>, hosts: &[Vec<&str>]) -> (Vec<&'n String>, Vec<Note>) {
    let has = |host: &[&str], name: &str| host.contains(&name);
    let is_met = |name: &str| hosts.iter().any(|host| has(host, name));
    let open: Vec<&Vec<&str>> = hosts.iter().filter(|host| !expected.iter().any(|name| has(host, name))).collect();
    let may_be = |name: &str, host: &[&str]| host.iter().any(|own| differs_in_domain(name, own));
    let unmet = || expected.iter().copied().filter(|name| !is_met(name));
    let (mut missing, mut notes) = (Vec::new(), Vec::new());
    for name in unmet() {
        let met: Vec<&Vec<&str>> = open.iter().copied().filter(|host| may_be(name, host)).collect();
        let is_sure = met.len() == 1 && unmet().filter(|other| may_be(other, met[0])).count() == 1;
        if !is_sure {
            missing.push(name);
            let names: Vec<&str> = met.iter().filter_map(|host| host.first().copied()).collect();
            notes.extend((!met.is_empty()).then(|| says::domain_unclear(name, &names)));
        }
    }
    (missing, notes)
}

/// Whether one name is the other without its domain. The first number of an address is no name.
fn differs_in_domain(one: &str, other: &str) -> bool {
    let is_short_of = |short: &str, long: &str| {
        let first = long.split_once('.').map(|(first, _)| first);
        first == Some(short) && long.parse::<IpAddr>().is_err()
    };
    is_short_of(one, other) || is_short_of(other, one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_its_domain_is_that_of_the_only_host_that_may_be_meant() {
        let of = |expected: &[&str], hosts: &[&[&str]]| {
            let expected: Vec<String> = expected.iter().map(|name| (*name).to_owned()).collect();
            let hosts: Vec<Vec<&str>> = hosts.iter().map(|names| names.to_vec()).collect();
            let (missing, notes) = absent(&expected.iter().collect(), &hosts);
            (missing.into_iter().cloned().collect::<Vec<_>>(), notes.len())
        };
        assert_eq!(of(&["n1", "n2.a.org"], &[&["n1.a.org", "f"], &["n2", "n2"]]), (vec![], 0));
        assert_eq!(of(&["n1", "n3"], &[&["n1.a.org"], &["n1.b.org"]]), (vec!["n1".into(), "n3".into()], 1));
        assert_eq!(of(&["n1.a.org", "n1.b.org"], &[&["n1"]]).1, 2);
        assert_eq!(of(&["n1.a.org", "n1.b.org"], &[&["n1"], &["n1.a.org"]]), (vec![], 0));
        assert_eq!(of(&["n1.a.org"], &[&["n1.b.org"]]), (vec!["n1.a.org".into()], 0));
        assert_eq!(of(&["10"], &[&["10.0.0.1"]]), (vec!["10".into()], 0));
    }
}
