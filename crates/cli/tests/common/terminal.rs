//! A program in a pseudo-terminal, and the screen that a person would see there.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use super::User;

/// The longest wait for what happens at once on an idle machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A program in a pseudo-terminal of 80 columns and 24 lines.
pub(crate) struct Terminal {
    master: File,
    /// The program's side, to look at its modes.
    slave: OwnedFd,
    pub(crate) child: Child,
    seen: String,
    /// What a terminal makes of it.
    screen: vt100::Parser,
}

impl Terminal {
    pub(crate) fn start(user: &User, arguments: &[&str]) -> Self {
        let (lines, columns) = (NonZeroU16::new(24).unwrap(), NonZeroU16::new(80).unwrap());
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let slave: OwnedFd = File::options()
            .read(true)
            .write(true)
            .open(ptsname(&master, Vec::new()).unwrap().to_str().unwrap())
            .unwrap()
            .into();
        tcsetwinsize(&slave, Winsize { ws_row: lines.get(), ws_col: columns.get(), ws_xpixel: 0, ws_ypixel: 0 })
            .unwrap();
        let end = || Stdio::from(slave.try_clone().unwrap());
        // The terminal of the tests, if any, is not the one whose size counts.
        let program = user.command(&[]).get_program().to_owned();
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(program).args(arguments).env_clear().env("PATH", "/usr/bin:/bin");
        command.env("TERM", "xterm-256color").env("TIERMARK_HOME", user.home.path());
        command.current_dir(user.home.path()).stdin(end()).stdout(end()).stderr(end());
        let child = command.spawn().unwrap();
        Self {
            master: File::from(master),
            slave,
            child,
            seen: String::new(),
            screen: vt100::Parser::new(lines, columns, 0),
        }
    }

    pub(crate) fn is_raw(&self) -> bool {
        !tcgetattr(&self.slave).unwrap().local_modes.contains(LocalModes::ECHO)
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Reads until a text is seen.
    pub(crate) fn until(&mut self, text: &str) {
        let begun = Instant::now();
        while !self.seen.contains(text) {
            let end = self.seen.chars().rev().take(2000).collect::<Vec<_>>().into_iter().rev().collect::<String>();
            assert!(begun.elapsed() < PATIENCE, "no '{text}' in the end of what was written: {end:?}");
            self.read();
        }
        self.seen = self.seen.split_off(self.seen.find(text).unwrap());
    }

    /// The lines of the screen, once it shows a text and nothing more is written.
    pub(crate) fn screen_with(&mut self, text: &str) -> String {
        let begun = Instant::now();
        let mut last = String::new();
        loop {
            self.read();
            let now = self.screen.screen().contents();
            // The line of keys is the last that is written.
            if now.contains(text) && now.contains("q quit") && now == last {
                return now;
            }
            assert!(begun.elapsed() < PATIENCE, "no '{text}' on the screen:\n{now}");
            last = now;
        }
    }

    fn read(&mut self) {
        let tenth = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        if poll(&mut [PollFd::new(&self.master, PollFlags::IN)], Some(&tenth)).unwrap() > 0 {
            let mut part = [0; 4096];
            let read = self.master.read(&mut part).unwrap();
            self.seen.push_str(&String::from_utf8_lossy(&part[..read]));
            self.screen.process(&part[..read]);
        }
    }

    /// The exit code, after which the terminal is as it was before.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.until("\x1b[?1049l");
        let code = ended(&mut self.child);
        self.until("\x1b[?25h");
        assert!(!self.is_raw(), "the terminal echoes again");
        code
    }
}

impl Drop for Terminal {
    /// A test that fails leaves no program.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The exit code of a program that ends soon; `None` if it has to be killed, or a signal ended it.
pub(crate) fn ended(child: &mut Child) -> Option<i32> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}
