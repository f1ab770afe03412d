//! The server's DRAM as one account: what tenants hold, and the pool in which compressed memory lies.
//!
//! Control groups do not count such a pool (zram in either version, zswap in version 1), and a server would have to
//! have it all the same. So tenants get what the pool leaves of the budget: their limit follows it, downwards and
//! upwards. Lowering it swaps out, which makes the pool larger by less than what was swapped out wherever compression
//! gains anything, so that the two meet.

use tiermark_model::messages::trials as says;
use tiermark_model::{Bytes, Note};

/// Part of the budget below which the limit of tenants is never set: with less a pool has taken it all.
const LEAST: u64 = 16;
/// Part of the budget by which the limit may be off: pages come and go.
const CLOSE: u64 = 256;
/// Part of the budget by which the account may be overdrawn before that is an end.
const OVER: u64 = 50;
/// Part of the budget by which the limit is lowered at once, and bytes at most: version 1 keeps none of it where the
/// whole cannot be had in time, and some hundred MiB a second are swapped out.
const STEP: u64 = 16;
const STEP_BYTES: u64 = 64 << 20;
/// Steps that are made in succession where a load waits for them: some seconds of its second.
pub const SOME: u32 = 4;
/// Steps that are made in succession where nothing waits: a budget of 64 GiB's sixteenth.
pub const MANY: u32 = 64;

/// The use of the DRAM budget at one moment, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// Bytes that tenants hold.
    pub held: u64,
    /// Bytes of the pool.
    pub pool: u64,
    /// The limit of tenants; `None` without one.
    pub limit: Option<u64>,
}

/// The DRAM budget that tenants and compressed memory share, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dram {
    budget: u64,
}

impl Dram {
    /// So many bytes.
    pub fn new(budget: u64) -> Self {
        Self { budget }
    }

    /// Bytes that a pool of this size leaves for tenants.
    fn left(&self, pool: u64) -> u64 {
        self.budget.saturating_sub(pool).max(self.budget / LEAST)
    }

    /// Sets the tenants' limit to what the pool leaves until both stay as they are, or for some rounds; what it came
    /// to. `set` says whether the kernel took it.
    ///
    /// # Errors
    /// That of `read`: what it is set to then is not known to be right.
    pub fn balance(
        &self,
        rounds: u32,
        read: &mut dyn FnMut() -> Result<Account, String>,
        set: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Account, String> {
        let mut account = read()?;
        for _ in 0..rounds {
            // What is swapped out then makes the pool larger still.
            if self.pool_exhausted(&account).is_some() {
                break;
            }
            let left = self.left(account.pool);
            if account.limit.is_some_and(|limit| limit.abs_diff(left) <= self.budget / CLOSE) {
                break;
            }
            let from = account.limit.unwrap_or(u64::MAX).min(self.budget);
            let was_set = set(left.max(from.saturating_sub((self.budget / STEP).min(STEP_BYTES))));
            account = read()?;
            if !was_set {
                break;
            }
        }
        Ok(account)
    }

    /// Whether the pool alone leaves tenants nothing, with the figures.
    pub fn pool_exhausted(&self, account: &Account) -> Option<Note> {
        let is_all = account.pool.saturating_add(self.budget / LEAST) > self.budget;
        is_all.then(|| says::compressed_takes_dram(Bytes(account.pool), Bytes(self.budget)))
    }

    /// Whether tenants and pool together take more than there is: the kernel found nothing more to swap out.
    pub fn overdrawn(&self, account: &Account) -> Option<Note> {
        let used = account.held.saturating_add(account.pool);
        (used > self.budget + self.budget / OVER)
            .then(|| says::dram_exceeded(Bytes(account.held), Bytes(account.pool), Bytes(self.budget)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;

    /// Tenants of so many bytes in all, of which a share stays of what is swapped out.
    struct Kernel {
        bytes: u64,
        share: f64,
        limit: u64,
        set: u32,
    }

    impl Kernel {
        fn account(&self) -> Account {
            let held = self.bytes.min(self.limit);
            let pool = ((self.bytes - held) as f64 * self.share) as u64;
            Account { held, pool, limit: Some(self.limit) }
        }
    }

    fn balanced(bytes: u64, share: f64) -> (Account, u32) {
        let kernel = std::cell::RefCell::new(Kernel { bytes, share, limit: 512 * MIB, set: 0 });
        let mut read = || Ok(kernel.borrow().account());
        let mut set = |limit| {
            let mut kernel = kernel.borrow_mut();
            (kernel.limit, kernel.set) = (limit, kernel.set + 1);
            true
        };
        let account = Dram::new(512 * MIB).balance(MANY, &mut read, &mut set).unwrap();
        (account, kernel.into_inner().set)
    }

    #[test]
    fn tenants_get_what_the_pool_leaves() {
        let dram = Dram::new(512 * MIB);
        // Eight of 101 MiB that halve: R + (808 − R) · 0.42 = 512.
        let (account, _) = balanced(808 * MIB, 0.42);
        let wanted = (512.0 - 0.42 * 808.0) / 0.58 * MIB as f64;
        assert!((account.held as f64 - wanted).abs() < 4.0 * MIB as f64, "{account:?}");
        assert!((account.held + account.pool).abs_diff(512 * MIB) < 4 * MIB);
        assert_eq!((dram.overdrawn(&account), dram.pool_exhausted(&account)), (None, None));
        // Tenants that fit without compressed memory get the whole limit.
        assert_eq!(balanced(500 * MIB, 0.42), (Account { held: 500 * MIB, pool: 0, limit: Some(512 * MIB) }, 0));
        // What does not compress is never held by a pool of DRAM.
        let (account, set) = balanced(600 * MIB, 1.0);
        assert!(set <= MANY && dram.overdrawn(&account).is_some(), "{account:?}");
        let (account, _) = balanced(1600 * MIB, 0.42);
        assert!(dram.pool_exhausted(&account).is_some(), "{account:?}");
        assert!(account.limit > Some(256 * MIB), "nothing more is pushed into it then: {account:?}");
    }

    #[test]
    fn a_limit_goes_up_again_and_what_cannot_be_seen_is_not_touched() {
        let limits = std::cell::RefCell::new(vec![100 * MIB]);
        let mut read = || Ok(Account { held: 90 * MIB, pool: 0, limit: limits.borrow().last().copied() });
        let _ = Dram::new(512 * MIB).balance(MANY, &mut read, &mut |limit| {
            limits.borrow_mut().push(limit);
            true
        });
        let mut tried = 0;
        let account = Account { held: 400 * MIB, pool: 200 * MIB, limit: Some(512 * MIB) };
        let _ = Dram::new(512 * MIB).balance(MANY, &mut || Ok(account), &mut |_| {
            tried += 1;
            false
        });
        assert_eq!(tried, 1, "what the kernel refuses is not asked for again at once");
        assert_eq!(limits.into_inner(), [100 * MIB, 512 * MIB]);
        let blind = Dram::new(MIB).balance(MANY, &mut || Err("no".to_owned()), &mut |_| panic!("nothing is known"));
        assert_eq!(blind, Err("no".to_owned()));
    }

    proptest! {
        #[test]
        fn whatever_the_numbers(budget: u64, held: u64, pool: u64, limit: Option<u64>) {
            let dram = Dram::new(budget / 2);
            let mut lowest = u64::MAX;
            let _ = dram.balance(MANY, &mut || Ok(Account { held, pool, limit }), &mut |limit| {
                lowest = lowest.min(limit);
                true
            });
            prop_assert!(lowest >= budget / 2 / LEAST);
            let _ = dram.overdrawn(&Account { held, pool, limit });
        }
    }
}
