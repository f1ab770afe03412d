//! The program under `strace`: which system calls it makes that leave something, and runs in which one of them fails or
//! is the last.

use std::fs;
use std::process::Command;

use crate::common::{Ran, User};

/// Calls after which something is there that was not, or no longer is; of `openat` those that may write. Whatever else
/// writes to files (writev, `copy_file_range`, sendfile, ioctl) neither this program nor the standard library's part of
/// it uses. Reading a file makes a zram device.
const LEAVING: &str = "write,pwrite64,fallocate,swapon,swapoff,openat,mkdir,ftruncate,fdatasync,fsync,flock,fchmod,fchown,\
                       rename,unlink,unlinkat,rmdir,renameat,linkat,read";

/// One call of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    /// Its name.
    pub(crate) name: String,
    /// Its number among the calls of this name, from 1.
    pub(crate) number: usize,
    /// Its arguments, as strace shows them with paths for descriptors.
    pub(crate) arguments: String,
    /// Whether it succeeded.
    pub(crate) succeeded: bool,
}

impl Call {
    /// Whether something is different after it.
    pub(crate) fn leaves(&self) -> bool {
        match self.name.as_str() {
            "openat" => ["O_WRONLY", "O_RDWR", "O_CREAT"].iter().any(|flag| self.arguments.contains(flag)),
            "read" => self.file() == "/sys/class/zram-control/hot_add",
            _ => true,
        }
    }

    /// The path of the file descriptor that is its first argument.
    pub(crate) fn file(&self) -> &str {
        self.arguments.split_once('<').and_then(|(_, rest)| rest.split_once('>')).map_or("", |(path, _)| path)
    }

    /// The first text among its arguments.
    pub(crate) fn text(&self) -> String {
        let begin = self.arguments.find('"').map_or(self.arguments.len(), |at| at + 1);
        let (mut text, mut escaped) = (String::new(), false);
        for c in self.arguments[begin..].chars() {
            match (escaped, c) {
                (false, '\\') => escaped = true,
                (false, '"') => break,
                (true, 'n') => (text.push('\n'), escaped = false).1,
                (_, c) => (text.push(c), escaped = false).1,
            }
        }
        text
    }
}

/// Whether processes can be traced here; else says why the test is skipped. A machine may forbid it; CI has to have the
/// tracer.
pub(crate) fn can_trace() -> bool {
    let traced = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    assert!(traced.is_ok() || std::env::var_os("CI").is_none(), "strace is missing, and CI must not skip this");
    let can = traced.is_ok_and(|output| output.status.success());
    if !can {
        crate::common::skipped(format_args!("failing system calls needs strace, and the right to trace"));
    }
    can
}

/// The program whose calls of these names are traced: those of all its threads and children, or of its main thread.
fn under(user: &User, names: &str, follows: bool, options: &[&str], arguments: &[&str]) -> Ran {
    let program = user.command(arguments);
    let mut command = Command::new("strace");
    let children: &[&str] = if follows { &["-f"] } else { &[] };
    command.args(children).args(["-y", "-s", "65536", "-e", "signal=none", "-e"]).arg(format!("trace={names}"));
    command.args(options).arg("--").arg(program.get_program()).args(arguments);
    command.env_clear().envs(program.get_envs().filter_map(|(key, value)| Some((key, value?))));
    command.current_dir(user.home.path());
    Ran::from(command.output().unwrap())
}

/// Whether children are traced too. The main thread of `capacity` does all that changes the system, but for swap areas;
/// its servers and their clients, whose calls have the same numbers, are left alone.
fn follows(arguments: &[&str], name: &str) -> bool {
    arguments[0] != "capacity" || ["swapon", "swapoff"].contains(&name)
}

/// The calls of a run that leave something, in their order.
pub(crate) fn calls(user: &User, arguments: &[&str]) -> (Ran, Vec<Call>) {
    let log = user.path("trace");
    let ran = under(user, LEAVING, follows(arguments, ""), &["-o", log.to_str().unwrap()], arguments);
    let text = String::from_utf8_lossy(&fs::read(&log).unwrap()).into_owned();
    fs::remove_file(log).unwrap();
    let mut found: Vec<Call> = Vec::new();
    for line in text.lines() {
        // `PID  name(arguments) = result`, without PID where one thread is traced.
        let call = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
        let Some((name, rest)) = call.split_once('(') else { continue };
        let Some((arguments, result)) = rest.rsplit_once(" = ") else { continue };
        let number = 1 + found.iter().filter(|call| call.name == name).count();
        let succeeded = !result.starts_with('-');
        found.push(Call { name: name.to_owned(), number, arguments: arguments.trim_end().to_owned(), succeeded });
    }
    (ran, found.into_iter().filter(Call::leaves).collect())
}

/// A run in which this call fails with that error, without having been made.
pub(crate) fn failing(user: &User, call: &Call, error: &str, arguments: &[&str]) -> Ran {
    let inject = format!("inject={}:error={error}:when={}", call.name, call.number);
    injected(user, call, &inject, arguments)
}

/// A run that is killed when it is about to make this call.
pub(crate) fn killed(user: &User, call: &Call, arguments: &[&str]) -> Ran {
    let inject = format!("inject={}:signal=KILL:when={}", call.name, call.number);
    injected(user, call, &inject, arguments)
}

fn injected(user: &User, call: &Call, inject: &str, arguments: &[&str]) -> Ran {
    under(user, &call.name, follows(arguments, &call.name), &["-o", "/dev/null", "-e", inject], arguments)
}
