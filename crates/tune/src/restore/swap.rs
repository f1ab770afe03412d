//! Swap areas and zram devices.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use tiermark_machine::Root;
use tiermark_model::{Deed, Fate};

use super::deed;
use super::knob::said;
use crate::hands::Hands;
use crate::journal::{Change, Journal};

/// Whoever looks at new devices (udev) holds one open for a moment.
const STEP: Duration = Duration::from_millis(50);
const STEPS: u32 = 40;

/// Whether a path is a swap area in use.
pub(super) fn in_use(root: &Root, path: &str) -> bool {
    let text = root.read("proc/swaps").ok().flatten().unwrap_or_default();
    let path = format!("/{path}");
    let mut names = text.lines().skip(1).filter_map(|line| line.split_whitespace().next()).map(unescaped);
    names.any(|name| name == path || (root.is_live() && same_file(&name, &path)))
}

/// Whether two names are of one file: a link on the way gives it another.
fn same_file(one: &str, other: &str) -> bool {
    let id = |path: &str| std::fs::metadata(path).ok().map(|about| (about.dev(), about.ino()));
    id(one).is_some_and(|one| id(other) == Some(one))
}

/// Spaces and the like are written as `\040`.
fn unescaped(name: &str) -> String {
    let mut out = String::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let digits = after.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match digits {
            Some(byte) if byte.is_ascii() => {
                out.push(char::from(byte));
                rest = &after[3..];
            }
            _ => {
                out.push('\\');
                rest = after;
            }
        }
    }
    out + rest
}

/// Gives back every swap area noted, and removes files made for them.
pub(super) fn areas(journal: &mut Journal, hands: &mut dyn Hands) -> Vec<Deed> {
    let noted = journal.left(|change| match change {
        Change::Swap { path, remove_file } => Some((path.clone(), *remove_file)),
        _ => None,
    });
    let mut deeds = Vec::new();
    for (index, (path, remove_file)) in noted {
        let change = Change::Swap { path: path.clone(), remove_file };
        let used = in_use(hands.root(), &path);
        let done = match used.then(|| hands.swapoff(&path)) {
            Some(Err(why)) => deed(&change, Fate::Failed, Some(format!("{why}; free memory, and restore again"))),
            Some(Ok(())) if in_use(hands.root(), &path) => {
                deed(&change, Fate::Failed, Some("swapoff says it is done, and it is still in use".to_owned()))
            }
            _ if remove_file => remove(&path, hands),
            Some(Ok(())) => deed(&change, Fate::Done, None),
            None => deed(&change, Fate::Already, None),
        };
        journal.settle(index, done.fate);
        deeds.push(done);
    }
    deeds
}

/// Removes a swap file, unless it is in use.
pub(super) fn remove(path: &str, hands: &mut dyn Hands) -> Deed {
    let change = Change::Swap { path: path.to_owned(), remove_file: true };
    if in_use(hands.root(), path) {
        return deed(&change, Fate::Left, Some("somebody uses it for swap".to_owned()));
    }
    match hands.remove_file(path) {
        Ok(()) => deed(&change, Fate::Done, None),
        Err(why) if why.kind() == io::ErrorKind::NotFound => deed(&change, Fate::Already, None),
        Err(why) => deed(&change, Fate::Failed, Some(said(&why))),
    }
}

/// Resets and removes every zram device noted.
pub(super) fn zram(journal: &mut Journal, hands: &mut dyn Hands) -> Vec<Deed> {
    let noted = journal.left(|change| match change {
        Change::Zram { number, sure } => Some((*number, *sure)),
        _ => None,
    });
    // Noted twice is sure once: before it was added, and when it was known.
    let sure: Vec<u32> = noted.iter().filter(|(_, (_, sure))| *sure).map(|(_, (number, _))| *number).collect();
    let mut deeds = Vec::new();
    for (index, (number, is_sure)) in noted {
        let change = Change::Zram { number, sure: is_sure };
        let (fate, why) = unmake(number, sure.contains(&number), hands);
        journal.settle(index, fate);
        deeds.push(deed(&change, fate, why));
    }
    deeds
}

fn unmake(number: u32, sure: bool, hands: &mut dyn Hands) -> (Fate, Option<String>) {
    let dir = format!("sys/block/zram{number}");
    let Some(size) = hands.root().read(&format!("{dir}/disksize")).ok().flatten() else { return (Fate::Already, None) };
    if !sure && size.trim() != "0" {
        // The next free number was noted, and somebody else got it.
        return (Fate::Already, Some("the device of that number is somebody else's".to_owned()));
    }
    if in_use(hands.root(), &format!("dev/zram{number}")) {
        return (Fate::Failed, Some("it is in use for swap".to_owned()));
    }
    let mut tries = 0;
    loop {
        let reset = hands.write(&format!("{dir}/reset"), "1");
        let removed = reset.and_then(|()| hands.write("sys/class/zram-control/hot_remove", &number.to_string()));
        match removed {
            Ok(()) => return (Fate::Done, None),
            Err(why) if why.kind() == io::ErrorKind::ResourceBusy && tries < STEPS => {
                tries += 1;
                hands.wait(STEP);
            }
            Err(why) => return (Fate::Failed, Some(said(&why))),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn areas_in_use_by_their_escaped_names() {
        let text = "Filename Type Size Used Priority\n/a\\040b/tiermark.swap file 1 0 -2\n/dev/zram1 partition 1 0 5\n";
        let root = Root::from_files("test", [("proc/swaps", text)]);
        assert!(in_use(&root, "a b/tiermark.swap") && in_use(&root, "dev/zram1") && !in_use(&root, "dev/zram"));
        assert_eq!(unescaped("a\\b\\04"), "a\\b\\04");
    }

    proptest! {
        #[test]
        fn any_table(text in any::<String>()) {
            let _ = unescaped(&text);
            let root = Root::from_files("test", [("proc/swaps", text)]);
            let _ = in_use(&root, "x");
        }
    }
}
