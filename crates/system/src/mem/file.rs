//! Memory of files: of some that exist, to read only, and of new ones without a name.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::Ordering;

use rustix::fs::{FallocateFlags, MemfdFlags, Mode, OFlags};

use super::{How, Mapping, check};

/// A new file of so many bytes in a directory: without a name, so that nothing is left of it, and with all its memory,
/// so that no access can find it missing.
///
/// # Errors
/// If the file system cannot have such files (EOPNOTSUPP), has no room, or the user may not write there.
pub fn nameless_file(directory: &Path, bytes: u64) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR)?;
    rustix::fs::ftruncate(&file, bytes)?;
    rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes)?;
    Ok(File::from(file))
}

/// Memory of so many bytes, all zero, that processes share by its file.
///
/// # Errors
/// If the kernel cannot make it.
pub fn shared_file(bytes: u64) -> io::Result<File> {
    let file = rustix::fs::memfd_create("tiermark", MemfdFlags::CLOEXEC)?;
    rustix::fs::ftruncate(&file, bytes)?;
    Ok(File::from(file))
}

impl Mapping {
    /// Maps `len` bytes of a file from `offset` on, aligned to `align` (a power of two), between guards as
    /// [`Mapping::reserve`] has them: to read only, unless `writable` says that the file is this process's alone.
    ///
    /// # Errors
    /// If the file cannot be mapped (ENODEV), or not in such pieces (EINVAL), or address space runs out.
    pub fn of_file(file: &File, offset: u64, len: usize, align: usize, writable: bool) -> io::Result<Self> {
        let access = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        let offset = libc::off_t::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mapping = Self::reserve(len, align)?.over(access, libc::MAP_SHARED, file.as_raw_fd(), offset)?;
        mapping.is_read_only.store(!writable, Ordering::Relaxed);
        Ok(mapping)
    }

    /// Has the kernel refuse all further writes.
    ///
    /// # Errors
    /// If the kernel cannot change the protection.
    pub fn forbid_writes(&self) -> io::Result<()> {
        let _reading = self.using(0, self.len, How::Reads).map_err(io::Error::other)?;
        // SAFETY: the range is this mapping, to which nobody writes as long as the guard lives.
        check(libc::c_long::from(unsafe { libc::mprotect(self.base.as_ptr().cast(), self.len, libc::PROT_READ) }))?;
        self.root().is_read_only.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Whether no code may write to it.
    pub fn is_read_only(&self) -> bool {
        self.root().is_read_only.load(Ordering::Relaxed)
    }

    /// Backs all pages with what the file has there.
    ///
    /// # Errors
    /// EINVAL before Linux 5.14; EFAULT where the file is shorter, or its file system has no room for a hole.
    pub fn populate_to_read(&self) -> io::Result<()> {
        let from = self.at(0, self.len);
        // SAFETY: the range is this mapping; reading changes no contents.
        check(libc::c_long::from(unsafe { libc::madvise(from.cast(), self.len, libc::MADV_POPULATE_READ) })).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_has_no_name_and_can_be_closed_to_writes() {
        let directory = tempfile::tempdir_in("/dev/shm").unwrap();
        let file = nameless_file(directory.path(), 64 << 10).unwrap();
        assert_eq!(directory.path().read_dir().unwrap().count(), 0);
        let mapping = Mapping::of_file(&file, 0, 64 << 10, 4096, true).unwrap();
        mapping.fill(0, 64 << 10, |words| words.fill(7));
        mapping.forbid_writes().unwrap();
        assert!(mapping.enter(How::Writes).unwrap_err().contains("read only") && mapping.enter(How::Reads).is_ok());
        mapping.leave(How::Reads);
        let wrote =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| mapping.fill(0, 64, |words| words.fill(1))));
        assert!(wrote.is_err() && mapping.enter(How::Shares).is_err());
    }

    #[test]
    fn a_file_that_is_too_short_is_seen_before_it_is_read() {
        let mut file = tempfile::tempfile_in("/dev/shm").unwrap();
        io::Write::write_all(&mut file, &[1; 8192]).unwrap();
        let mapping = Mapping::of_file(&file, 4096, 8192, 4096, false).unwrap();
        assert!(mapping.is_read_only() && mapping.populate_to_read().is_err());
        assert!(Mapping::of_file(&file, 4096, 4096, 4096, false).unwrap().populate_to_read().is_ok());
        assert!(Mapping::of_file(&file, 100, 4096, 4096, false).is_err(), "not at a page's start");
    }
}
