//! Memory of files: mapped to read only where the file exists, and never written to.

use std::fs;
use std::path::Path;

use crate::common::{SHOT, assert_sane, chase, first_cpu, host, region, stream};
use tiermark_engine::Host;
use tiermark_model::messages::setup::codes;
use tiermark_model::{ChainLayout, FileMemory, Layout, MemPolicy, PageKind, RegionSetup};

const BYTES: u64 = 64 << 10;

fn of_file(text: &str, layout: Layout) -> RegionSetup {
    RegionSetup { policy: MemPolicy::File(text.parse().unwrap()), ..region(BYTES, PageKind::Base, layout) }
}

/// A directory of the memory's own file system.
fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap()
}

fn file(path: &Path) -> String {
    format!("file:{}", path.display())
}

#[test]
fn a_file_that_exists_is_read_and_stays_as_it_was() {
    let mut host = host();
    let cpus: Vec<u32> = host.machine().allowed_cpus.iter().take(2).collect();
    let directory = directory();
    let path = directory.path().join("data");
    // The second region begins a piece further on.
    let contents: Vec<u8> = (0..(2 << 20) + BYTES).map(|at| (at % 251) as u8).collect();
    fs::write(&path, &contents).unwrap();
    let setup = stream(&cpus, &of_file(&file(&path), Layout::Data), "read/portable", &[]);
    let mut rig = host.prepare(&setup).unwrap();
    let shot = rig.shot(SHOT).unwrap();
    shot.threads.iter().zip(&cpus).for_each(|(thread, cpu)| assert_sane(thread, *cpu));
    let proof = rig.placement();
    assert_eq!((proof.on_target.unwrap_or(1.0), proof.page_share), (1.0, Some(1.0)), "{proof:?}");
    drop(rig);
    // What writes is refused, whoever asks for it.
    for kernel in ["write/portable", "copy/portable"] {
        let setup = stream(&cpus[..1], &of_file(&file(&path), Layout::Data), kernel, &[]);
        assert_eq!(host.prepare(&setup).map(|_| ()).unwrap_err().code, codes::work_unsuitable, "{kernel}");
    }
    let chain = of_file(&file(&path), Layout::Chain(ChainLayout::Random));
    assert!(host.prepare(&chase(cpus[0], chain, 1)).is_err());
    assert!(fs::read(&path).unwrap() == contents);
}

#[test]
fn files_that_cannot_be_mapped_are_refused() {
    let mut host = host();
    let cpu = first_cpu(host.machine());
    let directory = directory();
    let mut refused = |text: String| {
        let setup = stream(&[cpu], &of_file(&text, Layout::Data), "read/portable", &[]);
        let refusal = host.prepare(&setup).map(|_| ()).unwrap_err();
        assert!(!refusal.cure.is_empty(), "{refusal}");
        refusal.code
    };
    let path = directory.path().join("data");
    assert_eq!(refused(file(&path)), codes::memory_file_missing);
    fs::write(&path, [1; 4096]).unwrap();
    assert_eq!(refused(file(&path)), codes::memory_file_short);
    // A device without memory to map, and a directory in which no file can be made.
    assert_eq!(refused("file:/dev/tty".to_owned()), codes::memory_file_unmappable);
    assert_eq!(refused("dir:/proc".to_owned()), codes::memory_dir_unusable);
}

#[test]
fn a_new_file_takes_chains_and_stores_and_leaves_nothing() {
    let mut host = host();
    let cpu = first_cpu(host.machine());
    let directory = directory();
    let new = |read_only: bool, layout: Layout| {
        let path = directory.path().display().to_string();
        let policy = MemPolicy::File(FileMemory { path, new: true, read_only });
        RegionSetup { policy, ..region(BYTES, PageKind::Base, layout) }
    };
    let chain = Layout::Chain(ChainLayout::Random);
    let setups = [
        chase(cpu, new(false, chain), 2),
        chase(cpu, new(true, chain), 1),
        stream(&[cpu], &new(false, Layout::Data), "copy/portable", &[]),
        stream(&[cpu], &new(true, Layout::Data), "read/portable", &[]),
    ];
    for setup in &setups {
        let mut rig = host.prepare(setup).unwrap();
        assert_eq!(directory.path().read_dir().unwrap().count(), 0, "the file has no name");
        assert_sane(&rig.shot(SHOT).unwrap().threads[0], cpu);
    }
    let closed = stream(&[cpu], &new(true, Layout::Data), "write/portable", &[]);
    assert_eq!(host.prepare(&closed).map(|_| ()).unwrap_err().code, codes::work_unsuitable);
}
