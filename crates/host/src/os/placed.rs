//! Where the memory comes from that a body makes for itself, and that its children and threads make: from the nodes that the user names.

use tiermark_model::{IdSet, Refusal};

use super::unavailable;
use crate::sys::PageRule;

/// Has the calling thread, and whatever it starts, take memory from some nodes only, until it is dropped.
#[derive(Debug)]
pub(crate) struct Placed {
    before: PageRule,
}

impl Placed {
    /// From these nodes; where none are named, the thread goes on as before: from the node of its cpu, or as its starter said (numactl).
    ///
    /// # Errors
    /// A [`Refusal`] when the kernel forbids it.
    pub(crate) fn on(nodes: &IdSet) -> Result<Option<Self>, Refusal> {
        if nodes.is_empty() {
            return Ok(None);
        }
        let bound = PageRule::now().and_then(|before| PageRule::among(nodes).apply().map(|()| Self { before }));
        bound.map(Some).map_err(|error| {
            let what = format!("memory of node {nodes} for what the system does");
            let cure = "allow set_mempolicy: docker run --cap-add SYS_NICE, or a seccomp profile that permits it; or leave --mem-node out";
            unavailable(&what, &error.to_string(), cure)
        })
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        let _ = self.before.apply();
    }
}

#[cfg(test)]
mod tests {
    use tiermark_engine::Host;
    use tiermark_machine::{Root, discover};
    use tiermark_model::{Bytes, Layout, MemPolicy, Node, OsCall, PageKind, RegionSetup, Role, Setup, ThreadSetup};

    use super::*;
    use crate::os::own::{first_cpu, in_own_process};
    use crate::{LinuxHost, Options, live_facts, sys};

    /// On a thread of its own, which has rules of its own.
    fn on_a_thread(job: impl FnOnce() + Send + 'static) {
        std::thread::spawn(job).join().unwrap();
    }

    #[test]
    fn a_thread_and_what_it_starts_take_memory_where_they_are_told_until_it_is_over() {
        let Some(node) = sys::allowed_nodes().ok().and_then(|nodes| nodes.first()) else { return };
        // A container may forbid it, which is the other test.
        if PageRule::now().and_then(|rule| rule.apply()).is_err() {
            return;
        }
        on_a_thread(move || {
            let before = PageRule::now().unwrap();
            assert!(Placed::on(&IdSet::new()).unwrap().is_none());
            let nodes = IdSet::from_iter([node]);
            let placed = Placed::on(&nodes).unwrap();
            let wanted = PageRule::among(&nodes);
            assert_eq!(PageRule::now().unwrap(), wanted);
            on_a_thread(move || assert_eq!(PageRule::now().unwrap(), wanted));
            let child = sys::os::Child::fork(|| {
                i32::from(PageRule::now().ok() != Some(PageRule::among(&IdSet::from_iter([node]))))
            });
            assert_eq!(child.unwrap().wait().unwrap(), 0);
            drop(placed);
            assert_eq!(PageRule::now().unwrap(), before);
        });
    }

    /// Whether some thread of this process takes memory for its stack from the first node only.
    fn some_thread_is_bound() -> bool {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let rules = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("numa_maps")).ok());
        rules.flat_map(|rules| rules.lines().map(str::to_owned).collect::<Vec<_>>()).any(|line| {
            let mut words = line.split_whitespace().skip(1);
            words.next() == Some("bind:0") && words.any(|word| word == "stack")
        })
    }

    #[test]
    fn a_step_takes_its_memory_from_the_node_that_its_setup_names() {
        if !in_own_process("os::placed::tests::a_step_takes_its_memory_from_the_node_that_its_setup_names") {
            return;
        }
        let mut machine = discover(&Root::live(), &live_facts()).unwrap();
        let bound = PageRule::now().and_then(|before| {
            PageRule::only(0).apply()?;
            let seen = some_thread_is_bound();
            before.apply().map(|()| seen)
        });
        // A kernel without nodes, or one that forbids it.
        if machine.nodes.is_empty() || !bound.is_ok_and(|seen| seen) {
            return;
        }
        // Where there is one node only, nothing needs to be said: another, from which nobody takes anything.
        let other = machine.nodes.len() as u32;
        machine.nodes.push(Node { id: other, ..Node::default() });
        let mut host = LinuxHost::new(machine, Options::default()).unwrap();
        for (nodes, wanted) in [("", false), ("0", true), ("", false)] {
            let region = RegionSetup {
                bytes: Bytes(4096),
                policy: MemPolicy::Bind,
                nodes: nodes.parse().unwrap(),
                page: PageKind::Base,
                layout: Layout::Data,
            };
            let thread = ThreadSetup::new(first_cpu(), Role::Os(OsCall::new("getppid".into())), 0);
            let rig = host.prepare(&Setup { regions: vec![region], threads: vec![thread], seed: 7 }).unwrap();
            assert_eq!(some_thread_is_bound(), wanted, "{nodes}");
            drop(rig);
            assert!(!some_thread_is_bound(), "{nodes}");
        }
    }

    #[test]
    fn a_kernel_that_forbids_it_is_a_refusal_with_its_cure() {
        on_a_thread(|| {
            sys::refuse(&[libc::SYS_set_mempolicy]).unwrap();
            let refusal = Placed::on(&IdSet::from_iter([0])).err().unwrap();
            assert!(refusal.what.contains("node 0") && refusal.cure.contains("set_mempolicy"), "{refusal}");
            assert!(Placed::on(&IdSet::new()).unwrap().is_none());
        });
    }
}
