//! Servers of an Ansible inventory, as `ansible-inventory --list` prints it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::Ipv6Addr;

use serde::Deserialize;
use serde_json::Value;
use tiermark_model::messages::load as says;
use tiermark_model::{Bytes, Refusal};

use crate::address::{Address, PORT};

/// Longest output that is read: ten thousand hosts with some KiB of variables each.
pub const MOST_BYTES: Bytes = Bytes(64 << 20);
/// Longest name of a host: that of the domain name system.
const LONGEST_NAME: usize = 253;

/// The inventory. Other variables, passwords among them, are skipped by the parser.
#[derive(Deserialize)]
struct Inventory {
    #[serde(rename = "_meta", default)]
    meta: Meta,
    #[serde(flatten)]
    groups: BTreeMap<String, Group>,
}

#[derive(Default, Deserialize)]
struct Meta {
    #[serde(default)]
    hostvars: BTreeMap<String, Vars>,
}

#[derive(Default, Deserialize)]
struct Vars {
    ansible_host: Option<Value>,
    tiermark_port: Option<Value>,
    redis_port: Option<Value>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    hosts: Vec<String>,
    #[serde(default)]
    children: Vec<String>,
}

/// The hosts of a group and of the groups in it, with the addresses of their servers, in the order in which Ansible
/// goes through them: the group's own hosts, then those of the groups in it. The host is `ansible_host`, else the name;
/// the port is `tiermark_port`, else `redis_port`, else 6379.
///
/// # Errors
/// A [`Refusal`] of bytes that are no inventory or too many, of a group without hosts, of a host without a usable
/// address, and of two hosts with one address. None has the value of a variable in it, which may be a secret.
pub fn servers_of(json: &[u8], group: &str) -> Result<Vec<(String, Address)>, Refusal> {
    if json.len() as u64 > MOST_BYTES.0 {
        return Err(says::inventory_too_large(MOST_BYTES));
    }
    // The error's own words may quote a value.
    let inventory: Inventory = serde_json::from_slice(json).map_err(|_| says::inventory_unreadable())?;
    let names = inventory.names(group);
    if names.is_empty() {
        let known: Vec<&str> = inventory.groups.keys().map(String::as_str).collect();
        return Err(says::inventory_group_empty(group, &known));
    }
    let none = Vars::default();
    let mut owners: BTreeMap<String, &str> = BTreeMap::new();
    let mut servers = Vec::with_capacity(names.len());
    for name in names {
        let address = address(name, inventory.meta.hostvars.get(name).unwrap_or(&none))?;
        if let Some(first) = owners.insert(address.to_string(), name) {
            return Err(says::inventory_server_twice(first, name, &address.to_string()));
        }
        servers.push((name.to_owned(), address));
    }
    Ok(servers)
}

impl Inventory {
    /// The hosts of a group, each once. A group that has itself in it ends nowhere in Ansible either.
    fn names(&self, group: &str) -> Vec<&str> {
        let (mut groups, mut hosts) = (BTreeSet::from([group]), BTreeSet::new());
        let mut left = VecDeque::from([group]);
        let mut names = Vec::new();
        while let Some(group) = left.pop_front() {
            // Ansible does not print groups without hosts, such as `ungrouped`.
            let Some(group) = self.groups.get(group) else { continue };
            names.extend(group.hosts.iter().map(String::as_str).filter(|host| hosts.insert(*host)));
            left.extend(group.children.iter().map(String::as_str).filter(|child| groups.insert(*child)));
        }
        names
    }
}

fn address(name: &str, vars: &Vars) -> Result<Address, Refusal> {
    let wrong = |variable: &str, wanted: &str| says::inventory_host_wrong(name, variable, wanted);
    let host = match &vars.ansible_host {
        None => Some(name),
        Some(value) => value.as_str(),
    };
    let variable = if vars.ansible_host.is_none() { "its name" } else { "ansible_host" };
    let host = host.filter(|host| is_host(host));
    let host = host.ok_or_else(|| wrong(variable, "a host name or an address without a template"))?;
    let ports = [("tiermark_port", &vars.tiermark_port), ("redis_port", &vars.redis_port)];
    let port = match ports.into_iter().find_map(|(variable, value)| Some((variable, value.as_ref()?))) {
        None => PORT,
        Some((variable, value)) => port(value).ok_or_else(|| wrong(variable, "a port from 1 to 65535"))?,
    };
    Ok(Address::Tcp(host.to_owned(), port))
}

/// Whether a text can be the host of an address; a template (`{{ … }}`), which `--list` prints as it is written, cannot.
fn is_host(text: &str) -> bool {
    let in_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let is_name = |text: &str| !text.is_empty() && text.bytes().all(in_name);
    let is_address = |text: &str| text.parse::<Ipv6Addr>().is_ok();
    // An address may end with the interface that it is on: fe80::1%eth0.
    let parts =
        text.split_once('%').map_or_else(|| is_address(text), |(address, on)| is_address(address) && is_name(on));
    text.len() <= LONGEST_NAME && (is_name(text) || parts)
}

/// A port as a number, or as text: variables of an INI inventory may be either.
fn port(value: &Value) -> Option<u16> {
    let number = match value {
        Value::String(text) => text.parse().ok()?,
        other => other.as_u64()?,
    };
    u16::try_from(number).ok().filter(|port| *port > 0)
}

#[cfg(test)]
mod tests {
    use tiermark_model::messages::load::codes;

    use super::*;

    /// What ansible-inventory of ansible-core 2.14 printed of an INI file, with a group in another.
    const LIST: &str = include_str!("../../../fuzz/seeds/inventory.json");

    fn read(json: &str, group: &str) -> Result<Vec<String>, Refusal> {
        let servers = servers_of(json.as_bytes(), group)?;
        Ok(servers.into_iter().map(|(name, address)| format!("{name} {address}")).collect())
    }

    #[test]
    fn hosts_of_a_group_come_with_their_addresses_in_order_and_once() {
        let web = ["h1 10.0.0.1:7000", "h2 h2:7001", "h3 [fe80::1]:6379"];
        assert_eq!(read(LIST, "web").unwrap(), web);
        // Its own host comes first, then those of the groups in it; h1 is in both.
        let all = [&["head head:6379"], &web[..], &["h10 h10:6379", "h11 h11:6379"]].concat();
        assert_eq!(read(LIST, "site").unwrap(), all);
        assert_eq!(read(LIST, "all").unwrap(), all);
    }

    #[test]
    fn a_group_without_hosts_is_refused_with_a_group_that_was_meant() {
        let refused = read(LIST, "wep").unwrap_err();
        assert_eq!(refused.code, codes::inventory_group_empty);
        assert!(refused.why.contains("did you mean 'web'"), "{refused}");
        let empty = r#"{"a": {"children": ["b"]}, "b": {"children": ["a"]}}"#;
        assert_eq!(read(empty, "a").unwrap_err().why, "it has no hosts");
    }

    #[test]
    fn no_message_has_the_value_of_a_variable() {
        let hosts =
            |vars: &str| format!(r#"{{"_meta": {{"hostvars": {{"h": {vars}}}}}, "g": {{"hosts": ["h", "i"]}}}}"#);
        for (vars, code) in [
            (r#"{"ansible_host": "{{ secret }}"}"#, codes::inventory_host_wrong),
            (r#"{"ansible_host": {"__ansible_vault": "secret"}}"#, codes::inventory_host_wrong),
            (r#"{"ansible_host": "secret:7000"}"#, codes::inventory_host_wrong),
            (r#"{"redis_port": "secret"}"#, codes::inventory_host_wrong),
            (r#"{"tiermark_port": 65536, "redis_port": 1, "x": "secret"}"#, codes::inventory_host_wrong),
            (r#"{"ansible_host": "i", "ansible_password": "secret"}"#, codes::inventory_server_twice),
            (r#""secret""#, codes::inventory_unreadable),
            (r#"{"ansible_password": "secret}"#, codes::inventory_unreadable),
        ] {
            let refused = read(&hosts(vars), "g").unwrap_err();
            assert_eq!(refused.code, code, "{vars}");
            assert!(!serde_json::to_string(&refused).unwrap().contains("secret"), "{refused}");
        }
        assert_eq!(read(&hosts(r#"{"ansible_host": "fe80::1%eth0"}"#), "g").unwrap()[0], "h [fe80::1%eth0]:6379");
        let long = format!(r#"{{"g": {{"hosts": ["{}"]}}}}"#, "h".repeat(254));
        assert_eq!(read(&long, "g").unwrap_err().code, codes::inventory_host_wrong);
    }
}
