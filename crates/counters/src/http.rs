//! One page of a web server, within limits of time and size.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Bytes of the longest answer: a page of pcm-sensor-server has some 3 KiB for each hardware thread.
const MOST_BYTES: usize = 16 << 20;
/// Bytes of the longest head.
const MOST_HEAD: usize = 16 << 10;
/// Time that the server has from the connection to the end of its answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// How an answer says where its body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Known(usize),
    Chunked,
    /// The server closes the connection.
    UntilClosed,
}

/// The page at a path of `host:port`.
pub(crate) fn get(address: &str, path: &str) -> io::Result<String> {
    let until = Instant::now() + PATIENCE;
    let left = || match until.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::Error::from(ErrorKind::TimedOut)),
        left => Ok(left),
    };
    // `localhost` may be an address of IPv6 first, on which the server does not listen.
    let mut connected = Err(ErrorKind::NotFound.into());
    for resolved in address.to_socket_addrs()? {
        connected = TcpStream::connect_timeout(&resolved, left()?);
        if connected.is_ok() {
            break;
        }
    }
    let mut stream = connected?;
    stream.set_write_timeout(Some(left()?))?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nAccept: text/plain\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut bytes = Vec::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        stream.set_read_timeout(Some(left()?))?;
        let read = match stream.read(&mut piece) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            // What an expired timeout is called on Linux.
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(ErrorKind::TimedOut.into()),
            read => read?,
        };
        bytes.extend_from_slice(&piece[..read]);
        if bytes.len() > MOST_BYTES {
            return Err(ErrorKind::FileTooLarge.into());
        }
        if read == 0 || is_whole(&bytes) {
            return page_of(&bytes);
        }
    }
}

/// Where the body begins, and its length; `None` while the head is not whole.
fn head(bytes: &[u8]) -> Option<io::Result<(usize, Length)>> {
    let end = bytes.windows(4).take(MOST_HEAD).position(|four| four == b"\r\n\r\n");
    let Some(end) = end else {
        return (bytes.len() > MOST_HEAD).then(|| Err(malformed("its head does not end")));
    };
    let text = String::from_utf8_lossy(&bytes[..end]);
    let mut lines = text.split("\r\n");
    let status = lines.next().unwrap_or_default();
    let code = status.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1));
    if code != Some("200") {
        let status: String = status.chars().take(60).collect();
        return Some(Err(malformed(&format!("it says {status:?}, not 200"))));
    }
    let mut length = Length::UntilClosed;
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("transfer-encoding") && value.eq_ignore_ascii_case("chunked") {
            length = Length::Chunked;
        } else if name.eq_ignore_ascii_case("content-length") && length != Length::Chunked {
            match value.parse() {
                Ok(bytes) if bytes <= MOST_BYTES => length = Length::Known(bytes),
                _ => return Some(Err(malformed("its length makes no sense"))),
            }
        }
    }
    Some(Ok((end + 4, length)))
}

/// Whether no more is to come. A mistake is found by [`page_of`].
fn is_whole(bytes: &[u8]) -> bool {
    match head(bytes) {
        None => false,
        Some(Err(_)) => true,
        Some(Ok((start, Length::Known(length)))) => bytes.len() >= start + length,
        Some(Ok((start, Length::Chunked))) => bytes[start..].ends_with(b"0\r\n\r\n"),
        Some(Ok((_, Length::UntilClosed))) => false,
    }
}

/// The body of a web server's answer.
///
/// # Errors
/// `InvalidData` if it has another status than 200, or ends early.
pub fn page_of(bytes: &[u8]) -> io::Result<String> {
    let (start, length) = head(bytes).unwrap_or_else(|| Err(malformed("its head does not end")))?;
    let rest = &bytes[start..];
    let bytes = match length {
        Length::UntilClosed => rest.to_vec(),
        Length::Known(length) => rest.get(..length).ok_or_else(|| malformed("it ends early"))?.to_vec(),
        Length::Chunked => unchunked(rest).ok_or_else(|| malformed("its chunks do not end"))?,
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The bytes of all chunks, each of which begins with its length in hexadecimal.
fn unchunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        let end = rest.windows(2).take(MOST_HEAD).position(|two| two == b"\r\n")?;
        let line = std::str::from_utf8(&rest[..end]).ok()?;
        let length = usize::from_str_radix(line.split(';').next()?.trim(), 16).ok()?;
        rest = &rest[end + 2..];
        if length == 0 {
            return Some(all);
        }
        all.extend_from_slice(rest.get(..length)?);
        rest = rest.get(length..)?.strip_prefix(b"\r\n")?;
    }
}

fn malformed(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("the answer is no page: {why}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CHUNKED: &[u8] =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\na 1\n\r\n4;x\r\nb 2\n\r\n0\r\n\r\n";

    #[test]
    fn bodies_of_each_kind() {
        let said = |bytes: &[u8]| page_of(bytes).map_err(|error| error.to_string());
        assert_eq!(said(CHUNKED).as_deref(), Ok("a 1\nb 2\n"));
        assert_eq!(said(b"HTTP/1.0 200 OK\r\n\r\nabc").as_deref(), Ok("abc"));
        assert_eq!(said(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nabc").as_deref(), Ok("ab"));
        for wrong in [
            "HTTP/1.1 404 Not Found\r\n\r\n",
            "HTTP/1.1 200 OK\r\n",
            "SSH-2.0-x\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\nabc",
        ] {
            assert!(said(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert!(is_whole(CHUNKED) && !is_whole(&CHUNKED[..CHUNKED.len() - 1]));
    }

    proptest! {
        #[test]
        fn any_answer(cut in 0..CHUNKED.len(), more in proptest::collection::vec(any::<u8>(), 0..60)) {
            let bytes = [&CHUNKED[..cut], &more].concat();
            let _ = (page_of(&bytes), is_whole(&bytes));
        }
    }
}
