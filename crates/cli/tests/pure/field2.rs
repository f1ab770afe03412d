//! What commands say of the inputs of `shared/fixtures/field2`, each beside a small tree of the same kind where the
//! crates below have none. Where the fixtures are missing, the tests say so and pass.

use std::path::{Path, PathBuf};

use crate::common::{User, skipped};

fn fixture(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures/field2").join(name);
    if !path.exists() {
        skipped(format_args!("{} is not here", path.display()));
        return None;
    }
    Some(path)
}

/// The text of a command on a captured machine, in one line, and its exit code.
fn said(arguments: &[&str], option: &str, name: &str) -> Option<(String, Option<i32>)> {
    let path = fixture(&format!("{name}.tar.gz"))?;
    let ran = User::new().run(&[arguments, &[option, path.to_str().unwrap()]].concat());
    let text = format!("{}{}", ran.out, ran.err);
    Some((text.split_whitespace().collect::<Vec<_>>().join(" "), ran.code))
}

#[test]
fn doctor_says_what_each_machine_has() {
    for (name, code, words) in [
        ("01-amd-acpi-cpufreq", 0, &["0 problems"][..]),
        ("01b-amd-pstate-capped", 3, &["9 % of the highest clock"]),
        ("02-isolcpus", 0, &["measure on them with --cpus 14-15", "--cpus may name 14-15 too"]),
        ("03-leaf-group-only", 0, &["memory limit: none visible: limits of parent control groups cannot be read here"]),
        ("05-overcommit-hugepages", 0, &["none, up to 4096 more of 2 MiB on demand"]),
        ("06-xen-dom0", 3, &["Xen dom0: it sees the memory modules of the whole board", "4 of 16 slots filled"]),
        ("08-gvisor", 0, &["container: gVisor, a program that answers system calls", "gVisor shows none"]),
        ("12-mixed-microcode", 0, &["0x500002c (cpus 4-7), 0x5003604 (cpus 0-3)"]),
        ("14-zram-slots-not-data", 0, &["7.13 GiB of 8 GiB used; /dev/zram0 holds 2.3 GiB in 903.81 MiB of memory"]),
        ("18-poisoned-pages", 3, &["1280 pages of node 1 out of use after uncorrected memory errors (5 MiB"]),
    ] {
        let Some((text, exit)) = said(&["doctor", "-v"], "--root", name) else { return };
        assert_eq!(exit, Some(code), "{name}: {text}");
        for words in words {
            assert!(text.contains(words), "{name}: no '{words}' in: {text}");
        }
    }
}

#[test]
fn isolated_cpus_and_pages_on_demand_are_planned() {
    let isolated = ["latency", "--cpus", "14,15", "--dry-run"];
    let Some((text, code)) = said(&isolated, "--simulate", "02-isolcpus") else { return };
    assert_eq!(code, Some(0), "{text}");
    let on_demand = ["latency", "--pages", "2M", "--sizes", "1G", "--dry-run"];
    let (text, code) = said(&on_demand, "--simulate", "05-overcommit-hugepages").unwrap();
    assert!(code == Some(0) && !text.contains("are free"), "{text}");
}

#[test]
fn documents_of_powershell_are_read() {
    let Some(directory) = fixture("13-powershell-documents") else { return };
    for number in 1..=3 {
        let path = directory.join(format!("node{number}.json"));
        let ran = User::new().run(&["show", path.to_str().unwrap()]);
        assert!(ran.err.contains("tiermark/run/2"), "{}", ran.err);
    }
}
