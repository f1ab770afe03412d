//! Servers that are not Redis: they say what a test wants, on a free port of this machine.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test uses some of it, and may fail")]

mod commands;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use commands::command;
use tiermark_load::{Address, Outcome, Snapshot, Target, Watch};

/// Longest that a thread of a fake server waits before it looks whether the test is over.
const LOOK: Duration = Duration::from_millis(20);

/// The number of a command and its words become what is written; nothing closes the connection.
type Decide = dyn Fn(u64, &[Vec<u8>]) -> Option<Vec<u8>>;

/// A server whose answers a function decides.
pub struct Fake {
    pub port: u16,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// Commands that were answered.
    pub answered: Arc<AtomicU64>,
}

impl Fake {
    /// A server that gives the number of each command of a connection, counted from 0 with the PING, and its words, to
    /// `answer`, and writes what that returns; `None` closes the connection.
    pub fn new(answer: impl Fn(u64, &[Vec<u8>]) -> Option<Vec<u8>> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (over, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (ends, counts, answer) = (Arc::clone(&over), Arc::clone(&answered), Arc::new(answer));
        let thread = thread::spawn(move || {
            let mut served = Vec::new();
            while !ends.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((stream, _)) => {
                        let (ends, counts, answer) = (Arc::clone(&ends), Arc::clone(&counts), Arc::clone(&answer));
                        served.push(thread::spawn(move || serve(stream, &ends, &counts, &*answer)));
                    }
                    Err(_) => thread::sleep(Duration::from_millis(1)),
                }
            }
            served.into_iter().for_each(|thread| thread.join().unwrap());
        });
        Self { port, over, thread: Some(thread), answered }
    }

    pub fn target(&self) -> Target {
        Target::new(Address::Tcp("127.0.0.1".into(), self.port))
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(thread::panicking() || ended.is_none_or(|ended| ended.is_ok()));
    }
}

fn serve(mut stream: TcpStream, over: &AtomicBool, counts: &AtomicU64, answer: &Decide) {
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(LOOK)).unwrap();
    stream.set_nodelay(true).unwrap();
    let (mut held, mut buffer, mut number) = (Vec::new(), [0u8; 65536], 0);
    while !over.load(Ordering::Relaxed) {
        let n = match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(n) => n,
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted) => {
                continue;
            }
            Err(_) => return,
        };
        held.extend_from_slice(&buffer[..n]);
        let mut out = Vec::new();
        let mut at = 0;
        while let Some((words, used)) = command(&held[at..]) {
            at += used;
            match answer(number, &words) {
                Some(bytes) => out.extend_from_slice(&bytes),
                None => {
                    let _ = stream.write_all(&out);
                    return;
                }
            }
            number += 1;
            counts.fetch_add(1, Ordering::Relaxed);
        }
        held.drain(..at);
        if stream.write_all(&out).is_err() {
            return;
        }
    }
}

/// What a server of these tests says to PING, AUTH, GET and SET.
pub fn polite(words: &[Vec<u8>]) -> Option<Vec<u8>> {
    Some(match words[0].as_slice() {
        b"PING" => b"+PONG\r\n".to_vec(),
        b"GET" => b"$4\r\nabcd\r\n".to_vec(),
        _ => b"+OK\r\n".to_vec(),
    })
}

/// Calls `body` with a watch that never interferes.
pub fn unwatched<T>(body: impl FnOnce(&mut Watch<'_>) -> T) -> T {
    let stop = AtomicBool::new(false);
    body(&mut Watch { stop: &stop, each_second: &mut |_: &Snapshot| true })
}

/// The only tenant of an outcome.
pub fn only(outcome: Outcome) -> tiermark_load::TenantResult {
    let [tenant] = <[_; 1]>::try_from(outcome.tenants).unwrap();
    tenant
}
