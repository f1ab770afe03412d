//! What tests share, here and in the crates above: filters of system calls, processes of their own, and what a process
//! holds.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

use std::ffi::OsString;
use std::io;
use std::mem::offset_of;
use std::os::unix::ffi::OsStringExt;
use std::process::Command;
use std::time::Duration;

use tiermark_model::{CpuId, CpuModel, System};

use crate::{Clock, affinity, check, page_bytes};

/// Address space that allocators and thread stacks may keep, bytes: less than any mapping of a body that stays.
const KEPT: u64 = 6 << 20;

/// Set in the process that confines itself; the filter must not reach the other tests.
const CONFINED: &str = "TIERMARK_TEST_CONFINED";

/// Runs one test of this program again, in a process of its own.
pub fn in_own_process(test: &str) -> bool {
    if std::env::var_os(CONFINED).is_some() {
        return true;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CONFINED, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
    false
}

/// The clock of this machine.
pub fn clock() -> Clock {
    Clock::choose(&CpuModel::default(), &System::default()).0
}

/// The first cpu that may be used.
pub fn first_cpu() -> CpuId {
    affinity().unwrap().first().unwrap()
}

/// Files, threads and children of this process.
pub fn held() -> [usize; 3] {
    let count = |directory: &str| std::fs::read_dir(directory).unwrap().count();
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let children = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let children = children.map(|list| list.split_whitespace().count()).sum();
    [count("/proc/self/fd"), count("/proc/self/task"), children]
}

/// Asserts that no more is held than before, and returns what is. A thread that was waited for is listed a moment
/// longer, also in what was taken for the state before.
pub fn no_more_than(before: [usize; 3], what: &str) -> [usize; 3] {
    let rose = |now: [usize; 3]| now.iter().zip(before).any(|(now, before)| *now > before);
    for _ in 0..200 {
        if !rose(held()) {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let now = held();
    assert!(!rose(now), "{what}: files, threads, children: {before:?}, then {now:?}");
    now
}

fn mapped() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split_whitespace().next().unwrap().parse::<u64>().unwrap() * page_bytes().unwrap()
}

/// Asserts that rounds leave nothing behind. It is run once before: the first time, allocators keep what they like.
pub fn gives_back(what: &str, mut round: impl FnMut()) {
    round();
    let (before, bytes) = (held(), mapped());
    for _ in 0..2 {
        round();
        no_more_than(before, what);
    }
    assert!(mapped() < bytes + KEPT, "{what}: {} bytes more are mapped", mapped() - bytes);
}

/// Has the test program call a function of its arguments (as `tiermark_host::reexec`) before `main`, and so before the
/// tests' own program has looked at its arguments or started a thread. A code that the function returns ends the
/// process.
#[macro_export]
macro_rules! before_main {
    ($reexec:path) => {
        #[used]
        // SAFETY: the section holds pointers to functions that take nothing they need and return nothing.
        #[unsafe(link_section = ".init_array")]
        static BEFORE_MAIN: extern "C" fn() = {
            extern "C" fn before_main() {
                $crate::testing::end_with($reexec($crate::testing::arguments()));
            }
            before_main
        };
    };
}

/// The arguments of this process, before the standard library knows them.
pub fn arguments() -> Vec<OsString> {
    let line = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let line = line.strip_suffix(b"\0").unwrap_or(&line);
    line.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect()
}

/// Ends the process at once, where there is a code to end it with.
pub fn end_with(code: Option<u8>) {
    if let Some(code) = code {
        // SAFETY: ends the process; nothing of it runs any more.
        unsafe { libc::_exit(code.into()) };
    }
}

/// Makes these system calls fail with EPERM for the calling thread and all it starts from now on. Cannot be undone.
pub fn refuse(calls: &[libc::c_long]) -> io::Result<()> {
    refuse_as(libc::EPERM, calls)
}

/// The same with another error: ENOSYS is what filters say of calls that the C library has another way for.
pub fn refuse_as(error: libc::c_int, calls: &[libc::c_long]) -> io::Result<()> {
    let rule = |code: u32, jt: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf: 0, k };
    let number = offset_of!(libc::seccomp_data, nr) as u32;
    let mut filter = vec![rule(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, number)];
    for (index, call) in calls.iter().enumerate() {
        // Jump over the rest of the list and the permission to the refusal at the end.
        let to_refusal = (calls.len() - index) as u8;
        filter.push(rule(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, to_refusal, *call as u32));
    }
    filter.push(rule(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW));
    filter.push(rule(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | error as u32));
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: takes numbers only.
    check(libc::c_long::from(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }))?;
    // SAFETY: the program and its rules live through the call, which copies them.
    check(libc::c_long::from(unsafe {
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
    }))
    .map(drop)
}
