//! Memory in which compressed pages lie, and that no control group counts.

use tiermark_machine::Root;

use super::{GroupCounters, parse};

/// The pools of compressed memory that a tier has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pools {
    /// zram devices by name.
    pub zram: Vec<String>,
    /// Bytes that zswap's pool had before the tier was set up, which are of others; `None` where zswap is not of the
    /// tier.
    pub zswap: Option<u64>,
}

impl Pools {
    /// Whether the tier has no compressed memory.
    pub fn is_none(&self) -> bool {
        self.zram.is_empty() && self.zswap.is_none()
    }

    /// Those of two tiers.
    pub fn with(mut self, other: Self) -> Self {
        self.zram.extend(other.zram);
        Self { zswap: self.zswap.or(other.zswap), ..self }
    }

    /// Bytes of memory that the pools take beside what the group counts; `None` if the tier has no pool.
    ///
    /// # Errors
    /// A sentence that names the file of a pool that does not tell.
    pub fn bytes(&self, root: &Root, group: &GroupCounters) -> Result<Option<u64>, String> {
        if self.is_none() {
            return Ok(None);
        }
        let mut all = 0u64;
        for name in &self.zram {
            let path = format!("sys/block/{name}/mm_stat");
            let read = root.parsed(&path, parse::zram).map_err(|why| why.to_string())?;
            all = all.saturating_add(read.ok_or_else(|| format!("{path} is missing"))?.memory);
        }
        if let Some(before) = self.zswap {
            let read = root.parsed("proc/meminfo", parse::zswap).map_err(|why| why.to_string())?.flatten();
            let now = read.ok_or("proc/meminfo has no line Zswap")?.memory;
            // Where the group's own part is in what it holds, it is not outside of it.
            let outside = now.saturating_sub(before).saturating_sub(group.zswap.unwrap_or(0));
            all = all.saturating_add(outside);
        }
        Ok(Some(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_groups_do_not_count_is_counted_once() {
        let root = Root::from_files(
            "test",
            [
                ("proc/meminfo", "Zswap: 300 kB\nZswapped: 900 kB\n"),
                ("sys/block/zram1/mm_stat", "4096 1024 2048 0 9999 3 0 1 0\n"),
                ("sys/block/zram2/mm_stat", "4096 1024 1000 0 9999 3 0 1 0\n"),
            ],
        );
        let zram = |names: &[&str]| Pools { zram: names.iter().map(|name| (*name).to_owned()).collect(), zswap: None };
        let zswap = Pools { zswap: Some(100 << 10), ..Pools::default() };
        let group = GroupCounters::default();
        assert_eq!(Pools::default().bytes(&root, &group), Ok(None));
        assert_eq!(zram(&["zram1", "zram2"]).bytes(&root, &group), Ok(Some(3048)));
        assert_eq!(
            zram(&["zram1", "zram9"]).bytes(&root, &group),
            Err("sys/block/zram9/mm_stat is missing".to_owned())
        );
        assert_eq!(zswap.bytes(&root, &group), Ok(Some(200 << 10)));
        let counted = GroupCounters { zswap: Some(150 << 10), ..group };
        assert_eq!(zswap.clone().with(zram(&["zram1"])).bytes(&root, &counted), Ok(Some((50 << 10) + 2048)));
        let silent = Root::from_files("test", [("proc/meminfo", "MemTotal: 9 kB\n")]);
        assert!(zswap.bytes(&silent, &group).is_err());
    }
}
