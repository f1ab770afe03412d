//! Unpacking archives of captured trees, in memory and within bounds.

use std::io::{self, Read};

use super::tree::{Entry, Tree};
use super::{DiscoverError, MAX_FILE_BYTES};

/// Bytes of all files together; the largest real capture known here holds 10 MiB.
const MAX_TOTAL_BYTES: u64 = 256 << 20;
/// Bytes of the decompressed stream: a million entries of two 512-byte blocks.
const MAX_STREAM_BYTES: u64 = 1 << 30;
/// Files and directories; 2,048 cpus need about 150,000.
const MAX_ENTRIES: usize = 1_000_000;

/// Reads a `.tar`, `.tar.gz` or `.tar.bz2`, told apart by their first bytes.
pub(crate) fn unpack(path: &str, mut file: impl Read) -> Result<Tree, DiscoverError> {
    let io_error = |source| DiscoverError::Io { path: path.to_owned(), source };
    let mut magic = Vec::new();
    file.by_ref().take(3).read_to_end(&mut magic).map_err(io_error)?;
    let stream = magic.clone().chain_reader(file);
    match magic.as_slice() {
        [0x1f, 0x8b, _] => untar(path, flate2::read::MultiGzDecoder::new(stream)),
        b"BZh" => untar(path, bzip2_rs::DecoderReader::new(stream)),
        _ => untar(path, stream),
    }
}

/// Puts bytes already read back in front of a reader.
trait ChainReader {
    fn chain_reader<R: Read>(self, rest: R) -> io::Chain<io::Cursor<Vec<u8>>, R>;
}

impl ChainReader for Vec<u8> {
    fn chain_reader<R: Read>(self, rest: R) -> io::Chain<io::Cursor<Vec<u8>>, R> {
        io::Cursor::new(self).chain(rest)
    }
}

/// An archive that ends or makes no sense after so many entries. The unpackers' own words are left out: they quote the file.
fn damaged(path: &str, entries: usize, source: io::Error) -> DiscoverError {
    if source.raw_os_error().is_some() {
        return DiscoverError::Io { path: path.to_owned(), source };
    }
    let why = match entries {
        0 => "it is not a directory and not a tar archive (.tar, .tar.gz, .tar.bz2)".to_owned(),
        _ => format!("the archive is damaged after {entries} entries"),
    };
    DiscoverError::NotATree { path: path.to_owned(), why }
}

fn untar(path: &str, stream: impl Read) -> Result<Tree, DiscoverError> {
    let mut tree = Tree::default();
    let mut total = 0u64;
    let mut archive = tar::Archive::new(stream.take(MAX_STREAM_BYTES));
    for (count, entry) in archive.entries().map_err(|e| damaged(path, 0, e))?.enumerate() {
        let mut entry = entry.map_err(|e| damaged(path, count, e))?;
        if count >= MAX_ENTRIES || total > MAX_TOTAL_BYTES {
            return Err(DiscoverError::TooLarge { path: path.to_owned(), limit: MAX_TOTAL_BYTES });
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let kind = entry.header().entry_type();
        if kind.is_dir() {
            tree.insert(&name, Entry::Dir(Vec::new()));
        } else if kind.is_symlink() {
            if let Some(target) = entry.link_name_bytes() {
                tree.insert(&name, Entry::Link(String::from_utf8_lossy(&target).into_owned()));
            }
        } else if kind.is_file() {
            let mut bytes = Vec::new();
            // One byte more than is allowed shows the reader that the file is too large.
            entry.by_ref().take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|e| damaged(path, count + 1, e))?;
            total += bytes.len() as u64;
            tree.insert(&name, Entry::File(bytes));
        }
    }
    tree.into_machine_root().ok_or_else(|| DiscoverError::NotATree {
        path: path.to_owned(),
        why: "the archive holds neither sys/devices nor proc/cpuinfo".to_owned(),
    })
}
