//! Unpacking archives of captured trees, in memory and within bounds.

use std::borrow::Cow;
use std::io::{self, Read};

use super::tree::{Entry, MAX_BYTES, Tree};
use super::{DiscoverError, MAX_FILE_BYTES};

/// Bytes of the decompressed stream: as many entries as are allowed, of two 512-byte blocks each.
const MAX_STREAM_BYTES: u64 = 1 << 29;
/// Records of the archive; 2,048 cpus need about 150,000.
const MAX_ENTRIES: usize = MAX_STREAM_BYTES as usize / 1024;
/// Bytes of a path or of a link's target, with the zero at its end (PATH_MAX): no kernel has longer ones.
const MAX_PATH_BYTES: usize = 4096;
/// Bytes of a record with a long name: the kernel's longest path (PATH_MAX) and what pax writes around it.
const MAX_NAME_BYTES: u64 = 8 << 10;

/// Reads a `.tar`, `.tar.gz` or `.tar.bz2`, distinguished by their first bytes.
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

/// A reader that fails behind so many bytes, as a stream that merely ends does not.
struct Limited<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(read)
    }
}

/// The error for an archive that breaks off or cannot be read after so many entries. The unpackers' own messages are
/// not shown: they quote the file.
fn damaged(path: &str, entries: usize, source: io::Error) -> DiscoverError {
    if source.raw_os_error().is_some() {
        return DiscoverError::Io { path: path.to_owned(), source };
    }
    if source.kind() == io::ErrorKind::FileTooLarge {
        return DiscoverError::TooLarge { path: path.to_owned(), limit: MAX_STREAM_BYTES };
    }
    let why = match entries {
        0 => "it is not a directory and not a tar archive (.tar, .tar.gz, .tar.bz2)".to_owned(),
        _ => format!("the archive is damaged after {entries} entries"),
    };
    DiscoverError::NotATree { path: path.to_owned(), why }
}

/// Names of the next entry that stand in records of their own, since they are longer than a header's field.
#[derive(Default)]
struct LongNames {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
}

impl LongNames {
    /// Takes what a record says of the next entry: GNU tar's long names, pax's `path` and `linkpath`. `false` for any
    /// other record.
    fn take(&mut self, entry: &mut tar::Entry<'_, impl Read>) -> io::Result<bool> {
        let kind = entry.header().entry_type();
        if !(kind.is_gnu_longname() || kind.is_gnu_longlink() || kind.is_pax_local_extensions()) {
            return Ok(kind.is_pax_global_extensions());
        }
        if entry.size() > MAX_NAME_BYTES {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        let mut bytes = Vec::new();
        entry.take(MAX_NAME_BYTES).read_to_end(&mut bytes)?;
        if kind.is_pax_local_extensions() {
            for record in tar::PaxExtensions::new(&bytes).flatten() {
                match record.key_bytes() {
                    b"path" => self.path = Some(record.value_bytes().to_vec()),
                    b"linkpath" => self.link = Some(record.value_bytes().to_vec()),
                    _ => {}
                }
            }
            return Ok(true);
        }
        // Until the first zero, which C's strings end in.
        bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
        *(if kind.is_gnu_longname() { &mut self.path } else { &mut self.link }) = Some(bytes);
        Ok(true)
    }
}

fn untar(path: &str, stream: impl Read) -> Result<Tree, DiscoverError> {
    let mut tree = Tree::default();
    let mut long = LongNames::default();
    let too_large = || DiscoverError::TooLarge { path: path.to_owned(), limit: MAX_BYTES as u64 };
    let mut archive = tar::Archive::new(Limited { inner: stream, left: MAX_STREAM_BYTES });
    // The unpacker itself would read names of any length into memory.
    for (count, entry) in archive.entries().map_err(|e| damaged(path, 0, e))?.raw(true).enumerate() {
        let mut entry = entry.map_err(|e| damaged(path, count, e))?;
        if count >= MAX_ENTRIES || tree.is_full() {
            return Err(too_large());
        }
        if long.take(&mut entry).map_err(|e| damaged(path, count, e))? {
            continue;
        }
        let names = std::mem::take(&mut long);
        let possible =
            |bytes: &[u8]| (bytes.len() < MAX_PATH_BYTES).then(|| String::from_utf8_lossy(bytes).into_owned());
        let Some(name) = possible(&names.path.map_or_else(|| entry.path_bytes(), Cow::Owned)) else { continue };
        let kind = entry.header().entry_type();
        if kind.is_dir() {
            tree.insert(&name, Entry::Dir(Vec::new()));
        } else if kind.is_symlink() {
            let target = names.link.map(Cow::Owned).or_else(|| entry.link_name_bytes());
            if let Some(target) = target.and_then(|target| possible(&target)) {
                tree.insert(&name, Entry::Link(target));
            }
        } else if kind.is_file() {
            let mut bytes = Vec::new();
            // One byte more than is allowed shows the reader that the file is too large.
            entry.by_ref().take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|e| damaged(path, count + 1, e))?;
            bytes.shrink_to_fit();
            tree.insert(&name, Entry::File(bytes));
        }
    }
    if tree.is_full() {
        return Err(too_large());
    }
    tree.into_machine_root().ok_or_else(|| DiscoverError::NotATree {
        path: path.to_owned(),
        why: "the archive holds neither sys/devices nor proc/cpuinfo".to_owned(),
    })
}
