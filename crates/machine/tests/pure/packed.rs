//! Archives that were packed again, and whose damage their own sums show. The fuzz targets `tree`, `capture` and
//! `archive` read whatever else a tree or an archive may hold.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tiermark_machine::{LiveFacts, Root, discover};

/// An archive that is not compressed.
fn archive() -> Vec<u8> {
    let mut plain = Vec::new();
    GzDecoder::new(&include_bytes!("../trees/vm.tar.gz")[..]).read_to_end(&mut plain).unwrap();
    plain
}

/// The same compressed, with the checksum of what it is now.
fn packed(archive: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(archive).unwrap();
    packed.finish().unwrap()
}

#[test]
fn an_archive_that_was_packed_again_is_the_same_machine() {
    let machine = |bytes: &[u8]| discover(&Root::from_archive("x", bytes).unwrap(), &LiveFacts::default()).unwrap();
    assert_eq!(machine(&packed(&archive())), machine(include_bytes!("../trees/vm.tar.gz")));
    // A header with another name fails the archive's own sum, and is seen.
    let mut damaged = archive();
    damaged[0] ^= 1;
    assert!(Root::from_archive("x", &packed(&damaged)).is_err());
}
