//! The newest sample for Prometheus, over HTTP.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of a request that are read: those of Prometheus have some 300.
const MOST_REQUEST: usize = 8 << 10;
/// Time that a client has to send its request and to take the answer. Clients are served one after the other, so that
/// one that is slow keeps others waiting for no longer than the 10 s of Prometheus' default timeout.
const PATIENCE: Duration = Duration::from_secs(2);
/// What the format is called.
const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves `/metrics` until the program ends.
#[derive(Debug)]
pub struct Endpoint {
    /// Where it listens.
    pub address: SocketAddr,
    text: Arc<Mutex<String>>,
}

impl Endpoint {
    /// Begins to listen.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let text = Arc::new(Mutex::new("# EOF\n".to_owned()));
        let shared = Arc::clone(&text);
        let serve = move || {
            for stream in listener.incoming() {
                match stream {
                    Ok(stream) => {
                        let text = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
                        // A client that went away is its own affair.
                        let _ = answer(stream, &text);
                    }
                    // No descriptor is free, or the like: try again, but not at once.
                    Err(_) => thread::sleep(PATIENCE / 10),
                }
            }
        };
        thread::Builder::new().name("prometheus".into()).spawn(serve)?;
        Ok(Self { address, text })
    }

    /// Replaces what is served.
    pub fn set(&self, text: String) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

/// Answers one request, and closes the connection.
fn answer(mut stream: TcpStream, text: &str) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = request(&mut stream)?;
    let (status, body) = reply(&request, text);
    let kind = if status.starts_with("200") { TEXT } else { "text/plain; charset=utf-8" };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let body = if request.starts_with(b"HEAD ") { "" } else { body };
    stream.write_all((head + body).as_bytes())
}

/// Reads a request up to the end of its head.
fn request(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let begun = Instant::now();
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while request.len() < MOST_REQUEST && !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = PATIENCE.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part)? {
            0 => break,
            read => request.extend_from_slice(&part[..read]),
        }
    }
    Ok(request)
}

/// The status and the body for a request.
fn reply<'a>(request: &[u8], text: &'a str) -> (&'static str, &'a str) {
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if request.len() >= MOST_REQUEST || !words.next().is_some_and(|version| version.starts_with("HTTP/1.")) {
        return ("400 Bad Request", "not a request of HTTP/1\n");
    }
    match (method, target.split('?').next().unwrap_or_default()) {
        ("GET" | "HEAD", "/metrics") => ("200 OK", text),
        ("GET" | "HEAD", _) => ("404 Not Found", "the samples are at /metrics\n"),
        _ => ("405 Method Not Allowed", "use GET\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_metrics_are_served() {
        let status = |request: &[u8]| reply(request, "text").0.split(' ').next().unwrap_or_default();
        assert_eq!(reply(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "text"), ("200 OK", "text"));
        assert_eq!(status(b"GET /metrics?x=1 HTTP/1.0\r\n\r\n"), "200");
        assert_eq!(status(b"GET /../etc/passwd HTTP/1.1\r\n\r\n"), "404");
        assert_eq!(status(b"POST /metrics HTTP/1.1\r\n\r\n"), "405");
        for wrong in [&b""[..], b"\r\n", b"GET /metrics", b"\xff\xfe\x00 \x01 \x02", &[b'a'; MOST_REQUEST]] {
            assert_eq!(status(wrong), "400");
        }
    }
}
