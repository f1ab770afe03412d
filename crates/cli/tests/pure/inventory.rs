//! Servers of an Ansible inventory: with a program of the name `ansible-inventory`, and with Ansible's own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::common::{Ran, User};

/// A capacity run of a group, which is only shown: it begins with the scenario as a file.
const CAPACITY: [&str; 8] = [
    "capacity",
    "--scenario=mini",
    "--backend=external",
    "--tiers=dram",
    "--dry-run",
    "--most-tenants=1",
    "--inventory=hosts.ini",
    "--group=web",
];

/// Runs the program where `ansible-inventory` is this script.
fn with_script(user: &User, script: &str, words: &[&str]) -> Ran {
    let programs = user.path("programs");
    fs::create_dir_all(&programs).unwrap();
    let file = programs.join("ansible-inventory");
    fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", programs.display());
    Ran::from(user.command(words).env("PATH", path).output().unwrap())
}

#[test]
fn tenants_are_the_hosts_of_a_group_in_its_order() {
    let user = User::new();
    let list = r#"[ "$*" = "--inventory=hosts.ini --list" ] || exit 9
echo '{"_meta": {"hostvars": {"b": {"ansible_host": "127.0.0.1", "redis_port": 1, "ansible_password": "hidden"},
"a": {"ansible_host": "::1", "tiermark_port": 2}}}, "web": {"hosts": ["b"], "children": ["more"]}, "more": {"hosts": ["a"]}}'"#;
    let ran = with_script(&user, list, &CAPACITY);
    assert!(ran.out.contains(r#"targets = ["127.0.0.1:1", "[::1]:2"]"#), "{}\n{}", ran.out, ran.err);
    assert!(!format!("{}{}", ran.out, ran.err).contains("hidden"));
    // A load connects to the first of them.
    let load = with_script(&user, list, &["load", "--inventory=hosts.ini", "--group=web", "--no-save"]).expect(4);
    assert!(load.err.contains("127.0.0.1:1: no server listens there"), "{}", load.err);
}

#[test]
fn what_ansible_says_is_not_repeated_and_a_cure_is() {
    let user = User::new();
    let fails = "echo 'the line is: ansible_password=hidden' >&2; echo '{\"x\": \"hidden\"}'; exit 1";
    for (script, said) in [
        (fails, "ansible-inventory ended with an error (see why: ansible-inventory -i hosts.ini --graph)"),
        ("echo '{\"x\": \"hidden\"}'", "the JSON of groups and hosts"),
        ("echo '{\"wet\": {\"hosts\": [\"a\"]}}'", "did you mean 'wet'?"),
        ("exec yes", "ansible-inventory prints more than 64 MiB"),
    ] {
        let refused = with_script(&user, script, &CAPACITY).expect(4);
        assert!(refused.err.contains(said) && refused.out.is_empty(), "{}", refused.err);
        assert!(!refused.err.contains("hidden"), "{}", refused.err);
    }
    let missing = user.command(&CAPACITY).env("PATH", user.home.path()).output().unwrap();
    let missing = Ran::from(missing).expect(4).err;
    assert!(missing.contains("apt-get install ansible-core"), "{missing}");
}

#[test]
fn a_group_is_named_with_its_inventory_and_instead_of_servers() {
    let user = User::new();
    for (words, said) in [
        (&["load", "--inventory=hosts.ini"][..], "--group"),
        (&["load", "--group=web"], "--inventory"),
        (&["load", "--inventory=hosts.ini", "--group=web", "--target=a"], "cannot be used with"),
        (&["capacity", "--scenario=mini", "--inventory=hosts.ini", "--group=web"], "need --backend external"),
    ] {
        let refused = user.run(words).expect(2).err;
        assert!(refused.contains(said), "{refused}");
    }
}

#[test]
fn ansible_reads_an_inventory_of_its_own() {
    if !Path::new("/usr/bin/ansible-inventory").exists() {
        crate::common::skipped(format_args!("needs ansible-inventory (Debian: ansible-core)"));
        return;
    }
    let user = User::new();
    let inventory = "[web]\nh1 ansible_host=127.0.0.1 ansible_password=hidden redis_port=1\n[db]\nh[08:09]\n\
                     [site:children]\nweb\ndb\n[db:vars]\ntiermark_port=7001\n";
    fs::write(user.path("hosts.ini"), inventory).unwrap();
    let words = CAPACITY.map(|word| if word == "--group=web" { "--group=site" } else { word });
    let ran = Ran::from(user.command(&words).env("HOME", user.home.path()).output().unwrap());
    assert!(ran.out.contains(r#"targets = ["127.0.0.1:1", "h08:7001", "h09:7001"]"#), "{}\n{}", ran.out, ran.err);
    assert!(!format!("{}{}", ran.out, ran.err).contains("hidden"));
}
