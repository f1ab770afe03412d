//! Whose open files a thread's numbers mean.

use std::io;

use crate::check;

/// Gives the calling thread a table of open files of its own, with all that are open now.
///
/// The threads of a process share one table, and each use of a file of a shared table takes and releases a reference:
/// two atomic operations that a process of one thread is spared. Files opened from now on must be closed by this
/// thread, or by one that it starts; files that were open before stay open here until the thread ends.
///
/// # Errors
/// When the kernel forbids it (a seccomp filter): the table stays shared.
pub fn own_files() -> io::Result<()> {
    /// No file has a number so high: nothing is closed.
    const NONE: libc::c_uint = libc::c_uint::MAX;
    // SAFETY: takes numbers only, and closes none: every number goes on meaning the same file.
    let own = check(unsafe { libc::syscall(libc::SYS_close_range, NONE, NONE, libc::CLOSE_RANGE_UNSHARE) });
    if own.is_ok() {
        return Ok(());
    }
    // Before Linux 5.9. Filters of containers often forbid this one.
    // SAFETY: as above.
    check(unsafe { libc::unshare(libc::CLONE_FILES) }.into()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsRawFd;

    #[test]
    fn what_one_thread_opens_is_not_in_the_tables_of_others_and_what_was_open_is_in_both() {
        let before = File::open("/dev/null").unwrap();
        let number = before.as_raw_fd();
        let shown = |path: String| std::fs::read_link(path).ok();
        std::thread::spawn(move || {
            own_files().unwrap();
            let own = rustix::fs::memfd_create("own-files-test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
            let mine = format!("/proc/thread-self/fd/{}", own.as_raw_fd());
            assert!(shown(mine).unwrap().to_string_lossy().contains("own-files-test"));
            let theirs = shown(format!("/proc/self/fd/{}", own.as_raw_fd()));
            assert!(!theirs.is_some_and(|file| file.to_string_lossy().contains("own-files-test")));
            assert_eq!(shown(format!("/proc/thread-self/fd/{number}")).unwrap().to_str(), Some("/dev/null"));
        })
        .join()
        .unwrap();
        drop(before);
    }
}
