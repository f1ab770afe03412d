//! One virtual machine: a process in its tenant's control groups, and the line to the agent inside.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, OFlags, fcntl_setfl, memfd_create};
use tiermark_model::messages::tenants as messages;
use tiermark_model::{Note, Refusal};

use super::{Acceleration, Hypervisor};
use crate::backend::server::ENTER;
use crate::guest::protocol::{Lines, Reply, Request, line};
use crate::guest::{ARGUMENT, PORT};
use crate::scenario::GuestShape;

/// Bytes of the end of a console that a message quotes.
const CONSOLE_TAIL: u64 = 2000;

/// The emulator's process of one guest, and its serial port.
#[derive(Debug)]
pub(super) struct Machine {
    child: Child,
    line: UnixStream,
    lines: Lines,
    heard: Instant,
    console: File,
}

/// Files and sizes with which a guest's emulator is started.
#[derive(Debug)]
pub(super) struct Boot<'a> {
    pub(super) hypervisor: &'a Hypervisor,
    /// The emulator, and what stands before it.
    pub(super) program: &'a [String],
    /// Its groups' directories below the root.
    pub(super) groups: &'a [String],
    pub(super) acceleration: Acceleration,
}

#[cfg(test)]
impl Machine {
    /// A process that says nothing, and the end of the line at which a guest would be.
    pub(super) fn made_up() -> (Self, UnixStream) {
        let (line, theirs) = UnixStream::pair().unwrap();
        line.set_nonblocking(true).unwrap();
        let child = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
        let console = File::from(memfd_create("tiermark-console", MemfdFlags::CLOEXEC).unwrap());
        (Self { child, line, lines: Lines::default(), heard: Instant::now(), console }, theirs)
    }

    /// Ends the process of a made-up one.
    pub(super) fn end_made_up(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Machine {
    /// Starts one, and waits for nothing.
    ///
    /// # Errors
    /// A [`Refusal`] where no process can be started.
    pub(super) fn start(boot: &Boot<'_>) -> Result<Self, Refusal> {
        let refuse = |why: std::io::Error| messages::guest_not_started(&why.to_string());
        let (line, theirs) = UnixStream::pair().map_err(refuse)?;
        line.set_nonblocking(true).map_err(refuse)?;
        let console = memfd_create("tiermark-console", MemfdFlags::CLOEXEC).map_err(|why| refuse(why.into()))?;
        // The emulator and the guest's console both write there.
        fcntl_setfl(&console, OFlags::APPEND).map_err(|why| refuse(why.into()))?;
        let console = File::from(console);
        let output = console.try_clone().map_err(refuse)?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", ENTER, "tiermark-tenant"]);
        command.args(boot.groups.iter().map(|group| format!("/{group}")));
        command.arg("--").args(boot.program).args(arguments(boot));
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::from(output)).stderr(Stdio::null());
        // A key that ends this program does not reach tenants: they are taken away in an order.
        command.process_group(0);
        let child = command.spawn().map_err(refuse)?;
        Ok(Self { child, line, lines: Lines::default(), heard: Instant::now(), console })
    }

    /// Sends a request.
    ///
    /// # Errors
    /// Why the guest does not take the request.
    pub(super) fn ask(&mut self, request: &Request) -> Result<(), Note> {
        self.heard = Instant::now();
        // A request is far smaller than what a socket holds: where it does not fit, nothing was read for long.
        line(request)
            .and_then(|line| self.line.write_all(&line))
            .map_err(|error| messages::guest_takes_nothing(&error.to_string()))
    }

    /// The next message of the guest, if one has arrived; does not wait.
    ///
    /// # Errors
    /// Why the guest is lost: it is gone, or says what makes no sense.
    pub(super) fn hear(&mut self) -> Result<Option<Reply>, Note> {
        let mut bytes = [0; 64 << 10];
        loop {
            if let Some(reply) = self.lines.take().map_err(|problem| messages::guest_unreadable(&problem.text))? {
                return Ok(Some(reply));
            }
            match self.line.read(&mut bytes) {
                Ok(0) => return Err(self.how_it_ended()),
                Ok(length) => {
                    self.heard = Instant::now();
                    self.lines.push(&bytes[..length]);
                }
                Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return Ok(None),
                Err(_) => return Err(self.how_it_ended()),
            }
        }
    }

    /// Time since the last reply, or since the last request if that is later.
    pub(super) fn silent(&self) -> Duration {
        self.heard.elapsed()
    }

    /// How its process ended, where it has.
    pub(super) fn exited(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    fn how_it_ended(&mut self) -> Note {
        // Its end of the line is closed a moment before the process can be waited for.
        let status = (0..100).find_map(|_| {
            self.exited().or_else(|| {
                std::thread::sleep(Duration::from_millis(10));
                None
            })
        });
        status.map_or_else(messages::guest_hung_up, |status| messages::guest_ended(&status.to_string()))
    }

    /// The end of what emulator, kernel and server said.
    pub(super) fn console_tail(&self) -> String {
        let length = self.console.metadata().map_or(0, |data| data.len());
        let start = length.saturating_sub(CONSOLE_TAIL);
        let mut bytes = vec![0; (length - start) as usize];
        if self.console.read_exact_at(&mut bytes, start).is_err() {
            return String::new();
        }
        last_lines(&String::from_utf8_lossy(&bytes))
    }

    /// Ends it, if it has not ended.
    pub(super) fn end(&mut self) {
        tiermark_undo::end(&mut self.child);
    }
}

/// The last lines of a text that say anything, in one.
fn last_lines(text: &str) -> String {
    let plain = |line: &str| line.chars().filter(|c| !c.is_control()).collect::<String>().trim().to_owned();
    let lines: Vec<String> = text.lines().map(plain).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join("; ")
}

/// The emulator's arguments. Standard input is the line to the agent, standard output the console, so no file has to be
/// removed.
fn arguments(boot: &Boot<'_>) -> Vec<String> {
    let Boot { hypervisor, acceleration, .. } = boot;
    let kernel = hypervisor.image.kernel.display().to_string();
    let mut words: Vec<String> = acceleration.words().iter().map(|word| (*word).to_owned()).collect();
    let [memory, cpus, line] = shaped(&hypervisor.shape, &acceleration.kernel_line(hypervisor.khz));
    let port = format!("virtserialport,chardev=agent,name={PORT}");
    words.extend(
        [
            // Merging equal pages of tenants would hold more of them than their memory has room for.
            ["-machine", "q35,mem-merge=off"],
            ["-m", &memory],
            ["-smp", &cpus],
            ["-display", "none"],
            ["-chardev", "socket,id=agent,fd=0"],
            ["-chardev", "file,id=console,path=/dev/stdout,append=on"],
            ["-serial", "chardev:console"],
            ["-device", "virtio-serial-pci"],
            ["-device", &port],
            ["-kernel", &kernel],
            ["-initrd", &hypervisor.image.path()],
            ["-append", &line],
        ]
        .iter()
        .flatten()
        .map(|word| (*word).to_owned()),
    );
    words.extend(["-nodefaults", "-no-user-config", "-no-reboot"].map(str::to_owned));
    words
}

/// Memory, cpus and the kernel's command line of a shape, as the emulator takes them. `needed` are the parameters
/// without which a guest does not work; what a user adds comes later, and the kernel takes the later of two.
fn shaped(shape: &GuestShape, needed: &str) -> [String; 3] {
    let memory = format!("{}M", shape.memory.div_ceil(1 << 20));
    let words = [needed, shape.append.trim(), "--", ARGUMENT];
    let line: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    [memory, shape.cpus.to_string(), line.join(" ")]
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_have_the_shape_that_was_asked_for() {
        let shape = GuestShape { memory: (3 << 20) + 1, cpus: 2, append: " nohz=off highres=off ".into() };
        assert_eq!(shaped(&shape, "quiet"), ["4M", "2", &format!("quiet nohz=off highres=off -- {ARGUMENT}")]);
        let plain = GuestShape { cpus: 1, append: String::new(), ..shape };
        assert_eq!(shaped(&plain, "quiet")[1..], ["1", &format!("quiet -- {ARGUMENT}")]);
    }

    #[test]
    fn the_end_of_a_console_is_told_in_a_line() {
        assert_eq!(last_lines("one\r\n\n two \u{1b}[0m\nthree\nfour\n"), "two [0m; three; four");
        assert_eq!(last_lines(""), "");
    }
}
