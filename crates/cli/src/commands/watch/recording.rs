//! Recordings: a head and samples, as JSON lines.

use std::io;
use std::path::{Path, PathBuf};

use tiermark_lines::{Appender, Damaged, Lines, Survives};
use tiermark_model::{WATCH_RECORDING_SCHEMA, WatchHead, WatchSample};

use crate::environment;
use crate::output::{Failure, tell, unwritten};

/// Writes a recording.
pub(super) struct Recorder {
    file: Appender,
    name: String,
}

impl Recorder {
    /// Makes a file, which must not exist.
    pub(super) fn create(file: &Path, interval_seconds: f64) -> Result<Self, Failure> {
        let name = file.display().to_string();
        let unusable = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                Failure::usage(format!("'{name}' exists; choose another file for --record, or remove it"))
            }
            _ => Failure::usage(format!("--record '{name}': {error}; choose another file")),
        };
        let path: PathBuf = std::path::absolute(file).map_err(unusable)?;
        // As of every output, the directory is the user's: one with a mistake in its name must not be made.
        path.parent().map_or(Ok(()), |directory| std::fs::metadata(directory).map(drop)).map_err(unusable)?;
        let (started, _) = environment::started_and_id();
        let head = WatchHead { schema: WATCH_RECORDING_SCHEMA.to_owned(), started, interval_seconds };
        let file = Appender::create(&path, Survives::Kill, &head).map_err(unusable)?;
        Ok(Self { file, name })
    }

    /// Appends a sample.
    pub(super) fn add(&mut self, sample: &WatchSample) -> Result<(), Failure> {
        self.file.append(&[sample]).map_err(|error| unwritten(&self.name, &error))
    }
}

/// Reads a recording: its samples, and the interval at which they were taken, in seconds. A last line without an end is
/// left out, with a warning.
pub(super) fn read(file: &Path) -> Result<(Vec<WatchSample>, f64), Failure> {
    let name = file.display();
    let lines =
        Lines::read(file).map_err(|error| Failure::usage(format!("'{name}': {error}; name a file of --record")))?;
    let wrong = |why: String| Failure::usage(format!("'{name}' {why}"));
    let interval = head(&lines).map_err(wrong)?.interval_seconds;
    let samples = samples(&lines).map_err(wrong)?;
    if lines.is_cut() {
        tell(format_args!(
            "tiermark: warning: '{name}' ends in a half-written line, which is left out: its writer was killed, or \
                still writes it"
        ));
    }
    Ok((samples, interval))
}

fn head(lines: &Lines) -> Result<WatchHead, String> {
    let head = serde_json::from_slice::<WatchHead>(lines.head()).ok();
    head.ok_or_else(|| "is no recording of `tiermark watch --record`".to_owned())
}

/// The samples in the lines of a recording.
///
/// # Errors
/// What is wrong with it, behind the name of the file.
pub(crate) fn samples(lines: &Lines) -> Result<Vec<WatchSample>, String> {
    let head = head(lines)?;
    if head.schema != WATCH_RECORDING_SCHEMA {
        let (found, known) = (head.schema, WATCH_RECORDING_SCHEMA);
        return Err(format!("has schema '{found}', and this version reads '{known}'; use the version that wrote it"));
    }
    let mut samples = Vec::new();
    let read = lines.each(Damaged::Ends, |sample| {
        samples.push(sample);
        Ok(())
    });
    read.map_err(|damaged| format!("line {} is damaged: {}; remove the line", damaged.number, damaged.why))?;
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
