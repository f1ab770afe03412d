//! A file that is mapped, looked at, and unmapped.

use std::fs::File;

use tiermark_model::{KIB, MIB};
use tiermark_system::os::{Area, Shows};

use crate::body::{Order, Prepared};
use crate::failure::{Failure, refused_by};
use crate::syscalls::memory_file;

/// Bytes of the file; most of a block is faults.
pub(super) const SIZES: [u64; 4] = [MIB, 64 * KIB, 4 * MIB, 16 * MIB];

pub(super) fn mmap_read(order: &Order<'_>) -> Prepared {
    let bytes = order.call.bytes.unwrap_or(SIZES[0]) as usize;
    let file = memory_file(bytes)?;
    let page = tiermark_system::page_bytes().unwrap_or(4 * KIB) as usize;
    read_mapped(&file, bytes, page).map_err(|failure| {
        refused_by("a file in memory that is mapped", failure, "allow more address space (ulimit -v)")
    })?;
    crate::body::repeat(move || read_mapped(&file, bytes, page))
}

/// Maps the file, reads a byte of each page and unmaps it.
fn read_mapped(file: &File, bytes: usize, page: usize) -> Result<(), Failure> {
    let area = Area::map(Shows::FileRead(file), bytes).map_err(Failure::of("mmap"))?;
    for offset in (0..bytes).step_by(page) {
        if area.read(offset) != crate::syscalls::FILLED {
            return Err(format!("mmap: byte {offset} is not that of the file").into());
        }
    }
    area.unmap().map_err(Failure::of("munmap"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_the_file_are_read() {
        let file = memory_file(3 * 4096).unwrap();
        read_mapped(&file, 3 * 4096, 4096).unwrap();
        rustix::io::pwrite(&file, &[0], 4096).unwrap();
        assert!(read_mapped(&file, 3 * 4096, 4096).unwrap_err().to_string().contains("byte 4096"));
    }
}
