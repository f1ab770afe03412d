//! What host and guest say to each other: a line of JSON for each message.

use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tiermark_load::{ClientSetup, Outcome, Phase, Snapshot, Workload};
use tiermark_model::messages::tenants as says;
use tiermark_model::{Note, Refusal};

/// The longest line, bytes. Histograms of three digits up to a minute have some 30,000 values, and a day of seconds is
/// a few megabytes: what is longer is no message.
pub const MOST_LINE: usize = 16 << 20;

/// The load that a guest runs on its own server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The load, or what is to be filled in.
    pub workload: Workload,
    /// The client's thread inside the guest.
    pub client: ClientSetup,
    /// The tenant's number, from which its keys and values are drawn.
    pub number: u64,
    /// The part of the experiment; `None` fills.
    pub phase: Option<Phase>,
}

/// A message from the host to the agent in a guest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Fill the server, or load it.
    Run(Box<Job>),
    /// End the job that runs, and send its result.
    Stop,
}

/// A message from the agent in a guest to the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The server answers; the guest waits for a job.
    Ready,
    /// Progress of the job under way, each second.
    Pulse(Snapshot),
    /// The job has ended, with this outcome.
    Done(Box<Outcome>),
    /// The guest cannot carry out the request.
    Refused(Refusal),
}

/// A message as a line of JSON.
///
/// # Errors
/// A message if the data cannot be written as JSON.
pub fn line<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(message)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Bytes that come in pieces, taken apart into messages.
#[derive(Debug, Default)]
pub struct Lines {
    bytes: Vec<u8>,
    /// So many of them are known to hold no end of a line.
    searched: usize,
}

impl Lines {
    /// Adds bytes that came.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message; `None` until its line has ended.
    ///
    /// # Errors
    /// A message: where a line is no message of that kind, or has no end; what comes after it can still be read.
    pub fn take<T: DeserializeOwned>(&mut self) -> Result<Option<T>, Note> {
        let Some(at) = self.bytes[self.searched..].iter().position(|byte| *byte == b'\n') else {
            self.searched = self.bytes.len();
            if self.searched <= MOST_LINE {
                return Ok(None);
            }
            (self.bytes, self.searched) = (Vec::new(), 0);
            return Err(says::guest_line_too_long(MOST_LINE));
        };
        let end = self.searched + at;
        let read = serde_json::from_slice(&self.bytes[..end]);
        self.bytes.drain(..=end);
        self.searched = 0;
        read.map(Some).map_err(|error| says::guest_line_malformed(&error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use tiermark_load::{KeyDist, Length, TenantResult};

    use super::*;

    fn job(phase: Option<Phase>) -> Request {
        let workload = Workload {
            key_dist: KeyDist::Brief(10),
            length: Length::Time(Duration::from_millis(1500)),
            ..Workload::default()
        };
        Request::Run(Box::new(Job { workload, client: ClientSetup::default(), number: 7, phase }))
    }

    fn done() -> Reply {
        let mut tenant = TenantResult {
            seconds: 0.1 + 0.2,
            done: 3,
            fault: Some(says::guest_refuses("a\nb")),
            ..TenantResult::default()
        };
        [5, 1_000, 59_000_000_000].into_iter().for_each(|ns| tenant.response.record(ns));
        Reply::Done(Box::new(Outcome {
            tenants: vec![tenant],
            thread_cpu: vec![0.25],
            wall: 0.3,
            stopped: false,
            started_ms: None,
        }))
    }

    #[test]
    fn what_is_said_is_heard_in_pieces_of_any_size() {
        let requests = [job(None), job(Some(Phase::Measure(2))), Request::Stop];
        let replies =
            [Reply::Ready, done(), Reply::Refused(tiermark_model::messages::tenants::guest_request_unreadable("why"))];
        let asked: Vec<u8> = requests.iter().flat_map(|message| line(message).unwrap()).collect();
        let said: Vec<u8> = replies.iter().flat_map(|message| line(message).unwrap()).collect();
        for size in [1, 2, 7, 100, 100_000] {
            let (mut lines, mut heard) = (Lines::default(), Vec::new());
            for piece in asked.chunks(size) {
                lines.push(piece);
                heard.extend(std::iter::from_fn(|| lines.take::<Request>().unwrap()));
            }
            assert_eq!(heard, requests, "{size}");
            let (mut lines, mut heard) = (Lines::default(), Vec::new());
            for piece in said.chunks(size) {
                lines.push(piece);
                heard.extend(std::iter::from_fn(|| lines.take::<Reply>().unwrap()));
            }
            assert_eq!(heard, replies, "{size}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_not_kept_for_ever() {
        let mut lines = Lines::default();
        let mut failed = 0;
        for _ in 0..40 {
            lines.push(&[b'x'; 1 << 20]);
            failed += u32::from(lines.take::<Reply>().is_err());
            assert!(lines.bytes.len() <= MOST_LINE + (1 << 20));
        }
        assert_eq!(failed, 2);
    }

    proptest! {
        #[test]
        fn anything_may_come(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..20)) {
            let mut lines = Lines::default();
            for piece in &pieces {
                lines.push(piece);
                while !matches!(lines.take::<Request>(), Ok(None)) {}
            }
            // Whatever stood there, the line after it is read.
            lines.push(b"\n");
            while !matches!(lines.take::<Request>(), Ok(None)) {}
            lines.push(b"\"stop\"\n");
            prop_assert_eq!(lines.take::<Request>(), Ok(Some(Request::Stop)));
        }
    }
}
