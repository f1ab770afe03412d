//! Runs kept under names.

use tiermark_history::{Baselines, Store};
use tiermark_model::messages::documents::codes;
use tiermark_model::{Machine, RUN_SCHEMA, Run, Tool};

fn run(id: &str) -> Run {
    let json = serde_json::json!({
        "schema": RUN_SCHEMA, "id": id, "title": "survey", "tool": Tool::default(), "command": [], "started": "",
        "seconds": 1.0, "complete": true, "seed": 1, "simulated": null, "machine": Machine::default(),
        "bench": tiermark_model::Bench::default(), "warnings": [], "experiments": [],
    });
    serde_json::from_value(json).unwrap()
}

fn ids(kept: &Baselines, name: &str) -> Vec<String> {
    kept.load_all(name).unwrap().into_iter().map(|run| run.id).collect()
}

#[test]
fn a_baseline_of_several_runs_is_read_and_so_is_one_of_an_earlier_version() {
    let home = tempfile::tempdir().unwrap();
    let kept = Baselines::beside(&Store::at(home.path().join("runs")));
    let path = kept.set("good", &[run("a"), run("b"), run("c")]).unwrap();
    assert_eq!(ids(&kept, "good"), ["a", "b", "c"]);
    // One document, on one line or on many.
    std::fs::write(&path, serde_json::to_vec(&run("old")).unwrap()).unwrap();
    assert_eq!(ids(&kept, "good"), ["old"]);
    std::fs::write(&path, serde_json::to_vec_pretty(&run("older")).unwrap()).unwrap();
    assert_eq!(ids(&kept, "good"), ["older"]);
    std::fs::write(&path, "{}\n{}\n").unwrap();
    assert!(kept.load_all("good").is_err());
}

#[test]
fn a_baseline_is_kept_replaced_listed_and_removed() {
    let home = tempfile::tempdir().unwrap();
    let kept = Baselines::beside(&Store::at(home.path().join("runs")));
    assert!(kept.list().unwrap().is_empty());
    assert_eq!(kept.load_all("good").unwrap_err().code, codes::baseline_unknown);
    let path = kept.set("good", &[run("a")]).unwrap();
    assert_eq!(path, home.path().join("baselines/good.json"));
    assert_eq!(ids(&kept, "good"), ["a"]);
    kept.set("good", &[run("b")]).unwrap();
    kept.set("v1.2-rc_3", &[run("c")]).unwrap();
    assert_eq!(ids(&kept, "good"), ["b"]);
    let mut names: Vec<String> = kept.list().unwrap().into_iter().map(|entry| entry.id).collect();
    names.sort_unstable();
    assert_eq!(names, ["good", "v1.2-rc_3"]);
    kept.remove("good").unwrap();
    assert_eq!(kept.remove("good").unwrap_err().code, codes::baseline_unknown);
}

#[test]
fn a_name_reaches_no_other_directory() {
    let home = tempfile::tempdir().unwrap();
    let kept = Baselines::beside(&Store::at(home.path().join("runs")));
    let long = "a".repeat(65);
    for name in ["", ".hidden", "..", "../runs/x", "a/b", "a b", "a\n", "ä", long.as_str()] {
        for refused in [kept.set(name, &[run("a")]).map(drop), kept.load_all(name).map(drop), kept.remove(name)] {
            assert_eq!(refused.unwrap_err().code, codes::baseline_name, "{name:?}");
        }
    }
    assert!(!home.path().join("baselines").exists());
}
