//! Recordings: a head and samples, as JSON lines.

use std::io;
use std::path::Path;

use tiermark_history::lines::{Appender, Damaged, Lines, Survives};
use tiermark_model::{WATCH_RECORDING_SCHEMA, WatchHead, WatchSample};

/// A recording as read.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// Its samples.
    pub samples: Vec<WatchSample>,
    /// Whether it ends in a line without an end, which is left out: its writer was killed, or still writes it.
    pub is_cut: bool,
}

impl Recording {
    /// Reads a recording.
    ///
    /// # Errors
    /// What is wrong with the file, behind its name.
    pub fn read(file: &Path) -> Result<Self, String> {
        let lines = Lines::read(file).map_err(|error| format!(": {error}; name a file of --record"))?;
        Ok(Self { samples: samples(&lines)?, is_cut: lines.is_cut() })
    }
}

/// Begins a recording in a new file; each sample is appended as a line.
///
/// # Errors
/// The system's error; one of the file if it exists already.
pub fn record(file: &Path, started: &str, interval_seconds: f64) -> io::Result<Appender> {
    let path = std::path::absolute(file)?;
    // As for every output, the directory must exist: one with a mistyped name must not be created.
    path.parent().map_or(Ok(()), |directory| std::fs::metadata(directory).map(drop))?;
    let (schema, started) = (WATCH_RECORDING_SCHEMA.to_owned(), started.to_owned());
    Appender::create(&path, Survives::Kill, &WatchHead { schema, started, interval_seconds })
}

fn head(lines: &Lines) -> Result<WatchHead, String> {
    let head = serde_json::from_slice::<WatchHead>(lines.head()).ok();
    head.ok_or_else(|| " is no recording of `tiermark watch --record`".to_owned())
}

/// The samples in the lines of a recording.
///
/// # Errors
/// What is wrong with it, behind the name of the file.
pub fn samples(lines: &Lines) -> Result<Vec<WatchSample>, String> {
    let head = head(lines)?;
    if head.schema != WATCH_RECORDING_SCHEMA {
        let (found, known) = (head.schema, WATCH_RECORDING_SCHEMA);
        return Err(format!(" has schema '{found}', and this version reads '{known}'; use the version that wrote it"));
    }
    let mut samples = Vec::new();
    let read = lines.each(Damaged::Ends, |sample| {
        samples.push(sample);
        Ok(())
    });
    read.map_err(|damaged| format!(" line {} is damaged: {}; remove the line", damaged.number, damaged.why))?;
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_recording_is_refused_with_its_reason() {
        let read = |text: &str| samples(&Lines::of_bytes(text.as_bytes().to_vec()));
        let head = format!("{{\"schema\":\"{WATCH_RECORDING_SCHEMA}\",\"started\":\"t\",\"interval_seconds\":1.0}}\n");
        assert_eq!(read(&head), Ok(Vec::new()));
        assert!(read("").unwrap_err().contains("no recording"));
        assert!(read(&head.replace("/1", "/9")).unwrap_err().contains("recording/9"));
        assert!(read(&format!("{head}{{}}\n")).unwrap_err().contains("line 2 is damaged"));
        let line = serde_json::to_string(&WatchSample::default()).unwrap();
        assert_eq!(read(&format!("{head}{line}\n{line}")).unwrap().len(), 1, "a last line without an end");
    }
}
