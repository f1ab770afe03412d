//! Messages to the firmware of EPYC processors, through the kernel's driver `amd_hsmp`.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The device. Opened for reading, it takes only messages that change nothing, from every user.
const DEVICE: &str = "/dev/hsmp";

/// `struct hsmp_message` of the kernel's `asm/amd_hsmp.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Message {
    id: u32,
    arguments: u16,
    answers: u16,
    words: [u32; 8],
    socket: u16,
}

/// `HSMP_IOCTL_CMD`: `_IOWR(0xf8, 0, struct hsmp_message)`.
const COMMAND: u32 = 3 << 30 | (size_of::<Message>() as u32) << 16 | 0xf8 << 8;

/// The driver's device.
#[derive(Debug)]
pub struct HsmpDevice(File);

impl HsmpDevice {
    /// Opens the device.
    ///
    /// # Errors
    /// The system's answer: `NotFound` if the processor or the kernel has no such port.
    pub fn open() -> io::Result<Self> {
        Ok(Self(File::open(DEVICE)?))
    }

    /// Sends a message without arguments, and returns so many words of the answer.
    ///
    /// # Errors
    /// The driver's answer.
    pub fn ask(&mut self, socket: u16, message: u32, words: u16) -> io::Result<[u32; 8]> {
        let mut message = Message { id: message, answers: words, socket, ..Message::default() };
        // C libraries differ in the type of an ioctl's number; the kernel takes a word.
        // SAFETY: the command's size is that of the message, which the driver reads and writes within this call.
        super::check(unsafe {
            libc::syscall(libc::SYS_ioctl, self.0.as_raw_fd(), u64::from(COMMAND), &raw mut message)
        })?;
        Ok(message.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_that_of_the_kernel() {
        assert_eq!((size_of::<Message>(), COMMAND), (44, 0xc02c_f800));
        assert_eq!(std::mem::offset_of!(Message, words), 8);
        assert_eq!(std::mem::offset_of!(Message, socket), 40);
    }

    #[test]
    fn a_file_that_is_no_port_refuses() {
        let mut device = HsmpDevice(File::open("/dev/null").unwrap());
        assert!(device.ask(0, 0x14, 1).unwrap_err().raw_os_error().is_some());
    }
}
