//! The only way to change the system: writes to files below a root, signals, swapoff, commands. Tests implement the
//! trait themselves.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use tiermark_machine::{Root, start_ticks};
use tiermark_model::messages::undo as says;

use crate::command::{COMMAND_MOST, bounded, shell};

/// Giving back a swap area reads all of it: at 100 MB/s, 60 GB.
const SWAPOFF_MOST: Duration = Duration::from_secs(600);

/// Changes the system. Paths are relative to the root.
pub trait SystemWriter {
    /// The tree that is changed, for reading it.
    fn root(&self) -> &Root;

    /// Writes a file that is there, in one call, as sysfs wants it.
    ///
    /// # Errors
    /// The error of the system call.
    fn write(&mut self, path: &str, text: &str) -> io::Result<()>;

    /// Whether a file could be written, without writing it.
    ///
    /// # Errors
    /// The error of the system call.
    fn may_write(&self, path: &str) -> io::Result<()>;

    /// Removes an empty directory.
    ///
    /// # Errors
    /// The error of the system call.
    fn remove_dir(&mut self, path: &str) -> io::Result<()>;

    /// Removes a regular file; no other kind, and no link.
    ///
    /// # Errors
    /// The error of the system call.
    fn remove_file(&mut self, path: &str) -> io::Result<()>;

    /// Writes zeros over both ends ([`ENDS`]) of a device with a swap area, where that is the one with this UUID;
    /// `false` where it is not, or nothing is there.
    ///
    /// # Errors
    /// The error of the system call; `ResourceBusy` where the device is in use.
    fn wipe_swap_header(&mut self, path: &str, uuid: &str) -> io::Result<bool>;

    /// The UUID in the swap header of a device; `None` where it has none.
    ///
    /// # Errors
    /// The error of the system call.
    fn swap_header(&self, path: &str) -> io::Result<Option<String>>;

    /// Takes a swap area out of use.
    ///
    /// # Errors
    /// A sentence: what the program or the system call reported.
    fn swapoff(&mut self, path: &str) -> Result<(), String>;

    /// Sends a signal to the process with this number and start time, and to no other. `false` if there is no such
    /// process.
    ///
    /// # Errors
    /// A sentence: what the program or the system call reported.
    fn stop(&mut self, pid: u32, start_ticks: u64, kill: bool) -> Result<bool, String>;

    /// Has a shell run a command.
    ///
    /// # Errors
    /// A sentence: what the program or the system call reported.
    fn run(&mut self, command: &str) -> Result<(), String>;

    /// Waits that long.
    fn wait(&mut self, time: Duration);
}

/// Writes to a tree on disk: the running system, or a directory.
#[derive(Debug, Clone)]
pub struct RootWriter {
    root: Root,
}

impl RootWriter {
    /// A writer to the tree of this root.
    pub fn new(root: Root) -> Self {
        Self { root }
    }

    fn place(&self, path: &str) -> io::Result<std::path::PathBuf> {
        let found = self.root.on_disk(path).map_err(|why| io::Error::other(why.to_string()))?;
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl SystemWriter for RootWriter {
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

    fn wipe_swap_header(&mut self, path: &str, uuid: &str) -> io::Result<bool> {
        let place = match self.place(path) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(false),
            other => other?,
        };
        // With O_EXCL the kernel refuses a block device that anybody uses.
        let mut options = fs::OpenOptions::new();
        let mut device = options.read(true).write(true).custom_flags(OFlags::EXCL.bits() as i32).open(place)?;
        let mut page = vec![0; rustix::param::page_size()];
        match device.read_exact(&mut page) {
            Err(why) if why.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            other => other?,
        }
        if swap_uuid(&page).as_deref() != Some(uuid) {
            return Ok(false);
        }
        let size = device.seek(SeekFrom::End(0))?;
        let (head, end) = (page.len() as u64, ENDS.min(size));
        // The header last: if this is killed, the header still shows that the rest has to be wiped.
        for (from, to) in [(size.saturating_sub(end).max(head), size), (head, end), (0, head)] {
            device.seek(SeekFrom::Start(from))?;
            io::copy(&mut io::repeat(0).take(to.saturating_sub(from)), &mut device)?;
            device.sync_all()?;
        }
        Ok(true)
    }

    fn swap_header(&self, path: &str) -> io::Result<Option<String>> {
        let mut page = vec![0; rustix::param::page_size()];
        match File::open(self.place(path)?)?.read_exact(&mut page) {
            Err(why) if why.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            read => read.map(|()| swap_uuid(&page)),
        }
    }

    fn swapoff(&mut self, path: &str) -> Result<(), String> {
        if !self.root.is_live() {
            return Err(says::swap_of_a_capture().text);
        }
        let program = ["/sbin/swapoff", "/usr/sbin/swapoff"].into_iter().find(|p| Path::new(p).exists());
        let mut command = Command::new(program.unwrap_or("swapoff"));
        command.arg("--").arg(format!("/{}", path.trim_start_matches('/')));
        bounded(command, SWAPOFF_MOST).map_err(|why| why.text)
    }

    fn stop(&mut self, pid: u32, start: u64, kill: bool) -> Result<bool, String> {
        if !self.root.is_live() {
            return Err(says::process_of_a_capture().text);
        }
        let Some(number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(false) };
        // The descriptor holds on to one process; only then is looked whether it is the right one.
        let process = pidfd_open(number, PidfdFlags::empty());
        signal_if(process, number, kill, || start_ticks(&self.root, pid) == Some(start))
    }

    fn run(&mut self, command: &str) -> Result<(), String> {
        bounded(shell(command), COMMAND_MOST).map_err(|why| why.text)
    }

    fn wait(&mut self, time: Duration) {
        thread::sleep(time);
    }
}

/// Sends a signal to a process if it is still the one that was meant, by its descriptor.
///
/// Before Linux 5.3 and under filters of system calls there are no descriptors of processes. Then the number is all
/// there is, and in the microseconds between the look at its start time and the signal it can only change hands if the
/// kernel gives out all other numbers first.
fn signal_if(
    process: rustix::io::Result<OwnedFd>,
    number: Pid,
    kill: bool,
    is_meant: impl Fn() -> bool,
) -> Result<bool, String> {
    let process = match process {
        Ok(process) => Some(process),
        Err(Errno::SRCH | Errno::INVAL) => return Ok(false),
        Err(Errno::NOSYS | Errno::PERM) => None,
        Err(why) => return Err(why.to_string()),
    };
    if !is_meant() {
        return Ok(false);
    }
    let signal = if kill { Signal::KILL } else { Signal::TERM };
    let sent = match process.map(|process| pidfd_send_signal(&process, signal)) {
        None | Some(Err(Errno::NOSYS | Errno::PERM)) => kill_process(number, signal),
        Some(sent) => sent,
    };
    match sent {
        Ok(()) => Ok(true),
        Err(Errno::SRCH) => Ok(false),
        Err(why) => Err(why.to_string()),
    }
}

/// Bytes at both ends of a device in which file systems, partition tables, RAID and volume managers have their
/// signatures: zeros before it is swapped to, and again afterwards.
pub const ENDS: u64 = 1 << 20;

/// Where a swap area's header has its UUID (include/linux/swap.h), and how many bytes that has.
const UUID: std::ops::Range<usize> = 1024 + 4 * 3..1024 + 4 * 3 + 16;

/// The UUID of a swap area, from its first page; `None` if the page is no swap header.
fn swap_uuid(page: &[u8]) -> Option<String> {
    let bytes = page.get(UUID).filter(|_| page.ends_with(b"SWAPSPACE2"))?;
    let mut text = String::new();
    for (at, byte) in bytes.iter().enumerate() {
        text.push_str(if matches!(at, 4 | 6 | 8 | 10) { "-" } else { "" });
        text.push_str(&format!("{byte:02x}"));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_process_that_was_meant_is_stopped() {
        let mut child = Command::new("sleep").arg("30").spawn().unwrap();
        let root = Root::live();
        let start = start_ticks(&root, child.id()).unwrap();
        let mut writer = RootWriter::new(root);
        assert_eq!(writer.stop(child.id(), start + 1, true), Ok(false), "another that had the number before");
        assert!(child.try_wait().unwrap().is_none());
        assert_eq!(writer.stop(child.id(), start, false), Ok(true));
        child.wait().unwrap();
        assert_eq!(writer.stop(child.id(), start, true), Ok(false), "it is gone");
        assert_eq!(writer.stop(0, 0, true), Ok(false));
    }

    /// Old kernels have no descriptors of processes, and filters of containers may forbid them.
    #[test]
    fn a_process_is_stopped_without_a_descriptor_of_it() {
        for why in [Errno::NOSYS, Errno::PERM] {
            let mut child = Command::new("sleep").arg("30").spawn().unwrap();
            let number = Pid::from_child(&child);
            assert_eq!(signal_if(Err(why), number, true, || false), Ok(false), "another that had the number before");
            assert!(child.try_wait().unwrap().is_none());
            assert_eq!(signal_if(Err(why), number, true, || true), Ok(true));
            child.wait().unwrap();
            assert_eq!(signal_if(Err(why), number, true, || true), Ok(false), "it is gone");
        }
        let mut child = Command::new("true").spawn().unwrap();
        assert!(signal_if(Err(Errno::MFILE), Pid::from_child(&child), true, || true).is_err());
        child.wait().unwrap();
    }

    #[test]
    fn a_shell_runs_commands() {
        let mut writer = RootWriter::new(Root::live());
        assert_eq!((writer.run("true"), writer.run("echo why >&2; false")), (Ok(()), Err("why".to_owned())));
    }

    #[test]
    fn only_the_header_that_was_meant_is_wiped_and_nothing_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        for part in ["dev", "sys/devices"] {
            fs::create_dir_all(dir.path().join(part)).unwrap();
        }
        let path = dir.path().join("dev/x");
        let page = rustix::param::page_size();
        let mut bytes = vec![0; 4 << 20];
        bytes[2 << 20] = 7;
        fs::write(&path, &bytes).unwrap();
        let mut writer = RootWriter::new(Root::at(dir.path()).unwrap());
        let uuid = "0123abcd-4567-89ef-0123-456789abcdef";
        assert!(!writer.wipe_swap_header("dev/x", uuid).unwrap(), "nothing is on it");
        let mkswap = ["/sbin/mkswap", "/usr/sbin/mkswap"].into_iter().find(|p| Path::new(p).exists()).unwrap();
        let mut format = Command::new(mkswap);
        format.args(["-L", "tiermark", "-U", uuid]).arg(&path);
        bounded(format, SWAPOFF_MOST).unwrap();
        let mut formatted = fs::read(&path).unwrap();
        assert_ne!(formatted, bytes);
        // Swapped to at both ends.
        (formatted[page], formatted[(1 << 20) - 1], formatted[3 << 20], formatted[(4 << 20) - 1]) = (1, 1, 1, 1);
        fs::write(&path, &formatted).unwrap();
        for other in ["0123abcd-4567-89ef-0123-456789abcdee", ""] {
            assert!(!writer.wipe_swap_header("dev/x", other).unwrap(), "it is another's");
        }
        assert_eq!(fs::read(&path).unwrap(), formatted);
        assert!(writer.wipe_swap_header("dev/x", uuid).unwrap());
        assert_eq!(fs::read(&path).unwrap(), bytes, "as it was");
        assert!(!writer.wipe_swap_header("dev/gone", uuid).unwrap());
        fs::write(&path, "short").unwrap();
        assert!(!writer.wipe_swap_header("dev/x", uuid).unwrap());
    }

    #[test]
    fn files_are_changed_where_they_are_and_never_made() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("sys/devices/group")).unwrap();
        fs::write(dir.path().join("sys/devices/knob"), "a longer text").unwrap();
        let mut writer = RootWriter::new(Root::at(dir.path()).unwrap());
        writer.write("sys/devices/knob", "1").unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("sys/devices/knob")).unwrap(), "1");
        assert_eq!(writer.write("sys/devices/other", "1").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(writer.may_write("sys/devices/knob").is_ok() && writer.may_write("sys/devices/other").is_err());
        assert!(writer.remove_file("sys/devices/group").is_err());
        writer.remove_dir("sys/devices/group").unwrap();
        writer.remove_file("sys/devices/knob").unwrap();
        assert!(writer.swapoff("x").is_err() && writer.stop(1, 1, true).is_err());
    }
}
