//! userfaultfd(2): a thread receives the faults of a mapping, and supplies the pages.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, opcode};

use super::Area;

/// Only faults of the process itself, not those that the kernel has on its behalf: allowed without privileges. Linux
/// 5.11.
const USER_MODE_ONLY: u32 = 1;
/// The version of the interface.
const API: u64 = 0xaa;
/// Report missing pages.
const MISSING: u64 = 1;
/// The requests, as <linux/userfaultfd.h> numbers them.
const UFFDIO_API: Opcode = opcode::read_write::<ApiCall>(0xaa, 0x3f);
const UFFDIO_REGISTER: Opcode = opcode::read_write::<RegisterCall>(0xaa, 0x00);
const UFFDIO_COPY: Opcode = opcode::read_write::<CopyCall>(0xaa, 0x03);
/// The event of a fault.
const EVENT_PAGEFAULT: u8 = 0x12;

/// struct uffdio_api.
#[repr(C)]
struct ApiCall {
    api: u64,
    features: u64,
    ioctls: u64,
}

/// struct uffdio_register.
#[repr(C)]
struct RegisterCall {
    start: u64,
    len: u64,
    mode: u64,
    ioctls: u64,
}

/// struct uffdio_copy.
#[repr(C)]
struct CopyCall {
    dst: u64,
    src: u64,
    len: u64,
    mode: u64,
    copy: i64,
}

/// The file that receives a mapping's faults. When it is dropped, a thread that waits in a fault gets a page of zeros.
#[derive(Debug)]
pub struct Userfault {
    file: OwnedFd,
    /// What pages are filled with.
    source: Vec<u8>,
}

impl Userfault {
    /// Opens one, for no mapping yet.
    ///
    /// # Errors
    /// EPERM where it is forbidden, ENOSYS where the kernel has none.
    pub fn open() -> io::Result<OwnedFd> {
        let flags = (OFlags::CLOEXEC | OFlags::NONBLOCK).bits();
        let open = |flags: u32| {
            // SAFETY: it can do nothing before a mapping is registered with it.
            unsafe { rustix::mm::userfaultfd(rustix::mm::UserfaultfdFlags::from_bits_retain(flags)) }
        };
        let file = match open(flags | USER_MODE_ONLY) {
            // A kernel that does not know the flag.
            Err(Errno::INVAL) => open(flags)?,
            other => other?,
        };
        let mut api = ApiCall { api: API, features: 0, ioctls: 0 };
        update::<UFFDIO_API, _>(&file, &mut api)?;
        Ok(file)
    }

    /// Takes over the faults of a mapping's pages.
    ///
    /// # Errors
    /// Those of [`Userfault::open`].
    pub fn over(area: &mut Area, page_bytes: usize) -> io::Result<Self> {
        let file = Self::open()?;
        let mut register =
            RegisterCall { start: area.address() as u64, len: area.bytes() as u64, mode: MISSING, ioctls: 0 };
        update::<UFFDIO_REGISTER, _>(&file, &mut register)?;
        Ok(Self { file, source: vec![0x5a; page_bytes] })
    }

    /// Waits for a fault, or until the other file can be read (or its other end has gone): its address, none for that.
    ///
    /// # Errors
    /// Those of poll and read; `TimedOut`.
    pub fn wait(&self, stop: &OwnedFd, limit: Duration) -> io::Result<Option<u64>> {
        let limit = Timespec { tv_sec: limit.as_secs().cast_signed(), tv_nsec: limit.subsec_nanos().into() };
        loop {
            let mut files = [PollFd::new(&self.file, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
            match poll(&mut files, Some(&limit)) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(_) if !files[1].revents().is_empty() => return Ok(None),
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            // struct uffd_msg: the event in the first byte, the address of a fault in the third word.
            let mut message = [0u8; 32];
            match rustix::io::read(&self.file, &mut message) {
                Ok(n) if n == message.len() && message[0] == EVENT_PAGEFAULT => {
                    let word: [u8; 8] = message[16..24].try_into().map_err(|_| io::ErrorKind::InvalidData)?;
                    return Ok(Some(u64::from_ne_bytes(word)));
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Ok(_) => return Err(io::ErrorKind::InvalidData.into()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Supplies the page at an address, which wakes the thread that waits for it.
    ///
    /// # Errors
    /// Those of UFFDIO_COPY.
    pub fn fill(&self, address: u64) -> io::Result<()> {
        let len = self.source.len() as u64;
        let src = self.source.as_ptr().addr() as u64;
        let mut copy = CopyCall { dst: address & !(len - 1), src, len, mode: 0, copy: 0 };
        // The kernel refuses addresses outside of what is registered here, so that only an Area's pages are ever
        // filled.
        update::<UFFDIO_COPY, _>(&self.file, &mut copy)
    }
}

/// Makes a request that reads and writes its argument.
fn update<const REQUEST: Opcode, T>(file: &OwnedFd, argument: &mut T) -> io::Result<()> {
    // SAFETY: each request above is made with the structure that it is declared with.
    unsafe { Ok(rustix::ioctl::ioctl(file, Updater::<REQUEST, T>::new(argument))?) }
}
