//! Programs that children run: this one, and one that is as small as can be.

use std::ffi::{CStr, CString, c_char};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use rustix::fs::MemfdFlags;

use super::Child;
use super::child::keep_ended_children;

/// The child's own program: the same file, also where its name has gone.
const SELF: &CStr = c"/proc/self/exe";

/// The shell of every system (POSIX: `sh -c` runs a command).
const SHELL: &CStr = c"/bin/sh";

/// A program with its arguments and no environment.
#[derive(Debug)]
pub struct Program {
    path: CString,
    arguments: Vec<CString>,
}

/// Arguments of a program at most, with its name.
const MOST_ARGUMENTS: usize = 4;
/// The arguments of a program, in the kernel's form: null behind the last.
type Arguments = [*const c_char; MOST_ARGUMENTS + 1];

impl Program {
    /// This program with an argument that holds no zero byte.
    ///
    /// # Errors
    /// When it holds one.
    pub fn itself(argument: &str) -> io::Result<Self> {
        Ok(Self { path: SELF.to_owned(), arguments: vec![SELF.to_owned(), CString::new(argument)?] })
    }

    /// A shell that runs this program with an argument.
    ///
    /// # Errors
    /// When it holds a zero byte, or the file of this program is not known.
    pub fn shell(argument: &str) -> io::Result<Self> {
        // The shell is another program: its own name for itself would start the shell again. As its $0 the path needs
        // no quotes.
        let file = CString::new(std::env::current_exe()?.as_os_str().as_bytes())?;
        let command = CString::new(format!("\"$0\" {argument}"))?;
        Ok(Self { path: SHELL.to_owned(), arguments: vec![c"sh".to_owned(), c"-c".to_owned(), command, file] })
    }

    fn arguments(&self) -> Arguments {
        let mut all = [ptr::null(); MOST_ARGUMENTS + 1];
        all.iter_mut().take(MOST_ARGUMENTS).zip(&self.arguments).for_each(|(place, text)| *place = text.as_ptr());
        all
    }

    /// `fork`, and `execve` in the child; 127 is its exit code where that fails.
    ///
    /// # Errors
    /// Those of `fork`.
    pub fn fork_and_exec(&self) -> io::Result<Child> {
        let arguments = self.arguments();
        let environment: [*const c_char; 1] = [ptr::null()];
        let exec = || {
            // SAFETY: path, arguments and environment live through the call and end with null.
            unsafe { libc::execve(self.path.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
            127
        };
        // SAFETY: execve is allowed there, and so is returning a number.
        unsafe { Child::bare(exec) }
    }

    /// The C library's `posix_spawn`.
    ///
    /// # Errors
    /// Those of `posix_spawn`, and of `execve` in the child.
    pub fn spawn(&self) -> io::Result<Child> {
        keep_ended_children();
        let arguments = self.arguments();
        let environment: [*const c_char; 1] = [ptr::null()];
        let mut pid = 0;
        // SAFETY: as above; no actions and no attributes; both strings of pointers are only read, whatever their type
        // says.
        let error = unsafe {
            libc::posix_spawn(
                &raw mut pid,
                self.path.as_ptr(),
                ptr::null(),
                ptr::null(),
                arguments.as_ptr().cast(),
                environment.as_ptr().cast(),
            )
        };
        if error == 0 { Child::known(pid) } else { Err(io::Error::from_raw_os_error(error)) }
    }
}

/// A static program that only ends, in a file in memory.
#[derive(Debug)]
pub struct TinyProgram(OwnedFd);

/// Where it lies in its process, page-aligned on every machine.
const LOADED_AT: u64 = 0x40_0000;
/// Bytes of the header of the file, and of its one segment.
const HEADERS: [u16; 2] = [64, 56];

/// `exit_group(0)`.
#[cfg(target_arch = "x86_64")]
const CODE: &[u8] = &[
    0x31, 0xff, // xor edi, edi
    0xb8, 231, 0, 0, 0, // mov eax, 231
    0x0f, 0x05, // syscall
];
/// What the code is for (elf(5), EM_X86_64).
#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;

/// `exit_group(0)`.
#[cfg(target_arch = "aarch64")]
const CODE: &[u8] = &[
    0x00, 0x00, 0x80, 0xd2, // mov x0, 0
    0xc8, 0x0b, 0x80, 0xd2, // mov x8, 94
    0x01, 0x00, 0x00, 0xd4, // svc 0
];
/// What the code is for (elf(5), EM_AARCH64).
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = 183;

/// The whole file (elf(5)): its header, one segment that is loaded to be run, and the code.
fn tiny_file() -> Vec<u8> {
    let [header, segment] = HEADERS;
    let bytes = u64::from(header + segment) + CODE.len() as u64;
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    // An executable for this machine, version 1.
    file.extend([2, MACHINE].map(u16::to_le_bytes).concat());
    file.extend(1u32.to_le_bytes());
    // Where it begins, where segments and sections are described.
    file.extend([LOADED_AT + u64::from(header + segment), u64::from(header), 0].map(u64::to_le_bytes).concat());
    file.extend(0u32.to_le_bytes());
    file.extend([header, segment, 1, 0, 0, 0].map(u16::to_le_bytes).concat());
    // To be loaded, readable and executable: from the file's start to its end, at an address that fits pages of 64 KiB.
    file.extend([1u32, 5].map(u32::to_le_bytes).concat());
    file.extend([0, LOADED_AT, LOADED_AT, bytes, bytes, 0x1_0000].map(u64::to_le_bytes).concat());
    file.extend(CODE);
    file
}

impl TinyProgram {
    /// # Errors
    /// When there is no memory for the file.
    pub fn new() -> io::Result<Self> {
        let (file, text) = (rustix::fs::memfd_create("tiermark-tiny", MemfdFlags::CLOEXEC)?, tiny_file());
        let written = rustix::io::pwrite(&file, &text, 0)?;
        if written == text.len() { Ok(Self(file)) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    /// `fork`, and `execveat` in the child; 127 is its exit code where that fails.
    ///
    /// # Errors
    /// Those of `fork`.
    pub fn fork_and_exec(&self) -> io::Result<Child> {
        let arguments: [*const c_char; 2] = [c"tiny".as_ptr(), ptr::null()];
        let environment: [*const c_char; 1] = [ptr::null()];
        let (file, none) = (self.0.as_raw_fd(), c"".as_ptr());
        let exec = || {
            // SAFETY: arguments and environment live through the call and end with null.
            unsafe {
                libc::syscall(
                    libc::SYS_execveat,
                    file,
                    none,
                    arguments.as_ptr(),
                    environment.as_ptr(),
                    libc::AT_EMPTY_PATH,
                )
            };
            127
        };
        // SAFETY: a bare system call is allowed there, and so is returning a number.
        unsafe { Child::bare(exec) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    #[test]
    fn the_tiny_program_is_one_that_runs_and_ends_well() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tiny");
        std::fs::write(&path, tiny_file()).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        let ended = loop {
            match Command::new(&path).status() {
                // A child that another test made just then still has the file open for writing.
                Err(error) if error.raw_os_error() == Some(libc::ETXTBSY) => std::thread::yield_now(),
                // This test is emulated itself.
                Err(error) if error.raw_os_error() == Some(libc::ENOEXEC) => {
                    break Command::new(format!("qemu-{}-static", std::env::consts::ARCH)).arg(&path).status();
                }
                other => break other,
            }
        };
        assert!(ended.unwrap().success());
    }
}
