//! The kernel of a guest, and the modules without which it cannot talk to the host.

use std::cmp::Ordering;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tiermark_model::Refusal;
use tiermark_model::messages::tenants as messages;

/// Where kernels are installed, and their names before the version.
const BOOT: &str = "/boot";
const IMAGE: &str = "vmlinuz-";
/// Modules that a guest needs where they are not built in: the bus, and the serial port.
const WANTED: [&str; 2] = ["virtio_pci", "virtio_console"];
/// Where the head of an x86 kernel image says that it is one, and where its version is
/// (Documentation/arch/x86/boot.rst).
const MAGIC: (usize, &[u8]) = (0x202, b"HdrS");
const VERSION_POINTER: usize = 0x20e;
/// The header's pointer to the version counts from this offset.
const SETUP: usize = 0x200;
/// Bytes of the version that are read at most.
const MOST_VERSION: usize = 256;

/// The named kernel, or the newest installed; kernels for clouds first, since they boot in half the time.
pub(super) fn find(given: Option<&Path>) -> Result<PathBuf, Refusal> {
    if let Some(path) = given {
        return Ok(path.to_owned());
    }
    let names = fs::read_dir(BOOT)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    let names: Vec<String> = names.collect();
    newest(&names)
        .map(|name| Path::new(BOOT).join(name))
        .ok_or_else(|| messages::guest_kernel_missing(&format!("{BOOT}/{IMAGE}*")))
}

fn newest(names: &[String]) -> Option<&str> {
    let kernels =
        names.iter().filter(|name| name.starts_with(IMAGE) && !name.ends_with(".old") && !name.contains("rescue"));
    let cloud = |name: &str| name.contains("-cloud-");
    kernels.map(String::as_str).max_by(|a, b| cloud(a).cmp(&cloud(b)).then_with(|| by_version(a, b)))
}

/// By their numbers as numbers: 6.10 comes after 6.9.
fn by_version(a: &str, b: &str) -> Ordering {
    let parts = |text: &str| -> Vec<(u64, String)> {
        let numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
        // Numbers of more than 64 bits are compared as text.
        numbers.map(|part| (part.parse().unwrap_or(u64::MAX), part.to_owned())).collect()
    };
    parts(a).cmp(&parts(b)).then_with(|| a.cmp(b))
}

/// The version in the header of a kernel's image, or else its file name.
pub(super) fn version(path: &Path, image: &[u8]) -> Option<String> {
    let name = path.file_name()?.to_string_lossy();
    let named = || ["vmlinuz-", "vmlinux-"].iter().find_map(|prefix| name.strip_prefix(prefix)).map(str::to_owned);
    version_in_header(image).or_else(named)
}

fn version_in_header(image: &[u8]) -> Option<String> {
    let (at, magic) = MAGIC;
    if image.get(at..)?.get(..magic.len())? != magic {
        return None;
    }
    let pointer = image.get(VERSION_POINTER..VERSION_POINTER + 2)?;
    let start = SETUP + usize::from(u16::from_le_bytes([pointer[0], pointer[1]]));
    let text = image.get(start..)?;
    let text = &text[..text.len().min(MOST_VERSION)];
    let end = text.iter().position(|byte| *byte == 0 || *byte == b' ')?;
    let version = std::str::from_utf8(&text[..end]).ok()?;
    // It becomes part of a path.
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._+~".contains(c);
    (!version.is_empty() && version.chars().all(plain)).then(|| version.to_owned())
}

/// The modules that a kernel needs, each with its name, in the order in which they have to be loaded. What is not among
/// a kernel's modules is built in.
pub(super) fn modules(version: &str) -> Result<Vec<(String, Vec<u8>)>, Refusal> {
    let directory = Path::new("/lib/modules").join(version);
    let listed = fs::read_to_string(directory.join("modules.dep")).unwrap_or_default();
    let paths = order(&listed, &WANTED);
    paths.iter().map(|path| Ok((plain_name(path).to_owned(), read(&directory.join(path))?))).collect()
}

/// Paths of modules and of their dependencies, the dependencies first, from the text of `modules.dep`.
fn order(listed: &str, wanted: &[&str]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let stem = |path: &str| plain_name(path).trim_end_matches(".ko").replace('-', "_");
    for name in wanted {
        let line = listed.lines().filter_map(|line| line.split_once(':')).find(|(path, _)| stem(path) == *name);
        let Some((path, needs)) = line else { continue };
        // Dependencies of dependencies stand further back.
        for path in needs.split_whitespace().rev().chain([path]) {
            if !found.iter().any(|known| known == path) {
                found.push(path.to_owned());
            }
        }
    }
    found
}

/// The program that unpacks a module, by the end of its name.
const UNPACKERS: [(&str, &str); 3] = [(".gz", "gzip"), (".xz", "xz"), (".zst", "zstd")];

/// A module's name, as if it were not compressed.
fn plain_name(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    UNPACKERS.iter().find_map(|(end, _)| name.strip_suffix(end)).unwrap_or(name)
}

/// A module's bytes, unpacked by the system's own command: guests' kernels may not be able to.
fn read(path: &Path) -> Result<Vec<u8>, Refusal> {
    let name = path.to_string_lossy();
    let Some((_, unpacker)) = UNPACKERS.iter().find(|(end, _)| name.ends_with(end)) else {
        return fs::read(path).map_err(|why| messages::module_unreadable(&name, &why.to_string()));
    };
    let failed = |error: &str| messages::module_packed(&name, unpacker, error);
    let output = Command::new(unpacker).arg("-dc").arg(path).output();
    match output {
        Ok(output) if output.status.success() => Ok(output.stdout),
        Ok(output) => Err(failed(String::from_utf8_lossy(&output.stderr).trim())),
        Err(why) => Err(failed(&format!("it cannot be started: {why}"))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_newest_kernel_for_clouds_comes_first() {
        let all = [
            "vmlinuz-6.9.1-amd64",
            "vmlinuz-6.1.0-9-cloud-amd64",
            "vmlinuz-6.1.0-56-cloud-amd64",
            "config-9",
            "vmlinuz-7.old",
        ];
        assert_eq!(newest(&names(&all)), Some("vmlinuz-6.1.0-56-cloud-amd64"));
        assert_eq!(
            newest(&names(&["vmlinuz-6.9.1-amd64", "vmlinuz-6.10.0-amd64", "vmlinuz-0-rescue-5a"])),
            Some("vmlinuz-6.10.0-amd64")
        );
        assert_eq!(newest(&names(&["System.map-6.1"])), None);
        assert_eq!(find(Some(Path::new("/x"))).unwrap(), Path::new("/x"));
    }

    #[test]
    fn the_image_tells_its_version_and_else_its_name_does() {
        let mut image = vec![0; 0x3000];
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x20e..0x210].copy_from_slice(&0x2000_u16.to_le_bytes());
        let text = b"6.1.0-56-cloud-amd64 (build@host) #1 SMP\0";
        image[0x2200..0x2200 + text.len()].copy_from_slice(text);
        let path = Path::new("/boot/vmlinuz-9.9");
        assert_eq!(version(path, &image).as_deref(), Some("6.1.0-56-cloud-amd64"));
        // A text that would lead out of /lib/modules is no version.
        image[0x2200..0x2206].copy_from_slice(b"../../");
        assert_eq!(version(path, &image).as_deref(), Some("9.9"));
        assert_eq!(version(Path::new("bzImage"), b"\x7fELF"), None);
    }

    #[test]
    fn what_is_needed_is_loaded_first_and_once() {
        let listed = "kernel/drivers/virtio/virtio.ko: kernel/drivers/virtio/virtio_ring.ko\n\
                      kernel/d/virtio_pci.ko.xz: kernel/d/virtio_pci_modern_dev.ko.xz kernel/d/virtio.ko kernel/d/virtio_ring.ko\n\
                      kernel/d/virtio_ring.ko:\n\
                      kernel/c/virtio-console.ko: kernel/d/virtio.ko kernel/d/virtio_ring.ko\n";
        let expected = [
            "kernel/d/virtio_ring.ko",
            "kernel/d/virtio.ko",
            "kernel/d/virtio_pci_modern_dev.ko.xz",
            "kernel/d/virtio_pci.ko.xz",
            "kernel/c/virtio-console.ko",
        ];
        assert_eq!(order(listed, &WANTED), expected);
        assert_eq!(order("", &WANTED), Vec::<String>::new(), "built in");
        assert_eq!(plain_name("kernel/d/virtio_pci.ko.xz"), "virtio_pci.ko");
    }

    #[test]
    fn packed_modules_are_unpacked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.ko");
        fs::write(&path, b"module").unwrap();
        assert_eq!(read(&path).unwrap(), b"module");
        assert!(Command::new("gzip").arg(&path).status().unwrap().success());
        assert_eq!(read(&dir.path().join("a.ko.gz")).unwrap(), b"module");
        fs::write(dir.path().join("bad.ko.gz"), b"no").unwrap();
        assert!(read(&dir.path().join("bad.ko.gz")).unwrap_err().text("unpacker") == Some("gzip"));
    }

    proptest! {
        #[test]
        fn any_bytes_may_be_an_image(bytes in proptest::collection::vec(any::<u8>(), 0..0x400), pointer in any::<u16>()) {
            let mut image = bytes;
            image.resize(image.len().max(0x210), 0x41);
            image[0x202..0x206].copy_from_slice(b"HdrS");
            image[0x20e..0x210].copy_from_slice(&pointer.to_le_bytes());
            if let Some(version) = version_in_header(&image) {
                prop_assert!(!version.contains('/'));
            }
        }

        #[test]
        fn any_text_may_be_a_list(text in "[a-z_.: /\\n-]{0,200}") {
            let found = order(&text, &WANTED);
            prop_assert!(found.len() <= text.len());
        }
    }
}
