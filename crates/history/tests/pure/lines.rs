//! Lines on real files, and on files that fail.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tiermark_history::lines::{Appender, Damaged, Lines, MOST_BYTES, Storage, Survives};

const BOTH: [Survives; 2] = [Survives::Kill, Survives::PowerLoss];

fn texts(lines: &Lines) -> Vec<String> {
    let mut texts = Vec::new();
    let read = lines.each(Damaged::Ends, |line| {
        texts.push(line);
        Ok(())
    });
    read.unwrap();
    texts
}

/// A file of a directory that does not exist yet, with a head and these lines.
fn file(directory: &Path, survives: Survives, lines: &[&str]) -> PathBuf {
    let path = directory.join("made/for/it.lines");
    let mut appender = Appender::create(&path, survives, &"head").unwrap();
    lines.iter().for_each(|line| appender.append(&[line]).unwrap());
    path
}

#[test]
fn many_lines_come_back_in_their_order_over_several_writers() {
    for survives in BOTH {
        let dir = tempfile::tempdir().unwrap();
        let path = file(dir.path(), survives, &[]);
        let mut expected = Vec::new();
        for writer in 0..10 {
            let (mut appender, lines) = Appender::open(&path, survives).unwrap();
            assert_eq!((lines.head(), texts(&lines)), (b"\"head\"\n".as_slice(), expected.clone()));
            for number in 0..100 {
                let line = format!("{writer} {number}\n");
                appender.append(std::slice::from_ref(&line)).unwrap();
                expected.push(line);
            }
        }
        assert_eq!(texts(&Lines::read(&path).unwrap()), expected);
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600,
            "only its owner reads and writes it"
        );
    }
}

#[test]
fn a_torn_last_line_is_read_by_nobody_and_gives_way_to_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), Survives::PowerLoss, &["first", "second"]);
    let bytes = fs::read(&path).unwrap();
    for length in 0..=bytes.len() {
        fs::write(&path, &bytes[..length]).unwrap();
        let whole = bytes[..length].iter().filter(|byte| **byte == b'\n').count();
        let (mut appender, lines) = Appender::open(&path, Survives::PowerLoss).unwrap();
        assert_eq!(texts(&lines), ["first", "second"][..whole.saturating_sub(1)], "{length}");
        assert_eq!(fs::read(&path).unwrap(), bytes[..length], "to open changes nothing");
        appender.append(&["third"]).unwrap();
        let expected = [&bytes[..lines.bytes() as usize], b"\"third\"\n"].concat();
        assert_eq!(fs::read(&path).unwrap(), expected, "{length}");
    }
}

#[test]
fn a_damaged_line_is_named_and_what_is_behind_it_read_where_lines_stand_for_themselves() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    fs::write(&path, b"{}\n1\n\n\xff\n3\n").unwrap();
    let lines = Lines::read(&path).unwrap();
    for (damaged, expected) in [(Damaged::Ends, &[1][..]), (Damaged::Alone, &[1, 3])] {
        let mut seen: Vec<u32> = Vec::new();
        let read = lines.each(damaged, |number| {
            seen.push(number);
            Ok(())
        });
        assert_eq!(seen, expected, "a line that holds nothing is no line");
        assert_eq!(read.unwrap_err().number, 4);
    }
    let refused = lines.each(Damaged::Ends, |number: u32| Err(format!("{number} is not wanted"))).unwrap_err();
    assert_eq!(refused.to_string(), "line 2: 1 is not wanted");
}

#[test]
fn a_file_has_one_writer() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    let first = Appender::create(&path, Survives::PowerLoss, &1).unwrap();
    assert_eq!(Appender::open(&path, Survives::PowerLoss).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(Appender::create(&path, Survives::Kill, &2).unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(Lines::read(&path).unwrap().head(), b"1\n", "who only reads needs no lock");
    drop(first);
    assert!(Appender::open(&path, Survives::PowerLoss).is_ok());
}

#[test]
fn a_file_that_is_too_large_is_refused_before_it_fills_memory() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), Survives::Kill, &[]);
    File::options().write(true).open(&path).unwrap().set_len(MOST_BYTES + 1).unwrap();
    assert_eq!(Lines::read(&path).unwrap_err().kind(), ErrorKind::FileTooLarge);
}

#[test]
fn what_cannot_be_written_leaves_no_file() {
    /// Data that no JSON text can hold: an object whose key is a list.
    fn unwritable() -> std::collections::BTreeMap<Vec<u8>, u8> {
        [(vec![1], 1)].into()
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    assert!(Appender::create(&path, Survives::Kill, &unwritable()).is_err());
    assert!(!path.exists());
    let mut appender = Appender::create(&path, Survives::Kill, &1).unwrap();
    assert!(appender.append(&[unwritable()]).is_err());
    assert_eq!(fs::read(&path).unwrap(), b"1\n");
}

#[test]
fn a_full_disk_is_an_error_every_time() {
    // /dev/full answers every write as a full disk does, and cannot be cut.
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut appender = Appender::new(full, Survives::Kill);
    assert_eq!(appender.append(&["x"]).unwrap_err().kind(), ErrorKind::StorageFull);
    assert!(appender.append(&["x"]).is_err());
}

/// What a [`Disk`] answers to a write.
#[derive(Debug, Clone, Copy)]
enum Answer {
    Taken,
    /// It takes a part of the bytes, in hundredths.
    Short(usize),
    /// It takes them, and then cannot sync them.
    Unsynced,
    Refused,
}

/// A file in memory, on a disk that fails when a test says so.
struct Disk<'a> {
    bytes: &'a RefCell<Vec<u8>>,
    answer: &'a Cell<Answer>,
    cuts: &'a Cell<bool>,
}

impl Write for Disk<'_> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let taken = match self.answer.get() {
            Answer::Taken | Answer::Unsynced => text.len(),
            Answer::Short(hundredths) => text.len() * hundredths / 100,
            Answer::Refused => return Err(ErrorKind::StorageFull.into()),
        };
        self.bytes.borrow_mut().extend(&text[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Storage for Disk<'_> {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        if !self.cuts.get() {
            return Err(ErrorKind::ReadOnlyFilesystem.into());
        }
        self.bytes.borrow_mut().truncate(length as usize);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        if matches!(self.answer.get(), Answer::Unsynced) { Err(ErrorKind::Other.into()) } else { Ok(()) }
    }
}

fn answers() -> impl Strategy<Value = Answer> {
    prop_oneof![
        4 => Just(Answer::Taken),
        1 => (0usize..100).prop_map(Answer::Short),
        1 => Just(Answer::Unsynced),
        1 => Just(Answer::Refused),
    ]
}

proptest! {
    /// Whatever fails and whenever: a line that was acknowledged is there, in its order, and no line is joined to
    /// another.
    #[test]
    fn acknowledged_lines_are_there(
        writes in prop::collection::vec((prop::collection::vec(".{0,9}", 0..4), answers(), any::<bool>()), 0..20),
    ) {
        let (bytes, answer, cuts) = (RefCell::new(Vec::new()), Cell::new(Answer::Taken), Cell::new(true));
        let disk = Disk { bytes: &bytes, answer: &answer, cuts: &cuts };
        let mut appender = Appender::new(disk, Survives::PowerLoss);
        appender.append(&["head"]).unwrap();
        let mut acknowledged: Vec<String> = Vec::new();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        for (lines, next, can_cut) in writes {
            answer.set(next);
            cuts.set(can_cut);
            let failed = appender.append(&lines).is_err();
            if !failed {
                acknowledged.extend(lines);
            }
            fs::write(&path, &*bytes.borrow()).unwrap();
            let there = texts(&Lines::read(&path).unwrap());
            // What could neither be written nor be cut off may be there until the next line.
            prop_assert!(there.starts_with(&acknowledged));
            prop_assert!(there.len() == acknowledged.len() || failed && !can_cut);
        }
    }
}
