//! What the processor and the kernel say of themselves.

use std::mem::MaybeUninit;

use tiermark_machine::{LiveFacts, Uname};

use crate::sched::{affinity, allowed_nodes};

/// What discovery cannot read from files: affinity, allowed nodes, page size, names, hypervisor.
pub fn live_facts() -> LiveFacts {
    LiveFacts {
        allowed_cpus: affinity().ok(),
        allowed_nodes: allowed_nodes().ok(),
        page_bytes: page_bytes(),
        uname: uname(),
        hypervisor: hypervisor(),
    }
}

/// Bytes of a base page.
pub fn page_bytes() -> Option<u64> {
    // SAFETY: takes nothing but a number.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok().filter(|n| n.is_power_of_two())
}

/// Kernel release, architecture and host name.
fn uname() -> Option<Uname> {
    let mut names = MaybeUninit::<libc::utsname>::zeroed();
    // SAFETY: room for one utsname; all-zero is a valid one.
    let (status, names) = unsafe { (libc::uname(names.as_mut_ptr()), names.assume_init()) };
    let names = Uname { release: text(&names.release), machine: text(&names.machine), nodename: text(&names.nodename) };
    (status == 0).then_some(names)
}

/// The text up to the first zero.
fn text(field: &[libc::c_char]) -> String {
    let bytes: Vec<u8> = field.iter().take_while(|c| **c != 0).map(|c| c.to_ne_bytes()[0]).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The hypervisor's signature from CPUID leaf 0x4000_0000, where the processor says it has one.
#[cfg(target_arch = "x86_64")]
fn hypervisor() -> Option<String> {
    use std::arch::x86_64::__cpuid;
    // Bit 31 of ECX of leaf 1 is reserved for hypervisors to set (Intel SDM, AMD APM).
    if __cpuid(1).ecx >> 31 & 1 == 0 {
        return None;
    }
    let leaf = __cpuid(0x4000_0000);
    let bytes: Vec<u8> = [leaf.ebx, leaf.ecx, leaf.edx].iter().flat_map(|r| r.to_le_bytes()).collect();
    let text = String::from_utf8_lossy(&bytes);
    Some(text.trim_end_matches('\0').trim().to_owned()).filter(|text| !text.is_empty())
}

/// No other architecture has such a leaf.
#[cfg(not(target_arch = "x86_64"))]
fn hypervisor() -> Option<String> {
    None
}

/// The rate of the time stamp counter as declared by the processor or the hypervisor, cycles per second.
#[cfg(target_arch = "x86_64")]
pub(crate) fn declared_counter_hz() -> Option<(f64, &'static str)> {
    use std::arch::x86_64::__cpuid;
    if __cpuid(0).eax >= 0x15 {
        let leaf = __cpuid(0x15);
        if leaf.eax != 0 && leaf.ebx != 0 && leaf.ecx != 0 {
            let hz = f64::from(leaf.ecx) * f64::from(leaf.ebx) / f64::from(leaf.eax);
            return Some((hz, "CPUID 15h"));
        }
    }
    // VMware's and KVM's timing leaf: EAX is the rate in kHz.
    if hypervisor().is_some() && __cpuid(0x4000_0000).eax >= 0x4000_0010 {
        let khz = __cpuid(0x4000_0010).eax;
        return (khz != 0).then(|| (f64::from(khz) * 1e3, "the hypervisor's CPUID leaf 40000010h"));
    }
    None
}

/// The rate of the architecture's counter as declared in a register, ticks per second.
#[cfg(target_arch = "aarch64")]
pub(crate) fn declared_counter_hz() -> Option<(f64, &'static str)> {
    let hz: u64;
    // SAFETY: reads a register that Linux lets every program read.
    unsafe { std::arch::asm!("mrs {}, cntfrq_el0", out(reg) hz, options(nomem, nostack, preserves_flags)) };
    // Firmware has to write the register; some has not.
    (hz != 0).then_some((hz as f64, "cntfrq_el0"))
}
