//! The Redis protocol, version 2 (RESP2): commands out, replies in.

use std::fmt;

/// The protocol's own bound of a bulk string: 512 MB. A longer announcement is no reply of a server.
const LONGEST_BULK: u64 = 512 << 20;
/// Longest line that is kept: errors are shorter, and headers much.
const LONGEST_LINE: usize = 512;

/// Appends a command of any arguments.
pub(crate) fn command(arguments: &[&[u8]], out: &mut Vec<u8>) {
    header(b'*', arguments.len(), out);
    for argument in arguments {
        header(b'$', argument.len(), out);
        out.extend_from_slice(argument);
        out.extend_from_slice(b"\r\n");
    }
}

/// Appends `GET key`.
pub(crate) fn get(key: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"*2\r\n$3\r\nGET\r\n");
    header(b'$', key.len(), out);
    out.extend_from_slice(key);
    out.extend_from_slice(b"\r\n");
}

/// Appends `SET key value` with a value of `bytes` bytes that `value` appends.
pub(crate) fn set(key: &[u8], bytes: usize, value: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    // A buffer that grows as it is written to becomes twice as large as what is in it.
    out.reserve(bytes + key.len() + MOST_FRAME);
    out.extend_from_slice(b"*3\r\n$3\r\nSET\r\n");
    header(b'$', key.len(), out);
    out.extend_from_slice(key);
    out.extend_from_slice(b"\r\n");
    header(b'$', bytes, out);
    value(out);
    out.extend_from_slice(b"\r\n");
}

fn header(kind: u8, number: usize, out: &mut Vec<u8>) {
    out.push(kind);
    decimal(number as u64, 1, out);
    out.extend_from_slice(b"\r\n");
}

/// Digits of the longest number.
pub(crate) const MOST_DIGITS: usize = 20;

/// Most bytes of a SET beside its value and the text in front of the key's number: the words of the protocol take 35.
pub(crate) const MOST_FRAME: usize = 3 * MOST_DIGITS;

/// Appends a number in decimal digits, at least so many of them, and [`MOST_DIGITS`] at most.
pub(crate) fn decimal(mut number: u64, least: usize, out: &mut Vec<u8>) {
    let mut digits = [b'0'; MOST_DIGITS];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at.min(MOST_DIGITS.saturating_sub(least))..]);
}

/// One reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reply<'a> {
    /// A simple string, `OK` most often.
    Simple(&'a [u8]),
    /// A whole number.
    Integer(i64),
    /// A string of bytes, as far as its content is kept.
    Bulk(&'a [u8]),
    /// No such key.
    Nil,
    /// The server's refusal, without the leading minus.
    Error(&'a [u8]),
}

/// Bytes that are no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Garbage(String);

impl fmt::Display for Garbage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Bytes as they can be shown: the first few, escaped.
pub(crate) fn shown(bytes: &[u8]) -> String {
    const SHOWN: usize = 120;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]).escape_debug().to_string();
    if bytes.len() > SHOWN { format!("{text}…") } else { text }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Within a line, which may have begun in an earlier piece.
    Line,
    /// Within a string of bytes and its end of line: so many bytes are to come.
    Body { left: usize },
}

/// Takes replies from bytes as they come, in pieces of any length.
#[derive(Debug)]
pub(crate) struct Parser {
    state: State,
    /// The part of a line that came in earlier pieces; shorter than the longest line.
    line: Vec<u8>,
    /// So many bytes of a string are kept, whatever the server announces; the others are skipped without being copied.
    keep: usize,
    body: Vec<u8>,
}

impl Parser {
    /// A parser that keeps at most so many bytes of each string.
    pub(crate) fn new(keep: usize) -> Self {
        Self { state: State::Line, line: Vec::new(), keep, body: Vec::new() }
    }

    /// Takes the next bytes and gives each reply that they complete to `reply`.
    ///
    /// # Errors
    /// [`Garbage`] for bytes that are no reply; the rest of the stream cannot be parsed.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], mut reply: impl FnMut(Reply<'_>)) -> Result<(), Garbage> {
        while !bytes.is_empty() {
            bytes = match self.state {
                State::Line => self.feed_line(bytes, &mut reply)?,
                State::Body { left } => self.feed_body(bytes, left, &mut reply)?,
            };
        }
        Ok(())
    }

    fn feed_line<'a>(&mut self, bytes: &'a [u8], reply: &mut impl FnMut(Reply<'_>)) -> Result<&'a [u8], Garbage> {
        let room = LONGEST_LINE - self.line.len();
        let Some(end) = bytes.iter().take(room).position(|byte| *byte == b'\n') else {
            self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
            if bytes.len() >= room {
                return Err(Garbage(format!("a line without an end: '{}'", shown(&self.line))));
            }
            // The first byte shows that it is no reply, without waiting for the end of a line that may never come.
            kind(&self.line)?;
            return Ok(&[]);
        };
        let (piece, rest) = bytes.split_at(end + 1);
        if self.line.is_empty() {
            self.state = self.line_done(piece, reply)?;
        } else {
            let mut line = std::mem::take(&mut self.line);
            line.extend_from_slice(piece);
            self.state = self.line_done(&line, reply)?;
            line.clear();
            self.line = line;
        }
        Ok(rest)
    }

    /// The state after a whole line, which ends in a line feed.
    fn line_done(&mut self, line: &[u8], reply: &mut impl FnMut(Reply<'_>)) -> Result<State, Garbage> {
        let kind = kind(line)?;
        let Some(text) = line[1..].strip_suffix(b"\r\n") else {
            return Err(Garbage(format!("a line that ends without a carriage return: '{}'", shown(line))));
        };
        match kind {
            b'+' => reply(Reply::Simple(text)),
            b'-' => reply(Reply::Error(text)),
            b':' => reply(Reply::Integer(number(text)?)),
            _ => match number(text)? {
                -1 => reply(Reply::Nil),
                length if (0..=LONGEST_BULK as i64).contains(&length) => {
                    self.body.clear();
                    return Ok(State::Body { left: length as usize + 2 });
                }
                length => return Err(Garbage(format!("a string of {length} bytes"))),
            },
        }
        Ok(State::Line)
    }

    fn feed_body<'a>(
        &mut self,
        bytes: &'a [u8],
        left: usize,
        reply: &mut impl FnMut(Reply<'_>),
    ) -> Result<&'a [u8], Garbage> {
        let (piece, rest) = bytes.split_at(left.min(bytes.len()));
        let still = left - piece.len();
        // The last two bytes are the end of line, and pieces may end between them.
        let content = piece.len().saturating_sub(2usize.saturating_sub(still));
        let kept = content.min(self.keep.saturating_sub(self.body.len()));
        self.body.extend_from_slice(&piece[..kept]);
        let ending = &piece[content..];
        let expected = &b"\r\n"[2 - (still + ending.len()).min(2)..][..ending.len()];
        if ending != expected {
            return Err(Garbage(format!("a string that is longer than announced: '{}'", shown(ending))));
        }
        if still == 0 {
            reply(Reply::Bulk(&self.body));
            self.state = State::Line;
        } else {
            self.state = State::Body { left: still };
        }
        Ok(rest)
    }
}

/// The first byte of a line, if it is one that replies begin with.
fn kind(line: &[u8]) -> Result<u8, Garbage> {
    match line.first() {
        Some(kind @ (b'+' | b'-' | b':' | b'$')) => Ok(*kind),
        _ => Err(Garbage(format!("not the Redis protocol: '{}'", shown(line)))),
    }
}

fn number(text: &[u8]) -> Result<i64, Garbage> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| Garbage(format!("'{}' is no number", shown(text))))
}

/// A command in one vector, for conversations that are not measured.
pub(crate) fn request(arguments: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    command(arguments, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The replies of a parser that is fed these pieces, in words, and how it ends.
    fn replies<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<String>, Option<Garbage>) {
        let (mut parser, mut said) = (Parser::new(usize::MAX), Vec::new());
        for piece in pieces {
            if let Err(garbage) = parser.feed(piece, |reply| said.push(format!("{reply:?}"))) {
                return (said, Some(garbage));
            }
        }
        (said, None)
    }

    #[test]
    fn commands_are_arrays_of_strings() {
        assert_eq!(request(&[b"AUTH", b"pass word"]), b"*2\r\n$4\r\nAUTH\r\n$9\r\npass word\r\n");
        let mut out = Vec::new();
        get(b"1234567", &mut out);
        assert_eq!(out, request(&[b"GET", b"1234567"]));
        let mut out = Vec::new();
        set(b"0", 3, |out| out.extend_from_slice(b"a\r\n"), &mut out);
        assert_eq!(out, request(&[b"SET", b"0", b"a\r\n"]));
        // The longest frame: a prefix of a thousand characters, the longest number, the longest value.
        let (key, mut out) = ([[b'k'; 1000].as_slice(), b"18446744073709551615"].concat(), Vec::new());
        set(&key, LONGEST_BULK as usize, |_| {}, &mut out);
        assert!(out.len() <= 1000 + MOST_FRAME, "{}", out.len());
        let mut out = Vec::new();
        decimal(u64::MAX, 1, &mut out);
        assert_eq!(out, u64::MAX.to_string().as_bytes());
        for (number, least, expected) in
            [(0, 0, "0"), (7, 12, "000000000007"), (123, 2, "123"), (9, 99, "00000000000000000009")]
        {
            let mut out = Vec::new();
            decimal(number, least, &mut out);
            assert_eq!(out, expected.as_bytes());
        }
    }

    #[test]
    fn each_kind_of_reply_is_told() {
        let stream = b"+OK\r\n$5\r\na\r\nbc\r\n$-1\r\n:-12\r\n-ERR no\r\n$0\r\n\r\n";
        let (said, garbage) = replies([stream.as_slice()]);
        let bulk = |bytes: &[u8]| format!("{:?}", Reply::Bulk(bytes));
        let expected = [
            format!("{:?}", Reply::Simple(b"OK")),
            bulk(b"a\r\nbc"),
            format!("{:?}", Reply::Nil),
            format!("{:?}", Reply::Integer(-12)),
            format!("{:?}", Reply::Error(b"ERR no")),
            bulk(b""),
        ];
        assert_eq!((said, garbage), (expected.to_vec(), None));
    }

    #[test]
    fn what_is_no_reply_is_garbage() {
        let long = [b'+'; 4 * LONGEST_LINE];
        let bad: [&[u8]; 10] = [
            b"HTTP/1.1 400 Bad Request\r\n",
            b"SSH-2.0-OpenSSH",
            b"\x15\x03\x01",
            b"*1\r\n",
            b"$x\r\n",
            b"$-2\r\n",
            b"$99999999999\r\n",
            b"+no carriage return\n",
            b"$2\r\nabc\r\n",
            &long,
        ];
        for bytes in bad {
            assert!(replies([bytes]).1.is_some(), "{}", shown(bytes));
            assert!(replies(bytes.chunks(1)).1.is_some(), "{} byte by byte", shown(bytes));
        }
    }

    #[test]
    fn content_that_nobody_wants_is_not_kept() {
        let mut parser = Parser::new(0);
        let mut count = 0;
        parser.feed(b"$3\r\nabc\r\n$1\r\nd\r\n", |reply| count += usize::from(reply == Reply::Bulk(b""))).unwrap();
        assert_eq!(count, 2);
        assert!(parser.body.is_empty());
        let (mut parser, mut said) = (Parser::new(4), Vec::new());
        for piece in [&b"$536870912\r\nab"[..], &[b'x'; 5000], &[b'y'; 5000]] {
            parser.feed(piece, |reply| said.push(format!("{reply:?}"))).unwrap();
        }
        assert!(parser.body == b"abxx" && parser.body.capacity() < 100 && said.is_empty());
    }

    proptest! {
        #[test]
        fn strings_come_back_as_they_were_sent(bodies in proptest::collection::vec(any::<Vec<u8>>(), 0..10), cut in 1..50usize) {
            let mut stream = Vec::new();
            for body in &bodies {
                header(b'$', body.len(), &mut stream);
                stream.extend_from_slice(body);
                stream.extend_from_slice(b"\r\n");
            }
            let (mut parser, mut said) = (Parser::new(usize::MAX), Vec::new());
            for piece in stream.chunks(cut) {
                parser.feed(piece, |reply| if let Reply::Bulk(body) = reply { said.push(body.to_vec()) }).unwrap();
            }
            prop_assert_eq!(said, bodies);
        }
    }
}
