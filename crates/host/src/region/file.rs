//! Memory of files.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use tiermark_model::messages::setup as says;
use tiermark_model::{Bytes, FileMemory, Refusal};
use tiermark_system::{Mapping, nameless_file};

/// Regions of one file begin at multiples of this: DAX devices are mapped in such pieces.
pub(crate) const PIECE: usize = 2 << 20;

/// Maps memory of a file.
pub(super) fn map(memory: &FileMemory, offset: u64, len: usize, page: usize) -> Result<Mapping, Refusal> {
    let path = memory.path.as_str();
    if memory.new {
        let mapped = nameless_file(Path::new(path), len as u64)
            .and_then(|file| Mapping::of_file(&file, 0, len, page.max(PIECE), true));
        return mapped.map_err(|error| says::memory_dir_unusable(path, &error.to_string()));
    }
    let refused = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => says::memory_file_missing(path),
        _ => says::memory_file_unmappable(path, &error.to_string()),
    };
    let file = File::open(path).map_err(refused)?;
    let found = file.metadata().map_err(refused)?;
    let is_device = found.file_type().is_char_device();
    let wanted = offset + len as u64;
    if !is_device && found.len() < wanted {
        return Err(says::memory_file_short(path, Bytes(found.len()), Bytes(wanted)));
    }
    let len = if is_device { len.next_multiple_of(PIECE) } else { len };
    Mapping::of_file(&file, offset, len, page.max(PIECE), false).map_err(refused)
}

/// Has the pages of a file that is there in memory before they are read.
pub(super) fn populate(mapping: &Mapping) -> Result<(), Refusal> {
    match mapping.populate_to_read() {
        // Kernels before 5.14 cannot: each page comes with its first access.
        Err(error) if error.raw_os_error() != Some(rustix::io::Errno::INVAL.raw_os_error()) => {
            Err(says::memory_file_unread(&error.to_string()))
        }
        _ => Ok(()),
    }
}
