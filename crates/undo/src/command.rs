//! Commands of the system with a limit of time, without input and without output of their own.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, kill_process_group};
use tiermark_model::messages::undo as says;
use tiermark_model::{Bytes, Note};

/// Starting or stopping a machine elsewhere takes minutes; a command that takes longer hangs.
pub const COMMAND_MOST: Duration = Duration::from_secs(600);
/// A process that was killed is gone within this time, unless it waits in the kernel for a device that does not answer
/// (state D).
const GONE: Duration = Duration::from_secs(2);
/// Bytes of a command's output that an error quotes, from its end: the cause stands there.
const OUTPUT_TAIL: u64 = 2000;

/// The command that has a shell run a line as a user writes it.
pub fn shell(text: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", text]);
    command
}

/// Runs a command for at most that time, without input; its output is kept for the error.
///
/// # Errors
/// The end of the command's output, or why it could not be started or was stopped.
pub fn bounded(command: Command, most: Duration) -> Result<(), Note> {
    bounded_until(command, most, &|| false)
}

/// As [`bounded_until`], and returns the end of what the command writes to its standard output.
///
/// # Errors
/// As for [`bounded`].
pub fn output_tail_until(command: Command, most: Duration, stop: &dyn Fn() -> bool) -> Result<String, Note> {
    let (output, stdout) = kept_output()?;
    carry_out(command, most, stop, stdout)?;
    Ok(tail(&output))
}

/// As [`bounded_until`], and returns all that the command writes to its standard output, at most so many bytes.
///
/// # Errors
/// As for [`bounded`], and for a command that writes more.
pub fn output_until(command: Command, most: Duration, limit: Bytes, stop: &dyn Fn() -> bool) -> Result<Vec<u8>, Note> {
    let name = command.get_program().to_string_lossy().into_owned();
    let (output, stdout) = kept_output()?;
    let length = || output.metadata().map_or(0, |about| about.len());
    let is_too_long = || length() > limit.0;
    let ended = carry_out(command, most, &|| stop() || is_too_long(), stdout);
    if is_too_long() {
        return Err(says::command_says_too_much(&name, limit));
    }
    ended?;
    let mut bytes = vec![0; length() as usize];
    output.read_exact_at(&mut bytes, 0).map_err(|error| says::system_refused(&error.to_string()))?;
    Ok(bytes)
}

/// A file in memory for the output of a command, and the command's end of it. A pipe would be full some time, and be
/// open as long as anything holds it that the command leaves behind.
fn kept_output() -> Result<(File, Stdio), Note> {
    let refused = |error: io::Error| says::system_refused(&error.to_string());
    let output = memfd_create("tiermark-output", MemfdFlags::CLOEXEC).map_err(|error| refused(error.into()))?;
    let output = File::from(output);
    let end = output.try_clone().map_err(refused)?;
    Ok((output, Stdio::from(end)))
}

/// As [`bounded`], and stops the command as soon as `stop` returns true.
///
/// # Errors
/// As for [`bounded`].
pub fn bounded_until(command: Command, most: Duration, stop: &dyn Fn() -> bool) -> Result<(), Note> {
    carry_out(command, most, stop, Stdio::null())
}

fn carry_out(mut command: Command, most: Duration, stop: &dyn Fn() -> bool, stdout: Stdio) -> Result<(), Note> {
    let name = command.get_program().to_string_lossy().into_owned();
    let (log, output) = kept_output()?;
    // A key such as Ctrl-C must not end the command half-way.
    command.process_group(0).stdin(Stdio::null()).stdout(stdout).stderr(output);
    let mut child = command.spawn().map_err(|error| says::command_not_started(&name, &error.to_string()))?;
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => {
                let message = tail(&log);
                return Err(match message.is_empty() {
                    true => says::command_ended(&name, &status.to_string()),
                    false => says::command_said(&message),
                });
            }
            Ok(None) if started.elapsed() < most && !stop() => thread::sleep(Duration::from_millis(10)),
            Ok(None) => {
                // The group it leads, so that what a shell started ends too. Its work in the kernel ends at the signal,
                // with the area still in use.
                let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
                let _ = group.map(|group| kill_process_group(group, Signal::KILL));
                let late = started.elapsed() >= most;
                let survivor = (!end(&mut child)).then_some(child.id());
                return Err(match late {
                    true => says::command_too_long(&name, most.as_secs(), survivor),
                    false => says::command_stopped(survivor),
                });
            }
            Err(error) => return Err(says::system_refused(&error.to_string())),
        }
    }
}

/// Kills a child, and waits for its end for a short time; whether it has ended. A tenant that has not is still in its
/// control group, where taking changes back finds it; a command that has not (swapon of a disk that does not answer)
/// may still have its effect later.
pub fn end(child: &mut Child) -> bool {
    // It fails only for one that has ended.
    let _ = child.kill();
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(None) if begun.elapsed() < GONE => thread::sleep(Duration::from_millis(1)),
            Ok(None) => return false,
            // Another thread of this process has already collected its exit status.
            Ok(Some(_)) | Err(_) => return true,
        }
    }
}

/// The end of a command's output.
fn tail(file: &File) -> String {
    let length = file.metadata().map_or(0, |about| about.len());
    let mut text = vec![0; length.min(OUTPUT_TAIL) as usize];
    match file.read_exact_at(&mut text, length - length.min(OUTPUT_TAIL)) {
        Ok(()) => String::from_utf8_lossy(&text).trim().to_owned(),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Duration = Duration::from_secs(600);

    #[test]
    fn commands_are_bounded_and_say_why() {
        assert_eq!(bounded(shell("exit 0"), MOST), Ok(()));
        assert_eq!(bounded(shell("echo no >&2; exit 1"), MOST), Err(says::command_said("no")));
        assert_eq!(output_tail_until(shell("echo yes; echo no >&2"), MOST, &|| false), Ok("yes".to_owned()));
        let all = |text: &str, limit: u64| output_until(shell(text), MOST, Bytes(limit), &|| false);
        assert_eq!(all("printf 'yes\\n'; echo no >&2", 4), Ok(b"yes\n".to_vec()));
        let endless = all("yes; true", 1 << 20).map_err(|note| note.code);
        assert_eq!(endless, Err(says::codes::command_says_too_much));
        assert_eq!(all("echo yes", 3).map_err(|note| note.code), Err(says::codes::command_says_too_much));
        let failed = output_tail_until(shell("echo yes; echo no >&2; exit 1"), MOST, &|| false);
        assert_eq!(failed, Err(says::command_said("no")));
        let code = |command: Command, most: Duration| bounded(command, most).unwrap_err().code;
        assert_eq!(code(shell("exec sleep 30"), Duration::from_millis(50)), says::codes::command_too_long);
        assert_eq!(code(Command::new("/nonexistent"), MOST), says::codes::command_not_started);
        // More than a pipe holds, and a background process that could still write.
        let talks = "head -c 200000 /dev/zero | tr '\\0' x >&2; echo end >&2; sleep 5 & exit 1";
        let said = bounded(shell(talks), MOST).unwrap_err().text;
        assert!(said.ends_with("end") && said.len() < 2001, "{} bytes", said.len());
        // Processes that the shell started are killed too: they hold the other end of the pipe.
        let begun = Instant::now();
        let stop = || begun.elapsed() > Duration::from_millis(50);
        assert_eq!(bounded_until(shell("sleep 60; true"), MOST, &stop), Err(says::command_stopped(None)));
    }
}
