//! Changes to the system, their journal, and the outcome of each change.

use super::rows::messages;
use crate::Bytes;

const ANOTHER_DIRECTORY: &str = "free space there, or set TIERMARK_STATE to a directory that can be written";
const LEAVE_OUT: &str = "leave this knob out with --only, or see the kernel's log (dmesg)";
const LOOK: &str = "read the journal, write the old values that it lists back by hand, then delete it";
const WAIT: &str = "wait until that process ends, or stop it";

messages! {
    /// A user without a directory for the journal.
    Refusal no_journal_directory():
        "changing the system", "neither TIERMARK_STATE nor HOME is set, so the journal of changes has no directory", "set TIERMARK_STATE or HOME";

    /// A directory of journals, or the lock of the system, that cannot be written.
    Refusal journal_directory_unwritable(purpose: &str, path: &str, error: &str):
        "{purpose}", "{path} cannot be written: {error}", "run as root, or set TIERMARK_STATE to a directory that \
            can be written";

    /// Another process that changes the system.
    Refusal system_being_changed(purpose: &str, holder: &str):
        "{purpose}", "{holder} is changing this system right now", { WAIT };

    /// The lock of the system that cannot be held twice by this process.
    Refusal lock_not_shared(purpose: &str, error: &str):
        "{purpose}", "{error}", "close other programs";

    /// A journal that cannot be written.
    Refusal journal_unwritable(path: &str, error: &str):
        "the journal {path}", "it cannot be written: {error}; nothing is changed without it", { ANOTHER_DIRECTORY };

    /// A journal that another process writes.
    Refusal journal_in_use(path: &str):
        "the journal {path}", "another process is writing it", { WAIT };

    /// A journal of another user, or one that others can write to.
    Refusal journal_of_others(path: &str):
        "the journal {path}", "the file belongs to another user, or other users can write to it", { LOOK };

    /// A journal of another machine.
    Refusal journal_of_another_machine(path: &str):
        "the journal {path}", "it lists changes of another machine: its machine id is not that of /etc/machine-id here",
        "restore on that machine; delete the journal where that machine is gone";

    /// A journal that cannot be read, or makes no sense.
    Refusal journal_malformed(path: &str, problem: &str):
        "the journal {path}", "{problem}", { LOOK };

    /// A change of a kind that is never made, in a journal.
    Refusal change_forbidden(change: &str, mark: &str):
        "{change}",
        "tiermark changes only files below proc/sys and sys, and groups and files whose names contain '{mark}'",
        "if the journal is damaged, delete it; otherwise do not edit it";

    /// A knob that this user may not write.
    Refusal knob_denied(name: &str, value: &str, old: &str, path: &str, error: &str):
        "{name}: {value} instead of {old}", "/{path}: {error}", "run as root: sudo tiermark tune --apply";

    /// A knob in a read-only tree.
    Refusal knob_read_only(name: &str, value: &str, old: &str, path: &str, error: &str):
        "{name}: {value} instead of {old}", "/{path}: {error}",
        "a container shows it read-only: run on the host, or in a privileged container";

    /// A value that the kernel does not take.
    Refusal knob_refused(name: &str, value: &str, old: &str, path: &str, error: &str):
        "{name}: {value} instead of {old}", "/{path}: {error}", { LEAVE_OUT };

    /// A value that the kernel accepts and does not keep; `found` is the value afterwards, if it can be parsed.
    Refusal knob_not_kept(name: &str, value: &str, old: &str, found: Option<&str>):
        "{name}: {value} instead of {old}",
        {
            let found = found.unwrap_or("a value that cannot be parsed");
            format!("the kernel accepted the value, but the file then reads {found}")
        },
        { LEAVE_OUT };

    /// A service that cannot be stopped.
    Refusal service_not_stopped(name: &str, error: &str):
        "stopping {name}", "{error}", "stop it yourself: systemctl stop {name}";

    /// A service that was removed since it was stopped.
    Note service_removed(): "the system has no such service any more";

    /// The answer of the system, or of a program of it, to an attempt.
    Note system_refused(error: &str): "{error}";

    /// A command that the system does not start.
    Note command_not_started(program: &str, error: &str): "{program} cannot be started: {error}";

    /// A command that failed, in its own words.
    Note command_said(output: &str): "{output}";

    /// A command that failed without a word.
    Note command_ended(program: &str, status: &str): "{program} ended with {status}";

    /// A command that took longer than it may; `survivor`: its process, where it did not end after SIGKILL.
    Note command_too_long(program: &str, seconds: u64, survivor: Option<u32>):
        { format!("{program} took more than {seconds} s{}", survives(survivor)) };

    /// A command that was stopped on request; `survivor`: its process, where it did not end after SIGKILL.
    Note command_stopped(survivor: Option<u32>): { format!("it was stopped{}", survives(survivor)) };

    /// A change to swap areas that is asked of a captured system.
    Note swap_of_a_capture(): "only swap areas of the running system can be changed";

    /// The end of a process that is asked of a captured system.
    Note process_of_a_capture(): "only processes of the running system can be ended";

    /// An answer of the system that root does not get.
    Note restore_denied(error: &str): "{error}; run as root: sudo tiermark tune --restore";

    /// A command that failed, and whose journal entry the user removed.
    Note command_given_up(error: &str): "given up: {error}";

    /// A thing that a command started before a reboot.
    Note started_before_reboot(command: &str):
        {
            let word = format!("'{}'", command.replace('\'', "'\\''"));
            format!(
                "the system was rebooted since, and other programs may use it now; if none does, run `{command}`, then \
                 `tiermark tune --restore --forget {word}`"
            )
        };

    /// A started thing whose check command reports that it does not run.
    Note check_passes(): "its check command reports that it is not running";

    /// A started thing, found by another run.
    Note nobody_asked(): "other programs may use it now; `tiermark tune --restore` stops it";

    /// A process that a signal does not end.
    Note process_survives(): "the process did not end after SIGKILL";

    /// A control group whose processes live although they were killed.
    Note members_survive(processes: &[u32]):
        { format!("processes {} in it did not end after SIGKILL; stop them, and restore again", numbers(processes)) };

    /// A change that stays because processes of the run survive.
    Note left_to_survivors(processes: &[u32]):
        { format!("not removed, because processes {} still use it and did not end; stop them, and restore again", numbers(processes)) };

    /// A control group whose files cannot be read.
    Note group_unreadable(group: &str, error: &str):
        "the processes in /{group} cannot be listed ({error}): make its files readable, and restore again";

    /// A control group with more groups below it than are looked at.
    Note too_many_groups(group: &str, most: usize):
        "/{group} has more than {most} groups below it, so its processes cannot be listed: remove some of them, and \
         restore again";

    /// A control group of a hierarchy that is not mounted here, or begins elsewhere, as in another cgroup namespace.
    Note hierarchy_absent(group: &str):
        "the hierarchy of the control group /{group} is not mounted here: restore where it is mounted; if the group \
         is gone for good, add --forget";

    /// Files of the kernel that are absent as a whole, so that nothing can be said about what they would show.
    Note kernel_files_absent(path: &str):
        "/{path} is not there: mount it, or restore outside of this container";

    /// A control group with processes in it.
    Note group_busy(error: &str, processes: &[u32]):
        { format!("{error}: processes {} are in it; stop them, and restore again", numbers(processes)) };

    /// A change that a reboot has undone.
    Note gone_with_reboot(): "the reboot had already removed it";

    /// A file on a file system that is not mounted.
    Note file_system_absent():
        "the file system that held it is not mounted there: mount it and restore again; if the file is gone for \
            good, add --forget";

    /// A device that is not connected, or one of its name that nothing shows to be the same.
    Note device_absent():
        "the device is not connected, or another one has its name: connect it and restore again; if it is gone for \
         good, add --forget";

    /// A device with another name than before.
    Note device_renamed(path: &str): "the device is now /{path}";

    /// A change whose note the user ended.
    Note note_ended(): "removed from the journal (--forget); nothing was undone";

    /// A swap area under the name of that which was made.
    Note area_of_others(): "the swap area of that name is not the one that tiermark made";

    /// A device under the number of that which was made.
    Note device_of_others(): "the device of that number is not the one that tiermark made";

    /// A swap area with pages of others, which do not fit under their limit.
    Note limit_of_others(group: &str, swapped: Bytes, room: Bytes):
        "/{group} has {swapped} in swap, and its limit leaves room for {room}: the kernel would kill its processes; \
         raise its memory limit and restore again, or add --force";

    /// A swap area that the kernel does not give back.
    Note swapoff_failed(error: &str): "{error}; free memory, and restore again";

    /// A swap area that is there after swapoff.
    Note swapoff_without_effect(): "swapoff reported success, but the area is still in use";

    /// A file or a device in use as a swap area.
    Note used_for_swap(): "it is in use for swap";

    /// A file of the kernel that is gone.
    Note file_gone(): "the file no longer exists";

    /// A file of the kernel whose value is of another form.
    Note value_unreadable(): "its value cannot be parsed";

    /// A value that neither the change nor its end is.
    Note value_of_others(value: &str, old: &str):
        "its value is now {value}, written by another program; --force writes {old} anyway";

    /// A value that the kernel takes and does not keep.
    Note value_not_back(value: &str): "the write succeeded, but the value is {value}";
}

/// A process that a kill did not end.
fn survives(survivor: Option<u32>) -> String {
    survivor.map_or_else(String::new, |pid| format!("; killed, its process {pid} still waits in the kernel"))
}

/// The first of some process numbers.
fn numbers(processes: &[u32]) -> String {
    const MOST: usize = 8;
    let named = |pid: &u32| match pid {
        0 => "0 (in another PID namespace)".to_owned(),
        pid => pid.to_string(),
    };
    let first: Vec<String> = processes.iter().take(MOST).map(named).collect();
    let more = if processes.len() > MOST { ", …" } else { "" };
    first.join(", ") + more
}
