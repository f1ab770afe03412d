//! The files that a guest boots: a kernel, and a first file system with this program, the server, the shared objects of
//! both, and modules. They are in anonymous memory (memfd), which the kernel frees however this program ends.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use rustix::fs::{MemfdFlags, memfd_create};
use serde::{Deserialize, Serialize};
use tiermark_model::Refusal;
use tiermark_model::messages::tenants as messages;

use super::archive::Archive;
use super::kernel;
use crate::guest::{MODULES, ORDER, SERVER};
use crate::system::program;

/// Which files guests are made of.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GuestFiles {
    /// A kernel; `None` takes the newest installed.
    pub kernel: Option<PathBuf>,
    /// A tiermark for the guests; `None` takes the one that runs.
    pub agent: Option<PathBuf>,
}

/// A server is linked to some twenty objects; a program with more than this is something else.
const MOST_LIBRARIES: usize = 200;

/// The kernel that guests boot, and their first file system.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) kernel: PathBuf,
    files: File,
}

/// The files of a guest on this machine, or why one is missing.
pub(super) struct Ingredients {
    /// Its path and its bytes.
    kernel: Result<(PathBuf, Vec<u8>), Refusal>,
    /// The tiermark of the guests: its path and its bytes.
    agent: Result<(PathBuf, Vec<u8>), Refusal>,
    server: Result<PathBuf, Refusal>,
}

impl Ingredients {
    /// Looks for them, and makes nothing.
    pub(super) fn find(files: &GuestFiles, server: &str) -> Self {
        let read = |path: PathBuf| match fs::read(&path) {
            Ok(image) => Ok((path, image)),
            Err(why) => Err(messages::guest_kernel_unreadable(&path.display().to_string(), &why.to_string())),
        };
        let server = program(server).ok_or_else(|| messages::server_missing(server));
        let kernel = kernel::find(files.kernel.as_deref()).and_then(read);
        Self { kernel, agent: agent(files.agent.as_deref()), server }
    }

    /// Missing files, each with its cure.
    pub(super) fn missing(self) -> Vec<Refusal> {
        [self.kernel.err(), self.agent.err(), self.server.err()].into_iter().flatten().collect()
    }
}

impl Image {
    /// Puts one together. It is not packed: an emulated guest takes longer to unpack it than to read it.
    ///
    /// # Errors
    /// A [`Refusal`] that names the missing files and the cures.
    pub(super) fn make(found: Ingredients) -> Result<Self, Refusal> {
        let ((kernel, image), agent, server) = (found.kernel?, found.agent?, found.server?);
        let modules =
            kernel::version(&kernel, &image).map_or_else(|| Ok(Vec::new()), |version| kernel::modules(&version))?;
        let archive = archive(agent, &server, &modules)?;
        let wrong = |why: io::Error| messages::guest_files_no_memory(&why.to_string());
        let mut files =
            File::from(memfd_create("tiermark-guest", MemfdFlags::CLOEXEC).map_err(|why| wrong(why.into()))?);
        files.write_all(&archive).map_err(wrong)?;
        Ok(Self { kernel, files })
    }

    /// A path by which programs that this one starts find the file system.
    pub(super) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", process::id(), self.files.as_raw_fd())
    }
}

/// The tiermark of the guests: its path, by which its shared objects are found, and its bytes.
fn agent(given: Option<&Path>) -> Result<(PathBuf, Vec<u8>), Refusal> {
    let own = || std::env::current_exe();
    let path = given.map_or_else(own, |path| Ok(path.to_owned()));
    let unreadable =
        |path: &Path, why: &io::Error| messages::agent_unreadable(&path.display().to_string(), &why.to_string());
    let path = path.map_err(|why| unreadable(Path::new("/proc/self/exe"), &why))?;
    let bytes = fs::read(&path).map_err(|why| unreadable(&path, &why))?;
    if is_program(&bytes) { Ok((path, bytes)) } else { Err(messages::agent_no_program(&path.display().to_string())) }
}

/// Whether these are the bytes of a 64-bit x86 program: the head of an ELF file of that class, for that machine (System
/// V ABI, chapter 4).
fn is_program(bytes: &[u8]) -> bool {
    const X86_64: [u8; 2] = 62_u16.to_le_bytes();
    bytes.starts_with(b"\x7fELF\x02") && bytes.get(18..20) == Some(&X86_64)
}

/// The shared objects that a program is linked to, by what `ldd` says; none for a static one.
fn libraries(program: &Path) -> Result<Vec<String>, Refusal> {
    let name = program.display().to_string();
    let output = Command::new("ldd").arg(program).env("LC_ALL", "C").output();
    let output = output.map_err(|why| messages::ldd_missing(&name, &why.to_string()))?;
    named(&String::from_utf8_lossy(&output.stdout)).map_err(|why| messages::libraries_missing(&name, &why))
}

/// The paths in what `ldd` says: `libc.so.6 => /lib/libc.so.6 (0x…)`, `/lib64/ld.so (0x…)`.
fn named(listing: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for line in listing.lines() {
        let (name, path) = line.split_once("=>").map_or((line, line), |(name, path)| (name, path));
        if path.trim() == "not found" {
            return Err(format!("{} is not found", name.trim()));
        }
        let path = path.split_whitespace().next().unwrap_or_default();
        if path.starts_with('/') && !path.split('/').any(|part| part == "..") {
            found.push(path.to_owned());
        }
    }
    match found.len() {
        ..=MOST_LIBRARIES => Ok(found),
        many => Err(format!("{many} shared objects are more than a program should have")),
    }
}

fn archive(
    (agent, program): (PathBuf, Vec<u8>),
    server: &Path,
    modules: &[(String, Vec<u8>)],
) -> Result<Vec<u8>, Refusal> {
    let read = |path: &Path| {
        fs::read(path).map_err(|why| messages::server_unreadable(&path.display().to_string(), &why.to_string()))
    };
    let mut files =
        vec![("/init".to_owned(), 0o755, Cow::from(program)), (SERVER.to_owned(), 0o755, read(server)?.into())];
    let shared: BTreeSet<String> = libraries(&agent)?.into_iter().chain(libraries(server)?).collect();
    for path in shared {
        let bytes = read(Path::new(&path))?;
        files.push((path, 0o755, bytes.into()));
    }
    files.extend(modules.iter().map(|(name, bytes)| (format!("{MODULES}/{name}"), 0o644, Cow::from(bytes))));
    let order: String = modules.iter().map(|(name, _)| format!("{name}\n")).collect();
    files.push((format!("{MODULES}/{ORDER}"), 0o644, order.into_bytes().into()));
    packed(&files).map_err(|why| messages::guest_files_too_large(&why.to_string()))
}

/// An archive of these files, by path, permissions and content, and of the directories and devices of every guest.
fn packed(files: &[(String, u32, Cow<'_, [u8]>)]) -> io::Result<Vec<u8>> {
    let mut archive = Archive::default();
    for path in ["/proc", "/sys", "/dev", "/run", "/tmp"] {
        archive.directory(path)?;
    }
    // The first program starts with the console as its input and output, before anything is mounted.
    archive.character_device("/dev/console", 5, 1)?;
    archive.character_device("/dev/null", 1, 3)?;
    for (path, permissions, content) in files {
        archive.file(path, *permissions, content)?;
    }
    archive.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The head of a program for a machine.
    fn elf(machine: u16) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        (bytes[20], bytes[52]) = (1, 64);
        bytes
    }

    #[test]
    fn programs_are_told_from_other_files() {
        assert!(is_program(&elf(62)));
        assert!(!is_program(&elf(183)));
        assert!(!is_program(b"#!/bin/sh"));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        fs::write(&path, b"text").unwrap();
        assert_eq!(agent(Some(&path)).unwrap_err().code, messages::codes::agent_no_program);
        assert_eq!(agent(Some(Path::new("/nonexistent"))).unwrap_err().code, messages::codes::agent_unreadable);
    }

    #[test]
    fn shared_objects_are_found_in_what_ldd_says() {
        let said = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 \
            (0x00007f)\n\t/lib64/ld-linux-x86-64.so.2 (0x7f)\n";
        assert_eq!(named(said).unwrap(), ["/lib/x86_64-linux-gnu/libm.so.6", "/lib64/ld-linux-x86-64.so.2"]);
        assert_eq!(named("\tnot a dynamic executable\n").unwrap(), Vec::<String>::new());
        assert!(named("\tlibx.so => not found\n").unwrap_err().contains("libx.so is not found"));
        assert!(named(&"/lib/a.so\n".repeat(300)).is_err());
    }

    #[test]
    fn the_first_file_system_has_what_a_guest_needs() {
        let modules = [("virtio.ko".to_owned(), vec![1]), ("virtio_pci.ko".to_owned(), vec![2])];
        let shell = program("sh").unwrap();
        let agent = (shell.clone(), b"agent".to_vec());
        let bytes = archive(agent.clone(), &shell, &modules).unwrap();
        let has = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        for text in
            ["init\0", "dev/console\0", "bin/tenant-server\0", "modules/virtio_pci.ko\0", "virtio.ko\nvirtio_pci.ko\n"]
        {
            assert!(has(text), "{text}");
        }
        // Libraries that both programs need are added once.
        let libraries = libraries(&shell).unwrap();
        assert!(!libraries.is_empty());
        for path in libraries {
            // The digits of a checksum stand before a name.
            let name = format!("0{}\0", path.trim_start_matches('/'));
            assert_eq!(bytes.windows(name.len()).filter(|window| *window == name.as_bytes()).count(), 1, "{path}");
        }
        let refused = archive(agent, Path::new("/nonexistent"), &modules).unwrap_err();
        assert_eq!(refused.code, messages::codes::server_unreadable);
        assert_eq!(program("/nonexistent/redis"), None);
    }

    #[test]
    fn all_that_is_missing_is_told_at_once() {
        let nowhere = Some(PathBuf::from("/nonexistent"));
        let missing =
            Ingredients::find(&GuestFiles { kernel: nowhere.clone(), agent: nowhere }, "/nonexistent").missing();
        let codes: Vec<&str> = missing.iter().map(|refusal| refusal.code.as_str()).collect();
        assert_eq!(codes, ["guest_kernel_unreadable", "agent_unreadable", "server_missing"]);
    }

    proptest! {
        #[test]
        fn any_text_may_be_said(text in "[a-z=> /.()\\n\\t]{0,300}") {
            if let Ok(paths) = named(&text) {
                prop_assert!(paths.iter().all(|path| path.starts_with('/')));
            }
        }
    }
}
