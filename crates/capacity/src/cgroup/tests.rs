//! Control groups over a kernel that is made up, and over the real one.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use super::*;
use crate::evidence::GroupCounters as Counted;

/// Control groups as the kernel keeps them: files of each version, limits in pages, no removal while processes are
/// inside.
#[derive(Debug, Default)]
struct Kernel {
    files: RefCell<BTreeMap<String, String>>,
    /// Removals that are refused before one is not.
    busy: RefCell<u32>,
    /// This one cannot be removed, and those that hold it are busy for good.
    stuck: Option<&'static str>,
    /// Whether it is a kernel before Linux 5.11, whose groups are flat by default.
    flat: bool,
    /// Writes to files that end so are refused.
    refuses: Option<&'static str>,
    /// Everything written, in order.
    written: RefCell<Vec<String>>,
}

const V1: [&str; 3] = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "cgroup.procs"];
const V2: [&str; 4] = ["memory.max", "memory.swap.max", "cgroup.procs", "cgroup.subtree_control"];

impl Kernel {
    fn directories(&self) -> Vec<String> {
        let files = self.files.borrow();
        files.keys().filter_map(|path| path.strip_suffix("/cgroup.procs")).map(str::to_owned).collect()
    }
}

impl Files for &Kernel {
    fn make(&self, directory: &str) -> io::Result<()> {
        let mut files = self.files.borrow_mut();
        if files.contains_key(&format!("{directory}/cgroup.procs")) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let names: &[&str] = if directory.starts_with("cg/memory") {
            &V1
        } else if directory.starts_with("cg2") {
            &V2
        } else {
            &["cgroup.procs"]
        };
        files.extend(names.iter().map(|name| (format!("{directory}/{name}"), String::new())));
        if names == V1 {
            let said = if self.flat { "0" } else { "1" };
            files.insert(format!("{directory}/memory.use_hierarchy"), said.to_owned());
        }
        Ok(())
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        let mut files = self.files.borrow_mut();
        let file = files.get_mut(path).ok_or(io::ErrorKind::NotFound)?;
        if self.refuses.is_some_and(|end| path.ends_with(end)) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        self.written.borrow_mut().push(format!("{path} {text}"));
        *file = text.parse::<u64>().map_or_else(
            |_| text.to_owned(),
            |n| if path.ends_with("procs") { n } else { n / 4096 * 4096 }.to_string(),
        );
        Ok(())
    }

    fn read(&self, path: &str) -> io::Result<String> {
        Ok(self.files.borrow().get(path).ok_or(io::ErrorKind::NotFound)?.clone())
    }

    fn remove(&self, directory: &str) -> io::Result<()> {
        let mut busy = self.busy.borrow_mut();
        if *busy > 0 {
            *busy -= 1;
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        if self.stuck == Some(directory) {
            return Err(io::ErrorKind::ReadOnlyFilesystem.into());
        }
        if self.directories().iter().any(|other| other.starts_with(&format!("{directory}/"))) {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        self.files.borrow_mut().retain(|path, _| !path.starts_with(&format!("{directory}/")));
        Ok(())
    }
}

fn v1() -> Layout {
    Layout::V1 { memory: "cg/memory".into(), cpu: Some("cg/cpuacct".into()), unified: Some("cg/unified".into()) }
}

const BUDGET: Budget = Budget { memory: (64 << 20) + 5, swap: false };

#[test]
fn the_controller_is_found_where_it_is() {
    let find = |mounts: &str, controllers: &str| {
        Layout::find(&Root::from_files(
            "test",
            [("proc/self/mounts", mounts), ("sys/fs/cgroup/cgroup.controllers", controllers)],
        ))
    };
    let v2 = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";
    assert_eq!(find(v2, "cpuset cpu memory\n"), Ok(Layout::V2("sys/fs/cgroup".into())));
    assert!(find(v2, "cpu hugetlb\n").unwrap_err().code == messages::codes::no_memory_controller);
    let hybrid = "cgroup /cg/memory cgroup rw,memory 0 0\ncgroup /cg/cpuacct cgroup rw,cpu,cpuacct 0 0\n\
                  cgroup2 /cg/unified cgroup2 rw 0 0\n";
    assert_eq!(find(hybrid, "hugetlb\n"), Ok(v1()));
    assert!(find("garbage\n", "").is_err());
}

#[test]
fn a_parent_s_limit_is_made_to_bind_its_children() {
    for (flat, first) in
        [(true, "cg/memory/tm/memory.use_hierarchy 1"), (false, "cg/memory/tm/memory.limit_in_bytes 67108869")]
    {
        let kernel = Kernel { flat, ..Kernel::default() };
        Groups::create(&kernel, v1(), "tm", BUDGET).unwrap();
        assert_eq!(kernel.written.borrow()[0], first);
    }
}

#[test]
fn version_1_limits_memory_before_memory_and_swap() {
    let kernel = Kernel::default();
    let mut groups = Groups::create(&kernel, v1(), "tm", BUDGET).unwrap();
    let child = groups.child("t0").unwrap();
    groups.admit(&child, 42).unwrap();
    assert_eq!(groups.processes(), [42]);
    assert_eq!(
        kernel.written.borrow()[..],
        [
            "cg/memory/tm/memory.limit_in_bytes 67108869",
            "cg/memory/tm/memory.memsw.limit_in_bytes 67108869",
            "cg/memory/tm/t0/cgroup.procs 42",
            "cg/cpuacct/tm/t0/cgroup.procs 42",
            "cg/unified/tm/t0/cgroup.procs 42",
        ]
    );
    let wanted = GroupPaths::V1 {
        memory: "cg/memory/tm/t0".into(),
        cpu: Some("cg/cpuacct/tm/t0".into()),
        pressure: Some("cg/unified/tm/t0".into()),
    };
    assert_eq!(groups.paths(Some(&child)), wanted);
    // A process that is still being taken down.
    *kernel.busy.borrow_mut() = 3;
    groups.remove(BRIEFLY).unwrap();
    assert!(kernel.directories().is_empty());
}

#[test]
fn version_2_gives_tenants_counters_and_dram_no_swap() {
    let kernel = Kernel::default();
    let groups = Groups::create(&kernel, Layout::V2("cg2".into()), "tm", BUDGET).unwrap();
    let written = ["cg2/tm/cgroup.subtree_control +memory", "cg2/tm/memory.max 67108869", "cg2/tm/memory.swap.max 0"];
    assert_eq!(kernel.written.borrow()[..], written);
    assert_eq!(groups.paths(None), GroupPaths::V2("cg2/tm".into()));
    groups.remove(BRIEFLY).unwrap();
    let swapping = Budget { swap: true, ..BUDGET };
    Groups::create(&kernel, Layout::V2("cg2".into()), "tm", swapping).unwrap().remove(BRIEFLY).unwrap();
    assert_eq!(kernel.written.borrow().last().unwrap(), "cg2/tm/memory.swap.max max");
}

#[test]
fn what_was_there_is_never_touched() {
    let kernel = Kernel::default();
    (&kernel).make("cg/cpuacct/tm").unwrap();
    let refusal = Groups::create(&kernel, v1(), "tm", BUDGET).unwrap_err();
    assert_eq!(refusal.code, messages::codes::control_group_exists);
    assert!(refusal.text("action").is_some_and(|action| action.contains("cg/cpuacct/tm")), "{refusal}");
    assert_eq!(kernel.directories(), ["cg/cpuacct/tm"], "what was made is gone, what was there is not");
}

#[test]
fn a_limit_that_is_refused_leaves_nothing_behind() {
    for refuses in ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"] {
        let kernel = Kernel { refuses: Some(refuses), ..Kernel::default() };
        let refusal = Groups::create(&kernel, v1(), "tm", BUDGET).unwrap_err();
        assert_eq!(refusal.code, messages::codes::control_group_denied);
        assert!(refusal.text("action").is_some_and(|action| action.contains(refuses)), "{refusal}");
        assert!(kernel.directories().is_empty());
    }
}

#[test]
fn a_group_that_stays_is_told_with_its_cure() {
    let kernel = Kernel::default();
    let mut groups = Groups::create(&kernel, v1(), "tm", BUDGET).unwrap();
    groups.child("t0").unwrap();
    *kernel.busy.borrow_mut() = 6;
    let refusal = groups.remove(5 * BETWEEN).unwrap_err();
    assert_eq!(refusal.cure, "end its processes, then: rmdir /cg/memory/tm/t0");
    assert_eq!(kernel.directories(), ["cg/memory/tm", "cg/memory/tm/t0"], "the others are gone");
}

/// The test would take an hour otherwise.
#[test]
fn a_parent_is_not_waited_for_while_a_group_stays_in_it() {
    let kernel = Kernel { stuck: Some("cg/memory/tm/t0"), ..Kernel::default() };
    let mut groups = Groups::create(&kernel, v1(), "tm", BUDGET).unwrap();
    groups.child("t0").unwrap();
    groups.remove(Duration::from_secs(3600)).unwrap_err();
    assert_eq!(kernel.directories(), ["cg/memory/tm", "cg/memory/tm/t0"], "the others are gone");
}

/// Where this system lets groups be made, one holds a process within its limits, and all is as before; elsewhere the
/// refusal has a cure.
#[test]
fn the_real_kernel_holds_a_process_in_a_group_and_gives_it_back() {
    let root = Root::live();
    let name = format!("tiermark-test-{}", std::process::id());
    let layout = match Layout::find(&root) {
        Ok(layout) => layout,
        Err(refusal) => return assert!(!refusal.cure.is_empty(), "{refusal}"),
    };
    let mut groups = match Groups::create(Disk, layout.clone(), &name, Budget { swap: true, ..BUDGET }) {
        Ok(groups) => groups,
        Err(refusal) => return assert!(!refusal.cure.is_empty(), "{refusal}"),
    };
    let child = groups.child("t0").unwrap();
    let mut sleeper = Command::new("sleep").arg("30").stdout(Stdio::null()).spawn().unwrap();
    let admitted = groups.admit(&child, sleeper.id());
    let inside = groups.processes();
    let counted = Counted::read(&root, &groups.paths(Some(&child)));
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    groups.remove(BRIEFLY).unwrap();
    admitted.unwrap();
    assert_eq!(inside, [sleeper.id()]);
    assert!(counted.unwrap().memory.is_some());
    for directory in layout.directories(&name) {
        assert_eq!(root.list(&directory).unwrap(), Vec::<String>::new(), "{directory} is still there");
    }
}
