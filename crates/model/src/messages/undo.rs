//! Changes to the system, their journal, and the outcome of each change.

use super::rows::messages;
use crate::Bytes;

const ANOTHER_DIRECTORY: &str = "free space there, or set TIERMARK_STATE to a directory that can be written";
const LEAVE_OUT: &str = "leave this knob out with --only, or see the kernel's log (dmesg)";
const LOOK: &str = "read the journal, write the old values that it lists back by hand, then delete it";
const WAIT: &str = "wait until that process ends, or stop it";

messages! {
    Refusal no_journal_directory():
        "changing the system", "neither TIERMARK_STATE nor HOME is set, so the journal of changes has no directory", "set TIERMARK_STATE or HOME";

    Refusal journal_directory_unwritable(purpose: &str, path: &str, error: &str):
        "{purpose}", "{path} cannot be written: {error}", "run as root, or set TIERMARK_STATE to a directory that \
            can be written";

    Refusal system_being_changed(purpose: &str, holder: &str):
        "{purpose}", "{holder} is changing this system right now", { WAIT };

    Refusal lock_not_shared(purpose: &str, error: &str):
        "{purpose}", "{error}", "close other programs";

    Refusal journal_unwritable(path: &str, error: &str):
        "the journal {path}", "it cannot be written: {error}; nothing is changed without it", { ANOTHER_DIRECTORY };

    Refusal journal_in_use(path: &str):
        "the journal {path}", "another process is writing it", { WAIT };

    Refusal journal_of_others(path: &str):
        "the journal {path}", "the file belongs to another user, or other users can write to it", { LOOK };

    Refusal journal_of_another_machine(path: &str):
        "the journal {path}", "it lists changes of another machine: its machine id is not that of /etc/machine-id here",
        "restore on that machine; delete the journal where that machine is gone";

    Refusal journal_malformed(path: &str, problem: &str):
        "the journal {path}", "{problem}", { LOOK };

    Refusal change_forbidden(change: &str, mark: &str):
        "{change}",
        "tiermark changes only files below proc/sys and sys, and groups and files whose names contain '{mark}'",
        "if the journal is damaged, delete it; otherwise do not edit it";

    Refusal knob_denied(name: &str, value: &str, old: &str, path: &str, error: &str) options ["--apply"]:
        "{name}: {value} instead of {old}", "/{path}: {error}", "run as root: sudo tiermark tune --apply";

    Refusal knob_read_only(name: &str, value: &str, old: &str, path: &str, error: &str):
        "{name}: {value} instead of {old}", "/{path}: {error}",
        "a container shows it read-only: run on the host, or in a privileged container";

    Refusal knob_refused(name: &str, value: &str, old: &str, path: &str, error: &str) options ["--only"]:
        "{name}: {value} instead of {old}", "/{path}: {error}", { LEAVE_OUT };

    /// A value that the kernel accepts and does not keep; `found` is the value afterwards, if it can be parsed.
    Refusal knob_not_kept(name: &str, value: &str, old: &str, found: Option<&str>) options ["--only"]:
        "{name}: {value} instead of {old}",
        {
            let found = found.unwrap_or("a value that cannot be parsed");
            format!("the kernel accepted the value, but the file then reads {found}")
        },
        { LEAVE_OUT };

    Refusal service_not_stopped(name: &str, error: &str):
        "stopping {name}", "{error}", "stop it yourself: systemctl stop {name}";

    Note service_removed(): "the system has no such service any more";

    Note system_refused(error: &str): "{error}";

    Note command_not_started(program: &str, error: &str): "{program} cannot be started: {error}";

    Note command_said(output: &str): "{output}";

    Note command_says_too_much(program: &str, most: Bytes): "{program} prints more than {most}";

    Note command_ended(program: &str, status: &str): "{program} ended with {status}";

    /// A command that took longer than it may; `survivor`: its process, where it did not end after SIGKILL.
    Note command_too_long(program: &str, seconds: u64, survivor: Option<u32>):
        { format!("{program} took more than {seconds} s{}", survives(survivor)) };

    /// A command that was stopped on request; `survivor`: its process, where it did not end after SIGKILL.
    Note command_stopped(survivor: Option<u32>): { format!("it was stopped{}", survives(survivor)) };

    Note swap_of_a_capture(): "only swap areas of the running system can be changed";

    Note process_of_a_capture(): "only processes of the running system can be ended";

    Note restore_denied(error: &str): "{error}; run as root: sudo tiermark tune --restore";

    Note command_given_up(error: &str): "given up: {error}";

    Note started_before_reboot(command: &str):
        {
            let word = format!("'{}'", command.replace('\'', "'\\''"));
            format!(
                "the system was rebooted since, and other programs may use it now; if none does, run `{command}`, then \
                 `tiermark tune --restore --forget {word}`"
            )
        };

    Note check_passes(): "its check command reports that it is not running";

    Note nobody_asked(): "other programs may use it now; `tiermark tune --restore` stops it";

    Note process_survives(): "the process did not end after SIGKILL";

    Note members_survive(processes: &[u32]):
        { format!("processes {} in it did not end after SIGKILL; stop them, and restore again", numbers(processes)) };

    Note left_to_survivors(processes: &[u32]):
        { format!("not removed, because processes {} still use it and did not end; stop them, and restore again", numbers(processes)) };

    Note group_unreadable(group: &str, error: &str):
        "the processes in /{group} cannot be listed ({error}): make its files readable, and restore again";

    Note too_many_groups(group: &str, most: usize):
        "/{group} has more than {most} groups below it, so its processes cannot be listed: remove some of them, and \
         restore again";

    Note hierarchy_absent(group: &str):
        "the hierarchy of the control group /{group} is not mounted here: restore where it is mounted; if the group \
         is gone for good, add --forget";

    Note kernel_files_absent(path: &str):
        "/{path} is not there: mount it, or restore outside of this container";

    Note group_busy(error: &str, processes: &[u32]):
        { format!("{error}: processes {} are in it; stop them, and restore again", numbers(processes)) };

    Note gone_with_reboot(): "the reboot had already removed it";

    Note file_system_absent():
        "the file system that held it is not mounted there: mount it and restore again; if the file is gone for \
            good, add --forget";

    Note device_absent():
        "the device is not connected, or another one has its name: connect it and restore again; if it is gone for \
         good, add --forget";

    Note device_renamed(path: &str): "the device is now /{path}";

    Note note_ended(): "removed from the journal (--forget); nothing was undone";

    Note area_of_others(): "the swap area of that name is not the one that tiermark made";

    Note device_of_others(): "the device of that number is not the one that tiermark made";

    Note limit_of_others(group: &str, swapped: Bytes, room: Bytes):
        "/{group} has {swapped} in swap, and its limit leaves room for {room}: the kernel would kill its processes; \
         raise its memory limit and restore again, or add --force";

    Note swapoff_failed(error: &str): "{error}; free memory, and restore again";

    Note swapoff_without_effect(): "swapoff reported success, but the area is still in use";

    Note used_for_swap(): "it is in use for swap";

    Note file_gone(): "the file no longer exists";

    Note value_unreadable(): "its value cannot be parsed";

    Note value_of_others(value: &str, old: &str):
        "its value is now {value}, written by another program; --force writes {old} anyway";

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
