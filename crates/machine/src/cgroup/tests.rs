use super::*;
use crate::root::Root;

fn limits(files: &[(&str, &str)]) -> Limits {
    let root = Root::from_files("test", files.iter().copied());
    let reader = Reader::new(&root);
    let limits = read(&reader);
    assert!(reader.into_refusals().is_empty());
    limits
}

#[test]
fn version_2_takes_a_limit_on_the_way_up() {
    let limits = limits(&[
        ("proc/self/cgroup", "0::/a/b\n"),
        ("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
        ("sys/fs/cgroup/a/b/memory.max", "max\n"),
        ("sys/fs/cgroup/a/memory.max", "1048576\n"),
        ("sys/fs/cgroup/a/memory.current", "4096\n"),
        ("sys/fs/cgroup/a/memory.high", "max\n"),
        ("sys/fs/cgroup/a/b/cpu.max", "150000 100000\n"),
        ("sys/fs/cgroup/a/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/a/cpuset.cpus.effective", "0-3\n"),
        ("sys/fs/cgroup/a/b/cpuset.cpus", "\n"),
        ("sys/fs/cgroup/a/cpuset.mems.effective", "1\n"),
    ]);
    let cgroup = limits.cgroup.unwrap();
    assert_eq!((cgroup.version, cgroup.path.as_str()), (2, "/a/b"));
    assert_eq!((cgroup.memory_limit, cgroup.memory_used), (Some(1 << 20), Some(4096)));
    assert_eq!(cgroup.cpu_quota, Some(1.5));
    assert_eq!(
        (limits.cpus.unwrap().ids.to_string(), limits.nodes.unwrap().ids.to_string()),
        ("0-3".into(), "1".into())
    );
}

#[test]
fn a_limit_that_throttles_is_a_limit_as_one_that_kills() {
    let files = |max: &str, high: &str| {
        limits(&[
            ("proc/self/cgroup", "0::/a/b\n"),
            ("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/a/b/memory.max", max),
            ("sys/fs/cgroup/a/b/memory.events", "low 0\nhigh 1\nmax 0\n"),
            ("sys/fs/cgroup/a/memory.high", high),
            ("sys/fs/cgroup/a/memory.current", "100\n"),
            ("sys/fs/cgroup/a/memory.events", "low 0\nhigh 18233\nmax 0\n"),
        ])
        .cgroup
        .unwrap()
    };
    let of = |group: &Cgroup| (group.memory_limit, group.limit_throttles, group.memory_used, group.memory_throttled);
    assert_eq!(of(&files("max\n", "2048\n")), (Some(2048), true, Some(100), Some(18233)));
    assert_eq!(of(&files("1024\n", "2048\n")), (Some(1024), false, None, Some(18233)), "above a smaller limit too");
    assert_eq!(of(&files("max\n", "max\n")), (None, false, None, Some(1)));
}

/// A container sees its own directory as the root of the hierarchy; the limit is that of the pod around it.
#[test]
fn a_limit_above_what_is_mounted_is_in_the_statistics_of_version_1() {
    let files = |own: &str, parent: &str, stat: &str| {
        let group = limits(&[
            ("proc/self/cgroup", "4:memory:/a\n"),
            ("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"),
            ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", own),
            ("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "100\n"),
            // The statistics of a group below name the limit of the one that is seen itself.
            ("sys/fs/cgroup/memory/a/memory.stat", "hierarchical_memory_limit 4096\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", parent),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "100\n"),
            ("sys/fs/cgroup/memory/memory.stat", stat),
        ]);
        let group = group.cgroup.unwrap();
        (group.memory_limit, group.files.memory)
    };
    let none = "9223372036854771712\n";
    let file = |name: &str| Some(format!("/sys/fs/cgroup/memory/{name}"));
    let above = files(none, none, "hierarchical_memory_limit 8192\n");
    assert_eq!(above, (Some(8192), file("memory.stat")));
    let seen = files(none, "4096\n", "hierarchical_memory_limit 4096\n");
    assert_eq!(seen, (Some(4096), file("memory.limit_in_bytes")), "the file that can be changed");
    assert_eq!(files("2048\n", none, "hierarchical_memory_limit 8192\n").1, file("a/memory.limit_in_bytes"));
    assert_eq!(files(none, none, "hierarchical_memory_limit 9223372036854771712\n"), (None, None));
}

#[test]
fn the_group_with_the_least_room_is_the_limit() {
    let files = |used: &str, cache: &str| {
        limits(&[
            ("proc/self/cgroup", "0::/a/b\n"),
            ("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/a/b/memory.max", "1000\n"),
            ("sys/fs/cgroup/a/b/memory.current", "100\n"),
            ("sys/fs/cgroup/a/memory.max", "9000\n"),
            ("sys/fs/cgroup/a/memory.current", used),
            ("sys/fs/cgroup/a/memory.stat", cache),
            ("sys/fs/cgroup/a/memory.events", "oom_kill 7\n"),
        ])
        .cgroup
        .unwrap()
    };
    let of = |group: Cgroup| (group.memory_limit, group.memory_left(), group.memory_kills, group.files.memory.unwrap());
    let above = "/sys/fs/cgroup/a/memory.max".to_owned();
    assert_eq!(of(files("8600\n", "anon 5\n")), (Some(9000), Some(400), Some(7), above));
    // Inactive file cache is given up first.
    let own = "/sys/fs/cgroup/a/b/memory.max".to_owned();
    assert_eq!(of(files("8600\n", "inactive_file 600\n")), (Some(1000), Some(900), None, own));
}

#[test]
fn each_quota_along_the_path_has_its_own_count() {
    let found = |above: &str| {
        limits(&[
            ("proc/self/cgroup", "0::/a/b\n"),
            ("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/a/b/cpu.max", "100000 100000\n"),
            ("sys/fs/cgroup/a/b/cpu.stat", "nr_periods 9\nnr_throttled 0\n"),
            ("sys/fs/cgroup/a/cpu.max", above),
            ("sys/fs/cgroup/a/cpu.stat", "nr_periods 9\nnr_throttled 7\nthrottled_usec 450000\n"),
        ])
        .cgroup
        .unwrap()
    };
    let quota = |name: &str, cpus: f64, times: u64| tiermark_model::CpuQuota {
        file: format!("/sys/fs/cgroup/{name}/cpu.max"),
        cpus,
        throttled: Some(times),
        throttled_us: (times > 0).then_some(450_000),
    };
    let (own, above) = (quota("a/b", 1.0, 0), quota("a", 2.0, 7));
    let both = found("200000 100000\n");
    assert_eq!((both.cpu_quota, both.files.quota), (Some(1.0), Some(own.file.clone())), "the smallest");
    assert_eq!(both.cpu_quotas, [own.clone(), above]);
    assert_eq!(found("max 100000\n").cpu_quotas, [own], "a group without a quota");
}

#[test]
fn version_1_in_a_container_whose_group_is_mounted_as_root() {
    let limits = limits(&[
        ("proc/self/cgroup", "4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n2:cpuset:/docker/x\n0::/\n"),
        (
            "proc/self/mountinfo",
            "1 0 0:1 /docker/x /sys/fs/cgroup/memory rw master:1 - cgroup cgroup rw,memory\n\
             2 0 0:2 /docker/x /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
             3 0 0:3 / /sys/fs/cgroup/cpu\\040set rw - cgroup cgroup rw,cpuset\n",
        ),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/cpu set/docker/x/cpuset.cpus", "2-3\n"),
    ]);
    let cgroup = limits.cgroup.unwrap();
    assert_eq!((cgroup.version, cgroup.memory_limit, cgroup.cpu_quota), (1, None, None));
    assert_eq!(limits.cpus.unwrap().ids.to_string(), "2-3");
}

#[test]
fn the_cpuset_file_system_of_old() {
    let limits = limits(&[
        ("proc/self/cpuset", "/job\n"),
        ("proc/mounts", "cpuset /dev/cpuset cgroup rw,cpuset,noprefix 0 0\n"),
        ("dev/cpuset/job/cpus", "4-7\n"),
    ]);
    assert_eq!(limits.cpus.unwrap().ids.to_string(), "4-7");
    assert_eq!(limits.cgroup.map(|group| (group.version, group.memory_limit)), Some((1, None)));
}

#[test]
fn a_path_of_another_namespace_leads_to_the_mount_point() {
    let mount = Mount { root: "/mine".into(), point: "/cg".into(), version: 2, options: vec![] };
    let of = |path: &str| {
        let (dirs, inside) = dirs(&mount, path);
        (dirs.join(" "), inside)
    };
    assert_eq!(of("/../other"), ("cg".to_owned(), false));
    assert_eq!(of("/minefield/x"), ("cg".to_owned(), false));
    assert_eq!(of("/mine/x/y"), ("cg/x/y cg/x cg".to_owned(), true));
}

#[test]
fn each_limit_has_the_file_of_the_group_that_sets_it() {
    let found = limits(&[
        ("proc/self/cgroup", "0::/a/b\n"),
        ("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
        ("sys/fs/cgroup/a/b/memory.max", "1024\n"),
        ("sys/fs/cgroup/a/memory.high", "2048\n"),
        ("sys/fs/cgroup/a/memory.events", "low 0\nhigh 18233\nmax 0\n"),
        ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
        ("sys/fs/cgroup/a/b/cpuset.cpus.effective", "0-3\n"),
        ("sys/fs/cgroup/a/cpuset.cpus.effective", "0-3\n"),
        ("sys/fs/cgroup/cpuset.cpus.effective", "0-7\n"),
        ("sys/fs/cgroup/a/b/cpuset.mems.effective", "1\n"),
        ("sys/fs/cgroup/a/cpuset.mems.effective", "0-1\n"),
    ]);
    let files = found.cgroup.unwrap().files;
    assert_eq!(files.memory.as_deref(), Some("/sys/fs/cgroup/a/b/memory.max"));
    assert_eq!(files.throttling.as_deref(), Some("/sys/fs/cgroup/a/memory.high"));
    assert_eq!(files.quota.as_deref(), Some("/sys/fs/cgroup/a/cpu.max"));
    assert_eq!(found.cpus.unwrap().file, "/sys/fs/cgroup/a/cpuset.cpus");
    assert_eq!(found.nodes.unwrap().file, "/sys/fs/cgroup/a/b/cpuset.mems");
    let old = limits(&[
        ("proc/self/cgroup", "4:memory:/x/y\n3:cpu,cpuacct:/x\n"),
        (
            "proc/self/mountinfo",
            "1 0 0:1 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
             2 0 0:2 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
        ),
        ("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "4096\n"),
        ("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "50000\n"),
        ("sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n"),
    ]);
    let files = old.cgroup.unwrap().files;
    assert_eq!(files.memory.as_deref(), Some("/sys/fs/cgroup/memory/x/memory.limit_in_bytes"));
    assert_eq!(files.quota.as_deref(), Some("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us"));
}
