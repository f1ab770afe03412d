//! The kernel's build configuration, where the system has the file.

use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::GzDecoder;
use tiermark_machine::Root;

/// The largest configuration read, unpacked: those of distributions have some 300 KiB.
const MOST_BYTES: u64 = 4 << 20;

/// The options of the running kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelConfig {
    options: BTreeMap<String, String>,
}

impl KernelConfig {
    /// From `/boot/config-RELEASE`, else `/proc/config.gz`; `None` where neither is there.
    pub fn read(root: &Root, release: Option<&str>) -> Option<Self> {
        let plain = |release: &str| {
            // A release is a name and not a path.
            let path = format!("boot/config-{release}");
            root.text(&path).filter(|_| !release.contains('/'))
        };
        if let Some(text) = release.and_then(plain) {
            return Some(Self::parse(&text));
        }
        let packed = root.read_bytes("proc/config.gz").ok().flatten()?;
        let mut bytes = Vec::new();
        GzDecoder::new(packed.as_slice()).take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        Some(Self::parse(&String::from_utf8_lossy(&bytes)))
    }

    /// From its text: `CONFIG_X=y`, or `# CONFIG_X is not set`.
    pub fn parse(text: &str) -> Self {
        let pair = |line: &str| {
            let (name, value) = line.strip_prefix("CONFIG_")?.split_once('=')?;
            Some((name.to_owned(), value.trim().to_owned()))
        };
        Self { options: text.lines().filter_map(pair).collect() }
    }

    /// Whether an option (without `CONFIG_`) is built in or a module.
    pub fn has(&self, name: &str) -> bool {
        self.options.get(name).is_some_and(|value| value == "y" || value == "m")
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    const TEXT: &str = "# CONFIG_A is not set\nCONFIG_RCU_NOCB_CPU=y\nCONFIG_M=m\nCONFIG_S=\"x\"\nCONFIG_\n=y\n";

    #[test]
    fn plain_and_packed() {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(TEXT.as_bytes()).unwrap();
        for root in [
            Root::from_files("test", [("boot/config-6.1", TEXT.as_bytes().to_vec())]),
            Root::from_files("test", [("proc/config.gz", packed.finish().unwrap())]),
        ] {
            let config = KernelConfig::read(&root, Some("6.1")).unwrap();
            assert!(config.has("RCU_NOCB_CPU") && config.has("M") && !config.has("A") && !config.has("S"));
        }
        let root = Root::from_files("test", [("proc/config.gz", "no gzip")]);
        assert_eq!(KernelConfig::read(&root, None), None);
        assert_eq!(KernelConfig::read(&Root::from_files("test", [("x", "")]), Some("../../etc")), None);
    }
}
