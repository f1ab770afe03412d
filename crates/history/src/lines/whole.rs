//! Writing whole files: a reader sees the old content or the new, and nothing in between.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Writes `directory/name` through a temporary file beside it, so that a reader sees all of it or nothing.
///
/// # Errors
/// The system's answer. The temporary file is gone then, and a file of that name is as it was.
pub fn write_whole(
    directory: &Path,
    name: &str,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<PathBuf> {
    make_directory(directory)?;
    remove_stale(directory);
    let path = directory.join(name);
    let before = fs::metadata(&path).ok();
    let temporary = temporary_beside(directory, name);
    let written = File::create_new(&temporary)
        .and_then(|mut file| {
            if let Some(before) = &before {
                keep_owner(&file, before)?;
            }
            fill(&mut file)?;
            // Without this a crash of the machine after the rename could leave an empty file of the final name.
            file.sync_all()
        })
        .and_then(|()| fs::rename(&temporary, &path));
    if let Err(why) = written {
        let _ = fs::remove_file(&temporary);
        return Err(why);
    }
    // The rename itself is durable once the directory is; some filesystems cannot do that, and the data is safe by
    // then.
    let _ = File::open(directory).and_then(|dir| dir.sync_all());
    Ok(path)
}

/// Makes a directory and those above it, each of which survives a loss of power then. One that is there stays as it is.
///
/// # Errors
/// The system's answer.
pub fn make_directory(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_directory(above)?;
    fs::create_dir(path).or_else(|why| match why.kind() {
        // Another process has made it meanwhile.
        _ if path.is_dir() => Ok(()),
        // A file of that name.
        io::ErrorKind::AlreadyExists => Err(rustix::io::Errno::NOTDIR.into()),
        _ => Err(why),
    })?;
    // Some file systems cannot do that, and then it is as durable as it gets.
    let _ = File::open(above).and_then(|above| above.sync_all());
    Ok(())
}

/// Gives a new file mode and owner of the one that it replaces. Only root may give a file to another user.
fn keep_owner(file: &File, before: &fs::Metadata) -> io::Result<()> {
    let about = file.metadata()?;
    if (about.uid(), about.gid()) != (before.uid(), before.gid()) {
        let _ = fchown(file, Some(before.uid()), Some(before.gid()));
    }
    file.set_permissions(fs::Permissions::from_mode(before.mode() & 0o7777))
}

const TEMPORARY: &str = ".tiermark-tmp";

/// The path of a file under construction: hidden, and unlike that of any other process. A leftover of an earlier
/// process of the same number is removed.
pub fn temporary_beside(directory: &Path, name: &str) -> PathBuf {
    let path = directory.join(format!(".{name}.{}{TEMPORARY}", std::process::id()));
    let _ = fs::remove_file(&path);
    path
}

/// Removes half-written files of killed processes. An hour is far longer than any save that still runs.
fn remove_stale(directory: &Path) {
    const STALE: Duration = Duration::from_secs(3600);
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_str().is_some_and(|n| n.starts_with('.') && n.ends_with(TEMPORARY));
        let old =
            || entry.metadata().and_then(|m| m.modified()).is_ok_and(|t| t.elapsed().is_ok_and(|age| age > STALE));
        if ours && old() {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_disk_that_fills_leaves_nothing_and_spares_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        write_whole(dir.path(), "a.json", |file| file.write_all(b"old")).unwrap();
        let error = write_whole(dir.path(), "a.json", |file| {
            file.write_all(b"half")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        })
        .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(names(dir.path()), ["a.json"]);
        assert_eq!(fs::read(dir.path().join("a.json")).unwrap(), b"old");
    }

    #[test]
    fn leftovers_of_a_killed_process_are_removed_after_an_hour() {
        let dir = tempfile::tempdir().unwrap();
        let old = dir.path().join(format!(".x.json.1{TEMPORARY}"));
        let file = File::create(&old).unwrap();
        file.set_modified(std::time::SystemTime::now() - Duration::from_secs(7200)).unwrap();
        File::create(dir.path().join(format!(".y.json.2{TEMPORARY}"))).unwrap();
        write_whole(dir.path(), "a.json", |_| Ok(())).unwrap();
        assert_eq!(names(dir.path()), [format!(".y.json.2{TEMPORARY}"), "a.json".to_owned()]);
    }

    #[test]
    fn a_file_that_is_replaced_keeps_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        write_whole(dir.path(), "a.json", |file| file.write_all(b"old")).unwrap();
        let path = dir.path().join("a.json");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        write_whole(dir.path(), "a.json", |file| file.write_all(b"new")).unwrap();
        assert_eq!((fs::metadata(&path).unwrap().mode() & 0o777, fs::read(&path).unwrap()), (0o640, b"new".to_vec()));
    }
}
