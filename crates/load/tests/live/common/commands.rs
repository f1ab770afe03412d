//! What a client asks, taken apart.

#![allow(unreachable_pub, clippy::unwrap_used, reason = "a file of several tests, which may fail")]

/// The words of the first command of `bytes` and its length; `None` where it is not whole yet.
pub fn command(bytes: &[u8]) -> Option<(Vec<Vec<u8>>, usize)> {
    let line = |from: usize| {
        let end = from + bytes.get(from..)?.windows(2).position(|pair| pair == b"\r\n")?;
        let number: usize = std::str::from_utf8(&bytes[from + 1..end]).unwrap().parse().unwrap();
        Some((number, end + 2))
    };
    let (count, mut at) = line(0)?;
    let mut words = Vec::new();
    for _ in 0..count {
        let (length, from) = line(at)?;
        words.push(bytes.get(from..from + length)?.to_vec());
        at = from + length + 2;
    }
    (at <= bytes.len()).then_some((words, at))
}
