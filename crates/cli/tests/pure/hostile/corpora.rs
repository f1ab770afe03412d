//! Inputs that fuzzing kept, through the parsers that it kept them for: what it once found stays mended, and its
//! targets are built with every change.

use std::fs::File;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use flate2::read::GzDecoder;

#[path = "../../../../../fuzz/src/targets.rs"]
mod targets;

/// Of so many inputs of a corpus, one: unoptimised code takes minutes for all.
const ONE_OF: usize = 32;

#[test]
fn what_fuzzing_kept_ends_no_parser() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpora");
    for (name, target) in targets::TARGETS {
        let file = File::open(corpora.join(name).with_extension("tar.gz")).unwrap();
        let mut archive = tar::Archive::new(GzDecoder::new(file));
        let mut read = 0;
        for entry in archive.entries().unwrap().step_by(ONE_OF) {
            let mut entry = entry.unwrap();
            let (mut bytes, input) = (Vec::new(), entry.path().unwrap().display().to_string());
            entry.read_to_end(&mut bytes).unwrap();
            assert!(catch_unwind(AssertUnwindSafe(|| target(&bytes))).is_ok(), "{name}: {input}");
            read += 1;
        }
        assert!(read > 0, "{name}: {read} inputs");
    }
}
