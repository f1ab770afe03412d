//! Where a search starts: how many tenants memory and cpus allow by arithmetic.

use std::fmt;

use serde::{Deserialize, Serialize};
use tiermark_model::Bytes;

/// The available memory, and the memory of one tenant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Budgets {
    /// Memory that tenants may take, in bytes: the parent group's limit.
    pub dram: u64,
    /// Of that, what the system and the clients keep, in bytes.
    pub reserve: u64,
    /// Memory of one tenant after its fill, bytes: the peak of its control group.
    pub footprint: u64,
    /// Size of the tier behind DRAM, in bytes; 0 without one.
    pub tier: u64,
    /// Bytes of tenants that a byte of the tier holds: 1 for a device, the compression ratio for zram and zswap.
    pub ratio: f64,
    /// Cpus that tenants may use.
    pub cpus: f64,
    /// Cpus that one tenant keeps busy at its rate; `None` where that is not known.
    pub cpu_per_tenant: Option<f64>,
}

/// Tenants that fit, by arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Arithmetic {
    budgets: Budgets,
    /// Tenants that fit into DRAM alone.
    pub memory: u32,
    /// On the cpus; `None` where a tenant's share is not known.
    pub cpu: Option<u32>,
    /// In DRAM and the tier together: more cannot be held at all.
    pub total: u32,
}

/// Whole tenants in a room; a footprint of nothing would be any number of them.
fn fit(room: f64, each: f64) -> u32 {
    // A cast from a float saturates, and makes 0 of NaN.
    if each > 0.0 { (room / each) as u32 } else { 0 }
}

impl Budgets {
    /// The tenants that each budget has room for.
    pub fn arithmetic(&self) -> Arithmetic {
        let dram = self.dram.saturating_sub(self.reserve) as f64;
        let footprint = self.footprint as f64;
        Arithmetic {
            budgets: *self,
            memory: fit(dram, footprint),
            cpu: self.cpu_per_tenant.map(|each| fit(self.cpus, each)),
            total: fit(dram + self.tier as f64 * self.ratio.max(0.0), footprint),
        }
    }
}

impl Arithmetic {
    /// Where to start: what memory alone holds, or what the cpus carry where that is less; at least one.
    pub fn start(&self) -> u32 {
        self.cpu.map_or(self.memory, |cpu| cpu.min(self.memory)).max(1)
    }
}

impl fmt::Display for Arithmetic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let b = &self.budgets;
        write!(
            f,
            "memory holds {} (({} − {}) / {})",
            self.memory,
            Bytes(b.dram),
            Bytes(b.reserve),
            Bytes(b.footprint)
        )?;
        if b.tier > 0 {
            write!(f, ", memory and tier {}", self.total)?;
        }
        if let (Some(cpu), Some(each)) = (self.cpu, b.cpu_per_tenant) {
            write!(f, ", the cpus carry {cpu} ({} / {each:.3})", b.cpus)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1_000_000_000;

    /// The brief's server: 192 GB, 768 with the tier, 5.7 a tenant, 36 cores.
    fn brief() -> Budgets {
        Budgets {
            dram: 192 * GB,
            reserve: 15 * GB,
            footprint: 5_700_000_000,
            tier: 576 * GB,
            ratio: 1.0,
            cpus: 36.0,
            cpu_per_tenant: Some(0.25),
        }
    }

    #[test]
    fn the_brief_s_server_holds_31_by_arithmetic() {
        let found = brief().arithmetic();
        assert_eq!((found.memory, found.cpu, found.total), (31, Some(144), 132));
        assert_eq!(found.start(), 31);
        let without = Budgets { reserve: 0, ..brief() }.arithmetic();
        assert_eq!((without.memory, without.total), (33, 134));
        let words = found.to_string();
        assert!(
            words.starts_with("memory holds 31 ((") && words.ends_with("the cpus carry 144 (36 / 0.250)"),
            "{words}"
        );
    }

    #[test]
    fn cpus_start_it_lower_and_nonsense_starts_at_one() {
        assert_eq!(Budgets { cpu_per_tenant: Some(3.0), ..brief() }.arithmetic().start(), 12);
        for odd in [
            Budgets { footprint: 0, ..brief() },
            Budgets { reserve: u64::MAX, ..brief() },
            Budgets { cpu_per_tenant: Some(0.0), ..brief() },
            Budgets { cpus: f64::NAN, ..brief() },
            Budgets { ratio: f64::NAN, footprint: u64::MAX, ..brief() },
        ] {
            assert_eq!(odd.arithmetic().start(), 1, "{odd:?}");
        }
        assert_eq!(Budgets { ratio: f64::INFINITY, ..brief() }.arithmetic().total, u32::MAX);
    }
}
