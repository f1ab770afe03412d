//! The schema of documents of load, as committed.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

use std::fs;
use std::path::Path;

use tiermark_model::load::{LOAD_SCHEMA, LoadRun};

#[test]
fn the_committed_schema_is_that_of_the_model() {
    let number = LOAD_SCHEMA.rsplit('/').next().unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schema/load-{number}.json"));
    let generated = serde_json::to_string_pretty(&LoadRun::json_schema()).unwrap() + "\n";
    if std::env::var_os("TIERMARK_BLESS").is_some() {
        fs::write(&path, &generated).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == generated,
        "{} is not what the model says; if the change is meant (adding fields only!), regenerate it with:\n  \
         TIERMARK_BLESS=1 cargo test -p tiermark-load",
        path.display()
    );
}
