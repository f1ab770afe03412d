//! A watch over a child that the caller waits for: where nothing moves for long, the child is killed, and the caller's
//! wait ends with it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, pidfd_open, pidfd_send_signal, waitid,
};
use tiermark_system::os::own_files;

/// How long nothing may move: far beyond any operation, far below a user's patience.
const LIMIT: Duration = Duration::from_secs(10);

/// A thread that looks from time to time whether its caller gets on.
#[derive(Debug)]
pub(super) struct Watch {
    moved: Arc<AtomicU64>,
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Watches over a child of ours.
    ///
    /// # Errors
    /// Those of starting a thread.
    pub(super) fn over(child: Pid) -> io::Result<Self> {
        Self::over_for(child, LIMIT)
    }

    fn over_for(child: Pid, limit: Duration) -> io::Result<Self> {
        Self::start(limit, |_| true, move || kill(child))
    }

    /// Watches waits that [`Watch::waits`] announces: `end` has to end one that takes too long.
    ///
    /// # Errors
    /// Those of starting a thread.
    pub(super) fn over_waits(limit: Option<Duration>, end: impl Fn() + Send + 'static) -> io::Result<Self> {
        Self::start(limit.unwrap_or(LIMIT), |moved| moved % 2 == 1, end)
    }

    fn start(limit: Duration, waits: fn(u64) -> bool, end: impl Fn() + Send + 'static) -> io::Result<Self> {
        let moved = Arc::new(AtomicU64::new(0));
        let ((done, news), (begun, beginning)) = (channel::<()>(), channel());
        let seen = Arc::clone(&moved);
        let look = move || {
            // A thread that shares its caller's files would make each use of one dearer. Where a filter forbids it, it
            // does.
            let _ = own_files();
            let _ = begun.send(());
            let mut last = seen.load(Relaxed);
            while news.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                let now = seen.load(Relaxed);
                if now == last && waits(now) {
                    end();
                }
                last = now;
            }
        };
        let thread = std::thread::Builder::new().name("tiermark-watch".into()).stack_size(64 << 10).spawn(look)?;
        let watch = Self { moved, done: Some(done), thread: Some(thread) };
        // From here on, the caller's files are its own.
        let _ = beginning.recv();
        Ok(watch)
    }

    /// Something got on.
    pub(super) fn moved(&self) {
        self.moved.fetch_add(1, Relaxed);
    }

    /// Does something that waits.
    pub(super) fn waits<R>(&self, wait: impl FnOnce() -> R) -> R {
        self.moved();
        let result = wait();
        self.moved();
        result
    }
}

/// Kills a child of this process by its number. It may have ended and been waited for meanwhile, and the number may be
/// another's: only a child can be waited for, and a pidfd that was opened before that check stands for this process and
/// no other.
fn kill(child: Pid) {
    let file = pidfd_open(child, PidfdFlags::empty());
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if waitid(WaitId::Pid(child), look).is_err() {
        return;
    }
    // Kernels before 5.3 and some filters have no such files: it is a child of ours at this moment, and numbers do not
    // come back at once.
    let sent = file.and_then(|file| pidfd_send_signal(&file, Signal::KILL));
    if sent.is_err() {
        let _ = kill_process(child, Signal::KILL);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.done.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_system::os::Child;
    use tiermark_system::testing::in_own_process;

    /// A child that does nothing for a minute.
    fn sleeper() -> Child {
        Child::asleep().unwrap()
    }

    #[test]
    fn only_a_child_of_ours_is_killed() {
        // The parent, one that does not exist: none of them is a child.
        rustix::process::getppid().into_iter().for_each(kill);
        kill(Pid::from_raw(i32::MAX).unwrap());
        let child = sleeper();
        kill(child.pid());
        assert!(child.wait().unwrap_err().to_string().contains("killed"));
        // A child that has ended, and was not waited for yet.
        let mut ended = Child::ending(7).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        kill(ended.pid());
        assert!(ended.ended_within(Duration::from_secs(20)));
    }

    #[test]
    fn a_child_is_killed_where_no_file_may_stand_for_it() {
        if !in_own_process("watch::tests::a_child_is_killed_where_no_file_may_stand_for_it") {
            return;
        }
        tiermark_system::testing::refuse(&[libc::SYS_pidfd_open, libc::SYS_pidfd_send_signal]).unwrap();
        let mut child = sleeper();
        let watch = Watch::over_for(child.pid(), Duration::from_millis(20)).unwrap();
        assert!(child.ended_within(Duration::from_secs(20)), "it was not killed");
        drop(watch);
        kill(Pid::from_raw(i32::MAX).unwrap());
    }

    #[test]
    fn a_child_that_hangs_is_killed_by_its_own_number() {
        let mut child = sleeper();
        let watch = Watch::over_for(child.pid(), Duration::from_millis(20)).unwrap();
        assert!(child.ended_within(Duration::from_secs(20)), "it was not killed");
        drop(watch);
    }

    #[test]
    fn a_watch_shares_no_files_with_who_is_watched() {
        let tasks_with = |name: &str| {
            let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
            let has = |task: &std::fs::DirEntry| {
                let files = std::fs::read_dir(task.path().join("fd")).into_iter().flatten().flatten();
                let mut names = files.filter_map(|file| std::fs::read_link(file.path()).ok());
                names.any(|file| file.to_string_lossy().contains(name))
            };
            tasks.filter(has).count()
        };
        let test = move || {
            own_files().unwrap();
            let child = Child::ending(0).unwrap();
            let watches = (Watch::over(child.pid()).unwrap(), Watch::over_waits(None, || ()).unwrap());
            let file = rustix::fs::memfd_create("not-shared", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
            assert_eq!(tasks_with("not-shared"), 1);
            drop((watches, file));
        };
        std::thread::spawn(test).join().unwrap();
    }

    #[test]
    #[allow(unsafe_code, reason = "a fork")]
    fn a_child_that_gets_on_is_left_alone() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        // SAFETY: a system call only.
        let child = unsafe { Child::fork(|| i32::from(rustix::io::read(&read, &mut [0u8; 1]) != Ok(1))) }.unwrap();
        let watch = Watch::over_for(child.pid(), Duration::from_secs(1)).unwrap();
        for _ in 0..30 {
            watch.moved();
            std::thread::sleep(Duration::from_millis(50));
        }
        rustix::io::write(&write, &[1]).unwrap();
        drop(watch);
        assert_eq!(child.wait().unwrap(), 0);
    }
}
