//! Swap areas and zram devices.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;

use tiermark_machine::{Root, files, swap_areas, swap_names};
use tiermark_model::messages::undo as notes;
use tiermark_model::{ChangeOutcome, ChangeRow, Note};

use super::row::{STEP, row, system_error, while_busy};
use super::swap_users::{TooSmall, without_room};
use crate::identity;
use crate::journal::{Change, Journal};
use crate::writer::SystemWriter;

/// Attempts at what udev may keep busy.
const STEPS: u32 = 40;

/// Where the kernel lists block devices.
const DEVICES: &str = "sys/block";
/// The kernel's table of swap areas, and what its first line begins with.
const SWAPS: &str = "proc/swaps";
const HEAD: &str = "Filename";

/// Whether a path is a swap area in use; `None` where the kernel's table does not say.
fn in_use(root: &Root, path: &str) -> Option<bool> {
    let text = root.text(SWAPS).filter(|text| text.starts_with(HEAD))?;
    let path = format!("/{path}");
    Some(swap_names(&text).any(|name| name == path || (root.is_live() && same_file(&name, &path))))
}

/// What becomes of something that is, or may be, in use for swap, and why.
fn swapped_to(root: &Root, path: &str) -> Option<(ChangeOutcome, Note)> {
    match in_use(root, path) {
        Some(false) => None,
        Some(true) => Some((ChangeOutcome::Failed, notes::used_for_swap())),
        None => Some((ChangeOutcome::Left, notes::kernel_files_absent(SWAPS))),
    }
}

/// Bytes of pages in an area in use; the largest number where that cannot be read.
fn bytes_in(root: &Root, path: &str) -> u64 {
    let text = root.text(SWAPS).unwrap_or_default();
    let area = swap_areas(&text).flatten().find(|area| area.path == format!("/{path}"));
    area.map_or(u64::MAX, |area| area.used_bytes)
}

/// Whether two names are of one file: a link on the way gives it another.
fn same_file(one: &str, other: &str) -> bool {
    let id = |path: &str| std::fs::metadata(path).ok().map(|about| (about.dev(), about.ino()));
    id(one).is_some_and(|one| id(other) == Some(one))
}

/// Gives back every swap area noted, and removes files made for them. An area with pages of others stays where these do
/// not fit under the limits of their groups, unless forced.
pub(super) fn areas(journal: &mut Journal, writer: &mut dyn SystemWriter, force: bool) -> Vec<ChangeRow> {
    let noted = journal.left(|change| match change {
        Change::Swap { path, remove_file, .. } => Some((path.clone(), *remove_file, change.clone())),
        _ => None,
    });
    let mut rows = Vec::new();
    for (index, (path, remove_file, change)) in noted {
        let Some(used) = in_use(writer.root(), &path) else {
            rows.push(row(&change, ChangeOutcome::Left, Some(notes::kernel_files_absent(SWAPS))));
            continue;
        };
        if used && is_others(&path, journal, writer) {
            let done = row(&change, ChangeOutcome::Already, Some(notes::area_of_others()));
            journal.settle(index, done.outcome);
            rows.push(done);
            continue;
        }
        let pages = if used && !force { bytes_in(writer.root(), &path) } else { 0 };
        let too_small = without_room(writer.root(), &journal.outermost_groups(), pages);
        if let Some(TooSmall { group, swapped, room }) = too_small {
            rows.push(row(&change, ChangeOutcome::Failed, Some(notes::limit_of_others(&group, swapped, room))));
            continue;
        }
        let done = match used.then(|| give_back(&path, writer)) {
            Some(Err(why)) => row(&change, ChangeOutcome::Failed, Some(notes::swapoff_failed(&why))),
            Some(Ok(())) if in_use(writer.root(), &path) != Some(false) => {
                row(&change, ChangeOutcome::Failed, Some(notes::swapoff_without_effect()))
            }
            _ if remove_file => remove(&change, writer),
            Some(Ok(())) => row(&change, ChangeOutcome::Done, None),
            None => row(&change, ChangeOutcome::Already, None),
        };
        // A swapon that was killed may still be at work in the kernel: see `unused`.
        if used || remove_file {
            journal.settle(index, done.outcome);
        }
        rows.push(done);
    }
    rows
}

/// Settles the areas that were not in use and are not: those on devices whose header was wiped, or which were removed.
/// Before that, a swapon at work in the kernel may still turn the area on, and without its note nobody would turn it
/// off.
pub(super) fn unused(journal: &mut Journal, root: &Root) {
    let devices = journal.left(|change| match change {
        Change::SwapHeader { path, .. } => Some(path.clone()),
        Change::Zram { number, .. } => Some(format!("dev/zram{number}")),
        _ => None,
    });
    let areas = journal.left(|change| match change {
        Change::Swap { path, remove_file: false, .. } => Some(path.clone()),
        _ => None,
    });
    for (index, path) in areas {
        if in_use(root, &path) == Some(false) && !devices.iter().any(|(_, device)| *device == path) {
            journal.settle(index, ChangeOutcome::Already);
        }
    }
}

/// Turns a swap area off. If this fails, a killed program's swapoff may still be at work in the kernel: waits for it.
fn give_back(path: &str, writer: &mut dyn SystemWriter) -> Result<(), String> {
    let given = writer.swapoff(path);
    for _ in 0..STEPS {
        if given.is_ok() || in_use(writer.root(), path) == Some(false) {
            return Ok(());
        }
        writer.wait(STEP);
    }
    given
}

/// Whether the device of an area in use is not the one in the journal: it was removed by hand, and another got its
/// number.
fn is_others(path: &str, journal: &Journal, writer: &dyn SystemWriter) -> bool {
    let zram = path.strip_prefix("dev/zram").and_then(|number| number.parse::<u32>().ok());
    journal.noted.changes.iter().any(|change| match change {
        Change::Zram { number, sure: true, size, sequence } if Some(*number) == zram => {
            let dir = format!("{DEVICES}/zram{number}");
            let identity = ZramIdentity { size: *size, sequence: *sequence };
            let found = writer.root().value(&format!("{dir}/disksize"));
            found.is_some_and(|found| !is_ours(&dir, found, identity, writer.root()))
        }
        Change::SwapHeader { path: device, uuid, .. } if device == path => {
            writer.swap_header(path).is_ok_and(|found| found.is_some_and(|found| found != *uuid))
        }
        _ => false,
    })
}

/// Removes a swap file, unless it is in use. One that is absent is done with only where its file system is there.
pub(super) fn remove(change: &Change, writer: &mut dyn SystemWriter) -> ChangeRow {
    let Change::Swap { path, file_system, .. } = change else { return row(change, ChangeOutcome::Already, None) };
    if let Some((_, why)) = swapped_to(writer.root(), path) {
        return row(change, ChangeOutcome::Left, Some(why));
    }
    let found = identity::file_system(writer.root(), path);
    let directory_is_there = || has_directory(path, writer.root());
    // Of older journals nothing is known but the path.
    let is_there = if file_system.is_some() { found == *file_system } else { directory_is_there() };
    if !is_there {
        return row(change, ChangeOutcome::Left, Some(notes::file_system_absent()));
    }
    match writer.remove_file(path) {
        Ok(()) => row(change, ChangeOutcome::Done, None),
        Err(why) if why.kind() == io::ErrorKind::NotFound => row(change, ChangeOutcome::Already, None),
        Err(why) => row(change, ChangeOutcome::Failed, Some(system_error(&why))),
    }
}

fn has_directory(path: &str, root: &Root) -> bool {
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    root.on_disk(directory).is_ok_and(|found| found.is_some())
}

/// Wipes every swap header noted, where it is still there.
pub(super) fn headers(journal: &mut Journal, writer: &mut dyn SystemWriter) -> Vec<ChangeRow> {
    journal.take_back(|change| matches!(change, Change::SwapHeader { .. }), |change| wipe(change, true, writer))
}

/// Wipes the swap header of a device, whatever its name is by now. One that is not found is done with only where its
/// device is there.
pub(super) fn wipe(change: &Change, same_boot: bool, writer: &mut dyn SystemWriter) -> ChangeRow {
    let Change::SwapHeader { path, uuid, device } = change else {
        return row(change, ChangeOutcome::Already, None);
    };
    let has_header = |path: &String| writer.swap_header(path).is_ok_and(|found| found.as_ref() == Some(uuid));
    let names = || identity::devices(writer.root()).into_iter().map(|name| format!("dev/{name}"));
    // One of the same name may be another disk.
    let is_it = |path: &String| {
        let root = writer.root();
        device.is_some()
            && identity::device(root, path) == *device
            && (same_boot || identity::is_persistent(root, path))
    };
    // Others are not read where it is known which it is: one that does not answer would keep the reader for ever.
    let is_gone = is_it(path) && writer.swap_header(path).is_ok_and(|found| found.as_ref() != Some(uuid));
    if is_gone {
        return row(change, ChangeOutcome::Already, None);
    }
    let Some(found) = [path.clone()].into_iter().chain(names()).find(has_header) else {
        return match names().find(is_it).map(|path| writer.swap_header(&path)) {
            Some(Ok(_)) => row(change, ChangeOutcome::Already, None),
            Some(Err(why)) => row(change, ChangeOutcome::Failed, Some(system_error(&why))),
            None => row(change, ChangeOutcome::Left, Some(notes::device_absent())),
        };
    };
    if let Some((outcome, why)) = swapped_to(writer.root(), &found) {
        return row(change, outcome, Some(why));
    }
    match while_busy(STEPS, writer, |writer| writer.wipe_swap_header(&found, uuid)) {
        Ok(true) => row(change, ChangeOutcome::Done, (found != *path).then(|| notes::device_renamed(&found))),
        Ok(false) => row(change, ChangeOutcome::Already, None),
        Err(why) => row(change, ChangeOutcome::Failed, Some(system_error(&why))),
    }
}

/// By what a zram device that was made is known again.
#[derive(Debug, Clone, Copy, Default)]
struct ZramIdentity {
    size: Option<u64>,
    sequence: Option<u64>,
}

/// Resets and removes every zram device noted.
pub(super) fn zram(journal: &mut Journal, writer: &mut dyn SystemWriter) -> Vec<ChangeRow> {
    let noted = journal.left(|change| match change {
        Change::Zram { number, sure, size, sequence } => Some((*number, sure.then_some((*size, *sequence)))),
        _ => None,
    });
    // Noted twice is sure once: before it was added, and when it was known.
    let noted_identity =
        |number: u32| noted.iter().filter(move |(_, noted)| noted.0 == number).find_map(|(_, (_, identity))| *identity);
    let mut rows = Vec::new();
    let mut unmade: BTreeMap<u32, ChangeOutcome> = BTreeMap::new();
    for (index, (number, sure)) in noted.iter().copied() {
        // A device is noted before it is made and when it is known, and unmade once.
        if let Some(outcome) = unmade.get(&number) {
            journal.settle(index, *outcome);
            continue;
        }
        let identity = noted_identity(number).map(|(size, sequence)| ZramIdentity { size, sequence });
        let (size, sequence) = sure.unwrap_or_default();
        let change = Change::Zram { number, sure: sure.is_some(), size, sequence };
        let (outcome, why) = unmake(number, identity, writer);
        unmade.insert(number, outcome);
        journal.settle(index, outcome);
        rows.push(row(&change, outcome, why));
    }
    rows
}

/// Whether the device with the number in the journal is still the one that was made: another may have got its number.
fn is_ours(dir: &str, size: u64, identity: ZramIdentity, root: &Root) -> bool {
    let sequence: Option<u64> = root.value(&format!("{dir}/diskseq"));
    match (identity.sequence, sequence) {
        (Some(ours), Some(found)) => ours == found,
        // Not set up yet, or as large as it was made.
        _ => size == 0 || identity.size.is_none_or(|own| size.abs_diff(own) < rustix::param::page_size() as u64),
    }
}

fn unmake(number: u32, identity: Option<ZramIdentity>, writer: &mut dyn SystemWriter) -> (ChangeOutcome, Option<Note>) {
    let dir = format!("{DEVICES}/zram{number}");
    let lists_devices = || writer.root().on_disk(DEVICES).is_ok_and(|found| found.is_some());
    let size = match writer.root().read(&format!("{dir}/disksize")) {
        Ok(Some(size)) => files::number(&size).unwrap_or(u64::MAX),
        Ok(None) if lists_devices() => return (ChangeOutcome::Already, None),
        Ok(None) => return (ChangeOutcome::Left, Some(notes::kernel_files_absent(DEVICES))),
        Err(why) => return (ChangeOutcome::Failed, Some(notes::system_refused(&why.to_string()))),
    };
    // Of one that was only expected: the next free number was noted, and somebody else may have got it.
    let ours = identity.map_or(size == 0, |identity| is_ours(&dir, size, identity, writer.root()));
    if !ours {
        return (ChangeOutcome::Already, Some(notes::device_of_others()));
    }
    if let Some((outcome, why)) = swapped_to(writer.root(), &format!("dev/zram{number}")) {
        return (outcome, Some(why));
    }
    let removed = while_busy(STEPS, writer, |writer| {
        writer.write(&format!("{dir}/reset"), "1")?;
        writer.write("sys/class/zram-control/hot_remove", &number.to_string())
    });
    match removed {
        Ok(()) => (ChangeOutcome::Done, None),
        Err(why) => (ChangeOutcome::Failed, Some(system_error(&why))),
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
        let paths = ["a b/tiermark.swap", "dev/zram1", "dev/zram"];
        assert_eq!(paths.map(|path| in_use(&root, path)), [Some(true), Some(true), Some(false)]);
    }

    /// A name as the kernel writes it (`mangle_path` in fs/seq_file.c).
    fn escaped(name: &str) -> String {
        let escape = |c: char| if " \t\n\\".contains(c) { format!("\\{:03o}", c as u32) } else { c.to_string() };
        name.chars().map(escape).collect()
    }

    proptest! {
        /// Whatever areas are called, those of the table are in use and no other.
        #[test]
        fn any_table(names in prop::collection::btree_set("[^/\\r\\x0b\\x0c\\x00]{1,9}", 0..5), other in "[a-b \\\\]{1,3}") {
            let line = |name: &String| format!("/{} file 1 0 -2\n", escaped(name));
            let text = names.iter().map(line).fold("Filename Type Size Used Priority\n".to_owned(), |text, line| text + &line);
            let root = Root::from_files("test", [("proc/swaps", text)]);
            for name in &names {
                prop_assert_eq!(in_use(&root, name), Some(true), "{:?}", name);
            }
            prop_assert_eq!(in_use(&root, &other), Some(names.contains(&other)));
        }

        /// A text without the kernel's first line is no table: it says of no area that it is not in use.
        #[test]
        fn no_table(text in "([^F].*)?", area in "[a-z]{1,3}") {
            prop_assert_eq!(in_use(&Root::from_files("test", [("proc/swaps", text)]), &area), None);
        }
    }
}
