//! Calls that take memory by its address.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::Pid;

/// The write end of a pipe, to hand pages to.
#[derive(Debug)]
pub struct PageInlet(OwnedFd);

impl PageInlet {
    /// Takes the write end of a pipe.
    ///
    /// # Errors
    /// `EBADF` when it is anything else: pages handed to a read end would be written.
    pub fn new(pipe: OwnedFd) -> io::Result<Self> {
        let (mode, is_pipe) = (rustix::fs::fcntl_getfl(&pipe)?, rustix::pipe::fcntl_getpipe_size(&pipe).is_ok());
        if is_pipe && mode & OFlags::RWMODE == OFlags::WRONLY { Ok(Self(pipe)) } else { Err(Errno::BADF.into()) }
    }

    /// Hands over the pages of some bytes, by reference (vmsplice). Returns the bytes that the pipe took.
    ///
    /// A reader of the pipe may or may not see a later change of the bytes.
    #[inline]
    pub fn hand(&self, data: &[u8]) -> io::Result<usize> {
        let piece = libc::iovec { iov_base: data.as_ptr().cast_mut().cast(), iov_len: data.len() };
        // SAFETY: into the write end of a pipe, which this is, the kernel only reads the memory; it holds references of
        // its own to the pages, so that they may be unmapped.
        let done = unsafe { libc::vmsplice(self.0.as_raw_fd(), &raw const piece, 1, 0) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(done as usize) }
    }
}

/// Copies bytes out of another process's memory. Returns how many.
#[inline]
pub fn read_process(process: Pid, from: usize, into: &mut [u8]) -> io::Result<usize> {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec { iov_base: from as *mut libc::c_void, iov_len: into.len() };
    // SAFETY: the kernel writes to `into` only, and checks the other address itself.
    let done =
        unsafe { libc::process_vm_readv(process.as_raw_nonzero().get(), &raw const local, 1, &raw const remote, 1, 0) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(done as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_go_into_the_write_end_of_a_pipe_only() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        assert!(PageInlet::new(read).is_err());
        assert!(PageInlet::new(std::fs::File::options().write(true).open("/dev/null").unwrap().into()).is_err());
        assert!(PageInlet::new(write).is_ok());
    }

    #[test]
    fn memory_of_a_process_is_read_where_it_is() {
        let (from, mut into) = (*b"bytes", [0u8; 5]);
        assert_eq!(read_process(rustix::process::getpid(), from.as_ptr() as usize, &mut into).unwrap(), 5);
        assert_eq!(into, from);
        assert_eq!(
            read_process(rustix::process::getpid(), 8, &mut into).unwrap_err().raw_os_error(),
            Some(libc::EFAULT)
        );
    }
}
