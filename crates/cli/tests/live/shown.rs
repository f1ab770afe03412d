//! What is shown again of load and of tenants, from documents of a real server.

use crate::common::User;
use crate::common::redis::Redis;

/// A small guest: one socket, two cores.
const GUEST: &str = "synth:cores=2,smt=1,l3=8M,mem=4G";

/// What a command printed, and what `show` says of the document in a file that it wrote.
fn shown_again(user: &User, arguments: &[&str], file: &str) -> (String, String) {
    let out = user.run(&[arguments, &[&format!("--json={file}")]].concat()).expect(0).out;
    (out, user.run(&["show", file]).expect(0).out)
}

#[test]
fn load_is_shown_again_from_its_document() {
    let Some(redis) = Redis::start(&[]) else { return };
    let user = User::new();
    let target = format!("--target={}", redis.target);
    let open =
        ["load", &target, "--fill", "--rps=200", "--arrivals=poisson", "--duration=0.5", "--warmup=0", "--verify"];
    let closed = ["load", &target, "-n", "100", "-c", "2", "--warmup=0", "--histograms"];
    for arguments in [&open[..], &closed] {
        let (out, again) = shown_again(&user, &[arguments, &["--keys=300", "--quiet"]].concat(), "load.json");
        assert_eq!(again, out);
        let document = crate::common::document(&user.path("load.json"));
        assert_eq!(
            document["measured"]["all"]["response"]["histogram"].is_object(),
            arguments.contains(&"--histograms")
        );
        assert_eq!(user.run(&["show", "load.json", "--json"]).expect(0).json(), document);
    }
    for form in [&["show", "load.json", "--redact"][..], &["show", "load.json", "--redact", "--json"]] {
        let redacted = user.run(form).expect(0).out;
        assert!(!redacted.is_empty() && !redacted.contains(&redis.target.to_string()), "{redacted}");
    }
    user.run(&["show", "load.json", "--reanalyse"]).expect(2);
}

#[test]
fn capacity_is_shown_again_from_its_document_and_listed() {
    let none = User::new();
    none.run(&["list", "capacity"]).expect(0);
    let Some(redis) = Redis::start(&[]) else { return };
    let user = User::new();
    user.run(&["latency", "--quick", "--simulate", GUEST]).expect(0);
    let target = format!("--target={}", redis.target);
    let search =
        ["capacity", "--force", "--scenario=mini", "--backend=external", "--tiers=dram", "--records=500", "--rps=1000"];
    let short = ["--warmup=0", "--measure=0.5s", "--iterations=1", "--level=p99 < 20s", "--seed=1", "--quiet"];
    let (out, again) = shown_again(&user, &[&search[..], &[&target], &short].concat(), "found.json");
    assert_eq!(again, out);
    // It is the last of all, and known by the beginning of its name.
    let kept = std::fs::read_dir(user.path("capacity")).unwrap().flatten().map(|entry| entry.path());
    let id = kept.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).next().unwrap();
    for reference in ["last", &id, &id[..id.len() - 1]] {
        assert_eq!(user.run(&["show", reference]).expect(0).out, out, "{reference}");
    }
    // What only runs of probes have is shown of the last of these, and what is explained is the newest of all.
    assert!(user.run(&["show", "--why"]).expect(0).out.len() > 10);
    assert!(user.run(&["explain", &id]).expect(0).out.contains("capacity mini"));
    let explained = user.run(&["explain", "--json"]).expect(0).json();
    assert_eq!(explained["run"]["name"], id.as_str(), "{explained}");
    let found = explained["found"].as_array().unwrap();
    assert!(found.iter().any(|one| one["rule"].as_str().unwrap().starts_with("tenants-")), "{explained}");
    user.run(&["os", "--quick", "--simulate", GUEST, "--only=getppid", "-q"]).expect(0);
    let ran = user.run(&["explain", "--json"]).expect(0);
    assert!(ran.json()["run"]["name"] == id.as_str() && ran.err.contains("1 newer run"), "{}{}", ran.out, ran.err);
    std::fs::remove_dir_all(user.path("runs")).unwrap();
    user.run(&["latency", "--quick", "--simulate", GUEST]).expect(0);
    let told = user.run(&["show", &id[..2]]).expect(2).err;
    assert!(told.contains(&id), "that of a probe begins so too: {told}");
    let listed = || user.run(&["list", "capacity"]).expect(0).out;
    let list = listed();
    assert!(list.contains(&id) && list.contains("mini: dram"), "{list}");
    // Without its document it is one that was killed.
    std::fs::remove_file(user.path(&format!("capacity/{id}.json"))).unwrap();
    let told = user.run(&["show", &id]).expect(2).err;
    assert!(told.contains("--resume="), "{told}");
    assert!(listed().contains("--resume"), "{}", listed());
    assert!(user.run(&["show"]).expect(0).out.contains("latency"), "the last that has a document");
}
