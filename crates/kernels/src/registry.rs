//! The tables of kernels and chases, by id and by number of chains.

use std::sync::LazyLock;

#[cfg(target_arch = "aarch64")]
use crate::arm as arch;
use crate::rows::{ByteChaseFn, ChaseFn, ChaseRow, StreamSpec};
#[cfg(target_arch = "x86_64")]
use crate::x86 as arch;

impl StreamSpec {
    /// The kernel whose checksum says what this one reads: another one where this one adds nothing up.
    pub fn summing(&self) -> &Self {
        self.info.checked_by.and_then(stream).unwrap_or(self)
    }
}

static ALL: LazyLock<Vec<StreamSpec>> = LazyLock::new(|| {
    let mut all = crate::files::TABLE.to_vec();
    all.extend(arch::TABLE);
    all
});

/// Every kernel built for this architecture, whether or not this cpu can run it.
pub fn streams() -> &'static [StreamSpec] {
    &ALL
}

/// The kernel of that id.
pub fn stream(id: &str) -> Option<&'static StreamSpec> {
    streams().iter().find(|spec| spec.info.id == id)
}

/// The kernels that this cpu and operating system can run.
pub fn available() -> impl Iterator<Item = &'static StreamSpec> {
    streams().iter().filter(|spec| (spec.available)())
}

/// The chase over that many independent chains; `None` outside 1 to 32.
///
/// Heads live in registers up to 14 chains on x86-64 and 26 on aarch64. Beyond, the further ones live in stack slots:
/// each of their steps also costs a store and a load of the slot (about 5 cycles more a step, forwarded from the
/// store buffer), which does not show where a step goes beyond the second-level cache.
pub fn chase(chains: u8) -> Option<ChaseFn> {
    chases().get(usize::from(chains).checked_sub(1)?).map(|row| row.run)
}

/// Every chase, by number of chains from 1.
pub fn chases() -> &'static [ChaseRow] {
    &arch::chase::TABLE
}

/// The chase over bytes: its code, and what its test sees of it.
pub fn byte_chase() -> (ByteChaseFn, &'static str) {
    (arch::chase::tiermark_chase_bytes, "tiermark_chase_bytes")
}
