//! Pages that move from node to node.

use std::io;

use rustix::process::Pid;
use tiermark_model::{IdSet, NodeId};

use super::Area;
use crate::check;

/// Not in libc: fail where a page is not where it should be; move pages that only this process has (mbind(2)).
const MPOL_MF_STRICT: libc::c_uint = 1;
const MPOL_MF_MOVE: libc::c_uint = 2;

/// move_pages(2) on a process (`None`: this one). Without a node, only reads where the pages are. `status` gets the
/// node of each page, or an error as a negative number.
pub fn move_pages(pid: Option<Pid>, pages: &[usize], to: Option<&[i32]>, status: &mut [i32]) -> io::Result<()> {
    assert!(status.len() == pages.len() && to.is_none_or(|to| to.len() == pages.len()));
    let nodes = to.map_or(std::ptr::null(), <[i32]>::as_ptr);
    let flags = if to.is_some() { MPOL_MF_MOVE } else { 0 };
    // SAFETY: all three lists have the length given; the addresses are only looked up, and contents move with their
    // pages.
    let left = check(unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            Pid::as_raw(pid),
            pages.len(),
            pages.as_ptr(),
            nodes,
            status.as_mut_ptr(),
            flags,
        )
    })?;
    if left == 0 { Ok(()) } else { Err(io::Error::other(format!("{left} pages were not moved"))) }
}

/// migrate_pages(2): all pages of a process that are on one node go to another. Pages shared with other processes stay,
/// unless the caller has CAP_SYS_NICE. How many did not move.
pub fn migrate_pages(pid: Pid, from: NodeId, to: NodeId) -> io::Result<u64> {
    let (mut old, mut new) = (IdSet::from_iter([from]).words(), IdSet::from_iter([to]).words());
    let words = old.len().max(new.len());
    old.resize(words, 0);
    new.resize(words, 0);
    // The kernel reads one bit less than it is given, hence the + 1.
    // SAFETY: both masks have `words` words.
    let left = check(unsafe {
        libc::syscall(libc::SYS_migrate_pages, pid.as_raw_nonzero().get(), words * 64 + 1, old.as_ptr(), new.as_ptr())
    })?;
    Ok(left.unsigned_abs())
}

impl Area {
    /// Binds it to a node; pages that are elsewhere are moved there where `moving`.
    pub fn bind(&mut self, node: NodeId, moving: bool) -> io::Result<()> {
        let mask = IdSet::from_iter([node]);
        let words = mask.words();
        let flags = if moving { MPOL_MF_MOVE | MPOL_MF_STRICT } else { 0 };
        // SAFETY: the range is this mapping; the mask has the bits given, one less (mbind(2), "maxnode").
        check(unsafe {
            libc::syscall(
                libc::SYS_mbind,
                self.address(),
                self.bytes(),
                libc::MPOL_BIND,
                words.as_ptr(),
                words.len() * 64 + 1,
                flags,
            )
        })
        .map(drop)
    }
}
