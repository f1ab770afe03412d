//! Limits of reserved huge pages (controller `hugetlb`). A write to a page beyond one kills the
//! program with SIGBUS; beyond one of reservations (`rsvd`) the mapping fails.

use tiermark_model::HugeLimit;

use super::{Membership, NO_LIMIT, groups, mounts, place};
use crate::Root;
use crate::nodes::POOLS;
use crate::reader::Reader;

/// The limits of the groups of this process, of each page size the one that leaves least, on the running system or a
/// captured one.
#[must_use]
pub fn own_huge_limits(root: &Root) -> Vec<HugeLimit> {
    let reader = Reader::new(root);
    let (mounts, groups) = (mounts(&reader), groups(&reader));
    place(&mounts, &groups, "hugetlb").map_or_else(Vec::new, |place| read(&reader, &place))
}

/// The limits along the path of a group.
pub(super) fn read(reader: &Reader<'_>, place: &Membership<'_>) -> Vec<HugeLimit> {
    let sizes = reader.page_sizes(POOLS).into_iter();
    sizes.filter_map(|(page_bytes, _)| of_size(reader, place, page_bytes)).collect()
}

fn of_size(reader: &Reader<'_>, place: &Membership<'_>, page_bytes: u64) -> Option<HugeLimit> {
    // Pages in use, and those that mappings reserved before they use them.
    let files: [(&str, &str); 2] = match place.version {
        2 => [("max", "current"), ("rsvd.max", "rsvd.current")],
        _ => [("limit_in_bytes", "usage_in_bytes"), ("rsvd.limit_in_bytes", "rsvd.usage_in_bytes")],
    };
    let size = named(page_bytes);
    let limit = |dir: &String, (limit, usage): (&str, &str)| {
        let path = format!("{dir}/hugetlb.{size}.{limit}");
        let text = reader.word(&path).filter(|text| text != "max")?;
        let bytes = reader.meant(&path, &text, "is not a limit of huge pages", text.parse::<u64>().ok())?;
        let used_bytes = reader.number(&format!("{dir}/hugetlb.{size}.{usage}")).unwrap_or_default();
        (bytes < NO_LIMIT).then(|| HugeLimit { page_bytes, bytes, used_bytes, file: format!("/{path}") })
    };
    let limits = place.dirs.iter().flat_map(|dir| files.into_iter().filter_map(move |file| limit(dir, file)));
    limits.min_by_key(HugeLimit::left)
}

/// A page size as control groups write it: `64KB`, `2MB`, `1GB`.
fn named(page_bytes: u64) -> String {
    match page_bytes >> 10 {
        kib if kib >= 1 << 20 => format!("{}GB", kib >> 20),
        kib if kib >= 1 << 10 => format!("{}MB", kib >> 10),
        kib => format!("{kib}KB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Vec<(u64, u64, String)> {
        let pools = ["2048kB", "1048576kB"].map(|size| (format!("{POOLS}/hugepages-{size}/nr_hugepages"), "9"));
        let pools = pools.iter().map(|(path, text)| (path.as_str(), *text));
        let root = Root::from_files("test", pools.chain(files.iter().copied()));
        own_huge_limits(&root).into_iter().map(|limit| (limit.page_bytes >> 20, limit.left(), limit.file)).collect()
    }

    #[test]
    fn the_limit_that_leaves_least_counts() {
        let group = [
            ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/b/hugetlb.2MB.max", "max\n"),
            ("sys/fs/cgroup/a/b/hugetlb.1GB.max", "0\n"),
            ("sys/fs/cgroup/a/hugetlb.2MB.max", "8388608\n"),
        ];
        let file = |name: &str| format!("/sys/fs/cgroup/a/{name}");
        let gigabytes = (1024, 0, file("b/hugetlb.1GB.max"));
        assert_eq!(of(&group), [(2, 8 << 20, file("hugetlb.2MB.max")), gigabytes.clone()]);
        let reserved = [
            ("sys/fs/cgroup/a/b/hugetlb.2MB.rsvd.max", "6291456\n"),
            ("sys/fs/cgroup/a/b/hugetlb.2MB.rsvd.current", "4194304\n"),
        ];
        let found = of(&[&group[..], &reserved].concat());
        assert_eq!(found, [(2, 2 << 20, file("b/hugetlb.2MB.rsvd.max")), gigabytes]);
    }

    #[test]
    fn version_1_has_limits_too() {
        let found = of(&[
            ("proc/self/mountinfo", "30 23 0:27 / /sys/fs/cgroup/hugetlb rw - cgroup cgroup rw,hugetlb\n"),
            ("proc/self/cgroup", "5:hugetlb:/x\n"),
            ("sys/fs/cgroup/hugetlb/x/hugetlb.2MB.limit_in_bytes", "4194304\n"),
            ("sys/fs/cgroup/hugetlb/x/hugetlb.1GB.limit_in_bytes", "9223372036854771712\n"),
        ]);
        assert_eq!(found, [(2, 4 << 20, "/sys/fs/cgroup/hugetlb/x/hugetlb.2MB.limit_in_bytes".to_owned())]);
    }
}
