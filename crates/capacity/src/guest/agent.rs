//! The first process of a guest: sets the guest up, starts the server, and carries out the host's requests until the
//! host is gone.

use std::ffi::CStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::sync;
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, finit_module, reboot};
use tiermark_load::{Address, Client, Outcome, Snapshot, Target, Watch, fill, run};
use tiermark_model::messages::tenants as messages;
use tiermark_model::{Note, Refusal};

use super::protocol::{Job, Lines, Reply, Request, line};
use super::{MODULES, ORDER, PORT, SERVER};
use crate::scenario::{MemoryLimit, SERVER_OPTIONS};

/// File systems of the kernel: kind and place.
const MOUNTS: [(&str, &str); 3] = [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")];
/// Where the server listens. The guest's loopback interface stays down: only the client in this guest connects.
const SOCKET: &str = "/run/server.sock";
/// A device appears within milliseconds; an emulated guest on a busy machine may need many times that.
const APPEARS: Duration = Duration::from_secs(30);
/// As long for a server without data to answer.
const ANSWERS: Duration = Duration::from_secs(60);
/// One attempt at that.
const ATTEMPT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(10);

/// Does a guest's work, and turns it off. Comes back only where that fails.
pub(super) fn serve() {
    if let Err(why) = work() {
        // The console, which the host shows where a guest did not become ready.
        let _ = writeln!(io::stderr(), "tiermark in the guest: {why}");
    }
    sync();
    let _ = reboot(RebootCommand::PowerOff);
}

fn work() -> Result<(), String> {
    for (kind, place) in MOUNTS {
        match mount(kind, place, kind, MountFlags::empty(), None::<&CStr>) {
            // Kernels may mount /dev themselves.
            Ok(()) | Err(Errno::BUSY) => {}
            Err(why) => return Err(format!("mounting {place}: {why}")),
        }
    }
    load_modules(Path::new(MODULES))?;
    let mut port = open_port()?;
    let server = match start_server() {
        Ok(server) => server,
        Err(refusal) => return tell(&mut port, &Reply::Refused(refusal)),
    };
    tell(&mut port, &Reply::Ready)?;
    let done = attend(port);
    end(server);
    done
}

/// Loads the modules that the host put there, in the host's order.
fn load_modules(directory: &Path) -> Result<(), String> {
    let order = fs::read_to_string(directory.join(ORDER)).map_err(|why| format!("the list of modules: {why}"))?;
    for name in order.lines() {
        let file = File::open(directory.join(name)).map_err(|why| format!("module {name}: {why}"))?;
        match finit_module(&file, c"", 0) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(why) => return Err(format!("module {name}: {why}")),
        }
    }
    Ok(())
}

/// Calls `look` until it returns a value, for at most this long.
fn wait_for<T>(most: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        match look() {
            None if begun.elapsed() < most => thread::sleep(POLL),
            found => return found,
        }
    }
}

/// The device of the port to the host, among those that the system lists.
fn port_device(ports: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(ports).ok()?.flatten();
    let named = |path: &PathBuf| fs::read_to_string(path.join("name")).is_ok_and(|name| name.trim() == PORT);
    let port = entries.map(|entry| entry.path()).find(named)?;
    Some(Path::new("/dev").join(port.file_name()?))
}

fn open_port() -> Result<File, String> {
    let open =
        || OpenOptions::new().read(true).write(true).open(port_device(Path::new("/sys/class/virtio-ports"))?).ok();
    wait_for(APPEARS, open).ok_or_else(|| format!("there is no serial port {PORT}"))
}

fn target() -> Target {
    Target::new(Address::Unix(SOCKET.into()))
}

fn start_server() -> Result<Child, Refusal> {
    let refuse = |why: String| messages::guest_server_failed(&why);
    let mut command = Command::new(SERVER);
    command.args(["--port", "0", "--unixsocket", SOCKET]).args(SERVER_OPTIONS.iter().flatten());
    command.args(MemoryLimit::default().options());
    // What it says goes to the console.
    let mut server =
        command.stdin(Stdio::null()).spawn().map_err(|why| refuse(format!("it cannot be started: {why}")))?;
    let answers = wait_for(ANSWERS, || match server.try_wait() {
        Ok(Some(status)) => Some(Err(refuse(format!("it ended at once ({status})")))),
        // Who stops the run turns the guest off.
        _ => Client::connect(&target(), ATTEMPT, &AtomicBool::new(false)).ok().map(|_| Ok(())),
    });
    match answers.unwrap_or_else(|| Err(refuse(format!("it does not answer within {} s", ANSWERS.as_secs())))) {
        Ok(()) => Ok(server),
        Err(refusal) => {
            end(server);
            Err(refusal)
        }
    }
}

fn end(mut server: Child) {
    let _ = server.kill();
    let _ = server.wait();
}

fn tell(port: &mut impl Write, reply: &Reply) -> Result<(), String> {
    let sent = line(reply).and_then(|line| port.write_all(&line));
    sent.map_err(|error| messages::host_unreachable(&error.to_string()).text)
}

/// Carries out the host's requests until the host closes the port.
fn attend(mut port: File) -> Result<(), String> {
    let ears = port.try_clone().map_err(|why| why.to_string())?;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let (jobs, asked) = mpsc::channel();
        let stop = &stop;
        scope.spawn(move || listen(ears, &jobs, stop));
        work_off(&asked, stop, &mut port)
    })
}

/// Hears requests while a job is under way: `stop` ends it. Ends with the host.
fn listen(mut ears: impl Read, jobs: &Sender<Result<Job, Note>>, stop: &AtomicBool) {
    let (mut lines, mut bytes) = (Lines::default(), [0; 4096]);
    // A read of 0 bytes means that the other side is not connected.
    while let Ok(length @ 1..) = ears.read(&mut bytes) {
        lines.push(&bytes[..length]);
        loop {
            let job = match lines.take() {
                Ok(None) => break,
                Ok(Some(Request::Stop)) => {
                    stop.store(true, Ordering::Relaxed);
                    continue;
                }
                Ok(Some(Request::Run(job))) => Ok(*job),
                Err(why) => Err(why),
            };
            // A stop that came after its job had ended is not meant for this one.
            stop.store(false, Ordering::Relaxed);
            if jobs.send(job).is_err() {
                return;
            }
        }
    }
    stop.store(true, Ordering::Relaxed);
}

fn work_off(asked: &Receiver<Result<Job, Note>>, stop: &AtomicBool, port: &mut impl Write) -> Result<(), String> {
    for job in asked {
        let done = match job {
            Ok(job) => carry_out(&job, stop, port),
            Err(why) => Err(messages::guest_request_unreadable(&why.text)),
        };
        let reply = done.map_or_else(Reply::Refused, |outcome| Reply::Done(Box::new(outcome)));
        tell(port, &reply)?;
    }
    Ok(())
}

fn carry_out(job: &Job, stop: &AtomicBool, port: &mut impl Write) -> Result<Outcome, Refusal> {
    let targets = [Target { number: Some(job.number), ..target() }];
    // If the host cannot be reached, it is gone, and the job ends too.
    let mut each_second = |snapshot: &Snapshot| tell(port, &Reply::Pulse(snapshot.clone())).is_ok();
    let mut watch = Watch { stop, each_second: &mut each_second };
    match job.phase {
        None => fill(&targets, &job.workload, &job.client, &mut watch),
        Some(phase) => run(&targets, &job.workload, phase, &job.client, &mut watch),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_known_by_its_name() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(port_device(dir.path()), None);
        for (device, name) in [("vport1p1", "other\n"), ("vport1p2", "tiermark.agent\n")] {
            fs::create_dir(dir.path().join(device)).unwrap();
            fs::write(dir.path().join(device).join("name"), name).unwrap();
        }
        assert_eq!(port_device(dir.path()), Some("/dev/vport1p2".into()));
    }

    #[test]
    fn requests_are_heard_until_the_host_is_gone() {
        let (jobs, asked) = mpsc::channel();
        let stop = AtomicBool::new(false);
        listen(&b"\"stop\"\nnonsense\n"[..], &jobs, &stop);
        assert!(stop.load(Ordering::Relaxed), "what goes on when the host goes ends");
        drop(jobs);
        let mut said = Vec::new();
        work_off(&asked, &stop, &mut said).unwrap();
        let mut lines = Lines::default();
        lines.push(&said);
        let Ok(Some(Reply::Refused(refusal))) = lines.take() else { panic!("{}", String::from_utf8_lossy(&said)) };
        assert_eq!(refusal.code, messages::codes::guest_request_unreadable);
        assert_eq!(lines.take::<Reply>(), Ok(None));
    }

    #[test]
    fn modules_that_are_not_there_are_named() {
        let dir = tempfile::tempdir().unwrap();
        assert!(load_modules(dir.path()).unwrap_err().contains("list of modules"));
        fs::write(dir.path().join(ORDER), "virtio.ko\n").unwrap();
        assert!(load_modules(dir.path()).unwrap_err().contains("module virtio.ko"));
        fs::write(dir.path().join(ORDER), "").unwrap();
        assert_eq!(load_modules(dir.path()), Ok(()));
    }
}
