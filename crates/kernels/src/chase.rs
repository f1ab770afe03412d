//! Pointer chases: each load's address is the value the load before it returned.

/// Most chains one chase can follow at once.
pub const MAX_CHAINS: u8 = 32;

/// Arguments of a chase.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ChaseArgs {
    /// Where each chain stands: read at the start, written back at the end. A chase over k chains uses the first k.
    pub heads: [*const u8; MAX_CHAINS as usize],
    /// Loads each chain makes, at least 1.
    pub steps: usize,
}

impl ChaseArgs {
    /// Arguments that point nowhere.
    pub const EMPTY: Self = Self { heads: [std::ptr::null(); MAX_CHAINS as usize], steps: 1 };
}

/// Follows chains for `steps` loads each and stores the heads back.
///
/// # Safety
/// Each head in use must point to a pointer that leads to another, and so on, for `steps` loads.
pub type ChaseFn = unsafe extern "C" fn(*mut ChaseArgs);

/// The chase over that many independent chains; `None` outside 1 to 32.
///
/// Heads live in registers up to 14 chains on x86-64 and 26 on aarch64. Beyond, the further ones live in stack slots:
/// each of their steps also costs a store and a load of the slot (about 5 cycles more a step, forwarded from the
/// store buffer), which does not show where a step goes beyond the second-level cache.
pub fn chase(chains: u8) -> Option<ChaseFn> {
    chases().get(usize::from(chains).checked_sub(1)?).map(|row| row.run)
}

/// One chase, as its test sees it.
#[derive(Debug, Clone, Copy)]
pub struct ChaseRow {
    /// Its code.
    pub run: ChaseFn,
    /// The symbol of its function.
    pub symbol: &'static str,
    /// Dependent loads of chain memory in one iteration of the loop.
    pub loads: u16,
}

/// Every chase, by number of chains from 1.
pub fn chases() -> &'static [ChaseRow] {
    #[cfg(target_arch = "x86_64")]
    return &crate::x86::chase::TABLE;
    #[cfg(target_arch = "aarch64")]
    return &crate::arm::chase::TABLE;
}

/// Arguments of a chase over bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ByteArgs {
    /// The first byte.
    pub at: *const u8,
    /// Bytes from one access to the next.
    pub stride: usize,
    /// Loads, at least 1.
    pub steps: usize,
    /// The byte that was loaded last; it is added to the address of the next access.
    pub last: usize,
}

/// Loads bytes a stride apart, each at an address to which the byte before it is added.
///
/// # Safety
/// Each address that arises so must be readable; where all bytes are zero these are `at`, `at + stride` and so on,
/// `steps` of them.
pub type ByteChaseFn = unsafe extern "C" fn(*mut ByteArgs);

/// The chase over bytes: its code, and what its test sees of it.
pub fn byte_chase() -> (ByteChaseFn, &'static str) {
    #[cfg(target_arch = "x86_64")]
    return (crate::x86::chase::tiermark_chase_bytes, "tiermark_chase_bytes");
    #[cfg(target_arch = "aarch64")]
    return (crate::arm::chase::tiermark_chase_bytes, "tiermark_chase_bytes");
}
