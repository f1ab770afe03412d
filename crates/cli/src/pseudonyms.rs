//! The key by which `--redact` makes pseudonyms: this user's own, so that a host has the same pseudonym in every call.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use tiermark_report::redact::Pseudonyms;

use crate::environment;
use crate::output::tell;

/// The file of the key, in the directory that has the directories of runs.
const FILE: &str = "pseudonyms.key";

/// This user's pseudonyms; those of this call alone, with a note, where no key can be kept.
pub(crate) fn pseudonyms() -> Pseudonyms {
    let place = environment::store().directory().and_then(Path::parent).map(|data| data.join(FILE));
    let key = match &place {
        Some(path) => kept(path).map_err(|error| format!("{}: {error}", path.display())),
        None => Err("neither TIERMARK_HOME nor HOME names a directory for their key".to_owned()),
    };
    Pseudonyms::new(key.unwrap_or_else(|why| {
        tell(format_args!("tiermark: note: pseudonyms of hosts are of this call alone: {why}"));
        [environment::random(), environment::random()]
    }))
}

/// The key in a file, which is made if it is not there.
fn kept(path: &Path) -> io::Result<[u64; 2]> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => new_key(path),
        text => parsed(text?.trim_end()).ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "not 32 hex digits")),
    }
}

fn parsed(text: &str) -> Option<[u64; 2]> {
    let half = |range| u64::from_str_radix(text.get(range)?, 16).ok();
    let key = [half(0..16)?, half(16..32)?];
    (text.len() == 32).then_some(key)
}

/// A new key, saved where only this user reads it.
fn new_key(path: &Path) -> io::Result<[u64; 2]> {
    let mut halves = [[0; 8]; 2];
    let mut random = File::open("/dev/urandom")?;
    halves.iter_mut().try_for_each(|half| random.read_exact(half))?;
    let key = halves.map(u64::from_ne_bytes);
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(format!("{:016x}{:016x}\n", key[0], key[1]).as_bytes())?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_only_its_user_reads_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data").join(FILE);
        let key = kept(&path).unwrap();
        assert_eq!(kept(&path).unwrap(), key);
        assert_ne!(kept(&folder.path().join(FILE)).unwrap(), key);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        for wrong in ["", "0", "x000000000000000000000000000000f", "0000000000000000000000000000000000"] {
            fs::write(&path, wrong).unwrap();
            assert_eq!(kept(&path).unwrap_err().kind(), ErrorKind::InvalidData, "{wrong}");
        }
    }
}
