use std::io::Read;

use super::*;

fn memory(files: &[(&str, Entry)]) -> Root {
    let mut tree = Tree::default();
    for (path, entry) in files {
        assert!(tree.insert(path, entry.clone()));
    }
    Root::new(Source::Memory(Arc::new(tree)), "test")
}

fn file(text: &str) -> Entry {
    Entry::File(text.into())
}

fn link(target: &str) -> Entry {
    Entry::Link(target.into())
}

#[test]
fn absent_is_none_and_links_stay_inside() {
    let root = memory(&[
        ("sys/a/value", file("1\n")),
        ("sys/b", link("a")),
        ("sys/c", link("../../../../sys/a/value")),
        ("sys/d", link("/sys/a")),
        ("sys/loop", link("loop")),
        ("sys/out", link("../../../etc/passwd")),
    ]);
    for path in ["sys/a/value", "sys/b/value", "sys/c", "sys/d/value", "/sys/./a/value"] {
        assert_eq!(root.read(path).unwrap().as_deref(), Some("1\n"), "{path}");
    }
    for path in ["sys/x", "sys/a", "sys/a/value/deeper", "sys/loop", "sys/loop/x", "sys/out", ""] {
        assert_eq!(root.read(path).unwrap(), None, "{path}");
    }
    assert_eq!(root.list("sys/b").unwrap(), ["value"]);
    assert!(root.list("nothing").unwrap().is_empty());
}

#[test]
fn a_directory_is_left_neither_by_links_nor_by_dots() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().join("wrapped");
    std::fs::create_dir_all(base.join("sys/devices")).unwrap();
    std::fs::write(dir.path().join("secret"), "s").unwrap();
    std::fs::write(base.join("sys/devices/x"), "7").unwrap();
    std::os::unix::fs::symlink("../../secret", base.join("sys/out")).unwrap();
    std::os::unix::fs::symlink("/sys/devices/x", base.join("sys/in")).unwrap();
    let root = Root::at(dir.path()).unwrap();
    assert_eq!(root.read("sys/in").unwrap().as_deref(), Some("7"));
    assert_eq!(root.read("sys/out").unwrap(), None);
    assert_eq!(root.read("../secret").unwrap(), None);
    assert_eq!(root.list("sys").unwrap(), ["devices", "in", "out"]);
}

#[test]
fn numbered_names_ignore_the_rest() {
    let root = memory(&[
        ("d/cpu10/x", file("")),
        ("d/cpu2", Entry::Dir(Vec::new())),
        ("d/cpufreq", Entry::Dir(Vec::new())),
        ("d/cpu", Entry::Dir(Vec::new())),
        ("d/cpu99999999999", Entry::Dir(Vec::new())),
    ]);
    assert_eq!(root.numbered("d", "cpu").unwrap(), [2, 10]);
}

#[test]
fn what_is_no_tree_is_refused_in_words() {
    let dir = tempfile::tempdir().unwrap();
    assert!(Root::at(dir.path()).unwrap_err().to_string().contains("sys/"));
    assert!(Root::at(dir.path().join("absent")).unwrap_err().to_string().contains("absent"));
    // The error quotes nothing of a file that is no archive: it may be a secret.
    let error = Root::from_archive("file", &b"swordfish ".repeat(100)).unwrap_err().to_string();
    assert!(error.contains("not a tar archive") && !error.contains("sword"), "{error}");
    for bytes in [&b""[..], b"BZhgarbage", &[0x1f, 0x8b, 8, 0, 1], &[7; 2000]] {
        let error = Root::from_archive("file", bytes).unwrap_err().to_string();
        assert!(error.starts_with("file: "), "{error}");
    }
}

#[test]
fn files_beyond_the_limit_are_refused() {
    let root = Root::from_files("test", [("f", vec![b'0'; MAX_FILE_BYTES as usize + 1])]);
    assert!(matches!(root.read("f"), Err(DiscoverError::TooLarge { .. })));
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("sys/devices")).unwrap();
    std::fs::File::create(dir.path().join("f")).unwrap().set_len(MAX_FILE_BYTES + 1).unwrap();
    assert!(matches!(Root::at(dir.path()).unwrap().read("f"), Err(DiscoverError::TooLarge { .. })));
}

#[test]
fn a_path_on_disk_follows_links_inside_the_root_only() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("sys/devices/vda/queue")).unwrap();
    std::fs::create_dir_all(dir.path().join("sys/block")).unwrap();
    let real = dir.path().join("sys/devices/vda/queue/nr_requests");
    std::fs::write(&real, "128").unwrap();
    for (link, target) in [("in", "../devices/vda"), ("absolute", "/sys/devices/vda"), ("out", "/etc")] {
        std::os::unix::fs::symlink(target, dir.path().join("sys/block").join(link)).unwrap();
    }
    let root = Root::at(dir.path()).unwrap();
    for link in ["in", "absolute"] {
        let found = root.on_disk(&format!("sys/block/{link}/queue/nr_requests")).unwrap();
        assert_eq!(found.as_ref(), Some(&real), "{link}");
    }
    assert_eq!(root.on_disk("sys/block/out/passwd").unwrap(), None);
    assert!(Root::live().on_disk("proc/self/status").unwrap().is_some());
    // An error is no absence.
    let dir = tempfile::tempdir().unwrap();
    let ring = dir.path().join("ring");
    std::os::unix::fs::symlink(&ring, &ring).unwrap();
    assert!(Root::live().on_disk(ring.to_str().unwrap()).is_err());
    assert_eq!(Root::live().on_disk(dir.path().join("none").to_str().unwrap()).unwrap(), None);
    assert_eq!(Root::from_files("test", [("f", "")]).on_disk("f").unwrap(), None);
}

/// An archive of records, each with its path.
fn archive(write: impl FnOnce(&mut tar::Builder<Vec<u8>>)) -> Result<Root, DiscoverError> {
    let mut builder = tar::Builder::new(Vec::new());
    write(&mut builder);
    Root::from_archive("test", &builder.into_inner().unwrap())
}

fn record(builder: &mut tar::Builder<Vec<u8>>, path: &str, text: &str) {
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    builder.append_data(&mut header, path, text.as_bytes()).unwrap();
}

#[test]
fn names_longer_than_a_header_are_read() {
    let long = format!("sys/devices/{}/x", "deep/".repeat(40));
    let pax = "sys/devices/of_pax";
    let root = archive(|builder| {
        record(builder, &long, "1");
        let target = format!("{}x", "deep/".repeat(40));
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        builder.append_link(&mut header, "sys/devices/link", &target).unwrap();
        builder.append_pax_extensions([("path", pax.as_bytes())]).unwrap();
        record(builder, "short", "2");
        record(builder, "sys/devices/last", "3");
    });
    let root = root.unwrap();
    for (path, text) in [(long.as_str(), "1"), ("sys/devices/link", "1"), (pax, "2"), ("sys/devices/last", "3")] {
        assert_eq!(root.read(path).unwrap().as_deref(), Some(text), "{path}");
    }
}

/// A few kilobytes, compressed, that would take gigabytes.
#[test]
fn archives_that_are_larger_inside_than_any_machine_are_refused() {
    // A name of 200 MB; the size of its record says so before any of it is read.
    let name = archive(|builder| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::GNULongName);
        header.set_size(200 << 20);
        header.set_cksum();
        builder.append(&header, std::io::empty()).unwrap();
    });
    assert!(matches!(name, Err(DiscoverError::NotATree { .. })), "{name:?}");
    // A file of 600 MB, in front of another.
    let mut header = tar::Header::new_gnu();
    header.set_path("sys/devices/x").unwrap();
    header.set_size(600 << 20);
    header.set_cksum();
    let stream = std::io::Cursor::new(header.as_bytes().to_vec()).chain(std::io::repeat(0).take(700 << 20));
    let bomb = super::archive::unpack("bomb.tar", stream).map(drop);
    assert!(matches!(bomb, Err(DiscoverError::TooLarge { limit: 0x2000_0000, .. })), "{bomb:?}");
    // Paths of 48 parts, each of which is a directory.
    let deep = archive(|builder| {
        for number in 0..13_000 {
            record(builder, &format!("{number}{}/x", "/d".repeat(46)), "");
        }
    });
    assert!(matches!(deep, Err(DiscoverError::TooLarge { .. })), "{deep:?}");
    let wide = archive(|builder| {
        for number in 0..17_000 {
            record(builder, &format!("{}{number}", "n".repeat(4000)), "");
        }
    });
    assert!(matches!(wide, Err(DiscoverError::TooLarge { .. })), "{wide:?}");
    // Targets that are no text take three times their length as text.
    let links =
        archive(|builder| (0..12_000).for_each(|number| linked(builder, &format!("sys/{number}"), &[0xff; 4000])));
    assert!(matches!(links, Err(DiscoverError::TooLarge { .. })), "{links:?}");
}

/// A link with a target of any length.
fn linked(builder: &mut tar::Builder<Vec<u8>>, path: &str, target: &[u8]) {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::GNULongLink);
    header.set_size(target.len() as u64);
    header.set_cksum();
    builder.append(&header, target).unwrap();
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    builder.append_link(&mut header, path, "short").unwrap();
}

#[test]
fn a_link_longer_than_any_kernels_is_left_out() {
    let there = format!("{}proc/cpuinfo", "./".repeat(2000));
    let root = archive(|builder| {
        record(builder, "proc/cpuinfo", "1");
        linked(builder, "sys/possible", format!("../{there}").as_bytes());
        linked(builder, "sys/impossible", format!("../{}{there}", "./".repeat(48)).as_bytes());
    });
    let root = root.unwrap();
    assert_eq!(root.list("sys").unwrap(), ["possible"]);
    assert_eq!(root.read("sys/possible").unwrap().as_deref(), Some("1"));
}

/// A few links show a file or directory at any number of paths.
#[test]
fn a_metered_root_ends_what_repeats_itself() {
    let root = memory(&[("file", Entry::File(vec![b'1'; MAX_FILE_BYTES as usize])), ("link", link("file"))]).metered();
    let enough = MOST_COST / MAX_FILE_BYTES as usize;
    let mut reads = (0..2 * enough).map(|_| root.read_bytes("link"));
    assert!(reads.by_ref().take(enough - 1).all(|read| read.is_ok()));
    assert!(reads.take(2).any(|read| matches!(read, Err(DiscoverError::Repeats { .. }))));
    assert!(matches!(root.list(""), Err(DiscoverError::Repeats { .. })));
    assert!(root.metered().list("").is_ok(), "each discovery has its own");
}
