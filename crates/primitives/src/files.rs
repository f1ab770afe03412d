//! Files that are made and removed, in a directory of their own.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FsWord, Mode, OFlags, openat, statfs, unlinkat};
use tiermark_model::{KIB, Sweep};
use tiermark_system::Clock;

use super::syscalls::row;
use crate::body::{Body, Make, Order, Prepared, Primitive};
use crate::failure::{Failure, refused_by};

/// Bytes of a file: nothing, and what lmbench writes.
const SIZES: [u64; 2] = [0, 10 * KIB];
/// Files that are there at once, at most.
const MOST: u64 = 1000;
/// Names that are tried for a directory.
const TRIES: usize = 100;
/// Memory as a file system, on every system with the C library's shared memory.
const SHARED_MEMORY: &str = "/dev/shm";
/// The file system type that statfs(2) returns for a tmpfs.
const TMPFS_MAGIC: FsWord = 0x0102_1994;

/// The rows of this group.
pub(super) static PRIMITIVES: &[Primitive] = &[
    by_size(
        "file create",
        "opens a new file in a directory of its own, writes this many bytes, and closes it; nothing is synced to a \
         disk",
        |order| files(order, Counts::Making),
    ),
    by_size("file delete", "unlinks such a file, which no process has open", |order| files(order, Counts::Removing)),
];

const fn by_size(id: &'static str, text: &'static str, make: Make) -> Primitive {
    row(id, text, make).over(|_| vec![Sweep::Bytes(SIZES.to_vec())])
}

/// Which half of a file's life is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counts {
    Making,
    Removing,
}

/// Where directories are made: in memory if there is a tmpfs, else where temporary files go.
fn place() -> PathBuf {
    let shared = Path::new(SHARED_MEMORY);
    let in_memory = statfs(shared).is_ok_and(|found| found.f_type == TMPFS_MAGIC);
    let writable = || rustix::fs::access(shared, rustix::fs::Access::WRITE_OK).is_ok();
    if in_memory && writable() { shared.to_owned() } else { std::env::temp_dir() }
}

/// Where files are made here, for the text of the row.
pub(super) fn used_directory() -> Option<String> {
    let place = place();
    let kind = if place == Path::new(SHARED_MEMORY) { "tmpfs" } else { "no tmpfs that may be written" };
    Some(format!("{}, {kind}", place.display()))
}

/// Removes the directories that killed runs of this user left: their process is gone, and nothing was made in them for
/// an hour. In another PID namespace that shares the place, a process may live that is not visible here, but no run
/// leaves its directory unused for so long.
fn remove_left(place: &Path, now: SystemTime) {
    const UNUSED: Duration = Duration::from_secs(3600);
    let own = rustix::process::geteuid().as_raw();
    for path in fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let pid = path.file_name().and_then(|name| name.to_str()?.strip_prefix("tiermark-")?.split_once('-'));
        let Some((pid, _)) = pid.filter(|(pid, number)| [pid, number].iter().all(|n| n.parse::<u32>().is_ok())) else {
            continue;
        };
        let is_unused = fs::symlink_metadata(&path).is_ok_and(|found| {
            let age = found.modified().ok().and_then(|modified| now.duration_since(modified).ok());
            found.is_dir() && found.uid() == own && age.is_some_and(|age| age > UNUSED)
        });
        if is_unused && !Path::new("/proc").join(pid).exists() {
            // Whoever else cleans up may be faster.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// A directory of our own, removed with what is in it when it is dropped.
#[derive(Debug)]
struct Directory {
    path: PathBuf,
    open: OwnedFd,
}

impl Directory {
    fn new() -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        remove_left(&place(), SystemTime::now());
        let name = || format!("tiermark-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        // A run that was killed may have left one less than an hour ago, and its process's number may be in use again.
        let created = (0..TRIES).map(|_| place().join(name())).find_map(|path| match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
            created => Some(created.map(|()| path)),
        });
        let path = created.unwrap_or(Err(io::ErrorKind::AlreadyExists.into()))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::open(&path, flags, Mode::empty()) {
            Ok(open) => Ok(Self { path, open }),
            Err(error) => {
                let _ = fs::remove_dir(&path);
                Err(error.into())
            }
        }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

struct Files {
    directory: Directory,
    names: Vec<String>,
    content: Vec<u8>,
    counts: Counts,
    clock: Clock,
}

fn files(order: &Order<'_>, counts: Counts) -> Prepared {
    let cure = "make /dev/shm or the directory of TMPDIR writable";
    let refused = |failure: Failure| refused_by("a file in a directory of its own", failure, cure);
    let directory = Directory::new().map_err(|error| refused(error.into()))?;
    let content = vec![0x5a; order.call.bytes.unwrap_or(0) as usize];
    let names = (0..MOST).map(|number| number.to_string()).collect();
    let mut files = Files { directory, names, content, counts, clock: *order.clock };
    files.round(1).map_err(refused)?;
    Ok(Box::new(files))
}

impl Files {
    fn make(&self, name: &str) -> Result<(), Failure> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&self.directory.open, name, flags, Mode::RUSR | Mode::WUSR).map_err(Failure::of("open"))?;
        if self.content.is_empty() {
            return Ok(());
        }
        match rustix::io::write(&file, &self.content).map_err(Failure::of("write"))? {
            n if n == self.content.len() => Ok(()),
            n => Err(format!("write: {n} of {} bytes", self.content.len()).into()),
        }
    }

    /// Makes so many files and removes them. Returns the time of the half that does not count, in ticks.
    fn round(&mut self, times: usize) -> Result<u64, Failure> {
        let began = self.clock.now();
        self.names[..times].iter().try_for_each(|name| self.make(name))?;
        let created = self.clock.now();
        let remove = |name: &String| unlinkat(&self.directory.open, name.as_str(), AtFlags::empty());
        self.names[..times].iter().try_for_each(remove).map_err(Failure::of("unlink"))?;
        let removed = self.clock.now();
        Ok(match self.counts {
            Counts::Making => removed.saturating_sub(created),
            Counts::Removing => created.saturating_sub(began),
        })
    }
}

impl Body for Files {
    fn run(&mut self, times: u64) -> Result<u64, Failure> {
        let (mut left, mut idle) = (times, 0);
        while left > 0 {
            let now = left.min(MOST);
            idle += self.round(now as usize)?;
            left -= now;
        }
        Ok(idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_system::testing::clock;

    fn of(bytes: usize, counts: Counts) -> Files {
        let names = (0..MOST).map(|number| number.to_string()).collect();
        let directory = Directory::new().unwrap();
        Files { directory, names, content: vec![1; bytes], counts, clock: clock() }
    }

    #[test]
    fn files_are_made_whole_and_removed_with_their_directory() {
        let mut files = of(10 << 10, Counts::Making);
        let path = files.directory.path.clone();
        files.run(2 * MOST + 3).unwrap();
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
        files.make("whole").unwrap();
        assert_eq!(fs::metadata(path.join("whole")).unwrap().len(), 10 << 10);
        drop(files);
        assert!(!path.exists());
    }

    #[test]
    fn directories_of_killed_runs_are_removed_after_an_hour() {
        // Above the highest number that Linux gives a process (PID_MAX_LIMIT), and the number of this one.
        let (gone, alive) = (1u32 << 23, std::process::id());
        let place = tempfile::tempdir().unwrap();
        let names =
            [format!("tiermark-{gone}-0"), format!("tiermark-{alive}-0"), format!("tiermark-{gone}"), "x".into()];
        for name in &names {
            fs::create_dir(place.path().join(name)).unwrap();
            fs::write(place.path().join(name).join("0"), "left").unwrap();
        }
        let left = || names.each_ref().map(|name| place.path().join(name).exists());
        remove_left(place.path(), SystemTime::now());
        assert_eq!(left(), [true; 4]);
        remove_left(place.path(), SystemTime::now() + Duration::from_secs(3700));
        assert_eq!(left(), [false, true, true, true]);
    }

    #[test]
    fn a_file_that_is_there_already_is_an_error() {
        let mut files = of(0, Counts::Removing);
        files.make("0").unwrap();
        assert!(files.run(1).unwrap_err().to_string().starts_with("open: "));
    }
}
