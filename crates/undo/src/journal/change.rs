//! The kinds of changes that can be noted.

use std::fmt;

use serde::{Deserialize, Serialize};
use tiermark_machine::Root;
use tiermark_model::Refusal;
use tiermark_model::messages::undo as messages;

use crate::identity;
use crate::syntax::Syntax;

/// Part of the names of control groups and files that this program makes: others are never removed.
const OURS: &str = "tiermark";

/// One change to the system. Paths are below the root, without the first slash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Change {
    /// A file is written. Taken back by writing the old value, while it still has the new one.
    Knob {
        /// The file, below `proc/sys` or `sys`.
        path: String,
        /// The form of the file.
        syntax: Syntax,
        /// The value before.
        old: String,
        /// The value written.
        new: String,
    },
    /// A service of systemd is stopped. Taken back by starting it, unless it runs; a reboot takes it back by itself.
    Service {
        /// Its name, which ends with `.service`.
        name: String,
    },
    /// A control group is made, of either version. Taken back by stopping whatever runs in it, lifting its limits and
    /// removing it. A component of its path contains `tiermark`.
    Cgroup {
        /// Its directory.
        path: String,
        /// The group that its hierarchy begins with here ([`Change::group`]); `None` in journals of versions that did
        /// not note it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        top: Option<u64>,
    },
    /// A swap area is put to use. Taken back by swapoff.
    Swap {
        /// The device or file.
        path: String,
        /// Whether the file is made for it, and removed with it; its name contains `tiermark` then. Noted before it is
        /// made.
        remove_file: bool,
        /// Which file system the file is on ([`Change::swap_file`]); `None` of devices, and where the file system has
        /// no id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file_system: Option<String>,
    },
    /// A block device whose ends were zeros ([`ENDS`](crate::ENDS)) gets the header of a swap area. Taken back by zeros
    /// at both ends, where it is still that header, after a reboot too, and under another name.
    SwapHeader {
        /// The device.
        path: String,
        /// The UUID in the header, drawn for it: by that it is found again under another name.
        uuid: String,
        /// What identifies the device itself ([`Change::swap_header`]); `None` where the kernel says not even its size.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device: Option<String>,
    },
    /// A zram device is made. Taken back by resetting and removing it.
    Zram {
        /// Its number: before it is added the lowest that is free ([`Change::next_zram`]).
        number: u32,
        /// Whether it is known to be ours. Noted as `false` before `hot_add`, and again as `true` with the number that
        /// came back: of an unknown one only what was never set up is removed.
        sure: bool,
        /// The size that it is given, bytes; the kernel rounds it to pages. `None` where it is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
        /// The kernel's sequence number of the disk, which no other ever has in this boot; `None` before Linux 5.15.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sequence: Option<u64>,
    },
    /// A process is started. Taken back by stopping it, if it still is the same. One that starts inside a noted control
    /// group is stopped with that, so that it need not be known here before it exists.
    Process {
        /// Its number.
        pid: u32,
        /// When it started, in ticks since the system did ([`start_ticks`](tiermark_machine::start_ticks)).
        start_ticks: u64,
        /// Description of the started thing, in words.
        what: String,
    },
    /// A command is run that starts something elsewhere. Taken back by another, which a shell runs, in the same boot
    /// only.
    Command {
        /// Command that takes it back (`virsh destroy vm3`).
        stop: String,
        /// Description of the thing that it stops, in words.
        what: String,
        /// A command that fails as long as the started thing runs; `None` if the user named none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        check: Option<String>,
        /// Whether it names the random word of its run, so that nothing of others can be meant: it is run in another
        /// boot too, and unasked.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        own: bool,
    },
}

impl Change {
    /// The number that the next zram device gets: the lowest that is free.
    pub fn next_zram(root: &Root) -> u32 {
        let taken = root.numbered("sys/block", "zram").unwrap_or_default();
        (0..).find(|number| !taken.contains(number)).unwrap_or(u32::MAX)
    }

    /// A control group that is about to be made.
    pub fn group(path: impl Into<String>, root: &Root) -> Self {
        let path = path.into();
        Self::Cgroup { top: identity::hierarchy(root, mount_of(&path)), path }
    }

    /// A swap file that is about to be made.
    pub fn swap_file(path: impl Into<String>, root: &Root) -> Self {
        let path = path.into();
        Self::Swap { file_system: identity::file_system(root, &path), path, remove_file: true }
    }

    /// A swap area on a device, which is put to use.
    pub fn swap_device(path: impl Into<String>) -> Self {
        Self::Swap { path: path.into(), remove_file: false, file_system: None }
    }

    /// A header with this UUID that a device is about to get.
    pub fn swap_header(path: impl Into<String>, uuid: impl Into<String>, root: &Root) -> Self {
        let path = path.into();
        Self::SwapHeader { device: identity::device(root, &path), path, uuid: uuid.into() }
    }

    /// The path of the swap area that is put to use.
    pub(crate) fn swap_area(&self) -> Option<String> {
        match self {
            Self::Swap { path, .. } => Some(format!("/{path}")),
            _ => None,
        }
    }

    /// Whether a user means it by this name: its path, with the first slash or without, `zram1`, the number of a
    /// process, a command.
    pub fn is_called(&self, name: &str) -> bool {
        match self {
            Self::Knob { path, .. }
            | Self::Cgroup { path, .. }
            | Self::Swap { path, .. }
            | Self::SwapHeader { path, .. } => path == name.trim_start_matches('/'),
            Self::Zram { number, .. } => name.trim_start_matches("/dev/") == format!("zram{number}"),
            Self::Process { pid, .. } => name.parse() == Ok(*pid),
            Self::Command { stop, .. } => stop == name,
            Self::Service { name: service } => service == name,
        }
    }

    /// The command that takes it back.
    pub(crate) fn command(&self) -> Option<String> {
        match self {
            Self::Command { stop, .. } => Some(stop.clone()),
            _ => None,
        }
    }

    /// Whether it may be noted, and taken back: what this program did not make is not its to remove.
    ///
    /// # Errors
    /// A [`Refusal`] that names the change.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        let (path, named) = match self {
            Self::Service { name } => {
                // A word of a shell, and nothing else to it.
                let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
                (name, name.ends_with(".service") && name.chars().all(plain))
            }
            Self::Knob { path, .. } => {
                let known = path.starts_with("proc/sys/") || path.starts_with("sys/");
                (path, known)
            }
            Self::Cgroup { path, .. } => (path, path.split('/').any(|part| part.contains(OURS))),
            Self::Swap { path, remove_file, .. } => {
                let name = path.rsplit('/').next().unwrap_or_default();
                (path, !remove_file || name.contains(OURS))
            }
            Self::SwapHeader { path, uuid, .. } => {
                let is_uuid = !uuid.is_empty() && uuid.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
                (path, path.starts_with("dev/") && is_uuid)
            }
            Self::Zram { .. } | Self::Process { .. } | Self::Command { .. } => return Ok(()),
        };
        let plain =
            !path.is_empty() && !path.starts_with('/') && path.split('/').all(|part| !part.is_empty() && part != "..");
        if named && plain {
            return Ok(());
        }
        Err(messages::change_forbidden(&self.to_string(), OURS))
    }
}

/// Where the hierarchy of a control group is mounted, which the group of a run is made in.
pub(crate) fn mount_of(path: &str) -> &str {
    let run = path.rmatch_indices(OURS).next().map_or(0, |(at, _)| at);
    path[..run].rsplit_once('/').map_or("", |(mount, _)| mount)
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Knob { path, old, new, .. } => write!(f, "/{path} from {old} to {new}"),
            Self::Cgroup { path, .. } => write!(f, "control group /{path}"),
            Self::Swap { path, .. } => write!(f, "swap area /{path}"),
            Self::SwapHeader { path, .. } => write!(f, "swap header on /{path}"),
            Self::Zram { number, .. } => write!(f, "device zram{number}"),
            Self::Process { pid, what, .. } => write!(f, "{what}, process {pid}"),
            Self::Service { name } => write!(f, "service {name}"),
            Self::Command { stop, what, .. } => write!(f, "{what}, stopped by '{stop}'"),
        }
    }
}
