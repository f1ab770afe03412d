//! The only way to change anything: files below a root, signals, swapoff. Tests have hands of their own.

use std::fs;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tiermark_machine::Root;

use crate::stat::start_ticks;

/// Giving back a swap area reads all of it: at 100 MB/s, 60 GB.
const SWAPOFF_MOST: Duration = Duration::from_secs(600);

/// What changes the system. Paths are below the root.
pub trait Hands {
    /// Where everything is read.
    fn root(&self) -> &Root;

    /// Writes a file that is there, in one call, as sysfs wants it.
    ///
    /// # Errors
    /// What the system says.
    fn write(&mut self, path: &str, text: &str) -> io::Result<()>;

    /// Whether a file could be written, without writing it.
    ///
    /// # Errors
    /// What the system says.
    fn may_write(&self, path: &str) -> io::Result<()>;

    /// Removes an empty directory.
    ///
    /// # Errors
    /// What the system says.
    fn remove_dir(&mut self, path: &str) -> io::Result<()>;

    /// Removes a regular file; no other kind, and no link.
    ///
    /// # Errors
    /// What the system says.
    fn remove_file(&mut self, path: &str) -> io::Result<()>;

    /// Takes a swap area out of use.
    ///
    /// # Errors
    /// In words, why that did not work.
    fn swapoff(&mut self, path: &str) -> Result<(), String>;

    /// Sends a signal to the process that has this number and started then; to no other. `false` where there is none.
    ///
    /// # Errors
    /// In words, why that did not work.
    fn stop(&mut self, pid: u32, start_ticks: u64, kill: bool) -> Result<bool, String>;

    /// Waits.
    fn wait(&mut self, time: Duration);
}

/// The hands on a system that is really there: the running one, or a directory.
#[derive(Debug, Clone)]
pub struct Live {
    root: Root,
}

impl Live {
    /// Hands on a root.
    pub fn new(root: Root) -> Self {
        Self { root }
    }

    fn place(&self, path: &str) -> io::Result<std::path::PathBuf> {
        let found = self.root.on_disk(path).map_err(|why| io::Error::other(why.to_string()))?;
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Hands for Live {
    fn root(&self) -> &Root {
        &self.root
    }

    fn write(&mut self, path: &str, text: &str) -> io::Result<()> {
        // Never created: what the kernel does not have is not made up. On files of the kernel truncating does nothing.
        let mut file = fs::OpenOptions::new().write(true).truncate(true).open(self.place(path)?)?;
        file.write_all(text.as_bytes())
    }

    fn may_write(&self, path: &str) -> io::Result<()> {
        fs::OpenOptions::new().write(true).open(self.place(path)?).map(drop)
    }

    fn remove_dir(&mut self, path: &str) -> io::Result<()> {
        fs::remove_dir(self.place(path)?)
    }

    fn remove_file(&mut self, path: &str) -> io::Result<()> {
        let place = self.place(path)?;
        if !fs::symlink_metadata(&place)?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        fs::remove_file(place)
    }

    fn swapoff(&mut self, path: &str) -> Result<(), String> {
        if !self.root.is_live() {
            return Err("swap areas are only those of the running system".to_owned());
        }
        let program = ["/sbin/swapoff", "/usr/sbin/swapoff"].into_iter().find(|p| Path::new(p).exists());
        let mut command = Command::new(program.unwrap_or("swapoff"));
        command.arg("--").arg(format!("/{}", path.trim_start_matches('/')));
        bounded(command, SWAPOFF_MOST)
    }

    fn stop(&mut self, pid: u32, start: u64, kill: bool) -> Result<bool, String> {
        if !self.root.is_live() {
            return Err("processes are only those of the running system".to_owned());
        }
        let Some(number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(false) };
        // The descriptor holds on to one process; only then is looked whether it is the right one.
        let process = match pidfd_open(number, PidfdFlags::empty()) {
            Ok(process) => process,
            Err(rustix::io::Errno::SRCH | rustix::io::Errno::INVAL) => return Ok(false),
            Err(why) => return Err(why.to_string()),
        };
        if start_ticks(&self.root, pid) != Some(start) {
            return Ok(false);
        }
        match pidfd_send_signal(&process, if kill { Signal::KILL } else { Signal::TERM }) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::SRCH) => Ok(false),
            Err(why) => Err(why.to_string()),
        }
    }

    fn wait(&mut self, time: Duration) {
        thread::sleep(time);
    }
}

/// Runs a command for so long at most, without input or output.
///
/// # Errors
/// What it complains of, or why it could not be started or took too long.
pub fn bounded(mut command: Command, most: Duration) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    // A key that ends this program must not end what it waits for half-way.
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|why| format!("{name} cannot be started: {why}"))?;
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => {
                let said = child.wait_with_output().map(|out| String::from_utf8_lossy(&out.stderr).trim().to_owned());
                return Err(said
                    .ok()
                    .filter(|s| !s.is_empty())
                    .unwrap_or_else(|| format!("{name} ended with {status}")));
            }
            Ok(None) if started.elapsed() < most => thread::sleep(Duration::from_millis(10)),
            Ok(None) => {
                // Its work in the kernel ends at the signal, with the area still in use.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{name} took more than {} s", most.as_secs()));
            }
            Err(why) => return Err(why.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_process_that_was_meant_is_stopped() {
        let mut child = Command::new("sleep").arg("30").spawn().unwrap();
        let root = Root::live();
        let start = start_ticks(&root, child.id()).unwrap();
        let mut hands = Live::new(root);
        assert_eq!(hands.stop(child.id(), start + 1, true), Ok(false), "another that had the number before");
        assert!(child.try_wait().unwrap().is_none());
        assert_eq!(hands.stop(child.id(), start, false), Ok(true));
        child.wait().unwrap();
        assert_eq!(hands.stop(child.id(), start, true), Ok(false), "it is gone");
        assert_eq!(hands.stop(0, 0, true), Ok(false));
    }

    #[test]
    fn commands_are_bounded_and_say_why() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        assert_eq!(bounded(shell("exit 0"), SWAPOFF_MOST), Ok(()));
        assert_eq!(bounded(shell("echo no >&2; exit 1"), SWAPOFF_MOST), Err("no".to_owned()));
        assert!(bounded(shell("exec sleep 30"), Duration::from_millis(50)).unwrap_err().contains("took more"));
        assert!(bounded(Command::new("/nonexistent"), SWAPOFF_MOST).unwrap_err().contains("cannot be started"));
    }

    #[test]
    fn files_are_changed_where_they_are_and_never_made() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("sys/devices/group")).unwrap();
        fs::write(dir.path().join("sys/devices/knob"), "a longer text").unwrap();
        let mut hands = Live::new(Root::at(dir.path()).unwrap());
        hands.write("sys/devices/knob", "1").unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("sys/devices/knob")).unwrap(), "1");
        assert_eq!(hands.write("sys/devices/other", "1").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(hands.may_write("sys/devices/knob").is_ok() && hands.may_write("sys/devices/other").is_err());
        assert!(hands.remove_file("sys/devices/group").is_err());
        hands.remove_dir("sys/devices/group").unwrap();
        hands.remove_file("sys/devices/knob").unwrap();
        assert!(hands.swapoff("x").is_err() && hands.stop(1, 1, true).is_err());
    }
}
