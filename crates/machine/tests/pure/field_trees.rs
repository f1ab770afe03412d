//! The shared fixtures of inputs that users had: `field` and `field2`.

use std::path::Path;

use tiermark_machine::{LiveFacts, Root, discover};
use tiermark_model::{IdSet, Machine};

pub(crate) fn ids(text: &str) -> IdSet {
    text.parse().unwrap()
}

/// A tree of a folder of fixtures; where it is missing, that is said.
pub(crate) fn tree(folder: &str, name: &str) -> Option<Root> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures").join(folder);
    let path = dir.join(format!("{name}.tar.gz"));
    if !path.is_file() {
        println!("skipped: {} is not here", path.display());
        return None;
    }
    Some(Root::at(&path).unwrap())
}

pub(crate) fn machine(folder: &str, name: &str) -> Option<Machine> {
    Some(discover(&tree(folder, name)?, &LiveFacts::default()).unwrap())
}
