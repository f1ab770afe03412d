//! A filter that refuses system calls, as containers have it. For tests.

use std::io;
use std::mem::offset_of;

use crate::check;

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
