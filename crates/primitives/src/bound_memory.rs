//! Where the memory comes from that a body makes for itself, and that its children and threads make: from the nodes
//! that the user names.

use tiermark_model::{IdSet, Refusal};
use tiermark_system::PageRule;

use crate::failure::unavailable;

/// Has the calling thread, and whatever it starts, take memory from some nodes only, until it is dropped.
#[derive(Debug)]
pub struct BoundMemory {
    before: PageRule,
}

impl BoundMemory {
    /// From these nodes; where none are named, the thread goes on as before: from the node of its cpu, or as its
    /// starter said (numactl).
    ///
    /// # Errors
    /// A [`Refusal`] when the kernel forbids it.
    pub fn on(nodes: &IdSet) -> Result<Option<Self>, Refusal> {
        if nodes.is_empty() {
            return Ok(None);
        }
        let bound = PageRule::now().and_then(|before| PageRule::among(nodes).apply().map(|()| Self { before }));
        bound.map(Some).map_err(|error| {
            let what = format!("memory of node {nodes} for what the system does");
            let cure = "allow set_mempolicy: docker run --cap-add SYS_NICE, or a seccomp profile that permits it; or \
                leave --mem-node out";
            unavailable(&what, &error.to_string(), cure)
        })
    }
}

impl Drop for BoundMemory {
    fn drop(&mut self) {
        let _ = self.before.apply();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a thread of its own, which has rules of its own.
    fn on_a_thread(job: impl FnOnce() + Send + 'static) {
        std::thread::spawn(job).join().unwrap();
    }

    #[test]
    fn a_thread_and_what_it_starts_take_memory_where_they_are_told_until_it_is_over() {
        let Some(node) = tiermark_system::allowed_nodes().ok().and_then(|nodes| nodes.first()) else { return };
        // A container may forbid it, which is the other test.
        if PageRule::now().and_then(|rule| rule.apply()).is_err() {
            return;
        }
        on_a_thread(move || {
            let before = PageRule::now().unwrap();
            assert!(BoundMemory::on(&IdSet::new()).unwrap().is_none());
            let nodes = IdSet::from_iter([node]);
            let placed = BoundMemory::on(&nodes).unwrap();
            let wanted = PageRule::among(&nodes);
            assert_eq!(PageRule::now().unwrap(), wanted);
            on_a_thread(move || assert_eq!(PageRule::now().unwrap(), wanted));
            #[allow(unsafe_code, reason = "a fork")]
            // SAFETY: a system call, and two sets that are given back.
            let child = unsafe {
                tiermark_system::os::Child::fork(|| {
                    i32::from(PageRule::now().ok() != Some(PageRule::among(&IdSet::from_iter([node]))))
                })
            };
            assert_eq!(child.unwrap().wait().unwrap(), 0);
            drop(placed);
            assert_eq!(PageRule::now().unwrap(), before);
        });
    }

    #[test]
    fn a_kernel_that_forbids_it_is_a_refusal_with_its_cure() {
        on_a_thread(|| {
            tiermark_system::testing::refuse(&[libc::SYS_set_mempolicy]).unwrap();
            let refusal = BoundMemory::on(&IdSet::from_iter([0])).err().unwrap();
            assert!(refusal.cure.contains("set_mempolicy"), "{refusal}");
            assert!(BoundMemory::on(&IdSet::new()).unwrap().is_none());
        });
    }
}
