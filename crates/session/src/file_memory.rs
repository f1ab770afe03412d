//! `--memory`: what a file can be the memory of.

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;

use tiermark_model::messages::setup as says;
use tiermark_model::{FileMemory, PageKind, Refusal};

/// The magic number of hugetlbfs (statfs(2)).
const HUGETLBFS: u64 = 0x9584_58f6;

/// The pages of a file's memory: what the file system has, of which it says only huge ones.
///
/// # Errors
/// A [`Refusal`] for a file or directory that is not there, or cannot be mapped.
pub fn pages(memory: &FileMemory) -> Result<PageKind, Refusal> {
    let path = memory.path.as_str();
    let unmappable = |why: &str| {
        if memory.new { says::memory_dir_unusable(path, why) } else { says::memory_file_unmappable(path, why) }
    };
    let found = fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound if !memory.new => says::memory_file_missing(path),
        _ => unmappable(&error.to_string()),
    })?;
    let kind = found.file_type();
    match (memory.new, kind.is_dir()) {
        (true, false) => return Err(unmappable("it is no directory")),
        (false, true) => return Err(unmappable("it is a directory")),
        (false, false) if !kind.is_file() && !kind.is_char_device() => {
            return Err(unmappable("it is neither a regular file nor a DAX device"));
        }
        _ => {}
    }
    let system = rustix::fs::statfs(path).map_err(|error| unmappable(&io::Error::from(error).to_string()))?;
    let is_huge = system.f_type as u64 == HUGETLBFS && !kind.is_char_device();
    Ok(if is_huge { PageKind::Huge(system.f_bsize as u64) } else { PageKind::Base })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::messages::setup::codes;

    fn memory(text: &str) -> FileMemory {
        text.parse().unwrap()
    }

    #[test]
    fn what_cannot_be_mapped_is_refused_with_its_cure() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).display().to_string();
        fs::write(path("here"), [1; 100]).unwrap();
        let of = |text: String| {
            pages(&memory(&text)).map_err(|refusal| {
                assert!(!refusal.why.is_empty() && !refusal.cure.is_empty());
                refusal.code
            })
        };
        assert_eq!(of(format!("file:{}", path("here"))), Ok(PageKind::Base));
        assert_eq!(of(format!("dir:{}", path(""))), Ok(PageKind::Base));
        assert_eq!(of(format!("file:{}", path("gone"))), Err(codes::memory_file_missing));
        assert_eq!(of(format!("file:{}", path(""))), Err(codes::memory_file_unmappable));
        assert_eq!(of(format!("dir:{}", path("here"))), Err(codes::memory_dir_unusable));
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        assert_eq!(of(format!("file:{}", path("socket"))), Err(codes::memory_file_unmappable));
    }
}
