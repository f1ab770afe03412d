//! The path every reader starts from: the live `/`, a captured directory, or an archive held in memory.

mod archive;
mod disk;
mod tree;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tree::{Entry, Step, Tree, Walk, parts};

use crate::error::DiscoverError;

/// Larger files are refused. `/proc/cpuinfo` of 8,192 cpus is below 16 MiB; nothing else read here comes near.
pub(crate) const MAX_FILE_BYTES: u64 = 16 << 20;
/// What reading one machine may cost, in bytes of files, names and walked paths, with a price for each look. Links show
/// a file at any number of paths, so the size of a capture does not bound it. 8,192 cpus take about a third.
const MOST_COST: usize = 512 << 20;
/// The price of a look at a path beside the bytes that it finds.
const LOOK: usize = 64;
/// Links followed for one path before it is taken for a loop, as the kernel does.
const MAX_LINKS: usize = 40;

/// Where a machine is read from. Every path given to it is relative to it; symbolic links resolve inside it.
#[derive(Debug, Clone)]
pub struct Root {
    source: Source,
    label: String,
    recording: Option<Arc<Mutex<Recording>>>,
    /// What was spent of [`MOST_COST`], where that is the limit.
    spent: Option<Arc<AtomicUsize>>,
}

#[derive(Debug, Clone)]
enum Source {
    /// The running system: the kernel resolves links, and all of them lead to itself.
    Live,
    /// A directory that links must not leave.
    Directory(PathBuf),
    /// An archive, or a machine built in memory.
    Memory(Arc<Tree>),
}

impl Root {
    /// The running system.
    pub fn live() -> Self {
        Self::new(Source::Live, "/")
    }

    /// A captured machine: a directory that holds `sys` and `proc` (directly or a few levels down), or a `.tar`,
    /// `.tar.gz` or `.tar.bz2` of one.
    ///
    /// # Errors
    /// [`DiscoverError`] where the path cannot be read, is too large, or holds no such tree.
    pub fn at(path: impl AsRef<Path>) -> Result<Self, DiscoverError> {
        let path = path.as_ref();
        let label = path.display().to_string();
        if path == Path::new("/") {
            return Ok(Self::live());
        }
        let io_error = |source| DiscoverError::Io { path: label.clone(), source };
        let metadata = fs::metadata(path).map_err(io_error)?;
        if metadata.is_dir() {
            let base = disk::machine_root(path).ok_or_else(|| DiscoverError::NotATree {
                path: label.clone(),
                why: "the directory holds neither sys/devices nor proc/cpuinfo".to_owned(),
            })?;
            return Ok(Self::new(Source::Directory(base), &label));
        }
        if !metadata.is_file() {
            let why = "it is neither a directory nor a file".to_owned();
            return Err(DiscoverError::NotATree { path: label, why });
        }
        let file = fs::File::open(path).map_err(io_error)?;
        let tree = archive::unpack(&label, std::io::BufReader::new(file))?;
        Ok(Self::new(Source::Memory(Arc::new(tree)), &label))
    }

    /// A captured machine in an archive that is already in memory.
    ///
    /// # Errors
    /// As for [`Root::at`].
    pub fn from_archive(label: &str, bytes: &[u8]) -> Result<Self, DiscoverError> {
        Ok(Self::new(Source::Memory(Arc::new(archive::unpack(label, bytes)?)), label))
    }

    /// A machine given as paths and contents.
    pub fn from_files<P: AsRef<str>, B: Into<Vec<u8>>>(label: &str, files: impl IntoIterator<Item = (P, B)>) -> Self {
        let mut tree = Tree::default();
        for (path, bytes) in files {
            tree.insert(path.as_ref(), Entry::File(bytes.into()));
        }
        Self::new(Source::Memory(Arc::new(tree)), label)
    }

    fn new(source: Source, label: &str) -> Self {
        Self { source, label: label.to_owned(), recording: None, spent: None }
    }

    /// Name of the root in messages.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Whether this is the running system.
    pub fn is_live(&self) -> bool {
        matches!(self.source, Source::Live)
    }

    /// The same root, writing down everything that is read through it.
    pub(crate) fn recorded(&self) -> (Self, Arc<Mutex<Recording>>) {
        let log = Arc::new(Mutex::new(Recording::default()));
        (Self { recording: Some(Arc::clone(&log)), ..self.clone() }, log)
    }

    /// The same root, from which no more is read than any machine's description has.
    pub(crate) fn metered(&self) -> Self {
        Self { spent: Some(Arc::default()), ..self.clone() }
    }

    /// Counts a cost where the root is metered.
    ///
    /// # Errors
    /// [`DiscoverError::Repeats`] where more was spent than any machine's description takes.
    pub(crate) fn spend(&self, cost: usize) -> Result<(), DiscoverError> {
        let before = self.spent.as_ref().map_or(0, |spent| spent.fetch_add(cost, Ordering::Relaxed));
        if before <= MOST_COST { Ok(()) } else { Err(DiscoverError::Repeats { path: self.label.clone() }) }
    }

    /// The bytes of a file; `None` where there is no such file.
    ///
    /// # Errors
    /// [`DiscoverError`] where the file exists and cannot be read, or is too large.
    pub fn read_bytes(&self, rel: &str) -> Result<Option<Vec<u8>>, DiscoverError> {
        self.spend(LOOK)?;
        let bytes = match &self.source {
            Source::Live => disk::read(rel, &Path::new("/").join(rel.trim_start_matches('/')))?,
            Source::Directory(base) => match self.resolve(rel)? {
                Some(names) => disk::read(rel, &disk::join(base, &names))?,
                None => None,
            },
            Source::Memory(tree) => match self.find(tree, rel)? {
                Some(Entry::File(bytes)) if bytes.len() as u64 > MAX_FILE_BYTES => {
                    return Err(DiscoverError::TooLarge { path: rel.to_owned(), limit: MAX_FILE_BYTES });
                }
                Some(Entry::File(bytes)) => Some(bytes.clone()),
                _ => None,
            },
        };
        self.spend(bytes.as_ref().map_or(0, Vec::len))?;
        if let (Some(log), Some(bytes)) = (&self.recording, &bytes) {
            log.lock().unwrap_or_else(PoisonError::into_inner).file(rel, bytes);
        }
        Ok(bytes)
    }

    /// The text of a file; `None` where there is no such file. Bytes that are not UTF-8 become `\u{fffd}`; the mark
    /// that editors put before a text is left out.
    ///
    /// # Errors
    /// As for [`Root::read_bytes`].
    pub fn read(&self, rel: &str) -> Result<Option<String>, DiscoverError> {
        let text = self.read_bytes(rel)?.map(|bytes| match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        });
        Ok(text.map(|text| match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        }))
    }

    /// Where a path below this root lies on disk, links followed inside the root; `None` if there is no such file, or
    /// the root is an archive. For callers that write: this crate does not.
    ///
    /// # Errors
    /// [`DiscoverError`] if a part of the path cannot be read.
    pub fn on_disk(&self, rel: &str) -> Result<Option<PathBuf>, DiscoverError> {
        Ok(match &self.source {
            Source::Live => {
                let path = Path::new("/").join(rel.trim_start_matches('/'));
                // An error is no absence.
                let exists = path.try_exists();
                let exists = exists.map_err(|source| DiscoverError::Io { path: rel.to_owned(), source })?;
                exists.then_some(path)
            }
            Source::Directory(base) => self.resolve(rel)?.map(|names| disk::join(base, &names)),
            Source::Memory(_) => None,
        })
    }

    /// The names in a directory, sorted; empty where there is no such directory.
    ///
    /// # Errors
    /// [`DiscoverError`] where the directory exists and cannot be read.
    pub fn list(&self, rel: &str) -> Result<Vec<String>, DiscoverError> {
        self.matching(rel, |_| true)
    }

    /// The names in a directory that fit, sorted.
    pub(crate) fn matching(&self, rel: &str, fits: impl Fn(&str) -> bool) -> Result<Vec<String>, DiscoverError> {
        self.spend(LOOK)?;
        let mut names = self.names(rel)?;
        self.spend(names.iter().map(|name| size_of::<String>() + name.len()).sum())?;
        names.retain(|name| fits(name));
        if let Some(log) = &self.recording {
            log.lock().unwrap_or_else(PoisonError::into_inner).names(rel, &names);
        }
        Ok(names)
    }

    /// The numbers N for which a directory holds an entry named `prefix` N, rising.
    ///
    /// # Errors
    /// As for [`Root::list`].
    pub fn numbered(&self, rel: &str, prefix: &str) -> Result<Vec<u32>, DiscoverError> {
        let number = |name: &str| name.strip_prefix(prefix)?.parse::<u32>().ok();
        let names = self.matching(rel, |name| number(name).is_some())?;
        let mut numbers: Vec<u32> = names.iter().filter_map(|name| number(name)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    }

    fn names(&self, rel: &str) -> Result<Vec<String>, DiscoverError> {
        match &self.source {
            Source::Live => disk::list(rel, &Path::new("/").join(rel.trim_start_matches('/'))),
            Source::Directory(base) => match self.resolve(rel)? {
                Some(names) => disk::list(rel, &disk::join(base, &names)),
                None => Ok(Vec::new()),
            },
            Source::Memory(tree) => {
                let mut names = self.find(tree, rel)?.map(|entry| entry.names().to_vec()).unwrap_or_default();
                names.sort_unstable();
                Ok(names)
            }
        }
    }

    fn find<'a>(&self, tree: &'a Tree, rel: &str) -> Result<Option<&'a Entry>, DiscoverError> {
        // Nearly all paths run through no link; only the others pay for the walk.
        match tree.walk(rel) {
            Walk::Found(entry) => Ok(Some(entry)),
            Walk::Absent => Ok(None),
            Walk::Unclear => Ok(self.resolve(rel)?.and_then(|names| tree.get(&names.join("/")))),
        }
    }

    /// Follows the links of a path inside the root: `..` stops at the root, absolute links start there.
    fn resolve(&self, rel: &str) -> Result<Option<Vec<String>>, DiscoverError> {
        let mut pending: VecDeque<String> = parts(rel).map(str::to_owned).collect();
        let mut at: Vec<String> = Vec::new();
        let mut links = 0;
        while let Some(name) = pending.pop_front() {
            if name == ".." {
                at.pop();
                continue;
            }
            at.push(name);
            match self.step(rel, &at)? {
                None => return Ok(None),
                Some(Step::Dir) => {}
                Some(Step::File) if pending.is_empty() => {}
                Some(Step::File) => return Ok(None),
                Some(Step::Link(target)) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Ok(None);
                    }
                    at.pop();
                    if target.starts_with('/') {
                        at.clear();
                    }
                    for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
                        pending.push_front(part.to_owned());
                    }
                }
            }
        }
        Ok(Some(at))
    }

    fn step(&self, rel: &str, at: &[String]) -> Result<Option<Step>, DiscoverError> {
        self.spend(at.iter().map(|name| name.len() + 1).sum())?;
        match &self.source {
            Source::Live => disk::step(rel, &disk::join(Path::new("/"), at)),
            Source::Directory(base) => disk::step(rel, &disk::join(base, at)),
            Source::Memory(tree) => Ok(tree.get(&at.join("/")).map(Entry::step)),
        }
    }
}

/// Files and names seen. Names that turn out to be neither file nor parent of a file are kept as directories,
/// because their existence alone may say something (`cpu3`, `node7`).
#[derive(Debug, Default)]
pub(crate) struct Recording {
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    names: BTreeSet<String>,
}

impl Recording {
    fn file(&mut self, rel: &str, bytes: &[u8]) {
        self.files.entry(rel.trim_matches('/').to_owned()).or_insert_with(|| bytes.to_vec());
    }

    fn names(&mut self, rel: &str, names: &[String]) {
        let dir = rel.trim_matches('/');
        self.names.extend(names.iter().map(|name| format!("{dir}/{name}")));
    }

    /// Names that no recorded file implies.
    pub(crate) fn bare_names(&self) -> impl Iterator<Item = &String> {
        self.names.iter().filter(|name| {
            let below = format!("{name}/");
            !self.files.contains_key(*name)
                && !self.files.range(below.clone()..).next().is_some_and(|(f, _)| f.starts_with(&below))
        })
    }
}

#[cfg(test)]
mod tests;
